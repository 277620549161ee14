//! The body of the loop nest: what PTO_SCHEDULED_FOR did per item, with everything the front end left open filled in.

use super::axes::{AxisCx, Item, NestAxis};
use super::items;
use super::nest::Nest;
use super::split::Split;
use crate::lower::codes;
use crate::{fold, walk};
use wsp_core::{AxisId, LocalId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    AxisPolicy, Block, EmitHints, Expr, ExprKind, LocalTy, PrefetchHint, ScalarTy, Schedule, Stmt, StmtKind,
};
use wsp_ordered::Arrange;

/// The body: items that PTO_WHERE excludes are skipped, workspace is reserved by the extent of its axis, and every
/// emitted task carries what the schedule says of it.
///
/// # Errors
/// Those of [`items::fill`].
pub(super) fn fill(
    cx: &AxisCx<'_>,
    item: &Item<'_>,
    nest: &mut Nest<'_>,
    schedule: Option<&Schedule>,
    splits: &[Option<Split>],
) -> Result<Block, Vec<Diagnostic>> {
    let mut body = item.body.clone();
    if let Some(schedule) = schedule {
        attach_hints(&mut body, &hints(schedule, nest.axes));
    }
    reserve(item, nest, splits, &mut body);
    items::fill(cx, item, nest, splits, &mut body)?;
    let excluded = item.constraints.iter().map(|c| {
        let skip = vec![Stmt { kind: StmtKind::Continue, span: c.span }];
        let kind = StmtKind::If { cond: fold::not(c.clone()), then: skip, otherwise: Vec::new() };
        Stmt { kind, span: c.span }
    });
    body.splice(0..0, excluded.collect::<Vec<_>>());
    Ok(body)
}

/// `return` would leave out the items that come later, which the schedule decides.
pub(super) fn returns(item: &Item<'_>) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    walk::stmts(item.body, &mut |stmt| {
        if let StmtKind::Return(_) = stmt.kind {
            wrong.push(
                Diagnostic::error(codes::LEAVES_SCHEDULED_FOR, "`return` in the body of `PTO_SCHEDULED_FOR`")
                    .at(stmt.span, "which items it leaves out depends on the schedule")
                    .label(item.span, "items come in the order of the schedule")
                    .help("skip an item with `continue`"),
            );
        }
    });
    wrong
}

/// What the schedule says of a task, by the indices of its item.
fn hints(schedule: &Schedule, axes: &[NestAxis]) -> EmitHints {
    let index = |axis: &NestAxis, span: Span| Expr::local(axis.var, ScalarTy::U32, span);
    let named = |name: &str| axes.iter().position(|axis| axis.name == name);
    let mut hints = EmitHints::default();
    for statement in &schedule.axes {
        let Some(at) = named(&statement.axis) else { continue };
        let (span, value) = (statement.span, index(&axes[at], statement.span));
        match statement.policy {
            AxisPolicy::Affinity(policy) => hints.affinity.push((policy, value)),
            AxisPolicy::Prefetch(depth) => {
                let rest =
                    axes.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, axis)| index(axis, span));
                hints.prefetch.push(PrefetchHint { value, depth, rest: rest.collect() });
            }
            AxisPolicy::Priority => hints.priority = Some(value),
            AxisPolicy::Order(_) | AxisPolicy::Split(_) => {}
        }
    }
    hints
}

fn attach_hints(block: &mut Block, what: &EmitHints) {
    for stmt in block {
        if let StmtKind::Emit { hints, .. } = &mut stmt.kind {
            *hints = what.clone();
        }
        walk::blocks_mut(stmt).for_each(|inner| attach_hints(inner, what));
    }
}

/// Replaces the open slot counts of `PTO_ALLOC_WS` by the extent of their axis for the item at hand.
fn reserve(item: &Item<'_>, nest: &mut Nest<'_>, splits: &[Option<Split>], body: &mut Block) {
    let axes = nest.axes;
    let mut at_start = Vec::new();
    // Guards further down first, so that the positions of the others stay right.
    let mut open: Vec<usize> = (0..axes.len()).filter(|i| is_open(body, axes[*i].id)).collect();
    open.arrange_by_key(|i| std::cmp::Reverse(axes[*i].guard.as_ref().map_or(0, |(at, _)| *at)));
    for i in open {
        let axis = &axes[i];
        let count =
            nest.func.add_local(format!("{}_count", axis.name), LocalTy::Scalar(ScalarTy::U32), item.span);
        let held = |value: Expr, span| Stmt { kind: StmtKind::Let { local: count, init: Some(value) }, span };
        for stmt in body.iter_mut() {
            set_counts(stmt, axis.id, count);
        }
        if let Some(split) = &splits[i] {
            at_start.push(held(split.count(), item.span));
            continue;
        }
        match &axis.guard {
            // At the guard the body has just computed it; later statements may change what it was computed from.
            Some((at, bound)) => body.insert(*at, held(bound.clone(), bound.span)),
            None => {
                let (setup, end) = nest.end_in_body(i);
                at_start.extend(setup);
                at_start.push(held(end, item.span));
            }
        }
    }
    body.splice(0..0, at_start);
}

fn is_placeholder(e: &Expr, axis: AxisId) -> bool {
    matches!(&e.kind, ExprKind::AllocWs(slot) if slot.count.kind == ExprKind::AxisExtent(axis))
}

fn is_open(body: &Block, axis: AxisId) -> bool {
    walk::any_expr(body, &mut |e| is_placeholder(e, axis))
}

fn set_counts(stmt: &mut Stmt, axis: AxisId, count: LocalId) {
    walk::exprs_mut(stmt, &mut |e| set_count(e, axis, count));
    walk::blocks_mut(stmt).flatten().for_each(|inner| set_counts(inner, axis, count));
}

fn set_count(e: &mut Expr, axis: AxisId, count: LocalId) {
    let open = is_placeholder(e, axis);
    if let ExprKind::AllocWs(slot) = &mut e.kind
        && open
    {
        slot.count = Expr::local(count, ScalarTy::U32, slot.count.span);
    }
    e.for_each_child_mut(&mut |child| set_count(child, axis, count));
}

/// The variables of a body, for the axes of its space: `PTO_WHERE` speaks of axes by position.
pub(super) fn over_vars(constraint: &Expr, vars: &[LocalId]) -> Expr {
    let map = vars.iter().enumerate().map(|(i, var)| (LocalId(i as u32), *var)).collect();
    let mut e = constraint.clone();
    super::rename::expr(&mut e, &map);
    e
}
