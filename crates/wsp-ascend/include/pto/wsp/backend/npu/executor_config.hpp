// Sizes and policies of the executor, and how it ends.
#pragma once

#include "handshake.hpp"
#include "pto/wsp/graph/runtime.hpp"
#include "task_sink.hpp"

namespace pto::wsp::backend::npu {

// Cores of each kind. Those for cube tasks are numbered first.
struct Cores {
    std::uint16_t cube = 1;
    std::uint16_t vector = 1;

    std::uint32_t count() const { return std::uint32_t{cube} + vector; }
};

// Most steps of ordered scopes that lie in each other.
constexpr std::uint32_t max_scope_depth = 64;
// Most dimensions of a tensor that a kernel is given.
constexpr std::size_t max_kernel_rank = 5;
// Most numbers that a kernel is given. Places past tensors and scalars are 0.
constexpr std::size_t max_kernel_args = 50;

// What a core is given.
struct CoreTask {
    std::uint16_t kernel;
    std::uint64_t ordinal;
    std::int64_t args[max_kernel_args];
};

// Why an AICPU pauses.
enum class Pause : std::uint8_t {
    // It is about to make a call of its sink.
    call,
    // Another is inside the executor.
    lock,
    // It waits for a change, or for a core.
    wait,
};

// Sizes and policies of a run. A size of 0 stands for one that fits the window.
struct ExecutorConfig {
    std::uint16_t num_aicpus = 1;
    Cores cores;
    // Buffers of the launch, and streams, which count from 0.
    std::uint32_t num_buffers = 0;
    std::uint32_t num_streams = 0;
    // Most tasks between submission and completion, at least 1.
    std::uint32_t window = 1024;
    // Tasks whose edges are gathered before they are made, at least 1.
    std::uint32_t batch = 1;
    // Tasks that may have started and not finished, of all, of each stream, of each pool; 0 is no limit. Tasks of a stream run one after
    // another, or with a gate of more than one per stream, start in order.
    std::uint32_t gate_global = 0;
    std::uint32_t gate_per_stream = 0;
    std::uint32_t gate_per_pool = 0;
    graph::ReadyOrder order = graph::ReadyOrder::fifo;
    // Whether orchestration reads what tasks wrote (TaskSink::wait). Tasks of an ordinal are then submitted only when all AICPUs are past it.
    bool reads_results = false;
    // Entries of the map of accesses, and edges.
    std::uint32_t entries = 0;
    std::uint32_t edges = 0;
    // Most allocations at once, and the memory that they are of, at a multiple of 64 bytes.
    std::uint32_t allocs = 0;
    void* heap = nullptr;
    std::uint64_t heap_bytes = 0;
    // Called by an AICPU, and for one that waits and should look; may be null.
    void (*pause)(void* user, std::uint16_t aicpu, Pause why) = nullptr;
    void (*wake)(void* user, std::uint16_t aicpu) = nullptr;
    void* pause_user = nullptr;
    // Told, one call at a time, when a task is given to a core and when its completion is taken; may be null.
    void (*observe)(void* user, const CoreTask& task, std::uint32_t core, bool starts) = nullptr;
    void* observe_user = nullptr;
    // Of tasks that others run, as the host: whether those of a kernel are theirs, which are submitted and left to them; whether all of them
    // that an ordinal waits for are complete. Told, one call at a time, of each completion of an own task, by its ordinal. Null without others.
    bool (*is_of_others)(void* user, std::uint16_t kernel) = nullptr;
    bool (*may_start)(void* user, std::uint64_t ordinal) = nullptr;
    void (*completed)(void* user, std::uint64_t ordinal) = nullptr;
    void* others_user = nullptr;
};

// A field of a configuration that is out of its range.
struct OutOfRange {
    const char* field = nullptr;
    std::uint64_t value = 0;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
};

// The first field that is out of range; without a name when all are right. An executor is made of right ones.
inline OutOfRange out_of_range(const ExecutorConfig& config) {
    constexpr std::uint64_t many = 1u << 20;
    const std::uint64_t align = reinterpret_cast<std::uintptr_t>(config.heap) % 64;
    const OutOfRange all[] = {
        {"num_aicpus", config.num_aicpus, 1, max_aicpus},
        {"cores", config.cores.count(), 1, UINT16_MAX},
        {"num_buffers", config.num_buffers, 0, 1u << 30},
        {"num_streams", config.num_streams, 0, many},
        {"window", config.window, 1, many},
        {"batch", config.batch, 1, many},
        {"entries", config.entries, 0, 64 * many},
        {"edges", config.edges, 0, 64 * many},
        {"allocs", config.allocs, 0, 4 * many},
        {"heap, modulo 64", align, 0, 0},
    };
    for (const OutOfRange& one : all) {
        if (one.value < one.least || one.value > one.most) return one;
    }
    return {};
}

// Why a run ended early.
enum class StopKind : std::uint8_t {
    none,
    // The caller ended it.
    ended,
    // Orchestration returned false.
    orchestration,
    // An ordinal that was begun before.
    begun_before,
    // begin() without end() before.
    still_open,
    // submit(), alloc() or end() without begin() of the ordinal.
    not_open,
    // More tensors, scalars or regions than a task has.
    too_many,
    // A tensor of more dimensions than a kernel takes.
    rank,
    // A buffer that the launch does not have.
    buffer,
    // A stream that the launch does not have.
    stream,
    // No core for the pool of a task.
    no_core,
    // `after` names an ordinal that is not smaller.
    after_later,
    // More memory at once than there is.
    heap,
    // An end or a step without a scope, or too many scopes.
    scope,
    // Orchestration reads results, and the configuration does not say so.
    reads,
    // Nothing can go on.
    stuck,
};

// The first fault of a run. `a` and `b` are numbers that belong to its kind.
struct Stop {
    StopKind kind = StopKind::none;
    std::uint16_t aicpu = 0;
    std::uint64_t ordinal = 0;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
};

// What an AICPU waits for.
enum class WaitKind : std::uint8_t { nothing, turn, window, entries, edges, memory, region, others, end };

struct Waiting {
    WaitKind kind = WaitKind::nothing;
    std::uint64_t ordinal = 0;
    std::uint64_t a = 0;
};

// One thread at a time is inside. A platform without threads never waits here.
class Lock {
public:
    bool try_enter() { return word_.exchange(1, std::memory_order_acquire) == 0; }
    void leave() { word_.store(0, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> word_{0};
};

}  // namespace pto::wsp::backend::npu
