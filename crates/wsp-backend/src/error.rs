//! Why a run gave nothing.

use crate::codes::NO_OUTCOME;
use std::fmt;
use wsp_diag::{Diagnostic, Diagnostics};

/// Why a run gave nothing. The findings say it, the first of them first; where spans point into sources, who has the sources
/// renders them.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// Arguments or options do not fit, or arrays are in use: no task ran.
    Refused(Diagnostics),
    /// A task, the generation of tasks, an expression of the launch or a check of tasks failed.
    Failed(Diagnostics),
    /// Nothing could run any more: who waits for what. Of task graphs only: tasks of other programs wait for earlier ones.
    Stuck(Diagnostics),
    /// The run was cancelled.
    Cancelled(Diagnostics),
    /// A task found the window full, and the window's mode is to abort. Tasks in flight have ended.
    Overflow(WindowOverflow, Diagnostics),
}

/// A task that found the window full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowOverflow {
    /// Tasks that the window holds; of a run on AICPUs the window of the one that generated the task.
    pub capacity: u64,
    /// Tasks in flight.
    pub active: u64,
    /// The task, by its number in elaboration order.
    pub task: u64,
}

impl WindowOverflow {
    /// The finding with these figures.
    pub fn in_figures(self, found: Diagnostic) -> Diagnostic {
        let WindowOverflow { capacity, active, task } = self;
        found.figure("capacity", capacity).figure("active", active).figure("task", task)
    }

    /// The figures of a finding, if it has them.
    pub fn of(found: &Diagnostic) -> Option<WindowOverflow> {
        let figure = |name| found.figures.iter().find(|(of, _)| *of == name).map(|(_, number)| *number);
        Some(WindowOverflow {
            capacity: figure("capacity")?,
            active: figure("active")?,
            task: figure("task")?,
        })
    }
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
            RunError::Overflow(..) => "the window overflowed",
        }
    }

    /// The findings.
    pub fn diagnostics(&self) -> &Diagnostics {
        match self {
            RunError::Refused(found)
            | RunError::Failed(found)
            | RunError::Stuck(found)
            | RunError::Cancelled(found)
            | RunError::Overflow(_, found) => found,
        }
    }

    /// The error for a program in Rust.
    #[must_use]
    pub fn in_rust(mut self) -> RunError {
        let (RunError::Refused(found)
        | RunError::Failed(found)
        | RunError::Stuck(found)
        | RunError::Cancelled(found)
        | RunError::Overflow(_, found)) = &mut self;
        found.0 = std::mem::take(&mut found.0).into_iter().map(Diagnostic::in_rust).collect();
        self
    }

    /// The findings, to be kept.
    pub fn into_diagnostics(self) -> Diagnostics {
        match self {
            RunError::Refused(found)
            | RunError::Failed(found)
            | RunError::Stuck(found)
            | RunError::Cancelled(found)
            | RunError::Overflow(_, found) => found,
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
