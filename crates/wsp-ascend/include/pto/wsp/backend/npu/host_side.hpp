// The tasks of a launch that the host runs itself: between those of cores, each when what it waits for is complete.
#pragma once

#include <exception>
#include <string>

#include "cross_plan.hpp"
#include "host_run.hpp"

namespace pto::wsp::backend::npu {

// Of a launch, what its tasks of the host need.
struct HostProgram {
    // Generates all tasks, for each sink the same ones.
    Orchestrate orchestrate;
    void* program;
    // Whether the tasks of a kernel are the host's.
    bool (*on_host)(std::uint16_t kernel);
    // Runs a task. A fault is thrown as pto::host::Fault.
    void (*run_task)(const TaskArgs& task);
    // Buffers of the launch.
    std::uint32_t buffers;
    // Memory that the tasks of a descriptor exchange tiles through, at a multiple of 64 bytes; one descriptor runs at a time. Told when its
    // contents are no one's any more; may be null.
    void* exchange;
    void (*forget)(const void* from, std::uint64_t bytes);
};

// It generates all tasks, as an AICPU does, and runs its own one after the other.
class HostSide final : public HostTasks {
public:
    explicit HostSide(const HostProgram& of) : of_(of), plan_(of.on_host, of.buffers) {}

    // Finds what waits for what. False where orchestration has ended early, or there are more tasks than 32 bits count.
    bool plan(CrossOrder order) {
        TaskSink sink = plan_.sink();
        return of_.orchestrate(of_.program, sink) && plan_.build(order);
    }
    // How many edges between the host and cores have tokens.
    std::size_t tokens() const { return plan_.tokens(); }

    void run(HostTurns& turns) override {
        turns_ = &turns;
        TaskSink sink{this, 1, 0, begin, submit, end, alloc, fence, ordered, wait};
        of_.orchestrate(of_.program, sink);
    }
    bool runs(std::uint16_t kernel) const override { return of_.on_host(kernel); }
    bool has_work() const override { return !waits_ || plan_.may_start(now_); }
    bool may_start(std::uint64_t ordinal) const override { return plan_.may_start(ordinal); }
    void completed(std::uint64_t ordinal) override { plan_.completed(ordinal); }

private:
    static HostSide& side(void* user) { return *static_cast<HostSide*>(user); }

    static bool fence(void*, std::uint64_t) { return true; }
    static bool ordered(void*, Ordered, std::uint64_t) { return true; }
    static bool wait(void*, const Region*, std::uint64_t) { return true; }

    static bool begin(void* user, std::uint64_t ordinal) {
        HostSide& own = side(user);
        own.now_ = ordinal;
        own.used_ = 0;
        if (!own.plan_.is_of_host(ordinal)) return true;
        while ((own.waits_ = !own.plan_.may_start(ordinal))) {
            if (!own.turns_->pause(true)) return false;
        }
        return true;
    }

    static bool alloc(void* user, std::uint64_t bytes, Tensor* tensor) {
        HostSide& own = side(user);
        *tensor = {nullptr, bytes, no_buffer, 1, 1, {}};
        tensor->extents[0] = bytes < UINT32_MAX ? static_cast<std::uint32_t>(bytes) : UINT32_MAX;
        if (!own.plan_.is_of_host(own.now_)) return true;
        tensor->data = static_cast<char*>(own.of_.exchange) + own.used_;
        own.used_ += (bytes + 63) / 64 * 64;
        if (own.of_.forget != nullptr) own.of_.forget(tensor->data, bytes);
        return true;
    }

    static bool submit(void* user, const TaskArgs* task) {
        HostSide& own = side(user);
        if (!own.of_.on_host(task->kernel)) return true;
        try {
            own.of_.run_task(*task);
            return true;
        } catch (const host::Fault& fault) {
            own.turns_->failed(fault.text, task->kernel, own.now_);
        } catch (const std::exception& error) {
            own.turns_->failed(error.what(), task->kernel, own.now_);
        }
        return false;
    }

    static bool end(void* user, std::uint64_t ordinal) {
        HostSide& own = side(user);
        if (!own.plan_.is_of_host(ordinal)) return true;
        own.plan_.completed_all(ordinal);
        return own.turns_->pause(false);
    }

    HostProgram of_;
    CrossPlan plan_;
    HostTurns* turns_ = nullptr;
    std::uint64_t used_ = 0;
    std::uint64_t now_ = 0;
    bool waits_ = false;
};

}  // namespace pto::wsp::backend::npu
