// The executor of AICPUs: what stands behind a TaskSink.
//
// AICPUs take turns to submit tasks, ordinal by ordinal. Each runs the scheduling loop while it waits, for room in the window, for its turn, for
// results, and for the end: it takes completions of its cores, makes edges, and gives ready tasks to idle cores. Tasks wait for tasks of
// smaller ordinals, or for earlier ones of their own, so the unfinished task that was submitted first can always run, and a window of one
// is enough. All state is under one lock; kernels run outside it.
//
// A run in which nothing can go on is noticed exactly: no core has a task, and every AICPU has looked since the last change.
#pragma once

#include <new>

#include "executor_nodes.hpp"

namespace pto::wsp::backend::npu {

class Executor {
public:
    // An executor in memory that the caller gives, at a multiple of 64 bytes. One handshake per core. No field of the configuration is
    // out of range.
    Executor(const ExecutorConfig& config, Handshake* cores, void* memory, std::uint64_t bytes)
        : Executor(config, cores, graph::Arena(memory, bytes)) {}

    // Bytes of memory that an executor takes.
    static std::uint64_t bytes(const ExecutorConfig& config) {
        const Executor counted(config, nullptr, graph::Arena(nullptr, 0));
        return counted.arena_.used();
    }

    // Runs the part of one AICPU: what generates its tasks, then tasks until all are complete or the run has ended early. Every AICPU
    // calls it once. Its cores are sent home then.
    bool run(std::uint16_t aicpu, bool (*orchestrate)(void* program, TaskSink& sink), void* program) {
        Aicpu& cpu = aicpus_[aicpu];
        for (std::uint32_t core = 0; core < config_.cores.count(); ++core) {
            if (owner(core) == aicpu) cores_[core].set_ready();
        }
        TaskSink sink = sink_of(aicpu);
        const bool done = orchestrate(program, sink);
        finish(cpu, done);
        go_home(cpu);
        return stop_kind_.load(std::memory_order_acquire) == StopKind::none;
    }

    // The sink of an AICPU.
    TaskSink sink_of(std::uint16_t aicpu) {
        return {&aicpus_[aicpu], config_.num_aicpus, aicpu,     &call_begin, &call_submit,
                &call_end,       &call_alloc,        &call_fence, &call_ordered, &call_wait};
    }

    // Ends the run early: the first reason counts.
    void end_early(const Stop& stop) {
        enter(0);
        set_stop(stop);
        leave(graph::none);
    }
    bool stopped() const { return stop_kind_.load(std::memory_order_acquire) != StopKind::none; }

    // Why the run ended early, when no AICPU runs it any more. The rest serves reports then.
    const Stop& stop() const { return stop_; }
    const Waiting& waiting(std::uint16_t aicpu) const { return aicpus_[aicpu].waiting; }
    std::uint64_t turn() const { return turn_; }
    const Nodes& nodes() const { return nodes_; }
    const CoreTask& task(std::uint32_t node) const { return payloads_[node].task; }
    const graph::TaskGraphRuntime& state() const { return state_; }
    const ExecutorConfig& config() const { return config_; }
    const Heap& heap() const { return heap_; }

    // Whether an AICPU that waits finds something to do when it looks, beside completions of its cores. It may find nothing even so.
    bool has_work(std::uint16_t aicpu) const;
    // Whether an AICPU waits and has seen all changes.
    bool has_seen(std::uint16_t aicpu) const {
        return aicpus_[aicpu].waiting.kind != WaitKind::nothing && aicpus_[aicpu].seen == changes_;
    }

