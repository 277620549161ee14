//! Schedules.

use super::expr::Place;
use super::{Checker, error, rule};
use crate::Span;
use crate::diag::Diagnostic;
use crate::workload::{
    Block, Deps, Directive, DirectiveKind, Dispatch, Gate, GateScope, NodeKind, PoolSizes, Ready, Schedule,
    Start, ThresholdPolicy, Timing, Window,
};
use wsp_core::limits::{MAX_TASK_WINDOW, MAX_THREADS};

/// The largest number of streams: their ids have 16 bits.
const MAX_STREAMS: u32 = 1 << 16;

/// What a directive is called.
fn title(kind: &DirectiveKind) -> &'static str {
    match kind {
        DirectiveKind::Dispatch(_) => "dispatch",
        DirectiveKind::DispatchThreshold { .. } => "dispatch_threshold",
        DirectiveKind::Streams(_) => "streams",
        DirectiveKind::StreamBy(_) => "stream_by",
        DirectiveKind::Dependences(_) => "deps",
        DirectiveKind::Window(_) => "window",
        DirectiveKind::Pools(_) => "pools",
        DirectiveKind::Ready(_) => "ready",
        DirectiveKind::Start(_) => "start",
        DirectiveKind::Trace(_) => "trace",
        DirectiveKind::Gate(Gate { scope: GateScope::Global, .. }) => "pipeline_depth",
        DirectiveKind::Gate(Gate { scope: GateScope::PerStream, .. }) => "pipeline_depth per stream",
        DirectiveKind::Gate(Gate { scope: GateScope::PerPool, .. }) => "pipeline_depth per pool",
        DirectiveKind::BatchDeps(_) => "batch_deps",
        DirectiveKind::Priority(_) => "priority",
        DirectiveKind::Timing(_) => "timing",
        DirectiveKind::SpatialMap { .. } => "spatial_map",
    }
}

impl<'m> Checker<'m> {
    pub(super) fn schedules(&mut self) {
        for schedule in &self.module.schedules {
            self.place = match &*schedule.name {
                "" => "the schedule without a name".to_owned(),
                name => format!("schedule `{name}`"),
            };
            self.once(schedule);
            for directive in &schedule.directives {
                self.directive(directive);
            }
            self.needs(schedule);
        }
        self.place.clear();
        self.after();
    }

    fn once(&mut self, schedule: &'m Schedule) {
        for (at, directive) in schedule.directives.iter().enumerate() {
            let name = title(&directive.kind);
            let mut earlier = schedule.directives[..at].iter();
            if let Some(first) = earlier.find(|earlier| title(&earlier.kind) == name) {
                let diagnostic =
                    error(rule::DOUBLE_DIRECTIVE, directive.span, format!("`{name}` is set twice"))
                        .label(first.span, "first set here")
                        .help("keep one; write another schedule for the other: `schedule other { … }`");
                self.push(diagnostic);
            }
        }
    }

    fn directive(&mut self, directive: &'m Directive) {
        let span = directive.span;
        match &directive.kind {
            DirectiveKind::Dispatch(policy) => self.dispatch(policy, span),
            DirectiveKind::DispatchThreshold { metric, bounds, policies } => {
                self.expr(metric, &Place::Schedule);
                self.thresholds(bounds, policies.len(), span);
                for policy in policies {
                    if let ThresholdPolicy::Dispatch(policy) = policy {
                        self.dispatch(policy, span);
                    }
                }
            }
            DirectiveKind::StreamBy(key) | DirectiveKind::Priority(key) => self.expr(key, &Place::Schedule),
            DirectiveKind::Streams(count) => self.count(*count, MAX_STREAMS, "streams", span),
            DirectiveKind::Window(Window { capacity, .. }) => {
                self.count(*capacity, MAX_TASK_WINDOW, "tasks of a window", span);
            }
            DirectiveKind::Gate(Gate { capacity, .. }) => {
                self.count(*capacity, u32::MAX, "tasks that run at once", span);
            }
            DirectiveKind::BatchDeps(count) => {
                self.count(*count, MAX_TASK_WINDOW, "completions of a batch", span);
            }
            DirectiveKind::Pools(PoolSizes::ByUnit { vector, cube }) => {
                self.count(*vector, MAX_THREADS, "workers for vector tasks", span);
                self.count(*cube, MAX_THREADS, "workers for cube tasks", span);
            }
            DirectiveKind::Start(Start::Threshold(count)) => {
                self.count(*count, u32::MAX, "tasks to start at", span);
            }
            DirectiveKind::Timing(
                Timing::Batched(count) | Timing::Interleaved(count) | Timing::RateLimit(count),
            ) => self.count(*count, u32::MAX, "tasks or streams of `timing`", span),
            DirectiveKind::SpatialMap { x, y } => {
                self.count(*x, u32::MAX, "tiles of a row", span);
                self.count(*y, u32::MAX, "rows of tiles", span);
            }
            DirectiveKind::Timing(Timing::Immediate)
            | DirectiveKind::Pools(PoolSizes::Shared)
            | DirectiveKind::Dependences(_)
            | DirectiveKind::Ready(_)
            | DirectiveKind::Start(_)
            | DirectiveKind::Trace(_) => {}
        }
    }

    fn count(&mut self, count: u32, most: u32, what: &str, span: Span) {
        self.require((1..=most).contains(&count), || {
            let diagnostic = error(rule::COUNT, span, format!("the number of {what} is {count}"));
            diagnostic.note(if most == u32::MAX {
                "it is at least 1".to_owned()
            } else {
                format!("it is 1 to {most}")
            })
        });
    }

