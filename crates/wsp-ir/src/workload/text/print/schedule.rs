//! Schedules.

use super::Printer;
use super::names::Names;
use crate::workload::{
    Directive, DirectiveKind, Dispatch, Gate, GateScope, IntExpr, PoolSizes, Schedule, Start,
    ThresholdPolicy, Timing, Window,
};

/// Whether a directive is a setting of `task_graph`.
fn is_setting(directive: &Directive) -> bool {
    matches!(
        directive.kind,
        DirectiveKind::Dependences(_)
            | DirectiveKind::Pools(_)
            | DirectiveKind::Ready(_)
            | DirectiveKind::Start(_)
            | DirectiveKind::Trace(_)
            | DirectiveKind::Window(_)
    )
}

impl Printer<'_> {
    pub(super) fn schedule(&mut self, schedule: &Schedule) {
        self.names = Names::default();
        let name = if schedule.name.is_empty() { String::new() } else { format!(" {}", schedule.name) };
        self.text(&format!("schedule{name} {{\n"));
        let both = |a: &Directive, b: &Directive| is_setting(a) && is_setting(b);
        for group in schedule.directives.chunk_by(both) {
            self.text("    ");
            match group {
                [one] if !is_setting(one) || matches!(one.kind, DirectiveKind::Window(_)) => {
                    self.directive(&one.kind);
                }
                settings => {
                    self.text("task_graph(");
                    self.separated(settings, |p, setting| p.setting(&setting.kind));
                }
            }
            self.text(");\n");
        }
        self.text("}\n");
    }

    /// A statement up to its `)`.
    fn directive(&mut self, kind: &DirectiveKind) {
        match kind {
            DirectiveKind::Dispatch(policy) => {
                self.text("dispatch(");
                self.policy(policy);
            }
            DirectiveKind::DispatchThreshold { metric, bounds, policies } => {
                self.text("dispatch_threshold(");
                self.expr(metric);
                self.text(", [");
                self.separated(bounds, |p, bound| p.text(&bound.to_string()));
                self.text("], [");
                self.separated(policies, Self::threshold_policy);
                self.text("]");
            }
            DirectiveKind::Streams(count) => self.text(&format!("streams({count}")),
            DirectiveKind::StreamBy(key) => self.keyed("stream_by", key),
            DirectiveKind::Priority(key) => self.keyed("priority", key),
            DirectiveKind::BatchDeps(count) => self.text(&format!("batch_deps({count}")),
            DirectiveKind::Gate(Gate { scope, capacity }) => {
                self.text(&format!("pipeline_depth({capacity}"));
                if *scope != GateScope::default() {
                    self.text(&format!(", {}", scope.word()));
                }
            }
            DirectiveKind::Timing(timing) => {
                let text = match timing {
                    Timing::Immediate => "immediate".to_owned(),
                    Timing::Batched(count) => format!("batched({count})"),
                    Timing::Interleaved(count) => format!("interleaved({count})"),
                    Timing::RateLimit(count) => format!("rate_limit({count})"),
                };
                self.text(&format!("timing({text}"));
            }
            DirectiveKind::SpatialMap { x, y } => self.text(&format!("spatial_map(({x}, {y})")),
            DirectiveKind::Window(Window { capacity, mode }) => {
                self.text(&format!("task_window({capacity}, {}", mode.word()));
            }
            _ => {
                self.text("task_graph(");
                self.setting(kind);
            }
        }
    }

    fn keyed(&mut self, word: &str, key: &IntExpr) {
        self.text(word);
        self.text("(");
        self.expr(key);
    }

    /// `name = value` of `task_graph`.
    fn setting(&mut self, kind: &DirectiveKind) {
        let text = match kind {
            DirectiveKind::Dependences(deps) => format!("deps = {}", deps.word()),
            DirectiveKind::Window(Window { capacity, mode }) => {
                format!("window = ({capacity}, {})", mode.word())
            }
            DirectiveKind::Pools(PoolSizes::Shared) => "pools = shared".to_owned(),
            DirectiveKind::Pools(PoolSizes::ByUnit { vector, cube }) => {
                format!("pools = by_unit({vector}, {cube})")
            }
            DirectiveKind::Ready(ready) => format!("ready = {}", ready.word()),
            DirectiveKind::Start(Start::Immediate) => "start = immediate".to_owned(),
            DirectiveKind::Start(Start::AfterOrchestration) => "start = after_orchestration".to_owned(),
            DirectiveKind::Start(Start::Threshold(count)) => format!("start = threshold({count})"),
            DirectiveKind::Trace(trace) => format!("trace = {}", trace.word()),
            _ => return,
        };
        self.text(&text);
    }

    fn threshold_policy(&mut self, policy: &ThresholdPolicy) {
        match policy {
            ThresholdPolicy::Dispatch(policy) => self.policy(policy),
            ThresholdPolicy::Pool(unit) => self.text(unit.word()),
        }
    }

    fn policy(&mut self, policy: &Dispatch) {
        match policy {
            Dispatch::RoundRobin => self.text("round_robin"),
            Dispatch::WorkSteal => self.text("work_steal"),
            Dispatch::Affinity(key) => {
                self.keyed("affinity", key);
                self.text(")");
            }
            Dispatch::Hash(key) => {
                self.keyed("hash", key);
                self.text(")");
            }
            Dispatch::StaticPartition(ranges) => {
                self.text("static_partition([");
                self.separated(ranges, |p, (start, end)| p.text(&format!("{start}..{end}")));
                self.text("])");
            }
        }
    }
}
