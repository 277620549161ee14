// Kernel `k` for a2. Tensors are row-major, without gaps.
// Arguments, in their order: x_gm, y_gm, desc_a.
#include <cstdint>
#include <cstddef>
#include <cmath>
#include <limits>
#include <pto/pto-inst.hpp>

#if defined(PTO_ISA_VERSION) && (PTO_ISA_VERSION < 100 || PTO_ISA_VERSION >= 200)
#error "these files are for PTO-ISA 1.0 and later 1.x, and PTO_ISA_VERSION names another: emit them with a PTO-WSP for that version"
#endif

#if defined(CANN_MAJOR) && CANN_MAJOR < 8
#error "these files are for CANN 8.0 and later, and CANN_MAJOR names an earlier one: install a later CANN"
#endif

#ifndef __gm__
#define __gm__
#endif
#ifndef __aicore__
#define __aicore__ [aicore]
#endif

namespace k_kernel {
using namespace pto;

template <typename T> AICORE inline T smaller(T a, T b) { return a < b ? a : b; }
template <typename T> AICORE inline T larger(T a, T b) { return a > b ? a : b; }
template <typename T> AICORE inline T ceil_div(T a, T b) { return a / b + (a % b != 0 && (a < T{}) == (b < T{}) ? 1 : 0); }
template <typename T> AICORE inline T minus(T a, T b) { return a > b ? a - b : 0; }
#if defined(PTO_HOST)
template <typename T> AICORE inline void of_buffer(T& tile, uint32_t buffer) { pto::host::of_buffer(tile, buffer); }
template <typename T> AICORE inline T element(__gm__ T* at, int64_t i) { return pto::host::load_scalar(at + i); }
template <typename T, typename V> AICORE inline void set_element(__gm__ T* at, int64_t i, V value) {
    pto::host::store_scalar(at + i, static_cast<T>(value));
}
#else
template <typename T> AICORE inline void of_buffer(T&, uint32_t) {}
template <typename T> AICORE inline T element(__gm__ T* at, int64_t i) { return at[i]; }
template <typename T, typename V> AICORE inline void set_element(__gm__ T* at, int64_t i, V value) {
    at[i] = static_cast<T>(value);
}
#endif

AICORE inline void k_body(__gm__ float* x_gm, __gm__ float* y_gm, uint32_t desc_a)
{
    [[maybe_unused]] uint32_t i_5 = 0u;
    [[maybe_unused]] uint32_t t_rows_6 = 0u;
    [[maybe_unused]] uint32_t square_rows_7 = 0u;
    [[maybe_unused]] uint32_t mean_rows_8 = 0u;
    {  // %0 MTE2: load
        Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, 1, 32> gamma_t;
        TASSIGN(gamma_t, 8192u); of_buffer(gamma_t, 4u);
        GlobalTensor<float, Shape<1, 1, 1, 1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(x_gm + static_cast<int64_t>(63u) * 32, Shape<1, 1, 1, 1, 32>(), Stride<32, 32, 32, 32, 1>());
        TLOAD(gamma_t, gm);
    }
    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID1);
    {
        uint32_t loop0_round = 0u;
        const uint32_t i_5_end = desc_a;
        const uint32_t i_5_step = 1u;
        for (i_5 = 0u; i_5 < i_5_end;) {
            t_rows_6 = smaller(16u, (((i_5 * 16u) < 64u) ? minus(64u, (i_5 * 16u)) : 0u));
            wait_flag(PIPE_MTE3, PIPE_MTE2, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            if (t_rows_6 > 0u) {
                {  // %1 MTE2: load
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> t_t(t_rows_6);
                    TASSIGN(t_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(t_t, 1u);
                    GlobalTensor<float, Shape<1, 1, 1, -1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(x_gm + static_cast<int64_t>((i_5 * 16u)) * 32, Shape<1, 1, 1, -1, 32>(t_rows_6), Stride<32, 32, 32, 32, 1>());
                    TLOAD(t_t, gm);
                }
            }
            set_flag(PIPE_MTE2, PIPE_V, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            square_rows_7 = t_rows_6;
            wait_flag(PIPE_MTE2, PIPE_V, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            if (square_rows_7 > 0u) {
                {  // %2 V: binary mul
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> square_t(square_rows_7);
                    TASSIGN(square_t, 4096u); of_buffer(square_t, 2u);
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> t_t(t_rows_6);
                    TASSIGN(t_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(t_t, 1u);
                    TMUL(square_t, t_t, t_t);
                }
            }
            mean_rows_8 = square_rows_7;
            pipe_barrier(PIPE_V);
            if (mean_rows_8 > 0u) {
                {  // %3 V: row_reduce sum
                    Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, DYNAMIC, 1> mean_t(mean_rows_8);
                    TASSIGN(mean_t, 8320u); of_buffer(mean_t, 3u);
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> square_t(square_rows_7);
                    TASSIGN(square_t, 4096u); of_buffer(square_t, 2u);
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> scratch_t(square_rows_7);
                    TASSIGN(scratch_t, 6144u); of_buffer(scratch_t, 5u);
                    TROWSUM(mean_t, square_t, scratch_t);
                }
            }
            pipe_barrier(PIPE_V);
            if (mean_rows_8 > 0u) {
                {  // %4 V: binary mul
                    Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, 1, DYNAMIC> mean_t(mean_rows_8);
                    TASSIGN(mean_t, 8320u); of_buffer(mean_t, 3u);
                    TMULS(mean_t, mean_t, 0.03125f);
                }
            }
            pipe_barrier(PIPE_V);
            if (mean_rows_8 > 0u) {
                {  // %5 V: binary add
                    Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, 1, DYNAMIC> mean_t(mean_rows_8);
                    TASSIGN(mean_t, 8320u); of_buffer(mean_t, 3u);
                    TADDS(mean_t, mean_t, 1e-5f);
                }
            }
            pipe_barrier(PIPE_V);
            if (mean_rows_8 > 0u) {
                {  // %6 V: unary sqrt
                    Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, 1, DYNAMIC> mean_t(mean_rows_8);
                    TASSIGN(mean_t, 8320u); of_buffer(mean_t, 3u);
                    TSQRT(mean_t, mean_t);
                }
            }
            pipe_barrier(PIPE_V);
            if ((t_rows_6 > 0u) && (mean_rows_8 > 0u)) {
                {  // %7 V: binary div
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> t_t(t_rows_6);
                    TASSIGN(t_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(t_t, 1u);
                    Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, DYNAMIC, 1> mean_t(mean_rows_8);
                    TASSIGN(mean_t, 8320u); of_buffer(mean_t, 3u);
                    Tile<TileType::Vec, float, 1, 128, BLayout::RowMajor, 1, 128> scratch_t;
                    TASSIGN(scratch_t, 4096u); of_buffer(scratch_t, 6u);
                    TROWEXPANDDIV(t_t, t_t, mean_t, scratch_t);
                }
            }
            pipe_barrier(PIPE_V);
            if (t_rows_6 > 0u) {
                {  // %8 V: binary mul
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> t_t(t_rows_6);
                    TASSIGN(t_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(t_t, 1u);
                    Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, 1, 32> gamma_t;
                    TASSIGN(gamma_t, 8192u); of_buffer(gamma_t, 4u);
                    TCOLEXPANDMUL(t_t, t_t, gamma_t);
                }
            }
            set_flag(PIPE_V, PIPE_MTE3, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            wait_flag(PIPE_V, PIPE_MTE3, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            if (t_rows_6 > 0u) {
                {  // %9 MTE3: store
                    Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> t_t(t_rows_6);
                    TASSIGN(t_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(t_t, 1u);
                    GlobalTensor<float, Shape<1, 1, 1, -1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(y_gm + static_cast<int64_t>((i_5 * 16u)) * 32, Shape<1, 1, 1, -1, 32>(t_rows_6), Stride<32, 32, 32, 32, 1>());
                    TSTORE(gm, t_t);
                }
            }
            set_flag(PIPE_MTE3, PIPE_MTE2, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            loop0_round += 1u;
            if (i_5_end - i_5 <= i_5_step) { break; }
            i_5 += i_5_step;
        }
    }
    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID1);
}
}  // namespace k_kernel

#ifndef WSP_BODY_ONLY
#include "tensor.h"
using namespace pto;
#include "pipe_sync.h"

namespace k_kernel {
template <typename T> AICORE inline __gm__ T* tensor_of(int64_t argument) {
    __gm__ ChipTensor* tensor = reinterpret_cast<__gm__ ChipTensor*>(argument);
    return reinterpret_cast<__gm__ T*>(tensor->buffer.addr) + tensor->start_offset;
}
}  // namespace k_kernel

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args) {
    k_kernel::k_body(k_kernel::tensor_of<float>(args[0]), k_kernel::tensor_of<float>(args[1]), static_cast<uint32_t>(args[2]));
    pipe_sync();
}
#endif
