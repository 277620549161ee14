// Runs orchestration and kernels on a host: AICPUs and cores as steps of one thread at a time, or as threads.
//
// In steps, the party that takes the next one is drawn from a seed: an AICPU goes on until it waits or calls its sink, a core runs a task
// to its end. Orchestration cannot be suspended, so AICPUs are threads that pass a baton. One seed gives one order. Threads run AICPUs and
// cores side by side, with delays drawn from the seed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "executor_text.hpp"
#include "pto/host/fault.hpp"

namespace pto::wsp::backend::npu {

// Generates the tasks of an AICPU.
using Orchestrate = bool (*)(void* program, TaskSink& sink);
// Runs a kernel. A fault is thrown as pto::host::Fault.
using Dispatch = void (*)(std::uint16_t kernel, const std::int64_t* args);

// How to run. The run makes the memory of the heap, and what `heap` and `pause` of the executor are.
struct HostConfig {
    ExecutorConfig executor;
    bool threads = false;
    std::uint64_t seed = 0;
    // Threads that run cores, at least 1; there are not more than cores.
    std::uint32_t core_threads = 4;
    // Called on the thread that runs a task, before and after its kernel; may be null.
    void (*begin_task)(std::uint32_t core) = nullptr;
    void (*end_task)() = nullptr;
    // Told of the heap before the run; may be null.
    void (*heap_is)(void* data, std::uint64_t bytes) = nullptr;
};

// What a run came to.
struct HostResult {
    // Empty when all tasks are complete.
    std::string fault;
    // Of a fault of a kernel: its task.
    bool of_kernel = false;
    std::uint16_t kernel = 0;
    std::uint64_t ordinal = 0;
    graph::RuntimeCounters counters;
    graph::WindowState window;
};

namespace host_detail {

// Numbers drawn from a seed.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}

    std::uint32_t below(std::uint32_t count) {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        return static_cast<std::uint32_t>((mixed ^ (mixed >> 31)) % count);
    }

private:
    std::uint64_t state_;
};

// Memory at a multiple of 64 bytes, whose pages take no room before they are touched.
class Memory {
public:
    explicit Memory(std::uint64_t bytes) : data_(std::calloc(bytes / 64 + 2, 64)) {
        if (data_ == nullptr) throw std::bad_alloc();
    }
    ~Memory() { std::free(data_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* data() const { return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(data_) + 63) & ~std::uintptr_t{63}); }

private:
    void* data_;
};

// A run: what both modes have.
class Run {
public:
    Run(const HostConfig& config, Orchestrate orchestrate, void* program, Dispatch dispatch)
        : config_(config),
          orchestrate_(orchestrate),
          program_(program),
          dispatch_(dispatch),
          heap_(config.executor.heap_bytes),
          cores_(config.executor.cores.count()) {}
    virtual ~Run() = default;

    HostResult result() {
        ExecutorConfig config = config_.executor;
        config.heap = heap_.data();
        config.pause = [](void* user, std::uint16_t aicpu, Pause why) { static_cast<Run*>(user)->pause(aicpu, why); };
        config.changed = [](void* user) { static_cast<Run*>(user)->changed(); };
        config.pause_user = this;
        config.observe = [](void* user, const CoreTask& task, std::uint32_t core, bool starts) {
            static_cast<Run*>(user)->observed(task, core, starts);
        };
        config.observe_user = this;
        const Memory memory(Executor::bytes(config));
        if (config_.heap_is != nullptr) config_.heap_is(config.heap, config.heap_bytes);
        Executor executor(config, cores_.data(), memory.data(), Executor::bytes(config));
        executor_ = &executor;
        const host::OnFault before = host::on_fault;
        host::on_fault = host::OnFault::Record;
        run();
        host::on_fault = before;
        if (result_.fault.empty()) result_.fault = reason(executor);
        result_.counters = executor.state().counters;
        result_.window = executor.state().window;
        return result_;
    }

protected:
    virtual void run() = 0;
    virtual void pause(std::uint16_t aicpu, Pause why) = 0;
    virtual void changed() {}
    virtual void completed() {}
    virtual void observed(const CoreTask& task, std::uint32_t core, bool starts) {
        const ExecutorConfig& told = config_.executor;
        if (told.observe != nullptr) told.observe(told.observe_user, task, core, starts);
    }

    void orchestrate(std::uint16_t aicpu) { executor_->run(aicpu, orchestrate_, program_); }

