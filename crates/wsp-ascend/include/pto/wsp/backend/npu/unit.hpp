// The tasks of a task graph with loops, conditions and copies: the machine of the graph in libwsp_device.a says which node is
// next, and each kernel of it becomes the tasks of its blocks. What a condition reads is read when the tasks before are complete.
//
// Kernels run one behind the other, each with all of its blocks at once. Every AICPU walks the graph, and hands over the blocks
// whose ordinals are its own modulo their number.
#pragma once

#include <cstring>
#include <vector>

#include "launch.hpp"
#include "task_graph.hpp"

namespace pto::wsp::backend::npu::unit {

// Gives a tensor of a kernel the memory of a tensor of the unit.
inline void take(Tensor& tensor, const Tensor& from) {
    tensor.data = from.data;
    tensor.buffer = from.buffer;
}

// The tensors of a unit, by their numbers; those that no node names are null.
struct Tensors {
    const Tensor* const* tensors;
    std::size_t count;
    // Buffers of the launch.
    std::size_t buffers;
};

// Gives a launch the arguments of a kernel of the graph; the function of the kernel.
template <class L>
using Bind = std::uint32_t (*)(L& l, std::size_t kernel, const Argument* arguments, const Tensors& all);

template <class Tasks, class L>
class Walk final : public Device {
public:
    Walk(const Graph& graph, const L& l, Checked& s, const TaskSink& sink, const Tensors& all, Bind<L> bind)
        : graph_(graph), l_(l), s_(s), sink_(sink), all_(all), bind_(bind) {}

    void launch(std::uint32_t node, const Kernel& kernel, const Argument* arguments, std::uint32_t part, std::uint32_t parts) override {
        L own = l_;
        const std::uint32_t function = bind_(own, static_cast<std::size_t>(&kernel - graph_.kernels), arguments, all_);
        if (part == 0 && is_own()) check(sink_.fence(sink_.user, next_));
        for (std::uint32_t block = 0; block < kernel.blocks && !s_.failed(); ++block) {
            const bool mine = is_own();
            const std::uint64_t ordinal = next_++;
            const std::uint32_t words[] = {block, kernel.blocks};
            if (mine) {
                check(sink_.begin(sink_.user, ordinal) && Tasks::submit(own, sink_, ordinal, function, words, Place{}) &&
                      sink_.end(sink_.user, ordinal));
            }
        }
        if (sink_.my_aicpu_id == 0) l_.memory->ran(kernel.name, kernel.blocks);
        if (part + 1 == parts) over_.push_back(node);
    }

    // An AICPU copies, in its turn, when all tasks before are complete.
    void copy(std::uint32_t node, const Copy& copy) override {
        const bool mine = is_own();
        const std::uint64_t ordinal = next_++;
        if (mine && !s_.failed()) {
            check(sink_.begin(sink_.user, ordinal) && settled(ordinal) && copied(copy) && sink_.end(sink_.user, ordinal));
        }
        over_.push_back(node);
    }

    // Nodes are over when their tasks were handed over.
    std::uint32_t wait() override {
        if (over_.empty() || s_.failed()) return NONE;
        const std::uint32_t node = over_.front();
        over_.erase(over_.begin());
        return node;
    }

    bool load(std::uint32_t tensor, std::int64_t offset, ScalarType type, std::int64_t* value) override {
        const Tensor* of = this->tensor(tensor);
        const std::uint64_t size = type == ScalarType::U8 ? 1 : type == ScalarType::U32 || type == ScalarType::I32 ? 4 : 8;
        if (of == nullptr || offset < 0 || static_cast<std::uint64_t>(offset) + size > of->bytes) return false;
        if (s_.failed() || !check(is_written(of->buffer, next_))) return false;
        const char* from = static_cast<const char*>(of->data) + offset;
        switch (type) {
            case ScalarType::U8: *value = read<std::uint8_t>(from); break;
            case ScalarType::U32: *value = read<std::uint32_t>(from); break;
            case ScalarType::I32: *value = read<std::int32_t>(from); break;
            default: *value = read<std::int64_t>(from); break;
        }
        return true;
    }

    // Tasks are complete before others start, and memory is the launch's.
    void release(std::uint32_t) override {}
    void fence(FenceScope) override {}
    // Graphs of packages have none of these.
    void await_event(std::uint32_t, std::uint32_t) override { check(false); }
    void await_notify(std::uint32_t, Notification) override { check(false); }
    void notify(Notification) override { check(false); }
    void signal(std::uint32_t) override { check(false); }

private:
    bool is_own() const { return next_ % sink_.num_aicpus == sink_.my_aicpu_id; }

    bool check(bool good) {
        if (!good) s_.fail<bool>(Trap::stopped);
        return good;
    }

    template <class T>
    static std::int64_t read(const char* from) {
        T value{};
        std::memcpy(&value, from, sizeof value);
        return static_cast<std::int64_t>(value);
    }

    const Tensor* tensor(std::uint32_t at) const { return at < all_.count ? all_.tensors[at] : nullptr; }

    bool is_written(std::uint32_t buffer, std::uint64_t ordinal) const {
        Region whole{buffer, AccessMode::in, {}, {}};
        for (std::uint32_t& hi : whole.hi) hi = UINT32_MAX;
        return sink_.wait(sink_.user, &whole, ordinal);
    }

    // Whatever tasks write is written: a task that writes nothing has no effect.
    bool settled(std::uint64_t ordinal) const {
        for (std::size_t buffer = 0; buffer < all_.buffers; ++buffer) {
            if (!is_written(static_cast<std::uint32_t>(buffer), ordinal)) return false;
        }
        return true;
    }

    bool copied(const Copy& copy) const {
        const Tensor *src = tensor(copy.src), *dst = tensor(copy.dst);
        const auto has = [&](const Tensor* of, std::uint64_t from) { return of != nullptr && from <= of->bytes && copy.size <= of->bytes - from; };
        if (!has(src, copy.src_offset) || !has(dst, copy.dst_offset)) return false;
        l_.memory->copy(static_cast<char*>(dst->data) + copy.dst_offset, static_cast<const char*>(src->data) + copy.src_offset, copy.size);
        return true;
    }

    const Graph& graph_;
    const L& l_;
    Checked& s_;
    const TaskSink& sink_;
    const Tensors& all_;
    Bind<L> bind_;
    std::uint64_t next_ = 0;
    std::vector<std::uint32_t> over_;
};

// Hands over the tasks of one AICPU.
template <class Tasks, class L>
void run(const Graph& graph, const L& l, Checked& s, const TaskSink& sink, const Tensors& all, Bind<L> bind) {
    Walk<Tasks, L> device(graph, l, s, sink, all, bind);
    const GraphLaunch launch{0, 0, 1, nullptr};
    RuntimeExtensionInterpreter machine(graph, device, launch);
    std::vector<std::uint64_t> memory(machine.workspace_bytes() / 8 + 1);
    const GraphOutcome outcome = machine.execute(reinterpret_cast<std::uint8_t*>(memory.data()), 8 * memory.size());
    if (s.failed() || outcome == GraphOutcome::Done) return;
    if (outcome == GraphOutcome::Fault) s.fail<bool>(Trap::graph);
    else s.fail<bool>(outcome == GraphOutcome::Stuck ? Trap::stuck : Trap::table);
}

}  // namespace pto::wsp::backend::npu::unit
