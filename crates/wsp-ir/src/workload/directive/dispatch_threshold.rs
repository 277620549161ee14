//! `dispatch_threshold(metric, bounds, policies)`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Dispatch, Form, MissingRequirement,
    Schedule, SchedulePolicy, capability_rows,
};
use crate::workload::IntExpr;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::{Checker, error, rule};
use crate::{CapabilityRow, Support};
use wsp_core::ExecPool;
use wsp_core::policy::PoolSizes;
use wsp_diag::Span;

/// `dispatch_threshold(metric, [t0, t1, …], [p0, p1, p2, …])`: policy `n` for a task for which `n` thresholds are not above
/// the metric; thresholds increase, and there is one policy more than thresholds.
#[derive(Clone, PartialEq, Debug)]
pub struct DispatchThreshold {
    /// Evaluated per task.
    pub metric: IntExpr,
    /// Thresholds.
    pub bounds: Vec<i64>,
    /// One more than thresholds.
    pub policies: Vec<ThresholdPolicy>,
}

/// A policy of `dispatch_threshold`.
#[derive(Clone, PartialEq, Debug)]
pub enum ThresholdPolicy {
    /// A dispatch policy.
    Dispatch(Dispatch),
    /// A pool: vector, cube or any.
    Pool(ExecPool),
}

impl DispatchThreshold {
    /// Its dispatch policies.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.policies.iter().filter_map(|policy| match policy {
            ThresholdPolicy::Dispatch(dispatch) => Some(dispatch),
            ThresholdPolicy::Pool(_) => None,
        })
    }
}

impl DirectiveDef for DispatchThreshold {
    const FORMS: &'static [Form] = &[Form::Statement("dispatch_threshold")];

    capability_rows! {
        DispatchThreshold { .. } => CapabilityRow::new(
            "dispatch_threshold(metric, [t, …], [policy, …])",
            Support::Enforced,
            "a task goes by the policy whose number is how many thresholds are not above the metric: a dispatch, or a pool of `by_unit`",
        ),
    }

    fn parse(parser: &mut Parser<'_>, form: Form) -> Parsed<DispatchThreshold> {
        let metric = parser.expr()?;
        parser.expect(Tok::Comma, "`,` and the thresholds")?;
        let bounds = parser.bracketed("the thresholds", |p| p.integer("a threshold"))?;
        parser.expect(Tok::Comma, "`,` and the policies")?;
        let policies = parser.bracketed("the policies", |p| policy(p, form))?;
        Ok(DispatchThreshold { metric, bounds, policies })
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<DispatchThreshold, F::Fault> {
        Ok(DispatchThreshold {
            metric: fields.expr("metric")?,
            bounds: fields.integers("bounds")?,
            policies: fields.policies("policies")?,
        })
    }
}

impl DirectiveInterface for DispatchThreshold {
    fn print(&self, form: Form, printer: &mut Printer<'_>) {
        printer.expr(&self.metric);
        printer.text(", [");
        printer.separated(&self.bounds, |p, bound| p.text(&bound.to_string()));
        printer.text("], [");
        printer.separated(&self.policies, |p, policy| match policy {
            ThresholdPolicy::Dispatch(dispatch) => dispatch.print(form, p),
            ThresholdPolicy::Pool(unit) => p.text(unit.word()),
        });
        printer.text("]");
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.key(&self.metric);
        thresholds(checker, &self.bounds, self.policies.len(), span);
        for dispatch in self.dispatches() {
            dispatch.verify(checker, span);
        }
    }

    /// A level that is a pool needs pools.
    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        if schedule.has(|kind| matches!(kind, DirectiveKind::Pools(PoolSizes::ByUnit { .. }))) {
            return None;
        }
        let level = self.policies.iter().position(|policy| matches!(policy, ThresholdPolicy::Pool(_)))?;
        Some(MissingRequirement {
            message: format!(
                "level {level} of `dispatch_threshold` is a pool, which needs `pools = by_unit`"
            ),
            note: Some("without pools every worker takes tasks of every pool"),
            help: "add `task_graph(pools = by_unit(1, 1));`, or choose a dispatch policy there: `affinity(key)`",
            python: "add `.task_graph(pools=Pools.by_unit(vector=1, cube=1))`, or choose a dispatch policy there: \
                     `DispatchPolicy.affinity(key)`",
        })
    }

    fn exprs(&self) -> Vec<&IntExpr> {
        let mut all = vec![&self.metric];
        all.extend(self.dispatches().flat_map(DirectiveInterface::exprs));
        all
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.threshold = Some(self.clone());
    }
}

fn policy(parser: &mut Parser<'_>, form: Form) -> Parsed<ThresholdPolicy> {
    let word = parser.word().unwrap_or("");
    match ExecPool::WORDS.iter().find(|(unit, _)| *unit == word) {
        Some((_, unit)) => {
            parser.bump();
            Ok(ThresholdPolicy::Pool(*unit))
        }
        None => Dispatch::parse(parser, form).map(ThresholdPolicy::Dispatch),
    }
}

fn thresholds(checker: &mut Checker<'_>, bounds: &[i64], policies: usize, span: Span) {
    if let Some(pair) = bounds.windows(2).find(|pair| pair[0] >= pair[1]) {
        let message = format!("thresholds do not increase: {} stands before {}", pair[0], pair[1]);
        checker.push(error(rule::THRESHOLDS, span, message).help("list them from the smallest"));
    }
    checker.require(!bounds.is_empty(), || {
        error(rule::THRESHOLDS, span, "there is no threshold")
            .help("use `dispatch(policy)`")
            .python("write `.dispatch(policy)`")
    });
    let count = bounds.len();
    checker.require(policies == count + 1, || {
        let message = format!("{count} thresholds need {} policies, not {policies}", count + 1);
        error(rule::THRESHOLDS, span, message)
            .note("policy n is for a metric that n thresholds do not exceed")
    });
}
