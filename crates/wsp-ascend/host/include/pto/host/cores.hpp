// A launch on simulated AICPUs and cores: the executor runs the tasks, one step after the other or on threads.
#pragma once

#include <algorithm>
#include <string>

#include "inputs.hpp"
#include "pto/wsp/backend/npu/host_run.hpp"

namespace pto::host {

// How a launch runs.
struct CoreOptions {
    std::uint16_t aicpus = 1;
    std::uint64_t seed = 0;
    // Most tasks in flight; 0 leaves it to the schedule.
    std::uint32_t window = 0;
    // Threads that run cores; 0 takes one step after the other.
    std::uint32_t threads = 0;
};

namespace cores_detail {

// What the orchestration of an AICPU is given.
template <class Program>
struct Launched {
    const typename Program::Launch &launch;
    npu::Trap trap = npu::Trap::none;
    std::mutex guard;
};

template <class Program>
bool orchestrate(void *user, npu::TaskSink &sink) {
    Launched<Program> &launched = *static_cast<Launched<Program> *>(user);
    npu::Trap trap = npu::Trap::none;
    if (Program::orchestrate(launched.launch, sink, trap)) return true;
    const std::lock_guard<std::mutex> lock(launched.guard);
    if (launched.trap == npu::Trap::none) launched.trap = trap;
    return false;
}

template <class Program>
void dispatch(std::uint16_t kernel, const std::int64_t *args) {
    Program::dispatch(kernel, const_cast<std::int64_t *>(args));
}

}  // namespace cores_detail

// Runs a launch so; the text is what went wrong.
template <class Program>
std::string run_on_cores(const typename Program::Launch &launch, LaunchMemory &memory, const CoreOptions &options) {
    using Policy = typename Program::Policy;
    npu::HostConfig config;
    npu::ExecutorConfig &executor = config.executor;
    executor.num_aicpus = options.aicpus;
    executor.cores = {Policy::cube_cores, Policy::vector_cores};
    executor.num_buffers = memory.buffers;
    executor.window = options.window != 0 ? options.window : Policy::window;
    executor.batch = Policy::batch;
    executor.gate_global = Policy::gate_global;
    executor.gate_per_stream = Policy::gate_per_stream;
    executor.gate_per_pool = Policy::gate_per_pool;
    executor.order = Policy::by_priority ? pto::wsp::graph::ReadyOrder::priority : pto::wsp::graph::ReadyOrder::fifo;
    executor.reads_results = Policy::reads_results;
    // Room for the tensors of some descriptors at once: others wait until there is.
    executor.heap_bytes = std::max<std::uint64_t>(1 << 20, std::min<std::uint64_t>(64 * Policy::descriptor_bytes, 256 << 20));
    executor.heap_bytes = std::max<std::uint64_t>(executor.heap_bytes, 2 * Policy::descriptor_bytes);
    executor.allocs = 64 * std::max<std::uint32_t>(Policy::descriptor_tensors, 1);
    config.threads = options.threads != 0;
    config.core_threads = options.threads;
    config.seed = options.seed;
    config.begin_task = [](std::uint32_t) { core().begin_kernel(0); };
    config.end_task = [] { core().end_kernel(); };
    config.heap_is = [](void *data, std::uint64_t bytes) {
        core().add_tensor("exchange", static_cast<std::uint8_t *>(data), static_cast<std::uint32_t>(bytes), false);
    };
    std::signal(SIGFPE, stop_at_division);
    core().begin_launch(1);
    cores_detail::Launched<Program> launched{launch};
    const npu::HostResult result = npu::run(config, cores_detail::orchestrate<Program>, &launched, cores_detail::dispatch<Program>);
    if (launched.trap != npu::Trap::none && launched.trap != npu::Trap::stopped) {
        return std::string("generating tasks: ") + npu::generator::text(launched.trap);
    }
    if (!result.of_kernel) return result.fault;
    return "task of ordinal " + std::to_string(result.ordinal) + ", " + Program::name(result.kernel) + ": " + result.fault;
}

}  // namespace pto::host
