//! Schedules of workloads as plain data.

mod check;
mod lower;
mod place;

pub use check::check_schedule;
pub use lower::lower_schedule;
pub use place::{Dispatched, Placement};
pub(super) use place::{NoPlace, Placer};

use crate::capability::on_aicpus;
use crate::{Capability, Support};
use wsp_ir::Span;
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::{
    Deps, Dispatch, Gate, IntExpr, PoolSizes, Ready, Start, ThresholdPolicy, Trace, Window,
};

/// What a schedule comes to on a target. The default is that of a module without one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LoweredSchedule {
    /// Its name; none for the unnamed one, and where no schedule applies.
    pub name: Option<String>,
    /// How dependences are found.
    pub dependences: Deps,
    /// Most tasks in flight, and what happens when as many are; none where the schedule does not say.
    pub window: Option<Window>,
    /// Workers by execution unit.
    pub pools: PoolSizes,
    /// Which ready task is next.
    pub ready: Ready,
    /// When the first task may start.
    pub start: Start,
    /// What is recorded.
    pub trace: Trace,
    /// Most tasks that run at once, at most once per scope; in the order of the scopes.
    pub gates: Vec<Gate>,
    /// Completions that a worker gathers before it releases successors; none where the schedule does not say.
    pub batch: Option<u32>,
    /// Number of in-order streams, at most 65,536; none without streams.
    pub streams: Option<u32>,
    /// One line per directive: what the target does with it.
    pub lines: Vec<ScheduleLine>,
    /// Warnings: directives that the target ignores.
    pub notes: Vec<Diagnostic>,
    pub(crate) dispatch: Option<Dispatch>,
    pub(crate) threshold: Option<Threshold>,
    pub(crate) stream_by: Option<IntExpr>,
    pub(crate) priority: Option<IntExpr>,
}

/// `dispatch_threshold`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Threshold {
    pub(crate) metric: IntExpr,
    pub(crate) bounds: Vec<i64>,
    pub(crate) policies: Vec<ThresholdPolicy>,
}

/// What a target does with one directive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScheduleLine {
    /// Spelling of the primitive, as the capability table has it.
    pub primitive: &'static str,
    /// Whether the target keeps to it.
    pub support: Support,
    /// What that means, in one sentence.
    pub meaning: &'static str,
    /// Where the directive stands.
    pub span: Span,
}

impl ScheduleLine {
    fn new(row: &'static Capability, span: Span) -> ScheduleLine {
        ScheduleLine { primitive: row.primitive, support: row.cpu_sim, meaning: row.meaning, span }
    }

    /// What becomes of the directive where AICPUs generate the tasks.
    pub fn on_aicpus(&self) -> ScheduleLine {
        on_aicpus(self.primitive).map_or(*self, |row| ScheduleLine::new(row, self.span))
    }
}

impl std::fmt::Display for ScheduleLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.primitive, self.support.name(), self.meaning)
    }
}

impl LoweredSchedule {
    /// The ranges of every static partition.
    fn partitions(&self) -> impl Iterator<Item = &[(u64, u64)]> {
        let in_threshold = self.threshold.iter().flat_map(|t| t.policies.iter()).filter_map(|p| match p {
            ThresholdPolicy::Dispatch(dispatch) => Some(dispatch),
            ThresholdPolicy::Pool(_) => None,
        });
        self.dispatch.iter().chain(in_threshold).filter_map(|dispatch| match dispatch {
            Dispatch::StaticPartition(ranges) => Some(ranges.as_slice()),
            _ => None,
        })
    }
}
