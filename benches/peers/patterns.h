// The graphs that every program builds. README.md defines them; `pattern.rs` of the command `cargo xtask bench runtime` holds the
// same definitions, and the checksums of both sides are compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace peers {

/// The linear congruential generator of all random graphs.
class Lcg {
public:
    explicit Lcg(uint64_t seed) : state_(seed) {}

    /// A number below `bound`.
    uint32_t below(uint32_t bound) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<uint32_t>((state_ >> 33) % bound);
    }

private:
    uint64_t state_;
};

/// No edges.
struct Independent {
    uint32_t tasks;
    template <class F> void predecessors(uint32_t, F&&) const {}
};

/// Task i waits for task i - 1.
struct Chain {
    uint32_t tasks;
    template <class F> void predecessors(uint32_t task, F&& found) const {
        if (task > 0) found(task - 1);
    }
};

/// Task (row, column) of a square waits for those above it and left of it.
struct Wavefront {
    uint32_t side;
    uint32_t tasks;
    explicit Wavefront(uint32_t size)
        : side(static_cast<uint32_t>(std::sqrt(static_cast<double>(size)))), tasks(side * side) {}
    template <class F> void predecessors(uint32_t task, F&& found) const {
        if (task >= side) found(task - side);
        if (task % side > 0) found(task - 1);
    }
};

/// Predecessors of task i are `list[first[i] .. first[i + 1]]`.
struct Listed {
    uint32_t tasks = 0;
    std::vector<uint32_t> first{0};
    std::vector<uint32_t> list;

    template <class F> void predecessors(uint32_t task, F&& found) const {
        for (uint32_t at = first[task]; at < first[task + 1]; ++at) found(list[at]);
    }

    /// Adds a predecessor of the task being listed, unless it has it already.
    void add(uint32_t predecessor) {
        if (std::find(list.begin() + first.back(), list.end(), predecessor) == list.end())
            list.push_back(predecessor);
    }

    /// Ends the list of the present task.
    void close() {
        first.push_back(static_cast<uint32_t>(list.size()));
        ++tasks;
    }
};

/// Layers of `max(1, size / 100)` tasks; a task has 1 to 7 draws from the layer before it.
inline Listed random_layered(uint32_t size) {
    Listed graph;
    Lcg lcg(1);
    const uint32_t width = std::max(1u, size / 100);
    for (uint32_t task = 0; task < size; ++task) {
        const uint32_t layer = task / width;
        if (layer > 0) {
            const uint32_t draws = 1 + lcg.below(7);
            for (uint32_t k = 0; k < draws; ++k) graph.add((layer - 1) * width + lcg.below(width));
        }
        graph.close();
    }
    return graph;
}

/// Points of step `step` of a Task Bench pattern.
inline uint32_t points(const std::string& pattern, uint32_t width, uint32_t step) {
    return pattern == "tree" && step < 31 ? std::min(width, 1u << step) : width;
}

/// One Task Bench pattern of `width` points and `steps` steps.
inline Listed task_bench(const std::string& pattern, uint32_t width, uint32_t steps) {
    Listed graph;
    Lcg lcg(2);
    uint32_t levels = 0;
    while ((1u << levels) < width) ++levels;
    uint32_t before = 0; // first task of the step before
    for (uint32_t step = 0; step < steps; ++step) {
        const uint32_t here = graph.tasks;
        for (uint32_t point = 0; point < points(pattern, width, step); ++point) {
            const auto add = [&](int64_t other) {
                if (step > 0 && other >= 0 && other < width) graph.add(before + static_cast<uint32_t>(other));
            };
            const int64_t p = point;
            if (pattern == "no_comm") {
                add(p);
            } else if (pattern == "stencil_1d") {
                for (int64_t d = -1; d <= 1; ++d) add(p + d);
            } else if (pattern == "fft") {
                const int64_t reach = step > 0 && levels > 0 ? int64_t{1} << ((step - 1) % levels) : 0;
                add(p - reach);
                add(p);
                add(p + reach);
            } else if (pattern == "tree") {
                add(step > 0 && points(pattern, width, step - 1) < points(pattern, width, step) ? p / 2 : p);
            } else if (pattern == "random_nearest") {
                for (int64_t d = -1; d <= 1; ++d)
                    if (lcg.below(4) == 0 || d == 0) add(p + d);
            } else if (pattern == "spread") {
                for (uint32_t k = 0; k < 3; ++k) add((point + k * width / 3 + (k > 0 ? step % 3 : 0)) % width);
            }
            graph.close();
        }
        before = here;
    }
    return graph;
}

} // namespace peers
