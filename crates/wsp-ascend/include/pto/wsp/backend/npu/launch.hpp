// What emitted programs of spaces build on: page tables, regions of tasks, memory of a launch, and what becomes of the
// descriptors of a generator.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generator.hpp"

namespace pto::wsp::backend::npu {

using generator::Axis;
using generator::bound;
using generator::Checked;
using generator::guard;
using generator::IntArray;
using generator::IntType;
using generator::Planner;
using generator::SourcePlace;
using generator::Trap;
using generator::Trapped;
using generator::WordPlace;
using generator::WordPlaces;

// What a launch does with an array of a user: an input must be there, an output may be.
enum class Role : std::uint8_t { input, output };

// A paged cache: its page table, and how the elements of a page lie.
struct Pages {
    IntArray lengths, indptr, indices, last_page_len;
    Tensor tensor_of_lengths{}, tensor_of_indptr{}, tensor_of_indices{}, tensor_of_last_page_len{};
    std::uint32_t page_size = 0, heads = 0, lanes = 0;
    std::int64_t position_stride = 0, head_stride = 0;

    // Whether some page stands for several places: regions that are apart may then be one memory.
    bool shares_pages() const {
        std::vector<std::int64_t> pages;
        const std::uint64_t used = indptr.length == 0 ? 0 : static_cast<std::uint64_t>(indptr.low(indptr.length - 1));
        for (std::uint64_t at = 0; at < used && at < indices.length; ++at) pages.push_back(indices.low(at));
        std::sort(pages.begin(), pages.end());
        return std::adjacent_find(pages.begin(), pages.end()) != pages.end();
    }
};

// A region that a task touches, if it does.
struct Access {
    bool touches = false;
    Region region{};

    void all_of(const Tensor& tensor) {
        touches = true;
        region.tensor = tensor.buffer;
        for (std::size_t d = 0; d < max_rank; ++d) {
            region.lo[d] = 0;
            region.hi[d] = UINT32_MAX;
        }
    }
    void within(std::size_t dim, std::uint32_t lo, std::uint32_t hi) {
        region.lo[dim] = lo;
        region.hi[dim] = hi;
        touches = touches && lo < hi;
    }
    void add_to(TaskArgs& task, AccessMode mode) const {
        if (!touches) return;
        Region of = region;
        of.mode = mode;
        task.add_region(of);
    }
};

// Memory of a launch beside the arrays of a user. What it has given is kept as long as it is.
class Memory {
public:
    virtual ~Memory() = default;
    // Bytes with any contents, at a multiple of 64; null when there are none.
    virtual void* get(const std::string& name, std::uint64_t bytes) = 0;

    // Copies bytes between tensors that no task touches now.
    virtual void copy(void* to, const void* from, std::uint64_t bytes) { std::memmove(to, from, static_cast<std::size_t>(bytes)); }

    // Kernels that a machine of graphs has launched, with their blocks; one AICPU says so.
    void ran(const char* kernel, std::uint64_t blocks) {
        ++invocations;
        const auto is = [&](const std::pair<const char*, std::uint64_t>& known) { return std::strcmp(known.first, kernel) == 0; };
        const auto known = std::find_if(kernels.begin(), kernels.end(), is);
        if (known != kernels.end()) known->second += blocks;
        else kernels.emplace_back(kernel, blocks);
    }
    std::vector<std::pair<const char*, std::uint64_t>> kernels;
    std::uint64_t invocations = 0;

    // Edges between tasks of the host and those of cores, each with a token.
    std::uint64_t tokens = 0;

    // Buffers of the launch: those that tasks are given on the way count from here.
    std::uint32_t buffers = 0;

    bool good() const { return good_; }

    // An array of a user, or an output that is made now.
    void launched(Tensor& tensor, const char* name, std::uint32_t buffer) {
        tensor.buffer = buffer;
        if (tensor.data == nullptr) fill(tensor, name);
    }

    void temporary(Tensor& tensor, const char* name, std::uint32_t buffer, std::uint32_t elem_bytes,
                   std::initializer_list<std::uint32_t> extents) {
        shaped(tensor, buffer, elem_bytes, extents);
        fill(tensor, name);
    }

    // A tensor that is given its memory with each task.
    static void shaped(Tensor& tensor, std::uint32_t buffer, std::uint32_t elem_bytes,
                       std::initializer_list<std::uint32_t> extents) {
        tensor.buffer = buffer;
        tensor.elem_bytes = static_cast<std::uint8_t>(elem_bytes);
        tensor.rank = static_cast<std::uint8_t>(extents.size());
        std::size_t d = 0;
        for (const std::uint32_t extent : extents) tensor.extents[d++] = extent;
        for (; d < max_rank; ++d) tensor.extents[d] = 1;
        tensor.bytes = tensor.elem_bytes;
        for (const std::uint32_t extent : tensor.extents) tensor.bytes *= extent;
    }

