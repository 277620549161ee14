// What a package says of its program to the run of the host, which is compiled once for all packages: `host/run.cpp`.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "inputs.hpp"

namespace pto::host {

// What the schedule says of the run, and what a descriptor needs; see `Policy` of the package.
struct RunPolicy {
    std::uint16_t cube_cores, vector_cores;
    std::uint32_t window, streams, batch, gate_global, gate_per_stream, gate_per_pool;
    bool by_priority, reads_results;
    std::uint64_t descriptor_bytes;
    std::uint32_t descriptor_tensors;
};

// Gets parameters as text, of which real numbers begin with f.
using TakesParameter = void (*)(void *user, const char *name, const std::string &value);
// Gets arrays that a launch writes, with the type of their elements, and whether they are pages of a cache.
using TakesOutput = void (*)(void *user, const char *name, const char *elem, const npu::Tensor &tensor, bool has_pages);

// The program of a package. `launch` is what `make` returned.
struct Package {
    RunPolicy policy;
    // Whether some kernels run on the host, and no core; whether this one does.
    bool has_host;
    bool (*on_host)(std::uint16_t kernel);
    const char *(*name)(std::uint16_t kernel);
    // Runs a kernel. False: there is none of this number.
    bool (*dispatch)(std::uint16_t kernel, std::int64_t *args);
    // The same for cores, and for the host.
    void (*run_on_core)(std::uint16_t kernel, const std::int64_t *args);
    void (*run_on_host)(const npu::TaskArgs &task);

    void *(*make)();
    void (*drop)(void *launch);
    bool (*bind)(void *launch, Inputs &in);
    bool (*plan)(void *launch, npu::Memory &memory, npu::Trapped &trap);
    bool (*orchestrate)(const void *launch, const npu::TaskSink &sink, npu::Trapped &trap);
    void (*parameters)(const void *launch, TakesParameter take, void *user);
    void (*outputs)(const void *launch, TakesOutput take, void *user);
    // Descriptors of each kernel that has some.
    const std::vector<std::pair<const char *, std::uint64_t>> &(*kernels)(const void *launch);
    std::uint64_t (*workspace_bytes)(const void *launch);
};

// Runs the launch of a program, as the main function of a package. 0: it is done; 1: its arrays, values or tasks are at fault;
// 2: the command line or a file is.
int run_package(int argc, char **argv, const Package &package);

// A kernel begins, and has ended.
void begin_kernel(const char *name);
void end_kernel();
// Runs a task of the host as a core behind the last one would.
void run_host_task(const npu::TaskArgs &task, std::uint32_t core, void (*run)(std::uint16_t kernel, const std::int64_t *args));
// Of a real number.
std::string parameter_text(double value);

namespace package_detail {

template <class Program>
void run_on_core(std::uint16_t kernel, const std::int64_t *args) {
    begin_kernel(Program::name(kernel));
    Program::dispatch(kernel, const_cast<std::int64_t *>(args));
    end_kernel();
}

template <class Program>
void run_on_host(const npu::TaskArgs &task) {
    run_host_task(task, std::uint32_t{Program::Policy::cube_cores} + Program::Policy::vector_cores, run_on_core<Program>);
}

template <class Program>
void parameters(const void *launch, TakesParameter take, void *user) {
    Program::parameters(*static_cast<const typename Program::Launch *>(launch), [&](const char *name, auto value) {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, bool>) take(user, name, value ? "true" : "false");
        else if constexpr (std::is_floating_point_v<T>) take(user, name, parameter_text(static_cast<double>(value)));
        else take(user, name, std::to_string(value));
    });
}

template <class Program>
void outputs(const void *launch, TakesOutput take, void *user) {
    Program::outputs(*static_cast<const typename Program::Launch *>(launch),
                     [&](const char *name, const char *elem, const npu::Tensor &tensor, bool has_pages) { take(user, name, elem, tensor, has_pages); });
}

template <class Program>
Package of() {
    using Launch = typename Program::Launch;
    using Policy = typename Program::Policy;
    Package package{};
    package.policy = {Policy::cube_cores,  Policy::vector_cores,    Policy::window,        Policy::streams,     Policy::batch,
                      Policy::gate_global, Policy::gate_per_stream, Policy::gate_per_pool, Policy::by_priority, Policy::reads_results,
                      Policy::descriptor_bytes, Policy::descriptor_tensors};
    package.has_host = Program::has_host;
    package.on_host = Program::on_host;
    package.name = Program::name;
    package.dispatch = Program::dispatch;
    package.run_on_core = run_on_core<Program>;
    package.run_on_host = run_on_host<Program>;
    package.make = []() -> void * { return new Launch; };
    package.drop = [](void *launch) { delete static_cast<Launch *>(launch); };
    package.bind = [](void *launch, Inputs &in) { return Program::bind(*static_cast<Launch *>(launch), in); };
    package.plan = [](void *launch, npu::Memory &memory, npu::Trapped &trap) { return Program::plan(*static_cast<Launch *>(launch), memory, trap); };
    package.orchestrate = [](const void *launch, const npu::TaskSink &sink, npu::Trapped &trap) {
        return Program::orchestrate(*static_cast<const Launch *>(launch), sink, trap);
    };
    package.parameters = parameters<Program>;
    package.outputs = outputs<Program>;
    package.kernels = [](const void *launch) -> const std::vector<std::pair<const char *, std::uint64_t>> & {
        return static_cast<const Launch *>(launch)->kernels;
    };
    package.workspace_bytes = [](const void *launch) -> std::uint64_t { return static_cast<const Launch *>(launch)->workspace_bytes; };
    return package;
}

}  // namespace package_detail

template <class Program>
int run_program(int argc, char **argv) {
    return run_package(argc, argv, package_detail::of<Program>());
}

}  // namespace pto::host
