// Transfers between global memory and memories of a core, and between those.
#pragma once

#include "rules.hpp"

namespace pto {

enum class AtomicType { AtomicNone, AtomicAdd };

namespace host {

// Whether a tile of UB and a tensor have one layout.
template <typename D, typename G>
constexpr bool one_layout = D::form == (G::layout == Layout::ND ? Form::Rows : Form::Columns);

// A valid part that may be as large as a tensor of which extents are known.
template <typename D, typename G>
constexpr bool may_fill() {
    constexpr auto dims = G::ShapeType::known;
    bool known = true;
    int64_t rows = 1;
    for (size_t dim = 0; dim < 4; ++dim) {
        known = known && dims[dim] != DYNAMIC;
        rows *= dims[dim];
    }
    return (!known || D::Valid[0] == DYNAMIC || rows == D::Valid[0]) &&
           (dims[4] == DYNAMIC || D::Valid[1] == DYNAMIC || dims[4] == D::Valid[1]);
}

PTO_HOST_APART void load(const View &dst, const GlobalView &src, Site site) {
    Instruction run("TLOAD", PIPE_MTE2, site);
    run.belongs(dst.memory == Memory::UB ? Side::Vector : Side::Cube);
    check(run, dst);
    const Place place(run, src, dst.valid);
    run.read(place.bytes(), place.runs(run));
    with_numbers(dst.elem, [&](auto zero) {
        Matrix<decltype(zero)> all(static_cast<uint32_t>(dst.valid.rows), static_cast<uint32_t>(dst.valid.cols));
        for (uint32_t row = 0; row < all.rows; ++row) {
            for (uint32_t col = 0; col < all.cols; ++col) {
                get(src.elem, place.bytes().data + place.at(run, row, col), all.at(row, col));
            }
        }
        write(run, dst, all);
    });
    // What the rest of the tile holds differs between platforms and simulations.
    Bytes &bytes = core().memory(dst.memory);
    const uint32_t rows = dst.rows, cols = dst.cols, size = size_of(dst.elem);
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t col = row < dst.valid.rows ? static_cast<uint32_t>(dst.valid.cols) : 0; col < cols; ++col) {
            const uint32_t first = dst.at(row, col);
            bytes.poison({first, first + size});
        }
    }
    run.end();
}

PTO_HOST_APART void store(const GlobalView &dst, const View &src, bool adds, Site site) {
    Instruction run("TSTORE", src.memory == Memory::L0C ? PIPE_FIX : PIPE_MTE3, site);
    with_numbers(src.elem, [&](auto zero) {
        const auto all = read<decltype(zero)>(run, src);
        const Place place(run, dst, src.valid);
        const std::vector<Span> runs = place.runs(run);
        if (adds) {
            run.read(place.bytes(), runs);
        } else {
            place.own_lines(run, runs);
        }
        run.write(place.bytes(), runs);
        for (uint32_t row = 0; row < all.rows; ++row) {
            for (uint32_t col = 0; col < all.cols; ++col) {
                const uint32_t at = place.at(run, row, col);
                decltype(zero) held{};
                if (adds) {
                    get(dst.elem, place.bytes().data + at, held);
                }
                const auto value = all.at(row, col);
                put(dst.elem, place.bytes().data + at, adds ? held + value : value);
            }
        }
    });
    run.end();
}

// Copies a part of a tile that begins at a row and column.
PTO_HOST_APART void copy_part(const char *name, pipe_t unit, const View &dst, const View &src, int64_t row,
                                        int64_t col, Site site) {
    Instruction run(name, unit, site);
    check(run, src);
    check(run, dst);
    if (src.memory == Memory::L0C && dst.memory == Memory::UB) {
        same(run, "the valid part of the destination", dst.valid, src.valid);
    }
    if (row < 0 || col < 0 || row + dst.valid.rows > src.valid.rows || col + dst.valid.cols > src.valid.cols) {
        run.wrong("bounds", {dst.valid, " from row ", row, " and column ", col, " of ", src.valid});
    }
    const int64_t row_step = src.form == Form::Rows ? 1 : (src.form == Form::ZN ? src.line : 16);
    const int64_t col_step = src.form == Form::Rows ? 1 : (src.form == Form::ZN ? 16 : src.line);
    if (row % row_step != 0 || col % col_step != 0) {
        run.wrong("alignment", {"row ", row, " and column ", col, " begin no box of ", Extents{row_step, col_step}});
    }
    // Only the part is read.
    with_numbers(src.elem, [&](auto zero) {
        using N = decltype(zero);
        Matrix<N> found(static_cast<uint32_t>(dst.valid.rows), static_cast<uint32_t>(dst.valid.cols));
        Bytes &bytes = opened(run, src);
        for (uint32_t r = 0; r < found.rows; ++r) {
            for (uint32_t c = 0; c < found.cols; ++c) {
                const uint32_t at = src.at(r + static_cast<uint32_t>(row), c + static_cast<uint32_t>(col));
                run.read(bytes, {{at, at + size_of(src.elem)}});
                get(src.elem, bytes.data + at, found.at(r, c));
            }
        }
        if (src.memory == dst.memory) {
            apart(run, dst, src);
        }
        write(run, dst, found);
    });
    run.end();
}

