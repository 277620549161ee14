//! Jumps as conditions: `return`, `break` and `continue` set flags, and what they pass over is done only while the flag is clear.

use super::{Specialiser, set_flag, when};
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{BinOp, Block, Const, Expr, ExprKind, ScalarTy, Stmt, StmtKind, UnOp, walk};

/// Where jumps lead to from here.
#[derive(Clone, Debug, Default)]
pub(super) struct Exits {
    /// Set when the function is left; none when it never is early.
    pub(super) done: Option<LocalId>,
    /// What the function yields.
    pub(super) result: Option<LocalId>,
    /// Loops around, the innermost last.
    loops: Vec<LoopExits>,
}

/// The flags of a loop.
#[derive(Clone, Copy, Debug)]
struct LoopExits {
    /// Set when the loop is left.
    leave: Option<LocalId>,
    /// Set when the rest of the round is not done.
    skip: Option<LocalId>,
}

impl Exits {
    /// The flag that says that the rest of the block is not done.
    pub(super) fn gone(&self) -> Option<LocalId> {
        match self.loops.last() {
            Some(inner) => inner.skip,
            None => self.done,
        }
    }

    fn raise(flags: impl IntoIterator<Item = Option<LocalId>>, span: Span, out: &mut Block) {
        out.extend(flags.into_iter().flatten().map(|flag| set_flag(flag, true, span)));
    }

    pub(super) fn leave_function(&self, span: Span, out: &mut Block) {
        Exits::raise([self.done], span, out);
        Exits::raise(self.loops.iter().flat_map(|l| [l.leave, l.skip]), span, out);
    }

    pub(super) fn leave_loop(&self, span: Span, out: &mut Block) {
        Exits::raise(self.loops.last().into_iter().flat_map(|l| [l.leave, l.skip]), span, out);
    }

    pub(super) fn next_round(&self, span: Span, out: &mut Block) {
        Exits::raise(self.loops.last().map(|l| l.skip), span, out);
    }
}

/// Whether a statement may jump past what follows it in its block.
pub(super) fn escapes(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::For { .. } | StmtKind::While { .. } => walk::blocks(stmt).flatten().any(returns),
        _ => walk::blocks(stmt).flatten().any(escapes),
    }
}

/// Whether a statement of a function's body returns before the end of the function; a `return` at the end does not count.
pub(super) fn returns_early(stmt: &Stmt) -> bool {
    !matches!(stmt.kind, StmtKind::Return(_)) && returns(stmt)
}

fn returns(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Return(_)) || walk::blocks(stmt).flatten().any(returns)
}

/// Whether a statement of a loop's body leaves the loop.
fn leaves(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Break | StmtKind::Return(_) => true,
        StmtKind::For { .. } | StmtKind::While { .. } => returns(stmt),
        _ => walk::blocks(stmt).flatten().any(leaves),
    }
}

/// `!e`
pub(super) fn not(e: Expr) -> Expr {
    let span = e.span;
    Expr::new(ExprKind::Unary(UnOp::Not, Box::new(e)), ScalarTy::Bool, span)
}

impl Specialiser<'_> {
    /// A loop. One that is left early goes on while its flag is clear.
    pub(super) fn looped(&mut self, stmt: &Stmt, out: &mut Block) {
        let span = stmt.span;
        let (StmtKind::For { body, .. } | StmtKind::While { body, .. }) = &stmt.kind else { return };
        let leave = body.iter().any(leaves).then(|| self.fresh("leave", ScalarTy::Bool, span));
        let skip = body.iter().any(escapes).then(|| self.fresh("skip", ScalarTy::Bool, span));
        match &stmt.kind {
            StmtKind::For { var, start, end, step, body } => {
                let [start, end, step] = [start, end, step].map(|e| self.expr(e, out));
                let var = self.renamed(*var);
                let Some(leave) = leave else {
                    let body = self.round(body, None, skip, span);
                    let known = start.as_const_int().zip(end.as_const_int());
                    if known.is_none_or(|(first, end)| first < end) {
                        out.push(Stmt { kind: StmtKind::For { var, start, end, step, body }, span });
                    }
                    return;
                };
                let ty = start.ty;
                let [end, step] = [("end", end), ("step", step)].map(|(name, value)| {
                    let local = self.fresh(name, ty, span);
                    out.push(Stmt { kind: StmtKind::Let { local, init: Some(value) }, span });
                    Expr::local(local, ty, span)
                });
                out.push(Stmt { kind: StmtKind::Let { local: var, init: Some(start) }, span });
                out.push(set_flag(leave, false, span));
                let at = Expr::local(var, ty, span);
                let mut body = self.round(body, Some(leave), skip, span);
                let stays = not(Expr::local(leave, ScalarTy::Bool, span));
                // The next value is not needed, and may not exist, where the loop ends by its bound.
                let more =
                    Expr::binary(BinOp::Lt, step.clone(), Expr::binary(BinOp::Sub, end.clone(), at.clone()));
                let next = Expr::binary(BinOp::Add, at.clone(), step);
                body.push(when(
                    stays.clone(),
                    vec![when(
                        more,
                        vec![Stmt { kind: StmtKind::Assign { local: var, value: next }, span }],
                        vec![set_flag(leave, true, span)],
                        span,
                    )],
                    Vec::new(),
                    span,
                ));
                let cond = Expr::binary(BinOp::And, stays, Expr::binary(BinOp::Lt, at, end));
                out.push(Stmt { kind: StmtKind::While { cond, step: Vec::new(), body }, span });
            }
            StmtKind::While { cond, step, body } => {
                self.while_loop(cond, step, body, (leave, skip), span, out)
            }
            _ => {}
        }
    }

    fn while_loop(
        &mut self,
        cond: &Expr,
        step: &Block,
        body: &Block,
        (leave, skip): (Option<LocalId>, Option<LocalId>),
        span: Span,
        out: &mut Block,
    ) {
        out.extend(leave.map(|leave| set_flag(leave, false, span)));
        let mut before = Vec::new();
        let test = self.expr(cond, &mut before);
        if matches!(test.kind, ExprKind::Const(Const::Bool(false))) && before.is_empty() {
            return;
        }
        let goes_on = if before.is_empty() {
            test
        } else {
            // The condition needs statements: they stand before the loop, and at the end of each round.
            let goes_on = self.fresh("goes_on", ScalarTy::Bool, span);
            before.push(Stmt { kind: StmtKind::Assign { local: goes_on, value: test }, span });
            out.extend(before.iter().cloned());
            Expr::local(goes_on, ScalarTy::Bool, span)
        };
        let mut inner = self.round(body, leave, skip, span);
        let mut tail = Vec::new();
        self.block(step, &mut tail);
        tail.append(&mut before);
        let cond = match leave {
            None => {
                inner.append(&mut tail);
                goes_on
            }
            Some(leave) => {
                let stays = not(Expr::local(leave, ScalarTy::Bool, span));
                if !tail.is_empty() {
                    inner.push(when(stays.clone(), tail, Vec::new(), span));
                }
                Expr::binary(BinOp::And, stays, goes_on)
            }
        };
        out.push(Stmt { kind: StmtKind::While { cond, step: Vec::new(), body: inner }, span });
    }

    /// The body of a loop.
    fn round(&mut self, body: &Block, leave: Option<LocalId>, skip: Option<LocalId>, span: Span) -> Block {
        let mut out: Block = skip.into_iter().map(|skip| set_flag(skip, false, span)).collect();
        self.exits.loops.push(LoopExits { leave, skip });
        self.block(body, &mut out);
        self.exits.loops.pop();
        out
    }
}
