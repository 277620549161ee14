// The executor: what a submitted task waits for, and how tasks start and complete.
#pragma once

#include "executor.hpp"

namespace pto::wsp::backend::npu {

inline bool Executor::submit(Aicpu& cpu, const TaskArgs& task) {
    const Inside inside(*this, cpu);
    if (stopped() || !check(cpu, task)) return false;
    if (config_.is_of_others != nullptr && config_.is_of_others(config_.others_user, task.kernel)) return true;
    graph::DepBatcher& batcher = state_.batcher;
    // An edge from each unfinished task and scope, and the end.
    const auto room = [&] {
        return !state_.window.full() && batcher.room() > state_.window.in_flight + 2 * max_scope_depth;
    };
    if (state_.window.full()) ++state_.window.stalls;
    if (!room() && !wait_until(cpu, {WaitKind::window, cpu.ordinal, 0}, room)) return false;
    const std::uint32_t at = nodes_.take_task(cpu.ordinal);
    state_.window.enter();
    ++submission_;
    fill(at, task);
    if (cpu.group != graph::none) {
        nodes_[at].group = cpu.group;
        heap_.hold(cpu.group);
    }
    if (!order(cpu, at, task)) return false;
    batcher.end_task(at);
    nodes_.append(at);
    if (task.overflow) barrier_ = nodes_.ref(at);
    ++state_.counters.submitted;
    ++changes_;
    if (batcher.due()) flush();
    // Cores are looked after while tasks come, too.
    if (submission_ % 16 == 0) {
        take_completions(cpu);
        look_outside();
    }
    if (state_.ready.size() > 0) dispatch(cpu);
    return true;
}

// Whether the task can be.
inline bool Executor::check(Aicpu& cpu, const TaskArgs& task) {
    const std::uint64_t ordinal = cpu.ordinal;
    if (!cpu.open) return refuse(cpu, StopKind::not_open, ordinal, 0);
    const bool fits = task.num_tensors <= max_task_tensors && task.num_scalars <= max_task_scalars &&
                      task.num_regions <= max_task_regions;
    if (!fits) return refuse(cpu, StopKind::too_many, ordinal, task.num_tensors, task.num_scalars);
    const bool core = task.pool == Pool::cube     ? config_.cores.cube > 0
                      : task.pool == Pool::vector ? config_.cores.vector > 0
                                                  : config_.cores.count() > 0;
    if (!core) return refuse(cpu, StopKind::no_core, ordinal, static_cast<std::uint64_t>(task.pool));
    const bool streamed = task.stream < 0 || static_cast<std::uint32_t>(task.stream) < config_.num_streams;
    if (!streamed) return refuse(cpu, StopKind::stream, ordinal, static_cast<std::uint64_t>(task.stream), config_.num_streams);
    for (std::size_t at = 0; at < task.num_tensors; ++at) {
        const std::uint8_t rank = task.tensors[at]->rank;
        if (rank > max_kernel_rank) return refuse(cpu, StopKind::rank, ordinal, at, rank);
    }
    for (std::size_t at = 0; at < task.num_regions; ++at) {
        const std::uint32_t buffer = task.regions[at].tensor;
        if (!has(buffer)) return refuse(cpu, StopKind::buffer, ordinal, buffer, config_.num_buffers);
    }
    for (std::size_t at = 0; at < task.num_after; ++at) {
        if (task.after[at] >= ordinal) return refuse(cpu, StopKind::after_later, ordinal, task.after[at]);
    }
    return true;
}

// What its kernel is given.
inline void Executor::fill(std::uint32_t at, const TaskArgs& task) {
    Node& node = nodes_[at];
    node.stream = task.stream < 0 ? -1 : task.stream;
    node.priority = task.priority;
    node.pool = static_cast<graph::ExecPool>(task.pool);
    Payload& payload = payloads_[at];
    payload.task.kernel = task.kernel;
    payload.task.ordinal = node.ordinal;
    std::size_t next = 0;
    for (std::size_t tensor = 0; tensor < task.num_tensors; ++tensor) {
        const Tensor& from = *task.tensors[tensor];
        ChipTensor& to = payload.tensors[tensor];
        to.buffer.addr = reinterpret_cast<std::uintptr_t>(from.data);
        to.start_offset = 0;
        to.ndims = from.rank;
        std::uint32_t stride = 1;
        for (std::size_t d = from.rank; d-- > 0;) {
            to.shapes[d] = from.extents[d];
            to.strides[d] = stride;
            stride *= from.extents[d];
        }
        payload.task.args[next++] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&to));
    }
    for (std::size_t scalar = 0; scalar < task.num_scalars; ++scalar) {
        payload.task.args[next++] = static_cast<std::int64_t>(task.scalars[scalar]);
    }
    for (std::size_t rest = next; rest < payload.num_args; ++rest) payload.task.args[rest] = 0;
    payload.num_args = next;
}

