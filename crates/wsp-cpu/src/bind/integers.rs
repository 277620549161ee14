//! Integer arrays from whatever integer type the user has.

use crate::codes;
use crate::metadata::ArrayFact;
use std::sync::Arc;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_kernel::IntArray;
use wsp_plan::Array;

/// The elements of an integer array as `u32`; of those from number `used` on, one that does not fit is the largest number.
pub(super) fn to_u32(name: &str, array: &ArrayFact<'_>, used: usize) -> Result<Arc<[u32]>, Diagnostic> {
    let all = convert(name, array, DType::U32);
    if all.is_ok() || array.shape().first().is_none_or(|&n| n <= used as u64) {
        return all;
    }
    let wide: Arc<[i64]> = convert(name, array, DType::I64)?;
    let fitting = wide.iter().enumerate().map(|(at, &number)| match u32::try_from(number) {
        Err(_) if at < used => Err(does_not_fit(name, at, number.into(), DType::U32)),
        fits => Ok(fits.unwrap_or(u32::MAX)),
    });
    fitting.collect()
}

/// The elements of an integer array as the type that the program declares.
pub(super) fn to_declared(name: &str, array: &ArrayFact<'_>, want: DType) -> Result<IntArray, Diagnostic> {
    match want {
        DType::I8 | DType::I16 | DType::I32 => convert(name, array, want).map(IntArray::I32),
        DType::I64 => convert(name, array, want).map(IntArray::I64),
        DType::U64 => convert(name, array, want).map(IntArray::U64),
        _ => convert(name, array, want).map(IntArray::U32),
    }
}

/// The elements as a type that holds those of `want`, in whose range they are.
fn convert<T: TryFrom<i128> + Into<i128> + Copy>(
    name: &str,
    array: &ArrayFact<'_>,
    want: DType,
) -> Result<Arc<[T]>, Diagnostic> {
    let array = match array.elements() {
        Some(whole) => whole,
        None if array.dtype().is_float() => return Err(no_integers(name, array.dtype(), want)),
        None => {
            let message = format!("array `{name}` is given by its shape, and its elements are needed");
            return Err(Diagnostic::error(codes::MISSING_ARRAY, message)
                .note(format!("its shape is {:?}", array.shape()))
                .help("give the whole array: generators read page tables, lengths and other integers"));
        }
    };
    let integers = truth(array).map(Ok).or_else(|| array.integers());
    let integers: Arc<[T]> = integers
        .ok_or_else(|| no_integers(name, array.dtype(), want))?
        .map_err(|(i, v)| does_not_fit(name, i, v, want))?;
    let (low, high) = want.bounds().unwrap_or((i128::MIN, i128::MAX));
    let outside = |number: &T| !(low..=high).contains(&(*number).into());
    match integers.iter().position(outside) {
        Some(i) => Err(does_not_fit(name, i, integers[i].into(), want)),
        None => Ok(integers),
    }
}

/// The elements of an array of truth values: 0 or 1, whatever their bytes are.
fn truth<T: TryFrom<i128>>(array: &Array) -> Option<Arc<[T]>> {
    let values = array.bytes().iter().map(|byte| T::try_from(i128::from(*byte != 0)).ok());
    if array.dtype() == DType::Bool { values.collect() } else { None }
}

fn does_not_fit(name: &str, at: usize, value: i128, want: DType) -> Diagnostic {
    let message = format!("`{name}[{at}]` is {value}, which does not fit {}", numpy_name(want));
    let fault = Diagnostic::error(codes::BAD_INTEGER, message);
    match want.bounds() {
        Some((low, high)) if want.size() < 4 => {
            fault.help(format!("`{name}` holds whole numbers from {low} to {high}"))
        }
        _ => fault.help("lengths, page ids and row pointers lie in 0..=4294967295"),
    }
}

/// What NumPy calls a type of integers.
fn numpy_name(dtype: DType) -> String {
    match (dtype, dtype.bounds()) {
        (DType::Bool, _) => "bool".to_owned(),
        (_, Some((low, _))) if low < 0 => format!("int{}", 8 * dtype.size()),
        _ => format!("uint{}", 8 * dtype.size()),
    }
}

fn no_integers(name: &str, found: DType, want: DType) -> Diagnostic {
    let want = numpy_name(want);
    let message = format!("array `{name}` holds {found}, but integers are needed");
    Diagnostic::error(codes::WRONG_DTYPE, message)
        .help(format!("save `{name}` as {want}"))
        .python(format!("give a list of integers, or `{name}.astype(\"{want}\")`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Metadata;

    /// The elements of an array as a type, or what is reported.
    fn given(array: &Array, want: DType) -> Result<IntArray, String> {
        let all = Metadata::new().with_array("x", array);
        let fact = all.get("x").expect("it was given");
        to_declared("x", fact, want).map_err(|fault| format!("{} {:?}", fault.message, fault.help))
    }

    #[test]
    fn integers_outside_of_the_declared_type_are_refused_with_its_range() {
        for (want, low, high) in
            [(DType::I8, -128, 127), (DType::U8, 0, 255), (DType::I16, -32768, 32767), (DType::U16, 0, 65535)]
        {
            let ends = Array::of(&[2], &[low, high]).expect("two numbers");
            assert!(given(&ends, want).is_ok(), "{want}");
            for outside in [low - 1, high + 1] {
                let array = Array::of(&[3], &[low, high, outside]).expect("three numbers");
                let fault = given(&array, want).expect_err("it does not fit");
                assert!(fault.contains(&format!("`x[2]` is {outside}")), "{fault}");
                assert!(fault.contains(&format!("from {low} to {high}")), "{fault}");
            }
        }
    }

    #[test]
    fn truth_values_are_0_or_1_whatever_their_bytes_are() {
        let mut array = Array::zeros(DType::Bool, &[4]).expect("four bytes");
        array.bytes_mut().copy_from_slice(&[0, 1, 2, 255]);
        for want in [DType::Bool, DType::U8, DType::I64] {
            let values: Vec<i64> = match given(&array, want).expect("truth values fit everywhere") {
                IntArray::U32(all) => all.iter().map(|n| i64::from(*n)).collect(),
                IntArray::I64(all) => all.to_vec(),
                other => panic!("{other:?}"),
            };
            assert_eq!(values, [0, 1, 1, 1], "{want}");
        }
    }
}
