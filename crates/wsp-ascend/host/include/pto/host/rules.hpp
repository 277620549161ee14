// Rules that several instructions share: of types when a kernel is compiled, of places when it runs.
#pragma once

#include "tensor.hpp"

namespace pto::host {

template <typename... Tiles>
constexpr bool all_vec = ((Tiles::Loc == TileType::Vec) && ...);

template <typename... Tiles>
constexpr bool all_rows = ((Tiles::form == Form::Rows) && ...);

template <typename D>
constexpr bool is_column = D::form == Form::Columns && D::Cols == 1;

// Whether valid extents may be equal when a kernel runs.
constexpr bool may_equal(int a, int b) { return a == DYNAMIC || b == DYNAMIC || a == b; }

// Element types of vector instructions.
struct Any {
    static constexpr bool has(Elem) { return true; }
};
struct Real {
    static constexpr bool has(Elem elem) { return elem == Elem::F32 || elem == Elem::F16; }
};
struct Number {
    static constexpr bool has(Elem elem) { return Real::has(elem) || elem == Elem::I32 || elem == Elem::I16; }
};

// Operands of a vector instruction.
template <typename Types, typename D, typename... Tiles>
constexpr void check_vector() {
    static_assert(all_vec<D, Tiles...>, "operands of a vector instruction are Vec tiles");
    static_assert(((Tiles::elem == D::elem) && ...), "operands of a vector instruction have one element type");
    static_assert(!std::is_same_v<Types, Real> || Types::has(D::elem),
                  "elements of this instruction are float or half");
    static_assert(!std::is_same_v<Types, Number> || Types::has(D::elem),
                  "elements of this instruction are float, half, int32_t or int16_t");
}

template <typename D, typename... Tiles>
constexpr void check_shapes() {
    static_assert((may_equal(D::Valid[0], Tiles::Valid[0]) && ...) && (may_equal(D::Valid[1], Tiles::Valid[1]) && ...),
                  "valid shapes of the operands of an instruction by elements are equal");
}

template <typename Types, typename D, typename... Tiles>
constexpr void check_elementwise() {
    check_vector<Types, D, Tiles...>();
    check_shapes<D, Tiles...>();
    static_assert(all_rows<D, Tiles...>, "operands of an instruction by elements are row-major");
}

// A public simulation of the instruction set for hosts takes tiles of one type for a few instructions. Tiles of other rows or columns are left
// to cores, which take them.
template <typename D, typename T>
constexpr bool of_one_type = D::Rows != T::Rows || (D::Rows > 1 && D::Cols != T::Cols) || std::is_same_v<D, T>;

template <typename D, typename... Tiles>
constexpr void check_one_type() {
    static_assert((of_one_type<D, Tiles> && ...),
                  "tiles of this instruction of one row, or with the same rows and columns, are of one type");
}

// The bytes of the valid part of a tile, from the first to the last.
PTO_HOST_CODE Span span(const View &view) {
    const uint32_t last =
        view.at(static_cast<uint32_t>(view.valid.rows) - 1, static_cast<uint32_t>(view.valid.cols) - 1);
    return {static_cast<uint32_t>(view.address), last + size_of(view.elem)};
}

// Two tiles of an instruction share no bytes.
PTO_HOST_APART void apart(const Instruction &run, const View &dst, const View &src) {
    check(run, dst);
    check(run, src);
    const Span a = span(dst), b = span(src);
    if (dst.memory == src.memory && a.meets(b)) {
        run.wrong("overlap", {"a tile that it writes, bytes ", a, ", shares bytes with another of its tiles, ", b});
    }
}

// A tile is worked on in place, or the two share no bytes.
PTO_HOST_APART void in_place(const Instruction &run, const View &dst, const View &src) {
    const bool one = dst.address == src.address && dst.memory == src.memory && size_of(dst.elem) == size_of(src.elem);
    if (!one || (dst.cols != src.cols && src.valid.rows > 1)) {
        apart(run, dst, src);
    }
}

}  // namespace pto::host
