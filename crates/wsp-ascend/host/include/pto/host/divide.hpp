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

// Two operands. In braces the left one is computed first, so that its fault is the one that ends the run.
template <typename T>
struct Both {
    T left, right;
};
template <typename T>
Both(T, T) -> Both<T>;

// What `made` makes of them.
template <typename T, typename F>
auto in_order(Both<T> of, F made) {
    return made(of.left, of.right);
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
T divided(Both<T> of, const char *place) {
    check_division(of.left, " / ", of.right, place);
    return of.left / of.right;
}

// The smallest number by -1 leaves nothing.
template <typename T>
T remainder(Both<T> of, const char *place) {
    if constexpr (std::is_signed_v<T>) {
        if (of.right == -1) {
            return 0;
        }
    }
    check_division(of.left, " % ", of.right, place);
    return of.left % of.right;
}

// Rounded up.
template <typename T>
T ceil_divided(Both<T> of, const char *place) {
    const auto [a, b] = of;
    check_division(a, " / ", b, place);
    return a / b + (a % b != 0 && (a < T{}) == (b < T{}) ? 1 : 0);
}

}  // namespace pto::host
