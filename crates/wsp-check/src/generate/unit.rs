//! Made-up tensors of task graphs: numbers by element type, from a seed and the tensor's name.

use super::fill::Uneven;
use super::hash::{Draws, key};
use super::roles::Values;
use super::tensors::fill;
use crate::check_memory;
use pto_wsp::codes;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_plan::Array;

/// Integers that are made up are below this: small enough to be an index into almost anything.
const INTEGERS_BELOW: u64 = 10;

/// How large made-up real numbers are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// In `[-1, 1)`.
    Unit,
    /// In `[-1, 1)`, one row of seven so small that what a norm adds to its mean square shows.
    Uneven,
    /// In `[-s, s)` with `s` = √(3 / rows), so that a product with a matrix of so many rows is about as large as what goes in.
    Weights,
}

/// Makes a tensor. The same seed and name give the same numbers, whatever other tensors there are.
///
/// # Errors
/// When its bytes cannot be counted or do not fit memory.
pub fn make_tensor(
    name: &str,
    dtype: DType,
    shape: &[u64],
    scale: Scale,
    seed: u64,
) -> Result<Array, Diagnostic> {
    let no_memory = |why: String| {
        Diagnostic::error(codes::CANNOT_MAKE_TENSOR, format!("`{name}` cannot be made up"))
            .note(why)
            .help("take a smaller tensor")
    };
    let bytes = shape.iter().try_fold(dtype.size() as u64, |total, &n| total.checked_mul(n));
    let bytes = bytes.ok_or_else(|| no_memory(format!("the bytes of {dtype}{shape:?} cannot be counted")))?;
    check_memory(&format!("`{name}`"), bytes)?;
    let stream = name
        .bytes()
        .fold(key(seed, shape.len() as u64), |key, byte| super::hash::splitmix64(key ^ u64::from(byte)));
    if dtype == DType::F64 || !dtype.is_float() {
        let mut array = Array::zeros(dtype, shape).map_err(|fault| no_memory(fault.to_string()))?;
        fill_numbers(&mut array, stream);
        return Ok(array);
    }
    let values = match (scale, shape) {
        (Scale::Uneven, _) => Values::Rows(Uneven::FLAT),
        (Scale::Weights, [rows, _, ..]) if *rows > 1 => {
            Values::Random { center: 0.0, scale: (3.0 / *rows as f64).sqrt() }
        }
        _ => Values::Random { center: 0.0, scale: 1.0 },
    };
    fill(dtype, shape, &values, stream)
        .ok_or_else(|| no_memory(format!("{dtype}{shape:?} does not fit memory")))
}

/// Fills integers and numbers of 8 bytes.
pub(super) fn fill_numbers(array: &mut Array, stream: u64) {
    let mut draws = Draws::new(stream, 0);
    let dtype = array.dtype();
    for element in array.bytes_mut().chunks_exact_mut(dtype.size()) {
        let bytes = match dtype {
            DType::F64 => (draws.below(1 << 24) as f64 / f64::from(1 << 23) - 1.0).to_le_bytes(),
            DType::Bool => draws.below(2).to_le_bytes(),
            _ => draws.below(INTEGERS_BELOW).to_le_bytes(),
        };
        element.copy_from_slice(&bytes[..element.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, dtype: DType, seed: u64) -> Array {
        make_tensor(name, dtype, &[64, 8], Scale::Unit, seed).unwrap()
    }

    #[test]
    fn every_element_type_can_be_made_up_again() {
        for dtype in DType::ALL {
            let (a, b) = (made("x", dtype, 3), made("x", dtype, 3));
            assert_eq!(a.bytes(), b.bytes(), "{dtype}");
            assert_ne!(a.bytes(), made("y", dtype, 3).bytes(), "{dtype}: by name");
            assert_ne!(a.bytes(), made("x", dtype, 4).bytes(), "{dtype}: by seed");
        }
    }

    #[test]
    fn numbers_are_small() {
        assert!(made("x", DType::U32, 1).as_slice::<u32>().unwrap().iter().all(|&n| n < 10));
        assert!(made("x", DType::F64, 1).as_slice::<f64>().unwrap().iter().all(|x| x.abs() <= 1.0));
        let weights = make_tensor("w", DType::F32, &[300, 2], Scale::Weights, 1).unwrap();
        assert!(weights.as_slice::<f32>().unwrap().iter().all(|x| x.abs() <= 0.1));
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for shape in [&[u64::MAX, 2][..], &[1 << 50]] {
            assert!(make_tensor("x", DType::F32, shape, Scale::Unit, 1).is_err(), "{shape:?}");
        }
    }
}
