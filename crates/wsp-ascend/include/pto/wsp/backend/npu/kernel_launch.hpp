// Launches of kernels by number: a scheduler launches and waits, a core polls and signals.
//
// Each kernel has a Handshake, over which one launch at a time goes; its parameters are copied, so that the caller's memory is free
// at once. The functions of this header work on the board that their thread has bound: programs in one process do not meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../../version.hpp"
#include "handshake.hpp"

namespace pto::wsp::backend::npu {

// What a core finds for a kernel.
struct KernelCall {
    int kernel_id;
    void* params;
    std::size_t params_size;
};

class KernelBoard {
public:
    // Kernels from 0. `relax` is called while a launch is waited for; it returns false when nothing can complete any more.
    explicit KernelBoard(int kernels, bool (*relax)(void* user) = yield, void* user = nullptr)
        : count_(kernels < 0 ? 0 : kernels), slots_(new Slot[static_cast<std::size_t>(count_)]), relax_(relax), user_(user) {}

    // False when there is no such kernel, or its last launch was not waited for.
    bool launch(int kernel_id, const void* params, std::size_t params_size) {
        Slot* slot = find(kernel_id);
        if (slot == nullptr || !slot->handshake.is_idle()) return false;
        slot->params.resize(params_size);
        if (params_size > 0) std::memcpy(slot->params.data(), params, params_size);
        return slot->handshake.assign(static_cast<std::uint64_t>(kernel_id));
    }

    // Waits until the launch of a kernel is complete. False when there was none, or when nothing can complete any more.
    bool wait(int kernel_id) {
        Slot* slot = find(kernel_id);
        if (slot == nullptr || slot->handshake.is_idle()) return false;
        while (!slot->handshake.take_completion()) {
            if (!relax_(user_)) return false;
        }
        return true;
    }

    // Core: the launch of a kernel, if there is one to run. Its parameters last until signal().
    bool poll(int kernel_id, KernelCall* call) {
        Slot* slot = find(kernel_id);
        std::uint64_t task = 0;
        if (slot == nullptr || slot->handshake.poll(&task) != CoreOrder::run) return false;
        *call = {kernel_id, slot->params.data(), slot->params.size()};
        return true;
    }

    // Core: the launch has run. False when there is none.
    bool signal(int kernel_id) {
        Slot* slot = find(kernel_id);
        std::uint64_t task = 0;
        if (slot == nullptr || slot->handshake.poll(&task) != CoreOrder::run) return false;
        slot->handshake.complete();
        return true;
    }

    // The board of this thread; none at first.
    static KernelBoard*& bound() {
        thread_local KernelBoard* board = nullptr;
        return board;
    }

private:
    struct Slot {
        Handshake handshake;
        std::vector<unsigned char> params;
    };

    static bool yield(void*) {
        std::this_thread::yield();
        return true;
    }

    Slot* find(int kernel_id) { return kernel_id < 0 || kernel_id >= count_ ? nullptr : &slots_[static_cast<std::size_t>(kernel_id)]; }

    int count_;
    std::unique_ptr<Slot[]> slots_;
    bool (*relax_)(void* user);
    void* user_;
};

// Binds a board to this thread, until it goes.
class UseKernels {
public:
    explicit UseKernels(KernelBoard& board) : before_(KernelBoard::bound()) { KernelBoard::bound() = &board; }
    ~UseKernels() { KernelBoard::bound() = before_; }
    UseKernels(const UseKernels&) = delete;
    UseKernels& operator=(const UseKernels&) = delete;

private:
    KernelBoard* before_;
};

// As launch(), wait() and signal() of the bound board; false without one.
inline bool kernel_launch(int kernel_id, void* params, std::size_t params_size) {
    KernelBoard* board = KernelBoard::bound();
    return board != nullptr && board->launch(kernel_id, params, params_size);
}
inline bool task_wait_for_kernel(int kernel_id) {
    KernelBoard* board = KernelBoard::bound();
    return board != nullptr && board->wait(kernel_id);
}
inline bool signal_kernel_complete(int kernel_id) {
    KernelBoard* board = KernelBoard::bound();
    return board != nullptr && board->signal(kernel_id);
}

}  // namespace pto::wsp::backend::npu
