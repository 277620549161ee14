// The tasks of a workload from its program: what emitted loops are replaced by where a package has the bytecode. It calls
// libwsp_device.a. Each AICPU interprets the program by itself.
#pragma once

#include <vector>

#include "on_device_gen.hpp"

namespace pto::wsp::backend::npu {

namespace bytecode {

// Loop steps between two looks at a sink's wish to stop.
constexpr std::uint32_t stride = 1u << 16;

inline bool is_stopped(const Sink& sink) { return sink.stop != nullptr && *sink.stop; }

// A task as expanders hand it over. Its regions are none: those of kernels with bodies follow from their descriptors.
inline std::int32_t task(void* user, const wsp_ptow_task* of) {
    const Sink& sink = *static_cast<const Sink*>(user);
    Task task{};
    task.ordinal = of->ordinal;
    task.site = of->site;
    task.kernel = of->kernel;
    task.pool = static_cast<Pool>(of->pool);
    task.stream = of->stream == WSP_PTOW_NONE ? -1 : static_cast<std::int32_t>(of->stream);
    task.priority = of->priority;
    task.params = of->params;
    task.num_params = of->num_params;
    task.after = of->after;
    task.num_after = of->num_after;
    task.vars = of->vars;
    task.num_vars = of->num_vars;
    task.indices = of->indices;
    task.num_indices = of->num_indices;
    sink.task(sink.user, &task);
    return is_stopped(sink) ? 1 : 0;
}

inline std::int32_t ordered(void* user, std::uint32_t event, std::uint64_t ordinal) {
    const Sink& sink = *static_cast<const Sink*>(user);
    if (sink.ordered != nullptr) sink.ordered(sink.user, static_cast<Ordered>(event), ordinal);
    return is_stopped(sink) ? 1 : 0;
}

static_assert(WSP_PTOW_BEGIN == static_cast<int>(Ordered::begin) && WSP_PTOW_STEP == static_cast<int>(Ordered::step) &&
                  WSP_PTOW_END == static_cast<int>(Ordered::end),
              "both count boundaries so");

// The kind of a fault of the interpreter.
inline FaultKind kind_of(const wsp_ptow_report& report) {
    switch (report.kind) {
        case 1:
            switch (report.limit) {
                case 1: return FaultKind::overflow;
                case 2: return FaultKind::division_by_zero;
                case 3: return FaultKind::table_index;
                default: return FaultKind::expression;
            }
        case 2: return FaultKind::outside;
        case 3:
            switch (report.limit) {
                case 1: return FaultKind::step;
                case 2: return FaultKind::row;
                case 3: return FaultKind::pointers;
                default: return FaultKind::iterations;
            }
        case 4: return FaultKind::rounds;
        case 5: return FaultKind::steps;
        case 6: return FaultKind::priority;
        case 7: return FaultKind::past_partition;
        case 10: return FaultKind::depth;
        case 11: return FaultKind::deadlock;
        case 12: return FaultKind::closed;
        default: return FaultKind::stopped;
    }
}

// What a function of the library has refused: the launch, the configuration, or the program, which is damaged then.
inline int status_of(std::int32_t status, const wsp_ptow_report& report) {
    if (status != WSP_PTOW_REFUSED) return status_program;
    return report.kind >= 2 && report.kind <= 4 ? status_launch : status_config;
}

}  // namespace bytecode

// Generates the tasks of one AICPU, as an expander does. The program is aligned to 4 bytes.
inline int interpret(const std::uint8_t* program, std::uint64_t size, const Launch* launch, const DispatchConfig* config,
                     const Sink* sink, Outcome* outcome) {
    *outcome = Outcome{};
    if (sink->task == nullptr) return status_sink;
    std::vector<wsp_ptow_table> tables;
    for (std::size_t at = 0; at < launch->num_tables; ++at) tables.push_back({launch->tables[at], launch->table_lengths[at]});
    const wsp_ptow_launch given{launch->values, launch->num_values, tables.data(), tables.size(), launch->extents,
                                launch->num_tensors};
    wsp_ptow_config dealt{};
    static_assert(sizeof dealt == sizeof *config, "both have the layout of the wire format");
    std::memcpy(&dealt, config, sizeof dealt);
    wsp_ptow_report report{};
    std::uint64_t bytes = 0;
    std::int32_t status = wsp_ptow_scratch_bytes(program, size, &bytes, &report);
    std::vector<std::uint64_t> memory(bytes / 8 + 1);
    if (status == WSP_PTOW_OK) {
        status = wsp_ptow_verify(program, size, reinterpret_cast<std::uint8_t*>(memory.data()), 8 * memory.size(), &bytes, &report);
    }
    if (status != WSP_PTOW_OK) return bytecode::status_of(status, report);
    memory.assign(bytes / 8 + 1, 0);
    wsp_ptow* handle = nullptr;
    status = wsp_ptow_open(program, size, &given, &dealt, nullptr, WSP_PTOW_SKIP, reinterpret_cast<std::uint8_t*>(memory.data()),
                           8 * memory.size(), &handle, &report);
    if (status != WSP_PTOW_OK) return bytecode::status_of(status, report);
    // Slots have no values, and no task of a package is generated in another way.
    const wsp_ptow_host host{const_cast<Sink*>(sink), bytecode::task, bytecode::ordered, nullptr, nullptr};
    do {
        status = wsp_ptow_run(handle, &host, UINT32_MAX, bytecode::stride, &report);
        if (bytecode::is_stopped(*sink)) status = WSP_PTOW_STOPPED;
    } while (status == WSP_PTOW_YIELDED);
    if (status == WSP_PTOW_FINISHED) return status_done;
    const FaultKind kind = status == WSP_PTOW_FAULT ? bytecode::kind_of(report) : FaultKind::stopped;
    const std::uint32_t expr = report.kind == 1 ? static_cast<std::uint32_t>(report.found) : no_expr;
    outcome->fault = {kind, static_cast<std::uint32_t>(report.at), report.ordinal, expr};
    outcome->ordinals = report.ordinal;
    return status_fault;
}

}  // namespace pto::wsp::backend::npu
