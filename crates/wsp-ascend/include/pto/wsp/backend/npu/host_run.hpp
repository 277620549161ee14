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
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "domain_handshake.hpp"
#include "executor_text.hpp"
#include "host_tasks.hpp"
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
    // Null where cores run all tasks.
    HostTasks* host = nullptr;
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
class Run : private HostTurns {
public:
    Run(const HostConfig& config, Orchestrate orchestrate, void* program, Dispatch dispatch)
        : config_(config),
          orchestrate_(orchestrate),
          program_(program),
          dispatch_(dispatch),
          heap_(config.executor.heap_bytes),
          cores_(config.executor.cores.count()) {}
    ~Run() override = default;

    HostResult result() {
        ExecutorConfig config = config_.executor;
        config.heap = heap_.data();
        config.pause = [](void* user, std::uint16_t aicpu, Pause why) { static_cast<Run*>(user)->pause(aicpu, why); };
        config.wake = [](void* user, std::uint16_t aicpu) { static_cast<Run*>(user)->wake(aicpu); };
        config.pause_user = this;
        config.observe = [](void* user, const CoreTask& task, std::uint32_t core, bool starts) {
            static_cast<Run*>(user)->observed(task, core, starts);
        };
        config.observe_user = this;
        if (config_.host != nullptr) {
            config.is_of_others = [](void* user, std::uint16_t kernel) { return static_cast<Run*>(user)->config_.host->runs(kernel); };
            config.may_start = [](void* user, std::uint64_t ordinal) {
                return static_cast<Run*>(user)->config_.host->may_start(ordinal);
            };
            config.completed = [](void* user, std::uint64_t ordinal) {
                static_cast<Run*>(user)->config_.host->completed(ordinal);
                static_cast<Run*>(user)->wake_host();
            };
            config.others_user = this;
        }
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
    virtual void wake(std::uint16_t) {}
    // Lets others go on than the host.
    virtual void pause_host(bool waits) = 0;
    virtual void wake_host() {}
    virtual void observed(const CoreTask& task, std::uint32_t core, bool starts) {
        const ExecutorConfig& told = config_.executor;
        if (told.observe != nullptr) told.observe(told.observe_user, task, core, starts);
    }

    // Does `work` for each number on a thread of its own, for 0 on this one. Where a thread cannot be started nothing is done, and that
    // is the fault of the run.
    template <typename Work>
    void side_by_side(std::size_t count, Work work) {
        std::mutex gate;
        bool all = true;
        std::vector<std::thread> threads;
        {
            const std::lock_guard<std::mutex> closed(gate);
            try {
                while (threads.size() + 1 < count) {
                    threads.emplace_back([&, number = threads.size() + 1] {
                        {
                            const std::lock_guard<std::mutex> open(gate);
                            if (!all) return;
                        }
                        work(number);
                    });
                }
            } catch (const std::exception& error) {
                all = false;
                result_.fault = "thread " + std::to_string(threads.size() + 1) + " of " + std::to_string(count - 1) +
                                " cannot be started: " + error.what() + "; take fewer threads and AICPUs";
            }
        }
        if (all) work(0);
        for (std::thread& thread : threads) thread.join();
    }

    void orchestrate(std::uint16_t aicpu) { executor_->run(aicpu, orchestrate_, program_); }

    void run_host() { config_.host->run(*this); }
    std::size_t hosts() const { return config_.host == nullptr ? 0 : 1; }

    // A step of a core: false when there was nothing to do.
    CoreOrder step(std::uint32_t core) {
        std::uint64_t word = 0;
        const CoreOrder order = cores_[core].poll(&word);
        if (order != CoreOrder::run) return order;
        const CoreTask& task = *reinterpret_cast<const CoreTask*>(static_cast<std::uintptr_t>(word));
        if (!executor_->stopped()) run_task(core, task);
        cores_[core].complete();
        wake(executor_->owner(core));
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
            failed(fault.text, task.kernel, task.ordinal);
        } catch (const std::exception& error) {
            failed(error.what(), task.kernel, task.ordinal);
        }
    }

