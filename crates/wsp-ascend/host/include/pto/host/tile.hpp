// Tiles: what may be one is decided when a kernel is compiled.
#pragma once

#include <cstdint>
#include <type_traits>

#include "view.hpp"

namespace pto {

// A valid extent, or an extent of a tensor, that is known when a kernel runs.
constexpr int DYNAMIC = -1;

enum class TileType { Vec, Mat, Left, Right, Acc, Bias };
enum class BLayout { RowMajor, ColMajor };
enum class SLayout { NoneBox, RowMajor, ColMajor };
enum class CompactMode { Null };

// What a fill puts beside the valid part; from 2^32 on, the bits of a `float`.
enum class PadValue : uint64_t { Null, Zero, Max, Min };

constexpr PadValue PadValueCustom(float value) {
    return static_cast<PadValue>((uint64_t{1} << 32) | __builtin_bit_cast(uint32_t, value));
}

namespace host {

constexpr Memory memory_of(TileType type) {
    switch (type) {
        case TileType::Vec: return Memory::UB;
        case TileType::Mat: return Memory::L1;
        case TileType::Left: return Memory::L0A;
        case TileType::Right: return Memory::L0B;
        case TileType::Acc: return Memory::L0C;
        default: return Memory::Bias;
    }
}

constexpr Form form_of(BLayout boxes, SLayout elements) {
    const bool rows = boxes == BLayout::RowMajor;
    switch (elements) {
        case SLayout::NoneBox: return rows ? Form::Rows : Form::Columns;
        case SLayout::RowMajor: return rows ? Form::ZZ : Form::NZ;
        default: return Form::ZN;
    }
}

// A tile of so many bytes may begin at an address.
PTO_HOST_APART void check_address(Memory memory, uint64_t bytes, int64_t address, Site site) {
    if (address < 0 || address % alignment != 0) {
        fault("alignment", {"TASSIGN (", site, ") of byte ", address, ": addresses are multiples of 32 bytes"});
    }
    const int64_t end = address + static_cast<int64_t>(bytes);
    if (end > capacity(memory)) {
        fault("address", {"TASSIGN (", site, ") of byte ", address, ": the tile ends at byte ", end, " of ",
                          name_of(memory), ", which has ", capacity(memory)});
    }
}

// A valid extent that a tile has room for.
constexpr bool fits(int valid, int extent) { return valid == DYNAMIC || (valid >= 1 && valid <= extent); }

constexpr bool is_multiple(uint32_t value, uint32_t of) { return value % of == 0; }

// The rules for tiles of a memory; `line`: elements of 32 bytes.
template <TileType type, typename T, int Rows, int Cols, BLayout boxes, SLayout elements, int Fractal>
constexpr void check_tile() {
    constexpr Form form = form_of(boxes, elements);
    constexpr uint32_t rows = Rows, cols = Cols, size = sizeof(T), line = alignment / size;
    if constexpr (type == TileType::Vec) {
        static_assert(elements == SLayout::NoneBox || (is_a5 && form == Form::NZ),
                      "a Vec tile is not boxed (SLayout::NoneBox), or on a5 in NZ");
        static_assert(form != Form::NZ || (is_multiple(rows, 16) && is_multiple(cols, line)),
                      "a Vec tile in NZ has a multiple of 16 rows, and rows of a multiple of 32 bytes");
        static_assert(form != Form::Rows || is_multiple(cols * size, alignment),
                      "a row of a row-major Vec tile takes a multiple of 32 bytes");
        static_assert(form != Form::Columns || is_multiple(rows * size, alignment),
                      "a column of a column-major Vec tile takes a multiple of 32 bytes");
    } else if constexpr (type == TileType::Mat) {
        static_assert(form == Form::NZ || form == Form::ZN || (form == Form::Rows && rows == 1),
                      "a Mat tile is NZ (BLayout::ColMajor, SLayout::RowMajor), ZN (BLayout::RowMajor, "
                      "SLayout::ColMajor), or one row that is not boxed");
        static_assert(form != Form::NZ || (is_multiple(rows, 16) && is_multiple(cols, line)),
                      "a Mat tile in NZ has a multiple of 16 rows, and rows of a multiple of 32 bytes");
        static_assert(form != Form::ZN || (is_multiple(rows, line) && is_multiple(cols, 16)),
                      "a Mat tile in ZN has columns of a multiple of 32 bytes, and a multiple of 16 columns");
        static_assert(form != Form::Rows || is_multiple(cols * size, alignment),
                      "a row of a Mat tile takes a multiple of 32 bytes");
    } else if constexpr (type == TileType::Left) {
        static_assert(elements == SLayout::RowMajor, "a Left tile is boxed by rows: TileLeft");
        static_assert(is_multiple(rows, 16) || rows == 1, "a Left tile has a multiple of 16 rows, or one");
        static_assert(is_multiple(cols, line), "a row of a Left tile takes a multiple of 32 bytes");
    } else if constexpr (type == TileType::Right) {
        static_assert(form == Form::ZN, "a Right tile is in ZN: TileRight");
        static_assert(is_multiple(rows, line), "a column of a Right tile takes a multiple of 32 bytes");
        static_assert(is_multiple(cols, 16), "a Right tile has a multiple of 16 columns");
    } else if constexpr (type == TileType::Acc) {
        static_assert(form == Form::NZ, "an Acc tile is in NZ: TileAcc");
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, int32_t>,
                      "elements of an Acc tile are float or int32_t");
        static_assert(is_multiple(rows, 16) && is_multiple(cols, 16),
                      "an Acc tile has multiples of 16 rows and columns");
    } else {
        static_assert(form == Form::Rows && rows == 1, "a Bias tile is one row that is not boxed");
        static_assert(is_multiple(cols * size, 64), "a Bias tile takes a multiple of 64 bytes");
    }
    static_assert(Fractal == (type == TileType::Acc ? 1024 : 512), "boxes have 512 bytes, in Acc tiles 1024");
}

}  // namespace host

