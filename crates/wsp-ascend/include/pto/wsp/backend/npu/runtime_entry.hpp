// The launch of a package as orchestration of the public task runtime: see runtime_sink.hpp.
//
// Tensors of the launch are the arrays of the program in the order in which it binds them, contiguous and row by row, outputs
// among them; of a paged cache keys and values, `indptr`, `indices` and `last_page_len`, with heads behind positions. Scalars
// are the parameters without a default, in their order. What has a default has it.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "runtime_sink.hpp"

namespace pto::wsp::backend::npu {

// Memory of a launch that the runtime allocates.
class RuntimeLaunchMemory : public Memory {
public:
    explicit RuntimeLaunchMemory(RuntimeMemory& memory) : memory_(memory) {}
    void* get(const std::string&, std::uint64_t bytes) override { return memory_.allocate(bytes); }

private:
    RuntimeMemory& memory_;
};

// Arrays and parameters of a launch, out of the arguments of the runtime. The first fault counts.
class RuntimeInputs {
public:
    RuntimeInputs(const ChipTaskArgs& args, RuntimeMemory& memory) : args_(args), memory_(memory) {}

    const std::string& fault() const { return fault_; }
    bool good() const { return fault_.empty(); }
    bool good(const Checked& s) {
        if (s.failed()) fail(generator::text(s.trapped()));
        return good();
    }

    void array(Tensor& tensor, const char* name, const char* elem, std::size_t rank, Role) { take(tensor, name, elem, rank); }

    void cache(Pages& pages, Tensor& keys, Tensor& values, const char* name, const char* elem, bool used) {
        const std::string of = name;
        take(keys, of + ".k", elem, 4);
        if (used) take(values, of + ".v", elem, 4);
        table(pages.indptr, pages.tensor_of_indptr, of + ".indptr");
        table(pages.indices, pages.tensor_of_indices, of + ".indices");
        table(pages.last_page_len, pages.tensor_of_last_page_len, of + ".last_page_len");
        if (!good()) return;
        pages.page_size = keys.extents[1];
        pages.heads = keys.extents[2];
        pages.lanes = keys.extents[3];
        pages.position_stride = std::int64_t{pages.heads} * pages.lanes;
        pages.head_stride = pages.lanes;
        lengths(pages, of, keys.extents[0]);
    }

    void stated(const char*, std::initializer_list<std::int64_t> values) { stated_.assign(values); }

    std::vector<std::int64_t> table(const char* name) {
        if (!stated_.empty()) return std::exchange(stated_, {});
        IntArray array;
        Tensor tensor{};
        table(array, tensor, name);
        Checked s;
        std::vector<std::int64_t> all;
        for (std::uint64_t at = 0; at < array.length; ++at) all.push_back(s.load<std::int64_t>(array, at));
        good(s);
        return all;
    }

    void has_length(const char* name, const std::vector<std::int64_t>& table, std::int64_t length) {
        if (static_cast<std::int64_t>(table.size()) != length) fail(std::string(name) + " has another length than the program says");
    }
    void has_lengths(const char* name, const std::vector<std::int64_t>& table) {
        for (const std::int64_t length : table) {
            if (length < 0) fail(std::string(name) + " has a negative length");
        }
    }
    void is_extent(const char* axis, bool holds) {
        if (!holds) fail(std::string("axis ") + axis + " has a negative extent");
    }
    void has_rows(const char* name, const std::vector<std::int64_t>& table, const std::vector<std::int64_t>& columns) {
        std::int64_t before = 0;
        for (const std::int64_t at : table) {
            if (at < before || at > static_cast<std::int64_t>(columns.size())) fail(std::string(name) + " is no row pointer");
            before = at;
        }
    }
    void integers(IntArray& array, const Tensor& tensor, IntType type) { array = IntArray{tensor.data, tensor.extents[0], type}; }
    void agree(const IntArray& lengths, const Pages& pages, const char* name) {
        for (std::uint64_t at = 0; at < lengths.length && at < pages.lengths.length; ++at) {
            if (lengths.low(at) != pages.lengths.low(at)) fail(std::string(name) + " differs from the lengths of its pages");
        }
    }

    std::optional<std::uint32_t> extent_of(const Tensor& tensor, std::size_t dim) const { return tensor.extents[dim]; }
    std::optional<std::uint32_t> extent_of(const Pages& pages, std::size_t dim) const {
        if (dim == 0) return static_cast<std::uint32_t>(pages.lengths.length);
        if (dim == 1) return std::nullopt;
        return dim == 2 ? pages.heads : pages.lanes;
    }
    std::uint32_t extent(const char* name, std::initializer_list<std::optional<std::uint32_t>> places) {
        for (const std::optional<std::uint32_t>& place : places) {
            if (place) return *place;
        }
        fail(std::string("no array gives extent ") + name + " a value");
        return 0;
    }
    void has_extent(const Pages& pages, std::size_t dim, std::uint32_t extent) {
        const std::optional<std::uint32_t> have = extent_of(pages, dim);
        if (have && *have != extent) fail("a cache has other extents than the program says");
    }
    void shape(Tensor& tensor, std::initializer_list<std::uint32_t> extents, std::size_t) {
        std::size_t d = 0;
        for (const std::uint32_t extent : extents) {
            if (tensor.extents[d++] != extent) fail("an array has other extents than the program says");
        }
    }

