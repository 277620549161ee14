//! What a run of a workload gave.

use crate::report::{Channels, RunTime};
use std::path::Path;
use wsp_backend::{Bodies, Unwritten};
use wsp_diag::Diagnostic;
use wsp_plan::{Arrays, ParamValue};
use wsp_runtime::timeline::Timeline;

/// What a run gave.
#[derive(Clone, Debug)]
pub(crate) struct RunOutcome {
    /// Tensors that tasks may write, by name.
    pub outputs: Arrays,
    /// Elements of them that no task stored, where that is recorded.
    pub unwritten: Vec<Unwritten>,
    /// What ran in the tasks; nothing in virtual time.
    pub bodies: Option<Bodies>,
    /// Every parameter with the value it had; in virtual time none.
    pub params: Vec<(String, i64)>,
    /// Every parameter of the used file with its value.
    pub library_params: Vec<(String, ParamValue)>,
    /// What was done with each directive of the schedule.
    pub schedule_lines: Vec<String>,
    /// Tasks by tile, where the schedule has a grid.
    pub grid: Vec<String>,
    /// Tasks by kernel, in the order of the program.
    pub kernels: Vec<(String, u64)>,
    /// How long it took.
    pub time: RunTime,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
    /// When and where each task ran, if that was asked for.
    pub(super) timeline: Timeline,
}

impl RunOutcome {
    /// When and where tasks ran, of a workload in this file, whose key is `key`.
    pub(crate) fn timeline(&self, file: &Path, key: u64) -> Timeline {
        self.timeline.clone().of(file.display().to_string(), key)
    }

    /// What went through channels of pipelines.
    pub(crate) fn channels(&self) -> Channels {
        Channels(self.timeline.clock, self.timeline.channels.clone())
    }

    /// Cycles of a run in virtual time; 0 of a measured one.
    pub(crate) fn makespan(&self) -> u64 {
        match self.time {
            RunTime::Cycles { makespan, .. } => makespan,
            RunTime::Measured { .. } => 0,
        }
    }
}
