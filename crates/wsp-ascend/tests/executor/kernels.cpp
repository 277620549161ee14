// Kernels of the headers for hosts on the executor: cores of threads share tensors, and a fault has its task.
#include <cmath>
#include <cstdio>
#include <pto/host-run.hpp>

#include "pto/wsp/backend/npu/host_run.hpp"
#include "pipe_sync.h"

namespace {

using namespace pto::wsp::backend::npu;
using namespace pto;

constexpr int rows = 8, cols = 32;
constexpr std::uint32_t tiles = 12, rounds = 3;
using T = Tile<TileType::Vec, float, rows, cols, BLayout::RowMajor, rows, cols>;
using G = GlobalTensor<float, Shape<1, 1, 1, rows, cols>, Stride<1, 1, 1, cols, 1>>;

// Kernel 0 doubles a tile in place, through a tile of its ordinal; kernel 1 does so without waiting for the load.
void kernel(std::uint16_t number, const std::int64_t* args) {
    const ChipTensor& tensor = *reinterpret_cast<const ChipTensor*>(static_cast<std::uintptr_t>(args[0]));
    const ChipTensor& scratch = *reinterpret_cast<const ChipTensor*>(static_cast<std::uintptr_t>(args[1]));
    float* data = reinterpret_cast<float*>(static_cast<std::uintptr_t>(tensor.buffer.addr)) + args[2];
    float* between = reinterpret_cast<float*>(static_cast<std::uintptr_t>(scratch.buffer.addr));
    T x, y;
    TASSIGN(x, 0);
    TASSIGN(y, 2048);
    TLOAD(x, G(data));
    if (number == 0) {
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    }
    TMULS(y, x, 2.0F);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(G(between), y);
    TSTORE(G(data), y);
    pipe_sync();
}

struct Program {
    Tensor x;
    // The ordinal of the kernel that is wrong.
    std::uint64_t wrong;
};

bool orchestrate(void* user, TaskSink& sink) {
    const Program& program = *static_cast<const Program*>(user);
    for (std::uint64_t ordinal = sink.my_aicpu_id; ordinal < tiles * rounds; ordinal += sink.num_aicpus) {
        const std::uint32_t tile = static_cast<std::uint32_t>(ordinal % tiles);
        TaskArgs args;
        args.kernel = ordinal == program.wrong ? 1 : 0;
        args.pool = Pool::vector;
        Tensor scratch;
        if (!sink.begin(sink.user, ordinal) || !sink.alloc(sink.user, sizeof(float) * rows * cols, &scratch)) return false;
        args.add_tensor(program.x);
        args.add_output(scratch);
        args.add_scalar(std::uint64_t{tile} * rows * cols);
        args.add_region(program.x, AccessMode::in_out, {tile * rows, 0, 0, 0, 0, 0}, {tile * rows + rows, cols, 1, 1, 1, 1});
        if (!sink.submit(sink.user, &args) || !sink.end(sink.user, ordinal)) return false;
    }
    return true;
}

void say(bool threads, std::uint64_t wrong) {
    host::Tensors tensors;
    Program program{{nullptr, sizeof(float) * tiles * rows * cols, 0, 4, 2, {tiles * rows, cols}}, wrong};
    std::vector<float> numbers(tiles * rows * cols);
    for (std::size_t at = 0; at < numbers.size(); ++at) numbers[at] = static_cast<float>(at);
    program.x.data = tensors.given("x", numbers.data(), program.x.bytes);
    HostConfig config;
    config.threads = threads;
    config.executor.num_aicpus = 2;
    config.executor.cores = {0, 4};
    config.executor.num_buffers = 1;
    config.executor.heap_bytes = 1 << 14;
    config.begin_task = host::begin_task;
    config.end_task = host::end_task;
    config.heap_is = [](void* data, std::uint64_t bytes) {
        host::add_tensor("heap", static_cast<std::uint8_t*>(data), static_cast<std::uint32_t>(bytes), false);
    };
    const HostResult result = run(config, orchestrate, &program, kernel);
    const float* x = static_cast<const float*>(program.x.data);
    std::uint32_t right = 0;
    for (std::size_t at = 0; at < numbers.size(); ++at) right += x[at] == 8.0F * numbers[at] ? 1 : 0;
    std::printf("%s: ", threads ? "threads" : "steps");
    if (result.of_kernel) {
        std::printf("kernel %u of ordinal %llu: %s\n", result.kernel, static_cast<unsigned long long>(result.ordinal), result.fault.c_str());
    } else {
        std::printf("%u elements are right%s\n", right, result.fault.c_str());
    }
    tensors.clear();
}

}  // namespace

int main() {
    for (const std::uint64_t wrong : {std::uint64_t{1000}, std::uint64_t{17}}) {
        say(false, wrong);
        say(true, wrong);
    }
}
