// What a task costs an AICPU: submission, and all of it with kernels that do nothing.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "tasks.hpp"

namespace cost {

using namespace tasks;
using Clock = std::chrono::steady_clock;

struct Bench {
    std::vector<Handshake> cores;
    std::uint64_t tasks = 0;
    // Whether tasks of a round access the tiles of the round before.
    bool again = false;
};

// All cores run what they have.
inline void pause(void* user, std::uint16_t, Pause why) {
    if (why != Pause::wait) return;
    for (Handshake& core : static_cast<Bench*>(user)->cores) {
        std::uint64_t task = 0;
        if (core.poll(&task) == CoreOrder::run) core.complete();
    }
}

inline bool orchestrate(void* program, TaskSink& sink) {
    const Bench& bench = *static_cast<const Bench*>(program);
    Tensor tensors[2] = {};
    for (std::uint32_t at = 0; at < 2; ++at) {
        tensors[at].buffer = at;
        tensors[at].rank = 2;
        tensors[at].extents[0] = tensors[at].extents[1] = 1 << 20;
    }
    for (std::uint64_t ordinal = 0; ordinal < bench.tasks; ++ordinal) {
        TaskArgs args;
        const std::uint32_t tile = static_cast<std::uint32_t>(bench.again ? ordinal % 4096 : ordinal);
        const std::uint32_t row = tile / 64 * 16, column = tile % 64 * 128;
        args.add_tensor(tensors[0]);
        args.add_tensor(tensors[1]);
        args.add_scalar(ordinal);
        args.add_region(tensors[0], AccessMode::in, {row, 0, 0, 0, 0, 0}, {row + 16, 128, 1, 1, 1, 1});
        args.add_region(tensors[1], AccessMode::out, {row, column, 0, 0, 0, 0}, {row + 16, column + 128, 1, 1, 1, 1});
        if (!sink.begin(sink.user, ordinal) || !sink.submit(sink.user, &args) || !sink.end(sink.user, ordinal)) return false;
    }
    return true;
}

// Seconds per task, by the best of some runs.
inline double per_task(std::uint64_t tasks, std::uint32_t window, std::uint32_t batch, bool again, bool only_submits) {
    double best = 1;
    for (int round = 0; round < 5; ++round) {
        Bench bench;
        bench.tasks = tasks;
        bench.again = again;
        bench.cores = std::vector<Handshake>(72);
        ExecutorConfig config;
        config.cores = {24, 48};
        config.num_buffers = 2;
        config.window = window;
        config.batch = batch;
        config.pause = pause;
        config.pause_user = &bench;
        const host_detail::Memory memory(Executor::bytes(config));
        const auto executor = std::make_unique<Executor>(config, bench.cores.data(), memory.data(), Executor::bytes(config));
        const auto from = Clock::now();
        TaskSink sink = executor->sink_of(0);
        if (only_submits) {
            orchestrate(&bench, sink);
        } else {
            executor->run(0, orchestrate, &bench);
        }
        const double took = std::chrono::duration<double>(Clock::now() - from).count() / static_cast<double>(tasks);
        best = took < best ? took : best;
    }
    return best;
}

inline int say(int tasks) {
    const std::uint64_t count = static_cast<std::uint64_t>(tasks);
    for (const bool again : {false, true}) {
        for (const std::uint32_t batch : {1u, 32u}) {
            std::printf("%s tiles, batch %u: %.0f ns a task, window 1024; %.0f ns a submission of the first 1000\n",
                        again ? "the same" : "new", batch, 1e9 * per_task(count, 1024, batch, again, false),
                        1e9 * per_task(1000, 1024, batch, again, true));
        }
    }
    return 0;
}

}  // namespace cost
