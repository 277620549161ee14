//! Walks over statements and the expressions in them.

use std::collections::BTreeSet;
use wsp_core::{AccessKind, FuncId, LocalId, TensorId};
use wsp_ir::{Arg, ArrayRef, Block, Expr, ExprKind, ExtentSource, Module, PrefetchHint, Stmt, StmtKind};

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
pub(crate) fn exprs<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    visit_stmt!(&stmt.kind, f, iter, exprs);
}

/// Calls `f` on the expressions that a statement itself evaluates, for change in place.
pub(crate) fn exprs_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    visit_stmt!(&mut stmt.kind, f, iter_mut, exprs_mut);
}

/// Calls `f` on every name of a tensor that a block loads from or stores to, for change in place.
pub(crate) fn tensors_mut(block: &mut Block, f: &mut dyn FnMut(&mut TensorId)) {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::StoreScalar { tensor, .. } => f(tensor),
            StmtKind::Tile(op) => op.tensor_mut().into_iter().for_each(&mut *f),
            _ => {}
        }
        exprs_mut(stmt, &mut |e| loads_mut(e, f));
        blocks_mut(stmt).for_each(|inner| tensors_mut(inner, f));
    }
}

fn loads_mut(e: &mut Expr, f: &mut dyn FnMut(&mut TensorId)) {
    if let ExprKind::LoadScalar(tensor, _) = &mut e.kind {
        f(tensor);
    }
    e.for_each_child_mut(&mut |child| loads_mut(child, f));
}

/// The blocks inside a statement.
pub(crate) fn blocks(stmt: &Stmt) -> impl Iterator<Item = &Block> {
    let (first, second) = match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
        StmtKind::While { body, step, .. } => (Some(body), Some(step)),
        StmtKind::For { body, .. } | StmtKind::ScheduledFor { body, .. } => (Some(body), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// The blocks inside a statement, for change in place.
pub(crate) fn blocks_mut(stmt: &mut Stmt) -> impl Iterator<Item = &mut Block> {
    let (first, second) = match &mut stmt.kind {
        StmtKind::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
        StmtKind::While { body, step, .. } => (Some(body), Some(step)),
        StmtKind::For { body, .. } | StmtKind::ScheduledFor { body, .. } => (Some(body), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// Calls `f` on every statement of a block, outer ones first.
pub(crate) fn stmts<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        blocks(stmt).for_each(|inner| stmts(inner, f));
    }
}

/// Whether `test` holds for some expression in a block.
pub(crate) fn any_expr(block: &Block, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    stmts(block, &mut |stmt| exprs(stmt, &mut |e| found = found || e.any(test)));
    found
}

/// Calls `f` on every tensor that a block loads from or stores to, with whether it stores.
pub(crate) fn tensors(block: &Block, f: &mut dyn FnMut(TensorId, bool)) {
    any_expr(block, &mut |e| {
        if let ExprKind::LoadScalar(tensor, _) = &e.kind {
            f(*tensor, false);
        }
        false
    });
    stmts(block, &mut |stmt| match &stmt.kind {
        StmtKind::StoreScalar { tensor, .. } => f(*tensor, true),
        StmtKind::Tile(op) => {
            op.tensor().into_iter().for_each(|(tensor, access)| f(tensor, access == AccessKind::Write));
        }
        _ => {}
    });
}

/// The variables that an expression reads.
pub(crate) fn reads(expr: &Expr, out: &mut BTreeSet<LocalId>) {
    match &expr.kind {
        ExprKind::Local(l)
        | ExprKind::TileMax(l)
        | ExprKind::TileSum(l)
        | ExprKind::TileRows(l)
        | ExprKind::TileCols(l) => {
            out.insert(*l);
        }
        ExprKind::Field(l, _) => {
            out.insert(*l);
        }
        ExprKind::Load(a, _)
        | ExprKind::ArrayMax(a, _)
        | ExprKind::ArraySum(a, _)
        | ExprKind::ArrayLen(a) => {
            out.extend(array_local(a));
        }
        ExprKind::Call(_, args) => {
            out.extend(args.iter().filter_map(|arg| match arg {
                Arg::Array(a) => array_local(a),
                Arg::Scalar(_) => None,
            }));
        }
        _ => {}
    }
    expr.for_each_child(&mut |child| reads(child, out));
}

/// The variable behind an array, if it is one.
pub(crate) fn array_local(array: &ArrayRef) -> Option<LocalId> {
    match array {
        ArrayRef::Local(l) => Some(*l),
        ArrayRef::Tensor(_) | ArrayRef::Meta(..) | ArrayRef::Derived(_) => None,
    }
}

/// The scalar variables that a block assigns, declarations not counted.
pub(crate) fn assigned(block: &Block, out: &mut BTreeSet<LocalId>) {
    stmts(block, &mut |stmt| {
        if let StmtKind::Assign { local, .. } = &stmt.kind {
            out.insert(*local);
        }
    });
}

/// Adds a function and all that it calls.
pub(crate) fn callees(module: &Module, func: FuncId, out: &mut BTreeSet<FuncId>) {
    if !out.insert(func) {
        return;
    }
    let mut called = Vec::new();
    if let Some(function) = module.functions.get(func.index()) {
        any_expr(&function.body, &mut |e| {
            if let ExprKind::Call(f, _) = &e.kind {
                called.push(*f);
            }
            false
        });
    }
    called.into_iter().for_each(|f| callees(module, f, out));
}
