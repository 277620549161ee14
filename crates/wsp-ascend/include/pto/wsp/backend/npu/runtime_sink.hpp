// Tasks of orchestration for the public task runtime: a TaskSink over its submit calls, and the arrays of a launch out of
// its arguments. A file that defines WSP_TASK_RUNTIME and then includes orchestration.cpp is the runtime's orchestration;
// the runtime's header pto_orchestration_api.h lies among the folders of its compilation.
//
// The runtime infers edges from whole tensors of tasks, and none from a read to a later write. Orchestration says what
// regions tasks touch: every edge is found here, and given by the number of a task. Tensors are handed over without
// inference; of memory that the runtime allocates they keep who allocated it.
//
// Of a schedule, streams, fences, ordered scopes and `after` order tasks, at least as much as on the executor. Windows and
// cores are those of the runtime; gates, batches and priorities have no effect.
#pragma once

#if !__has_include("pto_orchestration_api.h")
#error "orchestration for the task runtime is compiled with the folder of its pto_orchestration_api.h"
#endif
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <vector>

#include "pto_orchestration_api.h"

#include "../../graph/tensor_map.hpp"
#include "launch.hpp"

namespace pto::wsp::backend::npu {

// Memory that the runtime allocated: it is kept while a task that takes it is not complete.
class RuntimeMemory {
public:
    // Null when there is none. It has 4 GiB at most.
    void* allocate(std::uint64_t bytes) {
        if (bytes == 0) bytes = 64;
        if (bytes > UINT32_MAX) return nullptr;
        const std::uint32_t shape[1] = {static_cast<std::uint32_t>(bytes)};
        TensorCreateInfo info(shape, 1, DataType::UINT8);
        const TaskOutputTensors given = alloc_tensors(info);
        if (given.empty() || rt_is_fatal()) return nullptr;
        blocks_.push_back(given.get_ref(0));
        return pointer(blocks_.back().buffer.addr);
    }

    // How many blocks there are, and those from a number on are forgotten.
    std::size_t size() const { return blocks_.size(); }
    void forget_from(std::size_t count) { blocks_.resize(count); }

    // The tensor as the runtime has it: an array of bytes from its first element on.
    ChipTensor tensor(const Tensor& of) const {
        const std::uint64_t address = reinterpret_cast<std::uint64_t>(of.data);
        const std::uint64_t bytes = of.bytes == 0 ? 64 : of.bytes;
        const std::uint32_t shape[1] = {static_cast<std::uint32_t>(bytes < UINT32_MAX ? bytes : UINT32_MAX)};
        ChipTensor made = make_tensor_external(of.data, shape, 1, DataType::UINT8);
        for (std::size_t at = blocks_.size(); at-- > 0;) {
            const ChipTensor& block = blocks_[at];
            if (address < block.buffer.addr || address - block.buffer.addr >= block.buffer.size) continue;
            made.owner_task_id = block.owner_task_id;
            break;
        }
        return made;
    }

    static void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

private:
    std::vector<ChipTensor> blocks_;
};

// Takes the tasks of a launch on the AICPU that orchestrates.
class RuntimeSink {
public:
    // Most tasks whose edges are known one by one; a task without a kernel then stands for all before it.
    static constexpr std::size_t most_tasks = 1024;

    // Kernels are numbered as in kernel_ids.h. Of a task for both kinds of cores that is the number of what the cube core runs; what
    // the vector cores run has a number that is larger by `kernels`.
    RuntimeSink(RuntimeMemory& memory, std::uint32_t buffers, std::uint16_t kernels)
        : memory_(memory), buffers_(buffers), kernels_(kernels), map_(nullptr) {}

    TaskSink sink() { return {this, 1, 0, begin, submit, end, alloc, fence, ordered, wait}; }

private:
    static RuntimeSink& of(void* user) { return *static_cast<RuntimeSink*>(user); }

