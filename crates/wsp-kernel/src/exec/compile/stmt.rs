//! Statements.

use super::{FnCompiler, Home, Loop};
use crate::Trap;
use crate::exec::asm::Label;
use crate::exec::code::{Op, What};
use crate::exec::tile_code::TileInst;
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{Block, Expr, ScalarTy, Stmt, StmtKind};

impl<'a> FnCompiler<'_, 'a> {
    pub(super) fn block(&mut self, block: &'a Block) -> Result<(), Trap> {
        for stmt in block {
            self.nested(stmt.span, |f| f.stmt(stmt))?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Trap> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { local, init } => self.declare(*local, init.as_ref(), span),
            StmtKind::LetArray { local, array } => {
                let number = self.array(*array, span)?;
                match self.home(*local, span)? {
                    Home::Array(slot) => self.asm.mov(slot, number.slot, span),
                    _ => return Err(Trap::internal("an array bound to another variable", span)),
                }
                Ok(())
            }
            StmtKind::Assign { local, value } => self.assign(*local, value, span),
            StmtKind::If { cond, then, otherwise } => self.if_else(cond, then, otherwise, span),
            StmtKind::For { var, start, end, step, body } => {
                self.counted(*var, [start, end, step], body, span)
            }
            StmtKind::While { cond, step, body } => self.while_loop(cond, step, body, span),
            StmtKind::Break => self.leave_loop(false, span),
            StmtKind::Continue => self.leave_loop(true, span),
            StmtKind::Return(value) => {
                let slot = match value {
                    Some(value) => {
                        let operand = self.expr(value, None)?;
                        self.asm.release(operand)
                    }
                    None => self.asm.constant(0).slot,
                };
                self.emit(Op::Return, ScalarTy::U64, 0, (slot, 0), span, What::Plain);
                Ok(())
            }
            StmtKind::Emit { descriptor, fields, hints } => self.emit_task(*descriptor, fields, hints, span),
            StmtKind::Fence => self.fence(span),
            StmtKind::ScheduledFor { .. } => {
                Err(Trap::internal("a `PTO_SCHEDULED_FOR` that is not lowered", span))
            }
            // Schedule lowering has read it.
            StmtKind::ApplySchedule(_) => Ok(()),
            StmtKind::SetTile { axis, size } => self.set_tile(*axis, size, span),
            StmtKind::SetExtent { axis, extent, .. } => self.set_extent(*axis, extent, span),
            StmtKind::Tile(op) => self.tile_op(op, span),
            StmtKind::StoreScalar { tensor, index, value } => self.store_scalar(*tensor, index, value, span),
        }
    }

    fn declare(&mut self, local: LocalId, init: Option<&'a Expr>, span: Span) -> Result<(), Trap> {
        match (self.home(local, span)?, init) {
            (Home::Scalar(..), Some(init)) => self.assign(local, init, span),
            (Home::Scalar(slot, _), None) => {
                let zero = self.asm.constant(0);
                self.asm.mov(slot, zero.slot, span);
                Ok(())
            }
            (Home::Tile(tile), None) => self.tile_stmt(TileInst::Clear(tile), span),
            _ => Err(Trap::internal("a variable that cannot have a first value", span)),
        }
    }

    fn assign(&mut self, local: LocalId, value: &'a Expr, span: Span) -> Result<(), Trap> {
        match self.home(local, span)? {
            Home::Scalar(slot, ty) if ty == value.ty => self.expr_into(value, slot),
            _ => Err(Trap::internal("a value of another type than its variable", span)),
        }
    }

    fn if_else(
        &mut self,
        cond: &'a Expr,
        then: &'a Block,
        otherwise: &'a Block,
        span: Span,
    ) -> Result<(), Trap> {
        let mut skip = Label::default();
        self.branch(cond, false, &mut skip)?;
        self.block(then)?;
        if otherwise.is_empty() {
            self.asm.place(skip);
            return Ok(());
        }
        let mut end = Label::default();
        self.asm.jump(Op::Jump, 0, &mut end, span);
        self.asm.place(skip);
        self.block(otherwise)?;
        self.asm.place(end);
        Ok(())
    }

    /// `[start, end, step]`: the end and the step are kept in two slots side by side, where [`Op::NextU`] finds them.
    fn counted(
        &mut self,
        var: LocalId,
        [start, end, step]: [&'a Expr; 3],
        body: &'a Block,
        span: Span,
    ) -> Result<(), Trap> {
        let Home::Scalar(slot, ty) = self.home(var, span)? else {
            return Err(Trap::internal("a loop variable that is no scalar", span));
        };
        if !ty.is_int() || [start, end, step].iter().any(|e| e.ty != ty) {
            return Err(Trap::internal("a counted loop over other types than its variable's", span));
        }
        let (bound, stride) = (self.asm.slot(), self.asm.slot());
        let first = self.expr(start, None)?;
        self.expr_into(end, bound)?;
        self.expr_into(step, stride)?;
        self.asm.mov(slot, first.slot, span);
        self.asm.release(first);
        if step.as_const_int().is_none_or(|v| v < 1) {
            self.emit(Op::CheckStep, ty, 0, (stride, 0), step.span, What::Plain);
        }
        let signed = matches!(ty, ScalarTy::I32 | ScalarTy::I64);
        let test = self.asm.temp();
        let (less, next) = if signed { (Op::LtI, Op::NextI) } else { (Op::LtU, Op::NextU) };
        self.emit(less, ty, test.slot, (slot, bound), span, What::Plain);
        let mut exit = Label::default();
        self.asm.jump(Op::JumpIfNot, test.slot, &mut exit, span);
        self.asm.release(test);

        let top = self.asm.here();
        let inner = self.loop_body(body)?;
        self.asm.place(inner.continues);
        self.asm.emit(next, ty, slot, (bound, top), crate::exec::code::Origin { span, what: What::Plain });
        self.asm.place(exit);
        self.asm.place(inner.breaks);
        Ok(())
    }

    fn while_loop(
        &mut self,
        cond: &'a Expr,
        step: &'a Block,
        body: &'a Block,
        span: Span,
    ) -> Result<(), Trap> {
        let top = self.asm.here();
        let mut exit = Label::default();
        self.branch(cond, false, &mut exit)?;
        let inner = self.loop_body(body)?;
        self.asm.place(inner.continues);
        self.block(step)?;
        self.emit(Op::Back, ScalarTy::Bool, 0, (0, top), span, What::Plain);
        self.asm.place(exit);
        self.asm.place(inner.breaks);
        Ok(())
    }

    fn loop_body(&mut self, body: &'a Block) -> Result<Loop, Trap> {
        self.loops.push(Loop::default());
        self.block(body)?;
        Ok(self.loops.pop().expect("the loop pushed above should be there"))
    }

    fn leave_loop(&mut self, go_on: bool, span: Span) -> Result<(), Trap> {
        let Some(inner) = self.loops.last_mut() else {
            return Err(Trap::internal("`break` or `continue` outside of a loop", span));
        };
        let label = if go_on { &mut inner.continues } else { &mut inner.breaks };
        self.asm.jump(Op::Jump, 0, label, span);
        Ok(())
    }
}
