//! Functions of users that are called for tasks with nothing of the package in between.

use crate::kernels::INLINE;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

/// What a parameter is given.
enum Given {
    /// The array of this region of the task.
    Array(usize),
    /// This scalar of the task.
    Scalar(usize),
    /// The same for all tasks.
    Constant(Py<PyAny>),
}

/// A function, what each of its parameters is given, by a word and a value, and what refuses a result.
type Parts<'py> = (Py<PyAny>, Vec<(String, Bound<'py, PyAny>)>, Py<PyAny>);

/// A function whose parameters can all be given by their places.
pub(crate) struct Direct {
    function: Py<PyAny>,
    given: Vec<Given>,
    /// Raises the error of a function that returns this value.
    refuse: Py<PyAny>,
}

impl<'py> FromPyObject<'_, 'py> for Direct {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Direct> {
        let (function, params, refuse): Parts<'py> = object.extract()?;
        let given = params.into_iter().map(|(kind, value)| match kind.as_str() {
            "array" => value.extract().map(Given::Array),
            "scalar" => value.extract().map(Given::Scalar),
            "constant" => Ok(Given::Constant(value.unbind())),
            other => Err(PyValueError::new_err(format!("`{other}` is no kind of parameter"))),
        });
        Ok(Direct { function, given: given.collect::<PyResult<_>>()?, refuse })
    }
}

/// Arrays of a task, or arguments.
type Objects<'py> = SmallVec<[Bound<'py, PyAny>; INLINE]>;

impl Direct {
    /// Shows what it holds to Python's collector of cycles.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.refuse)?;
        self.given.iter().try_for_each(|given| match given {
            Given::Constant(value) => visit.call(value),
            Given::Array(_) | Given::Scalar(_) => Ok(()),
        })
    }

    /// Calls it for a task.
    ///
    /// # Errors
    /// What it raises, or that it returns a value.
    pub(crate) fn call<'py>(&self, py: Python<'py>, arrays: Objects<'py>, scalars: &[i64]) -> PyResult<()> {
        let missing = |what: &str, n: usize| PyValueError::new_err(format!("a task has no {what} {n}"));
        let given = self.given.iter().map(|given| match given {
            Given::Array(n) => arrays.get(*n).cloned().ok_or_else(|| missing("array", *n)),
            Given::Scalar(n) => {
                let scalar = scalars.get(*n).ok_or_else(|| missing("scalar", *n))?;
                Ok(scalar.into_pyobject(py)?.into_any())
            }
            Given::Constant(value) => Ok(value.bind(py).clone()),
        });
        let given = given.collect::<PyResult<Objects<'_>>>()?;
        let returned = self.function.bind(py).call1(PyTuple::new(py, given)?)?;
        if !returned.is_none() {
            self.refuse.call1(py, (returned,))?;
        }
        Ok(())
    }
}
