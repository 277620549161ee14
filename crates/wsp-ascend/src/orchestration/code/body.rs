//! Statements of generators as code.

use super::ops::Op;
use super::{Coder, Loop};
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{Block, Expr, ExtentSource, ScalarTy, Stmt, StmtKind};

impl Coder<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                match init {
                    Some(init) => self.expr(init),
                    None => self.bits(0),
                }
                self.local(Op::Set, local.0);
            }
            StmtKind::LetArray { local, array } => {
                self.array(*array);
                self.local(Op::Set, local.0);
            }
            StmtKind::Assign { local, value } => {
                self.expr(value);
                self.local(Op::Set, local.0);
            }
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond);
                let no = self.jump(Op::JumpZero);
                self.block(then);
                let end = (!otherwise.is_empty()).then(|| self.jump(Op::Jump));
                self.land([no]);
                self.block(otherwise);
                self.land(end);
            }
            StmtKind::For { var, start, end, step, body } => {
                self.counted(*var, [start, end, step], body, stmt.span);
            }
            StmtKind::While { cond, step, body } => self.conditional(cond, step, body, stmt.span),
            StmtKind::Break => {
                let at = self.jump(Op::Jump);
                self.loops.last_mut().into_iter().for_each(|of| of.breaks.push(at));
            }
            StmtKind::Continue => {
                let at = self.jump(Op::Jump);
                self.loops.last_mut().into_iter().for_each(|of| of.continues.push(at));
            }
            StmtKind::Return(Some(value)) => {
                self.expr(value);
                self.op(Op::Result);
            }
            StmtKind::Return(None) => self.op(Op::Leave),
            StmtKind::Emit { descriptor, fields, hints } => {
                fields.iter().for_each(|field| self.expr(field));
                match &hints.priority {
                    Some(priority) => self.cast(priority, ScalarTy::I32),
                    None => self.bits(0),
                }
                self.at(stmt.span);
                self.op(Op::Emit);
                self.words([descriptor.0]);
            }
            StmtKind::Fence => self.op(Op::Fence),
            StmtKind::SetTile { axis, size } => {
                self.expr(size);
                self.at(size.span);
                self.op(Op::SetTile);
                self.words([axis.0]);
            }
            StmtKind::SetExtent { axis, extent, last: _ } => {
                let op = match extent {
                    ExtentSource::Scalar(e) => {
                        self.expr(e);
                        Op::SetExtent
                    }
                    ExtentSource::PerOuter(array) => {
                        self.array(*array);
                        Op::SetExtents
                    }
                };
                self.at(stmt.span);
                self.op(op);
                self.words([axis.0]);
            }
            // Lowering leaves none of the first two; the others stand in kernels.
            StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::Tile(_)
            | StmtKind::StoreScalar { .. } => {}
        }
    }

    /// `start`, `end` and `step` are evaluated once.
    fn counted(&mut self, var: LocalId, [start, end, step]: [&Expr; 3], body: &Block, span: Span) {
        let (to, by) = (self.variable(), self.variable());
        [start, end, step].into_iter().for_each(|e| self.expr(e));
        self.at(step.span);
        self.typed(Op::AtLeast1, start.ty);
        [by, to, var.0].into_iter().for_each(|at| self.local(Op::Set, at));
        let again = self.here();
        self.local(Op::Local, var.0);
        self.local(Op::Local, to);
        self.typed(Op::Lt, start.ty);
        let end = self.jump(Op::JumpZero);
        self.at(span);
        self.op(Op::Step);
        self.loops.push(Loop::default());
        self.block(body);
        let Loop { breaks, continues } = self.loops.pop().unwrap_or_default();
        self.land(continues);
        [var.0, to, by].into_iter().for_each(|at| self.local(Op::Local, at));
        self.typed(Op::Advance, start.ty);
        self.local(Op::Set, var.0);
        self.local(Op::Jump, again);
        self.land(breaks.into_iter().chain([end]));
    }

    fn conditional(&mut self, cond: &Expr, step: &Block, body: &Block, span: Span) {
        self.at(span);
        self.op(Op::Step);
        let first = self.jump(Op::Jump);
        let again = self.here();
        self.at(span);
        self.op(Op::Step);
        self.block(step);
        self.land([first]);
        self.expr(cond);
        let end = self.jump(Op::JumpZero);
        self.loops.push(Loop::default());
        self.block(body);
        let Loop { breaks, continues } = self.loops.pop().unwrap_or_default();
        self.local(Op::Jump, again);
        continues.into_iter().for_each(|at| self.code.words[at] = again);
        self.land(breaks.into_iter().chain([end]));
    }
}
