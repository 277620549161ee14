// What the tasks of every program do.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace peers {

/// Sums what each thread adds, a cache line per thread.
class Tally {
public:
    static void add(uint64_t amount) {
        if (mine_ == nullptr) mine_ = enter();
        mine_->store(mine_->load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    /// The sum since the last call. No task may be running.
    static uint64_t take() {
        std::lock_guard lock(mutex_);
        uint64_t sum = 0;
        for (auto& cell : cells_) sum += cell.value.exchange(0, std::memory_order_relaxed);
        return sum;
    }

private:
    struct alignas(64) Cell {
        std::atomic<uint64_t> value{0};
    };

    static std::atomic<uint64_t>* enter() {
        std::lock_guard lock(mutex_);
        return &cells_.emplace_back().value;
    }

    static inline thread_local std::atomic<uint64_t>* mine_ = nullptr;
    static inline std::mutex mutex_;
    static inline std::deque<Cell> cells_;
};

/// Proves that every task ran: the tally is n (n + 1) / 2.
struct Count {
    void operator()(uint32_t task) const { Tally::add(uint64_t{task} + 1); }
};

/// Proves that every task ran after its predecessors: its value is a function of theirs.
template <class Pattern> struct Order {
    const Pattern* pattern;
    std::vector<uint64_t>* values;

    void operator()(uint32_t task) const {
        uint64_t value = (uint64_t{task} + 1) * 0x9E3779B97F4A7C15ULL;
        pattern->predecessors(task, [&](uint32_t p) {
            const uint64_t theirs = (*values)[p];
            value = (value ^ (theirs << 7 | theirs >> 57)) * 0xD6E8FEB86659FD93ULL;
        });
        (*values)[task] = value;
    }

    uint64_t checksum() const {
        uint64_t sum = 0;
        for (size_t i = 0; i < values->size(); ++i) sum += (*values)[i] * (2 * i + 1);
        return sum;
    }
};

/// A chain of `iterations` multiplications and additions that begins with `x`.
inline double busy(double x, uint64_t iterations) {
    for (uint64_t i = 0; i < iterations; ++i) x = x * 0.999999 + 0.000001;
    return x;
}

/// Computes for a while, and proves that it ran. What a thread computes goes on from what it computed before, so that two
/// tasks of one thread do not overlap within a core.
struct Busy {
    const uint64_t* iterations;

    void operator()(uint32_t task) const {
        state = busy(state, *iterations);
        Tally::add(uint64_t{task} + 1);
    }

    static inline thread_local double state = 2.0;
};

inline double now_ns() {
    using namespace std::chrono;
    return static_cast<double>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

} // namespace peers
