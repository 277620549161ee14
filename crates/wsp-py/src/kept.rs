//! What a run leaves for the next one.

use crate::watched::Watched;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::{Prepared, RunOptions};
use wsp_plan::ParamValue;

/// A workload that is bound but for the arrays of the caller.
pub(crate) struct Kept {
    pub(crate) watched: Watched,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) values: Vec<(String, ParamValue)>,
    /// None before the first run.
    pub(crate) workload: Option<Box<dyn Prepared>>,
}

impl Kept {
    /// Whether it serves a run with these values and options, whatever that is stopped and watched by.
    pub(crate) fn serves(&self, values: &[(String, ParamValue)], options: &RunOptions) -> bool {
        let RunOptions {
            threads,
            seed,
            window,
            // Runs that leave something replay nothing.
            replay: _,
            trace,
            recording,
            sequential,
            plain,
            cancel: _,
            poll: _,
            payload: _,
            progress: _,
            claim: _,
            spaces,
            workload,
            // Of task graphs.
            unit: _,
        } = self.watched.options();
        self.values == values
            && (*threads, *seed, *window, *trace)
                == (options.threads, options.seed, options.window, options.trace)
            && (*recording, *sequential, *plain) == (options.recording, options.sequential, options.plain)
            && (spaces, workload) == (&options.spaces, &options.workload)
    }
}