    static bool begin(void* user, std::uint64_t) {
        RuntimeSink& own = of(user);
        own.kept_ = own.memory_.size();
        own.begins_.push_back(own.submitted_);
        rt_scope_begin();
        return !rt_is_fatal();
    }

    static bool end(void* user, std::uint64_t) {
        RuntimeSink& own = of(user);
        rt_scope_end();
        own.memory_.forget_from(own.kept_);
        // Between ordinals, so that the task lies in the scope of the launch.
        return own.tasks_.size() < most_tasks ? !rt_is_fatal() : own.barrier();
    }

    static bool alloc(void* user, std::uint64_t bytes, Tensor* tensor) {
        RuntimeSink& own = of(user);
        *tensor = Tensor{own.memory_.allocate(bytes), bytes, own.buffers_++, 1, 1, {}};
        for (std::uint32_t& extent : tensor->extents) extent = 1;
        tensor->extents[0] = static_cast<std::uint32_t>(bytes);
        return tensor->data != nullptr;
    }

    static bool fence(void* user, std::uint64_t) { return of(user).barrier(); }

    // Tasks of the steps before are complete when those of the next start.
    static bool ordered(void* user, Ordered event, std::uint64_t) { return event != Ordered::step || of(user).barrier(); }

    static bool wait(void* user, const Region* region, std::uint64_t) {
        RuntimeSink& own = of(user);
        std::vector<PTO2TaskId> edges;
        own.find(*region, edges);
        own.unique(edges);
        const std::uint32_t shape[1] = {1}, first[1] = {0};
        TensorCreateInfo info(shape, 1, DataType::UINT32);
        CoreTaskArgs args;
        args.add_output(info);
        args.set_dependencies(edges.data(), static_cast<std::uint32_t>(edges.size()));
        const TaskOutputTensors given = rt_submit_dummy_task(args);
        if (rt_is_fatal()) return false;
        // Reading what a task gives waits for the task.
        static_cast<void>(get_tensor_data<std::uint32_t>(given.get_ref(0), 1, first));
        return !rt_is_fatal();
    }

    static bool submit(void* user, const TaskArgs* task) { return of(user).take(*task); }

    bool take(const TaskArgs& task) {
        const bool fits = task.num_tensors <= max_task_tensors && task.num_scalars <= max_task_scalars;
        if (!fits) {
            rt_report_fatal(PTO2_ERROR_INVALID_ARGS, "%s", "a task takes more tensors or numbers than a task has room for");
            return false;
        }
        std::vector<PTO2TaskId> edges;
        if (task.overflow) edges = tasks_;
        for (std::size_t at = 0; at < task.num_regions; ++at) find(task.regions[at], edges);
        for (std::size_t at = 0; at < task.num_after; ++at) add_ordinal(task.after[at], edges);
        if (task.stream >= 0) add_stream(static_cast<std::size_t>(task.stream), edges);
        unique(edges);
        ChipTensor tensors[max_task_tensors];
        CoreTaskArgs args;
        for (std::size_t at = 0; at < task.num_tensors; ++at) {
            tensors[at] = memory_.tensor(*task.tensors[at]);
            args.add_no_dep(tensors[at]);
        }
        for (std::size_t at = 0; at < task.num_scalars; ++at) args.add_scalar(task.scalars[at]);
        args.set_dependencies(edges.data(), static_cast<std::uint32_t>(edges.size()));
        MixedKernels kernels;
        if (task.pool != Pool::vector) kernels.aic_kernel_id = task.kernel;
        if (task.pool == Pool::vector) kernels.aiv0_kernel_id = task.kernel;
        if (task.pool == Pool::any) kernels.aiv0_kernel_id = kernels.aiv1_kernel_id = task.kernel + kernels_;
        const PTO2TaskId id = rt_submit_task(kernels, args).task_id();
        if (rt_is_fatal()) return false;
        add(id, task);
        return true;
    }

