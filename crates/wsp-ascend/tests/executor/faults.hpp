// Programs that cannot run to their end, and what is said of each.
#pragma once

#include <cstdio>

#include "tasks.hpp"

namespace faults {

using namespace tasks;

inline bool begin(TaskSink& sink, std::uint64_t ordinal) { return sink.begin(sink.user, ordinal); }
inline bool end(TaskSink& sink, std::uint64_t ordinal) { return sink.end(sink.user, ordinal); }
inline bool submit(TaskSink& sink, const TaskArgs& args) { return sink.submit(sink.user, &args); }
inline bool task(TaskSink& sink, std::uint64_t ordinal, const TaskArgs& args) {
    return begin(sink, ordinal) && submit(sink, args) && end(sink, ordinal);
}

// A program: what each AICPU does, on so many of them.
struct Case {
    const char* name;
    std::uint16_t aicpus;
    bool (*does)(void*, TaskSink&);
};

inline Tensor tensor(std::uint32_t buffer, std::uint8_t rank) { return {nullptr, 0, buffer, 4, rank, {4, 4, 4, 4, 4, 4}}; }

inline bool region_of_buffer_nine(TaskSink& sink) {
    TaskArgs args;
    const Tensor one = tensor(9, 2);
    args.add_input(one);
    return task(sink, 0, args);
}

inline bool of_rank_six(TaskSink& sink) {
    TaskArgs args;
    const Tensor one = tensor(0, 6);
    args.add_tensor(one);
    return task(sink, 0, args);
}

inline bool after(TaskSink& sink, std::uint64_t ordinal) {
    TaskArgs args;
    const std::uint64_t later[1] = {ordinal};
    args.after = later;
    args.num_after = 1;
    return task(sink, 0, args);
}

inline bool in(TaskSink& sink, std::int32_t stream, Pool pool) {
    TaskArgs args;
    args.stream = stream;
    args.pool = pool;
    return task(sink, 0, args);
}

inline bool allocate(TaskSink& sink, int times, std::uint64_t bytes) {
    Tensor one;
    if (!begin(sink, 0)) return false;
    for (int at = 0; at < times; ++at) {
        if (!sink.alloc(sink.user, bytes, &one)) return false;
    }
    return end(sink, 0);
}

inline bool deep(TaskSink& sink) {
    for (int at = 0; at < 100; ++at) {
        if (!sink.ordered(sink.user, Ordered::begin, 0)) return false;
    }
    return true;
}

inline bool read(TaskSink& sink) {
    const Region region{0, AccessMode::in, {}, {1, 1, 1, 1, 1, 1}};
    return sink.wait(sink.user, &region, 0);
}

inline bool crowd(TaskSink& sink) {
    TaskArgs args;
    args.num_tensors = 33;
    return task(sink, 0, args);
}

inline bool second_fails(TaskSink& sink) {
    TaskArgs args;
    for (std::uint64_t ordinal = 0; ordinal < 10; ++ordinal) {
        args.kernel = static_cast<std::uint16_t>(ordinal);
        args.after = &ordinal;
        if (!task(sink, ordinal, args)) return false;
    }
    return true;
}

inline const Case cases[] = {
    {"after itself", 1, [](void*, TaskSink& sink) { return after(sink, 0); }},
    {"after a later one", 1, [](void*, TaskSink& sink) { return after(sink, 7); }},
    {"unknown buffer", 1, [](void*, TaskSink& sink) { return region_of_buffer_nine(sink); }},
    {"six dimensions", 1, [](void*, TaskSink& sink) { return of_rank_six(sink); }},
    {"unknown stream", 1, [](void*, TaskSink& sink) { return in(sink, 2, Pool::any); }},
    {"no core", 1, [](void*, TaskSink& sink) { return in(sink, -1, Pool::cube); }},
    {"33 tensors", 1, [](void*, TaskSink& sink) { return crowd(sink); }},
    {"not begun", 1, [](void*, TaskSink& sink) { return submit(sink, TaskArgs()); }},
    {"not ended", 1, [](void*, TaskSink& sink) { return begin(sink, 0) && begin(sink, 1); }},
    {"not ended at the end", 1, [](void*, TaskSink& sink) { return begin(sink, 0); }},
    {"begun again", 1, [](void*, TaskSink& sink) { return begin(sink, 0) && end(sink, 0) && begin(sink, 0); }},
    {"begun by two", 2, [](void*, TaskSink& sink) { return begin(sink, 0) && end(sink, 0); }},
    {"left out", 1, [](void*, TaskSink& sink) { return begin(sink, 1) && end(sink, 1); }},
    {"left out by two", 2, [](void*, TaskSink& sink) { return begin(sink, 1ull + sink.my_aicpu_id); }},
    {"large", 1, [](void*, TaskSink& sink) { return allocate(sink, 1, 2000); }},
    {"many", 1, [](void*, TaskSink& sink) { return allocate(sink, 3, 400); }},
    {"no scope", 1, [](void*, TaskSink& sink) { return sink.ordered(sink.user, Ordered::end, 0); }},
    {"deep scopes", 1, [](void*, TaskSink& sink) { return deep(sink); }},
    {"reads", 2, [](void*, TaskSink& sink) { return read(sink); }},
    {"gives up", 1, [](void*, TaskSink&) { return false; }},
    {"a kernel", 1, [](void*, TaskSink& sink) { return second_fails(sink); }},
};

inline void kernel(std::uint16_t number, const std::int64_t*) {
    if (number == 1) throw pto::host::Fault{"fault [value]: kernel 1 fails"};
}

inline void refused(const HostConfig& config) {
    std::printf("%s\n", run(config, [](void*, TaskSink&) { return true; }, nullptr, kernel).fault.c_str());
}

inline void configurations() {
    HostConfig config;
    for (std::uint32_t ExecutorConfig::* field : {&ExecutorConfig::window, &ExecutorConfig::batch}) {
        config.executor.*field = 0;
        refused(config);
        config = {};
    }
    config.executor.num_aicpus = 0;
    refused(config);
    config = {};
    config.executor.cores = {0, 0};
    refused(config);
    config = {};
    config.executor.window = 1u << 21;
    refused(config);
    config = {};
    config.core_threads = 0;
    refused(config);
}

inline int all() {
    configurations();
    for (const Case& one : cases) {
        for (const bool threads : {false, true}) {
            // Which of two is the second is chance.
            if (threads && one.name == std::string("begun by two")) continue;
            HostConfig config;
            config.threads = threads;
            config.executor.num_aicpus = one.aicpus;
            config.executor.cores = {0, 1};
            config.executor.num_buffers = 2;
            config.executor.num_streams = 1;
            config.executor.heap_bytes = 1024;
            config.executor.window = 4;
            const HostResult result = run(config, one.does, nullptr, kernel);
            std::printf("%s\t%s\t%s", one.name, threads ? "threads" : "steps", result.fault.c_str());
            if (result.of_kernel) std::printf(" (kernel %u, ordinal %llu)", result.kernel, static_cast<unsigned long long>(result.ordinal));
            std::printf("\n");
        }
    }
    return 0;
}

}  // namespace faults