    // The AICPU that a core belongs to.
    std::uint16_t owner(std::uint32_t core) const {
        const std::uint32_t number = core < config_.cores.cube ? core : core - config_.cores.cube;
        return static_cast<std::uint16_t>(number % config_.num_aicpus);
    }

private:
    struct Scope {
        std::uint64_t begin, step;
        // Whether the steps before are complete.
        bool past;
    };
    struct Aicpu {
        Executor* executor;
        std::uint16_t id;
        // Whether it has begun an ordinal, and which one last.
        bool open;
        std::uint64_t ordinal;
        // Orchestration is past all smaller ordinals.
        std::uint64_t at;
        std::uint64_t fence;
        Waiting waiting;
        // What had changed, and how many tasks were complete, when it looked last.
        std::uint64_t seen;
        std::uint64_t completed;
        std::uint32_t group;
        std::uint32_t num_scopes;
        std::uint32_t num_busy, num_idle[2];
        std::uint32_t* busy;
        std::uint32_t* idle[2];
        Scope scopes[max_scope_depth];
    };
    struct Stream {
        graph::ProducerRef last;
        // The task that waits for the gate.
        std::uint32_t parked;
    };

    Executor(const ExecutorConfig& config, Handshake* cores, graph::Arena arena)
        : config_(settled(config)),
          cores_(cores),
          arena_(arena),
          nodes_(arena_, config_.window, config_.edges),
          map_(arena_, config_.num_buffers + config_.allocs, config_.entries, nodes_.generations()),
          state_{&map_,
                 graph::ReadyQueueSet(arena_, config_.window, config_.order),
                 {config_.window, 0, 0, 0},
                 {config_.gate_global, config_.gate_per_stream, config_.gate_per_pool, 0, {}, nullptr},
                 graph::DepBatcher(arena_, 2 * config_.window + 4 * max_scope_depth + config_.batch, config_.batch),
                 {}},
          heap_(arena_, config_.heap, config_.heap_bytes, config_.allocs, config_.window + 1),
          payloads_(arena_.take<Payload>(config_.window)),
          streams_(arena_.take<Stream>(config_.num_streams)),
          core_tasks_(arena_.take<std::uint32_t>(config_.cores.count())),
          aicpus_(arena_.take<Aicpu>(config_.num_aicpus)) {
        state_.gates.stream_in_flight = arena_.take<std::uint32_t>(config_.num_streams);
        std::uint32_t* lists = arena_.take<std::uint32_t>(3ull * config_.num_aicpus * config_.cores.count());
        if (arena_.fits()) prepare(lists);
    }

    static ExecutorConfig settled(ExecutorConfig config) {
        // A full window makes edges, too.
        if (config.batch > config.window) config.batch = config.window;
        if (config.entries == 0) config.entries = 8 * config.window;
        if (config.entries < 1024) config.entries = 1024;
        if (config.edges == 0) config.edges = 8 * config.window;
        if (config.edges < 1024 + config.window) config.edges = 1024 + config.window;
        if (config.allocs == 0 && config.heap_bytes > 0) config.allocs = 4 * config.window;
        return config;
    }

    void prepare(std::uint32_t* lists) {
        const std::uint32_t count = config_.cores.count();
        for (std::uint32_t at = 0; at < config_.window; ++at) {
            payloads_[at].num_args = 0;
            for (std::int64_t& arg : payloads_[at].task.args) arg = 0;
        }
        for (std::uint32_t at = 0; at < config_.num_streams; ++at) {
            streams_[at] = {{graph::none, 0}, graph::none};
            state_.gates.stream_in_flight[at] = 0;
        }
        for (std::uint16_t at = 0; at < config_.num_aicpus; ++at) {
            Aicpu& cpu = *new (&aicpus_[at]) Aicpu();
            cpu.executor = this;
            cpu.id = at;
            cpu.group = graph::none;
            cpu.busy = lists + 3ull * at * count;
            cpu.idle[0] = cpu.busy + count;
            cpu.idle[1] = cpu.idle[0] + count;
        }
        for (std::uint32_t core = count; core-- > 0;) {
            Aicpu& cpu = aicpus_[owner(core)];
            const std::size_t kind = core < config_.cores.cube ? 1 : 0;
            cpu.idle[kind][cpu.num_idle[kind]++] = core;
        }
    }

    // Calls of sinks.

