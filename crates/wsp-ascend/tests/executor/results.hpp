// Orchestration that reads what tasks wrote: it sees the tasks of smaller ordinals, and none of the later ones.
#pragma once

#include <cstdio>

#include "tasks.hpp"

namespace results {

using namespace tasks;

constexpr std::uint64_t count = 24;

struct Program {
    std::uint64_t cell = 0;
    std::atomic<int> wrong{0};
};

inline void add_one(std::uint16_t, const std::int64_t* args) {
    const ChipTensor& tensor = *reinterpret_cast<const ChipTensor*>(static_cast<std::uintptr_t>(args[0]));
    ++*reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(tensor.buffer.addr));
}

inline bool orchestrate(void* user, TaskSink& sink) {
    Program& program = *static_cast<Program*>(user);
    const Tensor cell{&program.cell, 8, 0, 8, 1, {1, 1, 1, 1, 1, 1}};
    for (std::uint64_t ordinal = 0; ordinal < count; ++ordinal) {
        if (ordinal % 3 == 2) {
            const Region region{0, AccessMode::in, {}, {1, 1, 1, 1, 1, 1}};
            if (!sink.wait(sink.user, &region, ordinal)) return false;
            program.wrong += program.cell == ordinal ? 0 : 1;
        }
        if (ordinal % 5 % sink.num_aicpus != sink.my_aicpu_id) continue;
        TaskArgs args;
        args.add_inout(cell);
        if (!sink.begin(sink.user, ordinal) || !sink.submit(sink.user, &args) || !sink.end(sink.user, ordinal)) return false;
    }
    return true;
}

inline int wrong(int seeds) {
    int all = 0, runs = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        for (const std::uint16_t aicpus : {std::uint16_t{1}, std::uint16_t{4}}) {
            for (const std::uint32_t window : {1u, 64u}) {
                for (const bool threads : {false, true}) {
                    Program program;
                    HostConfig config;
                    config.threads = threads;
                    config.seed = static_cast<std::uint64_t>(seed);
                    config.executor.num_aicpus = aicpus;
                    config.executor.num_buffers = 1;
                    config.executor.window = window;
                    config.executor.batch = 4;
                    config.executor.reads_results = true;
                    const HostResult result = run(config, orchestrate, &program, add_one);
                    const bool good = result.fault.empty() && program.wrong == 0 && program.cell == count;
                    if (!good) std::printf("seed %d, %u AICPUs: %s\n", seed, aicpus, result.fault.c_str());
                    all += good ? 0 : 1;
                    ++runs;
                }
            }
        }
    }
    std::printf("%d of %d runs read a wrong number\n", all, runs);
    return all;
}

}  // namespace results
