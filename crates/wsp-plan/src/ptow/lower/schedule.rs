//! What a schedule comes to: instructions that hold for the whole program, and the configuration of AICPUs.

use super::super::codes;
use super::super::dispatch::DispatchPlan;
use super::super::emit::BodyId;
use super::body::NONE;
use super::{Lowering, VarKind};
use crate::workload::LoweredSchedule;
use wsp_core::AxisId;
use wsp_core::ptow::{MAX_THRESHOLDS, Op, POLICY_POOL, PolicyType, Word};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::workload::{Dispatch, DispatchThreshold, ExecPool, IntExpr, IntExprKind, ThresholdPolicy};

/// A policy of a filter, and its depth or key.
type Policy = (u16, u32);

impl<'m> Lowering<'m> {
    /// Writes the attributes of the program before its statements. The outermost body, and what AICPUs are told.
    pub(super) fn schedule(
        &mut self,
        schedule: &LoweredSchedule,
        statements: BodyId,
    ) -> (BodyId, DispatchPlan) {
        let span = directive(schedule, "dispatch(");
        let (plan, filter) = match &schedule.policy.dispatch {
            None => (DispatchPlan::RoundRobin, None),
            Some(Dispatch::StaticPartition(ranges)) => (self.partition(ranges, span), None),
            Some(dispatch) => match self.policy(dispatch, span) {
                (policy, _) if policy == PolicyType::RoundRobin as u16 => (DispatchPlan::RoundRobin, None),
                (policy, depth) if policy == PolicyType::Affinity as u16 => {
                    (DispatchPlan::Affinity { depth: depth as u8 }, None)
                }
                filter => (DispatchPlan::RoundRobin, Some(filter)),
            },
        };
        let mut outermost = statements;
        if let Some((policy, key)) = filter {
            // Pools of a threshold leave the AICPU to the filter around: a body of its own has one.
            if schedule.policy.threshold.is_some() {
                outermost = self.around(statements, span);
            }
            self.front(outermost, Op::DispatchFilter, 1, (u32::from(policy), 0), span);
            self.front(outermost, Op::ExtWord, 0, (0, key), span);
        }
        if let Some(threshold) = &schedule.policy.threshold {
            self.threshold(threshold, statements, directive(schedule, "dispatch_threshold"));
        }
        self.order(schedule, statements);
        (outermost, plan)
    }

    /// Streams and priorities.
    fn order(&mut self, schedule: &LoweredSchedule, statements: BodyId) {
        if let Some(streams) = schedule.policy.streams {
            let span = directive(schedule, "stream");
            let key = schedule.policy.stream_by.as_ref().map_or(NONE, |key| self.key(key));
            self.front(statements, Op::StreamBy, 1, (0, streams.max(1)), span);
            self.front(statements, Op::ExtWord, 0, (0, key), span);
        }
        if let Some(priority) = &schedule.policy.priority {
            let key = self.key(priority);
            self.front(statements, Op::Priority, 0, (0, key), directive(schedule, "priority"));
        }
    }

    /// A body that runs another once.
    fn around(&mut self, inner: BodyId, span: Span) -> BodyId {
        let body = self.body();
        self.instr(body, Op::Combine, 1, (1, 0), span);
        let place = self.ext(body, (0, 0), span);
        self.bodies.link(place, inner);
        body
    }

    fn front(&mut self, body: BodyId, op: Op, ext: u8, operands: (u32, u32), span: Span) {
        let (operand1, operand2) = (operands.0 as u16, operands.1);
        self.bodies.front(body, Word { opcode: op.code(), flags: ext, operand1, operand2 }, span);
    }

    /// The policy of a filter, or of a level of a threshold.
    fn policy(&mut self, dispatch: &Dispatch, span: Span) -> Policy {
        match dispatch {
            Dispatch::RoundRobin => (PolicyType::RoundRobin as u16, 0),
            Dispatch::Affinity(key) => match self.common_depth(key) {
                Some(depth) => (PolicyType::Affinity as u16, depth),
                None => (PolicyType::Key as u16, self.key(key)),
            },
            Dispatch::Hash(key) => (PolicyType::Hash as u16, self.key(key)),
            Dispatch::WorkSteal => {
                let note = Diagnostic::new(codes::WORK_STEAL, Severity::Note, "AICPUs take tasks in turn")
                    .at(span, "`work_steal` has no worker in particular");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                (PolicyType::RoundRobin as u16, 0)
            }
            Dispatch::StaticPartition(_) => {
                self.report(
                    Diagnostic::error(codes::SCHEDULE, "a threshold cannot choose a static partition")
                        .at(span, "a level with `static_partition`")
                        .help("use `round_robin`, `affinity` or `hash` there, or `dispatch(static_partition([…]))` alone")
                        .python(
                            "use `DispatchPolicy.round_robin()`, `.affinity(key)` or `.hash(key)` there, or \
                             `.dispatch(DispatchPolicy.static_partition([…]))` alone",
                        ),
                );
                (PolicyType::RoundRobin as u16, 0)
            }
        }
    }

