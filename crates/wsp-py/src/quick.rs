//! The short way of `Program.execute`: from its caller to the run without a frame of Python in between.
//!
//! What a program is asked in each run alike, its options, is read once. A call whose arguments are refused goes the long way, which finds that again and
//! says where and what to write instead.

use crate::inner::Inner;
use crate::inputs::{self, Need};
use crate::results::Figures;
use crate::runs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use wsp_backend::RunOptions;

/// What the short way of a program needs.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Quick {
    inner: Arc<Inner>,
    options: RunOptions,
    /// Makes what the caller gets of the program and the figures of the run.
    ended: Py<PyAny>,
}

impl Quick {
    pub(crate) fn new(inner: Arc<Inner>, options: RunOptions, ended: Py<PyAny>) -> Quick {
        Quick { inner, options, ended }
    }

    /// Runs the program on arguments by name. None where the long way is to be taken, before anything has run.
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
        let inner = &self.inner;
        let mut arguments =
            inputs::bind(&inner.signature, inner.module(), Some(named), Need::Everything).ok()?;
        arguments.claim().ok()?;
        let options = RunOptions { claim: arguments.claim.clone(), ..self.options.clone() };
        let ran = runs::execute(py, inner, arguments, options, None);
        Some(ran.and_then(|ran| self.ended.call1(py, (program, Figures::new(ran, inner)))))
    }
}
