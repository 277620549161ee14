//! What the directives of a schedule come to together.

use super::{Dispatch, DispatchThreshold};
use crate::workload::IntExpr;
use wsp_core::policy::{Deps, Gate, PoolSizes, Ready, Start, Trace, Window};

/// What a schedule says, as plain data. The default is that of a module without one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SchedulePolicy {
    /// How dependences are found.
    pub deps: Deps,
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
    /// Workers that share a core group; none where the schedule does not say.
    pub core_groups: Option<u32>,
    /// Number of in-order streams, at most 65,536; none without streams.
    pub streams: Option<u32>,
    /// Which stream a task goes to; in turn where the schedule does not say.
    pub stream_by: Option<IntExpr>,
    /// Which ready task is next, larger keys first.
    pub priority: Option<IntExpr>,
    /// Which worker a task goes to.
    pub dispatch: Option<Dispatch>,
    /// A policy by the size of the task.
    pub threshold: Option<DispatchThreshold>,
}
