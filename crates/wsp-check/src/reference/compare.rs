//! How far an output is from its reference.

use super::rows::Rows;
use pto_wsp::codes;
use wsp_backend::unravel;
use wsp_core::DType;
use wsp_core::words::{by_count, counted};
use wsp_diag::Diagnostic;
use wsp_plan::Array;

/// Unit roundoff of f32, in which kernels compute.
pub(super) const U32: f64 = 1.0 / (1u64 << 24) as f64;

/// Terms of the sums of a program of which nothing is known.
const UNKNOWN_TERMS: usize = 1 << 16;

/// An error is within tolerance when it is at most `abs + rel * |reference|`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// The part that does not depend on the reference.
    pub abs: f64,
    /// The part in proportion to it.
    pub rel: f64,
}

impl Tolerance {
    /// None: what is stored must be the reference to the bit.
    pub const EXACT: Tolerance = Tolerance { abs: f64::MIN_POSITIVE, rel: 0.0 };

    /// With the error of rounding to elements of this type once: half a unit in the last place, and of numbers below the smallest
    /// normal one half of the smallest.
    #[must_use]
    pub fn rounded_to(self, dtype: DType) -> Tolerance {
        let (unit, smallest) = match dtype {
            DType::F16 => (2f64.powi(-11), 2f64.powi(-24)),
            DType::Bf16 => (2f64.powi(-8), 2f64.powi(-133)),
            DType::F8E4m3 => (2f64.powi(-4), 2f64.powi(-9)),
            DType::F8E5m2 => (2f64.powi(-3), 2f64.powi(-16)),
            _ => (U32, 2f64.powi(-149)),
        };
        Tolerance { abs: self.abs + smallest / 2.0, rel: self.rel + unit }
    }

    /// With operands of products rounded to elements of this type: each product is off by as much of itself, both operands count, and a
    /// sum of them by no more of the largest output.
    #[must_use]
    pub fn with_operands(self, dtype: DType, output: &[f64]) -> Tolerance {
        let most = output.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        self.and(2.0 * Tolerance::unit(Some(dtype)) * most)
    }

    /// With an error beside that does not depend on the reference.
    #[must_use]
    pub fn and(self, abs: f64) -> Tolerance {
        Tolerance { abs: self.abs + abs, ..self }
    }

    /// Half a unit in the last place of this type, of the number; 0 of none.
    pub(super) fn unit(dtype: Option<DType>) -> f64 {
        dtype.map_or(0.0, |dtype| Tolerance { abs: 0.0, rel: 0.0 }.rounded_to(dtype).rel)
    }

    /// For outputs of this type of two runs of one program on different implementations of the tile operations: sums of very
    /// many terms in another order, and elements that round to one side or the other, now or in a tile on the way.
    pub fn of_itself(dtype: DType, output: &[f64]) -> Tolerance {
        let sums = super::dense::tolerance_of_sums(UNKNOWN_TERMS, output);
        let Tolerance { abs, rel } = Tolerance { abs: 0.0, rel: 0.0 }.rounded_to(dtype);
        let size = sums.abs / sums.rel;
        Tolerance { abs: sums.abs + 2.0 * (abs + rel * size), rel: sums.rel + 2.0 * rel }
    }

    /// The largest error allowed at this reference value.
    pub fn at(self, reference: f64) -> f64 {
        if reference.is_finite() { self.abs + self.rel * reference.abs() } else { self.abs }
    }
}

/// What an output was compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Against {
    /// The reference with this name, computed in f64 from the inputs.
    Reference(String),
    /// The same program, run once more on one thread with plain tile operations.
    Itself,
    /// The same program on `cpu_sim`, whose kernels are other code than those of a package.
    CpuSim,
}

impl Against {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            Against::Reference(name) => format!("f64 reference `{name}`"),
            Against::Itself => SAME_PROGRAM.to_owned(),
            Against::CpuSim => "a run on `cpu_sim`, with other code of its kernels".to_owned(),
        }
    }

    /// Whether it shares no code with what it is compared with.
    pub fn is_independent(&self) -> bool {
        matches!(self, Against::Reference(_))
    }
}

/// What a run of the same program is worth as a check.
pub const SAME_PROGRAM: &str = "the same program on one thread: not an independent check";

/// Some elements of an array.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elements {
    /// How many.
    pub count: u64,
    /// Index of the first; empty when there are none.
    pub first: Vec<u64>,
}

