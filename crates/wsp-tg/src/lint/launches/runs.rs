//! What has to hold for an access to take place, and whether it surely does.

use super::super::Cx;
use super::super::access::Access;
use super::conditions::{Condition, Forms, Now};
use crate::Certainty;
use wsp_core::tg::{ExprOp, Instr, Scalar};
use wsp_ir::tg::outline::{Block, BlockId, BlockKind};

/// What has to hold, and what not, for an access of an iteration to take place.
pub(super) fn needs(
    cx: &Cx<'_>,
    forms: &mut Forms,
    access: &Access,
    iteration: Option<i64>,
) -> Vec<(Condition, bool)> {
    let now = |op: ExprOp| iteration.filter(|_| op == ExprOp::Iteration);
    let mut needs = Vec::new();
    for (id, block) in cx.outline.blocks.outwards(access.block) {
        needs.extend(need(cx, forms, block, &now));
        if block.breaks {
            needs.extend(left(cx, forms, (id, block), access, &now));
        }
    }
    let is_in_loop = cx.outline.blocks.innermost_loop(access.block).is_some();
    if is_in_loop && forms.in_some_round(cx, access, iteration) == Certainty::Never {
        needs.push((Condition::Known(false), true));
    }
    needs
}

/// What has to hold, or not, for a block to run at all where what is around it does.
pub(super) fn need(
    cx: &Cx<'_>,
    forms: &mut Forms,
    block: &Block,
    now: &Now<'_>,
) -> Option<(Condition, bool)> {
    let at = if block.kind.is_arm() { block.decided } else { block.open };
    match *cx.module.instrs.get(at as usize)? {
        Instr::CfIf { condition } if block.kind.is_arm() => {
            Some((forms.condition(cx, condition, now), block.kind == BlockKind::Then))
        }
        Instr::CfLoop { count, .. } if block.kind.is_loop() => Some((forms.is_none(cx, count, now), false)),
        Instr::CfWhile { condition, .. } if block.kind.is_loop() => {
            Some((forms.condition(cx, condition, now), true))
        }
        _ => None,
    }
}

/// What must not hold for an access to take place in a loop that breaks leave: in its first round for those before it; in any for bytes that
/// may be those of later rounds.
fn left(
    cx: &Cx<'_>,
    forms: &mut Forms,
    (id, block): (BlockId, &Block),
    access: &Access,
    now: &Now<'_>,
) -> Vec<(Condition, bool)> {
    let mut left = Vec::new();
    for (at, condition) in breaks_before(cx, (id, block), access) {
        let is_first = cx.outline.blocks.around(at) == id && at < access.place;
        let now = |op: ExprOp| round_of(cx, block, op, 0).filter(|_| is_first).or_else(|| now(op));
        match forms.condition(cx, condition, &now) {
            Condition::Known(false) => {}
            holds if is_first => left.push((holds, false)),
            _ => left.push((Condition::Open, false)),
        }
    }
    left
}

/// The number of a round, if an operation pushes that of this loop.
pub(super) fn round_of(cx: &Cx<'_>, block: &Block, op: ExprOp, round: i64) -> Option<i64> {
    match (cx.module.instrs.get(block.open as usize), op) {
        (Some(Instr::CfLoop { iterator, .. }), ExprOp::Iter(of)) if *iterator == of => Some(round),
        _ => None,
    }
}

/// Breaks that may leave a loop before an access, with their conditions: those before it, and for bytes that may be those of later rounds all.
fn breaks_before(
    cx: &Cx<'_>,
    (id, block): (BlockId, &Block),
    access: &Access,
) -> impl Iterator<Item = (u32, Scalar)> {
    let end = if access.exact { access.place } else { block.close };
    (block.open..end).filter_map(move |at| match cx.module.instrs[at as usize] {
        Instr::CfBreak { condition } => {
            let of = cx.outline.blocks.innermost_loop(cx.outline.blocks.around(at));
            (of == Some(id)).then_some((at, condition))
        }
        _ => None,
    })
}

/// Whether an access takes place whenever its graph runs: no condition is around it, and loops that surely run, which nothing leaves before it.
pub(super) fn surely_runs(cx: &Cx<'_>, access: &Access) -> bool {
    let mut around = cx.outline.blocks.outwards(access.block);
    around.all(|(_, block)| !block.kind.is_arm()) && runs_its_loops(cx, access)
}

/// Whether the loops of the graph around an access surely run, and nothing leaves them before it.
pub(super) fn runs_its_loops(cx: &Cx<'_>, access: &Access) -> bool {
    let mut around = cx.outline.blocks.outwards(access.block).filter(|(_, block)| block.kind.is_loop());
    around.all(|(id, block)| {
        block.kind == BlockKind::Loop
            && breaks_before(cx, (id, block), access).next().is_none()
            && cx.outline.count_of(cx.known, id).is_some_and(|count| count > 0)
    })
}
