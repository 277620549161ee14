//! Runs that go on while their caller does other things.

use crate::backend::Prepared;
use crate::codes::NOT_STARTED;
use crate::error::RunError;
use crate::outcome::Outcome;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use wsp_diag::Diagnostic;

/// A run on a thread of its own, which a child of fork does not have: there a run that is dropped is forgotten. Else it is waited for, and cancelled before if its options had no flag for that: the flag of a caller
/// may be that of other runs too.
#[must_use = "a run that is dropped is waited for"]
#[derive(Debug)]
pub struct Run {
    /// None when its end was waited for.
    thread: Option<JoinHandle<Result<Outcome, RunError>>>,
    cancel: Arc<AtomicBool>,
    /// Nothing else has the flag.
    own: bool,
    /// The process that has the thread: a child of fork has none of its parent's.
    process: u32,
}

impl Run {
    /// Starts a run that the flag `cancel` stops: a new one, or that of the caller's options.
    ///
    /// # Errors
    /// The system makes no thread.
    pub fn start(
        mut prepared: Box<dyn Prepared>,
        cancel: Arc<AtomicBool>,
        own: bool,
    ) -> Result<Run, RunError> {
        let thread = std::thread::Builder::new().name("wsp-run".to_owned());
        let thread = thread.spawn(move || prepared.run()).map_err(|fault| {
            let message = "the run has no thread".to_owned();
            RunError::Refused(Diagnostic::error(NOT_STARTED, message).note(fault.to_string()).into())
        })?;
        Ok(Run { thread: Some(thread), cancel, own, process: std::process::id() })
    }

    /// Whether it has ended, well or not.
    pub fn is_complete(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Asks it to stop, with the flag of its options if they had one; what is running ends first.
    pub fn cancel(&self) {
        // Relaxed: nothing is published with it.
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What failed it.
    ///
    /// # Panics
    /// When the run did.
    pub fn synchronize(mut self) -> Result<Outcome, RunError> {
        if self.process != std::process::id() {
            let message = "the run goes on in the process that this one was forked from";
            let fault =
                Diagnostic::error(NOT_STARTED, message).help("wait for it there, or start another one");
            return Err(RunError::Refused(fault.into()));
        }
        let thread = self.thread.take().expect("a run should be waited for once: it is taken by value");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            if self.process != std::process::id() {
                return std::mem::forget(thread);
            }
            if self.own {
                self.cancel();
            }
            // What it came to has no taker, a panic neither.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run as a child of fork has it.
    fn of_another_process(cancel: &Arc<AtomicBool>) -> Run {
        let ended = || Err(RunError::Failed(Diagnostic::error(NOT_STARTED, "it ended").into()));
        let thread = Some(std::thread::spawn(ended));
        Run { thread, cancel: cancel.clone(), own: true, process: std::process::id() + 1 }
    }

    #[test]
    fn a_run_of_another_process_is_forgotten_and_not_waited_for() {
        let cancel = Arc::default();
        drop(of_another_process(&cancel));
        assert!(!cancel.load(Ordering::Relaxed));
        let error = of_another_process(&cancel).synchronize().expect_err("it has no thread here");
        assert!(error.to_string().contains("forked"), "{error}");
    }
}
