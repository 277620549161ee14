//! What happens when an object of Python goes.

use pyo3::prelude::*;

/// Calls a function when it goes, unless an exception is on its way through the frame that held it: what goes then was about to be used.
#[pyclass(module = "pto_wsp._core")]
pub(crate) struct WhenGone {
    call: Option<Py<PyAny>>,
}

#[pymethods]
impl WhenGone {
    /// Calls `call` without arguments.
    #[new]
    fn new(call: Py<PyAny>) -> WhenGone {
        WhenGone { call: Some(call) }
    }

    /// Leaves the call out.
    fn forget(&mut self) {
        self.call = None;
    }
}

impl Drop for WhenGone {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        // Nothing is called when the interpreter is about to go.
        let _attached = Python::try_attach(|py| {
            if PyErr::occurred(py) {
                return;
            }
            if let Err(raised) = call.call0(py) {
                raised.write_unraisable(py, Some(call.bind(py)));
            }
        });
    }
}
