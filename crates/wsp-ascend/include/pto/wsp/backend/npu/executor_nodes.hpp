// Tasks in the window, the points that join them, and the edges between them.
#pragma once

#include "executor_config.hpp"
#include "executor_heap.hpp"
#include "tensor.h"

namespace pto::wsp::backend::npu {

// What a kernel is given of a task, and where its tensors are described.
struct Payload {
    CoreTask task;
    // Arguments that are not 0.
    std::size_t num_args;
    ChipTensor tensors[max_task_tensors];
};

// A task of the window, or a point that comes after the tasks of a stretch of ordinals.
struct Node {
    std::uint64_t ordinal;
    // What it waits for, and one until its edges are made.
    std::uint32_t pending;
    std::uint32_t first_edge;
    // Among the unfinished ones in the order of submission; of points, among the points.
    std::uint32_t next, before;
    // With the same hash of the ordinal.
    std::uint32_t next_of_hash;
    // The next task that waits for tasks of others alone.
    std::uint32_t next_outside;
    // The next task of its stream, when that waits for this one.
    std::uint32_t next_of_stream;
    std::uint32_t group;
    std::uint32_t core;
    // The last submission that met it.
    std::uint32_t met;
    std::int32_t stream;
    std::int32_t priority;
    graph::ExecPool pool;
    bool started;
    // Of points: the end of the stretch; `ordinal` is its begin.
    std::uint64_t end;
};

// Nodes and edges, all of fixed number. Nodes below `tasks` are tasks, the others points.
class Nodes {
public:
    static constexpr std::uint32_t num_points = 256;

    Nodes(graph::Arena& arena, std::uint32_t tasks, std::uint32_t edges)
        : num_tasks_(tasks), num_free_edges_(edges) {
        while (hashes_ < 2 * tasks) hashes_ *= 2;
        nodes_ = arena.take<Node>(std::uint64_t{tasks} + num_points);
        generations_ = arena.take<std::uint32_t>(std::uint64_t{tasks} + num_points);
        edges_ = arena.take<Edge>(edges);
        by_ordinal_ = arena.take<std::uint32_t>(hashes_);
        if (!arena.fits()) return;
        for (std::uint32_t at = 0; at < tasks + num_points; ++at) {
            nodes_[at] = {};
            nodes_[at].next = at + 1;
            generations_[at] = 0;
        }
        nodes_[tasks - 1].next = graph::none;
        nodes_[tasks + num_points - 1].next = graph::none;
        for (std::uint32_t at = 0; at < edges; ++at) edges_[at].next = at + 1;
        edges_[edges - 1].next = graph::none;
        for (std::uint32_t at = 0; at < hashes_; ++at) by_ordinal_[at] = graph::none;
        free_point_ = tasks;
    }

    Node& operator[](std::uint32_t at) { return nodes_[at]; }
    const Node& operator[](std::uint32_t at) const { return nodes_[at]; }
    const std::uint32_t* generations() const { return generations_; }
    bool is_point(std::uint32_t at) const { return at >= num_tasks_; }
    graph::ProducerRef ref(std::uint32_t at) const { return {at, generations_[at]}; }
    bool live(const graph::ProducerRef& task) const {
        return task.producer != graph::none && generations_[task.producer] == task.generation;
    }

    // A task without edges, which is not yet among the unfinished. There is one where the window has room.
    std::uint32_t take_task(std::uint64_t ordinal) {
        const std::uint32_t at = free_task_;
        free_task_ = nodes_[at].next;
        fresh(nodes_[at], ordinal);
        return at;
    }

    // The task is unfinished and found by its ordinal. Ordinals do not decrease.
    void append(std::uint32_t at) {
        Node& node = nodes_[at];
        node.before = newest_;
        node.next = graph::none;
        (newest_ == graph::none ? oldest_ : nodes_[newest_].next) = at;
        newest_ = at;
        std::uint32_t& first = by_ordinal_[node.ordinal & (hashes_ - 1)];
        node.next_of_hash = first;
        first = at;
    }

    // A complete task, all of whose edges were taken, is free again.
    void free_task(std::uint32_t at) {
        Node& node = nodes_[at];
        (node.before == graph::none ? oldest_ : nodes_[node.before].next) = node.next;
        (node.next == graph::none ? newest_ : nodes_[node.next].before) = node.before;
        std::uint32_t* link = &by_ordinal_[node.ordinal & (hashes_ - 1)];
        while (*link != at) link = &nodes_[*link].next_of_hash;
        *link = node.next_of_hash;
        ++generations_[at];
        node.next = free_task_;
        free_task_ = at;
    }

