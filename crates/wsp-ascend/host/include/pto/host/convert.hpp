// Values in another element type.
#pragma once

#include <cmath>

#include "rules.hpp"

namespace pto {

// How a number is rounded: to the nearest (of two the even one), half away from zero, down, up, towards zero. `NONE` is
// `RINT`.
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_ROUND, CAST_FLOOR, CAST_CEIL, CAST_TRUNC };

namespace host {

// The whole number that a number is rounded to.
PTO_HOST_CODE double to_whole(double x, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_ROUND: return std::round(x);
        case RoundMode::CAST_FLOOR: return std::floor(x);
        case RoundMode::CAST_CEIL: return std::ceil(x);
        case RoundMode::CAST_TRUNC: return std::trunc(x);
        default: return std::nearbyint(x);
    }
}

// A number rounded to one of a type of 16 bits.
PTO_HOST_CODE float to_short(float x, Elem elem, RoundMode mode) {
    const bool is_half = elem == Elem::F16;
    const auto value = [&](uint32_t bits) {
        return is_half ? half_value(static_cast<uint16_t>(bits)) : bfloat_value(static_cast<uint16_t>(bits));
    };
    const float size = std::fabs(x);
    const uint32_t near = is_half ? half_bits(size) : bfloat_bits(size);
    if (!(size <= std::numeric_limits<float>::max()) || value(near) == size) {
        return x;
    }
    // `size` lies between `value(down)` and the next.
    const uint32_t down = value(near) > size ? near - 1 : near;
    const double low = value(down), high = value(down + 1);
    uint32_t found = near;
    switch (mode) {
        case RoundMode::CAST_ROUND: found = high - size == size - low ? down + 1 : near; break;
        case RoundMode::CAST_FLOOR: found = x < 0 ? down + 1 : down; break;
        case RoundMode::CAST_CEIL: found = x < 0 ? down : down + 1; break;
        case RoundMode::CAST_TRUNC: found = down; break;
        default: break;
    }
    return std::copysign(value(found), x);
}

// A whole number that elements of a type hold: platforms differ in what they do with others.
PTO_HOST_CODE int64_t held(const Instruction &run, double x, Elem elem) {
    const bool negatives = elem == Elem::I8 || elem == Elem::I16 || elem == Elem::I32 || elem == Elem::I64;
    const int bits = static_cast<int>(8 * size_of(elem)) - (negatives ? 1 : 0);
    const double end = std::ldexp(1.0, bits);
    if (!(x >= (negatives ? -end : 0.0) && x < end)) {
        run.wrong("value", {x, " is no value of its elements"});
    }
    return static_cast<int64_t>(x);
}

PTO_HOST_CODE float converted(const Instruction &, float x, Elem to, RoundMode mode, float) {
    return to == Elem::F32 ? static_cast<float>(to_whole(x, mode)) : to_short(x, to, mode);
}
PTO_HOST_CODE int64_t converted(const Instruction &run, float x, Elem to, RoundMode mode, int64_t) {
    return held(run, to_whole(x, mode), to);
}
PTO_HOST_CODE float converted(const Instruction &, int64_t x, Elem to, RoundMode mode, float) {
    const auto real = static_cast<float>(x);
    return to == Elem::F32 ? real : to_short(real, to, mode);
}
PTO_HOST_CODE int64_t converted(const Instruction &run, int64_t x, Elem to, RoundMode, int64_t) {
    return held(run, static_cast<double>(x), to);
}

PTO_HOST_APART void convert(const View &dst, const View &src, RoundMode mode, Site site) {
    Instruction run("TCVT", PIPE_V, site);
    with_numbers(src.elem, [&](auto from) {
        const auto all = read<decltype(from)>(run, src);
        in_place(run, dst, src);
        with_numbers(dst.elem, [&](auto to) {
            Matrix<decltype(to)> found(all.rows, all.cols);
            // Of shorter types every value is one of `float`.
            const bool exact = dst.elem == Elem::F32 && src.elem != Elem::F32;
            for (size_t at = 0; at < all.all.size(); ++at) {
                found.all[at] = exact && is_real(src.elem) ? static_cast<decltype(to)>(all.all[at])
                                                           : converted(run, all.all[at], dst.elem, mode, to);
            }
            write(run, dst, found);
        });
    });
    run.end();
}

// The conversions that vector units have.
constexpr bool converts(Elem from, Elem to) {
    switch (from) {
        case Elem::F32: return is_real(to) || to == Elem::I16 || to == Elem::I32 || to == Elem::I64;
        case Elem::F16:
            return to == Elem::F32 || to == Elem::I32 || to == Elem::I16 || to == Elem::I8 || to == Elem::U8;
        case Elem::BF16: return to == Elem::F32 || to == Elem::I32;
        case Elem::I16: return to == Elem::F16 || to == Elem::F32;
        case Elem::I32: return to == Elem::F32 || to == Elem::I16 || to == Elem::I64;
        case Elem::I64: return to == Elem::F32 || to == Elem::I32;
        case Elem::U8:
        case Elem::I8: return to == Elem::F16;
        default: return false;
    }
}

}  // namespace host

template <typename D, typename S>
void TCVT(const D &dst, const S &src, RoundMode mode, PTO_HOST_SITE) {
    static_assert(host::all_vec<D, S> && host::all_rows<D, S>, "TCVT is of row-major Vec tiles");
    host::check_shapes<D, S>();
    static_assert(host::converts(S::elem, D::elem), "TCVT has no conversion between these element types");
    host::convert(dst.view(), src.view(), mode, site);
}

}  // namespace pto
