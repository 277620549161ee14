//! Runs that go on beside their caller, as Python sees them.

use crate::inner::Inner;
use crate::inputs::Arguments;
use crate::results::Figures;
use crate::runs::{Limit, Running, internal};
use crate::watch;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wsp_backend::RunOptions;
use wsp_runtime::clock;
use wsp_runtime::standing;

/// A run that goes on while Python does other things.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Run {
    inner: Arc<Inner>,
    running: Arc<Running>,
    /// What it came to, as soon as it was asked for: the figures, or the exception.
    settled: PyOnceLock<Result<Py<Figures>, PyErr>>,
}

impl Run {
    /// Starts a run.
    pub(crate) fn start(
        inner: &Arc<Inner>,
        arguments: Arguments,
        options: RunOptions,
        limit: Option<Limit>,
    ) -> PyResult<Run> {
        let running = Running::start(inner, arguments, options)?;
        if let Some(limit) = limit {
            let watched = running.clone();
            let keep = move || -> standing::Tell {
                watched.keep_to(limit);
                Box::new(|| {})
            };
            standing::start(Box::new(keep)).map_err(|fault| PyRuntimeError::new_err(fault.to_string()))?;
        }
        Ok(Run { inner: inner.clone(), running, settled: PyOnceLock::new() })
    }

    /// The figures of the ended run.
    fn settle(&self, py: Python<'_>) -> PyResult<Py<Figures>> {
        let settled = self.settled.get_or_init(py, || {
            let outcome = self.running.finish(py, &self.inner)?;
            let outcome = outcome.ok_or_else(|| internal("a run has no outcome").raise(py, &self.inner))?;
            Py::new(py, Figures::new(outcome, &self.inner))
        });
        match settled {
            Ok(figures) => Ok(figures.clone_ref(py)),
            Err(error) => Err(error.clone_ref(py)),
        }
    }
}

#[pymethods]
impl Run {
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
