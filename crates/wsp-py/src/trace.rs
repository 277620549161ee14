//! Traces: what the Python front end says, checked and printed.

use crate::errors;
use crate::stack;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use wsp_trace::Trace;

/// What `print` makes of a trace, which is checked.
fn printed<R: Send>(py: Python<'_>, json: &[u8], print: impl FnOnce(&Trace) -> R + Send) -> PyResult<R> {
    let read = stack::on_large_stack(py, || wsp_trace::read(json).map(|trace| print(&trace)))?;
    read.map_err(|(sources, faults)| errors::exception(py, &faults, &sources))
}

/// The `.wsp` text of the workload in a trace, which is checked.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, trace: &[u8]) -> PyResult<String> {
    printed(py, trace, wsp_trace::workload_text)
}

/// The text of the body of kernel `index` of a trace, which is checked.
#[pyfunction]
pub(crate) fn kernel_text(py: Python<'_>, trace: &[u8], index: usize) -> PyResult<String> {
    let text = printed(py, trace, |trace| {
        let kernels = trace.bodies.len();
        if index < kernels { Ok(wsp_trace::kernel_text(trace, index)) } else { Err(kernels) }
    })?;
    text.map_err(|kernels| PyIndexError::new_err(format!("kernel {index} of {kernels}")))
}
