// Prints the tasks of one AICPU, a line each, and the boundaries of ordered scopes.
//
//     host PROGRAM LAUNCH CONFIG MODE TASKS STEPS
//
// PROGRAM is bytecode, LAUNCH text: a count and so many values; a count and so many tables, each a count and elements; a
// count and so many tensors, six extents each. CONFIG has the bytes of a configuration. MODE is that of the interface, with prefix sums where it skips; TASKS
// and STEPS are the budgets of each run. A slot has a value only when it is asked for the second time, so that the
// interpreter must wait: 1 before task 34, then 0. Generators generate two tasks.

#include "wsp_ptow.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef WSP_PANIC_PROBE
extern "C" uint32_t wsp_panic_probe(uint32_t index);
#endif

namespace {

struct State {
    uint64_t asked_at = UINT64_MAX;
};

[[noreturn]] void fail(const char *what, int32_t status, const wsp_ptow_report &report) {
    std::printf("%s: status %" PRId32 ", kind %" PRIu32 ", place %" PRIu32 ", at %" PRIu64 ", found %" PRId64
                ", limit %" PRId64 ", ordinal %" PRIu64 "\n",
                what, status, report.kind, report.place, report.at, report.found, report.limit, report.ordinal);
    std::exit(0);
}

std::vector<uint8_t> read_bytes(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (file == nullptr) {
        std::fprintf(stderr, "%s cannot be opened\n", path);
        std::exit(2);
    }
    std::vector<uint8_t> bytes;
    uint8_t buffer[4096];
    for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
        bytes.insert(bytes.end(), buffer, buffer + got);
    }
    std::fclose(file);
    return bytes;
}

struct Launch {
    std::vector<int64_t> values;
    std::vector<std::vector<int64_t>> tables;
    std::vector<uint32_t> extents;
};

Launch read_launch(const char *path) {
    std::vector<uint8_t> text = read_bytes(path);
    text.push_back(0);
    char *at = reinterpret_cast<char *>(text.data());
    auto number = [&at] { return std::strtoll(at, &at, 10); };
    Launch launch;
    launch.values.resize(static_cast<size_t>(number()));
    for (int64_t &value : launch.values) value = number();
    launch.tables.resize(static_cast<size_t>(number()));
    for (std::vector<int64_t> &table : launch.tables) {
        table.resize(static_cast<size_t>(number()));
        for (int64_t &element : table) element = number();
    }
    launch.extents.resize(static_cast<size_t>(number()) * WSP_PTOW_MAX_RANK);
    for (uint32_t &extent : launch.extents) extent = static_cast<uint32_t>(number());
    return launch;
}

template <typename T> void print_list(const char *name, const T *items, unsigned count) {
    std::printf(" %s[", name);
    for (unsigned i = 0; i < count; i++) std::printf(i ? ",%lld" : "%lld", static_cast<long long>(items[i]));
    std::printf("]");
}

int32_t take_task(void *, const wsp_ptow_task *task) {
    std::printf("%" PRIu64 " site %" PRIu32 " kernel %u pool %u stream %d priority %" PRId32 " label %d", task->ordinal,
                task->site, task->kernel, task->pool, static_cast<int32_t>(task->stream), task->priority,
                static_cast<int32_t>(task->label));
    print_list("params", task->params, task->num_params);
    print_list("after", task->after, task->num_after);
    print_list("vars", task->vars, task->num_vars);
    print_list("indices", task->indices, task->num_indices);
    for (unsigned i = 0; i < task->num_regions; i++) {
        const wsp_ptow_region &region = task->regions[i];
        std::printf(" %u:%" PRIu32, task->modes[i], region.tensor);
        print_list("lo", region.lo, WSP_PTOW_MAX_RANK);
        print_list("hi", region.hi, WSP_PTOW_MAX_RANK);
    }
    std::printf("\n");
    return 0;
}

int32_t take_boundary(void *, uint32_t event, uint64_t ordinal) {
    const char *const names[] = {"begin", "step", "end"};
    std::printf("%s %" PRIu64 "\n", names[event], ordinal);
    return 0;
}

