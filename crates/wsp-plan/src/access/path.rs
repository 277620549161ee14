//! Conditions of the way to a statement.

use super::state::State;
use super::sym;
use super::walk::Walker;
use crate::fold;
use wsp_ir::{BinOp, Expr, ExprKind, UnOp};

/// Most conditions that a guard is made of; further ones are dropped, which only makes the guard hold more often.
const MAX_CONDITIONS: usize = 8;

/// Takes a condition to be true or false from here on. What is not an expression over descriptor fields and parameters
/// is not recorded.
pub(super) fn assume(walker: &Walker<'_>, state: &mut State, cond: &Expr, holds: bool) {
    match &cond.kind {
        ExprKind::Unary(UnOp::Not, inner) => return assume(walker, state, inner, !holds),
        ExprKind::Binary(BinOp::And, a, b) if holds => {
            assume(walker, state, a, true);
            return assume(walker, state, b, true);
        }
        ExprKind::Binary(BinOp::Or, a, b) if !holds => {
            assume(walker, state, a, false);
            return assume(walker, state, b, false);
        }
        _ => {}
    }
    let value = walker.eval(cond, state);
    let Some(known) = value.as_exact() else { return };
    if walker.ranges.occur_in(known) {
        return;
    }
    push(state, if holds { known.clone() } else { fold::not(known.clone()) });
}

/// Adds a condition over descriptor fields and parameters.
pub(super) fn push(state: &mut State, cond: Expr) {
    match fold::as_bool(&cond) {
        Some(true) => {}
        Some(false) => state.dead = true,
        None => {
            if state.path.len() < MAX_CONDITIONS && sym::is_small(&cond) && !state.path.contains(&cond) {
                state.path.push(cond);
            }
        }
    }
}

/// All conditions of the way, in order.
pub(super) fn guard(state: &State) -> Option<Expr> {
    state.path.iter().cloned().reduce(|a, b| Expr::binary(BinOp::And, a, b))
}
