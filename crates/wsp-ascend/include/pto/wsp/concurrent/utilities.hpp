// Where the two sides of a launch meet.
//
// Three signals are raised, each once, and either side waits for them. They are kept under one lock, together with the count of
// those that wait: a signal is raised and told under that lock, so that no wait misses it, and all are lowered for the next
// launch only while none waits. What one side wrote before it raised a signal is seen by the other after its wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "../version.hpp"

namespace pto::wsp::concurrent {

// What one side tells the other.
enum class Signal : std::uint8_t {
    // What the accelerator reads is there.
    cpu_ready = 0,
    // The accelerator has started.
    accelerator_ready = 1,
    // Results are where the other side reads them.
    transfer_complete = 2,
};

class DomainHandshake {
public:
    using Limit = std::chrono::nanoseconds;
    // A wait with this limit ends with its signal only.
    static constexpr Limit no_limit = Limit::max();

    // The host has what the accelerator reads.
    void cpu_ready() { raise(Signal::cpu_ready); }
    // The accelerator has started.
    void accelerator_ready() { raise(Signal::accelerator_ready); }
    // Results are where the other side reads them.
    void transfer_complete() { raise(Signal::transfer_complete); }

    // Wait for a signal, at most so long; a limit of zero looks once. False when the time is over.
    bool wait_cpu_ready(Limit limit) { return wait(Signal::cpu_ready, limit); }
    bool wait_accelerator_ready(Limit limit) { return wait(Signal::accelerator_ready, limit); }
    bool wait_transfer_complete(Limit limit) { return wait(Signal::transfer_complete, limit); }

    // Lowers all signals, for the next launch. False while some wait; nothing is lowered then.
    bool reset() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (waiters_ > 0) return false;
        raised_ = 0;
        return true;
    }

private:
    static constexpr unsigned bit(Signal signal) { return 1u << static_cast<unsigned>(signal); }

    void raise(Signal signal) {
        const std::lock_guard<std::mutex> lock(mutex_);
        raised_ |= bit(signal);
        changed_.notify_all();
    }

    bool wait(Signal signal, Limit limit) {
        using Clock = std::chrono::steady_clock;
        const auto is_raised = [&] { return (raised_ & bit(signal)) != 0; };
        std::unique_lock<std::mutex> lock(mutex_);
        ++waiters_;
        if (limit <= Limit::zero()) {
            // It looks once.
        } else if (const auto now = Clock::now(); limit < Clock::time_point::max() - now) {
            changed_.wait_until(lock, now + limit, is_raised);
        } else {
            changed_.wait(lock, is_raised);
        }
        --waiters_;
        return is_raised();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned raised_ = 0;
    unsigned waiters_ = 0;
};

}  // namespace pto::wsp::concurrent
