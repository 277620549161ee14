// Reductions of rows and of columns.
#pragma once

#include "arithmetic.hpp"

namespace pto {
namespace host {

// One value of each row (`Column`: they are a column) or of each column.
enum class Reduced { Column, Row };

// Element `at` of line `line` of what is reduced.
template <typename N>
N element(const Matrix<N> &all, Reduced to, uint32_t line, uint32_t at) {
    return to == Reduced::Column ? all.at(line, at) : all.at(at, line);
}

// `fold(all, line, count)` of each line becomes the destination. Values of the result are of type `M`.
template <typename N, typename M, typename F>
void reduce_lines(Instruction &run, const View &dst, const View &src, const View *own, Reduced to, const F &fold) {
    const Matrix<N> all = read<N>(run, src);
    apart(run, dst, src);
    if (own != nullptr) {
        apart(run, *own, src);
        apart(run, *own, dst);
        spoil(run, *own);
    }
    const bool column = to == Reduced::Column;
    const uint32_t lines = column ? all.rows : all.cols, count = column ? all.cols : all.rows;
    Matrix<M> found(column ? lines : 1, column ? 1 : lines);
    for (uint32_t line = 0; line < lines; ++line) {
        found.all[line] = fold(all, line, count);
    }
    write(run, dst, found);
}

// Values are taken from the first on.
PTO_HOST_APART void reduce(const char *name, const View &dst, const View &src, const View *own, Reduced to,
                                     const Binary &op, Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        using N = decltype(zero);
        reduce_lines<N, N>(run, dst, src, own, to, [&](const Matrix<N> &all, uint32_t line, uint32_t count) {
            N found = element(all, to, line, 0);
            for (uint32_t at = 1; at < count; ++at) {
                found = op(found, element(all, to, line, at));
            }
            return found;
        });
    });
    run.end();
}

// Where a line has its first NaN, or else the first of its values that no other is better than.
PTO_HOST_APART void reduce_place(const char *name, const View &dst, const View &src, const View &own,
                                           Reduced to, bool largest, Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        using N = decltype(zero);
        reduce_lines<N, int64_t>(run, dst, src, &own, to, [&](const Matrix<N> &all, uint32_t line, uint32_t count) {
            int64_t found = 0;
            N best = element(all, to, line, 0);
            for (uint32_t at = 1; at < count && best == best; ++at) {
                const N value = element(all, to, line, at);
                if (value != value || (largest ? value > best : value < best)) {
                    found = at;
                    best = value;
                }
            }
            return found;
        });
    });
    run.end();
}

template <typename D, typename S>
constexpr void check_reduction(std::integral_constant<Reduced, Reduced::Column>) {
    static_assert(all_rows<S>, "what rows are reduced of is row-major");
    static_assert(is_column<D> || (all_rows<D> && may_equal(D::Valid[1], 1)),
                  "the result of a reduction of rows is a column-major column, or rows with one valid column");
    static_assert(D::Rows == S::Rows, "a reduction of rows has as many rows in its result as in its source");
    static_assert(may_equal(D::Valid[0], S::Valid[0]), "a reduction of rows has one valid value per valid row");
}

template <typename D, typename S>
constexpr void check_reduction(std::integral_constant<Reduced, Reduced::Row>) {
    static_assert(all_rows<D, S>, "a reduction of columns has row-major tiles");
    static_assert(may_equal(D::Valid[0], 1) && may_equal(D::Valid[1], S::Valid[1]),
                  "a reduction of columns has one row of a valid value per valid column");
}

template <typename S, typename W>
constexpr void check_temporary() {
    static_assert(all_vec<W> && W::elem == S::elem && W::Rows * W::Cols >= S::Rows * S::Cols,
                  "the temporary tile of a reduction is a Vec tile with the elements of its source, and as many");
}

template <Reduced to, typename D, typename S>
constexpr void check_values() {
    check_vector<Number, D, S>();
    check_reduction<D, S>(std::integral_constant<Reduced, to>());
}

template <Reduced to, typename D, typename S, typename W>
constexpr void check_places() {
    check_vector<Number, S>();
    static_assert(all_vec<D> && (D::elem == Elem::I32 || D::elem == Elem::U32),
                  "places are a Vec tile of int32_t or uint32_t");
    check_reduction<D, S>(std::integral_constant<Reduced, to>());
    check_temporary<S, W>();
}

}  // namespace host

#define PTO_HOST_REDUCTION(NAME, OP)                                                                                   \
    template <typename D, typename S, typename W>                                                                      \
    void TROW##NAME(const D &dst, const S &src, const W &own, PTO_HOST_SITE) {                                         \
        host::check_values<host::Reduced::Column, D, S>();                                                             \
        host::check_temporary<S, W>();                                                                                 \
        const host::View view = own.view();                                                                            \
        host::reduce("TROW" #NAME, dst.view(), src.view(), &view, host::Reduced::Column, host::OP, site);              \
    }                                                                                                                  \
    template <typename D, typename S>                                                                                  \
    void TCOL##NAME(const D &dst, const S &src, PTO_HOST_SITE) {                                                       \
        host::check_values<host::Reduced::Row, D, S>();                                                                \
        host::reduce("TCOL" #NAME, dst.view(), src.view(), nullptr, host::Reduced::Row, host::OP, site);               \
    }

PTO_HOST_REDUCTION(SUM, sums)
PTO_HOST_REDUCTION(MAX, maxima)
PTO_HOST_REDUCTION(MIN, minima)
#undef PTO_HOST_REDUCTION

#define PTO_HOST_PLACE(NAME, TO, LARGEST)                                                                              \
    template <typename D, typename S, typename W>                                                                      \
    void NAME(const D &dst, const S &src, const W &own, PTO_HOST_SITE) {                                               \
        host::check_places<host::Reduced::TO, D, S, W>();                                                              \
        host::reduce_place(#NAME, dst.view(), src.view(), own.view(), host::Reduced::TO, LARGEST, site);               \
    }

PTO_HOST_PLACE(TROWARGMAX, Column, true)
PTO_HOST_PLACE(TROWARGMIN, Column, false)
PTO_HOST_PLACE(TCOLARGMAX, Row, true)
PTO_HOST_PLACE(TCOLARGMIN, Row, false)
#undef PTO_HOST_PLACE

}  // namespace pto
