//! What statements of the IR consist of: expressions and blocks.

use wsp_ir::{Block, Expr, ExtentSource, Stmt, StmtKind};

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
        StmtKind::Tile(op) => {
            let mut found = Vec::new();
            op.exprs(&mut |e| found.push(e));
            found
        }
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
    e.for_each_child(&mut |child| each_subexpr(child, f));
}
