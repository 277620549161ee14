//! The fast path of `Program.execute`: from its caller to the run without a frame of Python in between.
//!
//! What a program is asked in each run alike, its options, is read once. Arguments are bound as elsewhere, once: what is refused is refused here.

use crate::functions::Functions;
use crate::inner::Inner;
use crate::results::Figures;
use crate::runs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::Arc;
use wsp_backend::RunOptions;

/// What the fast path of a program needs.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct FastPath {
    inner: Arc<Inner>,
    functions: Py<Functions>,
    options: RunOptions,
    /// Makes what the caller gets of the program and the figures of the run.
    ended: Py<PyAny>,
}

impl FastPath {
    pub(crate) fn new(
        inner: Arc<Inner>,
        functions: Py<Functions>,
        options: RunOptions,
        ended: Py<PyAny>,
    ) -> FastPath {
        FastPath { inner, functions, options, ended }
    }

    /// Runs the program on arguments by name. None of a call that it does not take, before anything is read.
    pub(crate) fn run<'py>(
        &self,
        program: &Bound<'py, PyAny>,
        named: &Bound<'py, PyDict>,
    ) -> Option<PyResult<Py<PyAny>>> {
        let py = program.py();
        // It may be the limit of a run, or an argument.
        if named.contains(intern!(py, "timeout")).unwrap_or(true) {
            return None;
        }
        Some(self.execute(program, named))
    }

    fn execute<'py>(&self, program: &Bound<'py, PyAny>, named: &Bound<'py, PyDict>) -> PyResult<Py<PyAny>> {
        let py = program.py();
        let arguments = self.inner.claimed(py, Some(named))?;
        let options = RunOptions { claim: arguments.claim.clone(), ..self.options.clone() };
        let ran = runs::execute(py, &self.inner, arguments, options, None)?;
        self.ended.call1(py, (program, Figures::new(ran, &self.inner)))
    }
}

#[pymethods]
impl FastPath {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.functions)?;
        visit.call(&self.ended)
    }
}
