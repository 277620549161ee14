// A task graph without state: rows in the order of ids, and pools of what differs in number from row to row.
#pragma once

#include "types.hpp"

namespace pto::wsp::graph {

// The kernels that rows name, by their numbers: names, which are also the symbols that a device looks up.
struct KernelBundle {
    const char* const* symbols;
    std::uint32_t count;
};

// A graph that nothing changes while it runs: counters are those of the executor.
struct TaskGraphStorage {
    const TaskNodePod* tasks;
    std::uint32_t num_tasks;
    // Successors of all rows.
    const TaskId* fanout_edges;
    std::uint32_t num_fanout_edges;
    const std::uint64_t* u64_args;
    std::uint32_t num_u64_args;
    const TaskIo* io;
    std::uint32_t num_io;
    KernelBundle kernel_table;

    const TaskId* successors(const TaskNodePod& row) const { return fanout_edges + row.fanout_begin; }
    const std::uint64_t* args(const TaskNodePod& row) const { return u64_args + row.args_begin; }
    const TaskIo* accesses(const TaskNodePod& row) const { return io + row.io_begin; }

    // Whether every row names what is there, ids count from 0, and each row has as many edges to it as it says. `fanin` is scratch of one
    // number per row. Cycles are not looked for.
    bool well_formed(std::int32_t* fanin) const {
        for (std::uint32_t at = 0; at < num_tasks; ++at) fanin[at] = 0;
        for (std::uint32_t at = 0; at < num_tasks; ++at) {
            const TaskNodePod& row = tasks[at];
            const bool kernel = row.kernel == no_kernel || row.kernel < kernel_table.count;
            if (row.id != at || !kernel || !within(row.fanout_begin, row.fanout_count, num_fanout_edges) ||
                !within(row.args_begin, row.num_u64_args, num_u64_args) || !within(row.io_begin, row.num_io, num_io)) {
                return false;
            }
            for (std::uint32_t edge = 0; edge < row.fanout_count; ++edge) {
                const TaskId to = successors(row)[edge];
                if (to >= num_tasks) return false;
                ++fanin[to];
            }
        }
        for (std::uint32_t at = 0; at < num_tasks; ++at) {
            if (fanin[at] != tasks[at].fanin) return false;
        }
        return true;
    }

private:
    static bool within(std::uint32_t begin, std::uint32_t count, std::uint32_t size) {
        return begin <= size && count <= size - begin;
    }
};

}  // namespace pto::wsp::graph
