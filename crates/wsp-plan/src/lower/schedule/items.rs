//! What the items of an axis hold: `PTO_ITEM_BEGIN`, `PTO_ITEM_END`, `PTO_ITEM_COUNT`.
//!
//! On a tiled axis item `i` holds the elements from `start + i · tile` on, as many as a tile has and the axis still has, where
//! `start` is that of the last elements if only these exist; on any other the element `i`. A split axis says itself where its
//! items begin and end.

use super::axes::{self, AxisCx, Item, NestAxis};
use super::nest::Nest;
use super::split::Split;
use crate::lower::codes;
use crate::{fold, walk};
use wsp_core::{AxisId, LocalId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Block, Expr, ExprKind, LocalTy, ScalarTy, Stmt, StmtKind};

/// Which of the three forms a body uses, with the place of the first.
#[derive(Clone, Copy, Default)]
struct Uses {
    begin: Option<Span>,
    end: Option<Span>,
    count: Option<Span>,
}

/// Replaces the three forms by variables, which the body is given at its beginning.
///
/// # Errors
/// When the elements of an axis whose end is asked for are not known.
pub(super) fn fill(
    cx: &AxisCx<'_>,
    item: &Item<'_>,
    nest: &mut Nest<'_>,
    splits: &[Option<Split>],
    body: &mut Block,
) -> Result<(), Vec<Diagnostic>> {
    let (axes, mut given, mut wrong) = (nest.axes, Block::new(), Vec::new());
    for (position, axis) in axes.iter().enumerate() {
        let uses = uses_of(body, axis.id);
        if let Some(span) = uses.count {
            let (setup, count) = match &splits[position] {
                Some(split) => (Vec::new(), split.count()),
                None => {
                    let (setup, end) = nest.end_in_body(position);
                    (setup, fold::sub(fold::max(end, axis.start.clone()), axis.start.clone()))
                }
            };
            given.extend(setup);
            hold(nest, axis, "items", ExprKind::ItemCount, count, span, (&mut given, body));
        }
        let Some(span) = uses.begin.or(uses.end) else { continue };
        let (begin, end) = match bounds(cx, item, nest, splits, position, uses.end) {
            Ok(found) => found,
            Err(diagnostic) => {
                wrong.push(diagnostic);
                continue;
            }
        };
        let first = hold(nest, axis, "begin", ExprKind::ItemBegin, begin, span, (&mut given, body));
        if let (Some(end), Some(span)) = (end, uses.end) {
            let end = end(Expr::local(first, ScalarTy::U32, span));
            hold(nest, axis, "end", ExprKind::ItemEnd, end, span, (&mut given, body));
        }
    }
    body.splice(0..0, given);
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The end of an item, given the variable that holds its begin.
type EndOf = Box<dyn FnOnce(Expr) -> Expr>;

/// First element of the current item, and the end where that is asked for.
fn bounds(
    cx: &AxisCx<'_>,
    item: &Item<'_>,
    nest: &mut Nest<'_>,
    splits: &[Option<Split>],
    position: usize,
    end: Option<Span>,
) -> Result<(Expr, Option<EndOf>), Diagnostic> {
    let declared = &cx.module.axes[nest.axes[position].id.index()];
    let index = Expr::local(nest.axes[position].var, ScalarTy::U32, item.span);
    if let Some(split) = &splits[position] {
        let last = split.end(index.clone());
        return Ok((split.begin(index), Some(Box::new(|_| last))));
    }
    let Some(tile) = axes::tile_size(nest.axes[position].id, declared) else {
        let one = Expr::u32(1, item.span);
        return Ok((index, Some(Box::new(move |begin| fold::add(begin, one)))));
    };
    let start = axes::as_u32(&declared.start);
    let first = fold::add(start.clone(), axes::left_out(cx, item, nest.func, position));
    let begin = fold::add(first, fold::mul(index, tile.clone()));
    let Some(span) = end else { return Ok((begin, None)) };
    let Some(length) = axes::length(cx, item, nest.func, position) else {
        let name = &declared.name;
        return Err(Diagnostic::error(
            codes::NO_EXTENT,
            format!("how many elements axis `{name}` has is not known"),
        )
        .at(span, "so the end of its last item is not")
        .label(declared.span, "declared without an end")
        .help(format!("call `PTO_SET_EXTENT({name}, lengths);` before the loop")));
    };
    let past = fold::add(start, length);
    // An item that a guard lets through past the end is empty.
    let of = move |begin: Expr| {
        let left = fold::sub(fold::max(past, begin.clone()), begin.clone());
        fold::add(begin, fold::min(tile, left))
    };
    Ok((begin, Some(Box::new(of))))
}

/// Declares a variable with this value and puts it in the place of a form.
fn hold(
    nest: &mut Nest<'_>,
    axis: &NestAxis,
    what: &str,
    form: fn(AxisId) -> ExprKind,
    value: Expr,
    span: Span,
    (given, body): (&mut Block, &mut Block),
) -> LocalId {
    let local = nest.func.add_local(format!("{}_{what}", axis.name), LocalTy::Scalar(ScalarTy::U32), span);
    given.push(Stmt { kind: StmtKind::Let { local, init: Some(value) }, span });
    let form = form(axis.id);
    body.iter_mut().for_each(|stmt| replace(stmt, &form, local));
    local
}

fn replace(stmt: &mut Stmt, form: &ExprKind, local: LocalId) {
    walk::exprs_mut(stmt, &mut |e| replace_in(e, form, local));
    walk::blocks_mut(stmt).flatten().for_each(|inner| replace(inner, form, local));
}

fn replace_in(e: &mut Expr, form: &ExprKind, local: LocalId) {
    if e.kind == *form {
        e.kind = ExprKind::Local(local);
    }
    e.for_each_child_mut(&mut |child| replace_in(child, form, local));
}

fn uses_of(body: &Block, axis: AxisId) -> Uses {
    let mut uses = Uses::default();
    walk::any_expr(body, &mut |e| {
        let place = match e.kind {
            ExprKind::ItemBegin(of) if of == axis => &mut uses.begin,
            ExprKind::ItemEnd(of) if of == axis => &mut uses.end,
            ExprKind::ItemCount(of) if of == axis => &mut uses.count,
            _ => return false,
        };
        *place = place.or(Some(e.span));
        false
    });
    uses
}