// A part of a tile gets the valid part of another.
PTO_HOST_APART void put_part(const char *name, pipe_t unit, const View &dst, const View &src, int64_t row,
                                       int64_t col, Site site) {
    Instruction run(name, unit, site);
    check(run, dst);
    with_numbers(src.elem, [&](auto zero) {
        const auto all = read<decltype(zero)>(run, src);
        if (row < 0 || col < 0 || row + all.rows > dst.valid.rows || col + all.cols > dst.valid.cols) {
            run.wrong("bounds", {all.extents(), " at row ", row, " and column ", col, " of ", dst.valid});
        }
        if (src.memory == dst.memory) {
            apart(run, dst, src);
        }
        Bytes &bytes = opened(run, dst);
        for (uint32_t r = 0; r < all.rows; ++r) {
            for (uint32_t c = 0; c < all.cols; ++c) {
                const uint32_t at = dst.at(r + static_cast<uint32_t>(row), c + static_cast<uint32_t>(col));
                run.write(bytes, {{at, at + size_of(dst.elem)}});
                put(dst.elem, bytes.data + at, all.at(r, c));
            }
        }
    });
    run.end();
}

// The unit that moves between two memories of a core.
constexpr pipe_t mover(TileType to, TileType from) {
    if (from == TileType::Acc) {
        return PIPE_FIX;
    }
    return from == TileType::Mat ? PIPE_MTE1 : (to == TileType::Mat ? PIPE_MTE3 : PIPE_V);
}

template <typename D, typename S>
constexpr bool is_move(TileType to, TileType from) {
    return D::Loc == to && S::Loc == from;
}

// The moves that a platform has.
template <typename D, typename S>
constexpr void check_move() {
    constexpr bool to_mat = is_move<D, S>(TileType::Mat, TileType::Acc);
    constexpr bool staged =
        S::Loc == TileType::Mat && (D::Loc == TileType::Left || D::Loc == TileType::Right || D::Loc == TileType::Bias);
    constexpr bool on_a5 = is_move<D, S>(TileType::Vec, TileType::Acc) || is_move<D, S>(TileType::Mat, TileType::Vec);
    constexpr bool in_vec = is_move<D, S>(TileType::Vec, TileType::Vec);
    static_assert(staged || to_mat || in_vec || is_a5 || !on_a5,
                  "a2 and a3 move nothing from Acc to Vec or from Vec to Mat: exchange it through global memory");
    static_assert(staged || to_mat || in_vec || on_a5,
                  "no unit moves between these memories: Mat goes to Left, Right and Bias, Acc to Mat, Vec to Vec");
    static_assert(!to_mat || is_a5 || D::elem == Elem::F16 || D::elem == Elem::BF16,
                  "from Acc to Mat, a2 and a3 move half and bfloat16_t only");
    static_assert(S::Loc == TileType::Acc || D::elem == S::elem, "a move keeps the element type");
    static_assert(S::Loc != TileType::Acc || D::elem == S::elem ||
                      (S::elem == Elem::F32 && (D::elem == Elem::F16 || D::elem == Elem::BF16)),
                  "a move from Acc is from float to float, half or bfloat16_t, or from int32_t to int32_t");
}

// How elements lie in the tiles of a move: between UB and L1 in boxes, which are packed by the rows that are valid.
template <typename D, typename S>
constexpr void check_layouts() {
    constexpr bool to_mat = is_move<D, S>(TileType::Mat, TileType::Vec);
    constexpr bool in_vec = is_move<D, S>(TileType::Vec, TileType::Vec);
    constexpr bool boxes = in_vec && D::form == Form::NZ && S::form == Form::Rows;
    constexpr bool whole = D::elem == Elem::F32 || D::elem == Elem::F16 || D::elem == Elem::BF16 ||
                           D::elem == Elem::I32 || D::elem == Elem::I8 || D::elem == Elem::U8;
    static_assert(!to_mat || (D::form == Form::NZ && S::form == Form::NZ), "from Vec to Mat, both tiles are in NZ");
    static_assert(!in_vec || boxes || D::form == S::form,
                  "from Vec to Vec, a move keeps the layout, or takes row-major tiles to NZ");
    static_assert(!(boxes || to_mat) || D::Valid[0] == D::Rows, "all rows of a tile that a move takes to NZ are valid");
    static_assert(!boxes || whole,
                  "a move to NZ is of float, half, bfloat16_t, int32_t, int8_t or uint8_t");
}

}  // namespace host

