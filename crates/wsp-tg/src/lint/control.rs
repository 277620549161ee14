//! Control flow that always goes one way.

use super::{Cx, NEVER_CHANGES, NEVER_RUNS, warning};
use wsp_core::tg::{ExprOp, Instr, Scalar};

pub(super) fn check(cx: &mut Cx<'_>) {
    let mut in_graph = false;
    for (at, instr) in cx.module.instrs.iter().enumerate() {
        let at = at as u32;
        match *instr {
            Instr::TgBegin { .. } => in_graph = true,
            Instr::TgEnd { .. } => in_graph = false,
            Instr::CfLoop { count: Scalar::Const(0), .. } => {
                let found = cx.on(warning(NEVER_RUNS, "a loop runs 0 times"), at, "");
                cx.report(found.help("give it a count, or remove it"));
            }
            Instr::CfIf { condition: Scalar::Const(value) } => {
                let which = if value == 0 { "never" } else { "always" };
                let found =
                    cx.on(warning(NEVER_CHANGES, format!("a condition is {which} met")), at, "constant");
                cx.report(found.help("remove the arm that never runs"));
            }
            Instr::CfBreak { condition: Scalar::Const(value) } => {
                let what = if value == 0 { "a break is never taken" } else { "a break is always taken" };
                let found = cx.on(warning(NEVER_CHANGES, what), at, "constant");
                cx.report(found.help("give it a condition, or remove it"));
            }
            Instr::CfWhile { condition: Scalar::Const(0), .. } => {
                let found = cx.on(warning(NEVER_RUNS, "a loop runs 0 times"), at, "its condition is 0");
                cx.report(found.help("give it a condition, or remove it"));
            }
            // What the host reads, graphs that it launches may change.
            Instr::CfWhile { condition, .. } if in_graph => endless(cx, at, condition),
            _ => {}
        }
    }
}

/// A `CF_WHILE` in which nothing changes what its condition reads, and that nothing leaves.
fn endless(cx: &mut Cx<'_>, at: u32, condition: Scalar) {
    let Some(id) = cx.outline.blocks.opened_by(at) else { return };
    let block = *cx.outline.blocks.get(id);
    let changes = block.breaks
        || cx.module.scalar(condition).iter().any(|op| match op {
            ExprOp::Load(tensor, _) => cx.outline.tensor_index(*tensor).is_none_or(|tensor| {
                let mut uses = cx.accesses.of(tensor).iter();
                uses.any(|access| access.writes() && cx.outline.blocks.is_within(access.block, id))
            }),
            _ => false,
        });
    if changes {
        return;
    }
    let found = cx.on(
        warning(NEVER_CHANGES, "nothing in the loop changes its condition"),
        at,
        "runs not at all, or until `max_iterations`",
    );
    cx.report(
        found.help("let a kernel of the loop write what the condition reads, or leave it with CF_BREAK"),
    );
}
