// Instructions of a tile and one value per row or per column.
#pragma once

#include "arithmetic.hpp"

namespace pto {
namespace host {

// Which of the two a vector of values goes along.
enum class Along { Column, Row };

// A destination of rows and columns, and one value per row or column.
template <typename Types, Along along, typename D, typename V>
constexpr void check_expand() {
    check_vector<Types, D, V>();
    static_assert(all_rows<D>, "the destination of an expansion is row-major");
    if constexpr (along == Along::Column) {
        static_assert(is_column<V> || (V::form == Form::Rows && V::Cols * sizeof(typename V::DType) == alignment),
                      "the values of rows are a column-major column, or row-major with 32 bytes per row");
        static_assert(may_equal(D::Valid[0], V::Valid[0]), "there is one value per row");
    } else {
        static_assert(V::form == Form::Rows, "the values of columns are row-major");
        static_assert(may_equal(V::Valid[0], 1) && may_equal(D::Valid[1], V::Valid[1]),
                      "there is one value per column");
    }
}

template <typename Types, Along along, typename D, typename S, typename V>
constexpr void check_expand_binary() {
    check_elementwise<Types, D, S>();
    check_expand<Types, along, D, V>();
}

// Bytes that an instruction uses on a2 and a3 while it expands a column: those of a tile that it is given, else a fixed
// place.
PTO_HOST_APART void spoil_for_column(Instruction &run, const View &column, const View *own) {
    if (own != nullptr) {
        const uint32_t need = static_cast<uint32_t>((column.valid.rows + 7) / 8) * 256;
        if (!is_a5 && own->bytes() < (need < expand_bytes ? need : expand_bytes)) {
            run.wrong("shape", {"its temporary tile has ", own->bytes(), " bytes and needs ", need});
        }
        apart(run, *own, column);
        spoil(run, *own);
    } else if (!is_a5 && column.form == Form::Columns) {
        Bytes &bytes = core().memory(Memory::UB);
        const Span all{expand_address, expand_address + expand_bytes};
        run.through(all);
        run.write(bytes, {all}, false);
    }
}

template <typename N, typename F>
Matrix<N> expanded(uint32_t rows, uint32_t cols, const Matrix<N> &values, Along along, const F &f) {
    Matrix<N> found(rows, cols);
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t col = 0; col < cols; ++col) {
            found.at(row, col) = f(row, col, along == Along::Column ? values.at(row, 0) : values.at(0, col));
        }
    }
    return found;
}

// One value per row or per column, for a destination of these extents.
template <typename N>
Matrix<N> read_values(Instruction &run, const View &values, Along along, const Extents &dst) {
    Matrix<N> found = read<N>(run, values);
    const bool column = along == Along::Column;
    const int64_t cols = column && values.form == Form::Rows ? found.cols : 1;
    same(run, column ? "the column of values" : "the row of values", found.extents(),
         column ? Extents{dst.rows, cols} : Extents{1, dst.cols});
    return found;
}

PTO_HOST_APART void expand_binary(const char *name, const View &dst, const View &src, const View &values,
                                            const View *own, Along along, const Binary &op, Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        using N = decltype(zero);
        const Matrix<N> left = read<N>(run, src), right = read_values<N>(run, values, along, src.valid);
        in_place(run, dst, src);
        apart(run, dst, values);
        if (along == Along::Column) {
            spoil_for_column(run, values, own);
        }
        write(run, dst, expanded<N>(left.rows, left.cols, right, along, [&](uint32_t row, uint32_t col, N value) {
                  return op(left.at(row, col), value);
              }));
    });
    run.end();
}

PTO_HOST_APART void expand(const char *name, const View &dst, const View &values, Along along, Site site) {
    Instruction run(name, PIPE_V, site);
    check(run, dst);
    with_numbers(dst.elem, [&](auto zero) {
        using N = decltype(zero);
        const Matrix<N> right = read_values<N>(run, values, along, dst.valid);
        apart(run, dst, values);
        write(run, dst,
              expanded<N>(static_cast<uint32_t>(dst.valid.rows), static_cast<uint32_t>(dst.valid.cols), right, along,
                          [](uint32_t, uint32_t, N value) { return value; }));
    });
    run.end();
}

inline float exp_of_difference(float a, float b) { return std::exp(a - b); }
constexpr Binary exponentials{exp_of_difference, nullptr};

}  // namespace host

// The values of rows in every column.
template <typename D, typename V>
void TROWEXPAND(const D &dst, const V &values, PTO_HOST_SITE) {
    host::check_expand<host::Number, host::Along::Column, D, V>();
    host::expand("TROWEXPAND", dst.view(), values.view(), host::Along::Column, site);
}

// The values of columns in every row.
template <typename D, typename V>
void TCOLEXPAND(const D &dst, const V &values, PTO_HOST_SITE) {
    host::check_expand<host::Number, host::Along::Row, D, V>();
    host::expand("TCOLEXPAND", dst.view(), values.view(), host::Along::Row, site);
}

#define PTO_HOST_EXPAND(NAME, OP)                                                                                      \
    template <typename D, typename S, typename V>                                                                      \
    void TROWEXPAND##NAME(const D &dst, const S &src, const V &values, PTO_HOST_SITE) {                                \
        host::check_expand_binary<host::Real, host::Along::Column, D, S, V>();                                         \
        host::expand_binary("TROWEXPAND" #NAME, dst.view(), src.view(), values.view(), nullptr, host::Along::Column,   \
                            host::OP, site);                                                                           \
    }                                                                                                                  \
    template <typename D, typename S, typename V, typename W>                                                          \
    void TROWEXPAND##NAME(const D &dst, const S &src, const V &values, const W &own, PTO_HOST_SITE) {                  \
        host::check_expand_binary<host::Real, host::Along::Column, D, S, V>();                                         \
        host::check_vector<host::Any, W>();                                                                            \
        const host::View view = own.view();                                                                            \
        host::expand_binary("TROWEXPAND" #NAME, dst.view(), src.view(), values.view(), &view, host::Along::Column,     \
                            host::OP, site);                                                                           \
    }                                                                                                                  \
    template <typename D, typename S, typename V>                                                                      \
    void TCOLEXPAND##NAME(const D &dst, const S &src, const V &values, PTO_HOST_SITE) {                                \
        host::check_expand_binary<host::Real, host::Along::Row, D, S, V>();                                            \
        host::expand_binary("TCOLEXPAND" #NAME, dst.view(), src.view(), values.view(), nullptr, host::Along::Row,      \
                            host::OP, site);                                                                           \
    }

PTO_HOST_EXPAND(ADD, sums)
PTO_HOST_EXPAND(SUB, differences)
PTO_HOST_EXPAND(MUL, products)
PTO_HOST_EXPAND(DIV, quotients)
PTO_HOST_EXPAND(MAX, maxima)
PTO_HOST_EXPAND(MIN, minima)
PTO_HOST_EXPAND(EXPDIF, exponentials)

#undef PTO_HOST_EXPAND

}  // namespace pto
