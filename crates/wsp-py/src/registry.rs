//! What goes on in this module, on any thread: stopped before the interpreter goes.
//!
//! A thread that comes back to an interpreter which is gone cannot continue. So when the interpreter is about to go, everything
//! is asked to stop, and it stays until all of it has.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar};
use std::time::Duration;
use wsp_memory::PerProcess;

/// How long the interpreter is kept at most: a Python kernel may wait for something that never comes.
const PATIENCE: Duration = Duration::from_secs(5);

/// The child of a fork has none of the threads of its parent: nothing goes on there that has to be waited for.
static REGISTRY: PerProcess<Registry> = PerProcess::new(Registry { going_on: Vec::new(), closed: false });
static NEXT: AtomicU64 = AtomicU64::new(0);
static LESS: Condvar = Condvar::new();

#[derive(Default)]
struct Registry {
    /// Numbers, and what stops each.
    going_on: Vec<(u64, Arc<AtomicBool>)>,
    /// Whether the interpreter is about to go.
    closed: bool,
}

/// To be called in the child of a fork.
pub(crate) fn forked() {
    REGISTRY.begin();
}

/// Something goes on as long as this lives.
#[derive(Debug)]
pub(crate) struct Registered(u64);

impl Registered {
    /// Something begins that `cancel` stops.
    ///
    /// # Errors
    /// The interpreter is about to go.
    pub(crate) fn new(cancel: &Arc<AtomicBool>) -> PyResult<Registered> {
        let mut registry = REGISTRY.lock();
        if registry.closed {
            return Err(PyRuntimeError::new_err("the interpreter is shutting down"));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        registry.going_on.push((number, cancel.clone()));
        Ok(Registered(number))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut registry = REGISTRY.lock();
        registry.going_on.retain(|(number, _)| *number != self.0);
        // Nothing waits before, and telling it is a call of the system.
        if registry.closed {
            LESS.notify_all();
        }
    }
}

/// Something goes on that a thread of Python waits for. It ends with the interpreter attached.
///
/// Where the interpreter is about to go, the thread does not return: CPython before 3.14 ends a thread that asks for an interpreter which
/// is gone by unwinding its stack (`PyThread_exit_thread`), and a stack with frames of Rust ends the process. What such a thread was
/// to return has no reader: `atexit` runs after all threads but those of the kind `daemon` have ended.
#[derive(Debug)]
pub(crate) struct Awaited(Option<Registered>);

impl Awaited {
    /// A thread of Python waits for what `cancel` stops.
    ///
    /// # Errors
    /// The interpreter is about to go.
    pub(crate) fn new(cancel: &Arc<AtomicBool>) -> PyResult<Awaited> {
        Ok(Awaited(Some(Registered::new(cancel)?)))
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        drop(self.0.take());
        if REGISTRY.lock().closed {
            Python::try_attach(|py| {
                py.detach(|| {
                    loop {
                        std::thread::park();
                    }
                })
            });
        }
    }
}

/// Stops all that goes on and waits for its end; nothing begins afterwards. Called before the interpreter goes.
#[pyfunction]
pub(crate) fn stop_all(py: Python<'_>) {
    py.detach(|| {
        let mut registry = REGISTRY.lock();
        registry.closed = true;
        registry.going_on.iter().for_each(|(_, cancel)| cancel.store(true, Ordering::Relaxed));
        let still = |registry: &mut Registry| !registry.going_on.is_empty();
        let waited = LESS.wait_timeout_while(registry, PATIENCE, still);
        drop(waited);
    });
}