    // A field of every slot: the tensor begins with that of the first.
    void workspace(Tensor& tensor, std::uint64_t bytes, std::uint32_t offset, std::uint32_t buffer,
                   std::uint32_t elem_bytes) {
        if (workspace_ == nullptr) {
            workspace_ = get("workspace", std::max<std::uint64_t>(bytes, 64));
            good_ = good_ && workspace_ != nullptr;
        }
        tensor.data = static_cast<char*>(workspace_) + (workspace_ == nullptr ? 0 : offset);
        tensor.bytes = bytes > offset ? bytes - offset : 0;
        tensor.buffer = buffer;
        tensor.elem_bytes = static_cast<std::uint8_t>(elem_bytes);
        tensor.rank = 1;
        tensor.extents[0] = static_cast<std::uint32_t>(tensor.bytes / elem_bytes);
        for (std::size_t d = 1; d < max_rank; ++d) tensor.extents[d] = 1;
    }

private:
    void fill(Tensor& tensor, const char* name) {
        std::uint64_t bytes = tensor.elem_bytes;
        for (std::size_t d = 0; d < tensor.rank; ++d) bytes *= tensor.extents[d];
        tensor.bytes = bytes;
        tensor.data = get(name, bytes);
        good_ = good_ && tensor.data != nullptr;
    }

    void* workspace_ = nullptr;
    bool good_ = true;
};

// Where a task stands among the others, beside what its regions say.
struct Place {
    // Larger first.
    std::int32_t priority = 0;
    // -1 without streams.
    std::int32_t stream = -1;
    // Ordinals that it waits for.
    const std::uint64_t* after = nullptr;
    std::size_t num_after = 0;

    void put(TaskArgs& task) const {
        task.priority = priority;
        task.stream = stream;
        task.after = after;
        task.num_after = static_cast<std::uint16_t>(num_after);
    }
};

// The number of no kernel.
constexpr std::uint32_t no_kernel = UINT32_MAX;

// A dimension reaches to where a task stores.
inline void widen(Checked& s, std::uint32_t& iterations, std::uint32_t end) {
    if (end == UINT32_MAX) s.fail<bool>(Trap::unbounded);
    else iterations = std::max(iterations, end);
}

// Counts the descriptors of a launch, and finds how far dimensions reach that tasks decide.
template <class Launch, class Tasks>
struct Count {
    Count(std::size_t axes, std::size_t functions) : kernels(functions, 0), iterations(axes, 0) {}

    std::uint64_t descriptors = 0;
    // Descriptors of each function.
    std::vector<std::uint64_t> kernels;
    std::vector<std::uint32_t> iterations;

    void emit(const Launch& l, Checked& s, std::uint32_t descriptor, const std::uint32_t* f, std::int32_t,
              const SourcePlace* where = nullptr) {
        s.idle = 0;
        if (!s.failed()) count(l, s, Tasks::kernel_of(descriptor, f), f, where);
    }
    void fence(Checked&) {}

    // A descriptor of a kernel.
    void count(const Launch& l, Checked& s, std::uint32_t kernel, const std::uint32_t* f, const SourcePlace* where = nullptr) {
        if (kernel == no_kernel) {
            s.fail<bool>(Trap::tier, where);
        } else {
            ++kernels[kernel];
            Tasks::grow(l, s, kernel, f, iterations.data());
        }
        if (++descriptors > generator::max_descriptors) s.fail<bool>(Trap::tasks, where);
    }
};

// Hands over the tasks of one AICPU's descriptors: each takes its turn.
template <class Launch, class Tasks>
struct Submit {
    explicit Submit(const TaskSink& to) : sink(to) {}

    const TaskSink& sink;
    std::uint64_t next = 0;

    bool is_own() const { return next % sink.num_aicpus == sink.my_aicpu_id; }

    void emit(const Launch& l, Checked& s, std::uint32_t descriptor, const std::uint32_t* f, std::int32_t priority,
              const SourcePlace* = nullptr) {
        s.idle = 0;
        if (s.failed()) return;
        const bool own = is_own();
        const std::uint64_t ordinal = next++;
        if (!own) return;
        Place place;
        place.priority = priority;
        const bool good = sink.begin(sink.user, ordinal) && Tasks::submit(l, sink, ordinal, Tasks::kernel_of(descriptor, f), f, place) &&
                          sink.end(sink.user, ordinal);
        if (!good) s.fail<bool>(Trap::stopped);
    }
    void fence(Checked& s) {
        if (!s.failed() && is_own() && !sink.fence(sink.user, next)) s.fail<bool>(Trap::stopped);
    }
};

}  // namespace pto::wsp::backend::npu
