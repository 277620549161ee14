//! Why a run gave nothing.

use std::fmt;
use wsp_ir::diag::Diagnostics;

/// Why a run gave nothing. The findings say it, the first of them first; where spans point into sources, who has the sources
/// renders them.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// Arguments or options do not fit, or arrays are in use: no task ran.
    Refused(Diagnostics),
    /// A task, the generation of tasks or a check of them failed.
    Failed(Diagnostics),
    /// Nothing could run any more: who waits for what.
    Stuck(Diagnostics),
    /// The run was cancelled.
    Cancelled(Diagnostics),
}

impl RunError {
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
        f.write_str(match self {
            RunError::Refused(_) => "the run was refused",
            RunError::Failed(_) => "the run failed",
            RunError::Stuck(_) => "the run cannot go on",
            RunError::Cancelled(_) => "the run was cancelled",
        })?;
        write!(f, "\n{}", self.diagnostics())
    }
}

impl std::error::Error for RunError {}
