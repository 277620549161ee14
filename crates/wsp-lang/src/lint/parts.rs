//! What statements of the IR consist of: expressions, blocks, tiles and tensors.

use wsp_core::{LocalId, TensorId};
use wsp_ir::{Block, Expr, ExtentSource, Operand, Stmt, StmtKind, TileOp};

/// What a tile operation does.
#[derive(Default)]
pub(super) struct Effects<'a> {
    /// Tiles that must have contents.
    pub(super) reads: Vec<LocalId>,
    /// Tiles that have contents afterwards.
    pub(super) writes: Vec<LocalId>,
    /// The tensor that is read.
    pub(super) loads: Option<TensorId>,
    /// The tensor that is written.
    pub(super) stores: Option<TensorId>,
    /// Its expressions.
    pub(super) exprs: Vec<&'a Expr>,
}

/// The effects of a tile operation.
pub(super) fn effects(op: &TileOp) -> Effects<'_> {
    let list = |a: &[LocalId]| a.to_vec();
    match op {
        TileOp::Load { dst, tensor, at, rows, cols } => Effects {
            writes: list(&[*dst]),
            loads: Some(*tensor),
            exprs: at.index.iter().chain(rows).chain(cols).collect(),
            ..Effects::default()
        },
        TileOp::Store { tensor, src, at } => Effects {
            reads: list(&[*src]),
            stores: Some(*tensor),
            exprs: at.index.iter().collect(),
            ..Effects::default()
        },
        TileOp::Fill { dst, value, rows, cols } => Effects {
            writes: list(&[*dst]),
            exprs: [value].into_iter().chain(rows).chain(cols).collect(),
            ..Effects::default()
        },
        TileOp::Iota { dst, start, cols } => Effects {
            writes: list(&[*dst]),
            exprs: [start].into_iter().chain(cols).collect(),
            ..Effects::default()
        },
        TileOp::Unary { dst, src, .. }
        | TileOp::RowReduce { dst, src, .. }
        | TileOp::ColReduce { dst, src, .. }
        | TileOp::Transpose { dst, src } => {
            Effects { reads: list(&[*src]), writes: list(&[*dst]), ..Effects::default() }
        }
        TileOp::Binary { dst, a, b, .. } => {
            let (tile, expr) = match b {
                Operand::Tile(b) | Operand::Column(b) | Operand::Row(b) => (Some(*b), None),
                Operand::Scalar(e) => (None, Some(e)),
            };
            Effects {
                reads: [*a].into_iter().chain(tile).collect(),
                writes: list(&[*dst]),
                exprs: expr.into_iter().collect(),
                ..Effects::default()
            }
        }
        TileOp::MatMul { dst, a, b, accumulate, .. } => Effects {
            reads: [*a, *b].into_iter().chain(accumulate.then_some(*dst)).collect(),
            writes: list(&[*dst]),
            ..Effects::default()
        },
        TileOp::Mask { tile, rows, cols, value } => {
            changes(*tile, rows.iter().chain(cols).chain([value]).collect())
        }
        TileOp::MaskCausal { tile, cols, value } => changes(*tile, vec![cols, value]),
        TileOp::MaskBand { tile, begin, end, group, value } => changes(*tile, vec![begin, end, group, value]),
        TileOp::Insert { dst, src, row, col } => Effects {
            reads: list(&[*dst, *src]),
            writes: list(&[*dst]),
            exprs: vec![row, col],
            ..Effects::default()
        },
        TileOp::Extract { dst, src, row, col } => Effects {
            reads: list(&[*src]),
            writes: list(&[*dst]),
            exprs: vec![row, col],
            ..Effects::default()
        },
        // The largest values so far may be none.
        TileOp::TopK { values, indices, src, first } => Effects {
            reads: list(&[*src]),
            writes: list(&[*values, *indices]),
            exprs: vec![first],
            ..Effects::default()
        },
    }
}

/// An operation that changes a tile in place.
fn changes(tile: LocalId, exprs: Vec<&Expr>) -> Effects<'_> {
    Effects { reads: vec![tile], writes: vec![tile], exprs, ..Effects::default() }
}

/// The expressions of a statement itself: not those of the blocks in it, nor the bounds and the condition of a loop's later
/// passes apart.
pub(super) fn exprs(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Let { init, .. } => init.iter().collect(),
        StmtKind::Assign { value, .. } => vec![value],
        StmtKind::If { cond, .. } | StmtKind::While { cond, .. } => vec![cond],
        StmtKind::For { start, end, step, .. } => vec![start, end, step],
        StmtKind::Return(value) => value.iter().collect(),
        StmtKind::Emit { fields, .. } => fields.iter().collect(),
        StmtKind::SetTile { size, .. } => vec![size],
        StmtKind::SetExtent { extent, last, .. } => {
            let extent = match extent {
                ExtentSource::Scalar(e) => Some(e),
                ExtentSource::PerOuter(_) => None,
            };
            extent.into_iter().chain(last).collect()
        }
        StmtKind::Tile(op) => effects(op).exprs,
        StmtKind::StoreScalar { index, value, .. } => index.iter().chain([value]).collect(),
        StmtKind::LetArray { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Fence
        | StmtKind::ScheduledFor { .. }
        | StmtKind::ApplySchedule(_) => Vec::new(),
    }
}

/// The blocks of a statement.
pub(super) fn blocks(stmt: &Stmt) -> [Option<&Block>; 2] {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
        StmtKind::While { step, body, .. } => [Some(body), Some(step)],
        StmtKind::For { body, .. } | StmtKind::ScheduledFor { body, .. } => [Some(body), None],
        StmtKind::Let { .. }
        | StmtKind::LetArray { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Emit { .. }
        | StmtKind::Fence
        | StmtKind::ApplySchedule(_)
        | StmtKind::SetTile { .. }
        | StmtKind::SetExtent { .. }
        | StmtKind::Tile(_)
        | StmtKind::StoreScalar { .. } => [None, None],
    }
}

/// Calls `f` on every statement, outer ones first.
pub(super) fn each_stmt<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        for block in blocks(stmt).into_iter().flatten() {
            each_stmt(block, f);
        }
    }
}

/// Calls `f` on every expression of a block and on every expression inside it.
pub(super) fn each_expr<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Expr)) {
    each_stmt(block, &mut |stmt| exprs(stmt).into_iter().for_each(|e| each_subexpr(e, f)));
}

/// Calls `f` on an expression and on every expression inside it.
pub(super) fn each_subexpr<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(e);
    e.for_each_child(|child| each_subexpr(child, f));
}
