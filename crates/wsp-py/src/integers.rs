//! Lists of integers, as Python has them.

use crate::arrays::{IntegerArray, type_name};
use crate::refusal::{Refusal, attempted};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyRange, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_plan::Array;
use wsp_trace::python::arrays::{BAD_TABLE, NOT_AN_ARRAY};

/// Why something is no list of integers.
pub(crate) enum Refused {
    /// It is no array that can be used.
    Array(Refusal),
    /// Its elements or dimensions are not those of a list of integers; what one of them raised.
    Elements(String, Option<PyErr>),
}

impl Refused {
    /// The refusal of the argument; `finding` makes that of its elements.
    pub(crate) fn refusal(self, py: Python<'_>, finding: impl FnOnce(String) -> Diagnostic) -> Refusal {
        match self {
            Refused::Array(refusal) => refusal,
            Refused::Elements(what, None) => finding(what).into(),
            Refused::Elements(what, Some(error)) => Refusal::caused(py, finding(what), error),
        }
    }
}

/// The integers of a list, a tuple, a range, or an array of one dimension; `name` is what the caller calls it.
pub(crate) fn integer_list(name: &str, object: &Bound<'_, PyAny>) -> Result<Vec<i64>, Refused> {
    if is_list(object) {
        return object.extract().map_err(|error: PyErr| Refused::Elements(error.to_string(), Some(error)));
    }
    let array = IntegerArray::of(name, object).map_err(|refusal| {
        let is_none = refusal.faults().iter().any(|fault| fault.code == NOT_AN_ARRAY);
        Refused::Array(if is_none { no_list(name, object).into() } else { refusal })
    })?;
    if array.dims().len() != 1 {
        return Err(Refused::Elements(format!("it has {} dimensions", array.dims().len()), None));
    }
    array.values().ok_or_else(|| {
        Refused::Elements(format!("its elements are of type {}, or one does not fit", array.what()), None)
    })
}

fn no_list(name: &str, object: &Bound<'_, PyAny>) -> Diagnostic {
    let message = format!("`{name}` is no list of integers, but `{}`", type_name(object));
    Diagnostic::error(NOT_AN_ARRAY, message)
        .help(format!("give a list of integers, or an array of integers with one dimension: `{name}=[5]`"))
}

/// Integers that a caller may change in place, with the values that they had.
pub(crate) struct SeenList {
    source: Source,
    values: Vec<i64>,
}

/// Where the integers are.
enum Source {
    /// In memory that an array shares.
    Shared(IntegerArray),
    /// In a list of Python.
    List(Py<PyAny>),
    /// In an object that is a number, and of no type whose numbers never change.
    Number(Py<PyAny>),
}

impl SeenList {
    /// The integers of an argument that [`integer_list`] or a size takes; none where they cannot change, or are no integers.
    ///
    /// # Errors
    /// As [`integer_list`].
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> Result<Option<SeenList>, Refusal> {
        let fixed = object.is_none()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyTuple>()
            || object.is_instance_of::<PyRange>();
        if fixed {
            return Ok(None);
        }
        if is_list(object) {
            let values = integers(name, object)?;
            return Ok(Some(SeenList { source: Source::List(object.clone().unbind()), values }));
        }
        if let Some(number) = attempted(object.py(), object.extract::<i64>())? {
            return Ok(Some(SeenList {
                source: Source::Number(object.clone().unbind()),
                values: vec![number],
            }));
        }
        let array = IntegerArray::of(name, object)?;
        let values = array.values();
        Ok(values.map(|values| SeenList { source: Source::Shared(array), values }))
    }

    /// Shows what it holds to Python's collector of cycles.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.source {
            Source::Shared(_) => Ok(()),
            Source::List(object) | Source::Number(object) => visit.call(object),
        }
    }

    /// Whether the integers are others than before, or no integers any more.
    ///
    /// # Errors
    /// What an element raised, where that is no `Exception`.
    pub(crate) fn has_changed(&self, py: Python<'_>) -> PyResult<bool> {
        let now = match &self.source {
            Source::Shared(array) => return Ok(!array.are(&self.values)),
            Source::List(list) => attempted(py, list.bind(py).extract::<Vec<i64>>())?,
            Source::Number(number) => attempted(py, number.bind(py).extract::<i64>())?.map(|now| vec![now]),
        };
        Ok(now.is_none_or(|now| now != self.values))
    }
}

/// Whether it is a list, a tuple or a range.
pub(crate) fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
}

/// The integers of a table; refused as such where it has none.
pub(crate) fn integers(name: &str, object: &Bound<'_, PyAny>) -> Result<Vec<i64>, Refusal> {
    integer_list(name, object).map_err(|refused| refused.refusal(object.py(), |what| no_table(name, &what)))
}

fn no_table(name: &str, what: &str) -> Diagnostic {
    Diagnostic::error(BAD_TABLE, format!("`{name}` is no table: {what}")).help(
        "give a list of integers, or an array of integers with one dimension: `np.array(values, np.int64)`",
    )
}

/// An array of integers.
///
/// # Errors
/// There is no memory for it.
pub(crate) fn of_integers(name: &str, values: &[i64]) -> Result<Array, Diagnostic> {
    let mut array = Array::zeros(DType::I64, &[values.len() as u64])
        .map_err(|_| no_table(name, &format!("there is no memory for {} elements", values.len())))?;
    if let Some(elements) = array.as_slice_mut::<i64>() {
        elements.copy_from_slice(values);
    }
    Ok(array)
}
