//! What says how a run has ended: exceptions of kernels, signals, and options.

use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wsp_backend::{Payload, PayloadSlot, RunOptions};
use wsp_core::Poll;
use wsp_diag::Diagnostic;
use wsp_runtime::clock;

/// How long Ctrl-C waits at most to be noticed.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// Why a run failed.
pub(crate) struct Failed {
    pub(crate) faults: Vec<Diagnostic>,
    /// The exception of a Python kernel.
    pub(crate) payload: Option<Payload>,
    /// What a signal handler raised.
    pub(crate) signal: Option<PyErr>,
}

/// Options of a run, with all that says how it has ended.
pub(crate) struct Watched {
    options: RunOptions,
    payload: PayloadSlot,
    signal: Arc<Mutex<Option<PyErr>>>,
}

impl Watched {
    /// Of a run on another thread than the caller's; `has_functions` if kernels are functions of Python.
    pub(crate) fn new(has_functions: bool, mut options: RunOptions) -> Watched {
        let payload = PayloadSlot::default();
        options.payload = has_functions.then(|| payload.clone());
        Watched { options, payload, signal: Arc::default() }
    }

    /// Of a run on the caller's thread: it looks at signals itself.
    pub(crate) fn looking(has_functions: bool, options: RunOptions) -> Watched {
        let mut watched = Watched::new(has_functions, options);
        watched.options.poll = Some(signals(&watched.signal));
        watched
    }

    /// The options.
    pub(crate) fn options(&self) -> &RunOptions {
        &self.options
    }

    /// A run that failed with these findings.
    pub(crate) fn failed(&self, faults: Vec<Diagnostic>) -> Failed {
        Failed { faults, payload: self.payload.take(), signal: lock(&self.signal).take() }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at signals now and then; stops when a handler raises, and leaves what it raised in `found`.
fn signals(found: &Arc<Mutex<Option<PyErr>>>) -> Arc<dyn Poll> {
    let (found, last) = (found.clone(), Mutex::new(clock::now()));
    Arc::new(move || {
        let Ok(mut last) = last.try_lock() else { return false };
        if clock::now().saturating_duration_since(*last) < LOOK {
            return false;
        }
        *last = clock::now();
        match Python::try_attach(|py| py.check_signals()) {
            Some(Err(raised)) => {
                *lock(&found) = Some(raised);
                true
            }
            _ => false,
        }
    })
}
