// On-device task generation: what a generated expander is given, and what it hands over.
//
// An expander is a translation unit that PTO-WSP emits for one program. It generates the tasks of one AICPU, in the
// order of their ordinals, for whatever extents a launch has. It allocates nothing, throws nothing and does not recurse.
//
// OnDeviceGenerator, at the end, puts a schedule into a program. It calls libwsp_device.a, which only programs that use it
// link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wsp_ptow.h"

namespace pto::wsp::ir {

// A workload: a program without a schedule, in bytes that are aligned to 4. `wsp asm FILE.wsp` writes them, of a workload
// that applies no schedule; what makes them of a workload's text is the compiler, which no device has.
struct WorkloadDef {
    const std::uint8_t* program;
    std::size_t bytes;
};

// What a schedule says of it: dispatch, threshold, streams, priority.
using ScheduleDef = wsp_ptow_schedule;

}  // namespace pto::wsp::ir

#include "../../version.hpp"

namespace pto::wsp::backend::npu {

// Most dimensions of a tensor.
constexpr std::size_t max_rank = 6;
// Most AICPUs that tasks are shared among.
constexpr std::uint16_t max_aicpus = 1024;
// Most loop variables in scope.
constexpr std::uint8_t max_loop_depth = 16;
// Most steps of loops; more are a fault.
constexpr std::uint64_t max_generator_steps = 20000000000;
// Most rounds of a WHILE that names no maximum.
constexpr std::uint64_t max_while_rounds = 1u << 20;

// What a launch gives a program. Values, tables and extents are as many as the program names, or more.
struct Launch {
    const std::int64_t* values;
    std::size_t num_values;
    // Tables, and how many elements each has.
    const std::int64_t* const* tables;
    const std::size_t* table_lengths;
    std::size_t num_tables;
    // Extents of every tensor, outermost first; those past its rank are 1.
    const std::uint32_t (*extents)[max_rank];
    std::size_t num_tensors;
};

// How tasks are given to AICPUs.
enum class PolicyType : std::uint8_t { round_robin = 0, affinity = 1, threshold = 2, static_partition = 3 };

// Policies of a level from here on are pools: plus 0 for vector, 1 for cube, 2 for any.
constexpr std::uint16_t policy_pool = 16;

struct AffinityParams {
    // Depth of the loop whose variable decides, 0 for the outermost.
    std::uint8_t axis_depth;
};

struct ThresholdParams {
    // One more than thresholds, at most 8.
    std::uint16_t num_levels;
    // An expression of the program, by its first word.
    std::uint16_t metric;
    // Increasing.
    std::uint32_t thresholds[8];
    // PolicyType::round_robin, or a pool.
    std::uint8_t policy_per_level[8];
};

struct PartitionParams {
    // Ordinals of this AICPU, half-open.
    std::uint32_t task_range_start;
    std::uint32_t task_range_end;
};

// What every AICPU is told: the same for all but my_aicpu_id and the range of a static partition.
struct DispatchConfig {
    std::uint16_t num_aicpus;
    std::uint16_t my_aicpu_id;
    PolicyType policy_type;
    std::uint8_t reserved[3];
    union {
        AffinityParams affinity;
        ThresholdParams threshold;
        PartitionParams static_partition;
    };
};

static_assert(sizeof(DispatchConfig) == 52, "the layout is that of the wire format");
static_assert(offsetof(DispatchConfig, my_aicpu_id) == 2, "the layout is that of the wire format");
static_assert(offsetof(DispatchConfig, policy_type) == 4, "the layout is that of the wire format");
static_assert(offsetof(DispatchConfig, threshold) == 8, "the layout is that of the wire format");
static_assert(sizeof(ThresholdParams) == 44, "the layout is that of the wire format");
static_assert(offsetof(ThresholdParams, metric) == 2, "the layout is that of the wire format");
static_assert(offsetof(ThresholdParams, thresholds) == 4, "the layout is that of the wire format");
static_assert(offsetof(ThresholdParams, policy_per_level) == 36, "the layout is that of the wire format");
static_assert(sizeof(PartitionParams) == 8, "the layout is that of the wire format");

// The units that may run a task.
enum class Pool : std::uint8_t { vector = 0, cube = 1, any = 255 };

// What a task does to a region.
enum class AccessMode : std::uint8_t { in = 0, out = 1, in_out = 2 };

// A half-open region of a tensor. Dimensions past its rank are [0, 1).
struct Region {
    std::uint32_t tensor;
    AccessMode mode;
    std::uint32_t lo[max_rank];
    std::uint32_t hi[max_rank];
};

// A task. What it points to lasts until the callback returns.
struct Task {
    // How many tasks were generated before it, whoever owns them.
    std::uint64_t ordinal;
    // Its instruction: an index into the words of the program.
    std::uint32_t site;
    std::uint16_t kernel;
    Pool pool;
    // -1 without streams.
    std::int32_t stream;
    // Larger first.
    std::int32_t priority;
    const std::int64_t* params;
    std::size_t num_params;
    const Region* regions;
    std::size_t num_regions;
    // Ordinals of the tasks that it waits for, without repetition.
    const std::uint64_t* after;
    std::size_t num_after;
    // Loop variables in scope, outermost first.
    const std::int64_t* vars;
    std::size_t num_vars;
    // Those of PARALLEL_FOR, FOR_EACH and SELECT among them.
    const std::int64_t* indices;
    std::size_t num_indices;
};

// What is told of an ordered scope.
enum class Ordered : std::uint8_t {
    // It begins, with a step.
    begin,
    // Another step begins: its tasks start after all tasks of the scope so far.
    step,
    end,
};

// What takes the tasks.
struct Sink {
    void* user;
    void (*task)(void* user, const Task* task);
    // A boundary of an ordered scope; `ordinal` tasks were generated before, by all AICPUs. Steps without a task of this
    // AICPU may be left out. May be null.
    void (*ordered)(void* user, Ordered event, std::uint64_t ordinal);
    // Waits until every task that writes the slot and whose ordinal is smaller is complete, and gives the slot's value;
    // false to give up. May be null when the program reads no slots.
    bool (*slot)(void* user, std::uint32_t slot, std::uint64_t ordinal, std::int64_t* value);
    // Ends the expansion where it has become true; every step of a loop looks. May be null.
    const bool* stop = nullptr;
};

// Why an expansion ended early.
enum class FaultKind : std::uint32_t {
    none = 0,
    // The result of an operation does not fit into 64 bits.
    overflow = 1,
    division_by_zero = 2,
    // An index outside its table.
    table_index = 3,
    // A region does not lie within its tensor.
    outside = 4,
    // A step of a range below 1.
    step = 5,
    // No such row of a ragged or sparse axis.
    row = 6,
    // Pointers of a sparse row decrease, or leave the table of columns.
    pointers = 7,
    // More iterations of one loop than max_generator_steps.
    iterations = 8,
    // A WHILE still holds after its most rounds.
    rounds = 9,
    // More steps than max_generator_steps.
    steps = 10,
    // A task past the last range of a static partition.
    past_partition = 11,
    // A priority that does not fit into 32 bits.
    priority = 12,
    // The sink gave up on a slot.
    slot = 13,
    // The sink has asked for an end.
    stopped = 14,
    // Of an interpreted program, any of overflow, division_by_zero and table_index.
    expression = 15,
    // The depth of a channel is not from 0 to 4294967295.
    depth = 16,
    // No process can go on.
    deadlock = 17,
    // A channel is closed that a process sends to, takes from without a token left, or closes.
    closed = 18,
};

// No word of an expression.
constexpr std::uint32_t no_expr = UINT32_MAX;

struct Fault {
    FaultKind kind;
    // The instruction at fault: an index into the words of the program.
    std::uint32_t word;
    // Tasks generated before, by all AICPUs.
    std::uint64_t ordinal;
    // The word of the expression at fault, an index into those of the program; no_expr where none is.
    std::uint32_t expr;
};

// What an expansion came to.
struct Outcome {
    Fault fault;
    // Tasks of all AICPUs, as far as the expansion went.
    std::uint64_t ordinals;
    // Iterations and rounds taken.
    std::uint64_t steps;
};

// What an expander returns.
enum Status : int {
    status_done = 0,
    // Outcome::fault tells why.
    status_fault = 1,
    // The launch lacks values, tables or extents that the program names.
    status_launch = 2,
    // The dispatch configuration does not fit the program.
    status_config = 3,
    // A callback that the program needs is missing.
    status_sink = 4,
    // Of an interpreted program: its bytes are none.
    status_program = 5,
};

// What a compiled program begins with. Then follow instructions, axes, kernels and tensors, 8 bytes each, and its pools.
struct WorkloadHeader {
    // "PTOW".
    std::uint32_t magic;
    std::uint32_t version;
    std::uint32_t num_instructions;
    std::uint32_t num_axes;
    std::uint32_t num_kernels;
    std::uint32_t num_tensors;
};

// A compiled program, verified. Its bytes lie in the memory of the generator; none when it could not be compiled.
struct WorkloadBytecode {
    const std::uint8_t* bytes;
    std::size_t size;

