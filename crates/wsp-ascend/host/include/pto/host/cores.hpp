// A launch on simulated AICPUs and cores: the executor runs the tasks, one step after the other or on threads.
#pragma once

#include <algorithm>
#include <string>

#include "pto/wsp/backend/npu/host_side.hpp"
#include "serial.hpp"

namespace pto::host {

// How a launch runs.
struct CoreOptions {
    std::uint16_t aicpus = 1;
    std::uint64_t seed = 0;
    // Most tasks in flight; 0 leaves it to the schedule.
    std::uint32_t window = 0;
    // Threads that run cores; 0 takes one step after the other.
    std::uint32_t threads = 0;
    // What the tasks of the host and those of cores wait for of each other.
    npu::CrossOrder order = npu::CrossOrder::edges;
};

namespace cores_detail {

// What the orchestration of an AICPU is given.
struct Launched {
    const Package &package;
    const void *launch;
    npu::Trapped trap;
    std::mutex guard;
};

// The sink of an AICPU, whose memory of descriptors holds no values when it is given out again.
class Cleared {
public:
    explicit Cleared(const npu::TaskSink &sink) : inner_(sink) {}

    npu::TaskSink sink() {
        return npu::TaskSink{this, inner_.num_aicpus, inner_.my_aicpu_id, begin, submit, end, alloc, fence, ordered, wait};
    }

private:
    static const npu::TaskSink &of(void *user) { return static_cast<Cleared *>(user)->inner_; }
    static bool begin(void *user, std::uint64_t ordinal) { return of(user).begin(of(user).user, ordinal); }
    static bool submit(void *user, const npu::TaskArgs *task) { return of(user).submit(of(user).user, task); }
    static bool end(void *user, std::uint64_t ordinal) { return of(user).end(of(user).user, ordinal); }
    static bool fence(void *user, std::uint64_t ordinal) { return of(user).fence(of(user).user, ordinal); }
    static bool ordered(void *user, npu::Ordered event, std::uint64_t ordinal) { return of(user).ordered(of(user).user, event, ordinal); }
    static bool wait(void *user, const npu::Region *region, std::uint64_t ordinal) { return of(user).wait(of(user).user, region, ordinal); }
    static bool alloc(void *user, std::uint64_t bytes, npu::Tensor *tensor) {
        if (!of(user).alloc(of(user).user, bytes, tensor)) return false;
        forget_values(tensor->data, bytes);
        return true;
    }

    const npu::TaskSink &inner_;
};

inline bool orchestrate(void *user, npu::TaskSink &sink) {
    Launched &launched = *static_cast<Launched *>(user);
    npu::Trapped trap;
    Cleared cleared(sink);
    if (launched.package.orchestrate(launched.launch, cleared.sink(), trap)) return true;
    const std::lock_guard<std::mutex> lock(launched.guard);
    if (launched.trap.why == npu::Trap::none) launched.trap = trap;
    return false;
}

// What generating tasks came to, if it was trapped.
inline std::string trapped(const Launched &launched) {
    if (launched.trap.why == npu::Trap::none || launched.trap.why == npu::Trap::stopped) return {};
    return "generating tasks: " + npu::generator::text(launched.trap);
}

}  // namespace cores_detail

// Runs a launch so; the text is what went wrong.
inline std::string run_on_cores(const Package &package, const void *launch, LaunchMemory &memory, const CoreOptions &options) {
    const RunPolicy &policy = package.policy;
    npu::HostConfig config;
    npu::ExecutorConfig &executor = config.executor;
    executor.num_aicpus = options.aicpus;
    executor.cores = {policy.cube_cores, policy.vector_cores};
    executor.num_buffers = memory.buffers;
    executor.window = options.window != 0 ? options.window : policy.window;
    executor.num_streams = policy.streams;
    executor.batch = policy.batch;
    executor.gate_global = policy.gate_global;
    executor.gate_per_stream = policy.gate_per_stream;
    executor.gate_per_pool = policy.gate_per_pool;
    executor.order = policy.by_priority ? pto::wsp::graph::ReadyOrder::priority : pto::wsp::graph::ReadyOrder::fifo;
    executor.reads_results = policy.reads_results;
    // Room for the tensors of some descriptors at once: others wait until there is.
    executor.heap_bytes = std::max<std::uint64_t>(1 << 20, std::min<std::uint64_t>(64 * policy.descriptor_bytes, 256 << 20));
    executor.heap_bytes = std::max<std::uint64_t>(executor.heap_bytes, 2 * policy.descriptor_bytes);
    executor.allocs = 64 * std::max<std::uint32_t>(policy.descriptor_tensors, 1);
    config.threads = options.threads != 0;
    config.core_threads = std::max(options.threads, 1u);
    config.seed = options.seed;
    config.begin_task = begin_task;
    config.end_task = end_task;
    config.heap_is = [](void *data, std::uint64_t bytes) {
        add_tensor("exchange", static_cast<std::uint8_t *>(data), static_cast<std::uint32_t>(bytes), false);
    };
    cores_detail::Launched launched{package, launch, {}, {}};
    void *const exchange = package.has_host ? memory.get("exchange of the host", policy.descriptor_bytes + 64) : nullptr;
    npu::HostSide host({cores_detail::orchestrate, &launched, package.on_host, package.run_on_host, memory.buffers,
                        exchange, forget_values});
    if (package.has_host) {
        if (exchange == nullptr || !host.plan(options.order)) {
            const std::string fault = cores_detail::trapped(launched);
            return fault.empty() ? "there is no memory for the tasks of the host" : fault;
        }
        memory.tokens = host.tokens();
        config.host = &host;
    }
    const npu::HostResult result = npu::run(config, cores_detail::orchestrate, &launched, package.run_on_core);
    if (const std::string fault = cores_detail::trapped(launched); !fault.empty()) return fault;
    if (!result.of_kernel) return result.fault;
    return "task of ordinal " + std::to_string(result.ordinal) + ", " + package.name(result.kernel) + ": " + result.fault;
}

}  // namespace pto::host
