// Stands in for the header of the public task runtime: the calls that orchestration makes, as strict as they are there. Tasks
// are kept, and none runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <type_traits>
#include <vector>

enum class DataType : std::uint8_t {
    FLOAT32, FLOAT16, INT32, INT16, INT8, UINT8, BFLOAT16, INT64, UINT64, UINT16, UINT32
};
inline std::uint64_t get_element_size(DataType type) {
    constexpr std::uint64_t bytes[] = {4, 2, 4, 2, 1, 1, 2, 8, 8, 2, 4};
    return bytes[static_cast<int>(type)];
}

struct PTO2TaskId {
    std::uint64_t raw;
    static PTO2TaskId invalid() { return {UINT64_MAX}; }
    bool is_valid() const { return raw != UINT64_MAX; }
    bool operator==(const PTO2TaskId& other) const { return raw == other.raw; }
};

struct ChipTensor {
    struct {
        std::uint64_t addr, size;
    } buffer;
    PTO2TaskId owner_task_id;
    std::uint64_t start_offset;
    std::uint32_t ndims;
    DataType dtype;
    bool is_contiguous;
    std::uint32_t shapes[5];
    std::uint64_t nbytes() const {
        std::uint64_t bytes = get_element_size(dtype);
        for (std::uint32_t d = 0; d < ndims; ++d) bytes *= shapes[d];
        return bytes;
    }
};
inline ChipTensor make_tensor_external(void* data, const std::uint32_t shapes[], std::uint32_t ndims, DataType dtype) {
    ChipTensor made{{reinterpret_cast<std::uint64_t>(data), 0}, PTO2TaskId::invalid(), 0, ndims, dtype, true, {}};
    for (std::uint32_t d = 0; d < ndims; ++d) made.shapes[d] = shapes[d];
    made.buffer.size = made.nbytes();
    return made;
}

struct TensorCreateInfo {
    TensorCreateInfo(const std::uint32_t shapes[], std::uint32_t, DataType type) : bytes(shapes[0] * get_element_size(type)) {}
    std::uint64_t bytes;
};

class TaskOutputTensors {
public:
    bool empty() const { return outputs.empty(); }
    const ChipTensor& get_ref(std::uint32_t at) const& { return outputs[at]; }
    const ChipTensor& get_ref(std::uint32_t at) const&& = delete;
    PTO2TaskId task_id() const { return id; }
    PTO2TaskId id = PTO2TaskId::invalid();
    std::deque<ChipTensor> outputs;
};

template <std::size_t most_tensors, std::size_t most_scalars>
struct Arg {
    Arg() = default;
    Arg(const Arg&) = delete;
    Arg& operator=(const Arg&) = delete;

    template <class T>
    void add_no_dep(T&& tensor) {
        static_assert(std::is_lvalue_reference_v<T>, "a tensor of a task lasts until the task is submitted");
        failed |= !scalars.empty() || tensors.size() == most_tensors;
        tensors.push_back(&tensor);
    }
    void add_output(TensorCreateInfo& info) { created.push_back(&info); }
    template <class T>
    void add_scalar(T value) {
        failed |= scalars.size() == most_scalars;
        scalars.push_back(static_cast<std::uint64_t>(value));
    }
    void set_dependencies(const PTO2TaskId* given, std::uint32_t count) {
        failed |= dependencies != nullptr && count != 0;
        dependencies = count == 0 ? nullptr : given;
        num_dependencies = count;
    }
    std::int32_t tensor_count() const { return static_cast<std::int32_t>(tensors.size()); }
    std::int32_t scalar_count() const { return static_cast<std::int32_t>(scalars.size()); }
    struct Ref {
        const ChipTensor& of;
        const ChipTensor& ref() const { return of; }
    };
    Ref tensor(std::int32_t at) const { return {*tensors[static_cast<std::size_t>(at)]}; }
    std::uint64_t scalar(std::int32_t at) const { return scalars[static_cast<std::size_t>(at)]; }

