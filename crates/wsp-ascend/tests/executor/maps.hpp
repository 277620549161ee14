// The map of fixed size finds what the map without limits finds.
#pragma once

#include <cstdio>
#include <set>

#include "tasks.hpp"

namespace maps {

using namespace tasks;

struct Found {
    std::set<std::uint32_t> tasks;

    static void add(void* user, const graph::ProducerRef& task, const graph::Box&) {
        static_cast<Found*>(user)->tasks.insert(task.producer);
    }
};

inline graph::Box box(Draw& draw, std::uint32_t most) {
    const Place drawn = place(draw, draw.below(4), false);
    graph::Box one{drawn.buffer, {}, {}};
    const std::uint32_t by = 1 + draw.below(most);
    for (std::size_t d = 0; d < graph::box_rank; ++d) {
        one.lo[d] = drawn.lo[d] * by;
        one.hi[d] = one.lo[d] + (drawn.hi[d] - drawn.lo[d]) * by;
    }
    return one;
}

inline bool differ(std::uint64_t seed) {
    constexpr std::uint32_t tasks = 48;
    Draw draw(seed);
    std::vector<std::uint32_t> generations(tasks, 0);
    const std::uint32_t entries = draw.below(2) == 0 ? 40 : 1024, most = draw.below(2) == 0 ? 1 : 40;
    std::vector<std::uint8_t> memory(1 << 20);
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) & ~std::uintptr_t{63};
    graph::Arena arena(reinterpret_cast<void*>(first), memory.size() - 64);
    graph::FixedTensorMap fixed(arena, 4, entries, generations.data());
    graph::DynamicTensorMap dynamic(generations.data());
    for (std::uint32_t round = 0; round < 600; ++round) {
        const std::uint32_t task = draw.below(tasks);
        const graph::ProducerRef self{task, ++generations[task]};
        for (std::uint32_t count = 1 + draw.below(3); count > 0; --count) {
            const graph::Box one = box(draw, most);
            const bool writes = draw.below(3) == 0;
            Found a, b;
            fixed.conflicts(one, writes, self, {&Found::add, &a});
            dynamic.conflicts(one, writes, self, {&Found::add, &b});
            if (a.tasks != b.tasks) return true;
            dynamic.insert(one, writes, self);
            for (std::uint32_t over = 0; !fixed.insert(one, writes, self); ++over) {
                if (over >= tasks) return true;
                if (over != task) ++generations[over];
            }
        }
    }
    return false;
}

// Producers of regions of two dimensions, by both maps.
inline bool producers(graph::TensorMap& map) {
    graph::ProducerRef found;
    const auto is = [&](const graph::TensorRegion2D& region, std::uint32_t task) {
        return map.find_producer(region, &found) ? found.producer == task : task == graph::none;
    };
    map.insert_output({2, 0, 0, 8, 8}, {3, 0});
    map.insert_output({2, 0, 0, 4, 8}, {5, 0});
    map.insert_output({2, 4, 0, 2, 8}, {6, 0});
    const bool all = is({2, 0, 0, 8, 8}, 3) && is({2, 0, 0, 4, 8}, 5) && is({2, 3, 0, 2, 8}, 6) && is({1, 0, 0, 8, 8}, graph::none) &&
                     is({2, 7, 0, 1, 1}, 3) && is({2, -1, 0, 1, 1}, graph::none);
    map.gc_before(6);
    return all && is({2, 0, 0, 8, 8}, 6) && is({2, 0, 0, 4, 8}, graph::none);
}

// Rows that name what is not there are no graph.
inline bool rows() {
    const char* const symbols[] = {"a"};
    const graph::TaskId edges[] = {1, 2, 2};
    graph::TaskNodePod tasks[3] = {};
    for (graph::TaskId at = 0; at < 3; ++at) tasks[at].id = at;
    tasks[0].fanout_count = 2;
    tasks[1].fanout_begin = 2;
    tasks[1].fanout_count = 1;
    tasks[1].fanin = 1;
    tasks[2].fanin = 2;
    tasks[2].kernel = graph::no_kernel;
    const graph::TaskGraphStorage storage{tasks, 3, edges, 3, nullptr, 0, nullptr, 0, {symbols, 1}};
    std::int32_t fanin[3];
    bool right = storage.well_formed(fanin) && storage.successors(tasks[1])[0] == 2;
    const auto refused = [&](auto graph::TaskNodePod::* field, int value) {
        const auto before = tasks[1].*field;
        tasks[1].*field = static_cast<std::decay_t<decltype(before)>>(value);
        const bool found = !storage.well_formed(fanin);
        tasks[1].*field = before;
        return found;
    };
    using Row = graph::TaskNodePod;
    right &= refused(&Row::id, 7) && refused(&Row::kernel, 1) && refused(&Row::fanin, 2) && refused(&Row::fanout_count, 2);
    right &= refused(&Row::fanout_begin, -1) && refused(&Row::num_u64_args, 1) && refused(&Row::io_begin, 1);
    return right && storage.well_formed(fanin);
}

