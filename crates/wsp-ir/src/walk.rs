//! Walks over statements and the expressions in them.

use crate::{Block, Expr, ExtentSource, PrefetchHint, Stmt, StmtKind};

/// Calls `$f` on the expressions of the statement `$kind`; `$iter` and `$tile` say whether it may change them.
macro_rules! visit_stmt {
    ($kind:expr, $f:ident, $iter:ident, $tile:ident) => {
        match $kind {
            StmtKind::Let { init, .. } => init.$iter().for_each($f),
            StmtKind::Assign { value, .. } => $f(value),
            StmtKind::If { cond, .. } | StmtKind::While { cond, .. } => $f(cond),
            StmtKind::For { start, end, step, .. } => [start, end, step].into_iter().for_each($f),
            StmtKind::Return(value) => value.$iter().for_each($f),
            StmtKind::Emit { fields, hints, .. } => {
                fields.$iter().for_each(&mut *$f);
                hints.affinity.$iter().for_each(|(_, e)| $f(e));
                hints.priority.$iter().for_each(&mut *$f);
                for PrefetchHint { value, rest, .. } in hints.prefetch.$iter() {
                    $f(value);
                    rest.$iter().for_each(&mut *$f);
                }
            }
            StmtKind::SetTile { size, .. } => $f(size),
            StmtKind::SetExtent { extent, last, .. } => {
                if let ExtentSource::Scalar(e) = extent {
                    $f(e);
                }
                last.$iter().for_each($f);
            }
            StmtKind::Tile(op) => op.$tile($f),
            StmtKind::StoreScalar { index, value, .. } => {
                index.$iter().for_each(&mut *$f);
                $f(value);
            }
            StmtKind::LetArray { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Fence
            | StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_) => {}
        }
    };
}

/// Calls `f` on the expressions that a statement itself evaluates, not on those of the blocks inside it.
pub fn exprs<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    visit_stmt!(&stmt.kind, f, iter, exprs);
}

/// Calls `f` on the expressions that a statement itself evaluates, for change in place.
pub fn exprs_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    visit_stmt!(&mut stmt.kind, f, iter_mut, exprs_mut);
}

/// The blocks inside the statement `$kind`.
macro_rules! blocks_of {
    ($kind:expr) => {{
        let (first, second) = match $kind {
            StmtKind::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
            StmtKind::While { body, step, .. } => (Some(body), Some(step)),
            StmtKind::For { body, .. } | StmtKind::ScheduledFor { body, .. } => (Some(body), None),
            StmtKind::Let { .. }
            | StmtKind::LetArray { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Return(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Fence
            | StmtKind::Emit { .. }
            | StmtKind::SetTile { .. }
            | StmtKind::SetExtent { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::Tile(_)
            | StmtKind::StoreScalar { .. } => (None, None),
        };
        first.into_iter().chain(second)
    }};
}

/// The blocks inside a statement.
pub fn blocks(stmt: &Stmt) -> impl Iterator<Item = &Block> {
    blocks_of!(&stmt.kind)
}

/// The blocks inside a statement, for change in place.
pub fn blocks_mut(stmt: &mut Stmt) -> impl Iterator<Item = &mut Block> {
    blocks_of!(&mut stmt.kind)
}

/// Calls `f` on every statement of a block, outer ones first.
pub fn stmts<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        blocks(stmt).for_each(|inner| stmts(inner, f));
    }
}

/// Whether `test` holds for some expression in a block.
pub fn any_expr(block: &Block, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    stmts(block, &mut |stmt| exprs(stmt, &mut |e| found = found || e.any(test)));
    found
}

/// Calls `f` on every expression of a block and on every expression inside it.
pub fn each_expr<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Expr)) {
    stmts(block, &mut |stmt| exprs(stmt, &mut |e| each_subexpr(e, f)));
}

/// Calls `f` on an expression and on every expression inside it.
pub fn each_subexpr<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(e);
    e.for_each_child(&mut |child| each_subexpr(child, f));
}
