//! Which tensors a launch in flight uses.
//!
//! A launch has the memory of every tensor that its graph names, and uses of a table the one that an index says. Conditions and indices that follow from
//! declared scalars, the iteration, the device and numbers of unrolled loops are known when the graph is launched; what they load from memory, and rounds
//! of other loops, are known to the running launch alone, so that a launch is taken to use all of what these leave open.

use super::open_pairs::loops_around;
use super::values::Values;
use wsp_core::tg::image::{NONE, WHEN_NONZERO, WHEN_SKIPPED, WHEN_ZERO};
use wsp_core::tg::{ExprOp, Scalar};
use wsp_tg::Certainty;
use wsp_tg::plan::{BindItem, BindTensor};

/// How a launch uses a tensor of the unit, as a note; `None` if it does not.
pub(super) fn taken(values: &Values<'_>, unit: u32) -> Option<String> {
    let plan = &values.code.plan;
    if !values.code.tensors.iter().any(|tensor| tensor.unit == unit) {
        return None;
    }
    let (mut is_named, mut maybe) = (false, None);
    for (item, kernel) in (0u32..).zip(&plan.kernels) {
        for bind in plan.binds_of(kernel) {
            let taken = binds(values, bind, unit);
            is_named |= taken.is_some();
            let why = match taken {
                Some(Certainty::Surely) => "is bound to it",
                Some(Certainty::Maybe) => "takes one of several tensors, as the round of a loop says",
                Some(Certainty::Never) | None => continue,
            };
            if runs(values, kernel.node) {
                maybe = maybe.or_else(|| Some(format!("kernel `{}` {why}", plan.kernel_name(item))));
            }
        }
    }
    for copy in plan.copies.iter().filter(|copy| [copy.src, copy.dst].contains(&unit)) {
        is_named = true;
        if runs(values, copy.node) {
            maybe = maybe.or_else(|| Some(format!("`copy.{}` copies from it or to it", copy.copy)));
        }
    }
    if plan.exprs.iter().any(|op| matches!(op, ExprOp::Load(tensor, _) if tensor.0 == unit)) {
        is_named = true;
        maybe = maybe.or_else(|| Some("a condition, a count or a binding loads from it".to_owned()));
    }
    match is_named {
        true => maybe,
        // A kernel names it itself.
        false => Some("its graph names it".to_owned()),
    }
}

/// Whether a binding is one to a tensor; `None` if it does not name it.
fn binds(values: &Values<'_>, bind: &BindItem, unit: u32) -> Option<Certainty> {
    let index = match bind.tensor {
        BindTensor::One(one) => return (one == unit).then_some(Certainty::Surely),
        BindTensor::Table { index, .. } => index,
    };
    let tensors = values.code.plan.tensors_of(&bind.tensor);
    tensors.contains(&unit).then(|| match known(values, index) {
        None => Certainty::Maybe,
        Some(index) => match usize::try_from(index).ok().and_then(|index| tensors.get(index)) {
            Some(taken) if *taken == unit => Certainty::Surely,
            _ => Certainty::Never,
        },
    })
}

/// The value of a scalar, if it was known when the launch began.
fn known(values: &Values<'_>, scalar: Scalar) -> Option<i64> {
    let ops = values.code.plan.expr(scalar).iter().take_while(|op| **op != ExprOp::End);
    let loads = ops.into_iter().any(|op| matches!(op, ExprOp::Load(..)));
    if loads { None } else { values.value(scalar).ok() }
}

/// Whether a launch may run a node.
fn runs(values: &Values<'_>, node: u32) -> bool {
    let plan = &values.code.plan;
    let condition = |at: u32| known(values, plan.conditions[at as usize].value);
    let around = loops_around(plan, node);
    let nodes = around.iter().map(|of| plan.records.loops[*of as usize].node).chain([node]);
    around.iter().all(|of| condition(plan.records.loops[*of as usize].condition) != Some(0))
        && nodes.into_iter().all(|node| may_be_on(values, plan.records.nodes[node as usize].guard))
}

/// Whether a guard may be on.
fn may_be_on(values: &Values<'_>, mut guard: u32) -> bool {
    let plan = &values.code.plan;
    while guard != NONE {
        let record = plan.records.guards[guard as usize];
        let decision =
            plan.records.decisions.iter().find(|of| (of.first..of.first + of.len).contains(&guard));
        let outcome = decision.and_then(|of| known(values, plan.conditions[of.condition as usize].value));
        let outcomes = WHEN_SKIPPED
            | match outcome {
                Some(0) => WHEN_ZERO,
                Some(_) => WHEN_NONZERO,
                None => WHEN_ZERO | WHEN_NONZERO,
            };
        if record.when & outcomes == 0 {
            return false;
        }
        guard = record.parent;
    }
    true
}
