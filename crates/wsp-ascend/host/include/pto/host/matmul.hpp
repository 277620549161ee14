// Products of matrices.
#pragma once

#include "rules.hpp"

namespace pto {
namespace host {

// What a product is added to: nothing, an accumulator, or a row of every row's.
PTO_HOST_APART void multiply(const char *name, const View &dst, const View *before, const View &a,
                                       const View &b, Site site) {
    Instruction run(name, PIPE_M, site);
    check(run, a);
    check(run, b);
    View right = b;
    if (b.valid.rows < a.valid.cols) {
        run.wrong("shape", {"the inner extents are ", a.valid.cols, " and ", b.valid.rows});
    }
    right.valid.rows = a.valid.cols;
    same(run, "the valid part of the accumulator", dst.valid, {a.valid.rows, b.valid.cols});
    with_numbers(a.elem, [&](auto zero) {
        using N = decltype(zero);
        const Matrix<N> left = read<N>(run, a), factors = read<N>(run, right);
        Matrix<N> found(left.rows, factors.cols), held(left.rows, factors.cols);
        if (before != nullptr) {
            held = read<N>(run, *before);
        }
        // Sums are in order, in `float` or 64 bits.
        for (uint32_t row = 0; row < left.rows; ++row) {
            for (uint32_t k = 0; k < left.cols; ++k) {
                const N factor = left.at(row, k);
                for (uint32_t col = 0; col < factors.cols; ++col) {
                    found.at(row, col) += factor * factors.at(k, col);
                }
            }
            for (uint32_t col = 0; col < factors.cols; ++col) {
                found.at(row, col) += held.at(held.rows == 1 ? 0 : row, col);
            }
        }
        write(run, dst, found);
    });
    run.end();
}

template <typename C, typename A, typename B>
constexpr void check_product() {
    static_assert(C::Loc == TileType::Acc && A::Loc == TileType::Left && B::Loc == TileType::Right,
                  "a product is of a Left and a Right tile into an Acc tile");
    constexpr bool real = C::elem == Elem::F32 && is_real(A::elem);
    static_assert(A::elem == B::elem && (real || (C::elem == Elem::I32 && A::elem == Elem::I8)),
                  "a product is of half, bfloat16_t or float into float, or of int8_t into int32_t");
    static_assert(A::Cols == B::Rows && C::Cols == B::Cols && (C::Rows == A::Rows || A::Rows == 1),
                  "the extents of the tiles of a product fit each other");
    static_assert(may_equal(C::Valid[0], A::Valid[0]) && may_equal(C::Valid[1], B::Valid[1]),
                  "the valid part of an accumulator is the rows of its left and the columns of its right operand");
}

}  // namespace host

template <typename C, typename A, typename B>
void TMATMUL(const C &dst, const A &a, const B &b, PTO_HOST_SITE) {
    host::check_product<C, A, B>();
    static_assert(A::Rows > 1, "a product of one row is TGEMV");
    host::multiply("TMATMUL", dst.view(), nullptr, a.view(), b.view(), site);
}

// A product of one row.
template <typename C, typename A, typename B>
void TGEMV(const C &dst, const A &a, const B &b, PTO_HOST_SITE) {
    host::check_product<C, A, B>();
    static_assert(A::Rows == 1, "TGEMV is a product of one row");
    host::multiply("TGEMV", dst.view(), nullptr, a.view(), b.view(), site);
}

// The product is added to an accumulator.
template <typename C, typename H, typename A, typename B>
void TMATMUL_ACC(const C &dst, const H &before, const A &a, const B &b, PTO_HOST_SITE) {
    host::check_product<C, A, B>();
    static_assert(H::Loc == TileType::Acc && H::elem == C::elem,
                  "a product is added to an Acc tile of its element type");
    const host::View held = before.view();
    host::multiply("TMATMUL_ACC", dst.view(), &held, a.view(), b.view(), site);
}

template <typename C, typename A, typename B>
void TMATMUL_ACC(const C &dst, const A &a, const B &b, PTO_HOST_SITE) {
    TMATMUL_ACC(dst, dst, a, b, site);
}

// A row is added to every row of the product.
template <typename C, typename A, typename B, typename R>
void TMATMUL_BIAS(const C &dst, const A &a, const B &b, const R &row, PTO_HOST_SITE) {
    host::check_product<C, A, B>();
    static_assert(R::Loc == TileType::Bias && R::elem == C::elem && R::Cols == C::Cols,
                  "what is added to rows of a product is a Bias tile of its element type and columns");
    const host::View held = row.view();
    host::multiply("TMATMUL_BIAS", dst.view(), &held, a.view(), b.view(), site);
}

}  // namespace pto
