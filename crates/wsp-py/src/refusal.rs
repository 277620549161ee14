//! Why a call does not take what it is given: findings, and what code of the caller's objects raised.

use crate::errors;
use crate::sources::Told;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use wsp_diag::Diagnostic;

/// Arguments that are not taken.
pub(crate) struct Refusal {
    faults: Vec<Diagnostic>,
    /// What caused the first finding. What is no `Exception`, such as `KeyboardInterrupt`, is about no argument: it is passed on.
    raised: Option<PyErr>,
}

impl Refusal {
    /// A finding about an argument whose code raised `error`, or which the interpreter refused.
    pub(crate) fn caused(py: Python<'_>, fault: Diagnostic, error: PyErr) -> Refusal {
        // What no code raised says no more than the finding.
        let is_of_code = error.traceback(py).is_some() || interrupts(py, &error);
        Refusal { faults: vec![fault], raised: is_of_code.then_some(error) }
    }

    /// Whether it is passed on, before anything else is looked at.
    pub(crate) fn interrupts(&self, py: Python<'_>) -> bool {
        self.raised.as_ref().is_some_and(|error| interrupts(py, error))
    }

    /// The findings.
    pub(crate) fn faults(&self) -> &[Diagnostic] {
        &self.faults
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.raised.is_none()
    }

    /// Adds what is found later.
    pub(crate) fn extend(&mut self, py: Python<'_>, later: Refusal) {
        if self.is_empty() || later.interrupts(py) {
            self.raised = later.raised;
        }
        self.faults.extend(later.faults);
    }

    /// Adds findings.
    pub(crate) fn add(&mut self, faults: impl IntoIterator<Item = Diagnostic>) {
        self.faults.extend(faults);
    }

    /// The exception that says it.
    pub(crate) fn error(self, py: Python<'_>, sources: &impl Told) -> PyErr {
        match self.raised {
            Some(error) if self.faults.is_empty() || interrupts(py, &error) => error,
            cause => {
                let error = errors::exception(py, &self.faults, sources);
                if cause.is_some() {
                    error.set_cause(py, cause);
                }
                error
            }
        }
    }
}

impl From<Diagnostic> for Refusal {
    fn from(fault: Diagnostic) -> Refusal {
        Refusal { faults: vec![fault], raised: None }
    }
}

impl From<Vec<Diagnostic>> for Refusal {
    fn from(faults: Vec<Diagnostic>) -> Refusal {
        Refusal { faults, raised: None }
    }
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Refusal {
        Refusal { faults: Vec::new(), raised: Some(error) }
    }
}

/// What code of an object gave; none where it raised an `Exception`.
///
/// # Errors
/// Anything else that it raised.
pub(crate) fn attempted<T>(py: Python<'_>, given: PyResult<T>) -> PyResult<Option<T>> {
    match given {
        Ok(value) => Ok(Some(value)),
        Err(error) if interrupts(py, &error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether it is no `Exception`: Ctrl-C, or the end of a process or a coroutine.
fn interrupts(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}
