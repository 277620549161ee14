//! Statistics and traces of a run.

use crate::infer::Hazard;
use crate::timeline::RunFacts;
use wsp_core::{KernelId, TaskId};

/// Statistics of a run. Times are nanoseconds since the run's start; those of tasks need
/// [`TracePolicy::Totals`](crate::TracePolicy::Totals) or more. Statistics that depend on timing differ from run to run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Tasks submitted; all of them ran.
    pub tasks: u64,
    /// Edges to tasks that were still unfinished when the later task was submitted.
    pub edges: EdgeStats,
    /// Tasks that were ready when submitted.
    pub roots: u64,
    /// Most tasks in flight at once; a task counts until the planner has noticed its completion.
    pub max_in_flight: u32,
    /// Submissions that had to wait because the window was full.
    pub window_stalls: u64,
    /// Submissions and fences that had to wait because the window's edges were used up.
    pub edge_stalls: u64,
    /// With [`WindowMode::Benchmark`](crate::WindowMode::Benchmark), one entry per submission that had to wait.
    pub overflows: Vec<Overflow>,
    /// Times the source had to wait before [`Start`](crate::Start) would have let tasks start, so that they did.
    pub forced_starts: u64,
    /// Tasks that found a gate shut when their turn came.
    pub deferred: u64,
    /// One entry per worker.
    pub workers: Vec<WorkerStats>,
    /// One entry per kernel id, up to the largest that ran.
    pub kernels: Vec<KernelStats>,
    /// Prefetches asked for.
    pub prefetch: PrefetchStats,
    /// Placement of tasks that asked for a group or a worker.
    pub affinity: AffinityStats,
    /// When the first task started, if tasks were timed.
    pub first_start_ns: Option<u64>,
    /// When the source returned.
    pub generation_ns: u64,
    /// Tasks that were complete when the source returned.
    pub overlapped: u64,
    /// When the last task was complete.
    pub wall_ns: u64,
    /// With [`TracePolicy::Measured`](crate::TracePolicy::Measured), one entry per task in the order of ids.
    pub trace: Vec<TaskTrace>,
    /// What the causes of waits follow from, beside the trace.
    pub facts: RunFacts,
}

/// Edges by the hazard that made them; a pair of tasks has at most one, of the first kind that applies. A producer that
/// was complete when the later task was submitted makes none, so with several threads the counts vary from run to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EdgeStats {
    /// A read after a write.
    pub raw: u64,
    /// A write after a write.
    pub waw: u64,
    /// A write after a read.
    pub war: u64,
    /// From or to a barrier node: a fence, an event, a step of an ordered scope; and those of ordered scopes between two
    /// tasks.
    pub fence: u64,
    /// Given by the submitter.
    pub explicit: u64,
    /// From a task to the next of its stream.
    pub stream: u64,
}

/// A submission that found the window full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow {
    /// The task to submit.
    pub task: TaskId,
    /// How long it waited.
    pub waited_ns: u64,
    /// Most tasks in flight until then.
    pub high_water: u32,
}

impl EdgeStats {
    pub(crate) fn count(&mut self, hazard: Hazard) {
        match hazard {
            Hazard::Raw => self.raw += 1,
            Hazard::Waw => self.waw += 1,
            Hazard::War => self.war += 1,
        }
    }

    /// Edges made by regions.
    pub fn hazards(&self) -> u64 {
        self.raw + self.waw + self.war
    }
}

/// One worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerStats {
    /// Tasks it ran.
    pub tasks: u64,
    /// Time in tasks, if they were timed.
    pub busy_ns: Option<u64>,
    /// Tasks it took from what was meant for another worker or group.
    pub steals: u64,
    /// Times it went to sleep.
    pub parks: u64,
}

/// One kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelStats {
    /// Tasks that ran it.
    pub tasks: u64,
    /// Time in them, over all workers, if they were timed.
    pub busy_ns: Option<u64>,
}

/// What became of [`Submitter::prefetch_when_starts`](crate::Submitter::prefetch_when_starts).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrefetchStats {
    /// The runner was called.
    pub issued: u64,
    /// Too late: the task to start with had started, or the one to prefetch for had; or more than four for one task.
    pub missed: u64,
}

/// Whether placement wishes came true.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AffinityStats {
    /// Ran where asked.
    pub hits: u64,
    /// Ran elsewhere.
    pub misses: u64,
}

/// The life of one task. Of tasks that were run [together](crate::TaskRunner::run_together) each has an equal part of the time that
/// all of them took, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskTrace {
    /// The task.
    pub task: TaskId,
    /// Its kernel.
    pub kernel: KernelId,
    /// The worker that ran it.
    pub worker: u32,
    /// When it was submitted, as one reading of the clock says for at most 64 tasks; 0 of a stored graph.
    pub submitted_ns: u64,
    /// When it was submitted and all before it were complete.
    pub ready_ns: u64,
    /// When its kernel started.
    pub started_ns: u64,
    /// When its kernel returned.
    pub finished_ns: u64,
    /// Tasks it waited for through edges of their own, ascending; without those that were complete when it was submitted,
    /// and those before a barrier node.
    pub preds: Vec<TaskId>,
    /// Fences before it.
    pub fences: u32,
    /// The task whose completion closed its last edge, also through barrier nodes; none where no edge was open when it was submitted.
    pub released_by: Option<TaskId>,
    /// The task upon whose completion its worker released what it had gathered, that edge among it.
    pub released_with: Option<TaskId>,
    /// The task that opened the gate by which it was refused, if one had refused it.
    pub opened_by: Option<TaskId>,
    /// Whether the source waited for the window before it submitted the task.
    pub stalled: bool,
}
