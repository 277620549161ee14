// Runs expanders on the launches that standard input describes, and prints what they hand over, line by line.
//
// Input is 64-bit words: for each run the program, the values, the tables and the extents, each behind their number, and
// the dispatch configuration in seven words.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "pto/rt/backend/npu/on_device_gen.hpp"

using namespace pto::wsp::backend::npu;

using Expander = int (*)(const Launch*, const DispatchConfig*, const Sink*, Outcome*);
extern const Expander expanders[];

static void list(const char* name, const std::int64_t* values, std::size_t count) {
    std::printf(" %s", name);
    for (std::size_t i = 0; i < count; ++i) std::printf(" %" PRId64, values[i]);
}

static void task(void*, const Task* task) {
    std::printf("T %" PRIu64 " %" PRIu32 " %d %d %" PRId32 " %" PRId32, task->ordinal, task->site, task->kernel,
                static_cast<int>(task->pool), task->stream, task->priority);
    list("p", task->params, task->num_params);
    for (std::size_t i = 0; i < task->num_regions; ++i) {
        const Region& region = task->regions[i];
        std::printf(" b %" PRIu32 " %d", region.tensor, static_cast<int>(region.mode));
        for (std::size_t d = 0; d < max_rank; ++d) std::printf(" %" PRIu32 ":%" PRIu32, region.lo[d], region.hi[d]);
    }
    std::printf(" a");
    for (std::size_t i = 0; i < task->num_after; ++i) std::printf(" %" PRIu64, task->after[i]);
    list("v", task->vars, task->num_vars);
    list("i", task->indices, task->num_indices);
    std::printf("\n");
}

static void ordered(void*, Ordered event, std::uint64_t ordinal) {
    std::printf("O %d %" PRIu64 "\n", static_cast<int>(event), ordinal);
}

static bool slot(void*, std::uint32_t slot, std::uint64_t ordinal, std::int64_t* value) {
    *value = static_cast<std::int64_t>((slot + ordinal) % 3);
    return true;
}

static std::vector<std::uint64_t> input() {
    std::vector<std::uint64_t> words;
    std::uint64_t word = 0;
    while (std::fread(&word, sizeof(word), 1, stdin) == 1) words.push_back(word);
    return words;
}

int main() {
    const std::vector<std::uint64_t> words = input();
    const std::uint64_t* at = words.data();
    const std::uint64_t* end = at + words.size();
    static const std::int64_t nothing[1] = {0};
    while (at < end) {
        const Expander expander = expanders[*at++];
        Launch launch{};
        launch.num_values = *at++;
        launch.values = reinterpret_cast<const std::int64_t*>(at);
        at += launch.num_values;
        launch.num_tables = *at++;
        std::vector<const std::int64_t*> tables;
        std::vector<std::size_t> lengths;
        for (std::size_t i = 0; i < launch.num_tables; ++i) {
            lengths.push_back(*at++);
            tables.push_back(lengths.back() == 0 ? nothing : reinterpret_cast<const std::int64_t*>(at));
            at += lengths.back();
        }
        launch.tables = tables.data();
        launch.table_lengths = lengths.data();
        launch.num_tensors = *at++;
        std::vector<std::uint32_t> extents;
        for (std::size_t i = 0; i < launch.num_tensors * max_rank; ++i) {
            extents.push_back(static_cast<std::uint32_t>(*at++));
        }
        launch.extents = reinterpret_cast<const std::uint32_t(*)[max_rank]>(extents.data());
        DispatchConfig config{};
        std::memcpy(static_cast<void*>(&config), at, sizeof(config));
        at += 7;
        const Sink sink{nullptr, task, ordered, slot};
        Outcome outcome{};
        const int status = expander(&launch, &config, &sink, &outcome);
        std::printf("R %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", status, static_cast<int>(outcome.fault.kind),
                    outcome.fault.ordinal, outcome.ordinals, outcome.steps);
    }
    return 0;
}