    void add(PTO2TaskId id, const TaskArgs& task) {
        const graph::ProducerRef self{static_cast<graph::TaskId>(submitted_), 0};
        for (std::size_t at = 0; at < task.num_regions; ++at) {
            const Region& region = task.regions[at];
            map_.insert(box_of(region), region.mode != AccessMode::in, self);
        }
        if (task.stream >= 0) streams_[static_cast<std::size_t>(task.stream)] = id;
        ++submitted_;
        tasks_.push_back(id);
        if (task.overflow) cover(id);
    }

    static graph::Box box_of(const Region& region) {
        graph::Box box{region.tensor, {}, {}};
        for (std::size_t d = 0; d < graph::box_rank; ++d) {
            box.lo[d] = region.lo[d];
            box.hi[d] = region.hi[d];
        }
        return box;
    }

    // Earlier tasks that a region conflicts with: those that write what is read or written, those that read what is written.
    void find(const Region& region, std::vector<PTO2TaskId>& edges) {
        struct Found {
            RuntimeSink& own;
            std::vector<PTO2TaskId>& edges;
        } found{*this, edges};
        const auto visit = [](void* user, const graph::ProducerRef& before, const graph::Box&) {
            Found& to = *static_cast<Found*>(user);
            to.edges.push_back(to.own.tasks_[before.producer - to.own.covered_]);
        };
        const graph::ProducerRef self{static_cast<graph::TaskId>(submitted_), 0};
        map_.conflicts(box_of(region), region.mode != AccessMode::in, self, {visit, &found});
    }

    void add_ordinal(std::uint64_t ordinal, std::vector<PTO2TaskId>& edges) const {
        if (ordinal >= begins_.size()) return;
        const std::uint64_t last = ordinal + 1 < begins_.size() ? begins_[ordinal + 1] : submitted_;
        for (std::uint64_t at = std::max(begins_[ordinal], covered_); at < last; ++at) edges.push_back(tasks_[at - covered_]);
    }

    void add_stream(std::size_t stream, std::vector<PTO2TaskId>& edges) {
        if (stream >= streams_.size()) streams_.resize(stream + 1, PTO2TaskId::invalid());
        if (streams_[stream].is_valid()) edges.push_back(streams_[stream]);
    }

    // Each once; and the task that stands for those that are no longer known one by one.
    void unique(std::vector<PTO2TaskId>& edges) const {
        if (floor_.is_valid()) edges.push_back(floor_);
        std::sort(edges.begin(), edges.end(), [](PTO2TaskId a, PTO2TaskId b) { return a.raw < b.raw; });
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    }

    // A task without a kernel after all so far, which all later ones wait for.
    bool barrier() {
        if (tasks_.empty()) return !rt_is_fatal();
        std::vector<PTO2TaskId> edges = tasks_;
        unique(edges);
        CoreTaskArgs args;
        args.set_dependencies(edges.data(), static_cast<std::uint32_t>(edges.size()));
        const PTO2TaskId id = rt_submit_dummy_task(args).task_id();
        if (rt_is_fatal()) return false;
        cover(id);
        return true;
    }

    void cover(PTO2TaskId id) {
        floor_ = id;
        covered_ = submitted_;
        tasks_.clear();
        map_ = graph::DynamicTensorMap(nullptr);
    }

    RuntimeMemory& memory_;
    std::uint32_t buffers_;
    std::uint16_t kernels_;
    graph::DynamicTensorMap map_;
    std::size_t kept_ = 0;
    // Tasks from number covered_ on; those before are complete when the floor is.
    std::vector<PTO2TaskId> tasks_;
    std::uint64_t covered_ = 0, submitted_ = 0;
    PTO2TaskId floor_ = PTO2TaskId::invalid();
    std::vector<PTO2TaskId> streams_;
    // Tasks before each ordinal.
    std::vector<std::uint64_t> begins_;
};

}  // namespace pto::wsp::backend::npu