// A task waits for another, once.
inline void Executor::note(const graph::ProducerRef& before, std::uint32_t at) {
    if (!nodes_.live(before) || nodes_[before.producer].met == submission_) return;
    nodes_[before.producer].met = submission_;
    state_.batcher.add(before, at);
}

// Finds all that a task waits for.
inline bool Executor::order(Aicpu& cpu, std::uint32_t at, const TaskArgs& task) {
    note(barrier_, at);
    if (task.overflow) {
        for (std::uint32_t before = nodes_.oldest(); before != graph::none; before = nodes_[before].next) {
            note(nodes_.ref(before), at);
        }
    }
    for (std::size_t index = 0; index < task.num_after; ++index) {
        for (std::uint32_t before = nodes_.first_of(task.after[index]); before != graph::none;
             before = nodes_[before].next_of_hash) {
            if (nodes_[before].ordinal == task.after[index]) note(nodes_.ref(before), at);
        }
    }
    if (!order_by_scope(cpu, at, fence_)) return false;
    for (std::uint32_t scope = 0; scope < cpu.num_scopes; ++scope) {
        if (!order_by_scope(cpu, at, cpu.scopes[scope])) return false;
    }
    if (task.stream >= 0) order_by_stream(at, task.stream);
    return order_by_regions(cpu, at, task);
}

// All unfinished tasks of the steps before come first. They were submitted, since ordinals come in turn.
inline bool Executor::order_by_scope(Aicpu& cpu, std::uint32_t at, Scope& scope) {
    if (scope.past || scope.begin == scope.step) return true;
    std::uint32_t point = nodes_.find_point(scope.begin, scope.step);
    if (point == graph::none) {
        std::uint32_t members = 0;
        const auto room = [&] {
            members = nodes_.count(scope.begin, scope.step);
            return nodes_.has_free(members);
        };
        if (!wait_until(cpu, {WaitKind::edges, cpu.ordinal, 0}, room)) return false;
        if (members == 0) {
            scope.past = true;
            return true;
        }
        point = nodes_.take_point(scope.begin, scope.step);
    }
    note(nodes_.ref(point), at);
    return true;
}

inline void Executor::order_by_stream(std::uint32_t at, std::int32_t stream) {
    graph::ProducerRef& last = streams_[stream].last;
    const bool starts = config_.gate_per_stream > 1;
    if (nodes_.live(last) && !(starts && nodes_[last.producer].started)) {
        nodes_[last.producer].next_of_stream = at;
        ++nodes_[at].pending;
    }
    last = nodes_.ref(at);
}

inline bool Executor::order_by_regions(Aicpu& cpu, std::uint32_t at, const TaskArgs& task) {
    struct Met {
        Executor& executor;
        std::uint32_t at;
    } met{*this, at};
    const auto found = [](void* user, const graph::ProducerRef& before, const graph::Box&) {
        const Met& one = *static_cast<Met*>(user);
        one.executor.note(before, one.at);
    };
    const graph::ProducerRef self = nodes_.ref(at);
    for (std::size_t index = 0; index < task.num_regions; ++index) {
        const graph::Box box = box_of(task.regions[index]);
        if (box.empty()) continue;
        const bool writes = task.regions[index].mode != AccessMode::in;
        map_.conflicts(box, writes, self, {found, &met});
        const auto insert = [&] { return map_.insert(box, writes, self); };
        if (!insert() && !wait_until(cpu, {WaitKind::entries, cpu.ordinal, 0}, insert)) return false;
    }
    return true;
}

