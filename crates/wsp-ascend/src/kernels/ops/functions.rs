//! Functions that the instruction set lacks, from those that it has.

use crate::kernels::recipe::{Lack, Recipe, input, number, out, text};
use crate::kernels::view::{CElem, View};
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, LN_2, LOG2_E, PI};
use wsp_tile::Tile;

/// π in three parts: products of the first two with whole numbers below 2¹³ are exact in `float` (W. Cody and W. Waite, "Software Manual
/// for the Elementary Functions", 1980).
const PI_PARTS: [f64; 3] = [3.140_625, 9.675_025_939_941_406e-4, 1.509_957_990_978_376_4e-7];

/// Taylor's series of the sine: the coefficients of x³ to x¹¹. On [-π/2, π/2] the next term is below 6·10⁻⁸.
const SINE: [f64; 5] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5_040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0];

/// `1 - erf(x)` is `(a₁t + … + a₅t⁵) e^(-x²)` with `t = 1/(1 + px)`, within 1.5·10⁻⁷: Abramowitz and Stegun 7.1.26. The first is p.
const ERFC: [f64; 6] =
    [0.327_591_1, 0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];

/// From here on functions that fall off have reached their limits in `float`.
const FAR: f64 = 40.0;

/// The operand and the result of a function of one tile, with as many scratch tiles as it asks for.
fn of_one<const N: usize>(
    r: &mut Recipe<'_>,
    dst: &Tile,
    src: &Tile,
    body: impl FnOnce(&mut Recipe<'_>, &View, &View, [View; N]),
) -> Result<(), Lack> {
    let form = r.form(&[dst, src]);
    let src = r.read(src, form)?;
    let to = r.write(dst, form)?;
    let scratch = [(); N].map(|()| r.like(&src, CElem::F32));
    body(r, &to.view, &src, scratch);
    r.done(to);
    Ok(())
}

pub(in crate::kernels) fn exp2(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [t]| {
        r.with_number("TMULS", &t, x, LN_2);
        r.unary("TEXP", to, &t);
    })
}

pub(in crate::kernels) fn log2(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [t]| {
        r.unary("TLOG", &t, x);
        r.with_number("TMULS", to, &t, LOG2_E);
    })
}

/// `1 / x`; the instruction for it does not work in place on a3.
pub(in crate::kernels) fn recip(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(
        r,
        dst,
        src,
        |r, to, x, []| {
            if to.slot == x.slot { over(r, to, 1.0, x) } else { r.unary("TRECIP", to, x) }
        },
    )
}

/// `dst = value / src`
fn over(r: &mut Recipe<'_>, dst: &View, value: f64, src: &View) {
    r.call("TDIVS", [out(dst), number(value), input(src)]);
}

/// `1 - 2 / (e^(2x) + 1)`
pub(in crate::kernels) fn tanh(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [t]| {
        r.with_number("TMULS", &t, x, 2.0);
        r.unary("TEXP", &t, &t);
        r.with_number("TADDS", &t, &t, 1.0);
        over(r, &t, -2.0, &t);
        r.with_number("TADDS", to, &t, 1.0);
    })
}

/// `1 / (1 + e⁻ˣ)`
pub(in crate::kernels) fn sigmoid(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [t]| {
        r.with_number("TMULS", &t, x, -1.0);
        r.unary("TEXP", &t, &t);
        r.with_number("TADDS", &t, &t, 1.0);
        over(r, to, 1.0, &t);
    })
}

/// `x / (1 + e⁻ˣ)` of `max(x, -88)`, where the power still has a value.
pub(in crate::kernels) fn silu(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [t, e]| {
        r.with_number("TMAXS", &t, x, -88.0);
        r.with_number("TMULS", &e, &t, -1.0);
        r.unary("TEXP", &e, &e);
        r.with_number("TADDS", &e, &e, 1.0);
        r.binary("TDIV", to, &t, &e);
    })
}

/// `max(x, 0) - y / (1 + e^(2√(2/π) (y + 0.044715 y³)))` with `y = |x|`, in which nothing cancels.
pub(in crate::kernels) fn gelu_tanh(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [y, e]| {
        r.unary("TABS", &y, x);
        r.with_number("TMINS", &y, &y, FAR);
        r.binary("TMUL", &e, &y, &y);
        r.with_number("TMULS", &e, &e, 0.044_715);
        r.with_number("TADDS", &e, &e, 1.0);
        r.binary("TMUL", &e, &e, &y);
        r.with_number("TMULS", &e, &e, 2.0 * FRAC_2_PI.sqrt());
        r.unary("TEXP", &e, &e);
        r.with_number("TADDS", &e, &e, 1.0);
        r.binary("TDIV", &y, &y, &e);
        r.with_number("TMAXS", &e, x, 0.0);
        r.binary("TSUB", to, &e, &y);
    })
}

