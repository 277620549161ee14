// Element types: `half`, `bfloat16_t`, and how values lie in memory.
#pragma once

#include <cstdint>
#include <cstring>

namespace pto::host {

PTO_HOST_CODE uint32_t bits_of(float x) {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

PTO_HOST_CODE float float_of(uint32_t bits) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// `value / 2^shift` as a whole number, the nearest, of two the even one.
constexpr uint32_t shifted(uint32_t value, uint32_t shift) {
    const uint32_t half = 1U << (shift - 1), rest = value & ((1U << shift) - 1);
    const uint32_t down = value >> shift;
    return rest > half || (rest == half && (down & 1U) != 0) ? down + 1 : down;
}

// IEEE 754 binary16 of a number, rounded to nearest even.
PTO_HOST_CODE uint16_t half_bits(float x) {
    const uint32_t bits = bits_of(x), sign = (bits >> 16) & 0x8000U, size = bits & 0x7FFFFFFFU;
    uint32_t found = 0;
    if (size > 0x7F800000U) {
        found = 0x7E00U | ((size >> 13) & 0x3FFU);
    } else if (size >= 0x477FF000U) {
        found = 0x7C00U;  // from 65520 on
    } else if (size >= 0x38800000U) {
        found = shifted(size - 0x38000000U, 13);
    } else if (size > 0x33000000U) {
        found = shifted((size & 0x7FFFFFU) | 0x800000U, 126 - (size >> 23));  // in units of 2^-24
    }
    return static_cast<uint16_t>(sign | found);
}

PTO_HOST_CODE float half_value(uint16_t half) {
    const uint32_t sign = (half & 0x8000U) << 16, exponent = (half >> 10) & 0x1FU, digits = half & 0x3FFU;
    if (exponent == 31) {
        return float_of(sign | 0x7F800000U | (digits << 13));
    }
    if (exponent == 0) {
        const float size = static_cast<float>(digits) * 0x1p-24F;
        return sign != 0 ? -size : size;
    }
    return float_of(sign | ((exponent + 112) << 23) | (digits << 13));
}

// The upper half of IEEE 754 binary32, rounded to nearest even.
PTO_HOST_CODE uint16_t bfloat_bits(float x) {
    const uint32_t bits = bits_of(x);
    const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    return static_cast<uint16_t>(nan ? (bits >> 16) | 0x40U : shifted(bits, 16));
}

inline float bfloat_value(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

}  // namespace pto::host

// A number of 16 bits, IEEE 754 binary16.
class half {
public:
    half() = default;
    half(float x) : bits_(pto::host::half_bits(x)) {}
    operator float() const { return pto::host::half_value(bits_); }

private:
    uint16_t bits_ = 0;
};

// A number of 16 bits with the exponent of `float`.
class bfloat16_t {
public:
    bfloat16_t() = default;
    bfloat16_t(float x) : bits_(pto::host::bfloat_bits(x)) {}
    operator float() const { return pto::host::bfloat_value(bits_); }

private:
    uint16_t bits_ = 0;
};

namespace pto::host {

enum class Elem : int { F32, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, None };

template <typename T>
constexpr Elem elem_of = Elem::None;
template <>
inline constexpr Elem elem_of<float> = Elem::F32;
template <>
inline constexpr Elem elem_of<half> = Elem::F16;
template <>
inline constexpr Elem elem_of<bfloat16_t> = Elem::BF16;
template <>
inline constexpr Elem elem_of<int8_t> = Elem::I8;
template <>
inline constexpr Elem elem_of<int16_t> = Elem::I16;
template <>
inline constexpr Elem elem_of<int32_t> = Elem::I32;
template <>
inline constexpr Elem elem_of<int64_t> = Elem::I64;
template <>
inline constexpr Elem elem_of<uint8_t> = Elem::U8;
template <>
inline constexpr Elem elem_of<uint16_t> = Elem::U16;
template <>
inline constexpr Elem elem_of<uint32_t> = Elem::U32;
template <>
inline constexpr Elem elem_of<uint64_t> = Elem::U64;

constexpr uint32_t size_of(Elem elem) {
    constexpr uint32_t sizes[] = {4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
    return sizes[static_cast<int>(elem)];
}

constexpr bool is_real(Elem elem) { return elem == Elem::F32 || elem == Elem::F16 || elem == Elem::BF16; }

constexpr bool is_long(Elem elem) { return elem == Elem::I64 || elem == Elem::U64; }

template <typename T>
T raw(const uint8_t *from) {
    T value{};
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
void put_raw(uint8_t *to, T value) {
    std::memcpy(to, &value, sizeof value);
}

// The number at an address: of a real type as `float`, of a whole one as `int64_t`, of 64 bits without a sign by its bits. The other kind is none.
PTO_HOST_CODE void get(Elem elem, const uint8_t *from, float &x) {
    switch (elem) {
        case Elem::F16: x = half_value(raw<uint16_t>(from)); return;
        case Elem::BF16: x = bfloat_value(raw<uint16_t>(from)); return;
        default: x = raw<float>(from); return;
    }
}

PTO_HOST_CODE void get(Elem elem, const uint8_t *from, int64_t &n) {
    switch (elem) {
        case Elem::I8: n = raw<int8_t>(from); return;
        case Elem::I16: n = raw<int16_t>(from); return;
        case Elem::I32: n = raw<int32_t>(from); return;
        case Elem::U8: n = raw<uint8_t>(from); return;
        case Elem::U16: n = raw<uint16_t>(from); return;
        case Elem::U32: n = raw<uint32_t>(from); return;
        default: n = raw<int64_t>(from); return;
    }
}

// Puts a number at an address: rounded to nearest even, or its lowest bits.
PTO_HOST_CODE void put(Elem elem, uint8_t *to, float x) {
    switch (elem) {
        case Elem::F16: put_raw(to, half_bits(x)); return;
        case Elem::BF16: put_raw(to, bfloat_bits(x)); return;
        default: put_raw(to, x); return;
    }
}

PTO_HOST_CODE void put(Elem elem, uint8_t *to, int64_t n) {
    switch (size_of(elem)) {
        case 1: put_raw(to, static_cast<uint8_t>(n)); return;
        case 2: put_raw(to, static_cast<uint16_t>(n)); return;
        case 4: put_raw(to, static_cast<uint32_t>(n)); return;
        default: put_raw(to, n); return;
    }
}

}  // namespace pto::host
