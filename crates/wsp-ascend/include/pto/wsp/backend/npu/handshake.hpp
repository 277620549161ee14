// How a scheduler hands tasks to one core, through five words of shared memory.
//
//   state      task_status  aicore_done  who may write next
//   idle       0            0            the scheduler: assign, shut_down
//   assigned   1            0            the core: complete
//   done       0            1            the scheduler: take_completion, back to idle
//
// The scheduler stores `task` and then `task_status` = 1 with release; a core that loads 1 with acquire sees the task, and all that the
// scheduler wrote for it. The core stores `aicore_done` = 1 and then `task_status` = 0, both with release; a scheduler that loads
// `aicore_done` = 1 with acquire sees all that the task wrote. `control` = 1 is stored in idle only, and a core looks at it only when
// `task_status` is 0, so that an assigned task always runs. Each word has one writer per state: no read-modify-write is needed, which some
// devices do not have between domains.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../version.hpp"

namespace pto::wsp::backend::npu {

// What a core finds when it looks.
enum class CoreOrder : std::uint8_t {
    // Nothing yet.
    wait,
    // A task to run.
    run,
    // No task will come any more.
    exit,
};

class Handshake {
public:
    // Scheduler: says that it is initialised.
    void set_ready() { aicpu_ready_.store(1, std::memory_order_release); }
    // Core: whether the scheduler is initialised; what it wrote before is then visible.
    bool is_ready() const { return aicpu_ready_.load(std::memory_order_acquire) == 1; }

    // Scheduler: whether a task can be assigned: the core is idle and was not sent home.
    bool is_idle() const {
        // Only the core lowers the status, and only after `aicore_done`: a zero here is followed by a current `aicore_done`.
        return task_status_.load(std::memory_order_acquire) == 0 && aicore_done_.load(std::memory_order_acquire) == 0 &&
               control_.load(std::memory_order_relaxed) == 0;
    }

    // Scheduler: gives the core a task. False when the core is not idle; nothing was written then.
    bool assign(std::uint64_t task) {
        if (!is_idle()) return false;
        task_.store(task, std::memory_order_relaxed);
        task_status_.store(1, std::memory_order_release);
        return true;
    }

    // Core: what to do.
    CoreOrder poll(std::uint64_t* task) const {
        if (task_status_.load(std::memory_order_acquire) == 1) {
            *task = task_.load(std::memory_order_relaxed);
            return CoreOrder::run;
        }
        // Between the two loads no task can come and go: only this core completes it. So a shut-down is the last word.
        return control_.load(std::memory_order_acquire) == 1 ? CoreOrder::exit : CoreOrder::wait;
    }

    // Core: the task it was given has run.
    void complete() {
        aicore_done_.store(1, std::memory_order_release);
        task_status_.store(0, std::memory_order_release);
    }

    // Scheduler: whether the task has run, once; what it wrote is then visible. The core is idle afterwards.
    bool take_completion() {
        // The status is lowered last: while it is 1 the core may still be between its two stores.
        if (aicore_done_.load(std::memory_order_acquire) == 0 || task_status_.load(std::memory_order_acquire) == 1) return false;
        aicore_done_.store(0, std::memory_order_release);
        return true;
    }

    // Scheduler: sends the core home. False when the core is not idle; nothing was written then.
    bool shut_down() {
        if (!is_idle()) return false;
        control_.store(1, std::memory_order_release);
        return true;
    }

    // Byte offsets of the words, which are the device's.
    static constexpr std::size_t offset_of_task() { return offsetof(Handshake, task_); }
    static constexpr std::size_t offset_of_control() { return offsetof(Handshake, control_); }

private:
    std::atomic<std::uint32_t> aicpu_ready_{0};
    std::atomic<std::uint32_t> aicore_done_{0};
    std::atomic<std::uint64_t> task_{0};
    std::atomic<std::int32_t> task_status_{0};
    std::atomic<std::int32_t> control_{0};
};

static_assert(sizeof(Handshake) == 24, "the layout is that of the device");
static_assert(Handshake::offset_of_task() == 8, "the layout is that of the device");
static_assert(Handshake::offset_of_control() == 20, "the layout is that of the device");

}  // namespace pto::wsp::backend::npu
