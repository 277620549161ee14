// Why a run of the executor ended early, in words. For hosts.
#pragma once

#include <string>

#include "executor.hpp"

namespace pto::wsp::backend::npu {

namespace text {

inline std::string number(std::uint64_t value) { return std::to_string(value); }
inline std::string of_ordinal(std::uint64_t ordinal) { return "the task of ordinal " + number(ordinal); }

// What an AICPU waits for.
inline std::string waiting(const Executor& executor, std::uint16_t aicpu) {
    const Waiting& one = executor.waiting(aicpu);
    const std::string who = "AICPU " + number(aicpu);
    switch (one.kind) {
        case WaitKind::turn:
            return who + " waits for its turn at ordinal " + number(one.ordinal) + ", and ordinal " + number(executor.turn()) +
                   " comes first and has not ended";
        case WaitKind::window:
            return who + " waits for room in the window of " + number(executor.state().window.capacity) + " at ordinal " +
                   number(one.ordinal);
        case WaitKind::entries: return who + " waits for room for the regions of a task at ordinal " + number(one.ordinal);
        case WaitKind::edges: return who + " waits for room for edges at ordinal " + number(one.ordinal);
        case WaitKind::memory:
            return who + " waits for " + number(one.a) + " bytes at ordinal " + number(one.ordinal) + ", and " +
                   number(executor.heap().used()) + " of the " + number(executor.heap().bytes()) +
                   " bytes are taken; give the launch a larger heap";
        case WaitKind::region:
            return who + " waits for the tasks before ordinal " + number(one.ordinal) + " that write buffer " + number(one.a);
        case WaitKind::others: return who + " waits for the other AICPUs to pass ordinal " + number(one.ordinal);
        case WaitKind::end: return who + " has submitted its tasks";
        case WaitKind::nothing: break;
    }
    return who + " runs";
}

// Nothing can go on: what each AICPU waits for, and the first tasks that are unfinished.
inline std::string stuck(const Executor& executor) {
    std::string all = "nothing can go on: ";
    for (std::uint16_t aicpu = 0; aicpu < executor.config().num_aicpus; ++aicpu) {
        all += (aicpu > 0 ? "; " : "") + waiting(executor, aicpu);
    }
    const Nodes& nodes = executor.nodes();
    std::uint32_t left = executor.state().window.in_flight, said = 0;
    for (std::uint32_t at = nodes.oldest(); at != graph::none && said < 4; at = nodes[at].next, ++said) {
        all += "; " + of_ordinal(nodes[at].ordinal) + " (kernel " + number(executor.task(at).kernel) + ") waits for " +
               number(nodes[at].pending) + (nodes[at].pending == 1 ? " other" : " others");
    }
    if (left > said) all += "; " + number(left - said) + " more tasks are unfinished";
    return all;
}

}  // namespace text

// What is wrong with a configuration; empty when nothing is.
inline std::string refusal(const ExecutorConfig& config) {
    const OutOfRange wrong = out_of_range(config);
    if (wrong.field == nullptr) return {};
    return "the launch has " + std::string(wrong.field) + " " + text::number(wrong.value) + ", and it is from " +
           text::number(wrong.least) + " to " + text::number(wrong.most);
}

// Why the run ended early; empty when it did not.
inline std::string reason(const Executor& executor) {
    using text::number;
    const Stop& stop = executor.stop();
    const std::string at = "ordinal " + number(stop.ordinal);
    const std::string who = text::of_ordinal(stop.ordinal);
    switch (stop.kind) {
        case StopKind::none: return {};
        case StopKind::ended: return "the run was ended";
        case StopKind::orchestration: return "orchestration of AICPU " + number(stop.aicpu) + " gave up before " + at;
        case StopKind::begun_before: return at + " is begun by AICPU " + number(stop.aicpu) + ", and was begun before";
        case StopKind::still_open:
            return "AICPU " + number(stop.aicpu) + " goes on to " + at + " and has not ended ordinal " + number(stop.a);
        case StopKind::not_open: return "AICPU " + number(stop.aicpu) + " submits to or ends " + at + ", which it has not begun";
        case StopKind::too_many:
            return who + " has " + number(stop.a) + " tensors and " + number(stop.b) + " scalars; most are " +
                   number(max_task_tensors) + " and " + number(max_task_scalars);
        case StopKind::rank:
            return "tensor " + number(stop.a) + " of " + who + " has " + number(stop.b) + " dimensions; a kernel takes at most " +
                   number(max_kernel_rank);
        case StopKind::buffer:
            return who + " names buffer " + number(stop.a) + ", and the launch has " + number(executor.config().num_buffers);
        case StopKind::stream:
            return who + " names stream " + number(stop.a) + ", and the launch has " + number(executor.config().num_streams);
        case StopKind::no_core:
            return who + " has pool " + number(stop.a) + ", and there is no core of it";
        case StopKind::after_later:
            return who + " waits for ordinal " + number(stop.a) + ", which is not before it";
        case StopKind::heap:
            return at + " asks for " + number(stop.a) + " bytes, and the heap of the launch has " + number(stop.b) +
                   "; give the launch a larger heap";
        case StopKind::scope:
            return stop.a == 0 ? "a step or an end without an ordered scope at " + at
                               : "more than " + number(max_scope_depth) + " ordered scopes lie in each other at " + at;
        case StopKind::reads:
            return "orchestration reads results at " + at + ", and the launch does not say that it does (reads_results)";
        case StopKind::stuck: return text::stuck(executor);
    }
    return {};
}

}  // namespace pto::wsp::backend::npu