    template <typename T, typename F>
    T set(std::initializer_list<const char*>, Checked& s, F otherwise) {
        const T value = static_cast<T>(otherwise());
        good(s);
        return value;
    }
    template <typename T>
    T need(std::initializer_list<const char*> names, Checked&) {
        if (scalar_ < args_.scalar_count()) return from_u64<T>(args_.scalar(scalar_++));
        fail(std::string("there is no scalar for ") + *names.begin());
        return T{};
    }
    template <typename T>
    void is_made_for(const char* name, T have, T made) {
        if (have != made && (have == have || made == made)) fail(std::string("the kernels are made for another ") + name);
    }
    // A parameter, or an array, from which the tasks of a package follow that holds them as a table.
    template <typename T>
    void is_generated_for(const char* name, T have, T made) {
        if (have != made && (have == have || made == made)) is_of_another_launch(name);
    }
    void is_generated_for(const char* name, const IntArray& have, const IntArray& made) {
        bool same = have.length == made.length;
        for (std::uint64_t at = 0; same && at < have.length; ++at) same = have.low(at) == made.low(at);
        if (!same) is_of_another_launch(name);
    }
    template <typename F>
    void require(int number, Checked& s, F holds) {
        if (!good(s)) return;
        const bool held = holds();
        if (good(s) && !held) fail("requirement " + std::to_string(number) + " of the program does not hold");
    }

    bool all_used() {
        if (tensor_ != args_.tensor_count()) fail("the program takes " + std::to_string(tensor_) + " tensors");
        if (scalar_ != args_.scalar_count()) fail("the program takes " + std::to_string(scalar_) + " scalars");
        return good();
    }

private:
    void fail(const std::string& why) {
        if (fault_.empty()) fault_ = why;
    }

    void is_of_another_launch(const char* name) { fail(std::string("the tasks of the package are those of a launch with another ") + name); }

    static std::optional<DataType> type_of(const std::string& elem) {
        if (elem == "f32") return DataType::FLOAT32;
        if (elem == "f16") return DataType::FLOAT16;
        if (elem == "bf16") return DataType::BFLOAT16;
        if (elem == "i8") return DataType::INT8;
        if (elem == "u8") return DataType::UINT8;
        if (elem == "i16") return DataType::INT16;
        if (elem == "u16") return DataType::UINT16;
        if (elem == "i32") return DataType::INT32;
        if (elem == "u32") return DataType::UINT32;
        if (elem == "i64") return DataType::INT64;
        if (elem == "u64") return DataType::UINT64;
        return std::nullopt;
    }

    // The next tensor, or null.
    const ChipTensor* next(const std::string& name, std::size_t rank) {
        if (!good()) return nullptr;
        if (tensor_ == args_.tensor_count()) {
            fail("there is no tensor for " + name);
            return nullptr;
        }
        const ChipTensor& given = args_.tensor(tensor_++).ref();
        if (given.ndims != rank || !given.is_contiguous) {
            fail("the tensor for " + name + " has other dimensions than the program says, or gaps");
            return nullptr;
        }
        return &given;
    }

    void take(Tensor& tensor, const std::string& name, const std::string& elem, std::size_t rank) {
        const ChipTensor* given = next(name, rank);
        if (given == nullptr) return;
        if (type_of(elem) != given->dtype) return fail("the tensor for " + name + " has other elements than " + elem);
        hold(tensor, *given);
    }

    void hold(Tensor& tensor, const ChipTensor& given) {
        const std::uint64_t bytes = get_element_size(given.dtype);
        tensor.data = RuntimeMemory::pointer(given.buffer.addr + given.start_offset * bytes);
        tensor.bytes = given.nbytes();
        tensor.buffer = no_buffer;
        tensor.elem_bytes = static_cast<std::uint8_t>(bytes);
        tensor.rank = static_cast<std::uint8_t>(given.ndims);
        for (std::size_t d = 0; d < max_rank; ++d) tensor.extents[d] = d < given.ndims ? given.shapes[d] : 1;
    }

    // Whole numbers of 32 or 64 bits.
    void table(IntArray& array, Tensor& tensor, const std::string& name) {
        const ChipTensor* given = next(name, 1);
        if (given == nullptr) return;
        hold(tensor, *given);
        array = IntArray{tensor.data, tensor.extents[0], IntType::u32};
        switch (given->dtype) {
            case DataType::INT32: array.type = IntType::i32; return;
            case DataType::UINT32: return;
            case DataType::INT64: array.type = IntType::i64; return;
            case DataType::UINT64: array.type = IntType::u64; return;
            default: fail("the tensor for " + name + " holds no whole numbers of 32 or 64 bits");
        }
    }