    // The unfinished tasks, in the order of submission.
    std::uint32_t oldest() const { return oldest_; }
    // Unfinished tasks of an ordinal are among those of its hash.
    std::uint32_t first_of(std::uint64_t ordinal) const { return by_ordinal_[ordinal & (hashes_ - 1)]; }

    // Unfinished tasks from one ordinal up to another.
    std::uint32_t count(std::uint64_t begin, std::uint64_t end) const {
        std::uint32_t found = 0;
        for (std::uint32_t at = oldest_; at != graph::none && nodes_[at].ordinal < end; at = nodes_[at].next) {
            found += nodes_[at].ordinal >= begin ? 1 : 0;
        }
        return found;
    }

    // The point behind a stretch; `none` without one.
    std::uint32_t find_point(std::uint64_t begin, std::uint64_t end) const {
        std::uint32_t at = first_point_;
        while (at != graph::none && (nodes_[at].ordinal != begin || nodes_[at].end != end)) at = nodes_[at].next;
        return at;
    }
    bool has_free(std::uint32_t edges) const { return free_point_ != graph::none && num_free_edges_ >= edges; }

    // A point behind the unfinished tasks of a stretch, for which there are edges.
    std::uint32_t take_point(std::uint64_t begin, std::uint64_t end) {
        const std::uint32_t point = free_point_;
        free_point_ = nodes_[point].next;
        Node& node = nodes_[point];
        fresh(node, begin);
        node.end = end;
        node.pending = 0;
        node.before = graph::none;
        node.next = first_point_;
        if (first_point_ != graph::none) nodes_[first_point_].before = point;
        first_point_ = point;
        for (std::uint32_t at = oldest_; at != graph::none && nodes_[at].ordinal < end; at = nodes_[at].next) {
            if (nodes_[at].ordinal >= begin) link(at, point);
        }
        return point;
    }
    void free_point(std::uint32_t at) {
        Node& node = nodes_[at];
        (node.before == graph::none ? first_point_ : nodes_[node.before].next) = node.next;
        if (node.next != graph::none) nodes_[node.next].before = node.before;
        ++generations_[at];
        node.next = free_point_;
        free_point_ = at;
    }

    // An edge. False where there is none left.
    bool link(std::uint32_t before, std::uint32_t after) {
        if (free_edge_ == graph::none) return false;
        const std::uint32_t edge = free_edge_;
        free_edge_ = edges_[edge].next;
        --num_free_edges_;
        edges_[edge] = {after, nodes_[before].first_edge};
        nodes_[before].first_edge = edge;
        ++nodes_[after].pending;
        return true;
    }
    // Takes an edge away and gives what it leads to; `none` when there are no more.
    std::uint32_t unlink(std::uint32_t before) {
        const std::uint32_t edge = nodes_[before].first_edge;
        if (edge == graph::none) return graph::none;
        nodes_[before].first_edge = edges_[edge].next;
        edges_[edge].next = free_edge_;
        free_edge_ = edge;
        ++num_free_edges_;
        return edges_[edge].to;
    }

private:
    struct Edge {
        std::uint32_t to, next;
    };

    static void fresh(Node& node, std::uint64_t ordinal) {
        node.ordinal = ordinal;
        node.pending = 1;
        node.first_edge = node.next_of_stream = node.group = node.core = graph::none;
        node.stream = -1;
        node.met = 0;
        node.started = false;
    }

    std::uint32_t num_tasks_;
    Node* nodes_ = nullptr;
    // By node; another one means that the task is complete.
    std::uint32_t* generations_ = nullptr;
    Edge* edges_ = nullptr;
    std::uint32_t* by_ordinal_ = nullptr;
    std::uint32_t hashes_ = 1;
    std::uint32_t free_task_ = 0;
    std::uint32_t free_point_ = graph::none;
    std::uint32_t first_point_ = graph::none;
    std::uint32_t free_edge_ = 0;
    std::uint32_t num_free_edges_;
    std::uint32_t oldest_ = graph::none;
    std::uint32_t newest_ = graph::none;
};

}  // namespace pto::wsp::backend::npu
