//! Runs that go on while their caller does other things.

use crate::backend::Prepared;
use crate::codes::NOT_STARTED;
use crate::error::RunError;
use crate::outcome::Outcome;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use wsp_diag::Diagnostic;

/// A run on a thread of its own, which a child of fork does not have: there a run that is dropped is forgotten. Else it is waited for, and cancelled before if its options had no flag for that: the flag of a caller
/// may be that of other runs too.
#[must_use = "a run that is dropped is waited for"]
#[derive(Debug)]
pub struct Run {
    /// None when its end was waited for.
    thread: Option<JoinHandle<Result<Outcome, RunError>>>,
    /// Whether the thread has nothing left to do, and who waits for that.
    ended: Arc<(Mutex<bool>, Condvar)>,
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
        Run::of(cancel, own, move || prepared.run())
    }

    fn of(
        cancel: Arc<AtomicBool>,
        own: bool,
        run: impl FnOnce() -> Result<Outcome, RunError> + Send + 'static,
    ) -> Result<Run, RunError> {
        let ended: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let ending = Ending(ended.clone());
        let thread = std::thread::Builder::new().name("wsp-run".to_owned());
        let thread = thread.spawn(move || {
            let _ending = ending;
            run()
        });
        let thread = thread.map_err(|fault| {
            let message = "the run has no thread".to_owned();
            RunError::Refused(Diagnostic::error(NOT_STARTED, message).note(fault.to_string()).into())
        })?;
        Ok(Run { thread: Some(thread), ended, cancel, own, process: std::process::id() })
    }

    /// Waits for its end, at most so long; whether it has ended, well or not. A child of fork does not wait for a run of its parent.
    pub fn wait_for(&self, timeout: Duration) -> bool {
        if self.process != std::process::id() {
            return self.is_complete();
        }
        let (ended, told) = &*self.ended;
        let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = told.wait_timeout_while(ended, timeout, |ended| !*ended);
        if !*waited.unwrap_or_else(PoisonError::into_inner).0 {
            return false;
        }
        // What is left of the thread is its return.
        while !self.is_complete() {
            std::thread::yield_now();
        }
        true
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

/// Tells that the thread that has it ends, also by a panic.
struct Ending(Arc<(Mutex<bool>, Condvar)>);

impl Drop for Ending {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
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
    use std::sync::mpsc;

    /// A run as a child of fork has it.
    fn of_another_process(cancel: &Arc<AtomicBool>) -> Run {
        let mut run = Run::of(cancel.clone(), true, ended).expect("there is a thread");
        run.process += 1;
        run
    }

    fn ended() -> Result<Outcome, RunError> {
        Err(RunError::Failed(Diagnostic::error(NOT_STARTED, "it ended").into()))
    }

    #[test]
    fn a_run_is_waited_for_as_long_as_its_caller_says() {
        let (go, waits) = mpsc::channel::<()>();
        let run = Run::of(Arc::default(), true, move || waits.recv().map_or_else(|_| ended(), |()| ended()));
        let run = run.expect("there is a thread");
        assert!(!run.wait_for(Duration::ZERO) && !run.is_complete());
        go.send(()).expect("the run waits for it");
        assert!(run.wait_for(Duration::MAX) && run.is_complete() && run.wait_for(Duration::ZERO));
        let panicked = Run::of(Arc::default(), true, || panic!("on purpose")).expect("there is a thread");
        assert!(panicked.wait_for(Duration::MAX));
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
