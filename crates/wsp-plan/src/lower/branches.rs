//! Branches that constants decide: what is never executed asks a launch for nothing.

use crate::fold::as_bool;
use wsp_ir::{Block, Module, StmtKind};

/// Puts the branch that is taken in the place of each `if` with a constant condition, and drops loops that have no round.
pub(super) fn decide(module: &mut Module) {
    for function in &mut module.functions {
        block(&mut function.body);
    }
}

fn block(stmts: &mut Block) {
    let mut kept = Block::with_capacity(stmts.len());
    for mut stmt in std::mem::take(stmts) {
        match &mut stmt.kind {
            StmtKind::If { cond, then, otherwise } if as_bool(cond).is_some() => {
                let taken = if as_bool(cond) == Some(true) { then } else { otherwise };
                block(taken);
                kept.append(taken);
            }
            StmtKind::While { cond, .. } if as_bool(cond) == Some(false) => {}
            _ => {
                crate::walk::blocks_mut(&mut stmt).for_each(block);
                kept.push(stmt);
            }
        }
    }
    *stmts = kept;
}
