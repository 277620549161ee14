// The orchestration of a package, timed: its tasks go to a sink that counts them.
#define main run_package
#include "main.cpp"
#undef main

#include <chrono>
#include <cstdio>

namespace {

using pto::wsp::backend::npu::TaskSink;

std::uint64_t tasks;

bool begin(void*, std::uint64_t) { return true; }
bool submit(void*, const pto::wsp::backend::npu::TaskArgs*) { return ++tasks, true; }

struct Timed : Program {
    static bool orchestrate(const Launch& l, const TaskSink& given, pto::wsp::backend::npu::Trapped& trap) {
        TaskSink sink = given;
        sink.begin = sink.end = begin;
        sink.submit = submit;
        double best = 1e9;
        for (int round = 0; round < 9; ++round) {
            tasks = 0;
            const auto start = std::chrono::steady_clock::now();
            if (!program::orchestrate(l, sink, trap)) std::exit(1);
            const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
            if (took.count() / static_cast<double>(tasks) < best) best = took.count() / static_cast<double>(tasks);
        }
        std::printf("%llu tasks, %.2f ns each\n", static_cast<unsigned long long>(tasks), best);
        std::exit(0);
    }
};

}  // namespace

int main(int argc, char** argv) { return pto::host::run_program<Timed>(argc, argv); }
