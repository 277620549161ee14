//! Traces: what the Python front end says, checked and printed.

use crate::errors;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use wsp_trace::Trace;

/// Reads a trace with the interpreter released.
pub(crate) fn read(py: Python<'_>, json: &[u8]) -> PyResult<Trace> {
    py.detach(|| wsp_trace::read(json)).map_err(|(sources, faults)| errors::exception(py, &faults, &sources))
}

/// The `.wsp` text of the workload in a trace, which is checked.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, trace: &[u8]) -> PyResult<String> {
    Ok(wsp_trace::workload_text(&read(py, trace)?))
}

/// The text of the body of kernel `index` of a trace, which is checked.
#[pyfunction]
pub(crate) fn kernel_text(py: Python<'_>, trace: &[u8], index: usize) -> PyResult<String> {
    let trace = read(py, trace)?;
    if index >= trace.bodies.len() {
        let message = format!("kernel {index} of {}", trace.bodies.len());
        return Err(PyIndexError::new_err(message));
    }
    Ok(wsp_trace::kernel_text(&trace, index))
}
