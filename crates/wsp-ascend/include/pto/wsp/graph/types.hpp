// Records of a task graph that a device can be given: plain data of fixed layout, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../version.hpp"

namespace pto::wsp::graph {

// Where a task executes.
enum class ExecDomain : std::uint8_t { HostCPU = 0, AscendAICore = 1, AMDAIETile = 2 };

// The execution units that may run a task.
enum class ExecPool : std::uint8_t { Vector = 0, Cube = 1, Any = 255 };

using TaskId = std::uint32_t;
using KernelId = std::uint16_t;
using StreamId = std::uint16_t;
// A core or a tile.
using TargetId = std::uint16_t;

// No task, edge or entry.
constexpr std::uint32_t none = 0xFFFFFFFFu;
// The kernel of rows that run nothing: relays and barrier nodes.
constexpr KernelId no_kernel = 0xFFFF;
// No stream, and no core in particular.
constexpr std::uint16_t no_target = 0xFFFF;

// A region of a tensor of up to two dimensions, in elements; rows are dimension 0, columns dimension 1.
struct TensorRegion2D {
    // The tensor: a device address, or an index into the graph's table of tensors.
    std::uint64_t base;
    std::int32_t row_off, col_off;
    std::int32_t rows, cols;
};

// An access of a task.
struct TaskIo {
    TensorRegion2D region;
    // 0 for an input, 1 for an output.
    std::uint8_t is_output;
    std::uint8_t reserved[7];
};
using TaskIO = TaskIo;

// Bits of TaskNodePod::sched_tags.
enum SchedTags : std::uint16_t {
    // A point that orders the rows before it and those after it, and runs nothing.
    sched_barrier = 1 << 0,
    // Completions gathered before this row are released before it starts.
    sched_flush_batch = 1 << 1,
    // Passes on the completion of its only predecessor, which has more successors than a row can count.
    sched_relay = 1 << 2,
    // Boundaries of ordered scopes, of rows that run nothing: a scope begins with a step; another step of the innermost scope
    // begins; it ends.
    sched_ordered_begin = 1 << 3,
    sched_ordered_step = 1 << 4,
    sched_ordered_end = 1 << 5,
};

// A task: the header row. What differs in number lies in pools beside the rows, named by begin and count.
struct TaskNodePod {
    TaskId id;
    KernelId kernel;
    ExecDomain domain;
    ExecPool pool;
    // Its in-order stream, and its core or tile; no_target for none.
    StreamId stream;
    TargetId affinity;
    // Edges to it.
    std::int32_t fanin;
    std::uint32_t fanout_begin;
    std::uint16_t fanout_count;
    std::uint16_t num_u64_args;
    std::uint16_t num_io;
    // Bits of SchedTags.
    std::uint16_t sched_tags;
    std::uint32_t args_begin;
    std::uint32_t io_begin;
    // The larger goes first where the policy asks.
    std::int32_t priority;
};

static_assert(sizeof(TensorRegion2D) == 24, "the layout is that of the wire format");
static_assert(offsetof(TensorRegion2D, row_off) == 8, "the layout is that of the wire format");
static_assert(offsetof(TensorRegion2D, cols) == 20, "the layout is that of the wire format");
static_assert(sizeof(TaskIo) == 32, "the layout is that of the wire format");
static_assert(offsetof(TaskIo, is_output) == 24, "the layout is that of the wire format");
static_assert(sizeof(TaskNodePod) == 40, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, kernel) == 4, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, domain) == 6, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, stream) == 8, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, fanin) == 12, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, fanout_count) == 20, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, sched_tags) == 26, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, args_begin) == 28, "the layout is that of the wire format");
static_assert(offsetof(TaskNodePod, priority) == 36, "the layout is that of the wire format");

// Most dimensions of a box.
constexpr std::size_t box_rank = 6;

// A half-open box of a buffer, in elements. Dimensions past its rank are [0, 1).
struct Box {
    std::uint32_t buffer;
    std::uint32_t lo[box_rank];
    std::uint32_t hi[box_rank];

    bool empty() const {
        bool some = true;
        for (std::size_t d = 0; d < box_rank; ++d) some &= lo[d] < hi[d];
        return !some;
    }
    // Whether the two have an element in common; neither is empty.
    bool meets(const Box& other) const {
        bool apart = buffer != other.buffer;
        for (std::size_t d = 0; d < box_rank; ++d) apart |= (lo[d] >= other.hi[d]) | (other.lo[d] >= hi[d]);
        return !apart;
    }
    // Whether all of the other lies in this one.
    bool holds(const Box& other) const {
        bool all = buffer == other.buffer;
        for (std::size_t d = 0; d < box_rank; ++d) all &= (lo[d] <= other.lo[d]) & (other.hi[d] <= hi[d]);
        return all;
    }
};

// The box of a region of two dimensions, whose tensor is an index. False where an offset or an extent is negative.
inline bool box_of(const TensorRegion2D& region, Box* box) {
    if (region.row_off < 0 || region.col_off < 0 || region.rows < 0 || region.cols < 0 || region.base >= none) return false;
    *box = {static_cast<std::uint32_t>(region.base), {}, {1, 1, 1, 1, 1, 1}};
    box->lo[0] = static_cast<std::uint32_t>(region.row_off);
    box->lo[1] = static_cast<std::uint32_t>(region.col_off);
    box->hi[0] = box->lo[0] + static_cast<std::uint32_t>(region.rows);
    box->hi[1] = box->lo[1] + static_cast<std::uint32_t>(region.cols);
    return true;
}

// Carves arrays out of memory that the caller gives. Without memory it only counts the bytes that are needed.
class Arena {
public:
    Arena(void* memory, std::uint64_t bytes) : at_(static_cast<std::uint8_t*>(memory)), bytes_(bytes) {}

    // So many elements at a multiple of 64 bytes, with any contents; null where there is no room.
    template <typename T>
    T* take(std::uint64_t count) {
        const std::uint64_t size = (count * sizeof(T) + 63) & ~std::uint64_t{63};
        const std::uint64_t from = used_;
        used_ += size;
        return at_ == nullptr || used_ > bytes_ ? nullptr : reinterpret_cast<T*>(at_ + from);
    }
    // Bytes that were asked for.
    std::uint64_t used() const { return used_; }
    bool fits() const { return at_ != nullptr && used_ <= bytes_; }

private:
    std::uint8_t* at_;
    std::uint64_t bytes_;
    std::uint64_t used_ = 0;
};

}  // namespace pto::wsp::graph
