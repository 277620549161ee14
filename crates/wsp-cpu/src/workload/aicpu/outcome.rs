//! What a run on AICPUs came to.

use super::super::codes;
use wsp_backend::AicpuOutcome;
use wsp_core::TaskId;
use wsp_core::ptow::AicpuStats;
use wsp_diag::Diagnostic;
use wsp_plan::ptow::Transfer;
use wsp_runtime::aicpu::{AicpuRunStats, AicpuTrace, CoreStats};
use wsp_runtime::{Stats, TaskTrace, WorkerStats};

/// A run on AICPUs.
pub(crate) struct Ran {
    /// Statistics that all runs have; cores are its workers.
    pub(crate) stats: Stats,
    pub(crate) aicpus: AicpuOutcome,
    /// What is done in another way than the schedule says.
    pub(crate) notes: Vec<Diagnostic>,
}

impl Ran {
    pub(crate) fn new(stats: AicpuRunStats, transfer: Option<Transfer>, mut notes: Vec<Diagnostic>) -> Ran {
        if stats.forced_starts > 0 {
            let what = "tasks started before the schedule says: AICPUs had no room for more";
            notes.push(
                Diagnostic::warning(codes::START_FORCED, what)
                    .note("an AICPU stops generating when its window is full, or when too many accesses are in flight")
                    .help("write a larger window, or `start = immediate`")
                    .python("write a larger window, or `.task_graph(start=StartPolicy.immediate())`"),
            );
        }
        let mut aicpus = AicpuOutcome::default();
        aicpus.cores = stats.cores.len() as u32;
        aicpus.aicpus.clone_from(&stats.aicpus);
        aicpus.transfer = transfer;
        let sum = |number: fn(&AicpuStats) -> u64| stats.total(number);
        let stats = Stats {
            tasks: stats.tasks,
            max_in_flight: stats.aicpus.iter().map(|aicpu| aicpu.max_in_flight).sum(),
            window_stalls: sum(|aicpu| aicpu.window_stalls),
            forced_starts: stats.forced_starts,
            deferred: sum(|aicpu| aicpu.deferred),
            workers: stats.cores.iter().map(worker).collect(),
            first_start_ns: stats.first_task_ns,
            generation_ns: stats.generation_ns,
            overlapped: stats.overlapped,
            wall_ns: stats.wall_ns,
            trace: stats.trace.iter().map(trace).collect(),
            kernels: stats.kernels,
            ..Stats::default()
        };
        Ran { stats, aicpus, notes }
    }
}

fn worker(core: &CoreStats) -> WorkerStats {
    WorkerStats { tasks: core.tasks, busy_ns: core.busy_ns, ..WorkerStats::default() }
}

fn trace(task: &AicpuTrace) -> TaskTrace {
    TaskTrace {
        // Traces are kept in memory, so that there are fewer than 2^32.
        task: TaskId(task.ordinal as u32),
        kernel: task.kernel,
        worker: task.core,
        submitted_ns: task.generated_ns,
        ready_ns: task.ready_ns,
        started_ns: task.started_ns,
        finished_ns: task.finished_ns,
        preds: Vec::new(),
        fences: 0,
        // AICPUs count what tasks wait for, and do not note with which task a count was full.
        released_by: None,
        released_with: None,
        opened_by: None,
        stalled: false,
    }
}
