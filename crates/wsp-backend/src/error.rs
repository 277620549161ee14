//! Why a run gave nothing.

use crate::codes::NO_OUTCOME;
use std::fmt;
use wsp_diag::{Diagnostic, Diagnostics};

/// Why a run gave nothing. The findings say it, the first of them first; where spans point into sources, who has the sources
/// renders them.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// Arguments or options do not fit, or arrays are in use: no task ran.
    Refused(Diagnostics),
    /// A task, the generation of tasks, an expression of the launch or a check of tasks failed.
    Failed(Diagnostics),
    /// Nothing could run any more: who waits for what. Of task graphs only: tasks of other programs wait for earlier ones.
    Stuck(Diagnostics),
    /// The run was cancelled.
    Cancelled(Diagnostics),
}

impl RunError {
    /// The outcome of a prepared program was taken, or it has not run.
    pub fn no_outcome() -> RunError {
        let fault =
            Diagnostic::error(NO_OUTCOME, "the outcome of the last run was taken, or nothing has run");
        RunError::Refused(fault.help("run it again").into())
    }

    /// What became of the run, in words.
    pub fn what(&self) -> &'static str {
        match self {
            RunError::Refused(_) => "the run was refused",
            RunError::Failed(_) => "the run failed",
            RunError::Stuck(_) => "the run cannot go on",
            RunError::Cancelled(_) => "the run was cancelled",
        }
    }

    /// The findings.
    pub fn diagnostics(&self) -> &Diagnostics {
        match self {
            RunError::Refused(found)
            | RunError::Failed(found)
            | RunError::Stuck(found)
            | RunError::Cancelled(found) => found,
        }
    }

    /// The findings, to be kept.
    pub fn into_diagnostics(self) -> Diagnostics {
        match self {
            RunError::Refused(found)
            | RunError::Failed(found)
            | RunError::Stuck(found)
            | RunError::Cancelled(found) => found,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what(), self.diagnostics())
    }
}

impl std::error::Error for RunError {}

impl From<RunError> for Vec<Diagnostic> {
    fn from(error: RunError) -> Vec<Diagnostic> {
        error.into_diagnostics().0
    }
}