    // A step of a core: false when there was nothing to do.
    CoreOrder step(std::uint32_t core) {
        std::uint64_t word = 0;
        const CoreOrder order = cores_[core].poll(&word);
        if (order != CoreOrder::run) return order;
        const CoreTask& task = *reinterpret_cast<const CoreTask*>(static_cast<std::uintptr_t>(word));
        if (!executor_->stopped()) run_task(core, task);
        cores_[core].complete();
        completed();
        return order;
    }

    HostConfig config_;
    Orchestrate orchestrate_;
    void* program_;
    Dispatch dispatch_;
    Memory heap_;
    std::vector<Handshake> cores_;
    Executor* executor_ = nullptr;

private:
    void run_task(std::uint32_t core, const CoreTask& task) {
        try {
            if (config_.begin_task != nullptr) config_.begin_task(core);
            dispatch_(task.kernel, task.args);
            if (config_.end_task != nullptr) config_.end_task();
        } catch (const host::Fault& fault) {
            failed(fault.text, task);
        } catch (const std::exception& error) {
            failed(error.what(), task);
        }
    }

    // The first failure ends the run.
    void failed(const std::string& text, const CoreTask& task) {
        {
            const std::lock_guard<std::mutex> lock(failing_);
            if (!result_.fault.empty()) return;
            result_.fault = text;
            result_.of_kernel = true;
            result_.kernel = task.kernel;
            result_.ordinal = task.ordinal;
        }
        executor_->end_early({StopKind::ended, 0, task.ordinal, 0, 0});
    }

    std::mutex failing_;
    HostResult result_;
};

// One thread runs at a time.
class Stepped final : public Run {
public:
    Stepped(const HostConfig& config, Orchestrate orchestrate, void* program, Dispatch dispatch)
        : Run(config, orchestrate, program, dispatch),
          draw_(config.seed),
          aicpus_(config.executor.num_aicpus),
          wake_(config.executor.num_aicpus),
          left_(config.executor.num_aicpus) {}

protected:
    void run() override {
        std::vector<std::thread> threads;
        for (std::uint16_t aicpu = 1; aicpu < aicpus_.size(); ++aicpu) {
            threads.emplace_back([this, aicpu] {
                wait_for(aicpu);
                orchestrate(aicpu);
                leave(aicpu);
            });
        }
        orchestrate(0);
        leave(0);
        for (std::thread& thread : threads) thread.join();
    }

    void pause(std::uint16_t aicpu, Pause why) override {
        // Most calls of a sink follow each other at once.
        if (why == Pause::call && draw_.below(4) > 0) return;
        const std::uint16_t next = next_aicpu(aicpu);
        if (next == aicpu) return;
        pass_to(next);
        wait_for(aicpu);
    }

    void observed(const CoreTask& task, std::uint32_t core, bool starts) override {
        if (starts) {
            busy_.push_back(core);
        } else {
            --aicpus_[executor_->owner(core)].completions;
        }
        Run::observed(task, core, starts);
    }

private:
    struct Aicpu {
        bool over = false;
        // Of its cores, that it has not taken.
        std::uint32_t completions = 0;
    };

    // Lets cores run, until an AICPU is drawn.
    std::uint16_t next_aicpu(std::uint16_t now) {
        for (;;) {
            able_.clear();
            for (std::uint16_t at = 0; at < aicpus_.size(); ++at) {
                if (!aicpus_[at].over && (aicpus_[at].completions > 0 || !executor_->is_waiting(at))) able_.push_back(at);
            }
            const std::uint32_t parties = static_cast<std::uint32_t>(able_.size() + busy_.size());
            if (parties == 0) return now;
            const std::uint32_t drawn = draw_.below(parties);
            if (drawn < able_.size()) return able_[drawn];
            const std::size_t at = drawn - able_.size();
            const std::uint32_t core = busy_[at];
            busy_[at] = busy_.back();
            busy_.pop_back();
            step(core);
            ++aicpus_[executor_->owner(core)].completions;
        }
    }

    void leave(std::uint16_t aicpu) {
        aicpus_[aicpu].over = true;
        if (--left_ == 0) return;
        std::uint16_t next = next_aicpu(aicpu);
        while (aicpus_[next].over) next = static_cast<std::uint16_t>((next + 1) % aicpus_.size());
        pass_to(next);
    }

    void pass_to(std::uint16_t aicpu) {
        {
            const std::lock_guard<std::mutex> lock(baton_);
            holder_ = aicpu;
        }
        wake_[aicpu].notify_one();
    }

    void wait_for(std::uint16_t aicpu) {
        std::unique_lock<std::mutex> lock(baton_);
        wake_[aicpu].wait(lock, [&] { return holder_ == aicpu; });
    }