    std::vector<const ChipTensor*> tensors;
    std::vector<TensorCreateInfo*> created;
    std::vector<std::uint64_t> scalars;
    const PTO2TaskId* dependencies = nullptr;
    std::uint32_t num_dependencies = 0;
    bool failed = false;
};
using CoreTaskArgs = Arg<32, 16>;
using ChipTaskArgs = Arg<256, 128>;

struct MixedKernels {
    std::int32_t aic_kernel_id = -1, aiv0_kernel_id = -1, aiv1_kernel_id = -1;
};

#define PTO2_ERROR_INVALID_ARGS 1

// What the runtime was told.
struct Told {
    std::uint64_t tasks = 0;
    int scopes = 0;
    bool fatal = false;
    std::deque<std::vector<char>> blocks;
};
inline Told& told() {
    static Told one;
    return one;
}

inline bool rt_is_fatal() { return told().fatal; }
#define rt_report_fatal(code, ...) (std::printf("fatal %d ", code), std::printf(__VA_ARGS__), std::printf("\n"), told().fatal = true)
inline void rt_scope_begin() { std::printf("scope %d\n", ++told().scopes); }
inline void rt_scope_end() { std::printf("end %d\n", told().scopes--); }

inline TaskOutputTensors keep(const CoreTaskArgs& args) {
    TaskOutputTensors given;
    given.id = {told().tasks++};
    told().fatal |= args.failed;
    if (args.failed) std::printf("refused\n");
    for (const TensorCreateInfo* info : args.created) {
        told().blocks.emplace_back(info->bytes);
        const std::uint32_t shape[1] = {static_cast<std::uint32_t>(info->bytes)};
        given.outputs.push_back(make_tensor_external(told().blocks.back().data(), shape, 1, DataType::UINT8));
        given.outputs.back().owner_task_id = given.id;
    }
    return given;
}
inline TaskOutputTensors alloc_tensors(TensorCreateInfo& info) {
    CoreTaskArgs args;
    args.add_output(info);
    TaskOutputTensors given = keep(args);
    std::printf("%d: allocates %d bytes\n", static_cast<int>(given.id.raw), static_cast<int>(info.bytes));
    return given;
}
inline TaskOutputTensors print(const char* what, const CoreTaskArgs& args) {
    TaskOutputTensors given = keep(args);
    std::printf("%d: %s after", static_cast<int>(given.id.raw), what);
    for (std::uint32_t at = 0; at < args.num_dependencies; ++at) std::printf(" %d", static_cast<int>(args.dependencies[at].raw));
    for (const ChipTensor* tensor : args.tensors) {
        const bool owned = tensor->owner_task_id.is_valid();
        std::printf(", %d bytes of %d", static_cast<int>(tensor->nbytes()), owned ? static_cast<int>(tensor->owner_task_id.raw) : -1);
    }
    for (const std::uint64_t scalar : args.scalars) std::printf(", number %d", static_cast<int>(scalar));
    std::printf("\n");
    return given;
}
inline TaskOutputTensors rt_submit_task(const MixedKernels& of, const CoreTaskArgs& args) {
    char what[64];
    std::snprintf(what, sizeof what, "kernels %d %d %d", of.aic_kernel_id, of.aiv0_kernel_id, of.aiv1_kernel_id);
    return print(what, args);
}
inline TaskOutputTensors rt_submit_dummy_task(const CoreTaskArgs& args) { return print("nothing", args); }

template <class T>
T from_u64(std::uint64_t value) {
    return static_cast<T>(value);
}
template <class T>
T get_tensor_data(const ChipTensor& tensor, std::uint32_t, const std::uint32_t[]) {
    std::printf("reads what %d gives\n", static_cast<int>(tensor.owner_task_id.raw));
    return {};
}
template <class T>
void set_tensor_data(const ChipTensor& tensor, std::uint32_t, const std::uint32_t at[], T value) {
    reinterpret_cast<T*>(tensor.buffer.addr)[at[0]] = value;
}

struct PTO2OrchestrationConfig {
    int expected_arg_count;
};