    // The first failure ends the run.
    void failed(const std::string& text, std::uint16_t kernel, std::uint64_t ordinal) final {
        {
            const std::lock_guard<std::mutex> lock(failing_);
            if (!result_.fault.empty()) return;
            result_.fault = text;
            result_.of_kernel = true;
            result_.kernel = kernel;
            result_.ordinal = ordinal;
        }
        executor_->end_early({StopKind::ended, 0, ordinal, 0, 0});
        wake_host();
    }

    bool pause(bool waits) final {
        pause_host(waits);
        return !executor_->stopped();
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
          parties_(aicpus_.size() + hosts()),
          wake_(parties_.size()),
          left_(parties_.size()) {}

protected:
    void run() override {
        side_by_side(parties_.size(), [this](std::size_t number) {
            const auto party = static_cast<std::uint16_t>(number);
            wait_for(party);
            if (is_host(party)) run_host();
            else orchestrate(party);
            leave(party);
        });
    }

    void pause_host(bool) override { let_go(static_cast<std::uint16_t>(aicpus_.size())); }

    void pause(std::uint16_t aicpu, Pause why) override {
        // Most calls of a sink follow each other at once.
        if (why == Pause::call && draw_.below(4) > 0) return;
        let_go(aicpu);
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
        // Of its cores, that it has not taken.
        std::uint32_t completions = 0;
    };
    // AICPUs, and then the host where it has tasks.
    struct Party {
        bool over = false;
    };

    bool is_host(std::uint16_t party) const { return party == aicpus_.size(); }

    void let_go(std::uint16_t party) {
        const std::uint16_t next = next_party(party);
        if (next == party) return;
        pass_to(next);
        wait_for(party);
    }

    // Lets cores run, until another party is drawn.
    std::uint16_t next_party(std::uint16_t now) {
        for (;;) {
            find_able([&](std::uint16_t at) {
                if (is_host(at)) return executor_->stopped() || config_.host->has_work();
                return aicpus_[at].completions > 0 || executor_->has_work(at);
            });
            // Where nothing moves, all have to see it.
            if (able_.empty() && busy_.empty()) find_able([&](std::uint16_t at) { return !is_host(at) && !executor_->has_seen(at); });
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

    template <typename Is>
    void find_able(Is is) {
        able_.clear();
        for (std::uint16_t at = 0; at < parties_.size(); ++at) {
            if (!parties_[at].over && is(at)) able_.push_back(at);
        }
    }

    void leave(std::uint16_t party) {
        parties_[party].over = true;
        if (--left_ == 0) return;
        std::uint16_t next = next_party(party);
        while (parties_[next].over) next = static_cast<std::uint16_t>((next + 1) % parties_.size());
        pass_to(next);
    }

    void pass_to(std::uint16_t party) {
        {
            const std::lock_guard<std::mutex> lock(baton_);
            holder_ = party;
        }
        wake_[party].notify_one();
    }

    void wait_for(std::uint16_t party) {
        std::unique_lock<std::mutex> lock(baton_);
        wake_[party].wait(lock, [&] { return holder_ == party; });
    }

    Draw draw_;
    std::vector<Aicpu> aicpus_;
    std::vector<Party> parties_;
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
        : Run(config, orchestrate, program, dispatch),
          aicpus_(config.executor.num_aicpus),
          servers_(config.core_threads < cores_.size() ? config.core_threads : cores_.size()) {
        for (std::size_t at = 0; at < aicpus_.size(); ++at) aicpus_[at].draw = Draw(config.seed + 1000 * at);
    }

protected:
    void run() override {
        side_by_side(aicpus_.size() + servers_.size() + hosts(), [this](std::size_t number) {
            if (number < aicpus_.size()) return orchestrate_one(static_cast<std::uint16_t>(number));
            if (number - aicpus_.size() < servers_.size()) return serve(number - aicpus_.size());
            handshake_.cpu_ready();
            handshake_.wait_accelerator_ready(DomainHandshake::no_limit);
            run_host();
            handshake_.wait_transfer_complete(DomainHandshake::no_limit);
        });
    }

    void pause_host(bool waits) override {
        if (waits) return host_.wait();
        for (Party& aicpu : aicpus_) aicpu.happened();
        delay(host_.draw);
    }
    void wake_host() override { host_.happened(); }

    void pause(std::uint16_t aicpu, Pause why) override {
        Party& one = aicpus_[aicpu];
        switch (why) {
            case Pause::call: delay(one.draw); break;
            case Pause::lock: std::this_thread::yield(); break;
            // What happened before the AICPU looked last was seen by it.
            case Pause::wait: one.wait(); break;
        }
    }

    void wake(std::uint16_t aicpu) override { aicpus_[aicpu].happened(); }
    void observed(const CoreTask& task, std::uint32_t core, bool starts) override {
        if (starts) servers_[core % servers_.size()].happened();
        Run::observed(task, core, starts);
    }

private:
    // A thread that waits for things to happen.
    class Party {
    public:
        Draw draw{0};

        void happened() {
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                ++count_;
            }
            wake_.notify_one();
        }
        // Waits until more has happened than when it waited last.
        void wait() {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return count_ != seen_; });
            seen_ = count_;
        }

    private:
        std::mutex mutex_;
        std::condition_variable wake_;
        std::uint64_t count_ = 1;
        std::uint64_t seen_ = 0;
    };

