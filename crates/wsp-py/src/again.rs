//! Runs on the thread of their caller, of few tasks: what one has bound serves the next.
//!
//! Arguments are read and checked anew for each run. What follows from values of sizes and from options alone, which is most of what a run checks, is kept
//! with them, without the arrays. A run takes it out and puts it back: one that begins meanwhile, on another thread or in a task, binds for itself.

use crate::inner::{Body, Inner};
use crate::inputs::Arguments;
use crate::outcome::Ran;
use crate::runs::{Failed, Watched};
use crate::signature::Role;
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use wsp_backend::{Args, Prepared, RunError, RunOptions};
use wsp_plan::ParamValue;

/// Most tasks of a run that is kept.
const MOST_TASKS: u64 = 16;

/// A workload that is bound but for the arrays of the caller.
pub(crate) struct Again {
    watched: Watched,
    cancel: Arc<AtomicBool>,
    values: Vec<(String, ParamValue)>,
    /// None before the first run.
    workload: Option<Box<dyn Prepared>>,
}

impl Again {
    /// What a run takes: what the last one with these values and options has left, or nothing. None for a run that leaves nothing.
    pub(crate) fn of(inner: &Inner, arguments: &Arguments, options: &RunOptions) -> Option<Again> {
        if !leaves_something(inner, arguments, options) {
            return None;
        }
        let last = inner.again.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fits =
            |last: &Again| last.values == arguments.args.values && are_same(last.watched.options(), options);
        Some(last.filter(fits).unwrap_or_else(|| {
            let cancel = Arc::new(AtomicBool::new(false));
            // The claim is that of one run.
            let options = RunOptions { cancel: Some(cancel.clone()), claim: None, ..options.clone() };
            let watched = Watched::looking(inner, options);
            Again { watched, cancel, values: arguments.args.values.clone(), workload: None }
        }))
    }

    /// What stops the run.
    pub(crate) fn cancel(&self) -> &Arc<AtomicBool> {
        &self.cancel
    }

    /// Runs on the arrays of the arguments, and leaves what the next run takes.
    pub(crate) fn run(mut self, inner: &Inner, arguments: &mut Arguments) -> Result<Ran, Failed> {
        self.cancel.store(false, Ordering::Relaxed);
        let ran = self.launch(inner, arguments);
        let ran = ran.map_err(|error| self.watched.failed(error.into()))?;
        if self.workload.as_mut().is_some_and(|workload| workload.release()) {
            *inner.again.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
        }
        Ok(ran)
    }

    fn launch(&mut self, inner: &Inner, arguments: &mut Arguments) -> Result<Ran, RunError> {
        let args = take(&mut arguments.args);
        let workload = match &mut self.workload {
            Some(workload) => {
                workload.rebind(Args { views: args.views, ..Args::default() })?;
                workload
            }
            None => self.workload.insert(inner.program.prepare(args, self.watched.options().clone())?),
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
        && args.arrays.is_empty()
        && copied.is_empty()
        && inner.signature.tensors.iter().all(|tensor| tensor.role == Role::Argument)
        && inner.tasks(args).is_some_and(|tasks| tasks <= MOST_TASKS)
}

/// Whether what is asked of two runs is the same, whatever they are stopped and watched by.
fn are_same(one: &RunOptions, other: &RunOptions) -> bool {
    let RunOptions { threads, seed, window, recording, sequential, plain, spaces, workload, .. } = one;
    (*threads, *seed, *window) == (other.threads, other.seed, other.window)
        && (*recording, *sequential, *plain) == (other.recording, other.sequential, other.plain)
        && (spaces, workload) == (&other.spaces, &other.workload)
}
