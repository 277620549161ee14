//! What a run did.

use wsp_backend::UnitResult;
use wsp_diag::Diagnostic;
use wsp_runtime::tg::{Stats, Trace};

/// What a session did so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Launches, kernels, dispatches, blocks, copies and checkpoints, of launches that were waited for.
    pub stats: Stats,
    /// What is worth knowing: launches that had to run one after another, for one.
    pub notes: Vec<Diagnostic>,
    /// Memory, events, arrays in place, and the checkpoint that the last run went on from.
    pub unit: UnitResult,
    /// What was recorded since the last report, if launches are.
    pub trace: Option<Trace>,
}
