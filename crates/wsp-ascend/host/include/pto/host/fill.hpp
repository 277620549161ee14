// Instructions that give elements values by their place: scalars, numbers in order, and what is beside a valid part.
#pragma once

#include <limits>

#include "rules.hpp"

namespace pto {
namespace host {

// `value` becomes the number `N` that it stands for in elements of a type.
template <typename N>
N pad_of(PadValue pad, Elem elem) {
    const bool real = is_real(elem);
    const auto bits = static_cast<uint64_t>(pad);
    if (bits >> 32 != 0) {
        return static_cast<N>(float_of(static_cast<uint32_t>(bits)));
    }
    if (pad == PadValue::Zero) {
        return N{0};
    }
    const bool least = pad == PadValue::Min;
    if (real) {
        const float end = std::numeric_limits<float>::infinity();
        return static_cast<N>(least ? -end : end);
    }
    const uint32_t width = 8 * size_of(elem);
    const bool negatives = elem == Elem::I8 || elem == Elem::I16 || elem == Elem::I32;
    const int64_t values = int64_t{1} << width;
    const int64_t low = negatives ? -(values / 2) : 0;
    return static_cast<N>(least ? low : low + values - 1);
}

// The valid part of a tile, and a value in the rest of the destination.
PTO_HOST_APART void fill_beside(const char *name, const View &dst, const View &src, PadValue pad, bool here,
                                          Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        using N = decltype(zero);
        const Matrix<N> held = read<N>(run, src);
        if (!here) {
            apart(run, dst, src);
        } else if (dst.address != src.address) {
            run.wrong("address",
                      {"the tiles of a fill in place have the addresses ", dst.address, " and ", src.address});
        }
        const N value = pad_of<N>(pad, dst.elem);
        Matrix<N> found(dst.rows, dst.cols);
        for (uint32_t row = 0; row < found.rows; ++row) {
            for (uint32_t col = 0; col < found.cols; ++col) {
                found.at(row, col) = row < held.rows && col < held.cols ? held.at(row, col) : value;
            }
        }
        write(run, dst, found);
    });
    run.end();
}

// `value(row, column)` becomes the valid part of a tile.
template <typename F>
void fill_by_place(const char *name, pipe_t unit, const View &dst, Site site, const F &value) {
    Instruction run(name, unit, site);
    run.belongs(dst.memory == Memory::UB ? Side::Vector : Side::Cube);
    check(run, dst);
    with_numbers(dst.elem, [&](auto zero) {
        using N = decltype(zero);
        Matrix<N> found(static_cast<uint32_t>(dst.valid.rows), static_cast<uint32_t>(dst.valid.cols));
        for (uint32_t row = 0; row < found.rows; ++row) {
            for (uint32_t col = 0; col < found.cols; ++col) {
                found.at(row, col) = static_cast<N>(value(row, col));
            }
        }
        write(run, dst, found);
    });
    run.end();
}

template <typename D, typename S>
constexpr void check_fill() {
    static_assert(all_vec<D, S> && all_rows<D, S>, "a fill is of row-major Vec tiles");
    static_assert(D::elem == S::elem, "a fill keeps the element type");
    static_assert(D::Rows == S::Rows && D::Cols == S::Cols, "a fill is between tiles of equal extents");
    static_assert(D::Valid[0] == D::Rows && D::Valid[1] == D::Cols, "the destination of a fill is valid in full");
    static_assert(D::pad != PadValue::Null, "the destination of a fill has a pad value");
    static_assert(!is_long(D::elem), "there is no fill of elements of 64 bits");
}

}  // namespace host

// The valid part, and the pad value of the destination beside it.
template <typename D, typename S>
void TFILLPAD(const D &dst, const S &src, PTO_HOST_SITE) {
    host::check_fill<D, S>();
    host::fill_beside("TFILLPAD", dst.view(), src.view(), D::pad, false, site);
}

// The pad value beside the valid part, where the tile is.
template <typename D, typename S>
void TFILLPAD_INPLACE(const D &dst, const S &src, PTO_HOST_SITE) {
    host::check_fill<D, S>();
    host::fill_beside("TFILLPAD_INPLACE", dst.view(), src.view(), D::pad, true, site);
}

// Every valid element becomes a scalar; of a Mat tile every element.
template <typename D>
void TEXPANDS(const D &dst, typename D::DType value, PTO_HOST_SITE) {
    constexpr bool vec = D::Loc == TileType::Vec;
    static_assert(vec || D::Loc == TileType::Mat,
                  "TEXPANDS fills Vec and Mat tiles only: there is no fill of Left, Right or Acc");
    static_assert(!vec || D::form == host::Form::Rows, "TEXPANDS fills row-major Vec tiles");
    host::View view = dst.view();
    if (!vec) {
        view.valid = {D::Rows, D::Cols};
    }
    host::fill_by_place("TEXPANDS", vec ? PIPE_V : PIPE_MTE2, view, site, [&](uint32_t, uint32_t) { return value; });
}

// Column `c` of a row becomes `start + c`, or `start - c`.
template <typename D, typename T, int descending>
void TCI(const D &dst, T start, PTO_HOST_SITE) {
    static_assert(D::Loc == TileType::Vec && D::form == host::Form::Rows && D::Rows == 1,
                  "TCI fills a Vec tile of one row");
    static_assert(std::is_same_v<T, typename D::DType>, "the start of TCI has the element type of its tile");
    static_assert(D::elem == host::Elem::I32 || D::elem == host::Elem::I16, "TCI is of int32_t or int16_t");
    host::fill_by_place("TCI", PIPE_V, dst.view(), site, [&](uint32_t, uint32_t col) {
        const auto first = static_cast<int64_t>(start);
        return descending != 0 ? first - int64_t{col} : first + int64_t{col};
    });
}

}  // namespace pto
