//! Lists of integers, as Python has them.

use crate::arrays::PyArray;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyRange, PyTuple};
use wsp_core::DType;
use wsp_ir::diag::{Code, Diagnostic};
use wsp_plan::Array;

const BAD_TABLE: Code = Code(1263);

/// Why something is no list of integers.
pub(crate) enum Refused {
    /// It is no array that can be used.
    Array(Box<Diagnostic>),
    /// Its elements or dimensions are not those of a list of integers.
    Elements(String),
}

/// The integers of a list, a tuple, a range, or an array of one dimension; `name` is what the caller calls it.
pub(crate) fn integer_list(name: &str, object: &Bound<'_, PyAny>) -> Result<Vec<i64>, Refused> {
    if is_list(object) {
        return object.extract().map_err(|error: PyErr| Refused::Elements(error.to_string()));
    }
    let array = PyArray::of(name, object).map_err(|fault| Refused::Array(Box::new(fault)))?;
    if array.dims().len() != 1 {
        return Err(Refused::Elements(format!("it has {} dimensions", array.dims().len())));
    }
    array.integers().ok_or_else(|| {
        Refused::Elements(format!("its elements are of type {}, or one does not fit", array.dtype))
    })
}

/// Whether it is a list, a tuple or a range.
pub(crate) fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
}

/// The error of an argument that should be a list of integers.
pub(crate) fn not_integers(name: &str, refused: Refused) -> Diagnostic {
    match refused {
        Refused::Array(fault) => *fault,
        Refused::Elements(what) => Diagnostic::error(BAD_TABLE, format!("`{name}` is no table: {what}"))
            .help("give a list of integers, or an array of integers with one dimension"),
    }
}

/// An array of integers.
///
/// # Errors
/// There is no memory for it.
pub(crate) fn of_integers(name: &str, values: &[i64]) -> Result<Array, Diagnostic> {
    let mut array = Array::zeros(DType::I64, &[values.len() as u64]).map_err(|_| {
        let what = format!("there is no memory for {} elements", values.len());
        not_integers(name, Refused::Elements(what))
    })?;
    if let Some(elements) = array.as_slice_mut::<i64>() {
        elements.copy_from_slice(values);
    }
    Ok(array)
}
