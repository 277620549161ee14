//! Arrays that Python itself reads while runs go on.

use crate::arrays::PyArray;
use crate::errors;
use crate::inputs::reading;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use wsp_diag::SourceMap;
use wsp_memory::Claim;

/// A claim to read an array, until `end`.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Reading(Mutex<Option<Claim>>);

#[pymethods]
impl Reading {
    /// Claims an array, which errors call `name`.
    #[new]
    fn new(py: Python<'_>, name: &str, array: &Bound<'_, PyAny>) -> PyResult<Reading> {
        let array = PyArray::of(name, array).map_err(|refusal| refusal.error(py, &SourceMap::default()))?;
        let claim = array.place(name).and_then(|place| reading([(name, place)]));
        let claim = claim.map_err(|fault| errors::fault(py, fault))?;
        Ok(Reading(Mutex::new(Some(claim))))
    }

    /// Gives the claim back.
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
