// Tensors and scalars among the arguments of a kernel.
#pragma once

#include <cstdint>
#include <cstring>

// A part of an array of up to five dimensions. Strides are in elements.
struct ChipTensor {
    struct {
        uint64_t addr;
    } buffer;
    uint64_t start_offset;
    uint32_t ndims;
    uint32_t shapes[5];
    uint32_t strides[5];
};

// The lowest bits of an argument as a scalar.
template <typename T>
T from_u64(uint64_t argument) {
    static_assert(sizeof(T) <= sizeof argument, "an argument has 64 bits");
    T value{};
    std::memcpy(&value, &argument, sizeof value);
    return value;
}
