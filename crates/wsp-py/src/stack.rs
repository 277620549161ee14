//! Work that nests as deep as what it is given: on a thread with a stack of known size.
//!
//! Statements and expressions that nest as deep as the limits allow take more of the stack than some threads of Python have:
//! `threading.stack_size` sets that of new ones, and platforms differ in theirs.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::thread;

/// Several times what reading, checking, compiling and printing the deepest document take without optimisations.
const STACK_BYTES: usize = 16 << 20;

/// Does something on a large stack, with the interpreter released, and waits for it.
///
/// # Errors
/// The operating system makes no thread.
pub(crate) fn on_large_stack<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let done = py.detach(|| {
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("pto-wsp-compile".to_owned()).stack_size(STACK_BYTES);
            let ended = thread.spawn_scoped(scope, work).map(thread::ScopedJoinHandle::join);
            ended.map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    });
    done.map_err(|fault| PyRuntimeError::new_err(fault.to_string()))
}
