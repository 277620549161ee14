//! Integer arrays from whatever integer type the user has.

use crate::codes;
use crate::metadata::ArrayFact;
use std::sync::Arc;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_kernel::IntArray;

/// The elements of an integer array as `u32`.
pub(super) fn to_u32(name: &str, array: &ArrayFact<'_>) -> Result<Arc<[u32]>, Diagnostic> {
    convert(name, array, "uint32")
}

/// The elements of an integer array as the type that the program declares.
pub(super) fn to_declared(name: &str, array: &ArrayFact<'_>, want: DType) -> Result<IntArray, Diagnostic> {
    match want {
        DType::I8 | DType::I16 | DType::I32 => convert(name, array, "int32").map(IntArray::I32),
        DType::I64 => convert(name, array, "int64").map(IntArray::I64),
        DType::U64 => convert(name, array, "uint64").map(IntArray::U64),
        _ => convert(name, array, "uint32").map(IntArray::U32),
    }
}

fn convert<T: TryFrom<i128>>(name: &str, array: &ArrayFact<'_>, want: &str) -> Result<Arc<[T]>, Diagnostic> {
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
    let integers = array.integers().ok_or_else(|| no_integers(name, array.dtype(), want))?;
    integers.map_err(|(i, v)| {
        Diagnostic::error(codes::BAD_INTEGER, format!("`{name}[{i}]` is {v}, which does not fit {want}"))
            .help("lengths, page ids and row pointers lie in 0..=4294967295")
    })
}

fn no_integers(name: &str, found: DType, want: &str) -> Diagnostic {
    let message = format!("array `{name}` holds {found}, but integers are needed");
    Diagnostic::error(codes::WRONG_DTYPE, message)
        .help(format!("save `{name}` as {want}"))
        .python(format!("give a list of integers, or `{name}.astype(\"{want}\")`"))
}