/// An array with elements that are no finite numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Special {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub elements: u64,
    /// Those that are NaN.
    pub nans: Elements,
    /// Those that are infinite.
    pub infinities: Elements,
}

impl Special {
    /// None for an array of finite numbers.
    pub fn of(name: &str, array: &Array) -> Option<Special> {
        let rows = Rows::new(array)?;
        let mut found = Special {
            name: name.to_owned(),
            elements: array.len() as u64,
            nans: Elements::default(),
            infinities: Elements::default(),
        };
        let mut buffer = [0.0; 256];
        for first in (0..array.len()).step_by(buffer.len()) {
            let values = &mut buffer[..(array.len() - first).min(256)];
            rows.read(first, values);
            for (i, value) in values.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
                let of = if value.is_nan() { &mut found.nans } else { &mut found.infinities };
                if of.count == 0 {
                    of.first = unravel((first + i) as u64, array.shape());
                }
                of.count += 1;
            }
        }
        (found.nans.count + found.infinities.count > 0).then_some(found)
    }
}

/// The element that is furthest off, in proportion to what is allowed.
#[derive(Clone, PartialEq, Debug)]
pub struct Worst {
    /// Its index.
    pub index: Vec<u64>,
    /// What the output holds.
    pub actual: f64,
    /// What the reference holds.
    pub expected: f64,
}

/// An output against its reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The output's name.
    pub name: String,
    /// Elements compared.
    pub elements: u64,
    /// Largest absolute error; infinite where only one side is.
    pub max_abs: f64,
    /// Largest error as a multiple of what is allowed there.
    pub max_ratio: f64,
    /// Elements outside the tolerance, NaN included.
    pub outside: u64,
    /// Elements that are NaN.
    pub nans: u64,
    /// Those of them that are none in the reference.
    pub wrong_nans: u64,
    /// What it was compared with.
    pub against: Against,
    /// Where `max_ratio` is; none when there are no elements.
    pub worst: Option<Worst>,
    /// What is allowed where `max_ratio` is.
    pub tolerance: Tolerance,
}

impl Comparison {
    /// Whether every element is within tolerance.
    pub fn passed(&self) -> bool {
        self.outside == 0
    }

    /// Elements that the reference has a value for: one that is NaN on both sides tells nothing.
    pub fn compared(&self) -> u64 {
        self.elements - (self.nans - self.wrong_nans)
    }

    fn other(&self) -> &'static str {
        match self.against {
            Against::Reference(_) => "the f64 reference",
            Against::Itself => "what the same program computes on one thread",
            Against::CpuSim => "what the program computes on `cpu_sim`",
        }
    }

    /// What to say of an output that is not.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        if self.passed() {
            return None;
        }
        let mut fault =
            Diagnostic::error(codes::CHECK_FAILED, format!("`{}` differs from {}", self.name, self.other()))
                .note(format!(
                    "{} of {} {} out of tolerance",
                    self.outside,
                    counted(self.elements, "element"),
                    by_count(self.outside, "is", "are")
                ));
        if self.wrong_nans > 0 {
            fault = fault.note(format!(
                "{} {} NaN",
                counted(self.wrong_nans, "element"),
                by_count(self.wrong_nans, "is", "are")
            ));
        }
        if let Some(worst) = &self.worst {
            fault = fault.note(format!(
                "at {:?}: have {}, want {} within {:.1e}",
                worst.index,
                worst.actual,
                worst.expected,
                self.tolerance.at(worst.expected)
            ));
        }
        Some(if self.wrong_nans > 0 {
            fault.help("a kernel divides 0 by 0, or reads past the tokens of a request: made-up caches hold NaN there")
        } else {
            fault.help("look for a wrong index, an unwritten output, or sums in too few bits")
        })
    }
}

/// Compares an output with its reference, element by element in row-major order.
///
/// # Errors
/// When the output is not of real numbers or has another number of elements.
pub fn compare(
    name: &str,
    actual: &Array,
    expected: &[f64],
    tolerance: Tolerance,
) -> Result<Comparison, Diagnostic> {
    compare_by(name, actual, expected, |_| tolerance)
}