    Draw draw_;
    std::vector<Aicpu> aicpus_;
    // Cores with a task.
    std::vector<std::uint32_t> busy_;
    std::vector<std::uint16_t> able_;
    std::mutex baton_;
    std::vector<std::condition_variable> wake_;
    std::uint16_t holder_ = 0;
    std::size_t left_;
};

// AICPUs and cores are threads.
class Threads final : public Run {
public:
    Threads(const HostConfig& config, Orchestrate orchestrate, void* program, Dispatch dispatch)
        : Run(config, orchestrate, program, dispatch) {
        for (std::uint64_t at = 0; at < config.executor.num_aicpus; ++at) aicpus_.push_back({Draw(config.seed + 1000 * at), 0});
    }

protected:
    void run() override {
        const std::uint32_t cores = static_cast<std::uint32_t>(cores_.size());
        const std::uint32_t count = config_.core_threads < cores ? config_.core_threads : cores;
        std::vector<std::thread> threads;
        for (std::uint32_t at = 0; at < count; ++at) {
            threads.emplace_back([this, at, count] { serve(at, count); });
        }
        for (std::uint16_t aicpu = 1; aicpu < config_.executor.num_aicpus; ++aicpu) {
            threads.emplace_back([this, aicpu] { orchestrate_one(aicpu); });
        }
        orchestrate_one(0);
        for (std::thread& thread : threads) thread.join();
    }

    void pause(std::uint16_t aicpu, Pause why) override {
        switch (why) {
            case Pause::call: delay(aicpus_[aicpu].draw); break;
            case Pause::lock: std::this_thread::yield(); break;
            // What happened before the AICPU looked last was seen by it.
            case Pause::wait: aicpus_[aicpu].seen = for_aicpus_.wait_past(aicpus_[aicpu].seen); break;
        }
    }

    void changed() override {
        for_aicpus_.happened();
        if (assigned_.exchange(false)) for_cores_.happened();
    }
    void completed() override { for_aicpus_.happened(); }
    void observed(const CoreTask& task, std::uint32_t core, bool starts) override {
        if (starts) assigned_ = true;
        Run::observed(task, core, starts);
    }

private:
    // Things happen; threads wait for the next.
    class Events {
    public:
        void happened() {
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                ++count_;
            }
            wake_.notify_all();
        }
        // Waits until more have happened, and gives how many.
        std::uint64_t wait_past(std::uint64_t seen) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return count_ != seen; });
            return count_;
        }

    private:
        std::mutex mutex_;
        std::condition_variable wake_;
        std::uint64_t count_ = 1;
    };

    // Every so many cores, until they are sent home.
    void serve(std::uint32_t first, std::uint32_t threads) {
        Draw draw(config_.seed + 1000000 + first);
        std::vector<bool> home(cores_.size());
        std::uint64_t seen = 0;
        for (std::size_t left = (cores_.size() - first + threads - 1) / threads; left > 0;) {
            bool ran = false;
            for (std::uint32_t core = first; core < cores_.size(); core += threads) {
                if (home[core]) continue;
                const CoreOrder order = step(core);
                ran |= order == CoreOrder::run;
                if (order != CoreOrder::exit) continue;
                home[core] = true;
                --left;
            }
            if (ran) delay(draw);
            if (!ran && left > 0) seen = for_cores_.wait_past(seen);
        }
    }

    static void delay(Draw& draw) {
        if (draw.below(16) > 0) return;
        for (std::uint32_t rounds = draw.below(8); rounds > 0; --rounds) std::this_thread::yield();
    }

    struct Aicpu {
        Draw draw;
        std::uint64_t seen;
    };

    // Ends the part of an AICPU: its cores were sent home.
    void orchestrate_one(std::uint16_t aicpu) {
        orchestrate(aicpu);
        for_cores_.happened();
    }

    std::vector<Aicpu> aicpus_;
    Events for_aicpus_;
    Events for_cores_;
    // Whether cores were given tasks that they were not woken for.
    std::atomic<bool> assigned_{false};
};

}  // namespace host_detail

// Runs `orchestrate` on each AICPU and the kernels of its tasks, until all are complete or something fails.
inline HostResult run(const HostConfig& config, Orchestrate orchestrate, void* program, Dispatch dispatch) {
    HostResult refused;
    refused.fault = refusal(config.executor);
    if (config.core_threads == 0) refused.fault = "the launch has core_threads 0, and it is at least 1";
    if (!refused.fault.empty()) return refused;
    if (config.threads) return host_detail::Threads(config, orchestrate, program, dispatch).result();
    return host_detail::Stepped(config, orchestrate, program, dispatch).result();
}

}  // namespace pto::wsp::backend::npu
