//! Runs that go on beside their caller, as Python sees them.

use crate::errors;
use crate::functions::Functions;
use crate::inner::Inner;
use crate::inputs::Arguments;
use crate::nested;
use crate::results::Figures;
use crate::runs::{Limit, Running, internal};
use crate::watch;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::OnceLockExt as _;
use pyo3::types::PyTraceback;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wsp_backend::RunOptions;
use wsp_diag::Diagnostic;
use wsp_runtime::clock;
use wsp_runtime::standing;
use wsp_trace::python::arrays::OUTLIVES;

/// A run that goes on while Python does other things.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Run {
    inner: Arc<Inner>,
    functions: Py<Functions>,
    running: Arc<Running>,
    /// What it came to, as soon as it was asked for.
    settled: OnceLock<Result<Py<Figures>, Raised>>,
}

/// What failed a run, and the frames that it had before it was raised for the first time: each time adds those of its caller.
struct Raised {
    error: Py<PyBaseException>,
    traceback: Option<Py<PyTraceback>>,
}

impl Raised {
    fn new(py: Python<'_>, error: PyErr) -> Raised {
        Raised { traceback: error.traceback(py).map(Bound::unbind), error: error.into_value(py) }
    }

    /// The error, to be raised as for the first time.
    fn again(&self, py: Python<'_>) -> PyErr {
        let error = self.error.bind(py);
        match error.setattr(intern!(py, "__traceback__"), self.traceback.as_ref()) {
            Ok(()) => PyErr::from_value(error.clone().into_any()),
            Err(refused) => refused,
        }
    }
}

impl Run {
    /// Starts a run.
    pub(crate) fn start(
        py: Python<'_>,
        inner: &Arc<Inner>,
        functions: Py<Functions>,
        arguments: Arguments,
        options: RunOptions,
        limit: Option<Limit>,
    ) -> PyResult<Run> {
        let _nested = nested::begin(py)?;
        let running = Running::start(
            inner,
            arguments,
            options,
            inner.calls_functions().then(|| functions.clone_ref(py)),
        )?;
        if let Some(limit) = limit {
            let watched = running.clone();
            let keep = move || -> standing::Tell {
                watched.keep_to(limit);
                Box::new(|| {})
            };
            standing::start(Box::new(keep)).map_err(|fault| PyRuntimeError::new_err(fault.to_string()))?;
        }
        Ok(Run { inner: inner.clone(), functions, running, settled: OnceLock::new() })
    }

    /// Refuses to wait inside of a task: the run may be the one that waits for this task.
    fn may_wait(&self, py: Python<'_>) -> PyResult<()> {
        if !wsp_memory::is_within_task() || self.running.has_ended() {
            return Ok(());
        }
        let fault = Diagnostic::error(OUTLIVES, "a run is waited for inside of a task of a Python kernel")
            .note("it may wait for this task itself, and then neither of the two ends")
            .help("wait for it outside of the kernel, or look at it: `run.is_complete()`");
        Err(errors::fault(py, fault))
    }

    /// The figures of the ended run.
    fn settle(&self, py: Python<'_>) -> PyResult<Py<Figures>> {
        let figures = || {
            let outcome = self.running.finish(py, &self.inner)?;
            let outcome = outcome.ok_or_else(|| internal("a run has no outcome").raise(py, &self.inner))?;
            Py::new(py, Figures::new(outcome, &self.inner))
        };
        let settled = || figures().map_err(|error| Raised::new(py, error));
        match self.settled.get_or_init_py_attached(py, settled) {
            Ok(figures) => Ok(figures.clone_ref(py)),
            Err(raised) => Err(raised.again(py)),
        }
    }
}

#[pymethods]
impl Run {
    /// An exception has the frames in which it was raised, and these what they know of the run.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.functions)?;
        match self.settled.get() {
            Some(Ok(figures)) => visit.call(figures),
            Some(Err(Raised { error, traceback })) => {
                visit.call(error)?;
                visit.call(traceback)
            }
            None => Ok(()),
        }
    }

    /// Whether it has ended, well or not.
    fn done(&self) -> bool {
        self.running.has_ended()
    }

    /// How far it is: tasks that have ended, how many there are where that is known, and those that run: kernel, indices of the loops
    /// around it, seconds; whether it stops when these have ended.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stops = self.running.cancel.load(Ordering::Relaxed);
        watch::figures(py, &self.running.progress, &self.inner, stops)
    }

    /// Waits for the end and gives the figures; `None` when `timeout` seconds pass before. Raises what failed the run, at
    /// each call. Ctrl-C stops the run and raises `KeyboardInterrupt`.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<Figures>>> {
        let deadline = timeout.and_then(|seconds| {
            let span = Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
            clock::now().checked_add(span)
        });
        self.may_wait(py)?;
        let _awaited = self.running.awaited()?;
        if !self.running.wait(py, deadline)? {
            return Ok(None);
        }
        self.settle(py).map(Some)
    }

    /// Waits for the end, and says nothing of what the run came to: that is raised where it is asked for.
    fn ends(&self, py: Python<'_>) -> PyResult<()> {
        let _awaited = self.running.awaited()?;
        self.running.wait(py, None).map(drop)
    }

    /// Stops the run as soon as the tasks that have started are over; it then fails with an `ExecutionError`.
    fn cancel(&self) {
        self.running.cancel.store(true, Ordering::Relaxed);
    }
}