    static Aicpu& cpu_of(void* user) { return *static_cast<Aicpu*>(user); }
    static bool call_begin(void* user, std::uint64_t ordinal) {
        return cpu_of(user).executor->begin(cpu_of(user), ordinal);
    }
    static bool call_submit(void* user, const TaskArgs* task) { return cpu_of(user).executor->submit(cpu_of(user), *task); }
    static bool call_end(void* user, std::uint64_t ordinal) { return cpu_of(user).executor->end(cpu_of(user), ordinal); }
    static bool call_alloc(void* user, std::uint64_t bytes, Tensor* tensor) {
        return cpu_of(user).executor->alloc(cpu_of(user), bytes, tensor);
    }
    static bool call_fence(void* user, std::uint64_t ordinal) {
        cpu_of(user).fence = ordinal;
        return !cpu_of(user).executor->stopped();
    }
    static bool call_ordered(void* user, Ordered event, std::uint64_t ordinal) {
        return cpu_of(user).executor->ordered(cpu_of(user), event, ordinal);
    }
    static bool call_wait(void* user, const Region* region, std::uint64_t ordinal) {
        return cpu_of(user).executor->wait(cpu_of(user), *region, ordinal);
    }

    // The calls, each under the lock.

    class Inside {
    public:
        Inside(Executor& executor, const Aicpu& cpu) : executor_(executor), aicpu_(cpu.id) {
            executor.pause(cpu.id, Pause::call);
            executor.enter(cpu.id);
        }
        ~Inside() { executor_.leave(aicpu_); }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

    private:
        Executor& executor_;
        std::uint16_t aicpu_;
    };

    bool begin(Aicpu& cpu, std::uint64_t ordinal) {
        const Inside inside(*this, cpu);
        if (cpu.open) return refuse(cpu, StopKind::still_open, ordinal, cpu.ordinal);
        pass(cpu, ordinal);
        const bool turned = wait_until(cpu, {WaitKind::turn, ordinal, 0}, [&] { return turn_ >= ordinal && !open_; });
        if (!turned) return false;
        if (turn_ > ordinal) return refuse(cpu, StopKind::begun_before, ordinal, turn_);
        open_ = cpu.open = true;
        cpu.ordinal = ordinal;
        ++changes_;
        if (cpu.fence <= ordinal && cpu.fence > fence_.step) fence_ = {0, cpu.fence, false};
        return !config_.reads_results || wait_until(cpu, {WaitKind::others, ordinal, 0}, [&] { return all_past(cpu); });
    }

    bool end(Aicpu& cpu, std::uint64_t ordinal) {
        const Inside inside(*this, cpu);
        if (stopped()) return false;
        if (!cpu.open || cpu.ordinal != ordinal) return refuse(cpu, StopKind::not_open, ordinal, 0);
        if (cpu.group != graph::none) heap_.close_group(cpu.group);
        cpu.group = graph::none;
        open_ = cpu.open = false;
        turn_ = ordinal + 1;
        pass(cpu, ordinal + 1);
        ++changes_;
        return true;
    }

    bool ordered(Aicpu& cpu, Ordered event, std::uint64_t ordinal) {
        if (event == Ordered::begin) {
            if (cpu.num_scopes < max_scope_depth) {
                cpu.scopes[cpu.num_scopes++] = {ordinal, ordinal, true};
                return !stopped();
            }
        } else if (cpu.num_scopes > 0) {
            if (event == Ordered::end) {
                --cpu.num_scopes;
            } else {
                Scope& scope = cpu.scopes[cpu.num_scopes - 1];
                scope.step = ordinal;
                scope.past = false;
            }
            return !stopped();
        }
        const Inside inside(*this, cpu);
        return refuse(cpu, StopKind::scope, ordinal, cpu.num_scopes);
    }

