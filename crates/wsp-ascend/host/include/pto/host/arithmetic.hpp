// Instructions by elements: of one tile, of two, and of a tile and a scalar.
#pragma once

#include <cmath>

#include "rules.hpp"

namespace pto {
namespace host {

// A function of numbers, in `float` and in whole numbers.
struct Unary {
    float (*real)(float);
    int64_t (*whole)(int64_t);
    float operator()(float x) const { return real(x); }
    int64_t operator()(int64_t x) const { return whole(x); }
};

struct Binary {
    float (*real)(float, float);
    int64_t (*whole)(int64_t, int64_t);
    float operator()(float a, float b) const { return real(a, b); }
    int64_t operator()(int64_t a, int64_t b) const { return whole(a, b); }
};

template <typename N>
N add(N a, N b) {
    return a + b;
}
template <typename N>
N sub(N a, N b) {
    return a - b;
}
template <typename N>
N mul(N a, N b) {
    return a * b;
}
inline float quotient(float a, float b) { return a / b; }
// NaN where one is NaN.
template <typename N>
N larger(N a, N b) {
    return a != a || a > b ? a : b;
}
template <typename N>
N smaller(N a, N b) {
    return a != a || a < b ? a : b;
}

constexpr Binary sums{add<float>, add<int64_t>}, differences{sub<float>, sub<int64_t>},
    products{mul<float>, mul<int64_t>}, quotients{quotient, nullptr}, maxima{larger<float>, larger<int64_t>},
    minima{smaller<float>, smaller<int64_t>};

inline float negative_of(float x) { return -x; }
inline int64_t negative_of_whole(int64_t x) { return -x; }
inline float size_of_real(float x) { return std::fabs(x); }
inline float positive_of(float x) { return x < 0 ? 0 : x; }
inline float exp_of(float x) { return std::exp(x); }
inline float log_of(float x) { return std::log(x); }
inline float sqrt_of(float x) { return std::sqrt(x); }
inline float rsqrt_of(float x) { return 1 / std::sqrt(x); }
inline float recip_of(float x) { return 1 / x; }

PTO_HOST_APART void unary(const char *name, const View &dst, const View &src, const Unary &op, Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        Matrix<decltype(zero)> all = read<decltype(zero)>(run, src);
        in_place(run, dst, src);
        for (auto &x : all.all) {
            x = op(x);
        }
        write(run, dst, all);
    });
    run.end();
}

PTO_HOST_APART void binary(const char *name, const View &dst, const View &a, const View &b, const Binary &op,
                                     Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(a.elem, [&](auto zero) {
        Matrix<decltype(zero)> left = read<decltype(zero)>(run, a);
        const Matrix<decltype(zero)> right = read<decltype(zero)>(run, b);
        same(run, "the second operand", right.extents(), left.extents());
        in_place(run, dst, a);
        in_place(run, dst, b);
        for (size_t at = 0; at < left.all.size(); ++at) {
            left.all[at] = op(left.all[at], right.all[at]);
        }
        write(run, dst, left);
    });
    run.end();
}

// `first`: whether the scalar is the first operand.
PTO_HOST_APART void scalar(const char *name, const View &dst, const View &src, double value, bool first,
                                     const Binary &op, Site site) {
    Instruction run(name, PIPE_V, site);
    with_numbers(src.elem, [&](auto zero) {
        Matrix<decltype(zero)> all = read<decltype(zero)>(run, src);
        in_place(run, dst, src);
        const auto one = static_cast<decltype(zero)>(value);
        for (auto &x : all.all) {
            x = first ? op(one, x) : op(x, one);
        }
        write(run, dst, all);
    });
    run.end();
}

}  // namespace host

#define PTO_HOST_UNARY(NAME, TYPES, ...)                                                                               \
    template <typename D, typename S>                                                                                  \
    void NAME(const D &dst, const S &src, PTO_HOST_SITE) {                                                             \
        host::check_elementwise<host::TYPES, D, S>();                                                                  \
        host::unary(#NAME, dst.view(), src.view(), host::Unary{__VA_ARGS__}, site);                                    \
    }

#define PTO_HOST_BINARY(NAME, TYPES, OP)                                                                               \
    template <typename D, typename A, typename B>                                                                      \
    void NAME(const D &dst, const A &a, const B &b, PTO_HOST_SITE) {                                                   \
        host::check_elementwise<host::TYPES, D, A, B>();                                                               \
        host::binary(#NAME, dst.view(), a.view(), b.view(), host::OP, site);                                           \
    }

#define PTO_HOST_SCALAR(NAME, TYPES, OP)                                                                               \
    template <typename D, typename S>                                                                                  \
    void NAME(const D &dst, const S &src, typename D::DType value, PTO_HOST_SITE) {                                    \
        host::check_elementwise<host::TYPES, D, S>();                                                                  \
        host::scalar(#NAME, dst.view(), src.view(), static_cast<double>(value), false, host::OP, site);                \
    }

PTO_HOST_UNARY(TNEG, Number, host::negative_of, host::negative_of_whole)
PTO_HOST_UNARY(TRELU, Real, host::positive_of, nullptr)
PTO_HOST_UNARY(TEXP, Real, host::exp_of, nullptr)
PTO_HOST_UNARY(TLOG, Real, host::log_of, nullptr)
PTO_HOST_UNARY(TSQRT, Real, host::sqrt_of, nullptr)
PTO_HOST_UNARY(TRSQRT, Real, host::rsqrt_of, nullptr)
PTO_HOST_UNARY(TRECIP, Real, host::recip_of, nullptr)

template <typename D, typename S>
void TABS(const D &dst, const S &src, PTO_HOST_SITE) {
    host::check_elementwise<host::Real, D, S>();
    host::check_one_type<D, S>();
    host::unary("TABS", dst.view(), src.view(), host::Unary{host::size_of_real, nullptr}, site);
}

template <typename D, typename A, typename B>
void TADD(const D &dst, const A &a, const B &b, PTO_HOST_SITE) {
    host::check_elementwise<host::Number, D, A, B>();
    host::check_one_type<D, A, B>();
    host::binary("TADD", dst.view(), a.view(), b.view(), host::sums, site);
}

PTO_HOST_BINARY(TSUB, Number, differences)
PTO_HOST_BINARY(TMUL, Number, products)
PTO_HOST_BINARY(TDIV, Real, quotients)
PTO_HOST_BINARY(TMAX, Number, maxima)
PTO_HOST_BINARY(TMIN, Number, minima)

PTO_HOST_SCALAR(TADDS, Number, sums)
PTO_HOST_SCALAR(TSUBS, Number, differences)
PTO_HOST_SCALAR(TMULS, Number, products)
PTO_HOST_SCALAR(TDIVS, Real, quotients)
PTO_HOST_SCALAR(TMAXS, Number, maxima)
PTO_HOST_SCALAR(TMINS, Number, minima)

#undef PTO_HOST_UNARY
#undef PTO_HOST_BINARY
#undef PTO_HOST_SCALAR

// The scalar divided by each element.
template <typename D, typename S>
void TDIVS(const D &dst, typename D::DType value, const S &src, PTO_HOST_SITE) {
    host::check_elementwise<host::Real, D, S>();
    host::scalar("TDIVS", dst.view(), src.view(), static_cast<double>(value), true, host::quotients, site);
}

}  // namespace pto
