//! Schedules. The method that adds a directive stands in the directive's file.

use super::ModuleBuilder;
use super::expr::Expr;
use super::origin::Origin;
use crate::workload::{
    Deps, Directive, DirectiveKind, Dispatch, DispatchThreshold, ExecPool, IntExpr, PoolSizes, Ready,
    Schedule, Start, ThresholdPolicy, Trace, Window,
};
use wsp_diag::Span;

/// Which worker a task goes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    dispatch: Dispatch,
    origin: Origin,
}

/// A policy of [`ScheduleBuilder::dispatch_threshold`]: a [`Policy`] or an [`ExecPool`].
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    policy: ThresholdPolicy,
    origin: Origin,
}

/// Workers in turn.
#[must_use]
pub fn round_robin() -> Policy {
    Policy { dispatch: Dispatch::RoundRobin, origin: Origin::default() }
}

/// Any worker that is idle.
#[must_use]
pub fn work_steal() -> Policy {
    Policy { dispatch: Dispatch::WorkSteal, origin: Origin::default() }
}

/// Worker `key % workers`.
#[must_use]
pub fn affinity(key: impl Into<Expr>) -> Policy {
    let key = key.into();
    Policy { dispatch: Dispatch::Affinity(key.tree), origin: key.origin }
}

/// Worker by a hash of the key.
#[must_use]
pub fn hash(key: impl Into<Expr>) -> Policy {
    let key = key.into();
    Policy { dispatch: Dispatch::Hash(key.tree), origin: key.origin }
}

/// One range of task numbers per worker; they begin at 0 and join.
#[must_use]
pub fn static_partition(parts: impl IntoIterator<Item = std::ops::Range<u64>>) -> Policy {
    let parts = parts.into_iter().map(|part| (part.start, part.end)).collect();
    Policy { dispatch: Dispatch::StaticPartition(parts), origin: Origin::default() }
}

impl From<Policy> for Tier {
    fn from(policy: Policy) -> Tier {
        Tier { policy: ThresholdPolicy::Dispatch(policy.dispatch), origin: policy.origin }
    }
}

impl From<ExecPool> for Tier {
    fn from(unit: ExecPool) -> Tier {
        Tier { policy: ThresholdPolicy::Pool(unit), origin: Origin::default() }
    }
}

/// Writes the statements of one schedule.
pub struct ScheduleBuilder<'m> {
    module: &'m mut ModuleBuilder,
    schedule: Schedule,
}

impl<'m> ScheduleBuilder<'m> {
    pub(super) fn new(module: &'m mut ModuleBuilder, name: &str) -> Self {
        let schedule = Schedule { name: name.to_owned(), ..Schedule::default() };
        ScheduleBuilder { module, schedule }
    }

    pub(super) fn finish(self) {
        self.module.module.schedules.push(self.schedule);
    }

    fn push(&mut self, kind: impl Into<DirectiveKind>, origin: Origin) -> &mut Self {
        self.module.check(origin, None, "a schedule");
        self.schedule.directives.push(Directive { kind: kind.into(), span: Span::default() });
        self
    }

    /// Adds a directive without expressions.
    pub(in crate::workload) fn plain(&mut self, kind: impl Into<DirectiveKind>) -> &mut Self {
        self.push(kind, Origin::default())
    }

    /// Adds a directive with a key.
    pub(in crate::workload) fn keyed<K: Into<DirectiveKind>>(
        &mut self,
        key: impl Into<Expr>,
        kind: impl FnOnce(IntExpr) -> K,
    ) -> &mut Self {
        let key = key.into();
        self.push(kind(key.tree), key.origin)
    }

    /// Which worker a task goes to.
    pub fn dispatch(&mut self, policy: Policy) -> &mut Self {
        self.push(policy.dispatch, policy.origin)
    }

    /// Policy `n` for a task for which `n` of `bounds` are not above the metric.
    pub fn dispatch_threshold<const N: usize>(
        &mut self,
        metric: impl Into<Expr>,
        bounds: impl IntoIterator<Item = i64>,
        policies: [Tier; N],
    ) -> &mut Self {
        let metric = metric.into();
        let origin = policies.iter().fold(metric.origin, |origin, tier| origin.and(tier.origin));
        let policies = policies.into_iter().map(|tier| tier.policy).collect();
        let bounds = bounds.into_iter().collect();
        self.push(DispatchThreshold { metric: metric.tree, bounds, policies }, origin)
    }

    /// All settings of `task_graph` at once; those that are None are left to their defaults.
    pub fn task_graph(&mut self, policy: TaskGraphPolicy) -> &mut Self {
        let TaskGraphPolicy { deps, window, pools, ready, start, trace } = policy;
        let settings = [
            deps.map(DirectiveKind::Deps),
            window.map(DirectiveKind::Window),
            pools.map(DirectiveKind::Pools),
            ready.map(DirectiveKind::Ready),
            start.map(DirectiveKind::Start),
            trace.map(DirectiveKind::Trace),
        ];
        for kind in settings.into_iter().flatten() {
            self.plain(kind);
        }
        self
    }
}

/// The settings of `task_graph`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskGraphPolicy {
    /// How dependences are found.
    pub deps: Option<Deps>,
    /// Most tasks in flight, and what happens then.
    pub window: Option<Window>,
    /// Workers by execution unit.
    pub pools: Option<PoolSizes>,
    /// Which ready task is next.
    pub ready: Option<Ready>,
    /// When the first task may start.
    pub start: Option<Start>,
    /// What is recorded.
    pub trace: Option<Trace>,
}