// Graphs of which bits were changed are refused, or name only what is there: what a look at each row reads, sanitizers watch.
inline int images(int cases) {
    int refused = 0;
    std::uint64_t read = 0;
    for (int seed = 0; seed < cases; ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        const std::uint32_t count = 1 + draw.below(6);
        std::vector<graph::TaskNodePod> tasks(count);
        std::vector<graph::TaskId> edges;
        std::vector<std::uint64_t> args;
        std::vector<graph::TaskIo> io;
        for (graph::TaskId at = 0; at < count; ++at) {
            graph::TaskNodePod& row = tasks[at] = {};
            row.id = at;
            row.fanout_begin = static_cast<std::uint32_t>(edges.size());
            for (graph::TaskId to = at + 1; to < count; ++to) {
                if (draw.below(2) == 0) edges.push_back(to);
            }
            row.fanout_count = static_cast<std::uint16_t>(edges.size() - row.fanout_begin);
            row.args_begin = static_cast<std::uint32_t>(args.size());
            row.num_u64_args = static_cast<std::uint16_t>(draw.below(4));
            args.resize(args.size() + row.num_u64_args, at);
            row.io_begin = static_cast<std::uint32_t>(io.size());
            row.num_io = static_cast<std::uint16_t>(draw.below(3));
            io.resize(io.size() + row.num_io);
        }
        for (const graph::TaskId to : edges) ++tasks[to].fanin;
        const char* const symbols[] = {"a", "b"};
        const graph::TaskGraphStorage storage{tasks.data(), count, edges.data(), static_cast<std::uint32_t>(edges.size()),
                                              args.data(), static_cast<std::uint32_t>(args.size()), io.data(),
                                              static_cast<std::uint32_t>(io.size()), {symbols, 2}};
        std::vector<std::int32_t> fanin(count);
        if (!storage.well_formed(fanin.data())) return -1;
        for (std::uint32_t changes = 1 + draw.below(3); changes > 0; --changes) {
            const bool of_edges = !edges.empty() && draw.below(4) == 0;
            auto* bytes = of_edges ? reinterpret_cast<std::uint8_t*>(edges.data()) : reinterpret_cast<std::uint8_t*>(tasks.data());
            const std::size_t size = of_edges ? edges.size() * sizeof(graph::TaskId) : tasks.size() * sizeof(graph::TaskNodePod);
            bytes[draw.below(static_cast<std::uint32_t>(size))] ^= static_cast<std::uint8_t>(1u << draw.below(8));
        }
        if (!storage.well_formed(fanin.data())) {
            ++refused;
            continue;
        }
        for (const graph::TaskNodePod& row : tasks) {
            read += row.kernel == graph::no_kernel ? 0 : static_cast<std::uint64_t>(symbols[row.kernel][0]);
            for (std::uint32_t at = 0; at < row.fanout_count; ++at) read += tasks[storage.successors(row)[at]].id;
            for (std::uint32_t at = 0; at < row.num_u64_args; ++at) read += storage.args(row)[at];
            for (std::uint32_t at = 0; at < row.num_io; ++at) read += static_cast<std::uint64_t>(storage.accesses(row)[at].is_output);
        }
    }
    return read > 0 && refused > cases / 10 ? refused : -1;
}

inline bool compare(int seeds) {
    int wrong = 0;
    for (int seed = 0; seed < seeds; ++seed) wrong += differ(static_cast<std::uint64_t>(seed)) ? 1 : 0;
    std::vector<std::uint8_t> memory(1 << 20);
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) & ~std::uintptr_t{63};
    graph::Arena arena(reinterpret_cast<void*>(first), memory.size() - 64);
    graph::FixedTensorMap fixed(arena, 4, 64, nullptr);
    graph::DynamicTensorMap dynamic(nullptr);
    const bool both = producers(fixed) && producers(dynamic);
    const bool right = rows();
    std::printf("%d of %d sequences differ; producers %s; rows are %s\n", wrong, seeds, both ? "agree" : "differ",
                right ? "checked" : "not checked");
    return wrong == 0 && both && right;
}

}  // namespace maps