    fn thresholds(&mut self, bounds: &[i64], policies: usize, span: Span) {
        if let Some(pair) = bounds.windows(2).find(|pair| pair[0] >= pair[1]) {
            let message = format!("thresholds do not increase: {} stands before {}", pair[0], pair[1]);
            self.push(error(rule::THRESHOLDS, span, message).help("list them from the smallest"));
        }
        self.require(!bounds.is_empty(), || {
            error(rule::THRESHOLDS, span, "there is no threshold").help("use `dispatch(policy)`")
        });
        let count = bounds.len();
        self.require(policies == count + 1, || {
            let message = format!("{count} thresholds need {} policies, not {policies}", count + 1);
            error(rule::THRESHOLDS, span, message)
                .note("policy n is for a metric that n thresholds do not exceed")
        });
    }

    fn dispatch(&mut self, policy: &'m Dispatch, span: Span) {
        match policy {
            Dispatch::RoundRobin | Dispatch::WorkSteal => {}
            Dispatch::Affinity(key) | Dispatch::Hash(key) => self.expr(key, &Place::Schedule),
            Dispatch::StaticPartition(ranges) => self.partition(ranges, span),
        }
    }

    fn partition(&mut self, ranges: &[(u64, u64)], span: Span) {
        self.require(!ranges.is_empty(), || error(rule::PARTITION, span, "the partition has no part"));
        let mut next = 0;
        for (start, end) in ranges {
            let problem = if start > end {
                Some("ends before it starts".to_owned())
            } else if *start != next {
                Some(format!("does not start at {next}"))
            } else {
                None
            };
            if let Some(problem) = problem {
                let diagnostic = error(rule::PARTITION, span, format!("the part {start}..{end} {problem}"))
                    .help("parts are half-open and join: `[0..10, 10..20]`");
                return self.push(diagnostic);
            }
            next = *end;
        }
    }

    /// Reports directives that do nothing without another.
    fn needs(&mut self, schedule: &'m Schedule) {
        let has = |wanted: fn(&DirectiveKind) -> bool| schedule.directives.iter().any(|d| wanted(&d.kind));
        let streams = has(|kind| matches!(kind, DirectiveKind::Streams(_)));
        let ready = has(|kind| matches!(kind, DirectiveKind::Ready(Ready::Priority)));
        let pools = has(|kind| matches!(kind, DirectiveKind::Pools(PoolSizes::ByUnit { .. })));
        for directive in &schedule.directives {
            let (missing, help) = match &directive.kind {
                DirectiveKind::StreamBy(_)
                | DirectiveKind::Gate(Gate { scope: GateScope::PerStream, .. })
                    if !streams =>
                {
                    ("streams", "add `streams(4);`")
                }
                DirectiveKind::Priority(_) if !ready => {
                    ("ready = priority", "add `task_graph(ready = priority);`")
                }
                DirectiveKind::DispatchThreshold { policies, .. } if !pools => {
                    self.pool_levels(policies, directive.span);
                    continue;
                }
                _ => continue,
            };
            let message = format!("`{}` has no effect without `{missing}`", title(&directive.kind));
            self.push(error(rule::NEEDS, directive.span, message).help(help));
        }
    }

    /// Reports a level of a threshold that is a pool where there are none.
    fn pool_levels(&mut self, policies: &[ThresholdPolicy], span: Span) {
        let level = policies.iter().position(|policy| matches!(policy, ThresholdPolicy::Pool(_)));
        let Some(level) = level else { return };
        let message =
            format!("level {level} of `dispatch_threshold` is a pool, which needs `pools = by_unit`");
        let diagnostic = error(rule::NEEDS, span, message)
            .note("without pools every worker takes tasks of every pool")
            .help("add `task_graph(pools = by_unit(1, 1));`, or choose a dispatch policy there: `affinity(key)`");
        self.push(diagnostic);
    }

    /// Warns of `after` that no schedule uses.
    fn after(&mut self) {
        let used = self
            .module
            .schedules
            .iter()
            .flat_map(|schedule| &schedule.directives)
            .any(|d| matches!(d.kind, DirectiveKind::Dependences(Deps::Explicit | Deps::Hybrid)));
        if used {
            return;
        }
        let first = self.module.workloads.iter().find_map(|workload| first_after(&workload.body));
        if let Some(span) = first {
            let diagnostic = Diagnostic::warning(rule::AFTER_UNUSED, "`after` orders nothing here")
                .at(span, "")
                .note("tasks are ordered by their data unless the schedule has `deps = explicit` or `deps = hybrid`")
                .help("add `schedule { task_graph(deps = hybrid); }`");
            self.push(diagnostic);
        }
    }
}

/// The first task with `after`.
fn first_after(block: &Block) -> Option<Span> {
    block.iter().find_map(|node| match &node.kind {
        NodeKind::Task(task) => (!task.after.is_empty()).then_some(node.span),
        NodeKind::ParallelFor { body, .. }
        | NodeKind::ForEach { body, .. }
        | NodeKind::Select { body, .. }
        | NodeKind::While { body, .. }
        | NodeKind::Send { body, .. }
        | NodeKind::Consume { body, .. } => first_after(body),
        NodeKind::Pipeline { processes } => processes.iter().find_map(|process| first_after(&process.body)),
        NodeKind::Cond { then, otherwise, .. } => first_after(then).or_else(|| first_after(otherwise)),
        NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => blocks.iter().find_map(first_after),
        NodeKind::Call { .. } => None,
    })
}
