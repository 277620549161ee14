//! Exponentials and what is made of them.

use crate::vector::Simd;
use core::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LOG2_E, SQRT_2};

/// Below this, `exp2` is 0: its result would not be a normal number.
const EXP2_FLUSH: f32 = -126.0;

/// `ln(2⁻¹²⁶)`: below this, `exp` is 0.
const EXP_FLUSH: f32 = -87.336_55;

/// `2ˣ`: nearest integer `n`, then a polynomial of degree 6 for `2^(x - n)` (minimax on ±1/2, relative error 6·10⁻⁹).
#[inline(always)]
pub(crate) fn exp2<S: Simd>(s: S, x: S::F) -> S::F {
    // Within the bounds the result goes from below the flush limit to infinity.
    let x = s.clamp(x, -200.0, 200.0);
    let n = s.round(x);
    let r = s.sub(x, n);
    let coefficients = [1.546_144_8e-4, 1.339_086_7e-3, 9.618_057e-3, 5.550_357e-2, 0.240_226_5, LN_2, 1.0];
    s.scale(polynomial(s, r, coefficients), n, x, EXP2_FLUSH)
}

/// `e^r` for `|r| <= ln 2 / 2`, highest power first; without the last 1 and a power less it is `(e^r - 1) / r` (relative error 10⁻⁸).
const EXP: [f32; 7] = [1.393_388_4e-3, 8.363_335e-3, 4.166_646_3e-2, 0.166_665_76, 0.5, 1.0, 1.0];

/// `n` nearest to `x / ln 2`, and `x - n ln 2`.
#[inline(always)]
fn reduced<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let n = s.round(s.mul(x, s.splat(LOG2_E)));
    // ln 2 in two parts, the first of which times `n` is exact.
    let r = s.fma(n, s.splat(-0.693_359_4), x);
    (n, s.fma(n, s.splat(2.121_944_4e-4), r))
}

/// `eˣ = 2ⁿ e^(x - n ln 2)`.
#[inline(always)]
pub(crate) fn exp<S: Simd>(s: S, x: S::F) -> S::F {
    let x = s.clamp(x, -130.0, 130.0);
    let (n, r) = reduced(s, x);
    s.scale(polynomial(s, r, EXP), n, x, EXP_FLUSH)
}

/// `tanh x = E / (E + 2)` with `E = e^2x - 1 = 2ⁿ (e^r - 1) + (2ⁿ - 1)`, which does not cancel near 0, where `n` is 0.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(s: S, x: S::F) -> S::F {
    // From 9.02 on the nearest `f32` is 1.
    let x = s.clamp(x, -9.5, 9.5);
    let (n, r) = reduced(s, s.add(x, x));
    let [a, b, c, d, e, f, _] = EXP;
    let part = s.mul(r, polynomial(s, r, [a, b, c, d, e, f]));
    let power = s.scale(s.splat(1.0), n, n, -100.0);
    let e = s.fma(power, part, s.sub(power, s.splat(1.0)));
    s.div(e, s.add(e, s.splat(2.0)))
}

/// `1 / (1 + e⁻ˣ)`.
#[inline(always)]
pub(crate) fn sigmoid<S: Simd>(s: S, x: S::F) -> S::F {
    let one = s.splat(1.0);
    s.div(one, s.add(one, exp(s, s.neg(x))))
}

/// `x · sigmoid(x)`.
#[inline(always)]
pub(crate) fn silu<S: Simd>(s: S, x: S::F) -> S::F {
    let y = magnitude(s, x, GATE_END);
    gated(s, x, y, y, s.splat(0.0))
}

/// `x · sigmoid(2 √(2/π) (x + 0.044715 x³))`. The argument is computed in twice the precision: its error is that of the result
/// where that is small.
#[inline(always)]
pub(crate) fn gelu_tanh<S: Simd>(s: S, x: S::F) -> S::F {
    // 2 √(2/π), and 0.044715 times that, each with what rounding left of it.
    let (linear, linear_rest) = (s.splat(1.595_769_2), s.splat(-4.534_068e-8));
    let (cubic, cubic_rest) = (s.splat(0.071_354_814), s.splat(2.398_832_5e-9));
    let y = magnitude(s, x, 11.0);
    let (square, square_rest) = product(s, y, y);
    let (term, rest) = product(s, cubic, square);
    let rest = s.fma(cubic, square_rest, s.fma(cubic_rest, square, rest));
    let (factor, left) = sum(s, linear, term);
    let rest = s.add(s.add(left, linear_rest), rest);
    let (w, left) = product(s, y, factor);
    gated(s, x, y, w, s.fma(y, rest, left))
}

/// From here on `y · e⁻ʸ` is 0.
const GATE_END: f32 = 112.0;

/// `x · sigmoid(w)` with the sign of `x` for `w`, which is given without it, in two parts; `y` is `|x|`, bounded. As
/// `max(x, 0) - y e⁻ʷ / (1 + e⁻ʷ)` nothing cancels.
#[inline(always)]
fn gated<S: Simd>(s: S, x: S::F, y: S::F, w: S::F, rest: S::F) -> S::F {
    let w = s.neg(w);
    let (n, r) = reduced(s, w);
    let p = polynomial(s, s.sub(r, rest), EXP);
    // What is below the normal numbers here times `y` may be one: scaled by itself, it keeps its precision.
    let below = s.scale(s.mul(y, p), n, w, -GATE_END);
    let e = s.scale(p, n, w, EXP_FLUSH);
    s.sub(s.maximum(x, s.splat(0.0)), s.div(below, s.add(s.splat(1.0), e)))
}

