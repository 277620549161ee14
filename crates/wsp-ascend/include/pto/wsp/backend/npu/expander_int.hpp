// Checked integers of generated expanders: a value, or the first fault of the operations that led to it.
#pragma once

#include "pto/wsp/backend/npu/on_device_gen.hpp"

namespace pto::wsp::backend::npu::expander {

// A fault, and the word of the expression that it is at.
struct Why {
    FaultKind kind;
    std::uint32_t expr;

    constexpr Why(FaultKind fault, std::uint32_t word = no_expr) : kind(fault), expr(word) {}
    constexpr bool is_none() const { return kind == FaultKind::none; }
};

// A 64-bit integer, or why there is none: the first fault of the operations that led to it.
struct Int {
    std::int64_t value;
    Why bad;

    constexpr Int(std::int64_t number) : value(number), bad(FaultKind::none) {}
    constexpr Int(FaultKind fault) : value(0), bad(fault) {}
    constexpr Int(Why why) : value(0), bad(why) {}
    constexpr bool ok() const { return bad.is_none(); }
};

// The fault of two operands: the first that has one.
constexpr Why either(Int a, Int b) { return a.ok() ? b.bad : a.bad; }

// What the operation of a word of an expression gives: a fault that has no word yet is its own.
constexpr Int at(std::uint32_t word, Int of) {
    if (!of.ok() && of.bad.expr == no_expr) of.bad.expr = word;
    return of;
}

inline Int operator+(Int a, Int b) {
    std::int64_t sum = 0;
    if (!either(a, b).is_none()) return either(a, b);
    return __builtin_add_overflow(a.value, b.value, &sum) ? Int(FaultKind::overflow) : Int(sum);
}

inline Int operator-(Int a, Int b) {
    std::int64_t difference = 0;
    if (!either(a, b).is_none()) return either(a, b);
    return __builtin_sub_overflow(a.value, b.value, &difference) ? Int(FaultKind::overflow) : Int(difference);
}

inline Int operator*(Int a, Int b) {
    std::int64_t product = 0;
    if (!either(a, b).is_none()) return either(a, b);
    return __builtin_mul_overflow(a.value, b.value, &product) ? Int(FaultKind::overflow) : Int(product);
}

inline Int operator-(Int a) { return a.ok() && a.value == INT64_MIN ? Int(FaultKind::overflow) : Int(0) - a; }
inline Int operator!(Int a) { return a.ok() ? Int(a.value == 0) : a; }

// Whether a quotient exists.
constexpr Why divides(Int a, Int b) {
    if (!either(a, b).is_none()) return either(a, b);
    if (b.value == 0) return FaultKind::division_by_zero;
    return a.value == INT64_MIN && b.value == -1 ? FaultKind::overflow : FaultKind::none;
}

inline Int operator/(Int a, Int b) {
    return divides(a, b).is_none() ? Int(a.value / b.value) : Int(divides(a, b));
}

// The smallest integer by -1 leaves nothing.
inline Int operator%(Int a, Int b) {
    if (divides(a, b).kind == FaultKind::overflow && either(a, b).is_none()) return Int(0);
    return divides(a, b).is_none() ? Int(a.value % b.value) : Int(divides(a, b));
}

// The quotient towards positive infinity.
inline Int ceil_div(Int a, Int b) {
    if (!divides(a, b).is_none()) return divides(a, b);
    const bool up = a.value % b.value != 0 && (a.value < 0) == (b.value < 0);
    return a.value / b.value + (up ? 1 : 0);
}

inline Int smaller(Int a, Int b) {
    if (!either(a, b).is_none()) return either(a, b);
    return a.value < b.value ? a : b;
}

inline Int larger(Int a, Int b) {
    if (!either(a, b).is_none()) return either(a, b);
    return a.value > b.value ? a : b;
}

inline Int truth(Int a, Int b, bool holds) {
    return either(a, b).is_none() ? Int(holds ? 1 : 0) : Int(either(a, b));
}

inline Int operator==(Int a, Int b) { return truth(a, b, a.value == b.value); }
inline Int operator!=(Int a, Int b) { return truth(a, b, a.value != b.value); }
inline Int operator<(Int a, Int b) { return truth(a, b, a.value < b.value); }
inline Int operator<=(Int a, Int b) { return truth(a, b, a.value <= b.value); }
inline Int operator>(Int a, Int b) { return truth(a, b, a.value > b.value); }
inline Int operator>=(Int a, Int b) { return truth(a, b, a.value >= b.value); }

// `a` when the condition is not 0, else `b`; a fault of the one that is not taken does not matter.
inline Int choose(Int condition, Int a, Int b) {
    if (!condition.ok()) return condition;
    return condition.value != 0 ? a : b;
}

// Replaces the upper 32 bits.
inline Int high(Int a, std::uint32_t upper) {
    if (!a.ok()) return a;
    const std::uint64_t lower = static_cast<std::uint64_t>(a.value) & 0xFFFFFFFFu;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(upper) << 32 | lower);
}

// `value mod n`, never negative.
inline std::uint64_t residue(std::int64_t value, std::uint64_t n) {
    const std::int64_t rest = value % static_cast<std::int64_t>(n);
    return static_cast<std::uint64_t>(rest < 0 ? rest + static_cast<std::int64_t>(n) : rest);
}

// Spreads keys over AICPUs: a fixed bijection in which every bit of the key reaches every bit of the result.
inline std::uint64_t mix(std::uint64_t key) {
    key = (key ^ (key >> 32)) * 0xd6e8feb86659fd93u;
    key = (key ^ (key >> 32)) * 0xd6e8feb86659fd93u;
    return key ^ (key >> 32);
}

}  // namespace pto::wsp::backend::npu::expander
