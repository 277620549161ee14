// Kernel `k` for a5. Tensors are row-major, without gaps.
// Arguments, in their order: x_gm, y_gm, desc_a, desc_b, desc_c.
// One task for a cube core and the first of its vector cores: each compiles this file for itself.
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
#if defined(PTO_HOST)
constexpr bool is_cube = true;
constexpr bool is_vector = true;
AICORE inline void on_cube() { pto::host::on_core(pto::host::Side::Cube); }
AICORE inline void on_vector() { pto::host::on_core(pto::host::Side::Vector); }
#else
#if defined(__DAV_CUBE__)
constexpr bool is_cube = true;
#else
constexpr bool is_cube = false;
#endif
#if defined(__DAV_VEC__)
constexpr bool is_vector = true;
#else
constexpr bool is_vector = false;
#endif
AICORE inline void on_cube() {}
AICORE inline void on_vector() {}
#endif

AICORE inline void k_body(__gm__ float* x_gm, __gm__ float* y_gm, uint32_t desc_a, uint32_t desc_b, uint32_t desc_c)
{
    [[maybe_unused]] uint32_t r_2 = 0u;
    [[maybe_unused]] uint32_t v_rows_8 = 0u;
    [[maybe_unused]] uint32_t rows_rows_9 = 0u;
    [[maybe_unused]] uint32_t part_rows_10 = 0u;
    [[maybe_unused]] uint32_t part_cols_11 = 0u;
    [[maybe_unused]] uint32_t product_rows_12 = 0u;
    [[maybe_unused]] uint32_t product_cols_13 = 0u;
    [[maybe_unused]] uint32_t left_rows_14 = 0u;
    [[maybe_unused]] uint32_t right_rows_15 = 0u;
    v_rows_8 = smaller(1u, ((desc_b < 64u) ? minus(64u, desc_b) : 0u));
    if (v_rows_8 > 0u) {
        if constexpr (is_vector) {
            on_vector();
            {  // %0 MTE2: load
                Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, DYNAMIC, 32> v_t(v_rows_8);
                TASSIGN(v_t, 5120u); of_buffer(v_t, 1u);
                GlobalTensor<float, Shape<1, 1, 1, -1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(x_gm + static_cast<int64_t>(desc_b) * 32, Shape<1, 1, 1, -1, 32>(v_rows_8), Stride<32, 32, 32, 32, 1>());
                TLOAD(v_t, gm);
            }
        }
    }
    r_2 = desc_c;
    if constexpr (is_vector) {
        on_vector();
        set_intra_block(PIPE_MTE3, 0);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    {
        while (r_2 < 64u) {
            rows_rows_9 = smaller(8u, ((r_2 < 64u) ? minus(64u, r_2) : 0u));
            if constexpr (is_vector) {
                on_vector();
                wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            }
            if (rows_rows_9 > 0u) {
                if constexpr (is_vector) {
                    on_vector();
                    {  // %1 MTE2: load
                        Tile<TileType::Vec, float, 8, 32, BLayout::RowMajor, DYNAMIC, 32> rows_t(rows_rows_9);
                        TASSIGN(rows_t, 4096u); of_buffer(rows_t, 2u);
                        GlobalTensor<float, Shape<1, 1, 1, -1, 32>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(x_gm + static_cast<int64_t>(r_2) * 32, Shape<1, 1, 1, -1, 32>(rows_rows_9), Stride<32, 32, 32, 32, 1>());
                        TLOAD(rows_t, gm);
                    }
                }
            }
            if constexpr (is_vector) {
                on_vector();
                set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
                wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            }
            if (rows_rows_9 > 0u) {
                if constexpr (is_vector) {
                    on_vector();
                    {  // %2 V: unary abs
                        Tile<TileType::Vec, float, 8, 32, BLayout::RowMajor, DYNAMIC, 32> rows_t(rows_rows_9);
                        TASSIGN(rows_t, 4096u); of_buffer(rows_t, 2u);
                        TABS(rows_t, rows_t);
                    }
                }
            }
            left_rows_14 = v_rows_8;
            if constexpr (is_cube) {
                on_cube();
                wait_intra_block(PIPE_MTE1, 0);
            }
            if constexpr (is_vector) {
                on_vector();
                wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            }
            if (left_rows_14 > 0u) {
                if constexpr (is_vector) {
                    on_vector();
                    {  // %3 V: unary copy
                        Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, 16, 32> scratch_t;
                        TASSIGN(scratch_t, 2048u); of_buffer(scratch_t, 14u);
                        Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> scratch_t2(v_rows_8);
                        TASSIGN(scratch_t2, 2048u); of_buffer(scratch_t2, 14u);
                        Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, DYNAMIC, 32> v_t(v_rows_8);
                        TASSIGN(v_t, 5120u); of_buffer(v_t, 1u);
                        Tile<TileType::Vec, float, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> v_boxes_t;
                        TASSIGN(v_boxes_t, 0u); of_buffer(v_boxes_t, 12u);
                        TEXPANDS(scratch_t, 0.0f);
                        TMULS(scratch_t2, v_t, 1.0f);
                        TMOV(v_boxes_t, scratch_t);
                    }
                    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                    {  // %4 MTE3: move
                        Tile<TileType::Mat, float, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> left_l1_t;
                        TASSIGN(left_l1_t, 0u); of_buffer(left_l1_t, 8u);
                        Tile<TileType::Vec, float, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> v_boxes_t;
                        TASSIGN(v_boxes_t, 0u); of_buffer(v_boxes_t, 12u);
                        TMOV(left_l1_t, v_boxes_t);
                    }
                    set_intra_block(PIPE_MTE3, 3);
                }
                if constexpr (is_cube) {
                    on_cube();
                    wait_intra_block(PIPE_MTE1, 3);
                    {  // %5 MTE1: move
                        TileLeft<float, 16, 32, DYNAMIC, 32> left_t(left_rows_14);
                        TASSIGN(left_t, 0u); of_buffer(left_t, 5u);
                        Tile<TileType::Mat, float, 16, 32, BLayout::ColMajor, DYNAMIC, 32, SLayout::RowMajor, 512> left_l1_t(left_rows_14);
                        TASSIGN(left_l1_t, 0u); of_buffer(left_l1_t, 8u);
                        TMOV(left_t, left_l1_t);
                    }
                }
            }
            if constexpr (is_cube) {
                on_cube();
                set_intra_block(PIPE_MTE1, 0);
            }
            if constexpr (is_vector) {
                on_vector();
                set_intra_block(PIPE_MTE3, 2);
                set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
            }
            right_rows_15 = rows_rows_9;
            if constexpr (is_vector) {
                on_vector();
                wait_intra_block(PIPE_MTE3, 0);
            }
            if constexpr (is_cube) {
                on_cube();
                wait_intra_block(PIPE_MTE1, 2);
            }
            if constexpr (is_vector) {
                on_vector();
                wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
            }
            if (right_rows_15 > 0u) {
                if constexpr (is_vector) {
                    on_vector();
                    {  // %6 V: unary copy
                        Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, 16, 32> scratch_t;
                        TASSIGN(scratch_t, 2048u); of_buffer(scratch_t, 15u);
                        Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, DYNAMIC, 32> scratch_t2(rows_rows_9);
                        TASSIGN(scratch_t2, 2048u); of_buffer(scratch_t2, 15u);
                        Tile<TileType::Vec, float, 8, 32, BLayout::RowMajor, DYNAMIC, 32> rows_t(rows_rows_9);
                        TASSIGN(rows_t, 4096u); of_buffer(rows_t, 2u);
                        Tile<TileType::Vec, float, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> rows_boxes_t;
                        TASSIGN(rows_boxes_t, 0u); of_buffer(rows_boxes_t, 13u);
                        TEXPANDS(scratch_t, 0.0f);
                        TMULS(scratch_t2, rows_t, 1.0f);
                        TMOV(rows_boxes_t, scratch_t);
                    }
                    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                    {  // %7 MTE3: move
                        Tile<TileType::Mat, float, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> right_l1_t;
                        TASSIGN(right_l1_t, 0u); of_buffer(right_l1_t, 10u);
                        Tile<TileType::Vec, float, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor, 512> rows_boxes_t;
                        TASSIGN(rows_boxes_t, 0u); of_buffer(rows_boxes_t, 13u);
                        TMOV(right_l1_t, rows_boxes_t);
                    }
                    set_intra_block(PIPE_MTE3, 3);
                }
                if constexpr (is_cube) {
                    on_cube();
                    wait_intra_block(PIPE_MTE1, 3);
                    {  // %8 MTE1: move
                        TileRight<float, 32, 16, 32, DYNAMIC> right_t(right_rows_15);
                        TASSIGN(right_t, 0u); of_buffer(right_t, 6u);
                        Tile<TileType::Mat, float, 32, 16, BLayout::RowMajor, 32, DYNAMIC, SLayout::ColMajor, 512> right_l1_t(right_rows_15);
                        TASSIGN(right_l1_t, 0u); of_buffer(right_l1_t, 10u);
                        TMOV(right_t, right_l1_t);
                    }
                }
            }
            if constexpr (is_cube) {
                on_cube();
                set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            }
            if constexpr (is_vector) {
                on_vector();
                set_intra_block(PIPE_MTE3, 0);
                set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
                set_intra_block(PIPE_V, 1);
            }
            product_rows_12 = left_rows_14;
            product_cols_13 = right_rows_15;
            if constexpr (is_cube) {
                on_cube();
                wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            }
            if ((product_rows_12 > 0u) && (product_cols_13 > 0u)) {
                if constexpr (is_cube) {
                    on_cube();
                    {  // %9 M: matmul
                        TileAcc<float, 16, 16, DYNAMIC, DYNAMIC> product_t(product_rows_12, product_cols_13);
                        TASSIGN(product_t, 0u); of_buffer(product_t, 4u);
                        TileLeft<float, 16, 32, DYNAMIC, 32> left_t(left_rows_14);
                        TASSIGN(left_t, 0u); of_buffer(left_t, 5u);
                        TileRight<float, 32, 16, 32, DYNAMIC> right_t(right_rows_15);
                        TASSIGN(right_t, 0u); of_buffer(right_t, 6u);
                        TMATMUL(product_t, left_t, right_t);
                    }
                }
            }
            if constexpr (is_cube) {
                on_cube();
                set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
            }
            part_rows_10 = product_rows_12;
            part_cols_11 = product_cols_13;
            if constexpr (is_cube) {
                on_cube();
                wait_intra_block(PIPE_FIX, 1);
                wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
            }
            if ((part_rows_10 > 0u) && (part_cols_11 > 0u)) {
                if constexpr (is_cube) {
                    on_cube();
                    {  // %10 FIX: move
                        Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, DYNAMIC, DYNAMIC> part_t(part_rows_10, part_cols_11);
                        TASSIGN(part_t, 0u); of_buffer(part_t, 3u);
                        TileAcc<float, 16, 16, DYNAMIC, DYNAMIC> product_t(product_rows_12, product_cols_13);
                        TASSIGN(product_t, 0u); of_buffer(product_t, 4u);
                        TMOV(part_t, product_t);
                    }
                }
            }
            if constexpr (is_cube) {
                on_cube();
                set_intra_block(PIPE_FIX, 1);
            }
            if constexpr (is_vector) {
                on_vector();
                wait_intra_block(PIPE_MTE3, 1);
            }
            if ((part_rows_10 > 0u) && (part_cols_11 > 0u)) {
                if constexpr (is_vector) {
                    on_vector();
                    {  // %11 MTE3: store
                        Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, DYNAMIC, DYNAMIC> part_t(part_rows_10, part_cols_11);
                        TASSIGN(part_t, 0u); of_buffer(part_t, 3u);
                        GlobalTensor<float, Shape<1, 1, 1, -1, -1>, Stride<32, 32, 32, 32, 1>, Layout::ND> gm(y_gm + static_cast<int64_t>((r_2 / 8u)) * 32 + static_cast<int64_t>(8u), Shape<1, 1, 1, -1, -1>(part_rows_10, part_cols_11), Stride<32, 32, 32, 32, 1>());
                        TSTORE(gm, part_t);
                    }
                }
            }
            if constexpr (is_vector) {
                on_vector();
                set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            }
            r_2 = (r_2 + (8u * desc_a));
        }
    }
    if constexpr (is_cube) {
        on_cube();
        wait_intra_block(PIPE_MTE1, 0);
    }
    if constexpr (is_vector) {
        on_vector();
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
}
}  // namespace k_kernel

#ifndef WSP_BODY_ONLY
#include "tensor.h"
using namespace pto;
#include "pipe_sync.h"
#include "intrinsic.h"

namespace k_kernel {
template <typename T> AICORE inline __gm__ T* tensor_of(int64_t argument) {
    __gm__ ChipTensor* tensor = reinterpret_cast<__gm__ ChipTensor*>(argument);
    return reinterpret_cast<__gm__ T*>(tensor->buffer.addr) + tensor->start_offset;
}
}  // namespace k_kernel

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args) {
    if (k_kernel::is_vector && get_sub_block_id(args) != 0) { return; }
    k_kernel::k_body(k_kernel::tensor_of<float>(args[0]), k_kernel::tensor_of<float>(args[1]), static_cast<uint32_t>(args[2]), static_cast<uint32_t>(args[3]), static_cast<uint32_t>(args[4]));
    pipe_sync();
}
#endif
