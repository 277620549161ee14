// Compiles programs under schedules, a line for each thing made.
//
//     generator PROGRAM... < CASES
//
// A case is a line of numbers: the program, the memory (0 for what is needed), how many AICPUs are asked for and which; then
// the schedule in the order of its record: a policy is three numbers and the words of its key, an expression its length and
// words of two numbers each, opcode plus 256 times flags, and operand. Levels are given with bounds. What is made is printed
// in hexadecimal, else status and report.

#include "pto/wsp/backend/npu/on_device_gen.hpp"

#include <cinttypes>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <vector>

namespace npu = pto::wsp::backend::npu;

namespace {

// Reads a schedule, and keeps what its record points to.
struct Reader {
    std::istringstream text;
    std::deque<std::vector<wsp_ptow_word>> keys;
    std::vector<wsp_ptow_partition> ranges;
    std::vector<std::int32_t> bounds;
    std::vector<wsp_ptow_policy> levels;

    std::int64_t number() {
        std::int64_t value = 0;
        text >> value;
        return value;
    }

    wsp_ptow_key key() {
        std::vector<wsp_ptow_word> words(static_cast<std::size_t>(number()));
        for (wsp_ptow_word& word : words) {
            const auto code = static_cast<std::uint16_t>(number());
            word.opcode = static_cast<std::uint8_t>(code & 255);
            word.flags = static_cast<std::uint8_t>(code >> 8);
            word.operand1 = 0;
            word.operand2 = static_cast<std::uint32_t>(number());
        }
        keys.push_back(words);
        return {keys.back().data(), keys.back().size()};
    }

    wsp_ptow_policy policy() {
        wsp_ptow_policy policy{};
        policy.policy = static_cast<std::uint32_t>(number());
        policy.depth = static_cast<std::uint32_t>(number());
        policy.key = key();
        return policy;
    }

    pto::wsp::ir::ScheduleDef schedule() {
        pto::wsp::ir::ScheduleDef schedule{};
        schedule.dispatch = policy();
        ranges.resize(static_cast<std::size_t>(number()));
        for (wsp_ptow_partition& range : ranges) {
            range.task_range_start = static_cast<std::uint32_t>(number());
            range.task_range_end = static_cast<std::uint32_t>(number());
        }
        schedule.ranges = ranges.data();
        schedule.num_ranges = ranges.size();
        schedule.metric = key();
        bounds.resize(static_cast<std::size_t>(number()));
        for (std::int32_t& bound : bounds) bound = static_cast<std::int32_t>(number());
        schedule.bounds = bounds.data();
        schedule.num_bounds = bounds.size();
        levels.resize(bounds.empty() ? 0 : bounds.size() + 1);
        for (wsp_ptow_policy& level : levels) level = policy();
        schedule.levels = levels.empty() ? nullptr : levels.data();
        schedule.stream_by = key();
        schedule.priority = key();
        schedule.streams = static_cast<std::uint32_t>(number());
        return schedule;
    }
};

void print(const npu::OnDeviceGenerator& generator, const void* bytes, std::size_t size) {
    if (!generator.ok()) {
        const wsp_ptow_report& report = generator.error().report;
        std::printf("status %" PRId32 " kind %" PRIu32 " place %" PRIu32 " at %" PRIu64 " found %" PRId64 " limit %" PRId64 "\n",
                    generator.error().status, report.kind, report.place, report.at, report.found, report.limit);
        return;
    }
    for (std::size_t i = 0; i < size; i++) std::printf("%02x", static_cast<const std::uint8_t*>(bytes)[i]);
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::vector<char>> programs;
    for (int i = 1; i < argc; i++) {
        std::ifstream file(argv[i], std::ios::binary);
        programs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    for (std::string line; std::getline(std::cin, line);) {
        Reader reader{std::istringstream(line), {}, {}, {}, {}};
        const std::vector<char>& program = programs.at(static_cast<std::size_t>(reader.number()));
        const auto asked = static_cast<std::size_t>(reader.number());
        const auto aicpus = static_cast<int>(reader.number()), id = static_cast<int>(reader.number());
        const pto::wsp::ir::ScheduleDef schedule = reader.schedule();
        const pto::wsp::ir::WorkloadDef workload{reinterpret_cast<const std::uint8_t*>(program.data()), program.size()};
        const std::size_t needed = npu::OnDeviceGenerator::memory_needed(workload, schedule);
        std::vector<std::uint64_t> memory((asked == 0 ? needed + 7 : asked) / 8 + 1);
        npu::OnDeviceGenerator generator(reinterpret_cast<std::uint8_t*>(memory.data()), asked == 0 ? needed : asked);
        const npu::WorkloadBytecode bytecode = generator.compile(workload, schedule);
        if (generator.ok() && bytecode.header().magic != 0x50544F57) return 1;
        print(generator, bytecode.bytes, bytecode.size);
        const npu::DispatchConfig config = generator.compile_dispatch(schedule, aicpus, id);
        print(generator, &config, sizeof(config));
    }
    return 0;
}