template <typename D, typename G>
void TLOAD(const D &dst, const G &src, PTO_HOST_SITE) {
    constexpr bool vec = D::Loc == TileType::Vec, mat = D::Loc == TileType::Mat;
    static_assert(vec || mat, "TLOAD fills Vec and Mat tiles only: Left, Right and Acc get theirs from L1 by TMOV");
    static_assert(D::elem == host::elem_of<typename G::DType>, "TLOAD keeps the element type");
    static_assert(!vec || host::one_layout<D, G>,
                  "TLOAD into a Vec tile keeps the layout: ND is row-major, DN column-major");
    static_assert(!mat || D::form != host::Form::NZ || G::layout == Layout::ND,
                  "TLOAD into a Mat tile in NZ is from ND");
    static_assert(!mat || D::form != host::Form::ZN || G::layout == Layout::DN,
                  "TLOAD into a Mat tile in ZN is from DN");
    static_assert(!vec || D::Rows <= 4095, "TLOAD fills at most 4095 rows of a Vec tile");
    static_assert(!host::is_long(D::elem) || (vec && G::layout == Layout::ND),
                  "elements of 64 bits are transferred between ND and row-major Vec tiles only");
    static_assert(host::may_fill<D, G>(), "the valid part of the tile is as large as the tensor");
    host::load(dst.view(), host::view_of(src), site);
}

template <typename S, typename G, AtomicType atomic = AtomicType::AtomicNone>
void TSTORE(const G &dst, const S &src, PTO_HOST_SITE) {
    constexpr host::Elem to = host::elem_of<typename G::DType>;
    constexpr bool vec = S::Loc == TileType::Vec, acc = S::Loc == TileType::Acc;
    static_assert(vec || acc, "TSTORE takes Vec and Acc tiles only");
    static_assert(!vec || to == S::elem, "TSTORE of a Vec tile keeps the element type");
    static_assert(!vec || host::one_layout<S, G>,
                  "TSTORE of a Vec tile keeps the layout: ND is row-major, DN column-major");
    static_assert(!acc || G::layout == Layout::ND, "TSTORE of an Acc tile is to ND");
    static_assert(
        !acc || to == S::elem || (S::elem == host::Elem::F32 && (to == host::Elem::F16 || to == host::Elem::BF16)),
        "TSTORE of an Acc tile is from float to float, half or bfloat16_t, or from int32_t to int32_t");
    static_assert(!host::is_long(to) || G::layout == Layout::ND,
                  "elements of 64 bits are transferred between ND and row-major Vec tiles only");
    static_assert(host::may_fill<S, G>(), "the valid part of the tile is as large as the tensor");
    static_assert(atomic == AtomicType::AtomicNone || host::is_real(to) || to == host::Elem::I8 ||
                      to == host::Elem::I16 || to == host::Elem::I32,
                  "an atomic addition is of float, half, bfloat16_t, int8_t, int16_t or int32_t");
    host::store(host::view_of(dst), src.view(), atomic == AtomicType::AtomicAdd, site);
}

template <typename D, typename S>
void TMOV(const D &dst, const S &src, PTO_HOST_SITE) {
    host::check_move<D, S>();
    host::check_layouts<D, S>();
    constexpr bool drains = host::is_move<D, S>(TileType::Vec, TileType::Acc);
    static_assert(drains || (D::Rows == S::Rows && D::Cols == S::Cols), "TMOV is between tiles of equal extents");
    static_assert(!drains || (host::may_equal(D::Valid[0], S::Valid[0]) && host::may_equal(D::Valid[1], S::Valid[1])),
                  "TMOV from Acc to Vec takes all that is valid");
    host::copy_part("TMOV", host::mover(D::Loc, S::Loc), dst.view(), src.view(), 0, 0, site);
}

// The part of a tile that begins at a row and column.
template <typename D, typename S, typename N, typename M>
void TEXTRACT(const D &dst, const S &src, N row, M col, PTO_HOST_SITE) {
    static_assert(S::Loc == TileType::Mat || S::Loc == TileType::Vec, "TEXTRACT takes from Mat and Vec tiles");
    host::check_move<D, S>();
    static_assert(S::Loc != TileType::Vec || host::all_rows<D, S>, "TEXTRACT of a Vec tile is row-major");
    host::copy_part("TEXTRACT", host::mover(D::Loc, S::Loc), dst.view(), src.view(), static_cast<int64_t>(row),
                    static_cast<int64_t>(col), site);
}

// The part of a tile that begins at a row and column becomes what is valid of another.
template <typename D, typename S, typename N, typename M>
void TINSERT(const D &dst, const S &src, N row, M col, PTO_HOST_SITE) {
    static_assert(S::Loc != TileType::Vec || host::is_a5, "TINSERT from a Vec tile is on a5 only");
    host::check_move<D, S>();
    static_assert(S::Loc != TileType::Vec || D::Loc != TileType::Vec || host::all_rows<D, S>,
                  "TINSERT of a Vec tile is row-major");
    host::put_part("TINSERT", host::mover(D::Loc, S::Loc), dst.view(), src.view(), static_cast<int64_t>(row),
                   static_cast<int64_t>(col), site);
}

// A tile gets the address of another, whose bytes it sees in another shape.
template <typename D, typename S>
void TRESHAPE(D &dst, const S &src, PTO_HOST_SITE) {
    static_assert(D::Loc == S::Loc, "TRESHAPE stays in a memory");
    static_assert(D::Rows * D::Cols * sizeof(typename D::DType) == S::Rows * S::Cols * sizeof(typename S::DType),
                  "TRESHAPE keeps the number of bytes");
    dst.bind(src.view().address, site);
}

}  // namespace pto
