// Runs the launch of a package: the part of its program that is the same for all packages.
#include <pto/host/program.hpp>

namespace pto::host {

int run_package(int argc, char **argv, const Package &package) { return run_of(package, argc, argv); }

void begin_kernel(const char *name) { running_task() = name; }

void end_kernel() { running_task() = nullptr; }

void run_host_task(const npu::TaskArgs &task, std::uint32_t core, void (*run)(std::uint16_t kernel, const std::int64_t *args)) {
    TaskWords words(task);
    begin_task(core);
    run(task.kernel, words.words());
    end_task();
}

std::string parameter_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "f%.17g", value);
    return text;
}

}  // namespace pto::host
