//! Public functions, whose errors carry the frames of their callers and none of the package.

use crate::fast_path::FastPath;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// A function of the package that people call. It has no frame of its own, so that what it takes out of the traceback of an error stays out. It lives as
/// long as the package, or a loop: nothing in it leads back to it, and the collector of cycles does not look.
#[pyclass(dict, frozen, module = "pto_wsp._core")]
pub(crate) struct Public {
    function: Py<PyAny>,
    told: Py<PyAny>,
    /// The attribute of its first argument that may have a fast path of calls by name alone, and `told` of that.
    fast: Option<(Py<PyString>, Py<PyAny>)>,
}

impl Public {
    /// The result of a call by the fast path, with the `told` of that; none where there is no such path.
    fn run_fast(
        &self,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> Option<(&Py<PyAny>, PyResult<Py<PyAny>>)> {
        let ((name, told), named) = self.fast.as_ref().zip(named)?;
        if args.len() != 1 {
            return None;
        }
        let object = args.get_item(0).ok()?;
        let path = object.getattr(name).ok()?;
        let path = path.cast::<FastPath>().ok()?;
        Some((told, path.get().run(&object, named)?))
    }
}

#[pymethods]
impl Public {
    /// Calls `function`; what it raises is given to `told` with the function and its arguments, and what that gives is raised. `fast` names an
    /// attribute of the first argument, which may be a [`FastPath`], with the `told` of that.
    #[new]
    #[pyo3(signature = (function, told, fast=None))]
    fn new(function: Py<PyAny>, told: Py<PyAny>, fast: Option<(Py<PyString>, Py<PyAny>)>) -> Public {
        Public { function, told, fast }
    }

    #[pyo3(signature = (*args, **named))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let (told, called) = match self.run_fast(args, named) {
            Some((told, ran)) => (told, ran),
            None => (&self.told, self.function.call(py, args, named)),
        };
        called.map_err(|raised| {
            let value = raised.into_value(py);
            match told.call1(py, (value, &self.function, args, named)) {
                // What is raised again has the traceback that the value has now.
                Ok(told) => PyErr::from_value(told.into_bound(py)),
                Err(fault) => fault,
            }
        })
    }

    /// The function as a method of `object`.
    fn __get__<'py>(
        slf: Bound<'py, Self>,
        object: Option<Bound<'py, PyAny>>,
        _kind: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static METHOD: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(slf.into_any()) };
        METHOD.import(slf.py(), "types", "MethodType")?.call1((slf, object))
    }

    /// Its name, by which it is pickled.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(self.function.getattr(py, "__qualname__")?.into_bound(py).cast_into()?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.function.bind(py).repr()?.to_string())
    }
}
