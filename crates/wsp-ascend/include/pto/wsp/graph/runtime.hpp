// The state of a task graph that runs: window, gates, edges that are gathered, and the ready queues.
#pragma once

#include "ready_queue.hpp"
#include "storage.hpp"
#include "tensor_map.hpp"

namespace pto::wsp::graph {

// task_window: how many tasks may be between submission and completion.
struct WindowState {
    std::uint32_t capacity = 0;
    std::uint32_t in_flight = 0;
    // The most that there were at once, and submissions that had to wait.
    std::uint32_t most = 0;
    std::uint64_t stalls = 0;

    bool full() const { return in_flight >= capacity; }
    void enter() {
        if (++in_flight > most) most = in_flight;
    }
    void leave() { --in_flight; }
};

// pipeline_depth: how many tasks may have started and not finished, of all, of one stream and of one pool. 0 is no limit.
struct IssueGates {
    std::uint32_t global = 0, per_stream = 0, per_pool = 0;
    std::uint32_t in_flight = 0;
    std::uint32_t pool_in_flight[3] = {};
    // By stream.
    std::uint32_t* stream_in_flight = nullptr;

    // Bits of the queues whose tasks may start.
    std::uint8_t open() const {
        if (global != 0 && in_flight >= global) return 0;
        std::uint8_t bits = 0;
        for (std::size_t pool = 0; pool < 3; ++pool) {
            const bool room = per_pool == 0 || pool_in_flight[pool] < per_pool;
            bits = static_cast<std::uint8_t>(bits | (room ? 1u << pool : 0u));
        }
        return bits;
    }
    // Whether a task of a stream may start; without one it passes.
    bool open(std::int32_t stream) const {
        return per_stream == 0 || stream < 0 || stream_in_flight[stream] < per_stream;
    }
    void start(ExecPool pool, std::int32_t stream) {
        ++in_flight;
        ++pool_in_flight[ReadyQueueSet::index_of(pool)];
        if (stream >= 0) ++stream_in_flight[stream];
    }
    void finish(ExecPool pool, std::int32_t stream) {
        --in_flight;
        --pool_in_flight[ReadyQueueSet::index_of(pool)];
        if (stream >= 0) --stream_in_flight[stream];
    }
};

// batch_deps: edges of submitted tasks are gathered, and made when so many tasks are there or something waits. A task starts after the
// edges to it were made. Edges from tasks that are over by then are not made.
class DepBatcher {
public:
    // An edge, or, with `before.producer` none, the end of the edges to a task.
    struct Item {
        ProducerRef before;
        TaskId after;
    };

    // Holds so many items; gathers `batch` tasks.
    DepBatcher(Arena& arena, std::uint32_t capacity, std::uint32_t batch)
        : items_(arena.take<Item>(capacity)), capacity_(capacity), batch_(batch) {}

    std::uint32_t room() const { return capacity_ - end_; }
    bool empty() const { return at_ == end_; }
    // Whether it is time to make the edges.
    bool due() const { return tasks_ >= batch_; }

    void add(ProducerRef before, TaskId after) { items_[end_++] = {before, after}; }
    void end_task(TaskId task) {
        items_[end_++] = {{none, 0}, task};
        ++tasks_;
    }
    const Item& front() const { return items_[at_]; }
    void pop() {
        tasks_ -= items_[at_].before.producer == none ? 1 : 0;
        ++at_;
        if (at_ == end_) at_ = end_ = 0;
    }

private:
    Item* items_;
    std::uint32_t capacity_;
    std::uint32_t batch_;
    std::uint32_t at_ = 0;
    std::uint32_t end_ = 0;
    std::uint32_t tasks_ = 0;
};

// Counts of a run.
struct RuntimeCounters {
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    // Edges that were made, and those that were not because the task before was over.
    std::uint64_t edges = 0;
    std::uint64_t edges_past = 0;
    // How often gathered edges were made.
    std::uint64_t flushes = 0;
    // The most tasks that had started and not finished at once.
    std::uint32_t most_running = 0;
};

// What schedules tasks.
struct TaskGraphRuntime {
    TensorMap* producer_map;
    ReadyQueueSet ready;
    WindowState window;
    IssueGates gates;
    DepBatcher batcher;
    RuntimeCounters counters;
};

}  // namespace pto::wsp::graph