    // Zeros without bytes.
    WorkloadHeader header() const {
        WorkloadHeader header{};
        if (size >= sizeof(header)) std::memcpy(&header, bytes, sizeof(header));
        return header;
    }
};

// Why something could not be compiled: a status of wsp_ptow.h, which says what the numbers of the report are.
struct GeneratorError {
    std::int32_t status;
    wsp_ptow_report report;
};

// Compiles programs and their schedules for AICPUs, in memory that it is given: aligned to 8 bytes, and as large as
// memory_needed says. Every program takes the memory of the one before. What it makes is what the compiler makes of the same
// workload and schedule, byte for byte.
class OnDeviceGenerator {
public:
    // Enough for compile_dispatch.
    OnDeviceGenerator() : OnDeviceGenerator(nullptr, 0) {}
    OnDeviceGenerator(std::uint8_t* memory, std::size_t size) : memory_(memory), size_(size), error_{} {}

    // Bytes of memory that compile takes; 0 when the program or the schedule cannot be read.
    static std::size_t memory_needed(const ir::WorkloadDef& workload, const ir::ScheduleDef& schedule) {
        std::uint64_t bytes = 0;
        wsp_ptow_compile_bytes(workload.program, workload.bytes, &schedule, &bytes, nullptr);
        return static_cast<std::size_t>(bytes);
    }