    bool alloc(Aicpu& cpu, std::uint64_t bytes, Tensor* tensor) {
        const Inside inside(*this, cpu);
        if (stopped()) return false;
        if (!cpu.open) return refuse(cpu, StopKind::not_open, cpu.ordinal, 0);
        if (Heap::rounded(bytes) > heap_.bytes()) return refuse(cpu, StopKind::heap, cpu.ordinal, bytes, heap_.bytes());
        if (cpu.group == graph::none) cpu.group = heap_.open_group();
        std::uint32_t piece = graph::none;
        const bool found = wait_until(cpu, {WaitKind::memory, cpu.ordinal, bytes}, [&] {
            return (piece = heap_.take(bytes, cpu.group)) != graph::none;
        });
        if (!found) return false;
        *tensor = {heap_.data(piece), bytes, config_.num_buffers + piece, 1, 1, {}};
        tensor->extents[0] = bytes < UINT32_MAX ? static_cast<std::uint32_t>(bytes) : UINT32_MAX;
        return true;
    }

    bool wait(Aicpu& cpu, const Region& region, std::uint64_t ordinal) {
        const Inside inside(*this, cpu);
        if (stopped()) return false;
        if (!has(region.tensor)) return refuse(cpu, StopKind::buffer, ordinal, region.tensor);
        if (config_.num_aicpus > 1 && !config_.reads_results) return refuse(cpu, StopKind::reads, ordinal, 0);
        pass(cpu, ordinal);
        const bool own = cpu.open && cpu.ordinal == ordinal;
        const auto turned = [&] { return own || turn_ >= ordinal; };
        if (!wait_until(cpu, {WaitKind::turn, ordinal, 0}, turned)) return false;
        const graph::Box box = box_of(region);
        return wait_until(cpu, {WaitKind::region, ordinal, region.tensor}, [&] {
            bool found = false;
            const auto note = [](void* user, const graph::ProducerRef&, const graph::Box&) { *static_cast<bool*>(user) = true; };
            map_.conflicts(box, false, {graph::none, 0}, {note, &found});
            return !found;
        });
    }

    void finish(Aicpu& cpu, bool done) {
        const Inside inside(*this, cpu);
        if (!done) refuse(cpu, StopKind::orchestration, turn_, 0);
        if (cpu.open) refuse(cpu, StopKind::still_open, cpu.ordinal, cpu.ordinal);
        ++finished_;
        ++changes_;
        cpu.at = UINT64_MAX;
        wait_until(cpu, {WaitKind::end, 0, 0}, [&] {
            return finished_ == config_.num_aicpus && state_.window.in_flight == 0;
        });
    }

    // Sends the cores of an AICPU home, after the tasks that they have.
    void go_home(Aicpu& cpu) {
        while (cpu.num_busy > 0) {
            enter(cpu.id);
            take_completions(cpu);
            leave(cpu.id);
            if (cpu.num_busy > 0) pause(cpu.id, Pause::wait);
        }
        for (std::uint32_t core = 0; core < config_.cores.count(); ++core) {
            if (owner(core) == cpu.id) cores_[core].shut_down();
        }
    }

    bool submit(Aicpu& cpu, const TaskArgs& task);
    bool check(Aicpu& cpu, const TaskArgs& task);
    void fill(std::uint32_t at, const TaskArgs& task);
    bool order(Aicpu& cpu, std::uint32_t at, const TaskArgs& task);
    bool order_by_scope(Aicpu& cpu, std::uint32_t at, Scope& scope);
    bool order_by_regions(Aicpu& cpu, std::uint32_t at, const TaskArgs& task);
    void order_by_stream(std::uint32_t at, std::int32_t stream);
    void note(const graph::ProducerRef& before, std::uint32_t at);

    void drain(Aicpu& cpu);
    void take_completions(Aicpu& cpu);
    void flush();
    void release(std::uint32_t at);
    void make_ready(std::uint32_t at);
    bool may_start(std::uint32_t at) const {
        return config_.may_start == nullptr || config_.may_start(config_.others_user, nodes_[at].ordinal);
    }
    bool others_let_go() const;
    void look_outside();
    void dispatch(Aicpu& cpu);
    void start(Aicpu& cpu, std::uint32_t at, std::uint32_t core);
    void complete(std::uint32_t at);
    bool nothing_moves() const;

