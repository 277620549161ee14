// Where emitted orchestration hands over its tasks.
//
// Orchestration is a function that generates the tasks of a launch, in the order of their ordinals, and hands each to a
// TaskSink. What stands behind the sink runs them: the executor of this project (executor.hpp), or a runtime of the
// platform. Tensors and scalars of a task are what its kernel takes, in this order; regions are what it touches, from
// which its edges follow: a task waits for earlier tasks that write what it reads or writes, and that read what it writes.
#pragma once

#include "on_device_gen.hpp"

namespace pto::wsp::backend::npu {

// Most tensors, scalars and regions of a task. A kernel of more tensors or scalars is refused when it is emitted.
constexpr std::size_t max_task_tensors = 32;
constexpr std::size_t max_task_scalars = 16;
constexpr std::size_t max_task_regions = 64;

// A buffer that no tensor has.
constexpr std::uint32_t no_buffer = 0xFFFFFFFFu;

// An array in global memory, row by row without gaps.
struct Tensor {
    void* data;
    std::uint64_t bytes;
    // Tensors with one buffer share their memory. Buffers of a launch count from 0; those that alloc() gives come after.
    std::uint32_t buffer;
    std::uint8_t elem_bytes;
    std::uint8_t rank;
    std::uint32_t extents[max_rank];
};

// A task. It is copied by submit; tensors that it names are copied with it.
struct TaskArgs {
    // A value of the KernelId of the package.
    std::uint16_t kernel = 0;
    Pool pool = Pool::any;
    // -1 without streams.
    std::int32_t stream = -1;
    // Larger first.
    std::int32_t priority = 0;
    std::uint16_t num_tensors = 0;
    std::uint16_t num_scalars = 0;
    std::uint16_t num_regions = 0;
    std::uint16_t num_after = 0;
    const Tensor* tensors[max_task_tensors];
    std::uint64_t scalars[max_task_scalars];
    // `tensor` of a region is a buffer.
    Region regions[max_task_regions];
    // Ordinals that it waits for beside those that follow from its regions.
    const std::uint64_t* after = nullptr;

    // A tensor that the kernel takes, without saying what it does to it.
    void add_tensor(const Tensor& tensor) {
        if (num_tensors < max_task_tensors) tensors[num_tensors] = &tensor;
        // More than there is room for are counted, and refused when the task is submitted.
        if (num_tensors < UINT16_MAX) ++num_tensors;
    }

    // A number that the kernel takes.
    void add_scalar(std::uint64_t value) {
        if (num_scalars < max_task_scalars) scalars[num_scalars] = value;
        if (num_scalars < UINT16_MAX) ++num_scalars;
    }

    // What the kernel does to a region of a buffer. A task of more regions than there is room for waits for all earlier
    // ones, and all later ones for it: no access is lost.
    void add_region(const Region& region) {
        if (num_regions < max_task_regions) regions[num_regions++] = region;
        else overflow = true;
    }

    void add_region(const Tensor& tensor, AccessMode mode, const std::uint32_t (&lo)[max_rank],
                    const std::uint32_t (&hi)[max_rank]) {
        Region region{tensor.buffer, mode, {}, {}};
        for (std::size_t d = 0; d < max_rank; ++d) {
            region.lo[d] = lo[d];
            region.hi[d] = hi[d];
        }
        add_region(region);
    }

    // All of a tensor.
    void add_whole(const Tensor& tensor, AccessMode mode) {
        Region region{tensor.buffer, mode, {}, {}};
        for (std::uint32_t& hi : region.hi) hi = UINT32_MAX;
        add_region(region);
    }

    void add_input(const Tensor& tensor) { add_tensor(tensor), add_whole(tensor, AccessMode::in); }
    void add_output(const Tensor& tensor) { add_tensor(tensor), add_whole(tensor, AccessMode::out); }
    void add_inout(const Tensor& tensor) { add_tensor(tensor), add_whole(tensor, AccessMode::in_out); }

    // More regions than there is room for.
    bool overflow = false;
};

// What takes the tasks of one AICPU. Functions return false when the run has ended early; orchestration returns then.
struct TaskSink {
    void* user;
    // Among how many AICPUs tasks are shared, and which this is.
    std::uint16_t num_aicpus;
    std::uint16_t my_aicpu_id;
    // The turn of an ordinal: waits until the tasks of all smaller ordinals were submitted, by whichever AICPU.
    // Exactly one AICPU begins each ordinal; between begin and end it submits its tasks, none or several.
    bool (*begin)(void* user, std::uint64_t ordinal);
    // A task of the ordinal. Waits while the window is full.
    bool (*submit)(void* user, const TaskArgs* task);
    bool (*end)(void* user, std::uint64_t ordinal);
    // Memory of the ordinal, with a buffer of its own, at a multiple of 64 bytes, with any contents. It is kept until the tasks
    // submitted before end() are complete.
    bool (*alloc)(void* user, std::uint64_t bytes, Tensor* tensor);
    // Later ordinals start after all earlier ones are complete. The AICPU that begins the next ordinal says so before.
    bool (*fence)(void* user, std::uint64_t ordinal);
    // A boundary of an ordered scope, as of Sink.
    bool (*ordered)(void* user, Ordered event, std::uint64_t ordinal);
    // Waits until earlier tasks that write the region are complete, so that orchestration can read it.
    bool (*wait)(void* user, const Region* region, std::uint64_t ordinal);
};

}  // namespace pto::wsp::backend::npu
