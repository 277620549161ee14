// What emitted workloads build on: the tasks that an expander generates become the descriptors of kernels, each in its turn.
#pragma once

#include "launch.hpp"

namespace pto::wsp::backend::npu {

// An expander.
using Expand = int (*)(const Launch*, const DispatchConfig*, const Sink*, Outcome*);

// Why an expander has ended early.
inline Trap trap_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::none: return Trap::none;
        case FaultKind::overflow: return Trap::overflow;
        case FaultKind::division_by_zero: return Trap::division_by_zero;
        case FaultKind::table_index: return Trap::array_index;
        case FaultKind::step: return Trap::loop_step;
        case FaultKind::row: return Trap::row;
        case FaultKind::pointers: return Trap::pointers;
        case FaultKind::iterations:
        case FaultKind::steps: return Trap::steps;
        case FaultKind::rounds: return Trap::rounds;
        case FaultKind::past_partition: return Trap::partition;
        case FaultKind::priority: return Trap::lossy_conversion;
        case FaultKind::expression: return Trap::expression;
        case FaultKind::depth: return Trap::depth;
        case FaultKind::deadlock: return Trap::deadlock;
        case FaultKind::closed: return Trap::closed;
        case FaultKind::outside:
        case FaultKind::slot:
        case FaultKind::stopped: return Trap::stopped;
    }
    return Trap::stopped;
}

// AICPU `id` of `n` takes tasks in turn.
inline DispatchConfig in_turn(std::uint16_t n, std::uint16_t id) {
    DispatchConfig config;
    std::memset(&config, 0, sizeof config);
    config.num_aicpus = n;
    config.my_aicpu_id = id;
    return config;
}

// By the variable of the loop at a depth.
inline DispatchConfig by_depth(std::uint16_t n, std::uint16_t id, std::uint8_t depth) {
    DispatchConfig config = in_turn(n, id);
    config.policy_type = PolicyType::affinity;
    config.affinity.axis_depth = depth;
    return config;
}

// By ranges of ordinals, one for each of the first AICPUs. One AICPU alone takes all.
inline DispatchConfig by_ranges(std::uint16_t n, std::uint16_t id, const PartitionParams* ranges, std::size_t count) {
    DispatchConfig config = in_turn(n, id);
    if (n == 1) return config;
    config.policy_type = PolicyType::static_partition;
    if (id < count) config.static_partition = ranges[id];
    return config;
}

// Calls `task` with each task of an AICPU, the function that is its kernel, and the words of its descriptor; `ordered` at
// the boundaries of ordered scopes. `functions` are those of the kernels of the workload, `places` those of the words of its program. The first trap ends it.
template <class F, class G>
void expand(Expand run, const Launch& launch, const std::uint32_t* functions, const WordPlaces& places,
            const DispatchConfig& config, Checked& s, F task, G ordered) {
    struct Taken {
        Checked& s;
        const std::uint32_t* functions;
        const WordPlaces& places;
        F& task;
        G& ordered;
        std::vector<std::uint32_t> words;
        bool stop;
    };
    Taken taken{s, functions, places, task, ordered, {}, s.failed()};
    Sink sink{};
    sink.user = &taken;
    sink.stop = &taken.stop;
    sink.task = [](void* user, const Task* of) {
        Taken& own = *static_cast<Taken*>(user);
        if (own.stop) return;
        own.words.assign(of->num_params + 1, 0);
        for (std::size_t at = 0; at < of->num_params; ++at) own.words[at] = own.s.template cast<std::uint32_t>(of->params[at]);
        if (own.s.failed()) own.s.place = own.places.find(of->site, generator::no_word);
        if (!own.s.failed()) own.task(*of, own.functions[of->kernel], own.words.data());
        own.stop = own.s.failed();
    };
    sink.ordered = [](void* user, Ordered event, std::uint64_t ordinal) {
        Taken& own = *static_cast<Taken*>(user);
        if (!own.stop) own.ordered(event, ordinal);
        own.stop = own.s.failed();
    };
    Outcome outcome{};
    const int status = run(&launch, &config, &sink, &outcome);
    if (status == status_done || s.failed()) return;
    if (status == status_program) s.fail<bool>(Trap::table);
    else if (status != status_fault) s.fail<bool>(Trap::partition);
    else if (outcome.fault.kind == FaultKind::priority)
        s.fail<bool>(Trap::lossy_conversion, places.find(generator::priority_word, generator::no_word));
    else s.fail<bool>(trap_of(outcome.fault.kind), places.find(outcome.fault.word, outcome.fault.expr));
}

// Hands over the tasks of a task's descriptor, in its turn.
template <class Tasks, class L>
bool hand_over(const L& l, const TaskSink& sink, const Task& task, std::uint32_t function, const std::uint32_t* f) {
    Place place;
    place.priority = task.priority;
    place.stream = task.stream;
    place.after = task.after;
    place.num_after = task.num_after;
    return sink.begin(sink.user, task.ordinal) && Tasks::submit(l, sink, task.ordinal, function, f, place) &&
           sink.end(sink.user, task.ordinal);
}

// An element of a table.
inline std::int64_t element(Checked& s, const std::vector<std::int64_t>& table, std::int64_t at,
                            const SourcePlace* where = nullptr) {
    if (at < 0 || static_cast<std::uint64_t>(at) >= table.size()) return s.fail<std::int64_t>(Trap::array_index, where);
    return table[static_cast<std::size_t>(at)];
}

}  // namespace pto::wsp::backend::npu
