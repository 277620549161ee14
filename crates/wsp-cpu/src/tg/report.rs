//! What a run did.

use wsp_backend::{CheckpointKey, Peak};
use wsp_diag::Diagnostic;
use wsp_runtime::tg::{Stats, Trace};

/// What a session did so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Launches, kernels, dispatches, blocks, copies and checkpoints, of launches that were waited for.
    pub stats: Stats,
    /// Most memory in use, by device. Memory that all devices share counts for the first.
    pub peak: Vec<Peak>,
    /// What is worth knowing: launches that had to run one after another, for one.
    pub notes: Vec<Diagnostic>,
    /// The checkpoint that the last run went on from, if it did.
    pub resumed: Option<CheckpointKey>,
    /// External events that were signalled, by name: by the caller, and before the checkpoint was saved that a run went on from.
    pub signalled: Vec<String>,
    /// Names of the caller's arrays that the unit writes where they lie.
    pub written: Vec<String>,
    /// What was recorded since the last report, if launches are.
    pub trace: Option<Trace>,
}