    // Runs the scheduling loop until something holds. False when the run has ended early.
    template <typename Holds>
    bool wait_until(Aicpu& cpu, Waiting waiting, Holds holds) {
        for (bool first = true;; first = false) {
            if (stopped()) return false;
            if (first && holds()) return true;
            drain(cpu);
            if (holds()) break;
            cpu.waiting = waiting;
            cpu.seen = changes_;
            cpu.completed = state_.counters.completed;
            if (nothing_moves()) {
                set_stop({StopKind::stuck, cpu.id, cpu.ordinal, 0, 0});
                return false;
            }
            leave(cpu.id);
            pause(cpu.id, Pause::wait);
            enter(cpu.id);
        }
        cpu.waiting = {};
        return true;
    }

    void enter(std::uint16_t aicpu) {
        for (std::uint32_t tries = 1; !lock_.try_enter(); ++tries) {
            if (tries % 64 == 0) pause(aicpu, Pause::lock);
        }
    }
    void leave(std::uint32_t aicpu);
    void pause(std::uint16_t aicpu, Pause why) {
        if (config_.pause != nullptr) config_.pause(config_.pause_user, aicpu, why);
    }
    // Orchestration of an AICPU is past all ordinals below this one.
    void pass(Aicpu& cpu, std::uint64_t ordinal) {
        if (ordinal <= cpu.at) return;
        cpu.at = ordinal;
        ++changes_;
    }
    bool all_past(const Aicpu& cpu) const {
        for (std::uint16_t at = 0; at < config_.num_aicpus; ++at) {
            if (at != cpu.id && aicpus_[at].at <= cpu.ordinal) return false;
        }
        return true;
    }

    bool refuse(const Aicpu& cpu, StopKind kind, std::uint64_t ordinal, std::uint64_t a, std::uint64_t b = 0) {
        set_stop({kind, cpu.id, ordinal, a, b});
        return false;
    }
    void set_stop(const Stop& stop) {
        if (stopped()) return;
        stop_ = stop;
        ++changes_;
        stop_kind_.store(stop.kind, std::memory_order_release);
    }

    bool has(std::uint32_t buffer) const {
        return buffer < config_.num_buffers || heap_.is_taken(std::uint64_t{buffer} - config_.num_buffers);
    }
    static graph::Box box_of(const Region& region) {
        graph::Box box;
        box.buffer = region.tensor;
        for (std::size_t d = 0; d < max_rank; ++d) {
            box.lo[d] = region.lo[d];
            box.hi[d] = region.hi[d];
        }
        return box;
    }

    ExecutorConfig config_;
    Handshake* cores_;
    graph::Arena arena_;
    Nodes nodes_;
    graph::FixedTensorMap map_;
    graph::TaskGraphRuntime state_;
    Heap heap_;
    Payload* payloads_;
    Stream* streams_;
    // By core.
    std::uint32_t* core_tasks_;
    Aicpu* aicpus_;
    Lock lock_;
    // The next ordinal, and whether it was begun.
    std::uint64_t turn_ = 0;
    bool open_ = false;
    // Counts all changes that something may wait for.
    std::uint64_t changes_ = 0;
    std::uint64_t told_ = 0;
    std::uint32_t running_ = 0;
    std::uint16_t finished_ = 0;
    std::uint32_t submission_ = 0;
    // The first task that waits for tasks of others alone.
    std::uint32_t outside_ = graph::none;
    // What all later tasks wait for.
    Scope fence_{0, 0, true};
    graph::ProducerRef barrier_{graph::none, 0};
    Stop stop_;
    std::atomic<StopKind> stop_kind_{StopKind::none};
};

}  // namespace pto::wsp::backend::npu

#include "executor_submit.hpp"