    // Runs every so many cores, until they are sent home.
    void serve(std::size_t first) {
        Party& one = servers_[first];
        one.draw = Draw(config_.seed + 1000000 + first);
        std::vector<bool> home(cores_.size());
        for (std::size_t left = (cores_.size() - first + servers_.size() - 1) / servers_.size(); left > 0;) {
            bool ran = false;
            for (std::size_t core = first; core < cores_.size(); core += servers_.size()) {
                if (home[core]) continue;
                const CoreOrder order = step(static_cast<std::uint32_t>(core));
                ran |= order == CoreOrder::run;
                if (order != CoreOrder::exit) continue;
                home[core] = true;
                --left;
            }
            if (ran) delay(one.draw);
            if (!ran && left > 0) one.wait();
        }
    }

    static void delay(Draw& draw) {
        if (draw.below(16) > 0) return;
        for (std::uint32_t rounds = draw.below(8); rounds > 0; --rounds) std::this_thread::yield();
    }

    // The part of an AICPU. Its cores were sent home then.
    void orchestrate_one(std::uint16_t aicpu) {
        if (hosts() > 0) handshake_.wait_cpu_ready(DomainHandshake::no_limit);
        handshake_.accelerator_ready();
        orchestrate(aicpu);
        for (Party& server : servers_) server.happened();
        host_.happened();
        if (++done_ == aicpus_.size()) handshake_.transfer_complete();
    }

    std::vector<Party> aicpus_;
    std::vector<Party> servers_;
    Party host_;
    DomainHandshake handshake_;
    std::atomic<std::size_t> done_{0};
};

}  // namespace host_detail

// Runs `orchestrate` on each AICPU and the kernels of its tasks, until all are complete or something fails.
inline HostResult run(const HostConfig& config, Orchestrate orchestrate, void* program, Dispatch dispatch) {
    HostResult refused;
    refused.fault = refusal(config.executor);
    if (config.core_threads == 0) refused.fault = "the launch has core_threads 0, and it is at least 1";
    if (!refused.fault.empty()) return refused;
    try {
        if (config.threads) return host_detail::Threads(config, orchestrate, program, dispatch).result();
        return host_detail::Stepped(config, orchestrate, program, dispatch).result();
    } catch (const std::bad_alloc&) {
        refused.fault = "there is no memory for the executor: take a smaller window, or fewer AICPUs and cores";
        return refused;
    }
}

}  // namespace pto::wsp::backend::npu