template <TileType Type, typename T, int Rows_, int Cols_, BLayout Boxes = BLayout::RowMajor, int ValidRow = Rows_,
          int ValidCol = Cols_, SLayout Elements = SLayout::NoneBox, int Fractal = 512, PadValue Pad = PadValue::Null,
          CompactMode Compact = CompactMode::Null>
class Tile {
public:
    using DType = T;
    static constexpr TileType Loc = Type;
    static constexpr int Rows = Rows_, Cols = Cols_;
    static constexpr int Valid[2] = {ValidRow, ValidCol};
    static constexpr host::Form form =
        Rows_ == 1 && Type == TileType::Left ? host::Form::Rows : host::form_of(Boxes, Elements);
    static constexpr PadValue pad = Pad;
    static constexpr host::Elem elem = host::elem_of<T>;

    static_assert(host::elem_of<T> != host::Elem::None,
                  "elements are float, half, bfloat16_t, int8_t to int64_t or uint8_t to uint64_t");
    static_assert(Rows_ >= 1 && Cols_ >= 1, "a tile has at least one row and one column");
    static_assert(host::fits(ValidRow, Rows_) && host::fits(ValidCol, Cols_),
                  "a valid extent is DYNAMIC, or between 1 and the extent of the tile");
    static_assert(static_cast<uint64_t>(Rows_) * static_cast<uint64_t>(Cols_) * sizeof(T) <=
                      host::capacity(host::memory_of(Type)),
                  "the tile is larger than its memory");

    Tile() { host::check_tile<Type, T, Rows_, Cols_, Boxes, Elements, Fractal>(); }

    // The valid rows or columns, where one of them is dynamic.
    template <typename N>
    explicit Tile(N valid) : Tile() {
        static_assert((ValidRow == DYNAMIC) != (ValidCol == DYNAMIC),
                      "the constructor of a tile takes its dynamic extents: this one has none or two");
        (ValidRow == DYNAMIC ? valid_.rows : valid_.cols) = static_cast<int64_t>(valid);
    }

    template <typename N, typename M>
    Tile(N rows, M cols) : Tile() {
        static_assert(ValidRow == DYNAMIC && ValidCol == DYNAMIC,
                      "the constructor of a tile takes its dynamic extents: this one has none or one");
        valid_ = {static_cast<int64_t>(rows), static_cast<int64_t>(cols)};
    }

