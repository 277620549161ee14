//! WSP0300: bounded nesting, so that the other checks and every later walk may recurse.

use super::{Checker, rule};
use crate::{AxisEnd, Block, Dim, Expr, LocalTy, ParamSource, Schedule, Stmt, TileSize, walk};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::Span;

/// Deepest nesting of statements and expressions together.
pub(crate) const MAX_DEPTH: u32 = MAX_NESTING * 4;

/// Reports the first statement or expression of each table entry that lies too deep.
pub(super) fn check(cx: &mut Checker<'_>) {
    let mut walk = Walk { too_deep: None };
    let module = cx.module;
    for param in &module.params {
        match &param.source {
            ParamSource::Set { default: value } | ParamSource::Derived(value) => walk.expr(value, 0),
            ParamSource::Shape { .. } | ParamSource::Entry => {}
        }
    }
    for dim in module.tensors.iter().flat_map(|t| &t.dims) {
        if let Dim::Expr(value) = dim {
            walk.expr(value, 0);
        }
    }
    for axis in &module.axes {
        walk.expr(&axis.start, 0);
        if let AxisEnd::Expr(end) = &axis.end {
            walk.expr(end, 0);
        }
        if let Some(TileSize::Fixed(size)) = axis.tile.as_ref().map(|t| &t.size) {
            walk.expr(size, 0);
        }
    }
    walk.exprs(module.requirements.iter().map(|r| &r.cond), 0);
    module.spaces.iter().flat_map(|s| &s.constraints).for_each(|c| walk.expr(c, 0));
    walk.exprs(module.schedules.iter().flat_map(Schedule::sizes), 0);
    for tier in module.tier_sets.iter().flat_map(|s| &s.tiers) {
        walk.exprs(tier.cond.iter().chain(&tier.workspace), 0);
    }
    for function in &module.functions {
        for local in &function.locals {
            if let LocalTy::Tile(tile) = &local.ty {
                walk.exprs([&tile.rows, &tile.cols], 0);
            }
        }
        walk.block(&function.body, 0);
    }
    if let Some(span) = walk.too_deep {
        cx.report(rule::TOO_DEEP, span, format!("nesting is deeper than {MAX_DEPTH}"));
    }
}

/// A walk that goes no deeper than allowed.
struct Walk {
    too_deep: Option<Span>,
}

impl Walk {
    /// Whether to go on below something at this depth.
    fn enter(&mut self, depth: u32, span: Span) -> bool {
        if depth >= MAX_DEPTH {
            self.too_deep = self.too_deep.or(Some(span));
        }
        self.too_deep.is_none()
    }

    fn expr(&mut self, expr: &Expr, depth: u32) {
        if self.enter(depth, expr.span) {
            expr.for_each_child(&mut |child| self.expr(child, depth + 1));
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>, depth: u32) {
        exprs.into_iter().for_each(|e| self.expr(e, depth));
    }

    fn block(&mut self, block: &Block, depth: u32) {
        block.iter().for_each(|stmt| self.stmt(stmt, depth));
    }

    fn stmt(&mut self, stmt: &Stmt, depth: u32) {
        if !self.enter(depth, stmt.span) {
            return;
        }
        walk::exprs(stmt, &mut |e| self.expr(e, depth + 1));
        walk::blocks(stmt).for_each(|block| self.block(block, depth + 1));
    }
}
