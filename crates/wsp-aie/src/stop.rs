//! Whether the caller still waits for a design that is being made.

use crate::codes;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_diag::Diagnostic;

thread_local! {
    /// What stops the work of this thread.
    static CANCEL: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    /// Whether it was seen to have stopped it: what was left out then is left out, whatever the caller does with its flag afterwards.
    static STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// What stopped the work around it, which applies again afterwards.
struct Restore(Option<Arc<AtomicBool>>, bool);

impl Drop for Restore {
    fn drop(&mut self) {
        CANCEL.set(self.0.take());
        STOPPED.set(self.1);
    }
}

/// Does work of this thread, all of which ends soon once the caller has set a flag: placements, checks and designs that are being made then end in an error, or say less.
pub fn stoppable<T>(cancel: Option<&Arc<AtomicBool>>, work: impl FnOnce() -> T) -> T {
    let _before = Restore(CANCEL.replace(cancel.cloned()), STOPPED.replace(false));
    work()
}

/// What stops the work of this thread.
pub(crate) fn cancel() -> Option<Arc<AtomicBool>> {
    CANCEL.with_borrow(Option::clone)
}

/// Whether the caller has stopped it.
pub(crate) fn is_stopped() -> bool {
    let is_set =
        || CANCEL.with_borrow(|cancel| cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)));
    let stopped = STOPPED.get() || is_set();
    STOPPED.set(stopped);
    stopped
}

/// Goes on unless the caller has stopped it.
///
/// # Errors
/// The caller has stopped it.
pub(crate) fn look() -> Result<(), Diagnostic> {
    match is_stopped() {
        true => Err(stopped()),
        false => Ok(()),
    }
}

/// What is reported of it.
pub(crate) fn stopped() -> Diagnostic {
    Diagnostic::error(codes::STOPPED, "the run was cancelled")
}
