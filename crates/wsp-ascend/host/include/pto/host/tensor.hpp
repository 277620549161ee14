// Tensors in global memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tile.hpp"

namespace pto {

enum class Layout { ND, DN };

namespace host {

// Five extents, each a constant or known when a kernel runs.
template <int64_t... Dims>
class Five {
public:
    static_assert(sizeof...(Dims) == 5, "shapes and strides have five dimensions");
    static constexpr std::array<int64_t, 5> known{Dims...};

    template <typename... N>
    explicit Five(N... dynamic) {
        static_assert(sizeof...(N) == ((Dims == DYNAMIC ? 1 : 0) + ...),
                      "the constructor takes the dynamic extents, in order");
        const std::array<int64_t, sizeof...(N) + 1> given{static_cast<int64_t>(dynamic)..., 0};
        size_t next = 0;
        for (int64_t &dim : dims) {
            if (sizeof...(N) > 0 && dim == DYNAMIC) {
                dim = given[next++];
            }
        }
    }

    std::array<int64_t, 5> dims{Dims...};
};

}  // namespace host

template <int64_t... Dims>
class Shape : public host::Five<Dims...> {
public:
    using host::Five<Dims...>::Five;
};

// In elements.
template <int64_t... Dims>
class Stride : public host::Five<Dims...> {
public:
    using host::Five<Dims...>::Five;
};

template <typename T, typename Shape_, typename Stride_, Layout layout_ = Layout::ND>
class GlobalTensor {
public:
    using DType = T;
    using ShapeType = Shape_;
    static constexpr Layout layout = layout_;
    static_assert(host::elem_of<T> != host::Elem::None,
                  "elements are float, half, bfloat16_t, int8_t to int64_t or uint8_t to uint64_t");

    explicit GlobalTensor(T *data, const Shape_ &shape = Shape_(), const Stride_ &stride = Stride_())
        : data_(data), shape_(shape.dims), stride_(stride.dims) {}

    T *data() const { return data_; }
    const std::array<int64_t, 5> &shape() const { return shape_; }
    const std::array<int64_t, 5> &stride() const { return stride_; }

private:
    T *data_;
    std::array<int64_t, 5> shape_;
    std::array<int64_t, 5> stride_;
};

namespace host {

// A tensor as a transfer sees it: rows are the first four dimensions, columns the last.
struct GlobalView {
    Elem elem;
    void *data;
    std::array<int64_t, 5> shape, stride;

    Extents extents() const { return {shape[0] * shape[1] * shape[2] * shape[3], shape[4]}; }

    // How many elements behind the first a row begins.
    PTO_HOST_CODE int64_t row(int64_t row) const {
        int64_t at = 0;
        for (size_t dim = 4; dim-- > 0;) {
            at += row % shape[dim] * stride[dim];
            row /= shape[dim];
        }
        return at;
    }
};

template <typename T, typename S, typename R, Layout layout>
GlobalView view_of(const GlobalTensor<T, S, R, layout> &tensor) {
    return {elem_of<T>, tensor.data(), tensor.shape(), tensor.stride()};
}

// Where the elements of a transfer are in the memory of a tensor.
class Place {
public:
    PTO_HOST_APART Place(Instruction &run, const GlobalView &view, const Extents &tile)
        : view_(view), global_(core().tensor_at(view.data)) {
        for (size_t dim = 0; dim < 5; ++dim) {
            if (view.shape[dim] <= 0) {
                run.wrong("extent", {"extent ", dim, " of a tensor is ", view.shape[dim]});
            }
        }
        same(run, "the tensor", view.extents(), tile);
        if (global_ == nullptr) {
            run.wrong("bounds", {"the address lies in no tensor"});
        }
        const auto first = reinterpret_cast<uintptr_t>(view.data) - reinterpret_cast<uintptr_t>(global_->bytes.data);
        base_ = static_cast<int64_t>(first);
        if (base_ % size_of(view.elem) != 0) {
            run.wrong("alignment", {"byte ", base_, " of ", global_->bytes.name, " is no multiple of an element's ",
                                    size_of(view.elem)});
        }
        run.through({0, global_->bytes.size});
    }

    // The byte of an element.
    PTO_HOST_CODE uint32_t at(const Instruction &run, uint32_t row, uint32_t col) const {
        const int64_t size = size_of(view_.elem);
        const int64_t byte = base_ + (view_.row(row) + col * view_.stride[4]) * size;
        if (byte < 0 || byte + size > global_->bytes.size) {
            run.wrong("bounds", {"element (", row, ", ", col, ") lies at byte ", byte, " of ", global_->bytes.name,
                                 ", which has ", global_->bytes.size});
        }
        return static_cast<uint32_t>(byte);
    }

    // The bytes of all elements, as runs of bytes.
    PTO_HOST_APART std::vector<Span> runs(const Instruction &run) const {
        const Extents all = view_.extents();
        const uint32_t rows = static_cast<uint32_t>(all.rows), cols = static_cast<uint32_t>(all.cols);
        const uint32_t size = size_of(view_.elem);
        std::vector<Span> found;
        for (uint32_t row = 0; row < rows; ++row) {
            if (view_.stride[4] == 1) {
                const uint32_t last = at(run, row, cols - 1);
                found.push_back({at(run, row, 0), last + size});
                continue;
            }
            for (uint32_t col = 0; col < cols; ++col) {
                const uint32_t first = at(run, row, col);
                found.push_back({first, first + size});
            }
        }
        return found;
    }

    Bytes &bytes() const { return global_->bytes; }

    // The core of this kernel writes bytes: no other core writes in their lines.
    PTO_HOST_CODE void own_lines(const Instruction &run, const std::vector<Span> &runs) const {
        for (const Span &part : runs) {
            host::own_lines(run, *global_, part);
        }
    }

private:
    GlobalView view_;
    Global *global_;
    int64_t base_ = 0;
};

}  // namespace host
}  // namespace pto
