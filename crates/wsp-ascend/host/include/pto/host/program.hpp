// The program of a package on the host: reads arrays, runs a launch on simulated cores, and writes what it wrote.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cores.hpp"
#include "npz.hpp"
#include "package.hpp"
#include "serial.hpp"

namespace pto::host {

// What the command line asks for.
struct Options {
    std::string inputs, outputs;
    Inputs::Settings settings;
    CoreOptions cores;
    // Each task runs where it is generated.
    bool serial = false;
    // Prints what a program reads of the run.
    bool report = false;
    // Outputs of which tasks may leave elements unwritten.
    std::vector<std::string> allowed;
};

inline const char *usage() {
    return "usage: run --inputs FILE.npz --outputs FILE.npz [--set NAME=VALUE]... [--aicpus N] [--window N] [--seed N]\n"
           "           [--threads N] [--phases] [--serial] [--allow-unwritten NAME]... [--report]\n"
           "\n"
           "  --inputs FILE.npz    the arrays that the launch takes; or a folder with NAME.npy of each\n"
           "  --outputs FILE.npz   where those that it writes go; or a folder\n"
           "  --set NAME=VALUE     a parameter of the program, or kv_layout (NHD, HND); may be repeated\n"
           "  --aicpus N           AICPUs that generate tasks, 1 to 64 [1]\n"
           "  --window N           tasks that are in flight at most, 1 to 1048576 [as the schedule says, or 1024]\n"
           "  --seed N             the order in which AICPUs and cores take steps [0]\n"
           "  --threads N          run cores on N threads, in no order; 0: one step after the other [0]\n"
           "  --phases             the host and cores take turns: a task waits for all earlier ones of the other side\n"
           "  --serial             run each task as it is generated, without AICPUs, window, seed and threads\n"
           "  --allow-unwritten NAME  an output of which tasks may leave elements unwritten; may be repeated\n"
           "  --report             print lines for programs, which judge by themselves: kernels, workspace, parameters, elements that no task wrote\n";
}

// Reads the command line; the text is what is wrong with it.
inline std::string read_options(int argc, char **argv, Options &options) {
    const auto number = [](const char *text, std::uint64_t low, std::uint64_t high, std::uint64_t &to) {
        char *end = nullptr;
        errno = 0;
        const std::uint64_t value = std::strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || value < low || value > high) return false;
        to = value;
        return true;
    };
    std::vector<std::string> given;
    for (int at = 1; at < argc; ++at) {
        const std::string name = argv[at];
        const bool is_list = name == "--set" || name == "--allow-unwritten";
        if (!is_list && std::find(given.begin(), given.end(), name) != given.end()) return "`" + name + "` is given twice";
        given.push_back(name);
        if (name == "--serial" || name == "--report") {
            (name == "--serial" ? options.serial : options.report) = true;
            continue;
        }
        if (name == "--phases") {
            options.cores.order = npu::CrossOrder::phases;
            continue;
        }
        const bool is_known = name == "--inputs" || name == "--outputs" || name == "--set" || name == "--aicpus" ||
                              name == "--window" || name == "--seed" || name == "--threads" || name == "--allow-unwritten";
        if (!is_known) return "there is no option `" + name + "`";
        if (at + 1 == argc) return "`" + name + "` lacks its value";
        const std::string value = argv[++at];
        std::uint64_t count = 0;
        const auto range = [&](std::uint64_t low, std::uint64_t high) {
            return "`" + name + " " + value + "`: it takes whole numbers from " + std::to_string(low) + " to " + std::to_string(high);
        };
        if (name == "--inputs") options.inputs = value;
        if (name == "--outputs") options.outputs = value;
        if (name == "--allow-unwritten") options.allowed.push_back(value);
        if (name == "--set") {
            const std::size_t equal = value.find('=');
            if (equal == std::string::npos || equal == 0) return "`--set " + value + "`: write it as NAME=VALUE";
            for (const auto &[known, _] : options.settings) {
                if (known == value.substr(0, equal)) return "`" + known + "` is set twice";
            }
            options.settings.emplace_back(value.substr(0, equal), value.substr(equal + 1));
        }
        if (name == "--aicpus") {
            if (!number(value.c_str(), 1, 64, count)) return range(1, 64);
            options.cores.aicpus = static_cast<std::uint16_t>(count);
        }
        if (name == "--window") {
            if (!number(value.c_str(), 1, 1048576, count)) return range(1, 1048576);
            options.cores.window = static_cast<std::uint32_t>(count);
        }
        if (name == "--seed" && !number(value.c_str(), 0, UINT64_MAX, options.cores.seed)) return range(0, UINT64_MAX);
        if (name == "--threads") {
            if (!number(value.c_str(), 0, 256, count)) return range(0, 256);
            options.cores.threads = static_cast<std::uint32_t>(count);
        }
    }
    for (const std::string &name : given) {
        const bool is_of_cores = name == "--aicpus" || name == "--window" || name == "--seed" || name == "--threads" || name == "--phases";
        if (options.report && name == "--allow-unwritten") return "`" + name + "` has no effect with `--report`: leave one of them out";
        if (options.serial && is_of_cores) return "`" + name + "` has no effect with `--serial`: leave one of them out";
    }
    if (options.inputs.empty()) return "`--inputs FILE.npz` is missing";
    if (options.outputs.empty()) return "`--outputs FILE.npz` is missing";
    return {};
}