// The scheduling loop, one round: completions, edges, starts.
inline void Executor::drain(Aicpu& cpu) {
    take_completions(cpu);
    flush();
    look_outside();
    dispatch(cpu);
}

inline void Executor::take_completions(Aicpu& cpu) {
    for (std::uint32_t at = 0; at < cpu.num_busy;) {
        const std::uint32_t core = cpu.busy[at];
        if (!cores_[core].take_completion()) {
            ++at;
            continue;
        }
        cpu.busy[at] = cpu.busy[--cpu.num_busy];
        const std::size_t kind = core < config_.cores.cube ? 1 : 0;
        cpu.idle[kind][cpu.num_idle[kind]++] = core;
        --running_;
        complete(core_tasks_[core]);
    }
}

// Makes the edges that are gathered, task by task, while there is room for them.
inline void Executor::flush() {
    graph::DepBatcher& batcher = state_.batcher;
    if (batcher.empty()) return;
    ++state_.counters.flushes;
    while (!batcher.empty()) {
        const graph::DepBatcher::Item item = batcher.front();
        if (item.before.producer == graph::none) {
            batcher.pop();
            release(item.after);
            ++changes_;
            continue;
        }
        const bool live = nodes_.live(item.before);
        if (live && !nodes_.link(item.before.producer, item.after)) return;
        ++(live ? state_.counters.edges : state_.counters.edges_past);
        batcher.pop();
    }
}

// One thing less to wait for.
inline void Executor::release(std::uint32_t at) {
    if (--nodes_[at].pending > 0) return;
    if (!nodes_.is_point(at)) {
        if (may_start(at)) return make_ready(at);
        nodes_[at].next_outside = outside_;
        outside_ = at;
        return;
    }
    for (std::uint32_t after; (after = nodes_.unlink(at)) != graph::none;) release(after);
    nodes_.free_point(at);
}

inline void Executor::make_ready(std::uint32_t at) {
    const Node& node = nodes_[at];
    if (!state_.gates.open(node.stream)) {
        streams_[node.stream].parked = at;
        return;
    }
    state_.ready.push(node.pool, at, node.priority);
}

// Whether a task that waits for tasks of others alone may start.
inline bool Executor::others_let_go() const {
    std::uint32_t at = outside_;
    while (at != graph::none && !may_start(at)) at = nodes_[at].next_outside;
    return at != graph::none;
}

// Makes those ready that may start.
inline void Executor::look_outside() {
    std::uint32_t* link = &outside_;
    while (*link != graph::none) {
        const std::uint32_t at = *link;
        if (!may_start(at)) {
            link = &nodes_[at].next_outside;
            continue;
        }
        *link = nodes_[at].next_outside;
        make_ready(at);
        ++changes_;
    }
}

// Gives ready tasks to idle cores of an AICPU.
inline void Executor::dispatch(Aicpu& cpu) {
    constexpr graph::ExecPool pools[2] = {graph::ExecPool::Vector, graph::ExecPool::Cube};
    for (std::size_t kind = 0; kind < 2; ++kind) {
        while (cpu.num_idle[kind] > 0 && state_.ready.size() > 0) {
            const unsigned queues = graph::ReadyQueueSet::bit_of(pools[kind]) | graph::ReadyQueueSet::any_bit;
            std::uint32_t at = 0;
            if (!state_.ready.pop(static_cast<std::uint8_t>(queues & state_.gates.open()), &at)) break;
            start(cpu, at, cpu.idle[kind][--cpu.num_idle[kind]]);
        }
    }
}

