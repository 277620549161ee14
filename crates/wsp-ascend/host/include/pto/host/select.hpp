// Comparisons, and what is taken by their masks. A mask has one bit per element.
#pragma once

#include "rules.hpp"

namespace pto {

enum class CmpMode { EQ, NE, LT, GT, GE, LE };

namespace host {

template <typename N>
bool holds(CmpMode mode, N a, N b) {
    switch (mode) {
        case CmpMode::EQ: return a == b;
        case CmpMode::NE: return a != b;
        case CmpMode::LT: return a < b;
        case CmpMode::GT: return a > b;
        case CmpMode::GE: return a >= b;
        default: return a <= b;
    }
}

// Bytes of the bits of a row.
constexpr uint32_t bit_bytes(int64_t cols) { return static_cast<uint32_t>((cols + 7) / 8); }

inline uint32_t row_bytes(const View &mask) { return mask.cols * size_of(mask.elem); }

PTO_HOST_CODE void check_room(const Instruction &run, const View &mask, const Extents &values) {
    check(run, mask);
    if (values.rows > mask.rows || bit_bytes(values.cols) > row_bytes(mask)) {
        run.wrong("shape", {"a mask of ", Extents{mask.rows, mask.cols}, " has no room for the bits of ", values});
    }
}

// Some implementations lay the rows of a mask by its valid columns.
PTO_HOST_CODE void check_row_of_bits(const Instruction &run, const View &mask, int64_t cols) {
    if (mask.valid.cols != bit_bytes(cols)) {
        run.wrong("shape", {"a mask of ", mask.valid.cols, " valid columns; the bits of ", cols, " elements are ",
                            bit_bytes(cols), " bytes"});
    }
}

// Bits become rows of a mask; what else its rows hold is not said.
template <typename F>
void write_bits(Instruction &run, const View &mask, const Extents &values, const F &bit) {
    check_room(run, mask, values);
    Bytes &bytes = opened(run, mask);
    for (uint32_t row = 0; row < values.rows; ++row) {
        const uint32_t first = mask.at(row, 0);
        const uint32_t used = bit_bytes(values.cols);
        run.write(bytes, {{first, first + row_bytes(mask)}}, false);
        run.write(bytes, {{first, first + used}});
        std::memset(bytes.data + first, 0, used);
        for (uint32_t col = 0; col < values.cols; ++col) {
            bytes.data[first + col / 8] |= static_cast<uint8_t>((bit(row, col) ? 1U : 0U) << col % 8);
        }
    }
}

// The bits of a mask, for values of these extents.
PTO_HOST_CODE Matrix<int64_t> read_bits(Instruction &run, const View &mask, const Extents &values) {
    check_room(run, mask, values);
    Bytes &bytes = opened(run, mask);
    Matrix<int64_t> found(static_cast<uint32_t>(values.rows), static_cast<uint32_t>(values.cols));
    for (uint32_t row = 0; row < found.rows; ++row) {
        const uint32_t first = mask.at(row, 0);
        run.read(bytes, {{first, first + bit_bytes(values.cols)}});
        for (uint32_t col = 0; col < found.cols; ++col) {
            found.at(row, col) = (bytes.data[first + col / 8] >> col % 8) & 1;
        }
    }
    return found;
}

PTO_HOST_CODE void check_comparison(const Instruction &run, const View &src, CmpMode mode) {
    if (src.elem == Elem::I32 && mode != CmpMode::EQ) {
        run.wrong("element", {"elements of int32_t are compared for CmpMode::EQ only"});
    }
}

PTO_HOST_APART void compare(const View &mask, const View &a, const View &b, CmpMode mode, Site site) {
    Instruction run("TCMP", PIPE_V, site);
    check_comparison(run, a, mode);
    with_numbers(a.elem, [&](auto zero) {
        const auto left = read<decltype(zero)>(run, a), right = read<decltype(zero)>(run, b);
        same(run, "the second operand", right.extents(), left.extents());
        apart(run, mask, a);
        apart(run, mask, b);
        write_bits(run, mask, a.valid,
                   [&](uint32_t row, uint32_t col) { return holds(mode, left.at(row, col), right.at(row, col)); });
    });
    run.end();
}

PTO_HOST_APART void compare_scalar(const View &mask, const View &a, double value, CmpMode mode, Site site) {
    Instruction run("TCMPS", PIPE_V, site);
    check_comparison(run, a, mode);
    with_numbers(a.elem, [&](auto zero) {
        const auto left = read<decltype(zero)>(run, a);
        apart(run, mask, a);
        // All bytes of a row of the tile, whatever is valid of it.
        check_row_of_bits(run, mask, a.cols);
        const auto right = static_cast<decltype(zero)>(value);
        write_bits(run, mask, a.valid,
                   [&](uint32_t row, uint32_t col) { return holds(mode, left.at(row, col), right); });
    });
    run.end();
}

// `b`: the tile of what is taken where a bit is clear; without one it is `value`.
PTO_HOST_APART void select(const char *name, const View &dst, const View &mask, const View &a, const View *b,
                                     double value, const View &own, Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(a.elem, [&](auto zero) {
        using N = decltype(zero);
        Matrix<N> found = read<N>(run, a);
        const Matrix<int64_t> bits = read_bits(run, mask, a.valid);
        Matrix<N> other(found.rows, found.cols);
        for (N &x : other.all) {
            x = static_cast<N>(value);
        }
        if (b != nullptr) {
            check_row_of_bits(run, mask, a.valid.cols);
            other = read<N>(run, *b);
            same(run, "the second operand", other.extents(), found.extents());
            in_place(run, dst, *b);
            apart(run, own, *b);
        }
        in_place(run, dst, a);
        apart(run, dst, mask);
        apart(run, own, mask);
        apart(run, own, a);
        apart(run, own, dst);
        spoil(run, own);
        for (size_t at = 0; at < found.all.size(); ++at) {
            found.all[at] = bits.all[at] != 0 ? found.all[at] : other.all[at];
        }
        write(run, dst, found);
    });
    run.end();
}

template <typename K>
constexpr void check_mask() {
    static_assert(all_vec<K> && all_rows<K>, "a mask is a row-major Vec tile");
    static_assert(K::elem == Elem::U8, "a mask has elements of uint8_t");
}

template <typename K, typename A>
constexpr void check_comparison_types() {
    check_mask<K>();
    static_assert(all_vec<A> && all_rows<A>, "what is compared is row-major in Vec tiles");
    static_assert(Real::has(A::elem) || A::elem == Elem::I32, "elements that are compared are float, half or int32_t");
}

}  // namespace host

template <typename K, typename A, typename B>
void TCMP(const K &mask, const A &a, const B &b, CmpMode mode, PTO_HOST_SITE) {
    host::check_comparison_types<K, A>();
    host::check_elementwise<host::Any, A, B>();
    host::compare(mask.view(), a.view(), b.view(), mode, site);
}

template <typename K, typename A>
void TCMPS(const K &mask, const A &a, typename A::DType value, CmpMode mode, PTO_HOST_SITE) {
    host::check_comparison_types<K, A>();
    host::compare_scalar(mask.view(), a.view(), static_cast<double>(value), mode, site);
}

// `a` where the bit of the mask is set, else `b`.
template <typename D, typename K, typename A, typename B, typename W>
void TSEL(const D &dst, const K &mask, const A &a, const B &b, const W &own, PTO_HOST_SITE) {
    host::check_mask<K>();
    host::check_elementwise<host::Number, D, A, B>();
    host::check_one_type<D, A, B>();
    static_assert(host::all_vec<W>, "the temporary tile of TSEL is a Vec tile");
    const host::View other = b.view();
    host::select("TSEL", dst.view(), mask.view(), a.view(), &other, 0, own.view(), site);
}

// `a` where the bit of the mask is set, else a scalar.
template <typename D, typename K, typename A, typename W>
void TSELS(const D &dst, const K &mask, const A &a, const W &own, typename D::DType value, PTO_HOST_SITE) {
    host::check_mask<K>();
    host::check_elementwise<host::Number, D, A>();
    static_assert(host::all_vec<W>, "the temporary tile of TSELS is a Vec tile");
    host::select("TSELS", dst.view(), mask.view(), a.view(), nullptr, static_cast<double>(value), own.view(), site);
}

}  // namespace pto
