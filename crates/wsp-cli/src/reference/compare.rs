//! How far an output is from its reference.

use super::rows::Rows;
use crate::codes;
use wsp_core::DType;
use wsp_ir::diag::Diagnostic;
use wsp_plan::Array;

/// An error is within tolerance when it is at most `abs + rel * |reference|`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// The part that does not depend on the reference.
    pub abs: f64,
    /// The part in proportion to it.
    pub rel: f64,
}

impl Tolerance {
    /// For outputs of attention whose queries are of this type, and for outputs of this type of two runs on different
    /// implementations of the tile operations.
    pub fn of_output(dtype: DType) -> Tolerance {
        match dtype {
            DType::F16 => Tolerance { abs: 1e-3, rel: 1e-3 },
            DType::Bf16 => Tolerance { abs: 1e-2, rel: 1e-2 },
            _ => Tolerance { abs: 1e-5, rel: 1e-5 },
        }
    }

    /// For logarithms of sums of exponentials.
    pub fn of_lse(dtype: DType) -> Tolerance {
        match dtype {
            DType::F16 | DType::Bf16 => Tolerance { abs: 1e-3, rel: 0.0 },
            _ => Tolerance { abs: 1e-5, rel: 1e-5 },
        }
    }

    /// The largest error allowed at this reference value.
    pub fn at(self, reference: f64) -> f64 {
        if reference.is_finite() { self.abs + self.rel * reference.abs() } else { self.abs }
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
    /// Elements that are NaN where the reference is not.
    pub nans: u64,
    /// Where `max_ratio` is; none when there are no elements.
    pub worst: Option<Worst>,
    /// What is allowed.
    pub tolerance: Tolerance,
}

impl Comparison {
    /// Whether every element is within tolerance.
    pub fn passed(&self) -> bool {
        self.outside == 0
    }

    /// What to say of an output that is not.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        if self.passed() {
            return None;
        }
        let mut fault =
            Diagnostic::error(codes::CHECK_FAILED, format!("`{}` differs from the f64 reference", self.name))
                .note(format!("{} of {} elements are out of tolerance", self.outside, self.elements));
        if self.nans > 0 {
            fault = fault.note(format!("{} elements are NaN", self.nans));
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
        Some(if self.nans > 0 {
            fault.help("slots of the cache that belong to no request are NaN: some kernel reads past its tokens, or divides 0 by 0")
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
        worst: None,
        tolerance,
    };
    let mut buffer = [0.0; 256];
    let mut worst_at = None;
    for (block, want) in expected.chunks(buffer.len()).enumerate() {
        let have = &mut buffer[..want.len()];
        let first = block * 256;
        rows.read(first, have);
        for (i, (&have, &want)) in have.iter().zip(want).enumerate() {
            let ratio = result.add(have, want);
            if worst_at.is_none() || ratio > result.max_ratio {
                result.max_ratio = ratio;
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
    fn add(&mut self, have: f64, want: f64) -> f64 {
        let error = if have == want || (have.is_nan() && want.is_nan()) { 0.0 } else { (have - want).abs() };
        // A NaN, or a difference to an infinity, is as far off as can be.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let ratio = error / self.tolerance.at(want);
        self.max_abs = self.max_abs.max(error);
        self.nans += u64::from(have.is_nan() && !want.is_nan());
        self.outside += u64::from(ratio > 1.0);
        ratio
    }
}

fn unravel(mut at: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for d in (0..shape.len()).rev() {
        index[d] = at % shape[d].max(1);
        at /= shape[d].max(1);
    }
    index
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
        assert_eq!((r.nans, r.outside, r.max_ratio), (1, 1, f64::INFINITY));
    }

    #[test]
    fn outputs_of_another_size_are_not_compared() {
        let array = Array::zeros(DType::F32, &[3]).unwrap();
        assert_eq!(compare("o", &array, &[0.0; 2], TIGHT).unwrap_err().code, codes::CANNOT_COMPARE);
        let array = Array::zeros(DType::I32, &[2]).unwrap();
        assert!(compare("o", &array, &[0.0; 2], TIGHT).is_err());
    }
}
