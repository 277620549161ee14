//! Whether a kernel that waits for an event runs: one that is skipped waits for nothing.

use super::super::Cx;
use super::super::access::Access;
use super::Steps;
use super::conditions::{Condition, Forms};
use super::rounds::in_some_round;
use super::runs::{need, needs};
use super::way::Way;
use crate::Certainty;
use wsp_core::tg::ExprOp;

/// Whether a kernel runs in a launch of its graph, of an iteration if that is known, on a way if there is one; and with an access of the launch,
/// whether it does where that takes place. Where no steps are left, it may.
pub(super) fn runs(
    cx: &Cx<'_>,
    (way, forms): (Option<&Way>, &mut Forms),
    (kernel, iteration): (u32, Option<i64>),
    with: Option<&Access>,
    steps: &mut Steps,
) -> Certainty {
    let blocks = &cx.outline.blocks;
    let block = cx.outline.kernels[kernel as usize].block;
    if with.is_some_and(|access| blocks.exclude(block, access.block)) {
        return Certainty::Never;
    }
    let now = |op: ExprOp| iteration.filter(|_| op == ExprOp::Iteration);
    let mut is_sure = true;
    let mut needed: Vec<(Condition, bool)> = Vec::new();
    for (id, around) in blocks.outwards(block) {
        if !steps.spend(1) {
            return Certainty::Maybe;
        }
        if with.is_some_and(|access| blocks.is_within(access.block, id)) {
            break;
        }
        needed.extend(need(cx, forms, around, &now));
        is_sure &= !around.breaks;
    }
    if needed.is_empty() {
        return if is_sure { Certainty::Surely } else { Certainty::Maybe };
    }
    let given = with.map_or_else(Vec::new, |access| needs(cx, forms, access, iteration));
    let empty = Way::default();
    let way = way.unwrap_or(&empty);
    let mut allows = |also: &[(Condition, bool)]| {
        let all: Vec<(Condition, bool)> = given.iter().chain(also).cloned().collect();
        way.allows(forms, &all, steps) || !steps.spend(1)
    };
    if !allows(&needed) {
        return Certainty::Never;
    }
    let may_be_off = |(condition, goes): (Condition, bool)| allows(&[(condition, !goes)]);
    match is_sure && !needed.into_iter().any(may_be_off) {
        true => Certainty::Surely,
        false => Certainty::Maybe,
    }
}

/// Whether some kernels may all run in launches of their graphs, each of an iteration, on a way. Loops that breaks leave may go on.
pub(super) fn may_all_run(
    cx: &Cx<'_>,
    (way, forms): (&Way, &mut Forms),
    kernels: impl Iterator<Item = (u32, Option<i64>)>,
    steps: &mut Steps,
) -> bool {
    let mut needed: Vec<(Condition, bool)> = Vec::new();
    for (kernel, iteration) in kernels {
        let now = |op: ExprOp| iteration.filter(|_| op == ExprOp::Iteration);
        let kernel = &cx.outline.kernels[kernel as usize];
        let place = (kernel.block, kernel.at);
        if in_some_round(cx, (way.known(), &mut *forms), place, iteration, &[]) == Certainty::Never {
            return false;
        }
        let around = cx.outline.blocks.outwards(kernel.block);
        needed.extend(around.filter_map(|(_, block)| need(cx, forms, block, &now)));
    }
    way.allows(forms, &needed, steps)
}
