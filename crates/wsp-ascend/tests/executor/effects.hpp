// What each policy does to tasks that depend on nothing.
#pragma once

#include <cstdio>

#include "tasks.hpp"

namespace effects {

using namespace tasks;

inline std::vector<std::uint16_t>& ran() {
    static std::vector<std::uint16_t> all;
    return all;
}

inline bool orchestrate(void*, TaskSink& sink) {
    for (std::uint16_t ordinal = 0; ordinal < 16; ++ordinal) {
        TaskArgs args;
        args.kernel = ordinal;
        args.priority = ordinal;
        if (!sink.begin(sink.user, ordinal) || !sink.submit(sink.user, &args) || !sink.end(sink.user, ordinal)) return false;
    }
    return true;
}

inline void run_one(const char* name, std::uint32_t window, std::uint32_t batch, graph::ReadyOrder order) {
    HostConfig config;
    config.executor.cores = {0, 1};
    config.executor.window = window;
    config.executor.batch = batch;
    config.executor.order = order;
    ran().clear();
    const HostResult result = run(config, orchestrate, nullptr, [](std::uint16_t kernel, const std::int64_t*) { ran().push_back(kernel); });
    std::printf("%s:", name);
    for (const std::uint16_t kernel : ran()) std::printf(" %u", kernel);
    std::printf("; edges were made %llu times, submissions waited %llu times%s\n",
                static_cast<unsigned long long>(result.counters.flushes), static_cast<unsigned long long>(result.window.stalls),
                result.fault.c_str());
}

inline int say() {
    run_one("first ready first run", 64, 16, graph::ReadyOrder::fifo);
    run_one("largest priority first", 64, 16, graph::ReadyOrder::priority);
    run_one("without a batch", 64, 1, graph::ReadyOrder::fifo);
    run_one("a window of 4", 4, 1, graph::ReadyOrder::fifo);
    return 0;
}

}  // namespace effects
