// Tasks that are handed to the task runtime: which calls, in which order, with which edges.
#include "pto/wsp/backend/npu/runtime_entry.hpp"

using namespace pto::wsp::backend::npu;

namespace {

void rows(TaskArgs& task, const Tensor& tensor, AccessMode mode, std::uint32_t lo, std::uint32_t hi) {
    task.add_region(Region{tensor.buffer, mode, {lo, 0, 0, 0, 0, 0}, {hi, 1, 1, 1, 1, 1}});
}

// A task of one region of a tensor.
void touch(const TaskSink& sink, std::uint64_t ordinal, std::uint16_t kernel, const Tensor& tensor, AccessMode mode, std::uint32_t lo,
           std::uint32_t hi) {
    TaskArgs task;
    task.kernel = kernel;
    task.pool = Pool::vector;
    task.add_tensor(tensor);
    rows(task, tensor, mode, lo, hi);
    sink.begin(sink.user, ordinal);
    sink.submit(sink.user, &task);
    sink.end(sink.user, ordinal);
}

void edges(std::uint32_t (&memory)[64]) {
    std::puts("# edges");
    RuntimeMemory blocks;
    RuntimeSink tasks(blocks, 1, 100);
    const TaskSink sink = tasks.sink();
    const Tensor x{memory, sizeof memory, 0, 4, 1, {64, 1, 1, 1, 1, 1}};
    touch(sink, 0, 10, x, AccessMode::out, 0, 32);   // writes
    touch(sink, 1, 11, x, AccessMode::in, 0, 16);    // reads what it wrote
    touch(sink, 2, 12, x, AccessMode::out, 32, 64);  // writes elsewhere
    touch(sink, 3, 13, x, AccessMode::out, 8, 16);   // writes what was written and read
    sink.fence(sink.user, 4);
    touch(sink, 4, 14, x, AccessMode::in, 40, 41);
    Region read{0, AccessMode::in, {0, 0, 0, 0, 0, 0}, {64, 1, 1, 1, 1, 1}};
    touch(sink, 5, 15, x, AccessMode::in_out, 60, 64);
    sink.wait(sink.user, &read, 6);
    const std::uint64_t after[] = {4};
    TaskArgs mixed;
    mixed.kernel = 16;
    mixed.pool = Pool::any;
    mixed.stream = 2;
    mixed.after = after;
    mixed.num_after = 1;
    Tensor own{};
    sink.begin(sink.user, 6);
    sink.alloc(sink.user, 100, &own);
    mixed.add_input(x);
    mixed.add_output(own);
    mixed.add_scalar(7);
    sink.submit(sink.user, &mixed);
    TaskArgs cube;
    cube.kernel = 17;
    cube.pool = Pool::cube;
    cube.stream = 2;
    cube.add_input(own);
    sink.submit(sink.user, &cube);
    sink.end(sink.user, 6);
}

void many(std::uint32_t (&memory)[64]) {
    std::puts("# many");
    RuntimeMemory blocks;
    RuntimeSink tasks(blocks, 1, 100);
    const TaskSink sink = tasks.sink();
    const Tensor x{memory, sizeof memory, 0, 4, 1, {64, 1, 1, 1, 1, 1}};
    for (std::uint32_t at = 0; at <= RuntimeSink::most_tasks; ++at) touch(sink, at, 1, x, AccessMode::in, 0, 1);
}

void launch(std::uint32_t (&memory)[64]) {
    std::puts("# launch");
    RuntimeMemory blocks;
    const std::uint32_t pages[4] = {3, 4, 1, 8}, three[1] = {3}, two[1] = {2};
    for (std::uint32_t& word : memory) word = 0;
    memory[1] = 2;  // indptr 0, 2, 3; indices 0, 1, 2; last 1, 4
    memory[2] = 3;
    memory[4] = 1;
    memory[5] = 2;
    memory[6] = 1;
    memory[7] = 4;
    std::uint16_t half[96] = {};
    ChipTensor keys = make_tensor_external(half, pages, 4, DataType::FLOAT16);
    ChipTensor indptr = make_tensor_external(memory, three, 1, DataType::UINT32);
    ChipTensor indices = make_tensor_external(memory + 3, three, 1, DataType::UINT32);
    ChipTensor last = make_tensor_external(memory + 6, two, 1, DataType::UINT32);
    for (const bool wrong : {false, true}) {
        ChipTaskArgs args;
        for (ChipTensor* tensor : {&keys, &keys, &indptr, &indices, &last}) args.add_no_dep(*tensor);
        RuntimeInputs inputs(args, blocks);
        Pages of;
        Tensor k{}, v{};
        inputs.cache(of, k, v, "kv", wrong ? "f32" : "f16", true);
        inputs.all_used();
        const auto* lengths = static_cast<const std::uint32_t*>(of.tensor_of_lengths.data);
        const auto length = [&](std::uint64_t at) { return static_cast<unsigned>(of.lengths.low(at)); };
        if (inputs.good()) std::printf("lengths %u %u, of kernels %u %u\n", length(0), length(1), lengths[0], lengths[1]);
        else std::printf("%s\n", inputs.fault().c_str());
    }
}

}  // namespace

int main() {
    static std::uint32_t memory[64];
    edges(memory);
    told() = Told();
    many(memory);
    told() = Told();
    launch(memory);
}