    // The program under the schedule. The workload lies outside the memory of the generator.
    WorkloadBytecode compile(const ir::WorkloadDef& workload, const ir::ScheduleDef& schedule) {
        std::uint64_t bytes = 0;
        error_.status = wsp_ptow_compile(workload.program, workload.bytes, &schedule, memory_, size_, &bytes, &error_.report);
        if (!ok()) return {nullptr, 0};
        return {memory_, static_cast<std::size_t>(bytes)};
    }

    // What an AICPU gets beside the program. Others differ in my_aicpu_id and, of a static partition, the range. When it
    // cannot be made, it has no AICPUs.
    DispatchConfig compile_dispatch(const ir::ScheduleDef& schedule, int num_aicpus, int my_aicpu_id = 0) {
        DispatchConfig config{};
        wsp_ptow_config made{};
        // A negative number is as wrong as one that is far too large.
        error_.status = wsp_ptow_dispatch(&schedule, static_cast<std::uint32_t>(num_aicpus),
                                          static_cast<std::uint32_t>(my_aicpu_id), &made, &error_.report);
        static_assert(sizeof(config) == sizeof(made), "both have the layout of the wire format");
        if (ok()) std::memcpy(&config, &made, sizeof(config));
        return config;
    }

    // Whether the last compile or compile_dispatch has made something, and else why not.
    bool ok() const { return error_.status == WSP_PTOW_OK; }
    const GeneratorError& error() const { return error_; }

private:
    std::uint8_t* memory_;
    std::size_t size_;
    GeneratorError error_;
};

}  // namespace pto::wsp::backend::npu

// The expander of a program that is emitted under its usual name.
extern "C" int wsp_expand(const pto::wsp::backend::npu::Launch* launch,
                          const pto::wsp::backend::npu::DispatchConfig* config,
                          const pto::wsp::backend::npu::Sink* sink,
                          pto::wsp::backend::npu::Outcome* outcome);
