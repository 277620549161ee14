//! WSP0327: helpers that call themselves.

use super::{Checker, rule};
use wsp_core::FuncId;
use wsp_diag::Span;

/// How far the search has come with a function.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unseen,
    /// On the path that is being followed.
    Open,
    Done,
}

/// Follows the calls that the expression checks met, without recursion of its own.
pub(super) fn check(cx: &mut Checker<'_>) {
    let module = cx.module;
    let mut callees: Vec<Vec<(FuncId, Span)>> = vec![Vec::new(); module.functions.len()];
    for (caller, callee, span) in &cx.calls {
        callees[caller.index()].push((*callee, *span));
    }
    let mut state = vec![State::Unseen; callees.len()];
    for first in 0..callees.len() {
        if state[first] != State::Unseen {
            continue;
        }
        state[first] = State::Open;
        let mut path = vec![(first, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some((callee, span)) = callees[*function].get(*next).copied() else {
                state[*function] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match state[callee.index()] {
                State::Unseen => {
                    state[callee.index()] = State::Open;
                    path.push((callee.index(), 0));
                }
                State::Open => {
                    let name = &module.functions[callee.index()].name;
                    cx.report(rule::RECURSION, span, format!("`{name}` calls itself"));
                }
                State::Done => {}
            }
        }
    }
}
