// Processes of generated expanders: they take turns, and send each other tokens of channels, in the order in which an
// interpreter of the program lets them.
//
// A process is a function that goes on where it has stopped. It ends its turn when it has sent a token, waits, or ends.
#pragma once

#include "pto/wsp/backend/npu/expander_support.hpp"

namespace pto::wsp::backend::npu::expander {

// The tokens of a channel, since its processes began. Channels hold no data.
struct Channel {
    // Tokens that it holds at most; with 0 a send waits until its token is taken.
    std::uint64_t depth = 0;
    // Sends that have begun, and tokens that can be taken: those before the oldest send under way.
    std::uint64_t begun = 0, sent = 0;
    // Receives that have begun, and slots that were freed: those before the oldest receive under way.
    std::uint64_t taken = 0, freed = 0;
    // Sends and receives under way; one may stand in the body of another.
    std::uint32_t sending = 0, receiving = 0;
    bool closed = false;

    void open() {
        const std::uint64_t holds = depth;
        *this = Channel{};
        depth = holds;
    }
    std::uint64_t slots() const { return depth == 0 ? 1 : depth; }
    // The slot of one more token, if there is one.
    bool begin_send(std::int64_t& slot) {
        if (begun - freed >= slots()) return false;
        slot = static_cast<std::int64_t>(begun++ % slots());
        ++sending;
        return true;
    }
    void end_send() {
        if (--sending == 0) sent = begun;
    }
    // The slot of the next token, if there is one.
    bool begin_receive(std::int64_t& slot) {
        if (is_taken()) return false;
        slot = static_cast<std::int64_t>(taken++ % slots());
        ++receiving;
        return true;
    }
    void end_receive() {
        if (--receiving == 0) freed = taken;
    }
    // Whether every token that was sent is taken.
    bool is_taken() const { return taken == sent; }
};

// Gives a channel its depth.
inline bool declare(State& s, Channel& channel, Int depth) {
    if (!depth.ok()) return s.check(depth.bad);
    if (depth.value < 0 || depth.value > UINT32_MAX) return s.check(FaultKind::depth);
    channel = Channel{};
    channel.depth = static_cast<std::uint64_t>(depth.value);
    return true;
}

// Whose turn it is among `N` processes.
template <std::size_t N>
class Turns {
public:
    std::size_t current() const { return current_; }

    // The process has gone on: others may, too.
    void moved() { stuck_ = 0; }
    // The process tries the same again on its next turn.
    void waits() { ++stuck_; }
    // The process has sent a token, and of a channel of depth 0 goes on when it is taken.
    void sent(const Channel& channel) {
        stuck_ = 0;
        if (channel.depth == 0) awaited_[current_] = &channel;
    }
    void ended() {
        stuck_ = 0;
        --live_;
        ended_[current_] = true;
    }

    // Gives the turn to the next process that can have it: false when none is left, or, which is a fault, none can.
    bool next(State& s) {
        s.check(FaultKind::none);
        while (live_ > 0) {
            if (stuck_ >= live_) return s.check(FaultKind::deadlock);
            do current_ = current_ + 1 < N ? current_ + 1 : 0;
            while (ended_[current_]);
            const Channel*& awaited = awaited_[current_];
            if (awaited == nullptr) return true;
            if (awaited->is_taken()) {
                stuck_ = 0;
                awaited = nullptr;
                return true;
            }
            ++stuck_;
        }
        return false;
    }

private:
    std::size_t current_ = 0, live_ = N, stuck_ = 0;
    bool ended_[N] = {};
    const Channel* awaited_[N] = {};
};

}  // namespace pto::wsp::backend::npu::expander