inline void Executor::start(Aicpu& cpu, std::uint32_t at, std::uint32_t core) {
    Node& node = nodes_[at];
    node.started = true;
    node.core = core;
    state_.gates.start(node.pool, node.stream);
    if (++running_ > state_.counters.most_running) state_.counters.most_running = running_;
    core_tasks_[core] = at;
    cpu.busy[cpu.num_busy++] = core;
    ++changes_;
    cores_[core].assign(reinterpret_cast<std::uintptr_t>(&payloads_[at].task));
    if (config_.observe != nullptr) config_.observe(config_.observe_user, payloads_[at].task, core, true);
    const std::uint32_t next = node.next_of_stream;
    if (config_.gate_per_stream > 1 && next != graph::none) {
        node.next_of_stream = graph::none;
        release(next);
    }
}

inline void Executor::complete(std::uint32_t at) {
    Node& node = nodes_[at];
    if (config_.observe != nullptr) config_.observe(config_.observe_user, payloads_[at].task, node.core, false);
    if (config_.completed != nullptr) config_.completed(config_.others_user, node.ordinal);
    state_.gates.finish(node.pool, node.stream);
    if (node.stream >= 0) {
        std::uint32_t& parked = streams_[node.stream].parked;
        if (parked != graph::none && state_.gates.open(node.stream)) {
            const std::uint32_t waits = parked;
            parked = graph::none;
            make_ready(waits);
        }
    }
    if (node.next_of_stream != graph::none) release(node.next_of_stream);
    for (std::uint32_t after; (after = nodes_.unlink(at)) != graph::none;) release(after);
    if (node.group != graph::none) heap_.drop(node.group);
    nodes_.free_task(at);
    state_.window.leave();
    ++state_.counters.completed;
    ++changes_;
}

// Whether no core has a task, none waits for tasks of others alone, and all AICPUs have looked since the last change and wait.
inline bool Executor::nothing_moves() const {
    if (running_ > 0 || outside_ != graph::none) return false;
    for (std::uint16_t at = 0; at < config_.num_aicpus; ++at) {
        if (aicpus_[at].waiting.kind == WaitKind::nothing || aicpus_[at].seen != changes_) return false;
    }
    return true;
}

inline bool Executor::has_work(std::uint16_t aicpu) const {
    const Aicpu& cpu = aicpus_[aicpu];
    if (stopped() || (state_.ready.size() > 0 && cpu.num_idle[0] + cpu.num_idle[1] > 0) || others_let_go()) return true;
    switch (cpu.waiting.kind) {
        case WaitKind::turn: return turn_ >= cpu.waiting.ordinal;
        case WaitKind::window: return !state_.window.full();
        case WaitKind::entries:
        case WaitKind::edges:
        case WaitKind::memory:
        case WaitKind::region: return cpu.completed != state_.counters.completed;
        case WaitKind::end: return finished_ == config_.num_aicpus && state_.window.in_flight == 0;
        case WaitKind::nothing:
        case WaitKind::others: break;
    }
    return true;
}

// Leaves the lock, and wakes the AICPUs that find something to do. When no core has a task, all look, so that one of them sees that nothing
// can go on.
inline void Executor::leave(std::uint32_t aicpu) {
    constexpr std::size_t at_once = 64;
    std::uint16_t wakes[at_once];
    std::size_t count = 0;
    const bool tells = config_.wake != nullptr && (told_ != changes_ || running_ == 0);
    told_ = changes_;
    for (std::uint16_t at = 0; tells && at < config_.num_aicpus; ++at) {
        if (at == aicpu || aicpus_[at].waiting.kind == WaitKind::nothing) continue;
        const bool looks = has_work(at) || (running_ == 0 && aicpus_[at].seen != changes_);
        if (!looks) continue;
        if (count < at_once) wakes[count++] = at;
        else config_.wake(config_.pause_user, at);
    }
    lock_.leave();
    for (std::size_t at = 0; at < count; ++at) config_.wake(config_.pause_user, wakes[at]);
}

}  // namespace pto::wsp::backend::npu
