//! Schedules of workloads: when and where tasks run. They never change a result.

use super::IntExpr;
use crate::Span;
use wsp_core::ExecPool;
use wsp_core::policy::{Deps, Gate, PoolSizes, Ready, Start, Trace, Window};

/// A schedule. Expressions in it are over parameters, tables and [`super::IntExprKind::Axis`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schedule {
    /// Its name; empty for the one that a file applies without naming it.
    pub name: String,
    /// What it says, each kind at most once ([`DirectiveKind::Gate`]: once per scope).
    pub directives: Vec<Directive>,
    /// Where it stands.
    pub span: Span,
}

/// One statement of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct Directive {
    /// What it says.
    pub kind: DirectiveKind,
    /// Where it stands.
    pub span: Span,
}

/// The statements of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub enum DirectiveKind {
    /// `dispatch(policy)`: which worker (AICPU) a task goes to.
    Dispatch(Dispatch),
    /// `dispatch_threshold(metric, [t0, t1, …], [p0, p1, p2, …])`: policy `n` for a task for which `n` thresholds are not
    /// above the metric; thresholds increase, and there is one policy more than thresholds.
    DispatchThreshold {
        /// Evaluated per task.
        metric: IntExpr,
        /// Thresholds.
        bounds: Vec<i64>,
        /// One more than thresholds.
        policies: Vec<ThresholdPolicy>,
    },
    /// `streams(n)`: tasks go to in-order streams, in turn unless `stream_by` says otherwise.
    Streams(u32),
    /// `stream_by(key)`: stream `key % streams`.
    StreamBy(IntExpr),
    /// `deps = …` of `task_graph`.
    Dependences(Deps),
    /// `window = n` or `window = (n, mode)` of `task_graph`, or `task_window(n, mode)`.
    Window(Window),
    /// `pools = …` of `task_graph`.
    Pools(PoolSizes),
    /// `ready = …` of `task_graph`.
    Ready(Ready),
    /// `start = …` of `task_graph`.
    Start(Start),
    /// `trace = …` of `task_graph`.
    Trace(Trace),
    /// `pipeline_depth(n, scope)`: most tasks that run at once in a scope (an issue gate).
    Gate(Gate),
    /// `batch_deps(n)`: a worker gathers this many completions before it releases their successors.
    BatchDeps(u32),
    /// `priority(key)`: with `ready = priority`, larger keys first.
    Priority(IntExpr),
    /// `timing(…)`: when ready tasks are handed to workers.
    Timing(Timing),
    /// `spatial_map((x, y))`: tasks are placed on a grid of tiles.
    SpatialMap {
        /// Tiles of a row.
        x: u32,
        /// Rows.
        y: u32,
    },
}

/// When ready tasks are handed to workers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Timing {
    /// As soon as they are ready.
    #[default]
    Immediate,
    /// So many at a time.
    Batched(u32),
    /// From so many streams in turn.
    Interleaved(u32),
    /// At most so many in a unit of time.
    RateLimit(u32),
}

/// Which worker a task goes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Dispatch {
    /// Workers in turn.
    RoundRobin,
    /// Worker `key % workers`.
    Affinity(IntExpr),
    /// Worker by a hash of the key.
    Hash(IntExpr),
    /// The first worker takes the first `ranges[0]` tasks of elaboration order, and so on: `(start, end)` per worker.
    StaticPartition(Vec<(u64, u64)>),
    /// Any worker that is idle.
    WorkSteal,
}

/// A policy of `dispatch_threshold`.
#[derive(Clone, PartialEq, Debug)]
pub enum ThresholdPolicy {
    /// A dispatch policy.
    Dispatch(Dispatch),
    /// A pool: vector, cube or any.
    Pool(ExecPool),
}