    /// The depth at which every task has the index of the axis that a key is; tasks outside loops over it have no
    /// variable that deep.
    fn common_depth(&self, key: &IntExpr) -> Option<u32> {
        let IntExprKind::Axis(axis) = key.kind else { return None };
        let depth = self.sites.iter().find_map(|site| innermost(&site.vars, axis))?;
        let agrees = |site: &super::OpenSite| match innermost(&site.vars, axis) {
            Some(at) => at == depth,
            None => site.vars.len() <= depth,
        };
        self.sites.iter().all(agrees).then_some(depth as u32)
    }

    /// Ordinals by AICPU, as 32-bit numbers.
    fn partition(&mut self, ranges: &[(u64, u64)], span: Span) -> DispatchPlan {
        let narrow =
            |(start, end): &(u64, u64)| Some((u32::try_from(*start).ok()?, u32::try_from(*end).ok()?));
        let narrowed: Option<Vec<(u32, u32)>> = ranges.iter().map(narrow).collect();
        narrowed.map_or_else(
            || {
                let end = ranges.last().map_or(0, |(_, end)| *end);
                self.report(
                    Diagnostic::error(codes::SCHEDULE, "a static partition goes past 32 bits")
                        .at(span, format!("its ranges end at {end}; at most {} is allowed", u32::MAX))
                        .help("use `dispatch(affinity(axis))`, which needs no ranges")
                        .python("use `.dispatch(DispatchPolicy.affinity(lambda t: t.axis))`, which needs no ranges"),
                );
                DispatchPlan::RoundRobin
            },
            DispatchPlan::StaticPartition,
        )
    }

    fn threshold(&mut self, threshold: &DispatchThreshold, statements: BodyId, span: Span) {
        let DispatchThreshold { metric, bounds, policies } = threshold;
        if bounds.len() > MAX_THRESHOLDS {
            return self.report(
                Diagnostic::error(codes::SCHEDULE, "too many thresholds for a program")
                    .at(span, format!("{} thresholds; at most {MAX_THRESHOLDS} are allowed", bounds.len())),
            );
        }
        if let Some(bound) = bounds.iter().find(|bound| i32::try_from(**bound).is_err()) {
            return self.report(
                Diagnostic::error(codes::SCHEDULE, "a threshold does not fit into 32 bits")
                    .at(span, format!("the bound {bound}"))
                    .help("divide the metric and its bounds by the same number"),
            );
        }
        let metric = self.key(metric);
        let policies: Vec<Policy> = policies.iter().map(|policy| self.level(policy, span)).collect();
        let words = 1 + bounds.len() + policies.len();
        self.front(statements, Op::DispatchFilter, words as u8, (PolicyType::Threshold as u32, 0), span);
        self.front(statements, Op::ExtWord, 0, (bounds.len() as u32, metric), span);
        for bound in bounds {
            self.front(statements, Op::ExtWord, 0, (0, *bound as u32), span);
        }
        for (policy, operand) in policies {
            self.front(statements, Op::ExtWord, 0, (u32::from(policy), operand), span);
        }
    }

    fn level(&mut self, policy: &ThresholdPolicy, span: Span) -> Policy {
        let pool = match policy {
            ThresholdPolicy::Dispatch(dispatch) => return self.policy(dispatch, span),
            ThresholdPolicy::Pool(ExecPool::Vector) => 0,
            ThresholdPolicy::Pool(ExecPool::Cube) => 1,
            ThresholdPolicy::Pool(ExecPool::Any) => 2,
        };
        (POLICY_POOL + pool, 0)
    }
}

fn innermost(vars: &[super::BodyVar], axis: AxisId) -> Option<usize> {
    vars.iter().rposition(|var| var.kind == VarKind::Axis(axis))
}

/// Where a directive whose primitive begins so stands.
pub(super) fn directive(schedule: &LoweredSchedule, primitive: &str) -> Span {
    let line = schedule.lines.iter().find(|line| line.primitive.starts_with(primitive));
    line.map(|line| line.span).unwrap_or_default()
}
