// Divisions of whole numbers of kernels: by 0, and those whose result does not fit, they are faults. A core gives any number there.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "fault.hpp"

namespace pto::host {

template <typename T>
[[noreturn, gnu::noinline, gnu::cold]] void wrong_division(T a, const char *sign, T b, const char *place) {
    const std::string operands = std::to_string(a) + sign + std::to_string(b);
    if (b == 0) {
        fault("value", {"division by zero: ", operands, ", in ", place});
    }
    fault("value", {"arithmetic overflow: ", operands, " does not fit its type, in ", place});
}

template <typename T>
void check_division(T a, const char *sign, T b, const char *place) {
    bool fits = true;
    if constexpr (std::is_signed_v<T>) {
        fits = a != std::numeric_limits<T>::min() || b != -1;
    }
    if (b == 0 || !fits) {
        wrong_division(a, sign, b, place);
    }
}

// `place` says the kernel and the expression in its source.
template <typename T>
T divided(T a, T b, const char *place) {
    check_division(a, " / ", b, place);
    return a / b;
}

template <typename T>
T remainder(T a, T b, const char *place) {
    check_division(a, " % ", b, place);
    return a % b;
}

template <typename T>
T ceil_divided(T a, T b, const char *place) {
    check_division(a, " / ", b, place);
    return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace pto::host
