// A tile as instructions see it: where its elements are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core.hpp"
#include "element.hpp"

namespace pto::host {

// How elements lie: by rows, by columns, or in boxes of 16 lines of equal bytes. Of the letters, the first is the order
// of boxes and the second that of elements in a box: `Z` by rows, `N` by columns.
enum class Form { Rows, Columns, ZZ, ZN, NZ };

// A number of rows and columns.
struct Extents {
    int64_t rows, cols;

    void say(std::string &text) const { host::say(text, {rows, " x ", cols}); }
};

struct View {
    Memory memory;
    Elem elem;
    Form form;
    // Elements of a line of a box.
    uint32_t line;
    uint32_t rows, cols;
    Extents valid;
    // The byte at which it begins; below 0 before `TASSIGN`.
    int64_t address;
    // The buffer that it is of; 0 where the kernel does not say it.
    uint32_t buffer;

    uint32_t bytes() const { return rows * cols * size_of(elem); }

    // The byte of an element in its memory.
    PTO_HOST_CODE uint32_t at(uint32_t row, uint32_t col) const {
        return static_cast<uint32_t>(address) + place(row, col) * size_of(elem);
    }

    // The number of an element in the tile's storage.
    PTO_HOST_CODE uint32_t place(uint32_t row, uint32_t col) const {
        const uint32_t box = 16 * line;
        switch (form) {
            case Form::Rows: return row * cols + col;
            case Form::Columns: return col * rows + row;
            case Form::ZZ: return (row / 16 * (cols / line) + col / line) * box + row % 16 * line + col % line;
            case Form::ZN: return (row / line * (cols / 16) + col / 16) * box + col % 16 * line + row % line;
            default: return (col / line * (rows / 16) + row / 16) * box + row % 16 * line + col % line;
        }
    }
};

// The bytes of the first rows and columns, as runs of bytes.
PTO_HOST_APART std::vector<Span> runs_of(const View &view, const Extents &part) {
    const uint32_t rows = static_cast<uint32_t>(part.rows), cols = static_cast<uint32_t>(part.cols);
    const uint32_t size = size_of(view.elem);
    std::vector<Span> runs;
    const auto add = [&](uint32_t at, uint32_t bytes) {
        if (runs.empty() || runs.back().end != at) {
            runs.push_back({at, at});
        }
        runs.back().end += bytes;
    };
    for (uint32_t row = 0; row < rows; ++row) {
        if (view.form == Form::Rows) {
            add(view.at(row, 0), cols * size);
            continue;
        }
        for (uint32_t col = 0; col < cols; ++col) {
            add(view.at(row, col), size);
        }
    }
    return runs;
}

// Numbers of the valid part of a tile: `float` of real ones, `int64_t` of whole ones.
template <typename N>
struct Matrix {
    uint32_t rows, cols;
    std::vector<N> all;

    Matrix(uint32_t rows, uint32_t cols) : rows(rows), cols(cols), all(static_cast<size_t>(rows) * cols) {}
    N &at(uint32_t row, uint32_t col) { return all[static_cast<size_t>(row) * cols + col]; }
    const N &at(uint32_t row, uint32_t col) const { return all[static_cast<size_t>(row) * cols + col]; }
    Extents extents() const { return {rows, cols}; }
};

// Calls `f` with a zero of the type that numbers of an element type have in a matrix.
template <typename F>
void with_numbers(Elem elem, const F &f) {
    if (is_real(elem)) {
        f(0.0F);
    } else {
        f(int64_t{0});
    }
}

// An instruction uses a tile: it has an address, and between one row and column and all of them are valid.
PTO_HOST_APART void check(const Instruction &run, const View &view) {
    if (view.address < 0) {
        run.wrong("address", {"a tile has no address: TASSIGN gives one"});
    }
    if (view.valid.rows <= 0 || view.valid.cols <= 0) {
        run.wrong("extent", {"the valid extents of a tile are ", view.valid});
    }
    if (view.valid.rows > view.rows || view.valid.cols > view.cols) {
        run.wrong("extent",
                  {"the valid extents of a tile are ", view.valid, ", and it has ", Extents{view.rows, view.cols}});
    }
}

// The instruction touches through this tile from now on; gives the memory.
PTO_HOST_CODE Bytes &opened(Instruction &run, const View &view) {
    const uint32_t first = static_cast<uint32_t>(view.address);
    run.through({first, first + view.bytes()}, view.buffer);
    return core().memory(view.memory);
}

// The valid part of an operand.
template <typename N>
Matrix<N> read(Instruction &run, const View &view) {
    check(run, view);
    Bytes &bytes = opened(run, view);
    run.read(bytes, runs_of(view, view.valid));
    Matrix<N> found(static_cast<uint32_t>(view.valid.rows), static_cast<uint32_t>(view.valid.cols));
    for (uint32_t row = 0; row < found.rows; ++row) {
        for (uint32_t col = 0; col < found.cols; ++col) {
            get(view.elem, bytes.data + view.at(row, col), found.at(row, col));
        }
    }
    return found;
}

// Two shapes that an instruction needs to be equal.
PTO_HOST_APART void same(const Instruction &run, const char *what, const Extents &have, const Extents &need) {
    if (have.rows != need.rows || have.cols != need.cols) {
        run.wrong("shape", {what, " is ", have, " and should be ", need});
    }
}

// A result becomes the valid part of a tile.
template <typename N>
void write(Instruction &run, const View &view, const Matrix<N> &result) {
    check(run, view);
    same(run, "the valid part of the destination", view.valid, result.extents());
    Bytes &bytes = opened(run, view);
    run.write(bytes, runs_of(view, view.valid));
    for (uint32_t row = 0; row < result.rows; ++row) {
        for (uint32_t col = 0; col < result.cols; ++col) {
            put(view.elem, bytes.data + view.at(row, col), result.at(row, col));
        }
    }
}

// All bytes of a tile are written with what is not said.
PTO_HOST_APART void spoil(Instruction &run, const View &view) {
    check(run, view);
    Bytes &bytes = opened(run, view);
    const uint32_t first = static_cast<uint32_t>(view.address);
    run.write(bytes, {{first, first + view.bytes()}}, false);
}

}  // namespace pto::host
