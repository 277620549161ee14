// The plain order of a launch: each task runs where it is generated, and nothing waits. What runs on cores comes to the same.
#pragma once

#include <string>
#include <vector>

#include "launch_memory.hpp"
#include "package.hpp"
#include "tensor.h"

namespace pto::host {

// The arguments of a task: tensors, then numbers.
class TaskWords {
public:
    explicit TaskWords(const npu::TaskArgs &task) {
        for (std::size_t at = 0; at < task.num_tensors; ++at) {
            const npu::Tensor &of = *task.tensors[at];
            ChipTensor &tensor = tensors_[at];
            tensor.buffer.addr = reinterpret_cast<std::uint64_t>(of.data);
            tensor.start_offset = 0;
            tensor.ndims = std::min<std::uint32_t>(of.rank, 5);
            std::uint64_t stride = 1;
            for (std::uint32_t d = tensor.ndims; d-- > 0;) {
                tensor.shapes[d] = of.extents[d];
                tensor.strides[d] = static_cast<std::uint32_t>(stride);
                stride *= of.extents[d];
            }
            words_.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&tensor)));
        }
        for (std::size_t at = 0; at < task.num_scalars; ++at) words_.push_back(static_cast<std::int64_t>(task.scalars[at]));
    }
    TaskWords(const TaskWords &) = delete;
    TaskWords &operator=(const TaskWords &) = delete;

    std::int64_t *words() { return words_.data(); }

private:
    ChipTensor tensors_[npu::max_task_tensors] = {};
    std::vector<std::int64_t> words_;
};

// Takes tasks and runs them.
class Serial {
public:
    Serial(const Package &package, LaunchMemory &memory) : package_(package), memory_(memory) {}

    npu::TaskSink sink() {
        return npu::TaskSink{this, 1, 0, begin, submit, begin, alloc, begin, ordered, wait};
    }
    const std::string &fault() const { return fault_; }

private:
    static Serial &of(void *user) { return *static_cast<Serial *>(user); }

    static bool begin(void *, std::uint64_t) { return true; }
    static bool ordered(void *, npu::Ordered, std::uint64_t) { return true; }
    static bool wait(void *, const npu::Region *, std::uint64_t) { return true; }

    static bool submit(void *user, const npu::TaskArgs *task) {
        Serial &own = of(user);
        TaskWords words(*task);
        bool known = false;
        running_task() = own.package_.name(task->kernel);
        const std::string fault = run([&] { known = own.package_.dispatch(task->kernel, words.words()); });
        if (!fault.empty()) own.fault_ = std::string("task ") + std::to_string(own.tasks_) + ", " + own.package_.name(task->kernel) + ": " + fault;
        else if (!known) own.fault_ = "there is no task of number " + std::to_string(task->kernel);
        ++own.tasks_;
        return own.fault_.empty();
    }

    static bool alloc(void *user, std::uint64_t bytes, npu::Tensor *tensor) {
        Serial &own = of(user);
        tensor->data = own.memory_.get("exchange", bytes);
        tensor->bytes = bytes;
        tensor->buffer = own.memory_.buffers + own.allocated_++;
        tensor->elem_bytes = 1;
        tensor->rank = 1;
        for (std::uint32_t &extent : tensor->extents) extent = 1;
        tensor->extents[0] = static_cast<std::uint32_t>(bytes);
        return tensor->data != nullptr;
    }

    const Package &package_;
    LaunchMemory &memory_;
    std::string fault_;
    std::uint64_t tasks_ = 0;
    std::uint32_t allocated_ = 0;
};

// Runs a launch so; the text is what went wrong.
inline std::string run_serially(const Package &package, const void *launch, LaunchMemory &memory) {
    Serial serial(package, memory);
    npu::Trapped trap;
    if (package.orchestrate(launch, serial.sink(), trap)) return {};
    if (!serial.fault().empty()) return serial.fault();
    return "generating tasks: " + npu::generator::text(trap);
}

}  // namespace pto::host
