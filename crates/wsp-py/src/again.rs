//! Runs on the thread of their caller, of few tasks: what one has bound serves the next.
//!
//! Arguments are read and checked anew for each run. What follows from values of sizes and from options alone, which is most of what a run checks, is kept
//! with them, without the arrays. A run takes it out and puts it back: one that begins meanwhile, on another thread or in a task, binds for itself.

use crate::inner::{Body, Inner};
use crate::inputs::Arguments;
use crate::kept::Kept;
use crate::outcome::Ran;
use crate::signature::Role;
use crate::watched::{Failed, Watched};
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{Args, RunError, RunOptions};

/// Most tasks of a run that is kept.
const MOST_TASKS: u64 = 16;

/// A run that takes what the last one has left.
pub(crate) struct Again(Kept);

impl Again {
    /// What a run takes: what the last one with these values and options has left, or nothing. None for a run that leaves nothing.
    pub(crate) fn of(inner: &Inner, arguments: &Arguments, options: &RunOptions) -> Option<Again> {
        if !leaves_something(inner, arguments, options) {
            return None;
        }
        let last = inner.again.lock().take();
        let fits = |last: &Kept| last.serves(&arguments.args.values, options);
        Some(Again(last.filter(fits).unwrap_or_else(|| {
            let cancel = Arc::new(AtomicBool::new(false));
            // The claim is that of one run.
            let options = RunOptions { cancel: Some(cancel.clone()), claim: None, ..options.clone() };
            let watched = Watched::looking(inner.has_functions(), options);
            Kept { watched, cancel, values: arguments.args.values.clone(), workload: None }
        })))
    }

    /// What stops the run.
    pub(crate) fn cancel(&self) -> &Arc<AtomicBool> {
        &self.0.cancel
    }

    /// Runs on the arrays of the arguments, and leaves what the next run takes.
    pub(crate) fn run(mut self, inner: &Inner, arguments: &mut Arguments) -> Result<Ran, Failed> {
        self.0.cancel.store(false, Ordering::Relaxed);
        let ran = self.launch(inner, arguments);
        let ran = ran.map_err(|error| self.0.watched.failed(error.into()))?;
        if self.0.workload.as_mut().is_some_and(|workload| workload.release()) {
            // What another thread has left meanwhile is dropped without the lock.
            let _left = inner.again.lock().replace(self.0);
        }
        Ok(ran)
    }

    fn launch(&mut self, inner: &Inner, arguments: &mut Arguments) -> Result<Ran, RunError> {
        let args = take(&mut arguments.args);
        let workload = match &mut self.0.workload {
            Some(workload) => {
                workload.rebind(Args { views: args.views, ..Args::default() })?;
                workload
            }
            None => self.0.workload.insert(inner.program.prepare(args, self.0.watched.options().clone())?),
        };
        workload.launch(arguments.claim.as_ref())?;
        let outcome = workload.outcome()?;
        Ok(inner.told(outcome, arguments))
    }
}

/// Whether a run has few tasks, gives nothing but figures, and reads nothing but arrays of the caller where they lie.
fn leaves_something(inner: &Inner, arguments: &Arguments, options: &RunOptions) -> bool {
    let Arguments { args, copied, .. } = arguments;
    matches!(&inner.body, Body::Workload(plan) if plan.library.is_none())
        && !options.trace
        && !inner.measures()
        && options.replay.is_none()
        && options.progress.is_none()
        && args.arrays.is_empty()
        && copied.is_empty()
        && inner.signature.tensors.iter().all(|tensor| tensor.role == Role::Argument)
        && inner.tasks(args).is_some_and(|tasks| tasks <= MOST_TASKS)
}