// An array that a launch wrote; bytes that no task wrote, and that were not given, are 0.
inline Array written_array(const char *name, const char *elem, const npu::Tensor &tensor) {
    Array array;
    array.name = name;
    array.descr = element_type(elem)->descr;
    for (std::size_t d = 0; d < tensor.rank; ++d) array.shape.push_back(tensor.extents[d]);
    array.bytes = Tensors::contents(tensor.data, 0);
    return array;
}

// Arrays of an archive, or of a folder with a file NAME.npy for each.
inline bool read_arrays(const std::string &path, std::vector<Array> &arrays, std::string &fault) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return read_npz(path, arrays, fault);
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
        if (at->path().extension() == ".npy") files.push_back(at->path());
    }
    if (error) {
        fault = path + ": " + error.message();
        return false;
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path &file : files) {
        Array array;
        if (!read_npy(file.string(), array, fault)) return false;
        array.name = file.stem().string();
        arrays.push_back(std::move(array));
    }
    return true;
}

inline bool write_arrays(const std::string &path, const std::vector<Array> &arrays, std::string &fault) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return write_npz(path, arrays, fault);
    for (const Array &array : arrays) {
        if (!write_npy((std::filesystem::path(path) / (array.name + ".npy")).string(), array, fault)) return false;
    }
    return true;
}

// Lines that programs read: kernels with their descriptors, how often a machine of graphs has launched one, bytes of workspace, and parameters, of which real numbers begin with f.
inline void report(const Package &package, const void *launch, const LaunchMemory &memory) {
    for (const auto &[name, count] : package.kernels(launch)) std::printf("kernel %s %" PRIu64 "\n", name, count);
    for (const auto &[name, count] : memory.kernels) std::printf("kernel %s %" PRIu64 "\n", name, count);
    if (memory.invocations > 0) std::printf("invocations %" PRIu64 "\n", memory.invocations);
    if (package.has_host) std::printf("tokens %" PRIu64 "\n", memory.tokens);
    std::printf("workspace %" PRIu64 "\n", package.workspace_bytes(launch));
    package.parameters(
        launch, [](void *, const char *name, const std::string &value) { std::printf("parameter %s %s\n", name, value.c_str()); }, nullptr);
}

// The array, elements that no task wrote, the first of them, and whether they hold what was given; `read` are those that tasks have read.
inline void report_unwritten(const char *name, const Tensors::Unwritten &left) {
    const auto [unused, read, given] = left;
    const char *const holds = given ? " given" : "";
    if (unused.count > 0) std::printf("unwritten %s %" PRIu64 " %" PRIu64 "%s\n", name, unused.count, unused.first, holds);
    if (read.count > 0) std::printf("read %s %" PRIu64 " %" PRIu64 "%s\n", name, read.count, read.first, holds);
}

// An element as programs write it: `y[1, 0]`.
inline std::string element_at(const Array &array, std::uint64_t at) {
    std::string text;
    for (std::size_t d = array.shape.size(); d-- > 0;) {
        text = std::to_string(at % array.shape[d]) + (text.empty() ? "" : ", ") + text;
        at /= array.shape[d];
    }
    return array.name + "[" + text + "]";
}

