//! Exponentials and what is made of them.

use super::vector::Simd;
use core::f32::consts::{LN_2, LOG2_E};

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

/// `eˣ`: `n` nearest to `x / ln 2`, then a polynomial of degree 6 for `e^(x - n ln 2)` (relative error 10⁻⁸).
#[inline(always)]
pub(crate) fn exp<S: Simd>(s: S, x: S::F) -> S::F {
    let x = s.clamp(x, -130.0, 130.0);
    let n = s.round(s.mul(x, s.splat(LOG2_E)));
    // ln 2 in two parts, the first of which times `n` is exact.
    let r = s.fma(n, s.splat(-0.693_359_4), x);
    let r = s.fma(n, s.splat(2.121_944_4e-4), r);
    let coefficients = [1.393_388_4e-3, 8.363_335e-3, 4.166_646_3e-2, 0.166_665_76, 0.5, 1.0, 1.0];
    s.scale(polynomial(s, r, coefficients), n, x, EXP_FLUSH)
}

/// `tanh x = E / (E + 2)` with `E = e^2x - 1 = 2ⁿ (e^r - 1) + (2ⁿ - 1)`, which does not cancel near 0, where `n` is 0.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(s: S, x: S::F) -> S::F {
    // From 9.02 on the nearest `f32` is 1.
    let x = s.clamp(x, -9.5, 9.5);
    let x = s.add(x, x);
    let n = s.round(s.mul(x, s.splat(LOG2_E)));
    let r = s.fma(n, s.splat(-0.693_359_4), x);
    let r = s.fma(n, s.splat(2.121_944_4e-4), r);
    let coefficients = [1.393_388_4e-3, 8.363_335e-3, 4.166_646_3e-2, 0.166_665_76, 0.5, 1.0];
    let part = s.mul(r, polynomial(s, r, coefficients));
    let power = s.scale(s.splat(1.0), n, n, -100.0);
    let e = s.fma(power, part, s.sub(power, s.splat(1.0)));
    s.div(e, s.add(e, s.splat(2.0)))
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