    int64_t GetValidRow() const { return valid_.rows; }
    int64_t GetValidCol() const { return valid_.cols; }

    template <typename N>
    void SetValidRow(N rows) {
        static_assert(ValidRow == DYNAMIC, "the valid rows of this tile are not dynamic");
        valid_.rows = static_cast<int64_t>(rows);
    }

    template <typename N>
    void SetValidCol(N cols) {
        static_assert(ValidCol == DYNAMIC, "the valid columns of this tile are not dynamic");
        valid_.cols = static_cast<int64_t>(cols);
    }

    template <typename N, typename M>
    void SetValidShape(N rows, M cols) {
        SetValidRow(rows);
        SetValidCol(cols);
    }

    // The element of this number in the tile's storage, read by S.
    template <typename N>
    T GetValue(N place, PTO_HOST_SITE) const {
        host::Instruction run("GetValue", PIPE_S, site, true);
        return host::raw<T>(element(run, static_cast<int64_t>(place), false));
    }

    // The element of this number in the tile's storage gets a value by S.
    template <typename N>
    void SetValue(N place, T value, PTO_HOST_SITE) const {
        host::Instruction run("SetValue", PIPE_S, site);
        host::put_raw(element(run, static_cast<int64_t>(place), true), value);
        run.end();
    }

    host::View view() const {
        constexpr uint32_t line = Type == TileType::Acc ? 16 : host::alignment / static_cast<uint32_t>(sizeof(T));
        return {host::memory_of(Type), elem, form, line, Rows_, Cols_, valid_, address_, buffer_};
    }

    // Says of which buffer it is, by a number from 1 on.
    void belong(uint32_t buffer) { buffer_ = buffer; }

    // Binds an address; see `TASSIGN`.
    void bind(int64_t address, host::Site site) {
        host::check_address(host::memory_of(Type), Rows_ * Cols_ * sizeof(T), address, site);
        address_ = address;
    }

private:
    uint8_t *element(host::Instruction &run, int64_t place, bool writes) const {
        static_assert(Type == TileType::Vec, "S reads and writes elements of Vec tiles");
        const host::View tile = view();
        host::check(run, tile);
        if (place < 0 || place >= int64_t{Rows_} * Cols_) {
            run.wrong("bounds", {"element ", place, " of a tile of ", Rows_ * Cols_});
        }
        host::Bytes &bytes = host::opened(run, tile);
        const uint32_t from = static_cast<uint32_t>(address_ + place * int64_t{sizeof(T)});
        const host::Span part{from, from + static_cast<uint32_t>(sizeof(T))};
        if (writes) {
            run.write(bytes, {part});
        } else {
            run.read(bytes, {part});
        }
        return bytes.data + from;
    }

    host::Extents valid_{ValidRow, ValidCol};
    int64_t address_ = -1;
    uint32_t buffer_ = 0;
};

template <typename T, int M, int K, int ValidM = M, int ValidK = K>
using TileLeft = Tile<TileType::Left, T, M, K, host::is_a5 ? BLayout::ColMajor : BLayout::RowMajor, ValidM, ValidK,
                      SLayout::RowMajor, 512>;

template <typename T, int K, int N, int ValidK = K, int ValidN = N>
using TileRight = Tile<TileType::Right, T, K, N, BLayout::RowMajor, ValidK, ValidN, SLayout::ColMajor, 512>;

template <typename T, int M, int N, int ValidM = M, int ValidN = N>
using TileAcc = Tile<TileType::Acc, T, M, N, BLayout::ColMajor, ValidM, ValidN, SLayout::RowMajor, 1024>;

// Binds a tile to a byte of its memory.
template <typename D, typename N>
void TASSIGN(D &tile, N address, PTO_HOST_SITE) {
    static_assert(std::is_integral_v<N>, "TASSIGN binds an address: TEXPANDS fills a tile");
    tile.bind(static_cast<int64_t>(address), site);
}

}  // namespace pto
