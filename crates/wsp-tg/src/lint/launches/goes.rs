//! How the conditions of a plan go where its nodes run.

use super::super::Cx;
use super::conditions::{Condition, Forms};
use crate::plan::GraphPlan;
use wsp_core::tg::image::{DecisionRecord, WHEN_NONZERO, WHEN_ZERO};
use wsp_core::tg::{ExprOp, Instr, Scalar};
use wsp_ordered::OrderedMap;

/// How conditions go, by decision: whether each is other than 0.
pub(super) type Goes = OrderedMap<u32, bool>;

/// How conditions go where a guard is on. What stands behind a break is taken to run.
pub(super) fn goes_of(graph: &GraphPlan, guard: u32) -> Goes {
    let records = &graph.records;
    let parent = |guard: &u32| Some(records.guards.get(*guard as usize)?.parent);
    let around = std::iter::successors(Some(guard), parent);
    let decides = |guard: u32| {
        let is = match records.guards.get(guard as usize)?.when {
            WHEN_NONZERO => true,
            WHEN_ZERO => false,
            _ => return None,
        };
        let sets =
            |decision: &DecisionRecord| (decision.first..decision.first + decision.len).contains(&guard);
        Some((records.decisions.iter().position(sets)? as u32, is))
    };
    around.filter_map(decides).collect()
}

/// Whether no decision goes otherwise in one than in the other.
pub(super) fn agree(one: &Goes, other: &Goes) -> bool {
    one.iter().all(|(decision, is)| other.get(decision).is_none_or(|other| other == is))
}

/// The conditions of decisions, and whether each holds, in a launch with an iteration if that is known.
pub(super) fn conditions(
    cx: &Cx<'_>,
    graph: &GraphPlan,
    forms: &mut Forms,
    goes: &Goes,
    iteration: Option<i64>,
) -> Vec<(Condition, bool)> {
    let of = |(&decision, &is): (&u32, &bool)| {
        let item = &graph.conditions[graph.records.decisions[decision as usize].condition as usize];
        let now = |op: ExprOp| match op {
            ExprOp::Iter(iter) => {
                graph.fixed_of(item.fixed).iter().rfind(|(of, _)| *of == iter).map(|(_, number)| *number)
            }
            ExprOp::Iteration => iteration,
            _ => None,
        };
        let scalar = match cx.module.instrs.get(item.instr as usize) {
            Some(Instr::CfIf { condition } | Instr::CfBreak { condition }) => *condition,
            _ => Scalar::Const(i64::from(is)),
        };
        (forms.condition(cx, scalar, &now), is)
    };
    goes.iter().map(of).collect()
}
