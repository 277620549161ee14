//! Functions in `f64` that the standard library lacks: what plain forms of tile operations round, and what vector units are
//! compared with. Errors are below 10⁻¹², relative to the result.

use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI};

/// Up to here a series gives `erf`, from here on a continued fraction `erfc`. `1 - erf` loses the more digits the larger the number
/// is: here 3·10⁻¹³ of `erfc`, relative to it.
const SERIES_END: f64 = 2.0;

/// Terms of the continued fraction: from [`SERIES_END`] on the error of so many is below 10⁻¹⁵.
const FRACTIONS: u32 = 80;

/// `1 / (1 + e⁻ˣ)`.
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `x · sigmoid(x)`.
pub(super) fn silu(x: f64) -> f64 {
    gated(x, sigmoid(-x.abs()))
}

/// `x · Φ(x)`, where Φ is the distribution function of the normal distribution (Hendrycks and Gimpel, 2016).
pub(super) fn gelu(x: f64) -> f64 {
    gated(x, 0.5 * erfc(x.abs() * FRAC_1_SQRT_2))
}

/// `x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))` (Hendrycks and Gimpel, 2016).
pub(super) fn gelu_tanh(x: f64) -> f64 {
    let y = x.abs();
    gated(x, sigmoid(-2.0 * FRAC_2_PI.sqrt() * (y + 0.044_715 * y * y * y)))
}

/// `x · p(x)`, where `p(x) + p(-x) = 1` and `below` is `p(-|x|)`: so written, nothing cancels, and the limit at -∞ is 0.
fn gated(x: f64, below: f64) -> f64 {
    let positive = if x < 0.0 { 0.0 } else { x };
    if below == 0.0 { positive } else { positive - x.abs() * below }
}

/// The error function.
pub(super) fn erf(x: f64) -> f64 {
    if x.abs() < SERIES_END { series(x) } else { (1.0 - erfc(x.abs())).copysign(x) }
}

/// `1 - erf(x)` of a number that is not below 0.
fn erfc(x: f64) -> f64 {
    if x < SERIES_END {
        return 1.0 - series(x);
    }
    // √π e^(x²) erfc(x) = 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))): Abramowitz and Stegun 7.1.14.
    let rest = (1..=FRACTIONS).rev().fold(x, |rest, n| x + 0.5 * f64::from(n) / rest);
    (-x * x).exp() * 0.5 * FRAC_2_SQRT_PI / rest
}

/// `erf x = 2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (1 · 3 ⋯ (2n+1))`, all terms of one sign: Abramowitz and Stegun 7.1.6.
fn series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * f64::EPSILON * 0.25 {
        n += 2.0;
        term *= 2.0 * x * x / n;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of whole numbers and halves, to 16 digits: Abramowitz and Stegun, table 7.1, and `erfc` by the definition with 40 digits.
    #[test]
    fn the_error_function_has_the_values_of_tables() {
        let near = |have: f64, want: f64| {
            assert!((have - want).abs() <= 1e-13 * want.abs(), "{have:e}, should be {want:e}");
        };
        near(erf(0.5), 0.520_499_877_813_046_5);
        near(erf(1.0), 0.842_700_792_949_714_9);
        near(erf(1.5), 0.966_105_146_475_310_8);
        near(erf(2.0), 0.995_322_265_018_952_7);
        near(erf(2.5), 0.999_593_047_982_555);
        near(erf(3.0), 0.999_977_909_503_001_4);
        near(erfc(0.5), 0.479_500_122_186_953_5);
        near(erfc(1.0), 0.157_299_207_050_285_1);
        near(erfc(2.0), 0.004_677_734_981_047_266);
        near(erfc(2.5), 0.000_406_952_017_444_958_9);
        near(erfc(3.0), 2.209_049_699_858_544e-5);
        near(erfc(5.0), 1.537_459_794_428_035e-12);
        near(erfc(9.0), 4.137_031_746_513_81e-37);
    }

    /// Where the series would lose most of `1 - erf`, from 40 digits.
    #[test]
    fn products_with_the_normal_distribution_are_within_their_bound() {
        for (x, want) in
            [(-3.524_694_234_711_735_6, -7.471_855_900_309_37e-4), (-2.8284, -6.615_813_413_057_724e-3)]
        {
            let have = gelu(x);
            assert!((have - want).abs() <= 1e-12 * f64::abs(want), "{x}: {have:e}, should be {want:e}");
        }
    }

    #[test]
    fn both_forms_of_the_error_function_meet() {
        for step in -20..=20 {
            let x = SERIES_END + f64::from(step) * 1e-3;
            let fraction = erfc(x.max(SERIES_END));
            let series = 1.0 - series(x.max(SERIES_END));
            assert!((fraction - series).abs() <= 1e-15, "{x}: {fraction:e} and {series:e}");
        }
    }

    #[test]
    fn limits_are_those_of_the_functions() {
        for function in [silu, gelu, gelu_tanh] {
            assert_eq!(function(f64::NEG_INFINITY), 0.0);
            assert_eq!(function(f64::INFINITY), f64::INFINITY);
            assert!(function(f64::NAN).is_nan());
        }
        assert_eq!([erf(f64::INFINITY), erf(f64::NEG_INFINITY)], [1.0, -1.0]);
        assert!(erf(f64::NAN).is_nan());
        assert_eq!([sigmoid(f64::INFINITY), sigmoid(f64::NEG_INFINITY), sigmoid(0.0)], [1.0, 0.0, 0.5]);
    }
}
