// Kernel `k` for a5. Tensors are row-major, without gaps.
// Arguments, in their order: x_gm, y_gm, desc_a, desc_b, desc_c, desc_d.
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

AICORE inline void k_body(__gm__ float* x_gm, __gm__ float* y_gm, uint32_t desc_a, uint32_t desc_b, uint32_t desc_c, uint32_t desc_d)
{
    [[maybe_unused]] uint32_t i_4 = 0u;
    [[maybe_unused]] uint32_t a_rows_5 = 0u;
    [[maybe_unused]] uint32_t a_cols_6 = 0u;
    [[maybe_unused]] uint32_t b_rows_7 = 0u;
    [[maybe_unused]] uint32_t c_rows_8 = 0u;
    [[maybe_unused]] uint32_t extent_9 = 0u;
    [[maybe_unused]] uint32_t inner_10 = 0u;
    c_rows_8 = smaller(16u, desc_c);
    if (c_rows_8 > 0u) {
        {  // %0 MTE2: fill
            Tile<TileType::Mat, half, 16, 16, BLayout::ColMajor, DYNAMIC, 16, SLayout::RowMajor, 512> c_zero_rows_l1_t(c_rows_8);
            TASSIGN(c_zero_rows_l1_t, 0u); of_buffer(c_zero_rows_l1_t, 6u);
            TEXPANDS(c_zero_rows_l1_t, static_cast<half>(0.0f));
        }
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        {  // %1 MTE1: move
            TileLeft<half, 16, 16, DYNAMIC, 16> c_zero_rows_l0_t(c_rows_8);
            TASSIGN(c_zero_rows_l0_t, 0u); of_buffer(c_zero_rows_l0_t, 7u);
            Tile<TileType::Mat, half, 16, 16, BLayout::ColMajor, DYNAMIC, 16, SLayout::RowMajor, 512> c_zero_rows_l1_t(c_rows_8);
            TASSIGN(c_zero_rows_l1_t, 0u); of_buffer(c_zero_rows_l1_t, 6u);
            TMOV(c_zero_rows_l0_t, c_zero_rows_l1_t);
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        {  // %2 MTE2: fill
            Tile<TileType::Mat, half, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> c_zero_cols_l1_t;
            TASSIGN(c_zero_cols_l1_t, 0u); of_buffer(c_zero_cols_l1_t, 8u);
            TEXPANDS(c_zero_cols_l1_t, static_cast<half>(0.0f));
        }
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        {  // %3 MTE1: move
            TileRight<half, 16, 32, 16, 32> c_zero_cols_l0_t;
            TASSIGN(c_zero_cols_l0_t, 0u); of_buffer(c_zero_cols_l0_t, 9u);
            Tile<TileType::Mat, half, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> c_zero_cols_l1_t;
            TASSIGN(c_zero_cols_l1_t, 0u); of_buffer(c_zero_cols_l1_t, 8u);
            TMOV(c_zero_cols_l0_t, c_zero_cols_l1_t);
        }
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        {  // %4 M: matmul
            TileAcc<float, 16, 32, DYNAMIC, 32> c_t(c_rows_8);
            TASSIGN(c_t, 0u); of_buffer(c_t, 3u);
            TileLeft<half, 16, 16, DYNAMIC, 16> c_zero_rows_l0_t(c_rows_8);
            TASSIGN(c_zero_rows_l0_t, 0u); of_buffer(c_zero_rows_l0_t, 7u);
            TileRight<half, 16, 32, 16, 32> c_zero_cols_l0_t;
            TASSIGN(c_zero_cols_l0_t, 0u); of_buffer(c_zero_cols_l0_t, 9u);
            TMATMUL(c_t, c_zero_rows_l0_t, c_zero_cols_l0_t);
        }
    }
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID2);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID3);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
    {
        uint32_t loop0_round = 0u;
        const uint32_t i_4_end = desc_a;
        const uint32_t i_4_step = 1u;
        for (i_4 = 0u; i_4 < i_4_end;) {
            a_rows_5 = smaller(smaller(16u, desc_c), ((desc_b < 64u) ? minus(64u, desc_b) : 0u));
            a_cols_6 = smaller(smaller(16u, desc_d), 32u);
            wait_flag(PIPE_M, PIPE_MTE1, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            if ((a_rows_5 > 0u) && (a_cols_6 > 0u)) {
                wait_flag(PIPE_MTE1, PIPE_MTE2, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
                {  // %5 MTE2: load
                    Tile<TileType::Mat, float, 16, 16, BLayout::ColMajor, DYNAMIC, DYNAMIC, SLayout::RowMajor, 512> a_l1_t(a_rows_5, a_cols_6);
                    TASSIGN(a_l1_t, (loop0_round % 2u == 0u) ? 4096u : 5120u); of_buffer(a_l1_t, 4u);
                    GlobalTensor<float, Shape<1, 1, 1, -1, -1>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(x_gm + static_cast<int64_t>(desc_b) * 32, Shape<1, 1, 1, -1, -1>(a_rows_5, a_cols_6), Stride<32, 32, 32, 32, 1>());
                    TLOAD(a_l1_t, gm);
                }
                set_flag(PIPE_MTE2, PIPE_MTE1, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
                wait_flag(PIPE_MTE2, PIPE_MTE1, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
                {  // %6 MTE1: move
                    TileLeft<float, 16, 16, DYNAMIC, DYNAMIC> a_t(a_rows_5, a_cols_6);
                    TASSIGN(a_t, (loop0_round % 2u == 0u) ? 0u : 1024u); of_buffer(a_t, 1u);
                    Tile<TileType::Mat, float, 16, 16, BLayout::ColMajor, DYNAMIC, DYNAMIC, SLayout::RowMajor, 512> a_l1_t(a_rows_5, a_cols_6);
                    TASSIGN(a_l1_t, (loop0_round % 2u == 0u) ? 4096u : 5120u); of_buffer(a_l1_t, 4u);
                    TMOV(a_t, a_l1_t);
                }
                set_flag(PIPE_MTE1, PIPE_MTE2, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            }
            b_rows_7 = smaller(16u, (((i_4 * 16u) < 64u) ? minus(64u, (i_4 * 16u)) : 0u));
            if (b_rows_7 > 0u) {
                wait_flag(PIPE_MTE1, PIPE_MTE2, (loop0_round % 2u == 0u) ? EVENT_ID2 : EVENT_ID3);
                {  // %7 MTE2: load
                    Tile<TileType::Mat, float, 16, 32, BLayout::ColMajor, DYNAMIC, 32, SLayout::RowMajor, 512> b_l1_t(b_rows_7);
                    TASSIGN(b_l1_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(b_l1_t, 5u);
                    GlobalTensor<float, Shape<1, 1, 1, -1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(x_gm + static_cast<int64_t>((i_4 * 16u)) * 32, Shape<1, 1, 1, -1, 32>(b_rows_7), Stride<32, 32, 32, 32, 1>());
                    TLOAD(b_l1_t, gm);
                }
                set_flag(PIPE_MTE2, PIPE_MTE1, (loop0_round % 2u == 0u) ? EVENT_ID2 : EVENT_ID3);
                wait_flag(PIPE_MTE2, PIPE_MTE1, (loop0_round % 2u == 0u) ? EVENT_ID2 : EVENT_ID3);
                {  // %8 MTE1: move
                    TileRight<float, 16, 32, DYNAMIC, 32> b_t(b_rows_7);
                    TASSIGN(b_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(b_t, 2u);
                    Tile<TileType::Mat, float, 16, 32, BLayout::ColMajor, DYNAMIC, 32, SLayout::RowMajor, 512> b_l1_t(b_rows_7);
                    TASSIGN(b_l1_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(b_l1_t, 5u);
                    TMOV(b_t, b_l1_t);
                }
                set_flag(PIPE_MTE1, PIPE_MTE2, (loop0_round % 2u == 0u) ? EVENT_ID2 : EVENT_ID3);
            }
            set_flag(PIPE_MTE1, PIPE_M, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            extent_9 = a_rows_5;
            inner_10 = smaller(a_cols_6, b_rows_7);
            wait_flag(PIPE_MTE1, PIPE_M, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            if ((extent_9 > 0u) && (inner_10 > 0u)) {
                {  // %9 M: matmul
                    TileAcc<float, 16, 32, DYNAMIC, 32> c_t(extent_9);
                    TASSIGN(c_t, 0u); of_buffer(c_t, 3u);
                    TileLeft<float, 16, 16, DYNAMIC, DYNAMIC> a_t(a_rows_5, inner_10);
                    TASSIGN(a_t, (loop0_round % 2u == 0u) ? 0u : 1024u); of_buffer(a_t, 1u);
                    TileRight<float, 16, 32, DYNAMIC, 32> b_t(inner_10);
                    TASSIGN(b_t, (loop0_round % 2u == 0u) ? 0u : 2048u); of_buffer(b_t, 2u);
                    TMATMUL_ACC(c_t, c_t, a_t, b_t);
                }
            }
            set_flag(PIPE_M, PIPE_MTE1, (loop0_round % 2u == 0u) ? EVENT_ID0 : EVENT_ID1);
            c_rows_8 = extent_9;
            loop0_round += 1u;
            if (i_4_end - i_4 <= i_4_step) { break; }
            i_4 += i_4_step;
        }
    }
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID2);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID3);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    if (c_rows_8 > 0u) {
        {  // %10 FIX: store
            TileAcc<float, 16, 32, DYNAMIC, 32> c_t(c_rows_8);
            TASSIGN(c_t, 0u); of_buffer(c_t, 3u);
            GlobalTensor<float, Shape<1, 1, 1, -1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(y_gm + static_cast<int64_t>(desc_b) * 32, Shape<1, 1, 1, -1, 32>(c_rows_8), Stride<32, 32, 32, 32, 1>());
            TSTORE(gm, c_t);
        }
    }
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
    k_kernel::k_body(k_kernel::tensor_of<float>(args[0]), k_kernel::tensor_of<float>(args[1]), static_cast<uint32_t>(args[2]), static_cast<uint32_t>(args[3]), static_cast<uint32_t>(args[4]), static_cast<uint32_t>(args[5]));
    pipe_sync();
}
#endif