// The same for people, as a run of `cpu_sim` judges: an error where elements were never written, a warning where tasks read what none wrote.
// Elements of an array that was given may stay as they were where tasks wrote others.
inline std::string judged(const Array &array, const Tensors::Unwritten &left) {
    std::uint64_t all = 1;
    for (const auto extent : array.shape) all *= extent;
    const std::string &name = array.name;
    const auto of = [&](std::uint64_t count) {
        return std::to_string(count) + " of " + std::to_string(all) + (all == 1 ? " element of `" : " elements of `") + name + "`";
    };
    const std::string allow = "say that it is meant: `--allow-unwritten " + name + "`";
    if (left.unused.count > 0 && left.unused.count == all) return "no task has stored to `" + name + "`: let a task store to it, or " + allow;
    if (left.given) return {};
    if (left.read.count > 0) {
        std::fprintf(stderr, "warning: tasks load %s, which none stores; the first is %s\n", of(left.read.count).c_str(),
                     element_at(array, left.read.first).c_str());
    }
    if (left.unused.count == 0) return {};
    return of(left.unused.count) + " never written; the first is " + element_at(array, left.unused.first) +
           ": let a task store every element, give its array with the inputs, or " + allow;
}

// As `run_package` says.
inline int run_of(const Package &package, int argc, char **argv) {
    const auto wrong = [](int status, const std::string &why) {
        std::fprintf(stderr, "error: %s\n", why.c_str());
        return status;
    };
    if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
        std::fputs(usage(), stdout);
        return 0;
    }
    Options options;
    if (const std::string why = read_options(argc, argv, options); !why.empty()) {
        return wrong(2, why + "\n\n" + usage());
    }
    if (options.cores.order == npu::CrossOrder::phases && !package.has_host) {
        return wrong(2, "`--phases` has no effect: no kernel of the package runs on the host");
    }
    std::error_code error;
    if (std::filesystem::equivalent(options.inputs, options.outputs, error)) {
        return wrong(2, "`" + options.outputs + "` is what the inputs are read from: write the outputs somewhere else");
    }
    // Of an earlier run in this process: what has its addresses now is something else.
    clear_tensors();
    std::vector<Array> arrays;
    std::string fault;
    if (!read_arrays(options.inputs, arrays, fault)) return wrong(2, fault);
    LaunchMemory memory;
    Inputs inputs(std::move(arrays), options.settings, memory);
    const std::unique_ptr<void, void (*)(void *)> own(package.make(), package.drop);
    void *const launch = own.get();
    if (!package.bind(launch, inputs) || !inputs.all_used()) return wrong(1, inputs.fault());
    npu::Trapped trap;
    if (!package.plan(launch, memory, trap)) {
        const bool is_trap = trap.why != npu::Trap::none;
        return wrong(1, is_trap ? "generating tasks: " + npu::generator::text(trap)
                                : std::string("an array of the launch would take 4 GiB or more"));
    }
    on_fault = OnFault::Record;
    if (options.serial) fault = run_serially(package, launch, memory);
    else fault = run_on_cores(package, launch, memory, options.cores);
    if (!fault.empty()) return wrong(1, fault);
    if (options.report) report(package, launch, memory);
    std::vector<Array> results;
    std::vector<std::string> faults;
    auto take = [&](const char *name, const char *elem, const npu::Tensor &tensor, bool has_pages) {
        results.push_back(written_array(name, elem, tensor));
        const bool is_allowed = std::find(options.allowed.begin(), options.allowed.end(), name) != options.allowed.end();
        // Pages have slots of no token.
        if (has_pages || is_allowed) return;
        const Tensors::Unwritten left = Tensors::unwritten(tensor.data, tensor.elem_bytes);
        if (options.report) report_unwritten(name, left);
        else if (std::string why = judged(results.back(), left); !why.empty()) faults.push_back(std::move(why));
    };
    package.outputs(
        launch,
        [](void *user, const char *name, const char *elem, const npu::Tensor &tensor, bool has_pages) {
            (*static_cast<decltype(take) *>(user))(name, elem, tensor, has_pages);
        },
        &take);
    for (const std::string &name : options.allowed) {
        const auto is_it = [&](const Array &array) { return array.name == name; };
        if (std::none_of(results.begin(), results.end(), is_it)) return wrong(2, "`--allow-unwritten " + name + "`: the launch writes no array of this name");
    }
    if (!write_arrays(options.outputs, results, fault)) return wrong(2, fault);
    for (const std::string &why : faults) wrong(1, why);
    return faults.empty() ? 0 : 1;
}

}  // namespace pto::host
