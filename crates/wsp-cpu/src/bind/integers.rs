//! Integer arrays from whatever integer type the user has.

use crate::codes;
use crate::metadata::ArrayFact;
use std::sync::Arc;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_kernel::IntArray;
use wsp_plan::Array;

/// The elements of an integer array as `u32`.
pub(super) fn to_u32(name: &str, array: &ArrayFact<'_>) -> Result<Arc<[u32]>, Diagnostic> {
    convert(name, array, DType::U32)
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
