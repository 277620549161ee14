// Elements at other places of a tile.
#pragma once

#include "rules.hpp"

namespace pto {
namespace host {

PTO_HOST_APART void transpose(const View &dst, const View &src, const View &own, Site site) {
    Instruction run("TTRANS", PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        const auto all = read<decltype(zero)>(run, src);
        apart(run, dst, src);
        apart(run, own, src);
        apart(run, own, dst);
        spoil(run, own);
        Matrix<decltype(zero)> found(all.cols, all.rows);
        for (uint32_t row = 0; row < found.rows; ++row) {
            for (uint32_t col = 0; col < found.cols; ++col) {
                found.at(row, col) = all.at(col, row);
            }
        }
        write(run, dst, found);
    });
    run.end();
}

// Elements by their number in the storage of `src`.
PTO_HOST_APART void gather(const View &dst, const View &src, const View &places, const View &own, Site site) {
    Instruction run("TGATHER", PIPE_V, site);
    check(run, src);
    const Matrix<int64_t> numbers = read<int64_t>(run, places);
    apart(run, dst, src);
    apart(run, dst, places);
    if (!is_a5) {
        apart(run, own, src);
        apart(run, own, places);
        apart(run, own, dst);
        spoil(run, own);
    }
    with_numbers(src.elem, [&](auto zero) {
        Matrix<decltype(zero)> found(numbers.rows, numbers.cols);
        Bytes &bytes = opened(run, src);
        for (size_t at = 0; at < numbers.all.size(); ++at) {
            const int64_t number = numbers.all[at];
            if (number < 0 || number >= int64_t{src.rows} * src.cols) {
                run.wrong("bounds", {"element ", number, " of a tile of ", src.rows * src.cols});
            }
            const uint32_t from =
                static_cast<uint32_t>(src.address) + static_cast<uint32_t>(number) * size_of(src.elem);
            run.read(bytes, {{from, from + size_of(src.elem)}});
            get(src.elem, bytes.data + from, found.all[at]);
        }
        write(run, dst, found);
    });
    run.end();
}

}  // namespace host

template <typename D, typename S, typename W>
void TTRANS(const D &dst, const S &src, const W &own, PTO_HOST_SITE) {
    host::check_vector<host::Any, D, S, W>();
    static_assert(host::all_rows<D, S, W>, "TTRANS is of row-major tiles");
    static_assert(sizeof(typename D::DType) <= 4, "elements of TTRANS have 1, 2 or 4 bytes");
    static_assert(host::may_equal(D::Valid[0], S::Valid[1]) && host::may_equal(D::Valid[1], S::Valid[0]),
                  "TTRANS has as many rows as its source has columns, and the other way round");
    host::transpose(dst.view(), src.view(), own.view(), site);
}

template <typename D, typename S, typename P, typename W>
void TGATHER(const D &dst, const S &src, const P &places, const W &own, PTO_HOST_SITE) {
    host::check_vector<host::Any, D, S>();
    host::check_vector<host::Any, P, W>();
    static_assert(host::all_rows<D, S, P>, "TGATHER is of row-major tiles");
    static_assert(P::elem == host::Elem::I32, "places of TGATHER are int32_t");
    static_assert(sizeof(typename D::DType) == 2 || sizeof(typename D::DType) == 4,
                  "elements of TGATHER have 2 or 4 bytes");
    static_assert(D::Valid[1] == D::Cols, "the columns of the destination of TGATHER are valid in full");
    host::check_shapes<D, P>();
    host::gather(dst.view(), src.view(), places.view(), own.view(), site);
}

}  // namespace pto
