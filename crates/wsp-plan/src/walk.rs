//! Walks over statements and the expressions in them, beside those of [`wsp_ir::walk`].

use wsp_core::{AccessKind, FuncId, LocalId, TensorId};
pub(crate) use wsp_ir::walk::{any_expr, blocks, blocks_mut, exprs, exprs_mut, stmts};
use wsp_ir::{Arg, ArrayRef, Block, Expr, ExprKind, Module, StmtKind};
use wsp_ordered::OrderedSet;

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
            op.accesses().for_each(|(tensor, access)| f(tensor, access == AccessKind::Write));
        }
        _ => {}
    });
}

/// The variables that an expression reads.
pub(crate) fn reads(expr: &Expr, out: &mut OrderedSet<LocalId>) {
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
pub(crate) fn assigned(block: &Block, out: &mut OrderedSet<LocalId>) {
    stmts(block, &mut |stmt| {
        if let StmtKind::Assign { local, .. } = &stmt.kind {
            out.insert(*local);
        }
    });
}

/// Adds a function and all that it calls.
pub(crate) fn callees(module: &Module, func: FuncId, out: &mut OrderedSet<FuncId>) {
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
