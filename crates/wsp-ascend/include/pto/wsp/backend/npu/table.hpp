// The tasks of one launch from a table: what generators are replaced by where a package holds them as constants.
#pragma once

#include <vector>

#include "../../graph/storage.hpp"
#include "workload.hpp"

namespace pto::wsp::backend::npu {

// A table of tasks. A row with a kernel is the descriptor of a task, whose words are its arguments; an edge between two rows is
// a task that waits for the other beside what regions say. Rows without a kernel are fences and boundaries of ordered scopes.
struct TaskTable {
    graph::TaskGraphStorage graph;
    // The function of each kernel.
    const std::uint32_t* functions;
};

namespace table {

// Goes through the rows: `task` with each task, its function and its words; `fence` and `ordered` with the number of tasks before.
template <class F, class N, class G>
void walk(const TaskTable& table, Checked& s, F task, N fence, G ordered) {
    const graph::TaskGraphStorage& graph = table.graph;
    std::vector<std::int32_t> fanin(graph.num_tasks + 1, 0);
    if (!graph.well_formed(fanin.data())) {
        s.fail<bool>(Trap::table);
        return;
    }
    // Edges lead to later rows: when a row is reached, the tasks that it waits for are all known.
    std::vector<std::size_t> ends(graph.num_tasks + 1, 0);
    std::size_t edges = 0;
    for (std::uint32_t at = 0; at < graph.num_tasks; ++at) {
        ends[at] = edges;
        edges += static_cast<std::size_t>(fanin[at]);
    }
    std::vector<std::uint64_t> after(edges + 1, 0);
    std::vector<std::uint32_t> words;
    std::uint64_t ordinal = 0;
    for (std::uint32_t at = 0; at < graph.num_tasks && !s.failed(); ++at) {
        const graph::TaskNodePod& row = graph.tasks[at];
        if (row.kernel == graph::no_kernel) {
            switch (row.sched_tags) {
                case graph::sched_barrier: fence(ordinal); break;
                case graph::sched_ordered_begin: ordered(Ordered::begin, ordinal); break;
                case graph::sched_ordered_step: ordered(Ordered::step, ordinal); break;
                case graph::sched_ordered_end: ordered(Ordered::end, ordinal); break;
                default: s.fail<bool>(Trap::table);
            }
            continue;
        }
        for (std::uint32_t edge = 0; edge < row.fanout_count; ++edge) {
            const graph::TaskId to = graph.successors(row)[edge];
            if (to <= at) s.fail<bool>(Trap::table);
            else after[ends[to]++] = ordinal;
        }
        words.assign(row.num_u64_args + 1u, 0);
        for (std::uint32_t word = 0; word < row.num_u64_args; ++word) {
            words[word] = s.template cast<std::uint32_t>(graph.args(row)[word]);
        }
        if (s.failed()) return;
        Task of{};
        of.ordinal = ordinal++;
        of.kernel = row.kernel;
        of.stream = row.stream == graph::no_target ? -1 : row.stream;
        of.priority = row.priority;
        of.num_after = static_cast<std::size_t>(row.fanin);
        of.after = after.data() + (ends[at] - of.num_after);
        task(of, table.functions[row.kernel], words.data());
    }
}

// Counts the descriptors.
template <class L, class Out>
void count(const TaskTable& table, const L& l, Checked& s, Out& out) {
    walk(table, s, [&](const Task&, std::uint32_t function, const std::uint32_t* f) { out.count(l, s, function, f); },
         [](std::uint64_t) {}, [](Ordered, std::uint64_t) {});
}

// Hands over the tasks of one AICPU: those whose ordinals are its own modulo their number.
template <class Tasks, class L>
void submit(const TaskTable& table, const L& l, Checked& s, const TaskSink& sink) {
    const auto is_own = [&](std::uint64_t ordinal) { return ordinal % sink.num_aicpus == sink.my_aicpu_id; };
    const auto check = [&](bool good) {
        if (!good) s.fail<bool>(Trap::stopped);
    };
    walk(table, s,
         [&](const Task& task, std::uint32_t function, const std::uint32_t* f) {
             if (is_own(task.ordinal)) check(hand_over<Tasks>(l, sink, task, function, f));
         },
         [&](std::uint64_t ordinal) {
             if (is_own(ordinal)) check(sink.fence(sink.user, ordinal));
         },
         [&](Ordered event, std::uint64_t ordinal) { check(sink.ordered(sink.user, event, ordinal)); });
}

}  // namespace table

}  // namespace pto::wsp::backend::npu
