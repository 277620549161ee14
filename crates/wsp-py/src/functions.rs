//! Functions that kernels of a program call, as Python's collector of cycles sees them.
//!
//! The backend has them, where the collector does not look. Of each program there is one object that shows them, and whatever may run the program refers to
//! that: so a function that refers to its own program is found to be garbage with it. A run beside its caller refers to it, too, so that nothing of a function
//! is taken away while it runs.

use crate::kernels::Function;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::Arc;

/// The functions of a program.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Functions(Vec<Arc<Function>>);

impl Functions {
    /// What shows the functions of a program: one for each program, as what is shown twice is counted twice.
    pub(crate) fn new(py: Python<'_>, functions: Vec<Arc<Function>>) -> PyResult<Py<Functions>> {
        Py::new(py, Functions(functions))
    }
}

#[pymethods]
impl Functions {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.iter().try_for_each(|function| function.traverse(&visit))
    }
}
