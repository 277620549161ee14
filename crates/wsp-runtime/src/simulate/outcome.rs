//! What a simulation tells.

use wsp_core::{TaskId, WhyLate};

/// A simulated run. All times are cycles since its start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Simulation {
    /// One entry per task and barrier node, in the order of ids.
    pub tasks: Vec<SimTask>,
    /// When the last of them was complete.
    pub makespan: u64,
    /// One entry per worker.
    pub workers: Vec<SimWorker>,
    /// When the source had submitted everything.
    pub generation_end: u64,
    /// Most tasks in the window at once.
    pub max_in_flight: u32,
    /// When a full window made tasks start before [`Start`](crate::Start) would have.
    pub forced_start: Option<u64>,
    /// Submissions that had to wait because the window was full.
    pub window_stalls: u64,
    /// Cycles that they waited, together.
    pub stalled_cycles: u64,
    /// With [`WindowMode::Benchmark`](crate::WindowMode::Benchmark), one entry per submission that had to wait.
    pub overflows: Vec<SimOverflow>,
    /// Tasks that found a gate shut when their turn came.
    pub deferred: u64,
}

/// The life of one task or barrier node. `submitted <= ready <= start <= end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimTask {
    /// When it was submitted.
    pub submitted: u64,
    /// When it was submitted and all before it were known to be complete.
    pub ready: u64,
    /// When it started.
    pub start: u64,
    /// When it was complete.
    pub end: u64,
    /// The worker that ran it; `None` for a barrier node.
    pub worker: Option<u32>,
    /// What its start waited for last.
    pub cause: WhyLate,
}

/// One worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SimWorker {
    /// Tasks it ran.
    pub tasks: u64,
    /// Cycles in them.
    pub busy: u64,
    /// Tasks it took from what was meant for another worker or group.
    pub steals: u64,
}

/// A submission that found the window full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimOverflow {
    /// The task to submit.
    pub task: TaskId,
    /// Cycles that it waited.
    pub waited: u64,
    /// Most tasks in flight until then.
    pub high_water: u32,
}

/// One step of a critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// A task or a barrier node.
    pub task: TaskId,
    /// Why it did not start earlier; names the step before.
    pub cause: WhyLate,
}

impl Simulation {
    /// Why the run took as long as it did: the chain of waits that ends with the task that was complete last, in the
    /// order of time.
    ///
    /// Every step starts in the cycle in which the step before ended; only generation, before the first step or
    /// as [`WhyLate::Generation`], takes time in between. Empty when there are no tasks.
    pub fn critical_path(&self) -> Vec<PathStep> {
        let ids = (0..self.tasks.len() as u32).map(TaskId);
        // Backwards, because the last of several maxima counts.
        let mut next = ids.rev().max_by_key(|id| self.tasks[id.index()].end);
        let mut path = Vec::new();
        while let Some(task) = next {
            let cause = self.tasks[task.index()].cause;
            path.push(PathStep { task, cause });
            next = cause.held_by();
        }
        path.reverse();
        path
    }

    /// Cycles in tasks over cycles of all workers; 0 for a run of no cycles.
    pub fn utilization(&self) -> f64 {
        let busy: f64 = self.workers.iter().map(|worker| worker.busy as f64).sum();
        let available = self.makespan as f64 * self.workers.len() as f64;
        if available > 0.0 { busy / available } else { 0.0 }
    }
}