/// As [`compare`], with what is allowed for each element by its number in row-major order.
///
/// # Errors
/// As [`compare`].
pub fn compare_by(
    name: &str,
    actual: &Array,
    expected: &[f64],
    tolerance: impl Fn(usize) -> Tolerance,
) -> Result<Comparison, Diagnostic> {
    let rows = Rows::new(actual).filter(|_| actual.len() == expected.len()).ok_or_else(|| {
        Diagnostic::error(codes::CANNOT_COMPARE, format!("`{name}` cannot be compared with its reference"))
            .note(format!("it is {actual:?}; the reference has {} real numbers", expected.len()))
    })?;
    let mut result = Comparison {
        name: name.to_owned(),
        elements: expected.len() as u64,
        max_abs: 0.0,
        max_ratio: 0.0,
        outside: 0,
        nans: 0,
        wrong_nans: 0,
        against: Against::Itself,
        worst: None,
        tolerance: Tolerance::EXACT,
    };
    let mut buffer = [0.0; 256];
    let mut worst_at = None;
    for (block, want) in expected.chunks(buffer.len()).enumerate() {
        let have = &mut buffer[..want.len()];
        let first = block * 256;
        rows.read(first, have);
        for (i, (&have, &want)) in have.iter().zip(want).enumerate() {
            let allowed = tolerance(first + i);
            let ratio = result.add(have, want, allowed);
            if worst_at.is_none() || ratio > result.max_ratio {
                (result.max_ratio, result.tolerance) = (ratio, allowed);
                worst_at = Some((first + i, have, want));
            }
        }
    }
    result.worst = worst_at.map(|(at, actual_value, expected)| Worst {
        index: unravel(at as u64, actual.shape()),
        actual: actual_value,
        expected,
    });
    Ok(result)
}

impl Comparison {
    /// Takes one element in; its error as a multiple of what is allowed.
    fn add(&mut self, have: f64, want: f64, tolerance: Tolerance) -> f64 {
        let error = if have == want || (have.is_nan() && want.is_nan()) { 0.0 } else { (have - want).abs() };
        // A NaN, or a difference to an infinity, is as far off as can be.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        // Where the bound is NaN, so is the reference, and nothing else will do.
        let ratio = if error == 0.0 { 0.0 } else { error / tolerance.at(want) };
        let ratio = if ratio.is_nan() { f64::INFINITY } else { ratio };
        self.max_abs = self.max_abs.max(error);
        self.nans += u64::from(have.is_nan());
        self.wrong_nans += u64::from(have.is_nan() && !want.is_nan());
        self.outside += u64::from(ratio > 1.0);
        ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: Tolerance = Tolerance { abs: 0.1, rel: 0.0 };

    fn result(actual: &[f32], expected: &[f64]) -> Comparison {
        let mut array = Array::zeros(DType::F32, &[1, actual.len() as u64]).unwrap();
        array.as_slice_mut::<f32>().unwrap().copy_from_slice(actual);
        compare("o", &array, expected, TIGHT).unwrap()
    }

    #[test]
    fn the_worst_element_is_found() {
        let r = result(&[1.0, 2.5, 3.0], &[1.0, 2.0, 3.05]);
        assert_eq!((r.outside, r.max_abs), (1, 0.5));
        assert_eq!(r.worst.as_ref().map(|w| w.index.clone()), Some(vec![0, 1]));
        assert!(r.diagnostic().is_some());
    }

    #[test]
    fn infinities_agree_with_themselves_only() {
        let minus = f32::NEG_INFINITY;
        assert!(result(&[minus], &[f64::NEG_INFINITY]).passed());
        assert!(!result(&[0.0], &[f64::NEG_INFINITY]).passed());
        assert!(!result(&[minus], &[0.0]).passed());
    }

    #[test]
    fn nan_is_never_within_tolerance() {
        let r = result(&[f32::NAN, 1.0], &[0.0, 1.0]);
        assert_eq!((r.nans, r.wrong_nans, r.outside, r.max_ratio), (1, 1, 1, f64::INFINITY));
        let r = result(&[f32::NAN, 1.0], &[f64::NAN, f64::NAN]);
        assert_eq!((r.nans, r.wrong_nans, r.outside), (1, 0, 1));
    }

    #[test]
    fn outputs_of_another_size_are_not_compared() {
        let array = Array::zeros(DType::F32, &[3]).unwrap();
        assert_eq!(compare("o", &array, &[0.0; 2], TIGHT).unwrap_err().code, codes::CANNOT_COMPARE);
        let array = Array::zeros(DType::I32, &[2]).unwrap();
        assert!(compare("o", &array, &[0.0; 2], TIGHT).is_err());
    }
}
