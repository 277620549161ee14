//! What a run gave, whatever kind of program it was of.

use crate::own::{self, LaunchOutcome};
use wsp_backend::{AicpuOutcome, GridStats, KernelStats, Outcome, Unwritten};
use wsp_diag::Diagnostic;
use wsp_plan::Arrays;
use wsp_plan::workload::ChannelUse;

/// What a run gave.
pub(crate) struct Ran {
    /// Arrays that tasks wrote and that are not the caller's.
    pub(crate) outputs: Arrays,
    /// Elements that no task stored, where that is recorded.
    pub(crate) unwritten: Vec<Unwritten>,
    /// Warnings.
    pub(crate) notes: Vec<Diagnostic>,
    /// Tasks by kernel.
    pub(crate) kernels: Vec<KernelStats>,
    /// From the start of the run to the end of its last task.
    pub(crate) run_ns: u64,
    /// Threads that ran tasks; 0 where the caller's did.
    pub(crate) threads: u32,
    /// Values of sizes.
    pub(crate) params: Vec<(String, i64)>,
    /// What the target does with each directive of the schedule.
    pub(crate) schedule: Vec<String>,
    /// Tasks by tile, where the schedule has a grid.
    pub(crate) grid: Vec<String>,
    /// Counts of the runtime; only the number of tasks where the backend has no others.
    pub(crate) runtime: wsp_runtime::Stats,
    /// What AICPUs did, where they generated the tasks.
    pub(crate) aicpus: Option<AicpuOutcome>,
    /// What went through channels of pipelines, where times were recorded.
    pub(crate) channels: Vec<ChannelUse>,
}

impl From<Outcome> for Ran {
    fn from(outcome: Outcome) -> Ran {
        let Outcome { outputs, unwritten, stats, notes, workload, own, .. } = outcome;
        let common = Ran {
            outputs,
            unwritten,
            notes,
            kernels: stats.kernels,
            run_ns: u64::try_from(stats.run.as_nanos()).unwrap_or(u64::MAX),
            threads: stats.executors,
            params: Vec::new(),
            schedule: Vec::new(),
            grid: stats.grid.iter().flat_map(GridStats::lines).collect(),
            runtime: wsp_runtime::Stats { tasks: stats.tasks, ..wsp_runtime::Stats::default() },
            aicpus: workload.aicpus,
            channels: workload.channels,
        };
        own::ran(own, common)
    }
}

impl From<LaunchOutcome> for Ran {
    fn from(outcome: LaunchOutcome) -> Ran {
        let LaunchOutcome { outputs, unwritten, stats, notes, aicpus } = outcome;
        Ran {
            outputs,
            unwritten,
            notes,
            kernels: stats.kernels,
            run_ns: stats.times.run,
            threads: stats.threads,
            params: Vec::new(),
            schedule: Vec::new(),
            grid: stats.grid.iter().flat_map(GridStats::lines).collect(),
            runtime: stats.runtime,
            aicpus,
            channels: Vec::new(),
        }
    }
}
