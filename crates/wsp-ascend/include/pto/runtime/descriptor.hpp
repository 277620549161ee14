// Descriptors of tasks: all that a kernel gets of its task. They are numbers of 32 bits, indices and bounds, and no pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../wsp/version.hpp"

namespace pto::runtime {

// Most words of a descriptor.
constexpr std::size_t max_descriptor_words = 16;

// Whether a type can be a descriptor: what a program declares with fields of uint32_t and arrays of them.
template <typename T>
constexpr bool is_descriptor = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                               alignof(T) == alignof(std::uint32_t) && sizeof(T) % sizeof(std::uint32_t) == 0 &&
                               sizeof(T) <= max_descriptor_words * sizeof(std::uint32_t);

template <typename T>
constexpr std::size_t descriptor_words = sizeof(T) / sizeof(std::uint32_t);

// The words of a descriptor, in the order of its fields, and back.
template <typename T>
void put_descriptor(const T& descriptor, std::uint32_t (&words)[descriptor_words<T>]) {
    static_assert(is_descriptor<T>, "fields of a descriptor are uint32_t or arrays of them, at most 16 words");
    std::memcpy(words, &descriptor, sizeof(T));
}
template <typename T>
T get_descriptor(const std::uint32_t* words) {
    static_assert(is_descriptor<T>, "fields of a descriptor are uint32_t or arrays of them, at most 16 words");
    T descriptor;
    std::memcpy(&descriptor, words, sizeof(T));
    return descriptor;
}

}  // namespace pto::runtime

// A descriptor with so many indices and bounds; a program may declare one with names of its own.
template <std::size_t Indices, std::size_t Bounds>
struct PTO_WorkDescriptor {
    // Which variant of the kernel runs.
    std::uint32_t tier;
    std::uint32_t indices[Indices];
    // Actual lengths.
    std::uint32_t bounds[Bounds];
    // Where its workspace begins, in bytes.
    std::uint32_t workspace_offset;
};