    // The positions of each request, which generators and kernels read.
    void lengths(Pages& pages, const std::string& of, std::uint32_t count) {
        const IntArray &indptr = pages.indptr, &last = pages.last_page_len;
        const bool kernels_read = pages.tensor_of_indptr.elem_bytes == 4 && pages.tensor_of_indices.elem_bytes == 4 &&
                                  pages.tensor_of_last_page_len.elem_bytes == 4;
        if (!kernels_read) return fail("the page table of cache " + of + " has elements of 64 bits, and kernels read 32");
        if (last.length + 1 != indptr.length || indptr.low(0) != 0) return fail("the page table of cache " + of + " has no row for each request");
        for (std::uint64_t request = 0; request < last.length; ++request) {
            const std::int64_t held = indptr.low(request + 1) - indptr.low(request), rest = last.low(request);
            const bool fits = held == 0 ? rest == 0 : held > 0 && rest >= 1 && rest <= pages.page_size;
            if (!fits || indptr.low(request + 1) > static_cast<std::int64_t>(pages.indices.length)) {
                return fail("the page table of cache " + of + " is wrong at request " + std::to_string(request));
            }
            const std::int64_t length = held == 0 ? 0 : (held - 1) * pages.page_size + rest;
            if (length > UINT32_MAX) return fail("a request of cache " + of + " is too long");
            lengths_.push_back(static_cast<std::uint32_t>(length));
        }
        for (std::int64_t at = 0; at < indptr.low(last.length); ++at) {
            const std::int64_t page = pages.indices.low(static_cast<std::uint64_t>(at));
            if (page < 0 || page >= count) return fail("the page table of cache " + of + " names a page that there is not");
        }
        pages.lengths = IntArray{lengths_.data(), lengths_.size(), IntType::u32};
        Tensor& tensor = pages.tensor_of_lengths;
        tensor = pages.tensor_of_last_page_len;
        tensor.data = memory_.allocate(tensor.bytes);
        if (tensor.data == nullptr) return fail("there is no memory for the lengths of cache " + of);
        const std::uint32_t shape[1] = {static_cast<std::uint32_t>(lengths_.size())};
        if (shape[0] == 0) return;
        ChipTensor to = make_tensor_external(tensor.data, shape, 1, DataType::UINT32);
        to.owner_task_id = memory_.tensor(tensor).owner_task_id;
        for (std::uint32_t at = 0; at < shape[0]; ++at) set_tensor_data<std::uint32_t>(to, 1, &at, lengths_[at]);
    }

    const ChipTaskArgs& args_;
    RuntimeMemory& memory_;
    std::int32_t tensor_ = 0, scalar_ = 0;
    std::vector<std::int64_t> stated_;
    std::vector<std::uint32_t> lengths_;
    std::string fault_;
};

// Runs a launch of a program on the runtime. What is wrong is told to it.
template <class Program>
void run_on_runtime(const ChipTaskArgs& args) {
    RuntimeMemory blocks;
    RuntimeInputs inputs(args, blocks);
    RuntimeLaunchMemory memory(blocks);
    typename Program::Launch launch;
    Trapped trap;
    std::string fault;
    if (!Program::bind(launch, inputs) || !inputs.all_used()) {
        fault = inputs.fault();
    } else if (!Program::plan(launch, memory, trap)) {
        fault = trap.why == Trap::none ? "an array of the launch would take 4 GiB or more" : generator::text(trap);
    } else {
        RuntimeSink tasks(blocks, memory.buffers, Program::kernels);
        const TaskSink sink = tasks.sink();
        if (!Program::orchestrate(launch, sink, trap) && trap.why != Trap::stopped) fault = generator::text(trap);
    }
    if (!fault.empty()) rt_report_fatal(PTO2_ERROR_INVALID_ARGS, "%s", fault.c_str());
}

}  // namespace pto::wsp::backend::npu

// The functions that the runtime calls, for the program of a namespace.
#define WSP_RUNTIME_ENTRY(program)                                                                                      \
    struct ProgramOfRuntime {                                                                                           \
        using Launch = program::Launch;                                                                                 \
        static constexpr std::uint16_t kernels = NUM_KERNELS;                                                           \
        template <class Inputs> static bool bind(Launch& l, Inputs& in) { return program::bind(l, in); }                \
        static bool plan(Launch& l, pto::wsp::backend::npu::Memory& memory, pto::wsp::backend::npu::Trapped& trap) {    \
            return program::plan(l, memory, trap);                                                                      \
        }                                                                                                               \
        static bool orchestrate(const Launch& l, const pto::wsp::backend::npu::TaskSink& sink,                          \
                                pto::wsp::backend::npu::Trapped& trap) {                                                \
            return program::orchestrate(l, sink, trap);                                                                 \
        }                                                                                                               \
    };                                                                                                                  \
    extern "C" __attribute__((visibility("default"))) PTO2OrchestrationConfig aicpu_orchestration_config(               \
        const ChipTaskArgs& args) {                                                                                     \
        return PTO2OrchestrationConfig{static_cast<int>(args.tensor_count() + args.scalar_count())};                    \
    }                                                                                                                   \
    extern "C" __attribute__((visibility("default"))) void aicpu_orchestration_entry(const ChipTaskArgs& args) {        \
        pto::wsp::backend::npu::run_on_runtime<ProgramOfRuntime>(args);                                                 \
    }