/// `x · Φ(x) = max(x, 0) - |x| Φ(-|x|)`, and up to 1, where that would cancel, `x (1 + erf(x / √2)) / 2`.
#[inline(always)]
pub(crate) fn gelu<S: Simd>(s: S, x: S::F) -> S::F {
    let y = magnitude(s, x, TAIL_END);
    // `y² / 2`, exactly: its error is that of the result where that is small.
    let (half_square, rest) = product(s, y, s.mul(y, s.splat(0.5)));
    let w = s.neg(half_square);
    let (n, r) = reduced(s, w);
    let p = s.mul(s.mul(y, tail(s, y)), polynomial(s, s.sub(r, rest), EXP));
    let far = s.sub(s.maximum(x, s.splat(0.0)), s.scale(p, n, w, EXP_FLUSH));
    let half_erf = s.mul(s.mul(x, s.splat(0.5 * FRAC_1_SQRT_2)), polynomial(s, half_square, ERF));
    let near = s.mul(x, s.add(half_erf, s.splat(0.5)));
    s.select_le(y, s.splat(1.0), near, far)
}

/// From here on `Φ(-y)` is 0.
const TAIL_END: f32 = 14.5;

/// `Φ(-y) e^(y²/2)` for `y` from 0 to [`TAIL_END`], where Φ is the distribution function of the normal distribution: a polynomial
/// of degree 9 in `t = 4 / (4 + y)`, times `t` (relative error 1.3·10⁻⁸).
#[inline(always)]
fn tail<S: Simd>(s: S, y: S::F) -> S::F {
    let t = s.div(s.splat(4.0), s.add(y, s.splat(4.0)));
    s.mul(
        t,
        polynomial(
            s,
            t,
            [
                0.015_741_844,
                -0.058_370_98,
                0.041_589_286,
                0.041_367_81,
                0.002_400_358_7,
                0.091_932_096,
                0.070_272_885,
                0.095_863_39,
                0.099_453_57,
                0.099_749_76,
            ],
        ),
    )
}

/// `erf(√u) / √u` for `u` from 0 to 1, highest power first (relative error 1.4·10⁻⁹).
const ERF: [f32; 7] = [
    7.875_875e-5,
    -8.016_864_3e-4,
    0.005_189_087_2,
    -0.026_854_211,
    0.112_835_94,
    -0.376_126_26,
    FRAC_2_SQRT_PI,
];

/// Up to 1 `x` times a polynomial in `x²`; from there `1 - 2 Φ(-√2 |x|)` with the sign of `x`.
#[inline(always)]
pub(crate) fn erf<S: Simd>(s: S, x: S::F) -> S::F {
    let one = s.splat(1.0);
    let y = magnitude(s, x, 5.0);
    let square = s.mul(y, y);
    let near = s.mul(x, polynomial(s, square, ERF));
    let above = s.mul(s.mul(s.splat(2.0), tail(s, s.mul(y, s.splat(SQRT_2)))), exp(s, s.neg(square)));
    let far = s.sub(one, above);
    let far = s.select_le(s.splat(0.0), x, far, s.neg(far));
    s.select_le(y, one, near, far)
}

/// The largest whole number that is not above `x`.
#[inline(always)]
pub(crate) fn floor<S: Simd>(s: S, x: S::F) -> S::F {
    let nearest = s.round(x);
    s.select_le(nearest, x, nearest, s.sub(nearest, s.splat(1.0)))
}

/// `|x|`, or `most` where that is less; NaN stays.
#[inline(always)]
fn magnitude<S: Simd>(s: S, x: S::F, most: f32) -> S::F {
    s.clamp(s.abs(x), 0.0, most)
}

/// `a · b`, and what rounding left of it; no part of it is below the normal numbers.
#[inline(always)]
fn product<S: Simd>(s: S, a: S::F, b: S::F) -> (S::F, S::F) {
    let p = s.mul(a, b);
    if S::FUSED {
        return (p, s.fma(a, b, s.neg(p)));
    }
    // Dekker, Numerische Mathematik 18 (1971): products of halves are exact.
    let ((a0, a1), (b0, b1)) = (halves(s, a), halves(s, b));
    let rest = s.sub(s.mul(a0, b0), p);
    let rest = s.add(s.add(rest, s.mul(a0, b1)), s.mul(a1, b0));
    (p, s.add(rest, s.mul(a1, b1)))
}

/// The upper 12 bits of a number, and the others.
#[inline(always)]
fn halves<S: Simd>(s: S, a: S::F) -> (S::F, S::F) {
    let c = s.mul(a, s.splat(4097.0));
    let upper = s.sub(c, s.sub(c, a));
    (upper, s.sub(a, upper))
}

/// `a + b`, and what rounding left of it (Knuth, The Art of Computer Programming 2, 4.2.2).
#[inline(always)]
fn sum<S: Simd>(s: S, a: S::F, b: S::F) -> (S::F, S::F) {
    let c = s.add(a, b);
    let (b0, a0) = (s.sub(c, a), s.sub(c, s.sub(c, a)));
    (c, s.add(s.sub(a, a0), s.sub(b, b0)))
}

/// Horner's rule, highest power first.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(s: S, x: S::F, coefficients: [f32; N]) -> S::F {
    let mut sum = s.splat(coefficients[0]);
    for &c in &coefficients[1..] {
        sum = s.fma(sum, x, s.splat(c));
    }
    sum
}