/// `1 - erf(y)` of what `y` holds, which is not below 0, in `e`; `t` and `p` are used.
fn erfc(r: &mut Recipe<'_>, e: &View, y: &View, t: &View, p: &View) {
    let [scale, factors @ ..] = ERFC;
    r.with_number("TMULS", t, y, scale);
    r.with_number("TADDS", t, t, 1.0);
    over(r, t, 1.0, t);
    let [.., before, last] = factors;
    r.with_number("TMULS", p, t, last);
    r.with_number("TADDS", p, p, before);
    for factor in factors.into_iter().rev().skip(2) {
        r.binary("TMUL", p, p, t);
        r.with_number("TADDS", p, p, factor);
    }
    r.binary("TMUL", p, p, t);
    r.binary("TMUL", e, y, y);
    r.with_number("TMULS", e, e, -1.0);
    r.unary("TEXP", e, e);
    r.binary("TMUL", e, e, p);
}

/// `±(1 - erfc(|x|))`
pub(in crate::kernels) fn erf(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [y, e, t, p]| {
        r.unary("TABS", &y, x);
        r.with_number("TMINS", &y, &y, FAR);
        erfc(r, &e, &y, &t, &p);
        r.with_number("TMULS", &e, &e, -1.0);
        r.with_number("TADDS", &e, &e, 1.0);
        // The sign, as a number from -1 to 1 that is 0 of 0.
        r.with_number("TMULS", &t, x, 1e30);
        r.with_number("TMINS", &t, &t, 1.0);
        r.with_number("TMAXS", &t, &t, -1.0);
        r.binary("TMUL", to, &e, &t);
    })
}

/// `max(x, 0) - y/2 · erfc(y / √2)` with `y = |x|`
pub(in crate::kernels) fn gelu(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, [y, e, t, p]| {
        r.unary("TABS", &y, x);
        r.with_number("TMINS", &y, &y, FAR);
        r.with_number("TMULS", &y, &y, FRAC_1_SQRT_2);
        erfc(r, &e, &y, &t, &p);
        r.binary("TMUL", &e, &e, &y);
        r.with_number("TMULS", &e, &e, FRAC_1_SQRT_2);
        r.with_number("TMAXS", &t, x, 0.0);
        r.binary("TSUB", to, &t, &e);
    })
}

/// `(-1)ⁿ sin(x - nπ)`, where n is the whole number nearest to `x / π`.
pub(in crate::kernels) fn sin(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, scratch| wave(r, to, x, scratch, 0.0))
}

/// `-(-1)ⁿ sin(x - (n + 1/2)π)`, where n is the whole number nearest to `x / π - 1/2`.
pub(in crate::kernels) fn cos(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    of_one(r, dst, src, |r, to, x, scratch| wave(r, to, x, scratch, 0.5))
}

fn wave(r: &mut Recipe<'_>, to: &View, x: &View, [n, y, z, p]: [View; 4], shift: f64) {
    let whole = |r: &mut Recipe<'_>, dst: &View, src: &View, mode: &str| {
        r.call("TCVT", [out(dst), input(src), text(format!("RoundMode::{mode}"))]);
    };
    r.with_number("TMULS", &z, x, 1.0 / PI);
    r.with_number("TADDS", &z, &z, -shift);
    whole(r, &n, &z, "CAST_RINT");
    r.with_number("TADDS", &p, &n, shift);
    for (at, part) in PI_PARTS.into_iter().enumerate() {
        r.with_number("TMULS", &z, &p, -part);
        r.binary("TADD", &y, if at == 0 { x } else { &y }, &z);
    }
    // The sine of what is left.
    r.binary("TMUL", &z, &y, &y);
    let [first, rest @ .., last] = SINE;
    r.with_number("TMULS", &p, &z, last);
    for factor in rest.into_iter().rev().chain([first]) {
        r.with_number("TADDS", &p, &p, factor);
        r.binary("TMUL", &p, &p, &z);
    }
    r.with_number("TADDS", &p, &p, 1.0);
    r.binary("TMUL", &p, &p, &y);
    // The sign: n is even or odd.
    r.with_number("TMULS", &y, &n, 0.5);
    whole(r, &z, &y, "CAST_FLOOR");
    r.binary("TSUB", &y, &y, &z);
    let sign = if shift == 0.0 { 1.0 } else { -1.0 };
    r.with_number("TMULS", &y, &y, -4.0 * sign);
    r.with_number("TADDS", &y, &y, sign);
    r.binary("TMUL", to, &p, &y);
}