int32_t slot_value(void *user, uint32_t, uint64_t ordinal, int64_t *value) {
    State *state = static_cast<State *>(user);
    if (state->asked_at != ordinal) {
        state->asked_at = ordinal;
        return 1;
    }
    *value = ordinal < 34 ? 1 : 0;
    return 0;
}

int32_t run_plan(void *, uint16_t generator, uint64_t ordinal, uint64_t *tasks) {
    std::printf("plan %u at %" PRIu64 "\n", generator, ordinal);
    *tasks = 2;
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 7) return 2;
#ifdef WSP_PANIC_PROBE
    if (wsp_panic_probe(static_cast<uint32_t>(argc)) == 1) return 1;
#endif
    const std::vector<uint8_t> program = read_bytes(argv[1]);
    const Launch data = read_launch(argv[2]);
    const std::vector<uint8_t> config_bytes = read_bytes(argv[3]);
    wsp_ptow_config config;
    if (config_bytes.size() != sizeof config) return 2;
    std::memcpy(&config, config_bytes.data(), sizeof config);
    const uint32_t mode = static_cast<uint32_t>(std::atoi(argv[4]));
    const uint32_t tasks = static_cast<uint32_t>(std::atoi(argv[5]));
    const uint32_t steps = static_cast<uint32_t>(std::atoi(argv[6]));

    wsp_ptow_report report;
    uint64_t need = 0;
    int32_t status = wsp_ptow_scratch_bytes(program.data(), program.size(), &need, &report);
    if (status != WSP_PTOW_OK) fail("read", status, report);
    std::vector<uint8_t> scratch(need);
    status = wsp_ptow_verify(program.data(), program.size(), scratch.data(), need, &need, &report);
    if (status != WSP_PTOW_OK) fail("verify", status, report);

    std::vector<wsp_ptow_table> tables;
    for (const std::vector<int64_t> &table : data.tables) tables.push_back({table.data(), table.size()});
    const wsp_ptow_launch launch = {
        data.values.data(),
        data.values.size(),
        tables.data(),
        tables.size(),
        reinterpret_cast<const uint32_t(*)[WSP_PTOW_MAX_RANK]>(data.extents.data()),
        data.extents.size() / WSP_PTOW_MAX_RANK,
    };
    std::vector<uint64_t> memory((need + 7) / 8);
    wsp_ptow *handle = nullptr;
    uint8_t *const bytes = reinterpret_cast<uint8_t *>(memory.data());
    std::vector<uint64_t> sums_memory;
    const wsp_ptow_sums *sums = nullptr;
    if (mode == WSP_PTOW_SKIP) {
        uint64_t size = 0;
        status = wsp_ptow_sums_bytes(program.data(), program.size(), &launch, bytes, need, &size, &report);
        if (status != WSP_PTOW_OK) fail("sums", status, report);
        sums_memory.resize((size + 7) / 8);
        status = wsp_ptow_sums_build(program.data(), program.size(), &launch, bytes, need,
                                     reinterpret_cast<uint8_t *>(sums_memory.data()), size, &sums, &report);
        if (status != WSP_PTOW_OK) fail("sums", status, report);
    }
    status = wsp_ptow_open(program.data(), program.size(), &launch, &config, sums, mode, bytes, need, &handle, &report);
    if (status != WSP_PTOW_OK) fail("open", status, report);

    State state;
    const wsp_ptow_host host = {&state, take_task, take_boundary, slot_value, run_plan};
    do {
        status = wsp_ptow_run(handle, &host, tasks, steps, &report);
    } while (status == WSP_PTOW_YIELDED || status == WSP_PTOW_WAITS);
    if (status != WSP_PTOW_FINISHED) fail("run", status, report);
    uint64_t watermark = 0;
    wsp_ptow_stats stats;
    if (wsp_ptow_watermark(handle, &watermark) != WSP_PTOW_OK) return 3;
    if (wsp_ptow_stats_of(handle, &stats) != WSP_PTOW_OK) return 3;
    std::printf("finished %d tasks %" PRIu64 " of %" PRIu64 "\n", watermark == UINT64_MAX, stats.tasks,
                stats.total_ordinals);
    return 0;
}
