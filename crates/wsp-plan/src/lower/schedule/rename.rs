//! Copies of statements with variables of their own.

use crate::walk;
use wsp_core::LocalId;
use wsp_ir::{Arg, ArrayRef, Block, Expr, ExprKind, Function, StmtKind};
use wsp_ordered::OrderedMap;

/// Which variable stands for which in a copy.
pub(super) type Renaming = OrderedMap<LocalId, LocalId>;

/// A copy whose declarations are new variables of the function; the renaming grows by them.
pub(super) fn copy(block: &Block, func: &mut Function, map: &mut Renaming) -> Block {
    let mut copy = block.clone();
    block_in_place(&mut copy, func, map);
    copy
}

fn block_in_place(block: &mut Block, func: &mut Function, map: &mut Renaming) {
    for stmt in block {
        // The value of a declaration does not see what it declares.
        walk::exprs_mut(stmt, &mut |e| expr(e, map));
        match &mut stmt.kind {
            StmtKind::Let { local, .. } => *local = fresh(*local, func, map),
            StmtKind::LetArray { local, array } => {
                array_ref(array, map);
                *local = fresh(*local, func, map);
            }
            StmtKind::Assign { local, .. } => *local = map.get(local).copied().unwrap_or(*local),
            _ => {}
        }
        walk::blocks_mut(stmt).for_each(|inner| block_in_place(inner, func, map));
    }
}

fn fresh(local: LocalId, func: &mut Function, map: &mut Renaming) -> LocalId {
    let like = func.local(local).clone();
    let new = func.add_local(like.name, like.ty, like.span);
    map.insert(local, new);
    new
}

/// Renames the variables of an expression.
pub(super) fn expr(e: &mut Expr, map: &Renaming) {
    match &mut e.kind {
        ExprKind::Local(l)
        | ExprKind::Field(l, _)
        | ExprKind::TileMax(l)
        | ExprKind::TileSum(l)
        | ExprKind::TileRows(l)
        | ExprKind::TileCols(l) => {
            *l = map.get(l).copied().unwrap_or(*l);
        }
        ExprKind::Load(a, _)
        | ExprKind::ArrayMax(a, _)
        | ExprKind::ArraySum(a, _)
        | ExprKind::ArrayLen(a) => {
            array_ref(a, map);
        }
        ExprKind::Call(_, args) => {
            for arg in args {
                if let Arg::Array(a) = arg {
                    array_ref(a, map);
                }
            }
        }
        _ => {}
    }
    e.for_each_child_mut(&mut |child| expr(child, map));
}

fn array_ref(array: &mut ArrayRef, map: &Renaming) {
    if let ArrayRef::Local(l) = array {
        *l = map.get(l).copied().unwrap_or(*l);
    }
}
