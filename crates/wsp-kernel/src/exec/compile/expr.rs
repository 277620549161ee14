//! Scalar expressions.

use super::{FnCompiler, Home, Role, unbound};
use crate::exec::asm::{Label, Operand};
use crate::exec::code::{CallSite, Op, What};
use crate::exec::ops;
use crate::exec::tile_code::TileInst;
use crate::{Trap, Value};
use wsp_core::{FuncId, LocalId, ParamId};
use wsp_diag::Span;
use wsp_ir::{Arg, ArrayRef, BinOp, Const, Expr, ExprKind, LocalTy, MathFn, ReduceOp, ScalarTy, UnOp};

impl<'a> FnCompiler<'_, 'a> {
    /// Compiles an expression. The result is in `want` or wherever it already lies; see [`FnCompiler::expr_into`].
    ///
    /// `want` is written last, after all operands are read, so that it may be a variable of the expression.
    pub(crate) fn expr(&mut self, e: &'a Expr, want: Option<u32>) -> Result<Operand, Trap> {
        self.nested(e.span, |f| f.expr_kind(e, want))
    }

    /// Compiles an expression whose value goes to `dst`.
    pub(crate) fn expr_into(&mut self, e: &'a Expr, dst: u32) -> Result<(), Trap> {
        let value = self.expr(e, Some(dst))?;
        self.asm.mov(dst, value.slot, e.span);
        self.asm.release(value);
        Ok(())
    }

    /// Compiles an expression that must have this type; integers are converted, checked.
    pub(crate) fn expr_as(&mut self, e: &'a Expr, ty: ScalarTy) -> Result<Operand, Trap> {
        let value = self.expr(e, None)?;
        self.convert(value, e.ty, ty, None, e.span)
    }

    fn expr_kind(&mut self, e: &'a Expr, want: Option<u32>) -> Result<Operand, Trap> {
        let (ty, span) = (e.ty, e.span);
        match &e.kind {
            ExprKind::Const(c) => {
                let bits =
                    const_bits(*c, ty).ok_or_else(|| Trap::internal("a literal outside its type", span))?;
                Ok(self.asm.constant(bits))
            }
            ExprKind::Param(id) => self.param(*id, ty, span),
            ExprKind::Local(local) => match self.home(*local, span)? {
                Home::Scalar(slot, own) if own == ty => Ok(Operand::variable(slot)),
                _ => Err(Trap::internal("a variable used as another type", span)),
            },
            ExprKind::Field(_, field) => Ok(self.field(*field)),
            // Every condition reads the selector, whose owner gives it back after the last.
            ExprKind::Selector => match self.selector.as_ref().map(|(value, own)| (value.lent(), *own)) {
                Some((value, own)) => self.convert(value, own, ty, want, span),
                None => Err(Trap::internal("a selector outside of tier conditions", span)),
            },
            ExprKind::Unary(op, a) => self.unary(*op, a, want, span),
            ExprKind::Binary(op, a, b) if op.is_logic() => self.logic(*op, a, b, want, span),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, want, span),
            ExprKind::Chain(first, rest) => self.chain(first, rest, want),
            ExprKind::Cast(a) => {
                let value = self.expr(a, None)?;
                self.convert(value, a.ty, ty, want, span)
            }
            ExprKind::Select(c, a, b) => self.select(c, (a, b), want, span),
            ExprKind::Math(f, a) => self.math(*f, a, want, span),
            ExprKind::Load(array, index) => self.load(*array, index, ty, want, span),
            ExprKind::ArrayMax(array, n) => self.reduce(Op::ArrayMax, *array, n, (ty, want), span),
            ExprKind::ArraySum(array, n) => self.reduce(Op::ArraySum, *array, n, (ty, want), span),
            ExprKind::ArrayLen(array) => {
                let array = self.array(*array, span)?;
                let dst = self.asm.target(want);
                self.emit(Op::ArrayLen, ScalarTy::U32, dst.slot, (array.slot, 0), span, What::Plain);
                Ok(dst)
            }
            ExprKind::Call(func, args) => self.call(*func, args, want, span),
            ExprKind::SelectTier(set, value) => self.select_tier(*set, value, want, span),
            ExprKind::AllocWs(slot) => self.alloc_ws(slot, want, span),
            ExprKind::MaxBlocks => Ok(self.asm.constant(u64::from(self.cx.env.max_blocks))),
            ExprKind::AxisExtent(axis) => self.axis_extent(*axis, want, span),
            ExprKind::AxisTile(axis) => self.axis_tile(*axis, want, span),
            ExprKind::ItemBegin(_) | ExprKind::ItemEnd(_) | ExprKind::ItemCount(_) => {
                Err(Trap::internal("a schedule that was not lowered", span))
            }
            ExprKind::TileMax(tile) => self.tile_scalar(ReduceOp::Max, *tile, ty, want, span),
            ExprKind::TileSum(tile) => self.tile_scalar(ReduceOp::Sum, *tile, ty, want, span),
            ExprKind::TileRows(tile) => {
                let tile = self.tile_id(*tile, span)?;
                self.tile_value(TileInst::Rows(tile), want, span)
            }
            ExprKind::TileCols(tile) => {
                let tile = self.tile_id(*tile, span)?;
                self.tile_value(TileInst::Cols(tile), want, span)
            }
            ExprKind::LoadScalar(tensor, index) => self.load_scalar(*tensor, index, want, span),
        }
    }

    fn param(&mut self, id: ParamId, ty: ScalarTy, span: Span) -> Result<Operand, Trap> {
        let name = self.cx.module.params.get(id.index()).map_or("?", |p| &p.name);
        match self.cx.params.get(id.index()) {
            Some(value) if value.ty() == ty => Ok(self.asm.constant(value.to_bits())),
            Some(_) => Err(Trap::internal(format!("parameter `{name}` has a value of another type"), span)),
            None => Err(unbound("parameter", name, span)),
        }
    }

    /// The slot of a descriptor field; the frame is given its value when the run starts.
    fn field(&mut self, field: u32) -> Operand {
        if let Some((_, slot)) = self.asm.code.fields.iter().find(|(f, _)| *f == field) {
            return Operand::variable(*slot);
        }
        let slot = self.asm.slot();
        self.asm.code.fields.push((field, slot));
        Operand::variable(slot)
    }

    fn unary(&mut self, op: UnOp, a: &'a Expr, want: Option<u32>, span: Span) -> Result<Operand, Trap> {
        let value = self.expr(a, None)?;
        if let Some(bits) = value.constant().and_then(|bits| ops::unary(op, a.ty, bits).ok()) {
            return Ok(self.asm.constant(bits));
        }
        let value = self.asm.release(value);
        let dst = self.asm.target(want);
        self.emit(Op::Unary, a.ty, dst.slot, (value, 0), span, What::Unary(op));
        Ok(dst)
    }

    fn math(&mut self, f: MathFn, a: &'a Expr, want: Option<u32>, span: Span) -> Result<Operand, Trap> {
        let value = self.expr(a, None)?;
        if let Some(bits) = value.constant().and_then(|bits| ops::math(f, a.ty, bits).ok()) {
            return Ok(self.asm.constant(bits));
        }
        let value = self.asm.release(value);
        let dst = self.asm.target(want);
        self.emit(Op::Math, a.ty, dst.slot, (value, 0), span, What::Math(f));
        Ok(dst)
    }

    fn binary(
        &mut self,
        op: BinOp,
        a: &'a Expr,
        b: &'a Expr,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        if a.ty != b.ty {
            return Err(Trap::internal(format!("`{}` on two types", ops::symbol(op)), span));
        }
        let (left, right) = (self.expr(a, None)?, self.expr(b, None)?);
        Ok(self.operation(op, a.ty, (left, right), want, span))
    }

    /// Each operand is read before the next is compiled, so that a chain of any length needs one slot beside that of an operand.
    fn chain(
        &mut self,
        first: &'a Expr,
        rest: &'a [(BinOp, Expr)],
        want: Option<u32>,
    ) -> Result<Operand, Trap> {
        let mut left = self.expr(first, None)?;
        for (at, (op, operand)) in rest.iter().enumerate() {
            let span = first.span.to(operand.span);
            if operand.ty != first.ty {
                return Err(Trap::internal(format!("`{}` on two types", ops::symbol(*op)), span));
            }
            let right = self.expr(operand, None)?;
            let want = want.filter(|_| at + 1 == rest.len());
            left = self.operation(*op, first.ty, (left, right), want, span);
        }
        Ok(left)
    }

    /// An operation on two values of a type.
    fn operation(
        &mut self,
        op: BinOp,
        ty: ScalarTy,
        (left, right): (Operand, Operand),
        want: Option<u32>,
        span: Span,
    ) -> Operand {
        if let (Some(x), Some(y)) = (left.constant(), right.constant())
            && let Ok(bits) = ops::binary(op, ty, x, y)
        {
            return self.asm.constant(bits);
        }
        let (left, right) = (self.asm.release(left), self.asm.release(right));
        let dst = self.asm.target(want);
        let (code, swap) = fast_op(op, ty);
        let ab = if swap { (right, left) } else { (left, right) };
        self.emit(code, ty, dst.slot, ab, span, What::Binary(op));
        dst
    }

    /// `&&` and `||` as a value.
    fn logic(
        &mut self,
        op: BinOp,
        a: &'a Expr,
        b: &'a Expr,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let decided = op == BinOp::Or;
        let left = self.expr(a, None)?;
        if let Some(bits) = left.constant() {
            return if (bits != 0) == decided { Ok(left) } else { self.expr(b, want) };
        }
        let (mut short, mut end) = (Label::default(), Label::default());
        let jump = if decided { Op::JumpIf } else { Op::JumpIfNot };
        self.asm.jump(jump, left.slot, &mut short, span);
        self.asm.release(left);
        let dst = self.asm.target(want);
        self.expr_into(b, dst.slot)?;
        self.asm.jump(Op::Jump, 0, &mut end, span);
        self.asm.place(short);
        let known = self.asm.constant(u64::from(decided));
        self.asm.mov(dst.slot, known.slot, span);
        self.asm.place(end);
        Ok(dst)
    }

    fn select(
        &mut self,
        cond: &'a Expr,
        (a, b): (&'a Expr, &'a Expr),
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let test = self.expr(cond, None)?;
        if let Some(bits) = test.constant() {
            return self.expr(if bits != 0 { a } else { b }, want);
        }
        let (mut otherwise, mut end) = (Label::default(), Label::default());
        self.asm.jump(Op::JumpIfNot, test.slot, &mut otherwise, span);
        self.asm.release(test);
        let dst = self.asm.target(want);
        self.expr_into(a, dst.slot)?;
        self.asm.jump(Op::Jump, 0, &mut end, span);
        self.asm.place(otherwise);
        self.expr_into(b, dst.slot)?;
        self.asm.place(end);
        Ok(dst)
    }

    /// Code that goes to `label` when the condition equals `when`, and on otherwise.
    pub(crate) fn branch(&mut self, e: &'a Expr, when: bool, label: &mut Label) -> Result<(), Trap> {
        self.nested(e.span, |f| f.branch_kind(e, when, label))
    }

    fn branch_kind(&mut self, e: &'a Expr, when: bool, label: &mut Label) -> Result<(), Trap> {
        match &e.kind {
            ExprKind::Unary(UnOp::Not, a) => self.branch(a, !when, label),
            ExprKind::Binary(op, a, b) if op.is_logic() => {
                // The value of the left side that decides the result.
                let decided = *op == BinOp::Or;
                if decided == when {
                    self.branch(a, when, label)?;
                    return self.branch(b, when, label);
                }
                let mut skip = Label::default();
                self.branch(a, decided, &mut skip)?;
                self.branch(b, when, label)?;
                self.asm.place(skip);
                Ok(())
            }
            _ => {
                let value = self.expr(e, None)?;
                match value.constant() {
                    Some(bits) if (bits != 0) == when => self.asm.jump(Op::Jump, 0, label, e.span),
                    Some(_) => {}
                    None => {
                        let jump = if when { Op::JumpIf } else { Op::JumpIfNot };
                        self.asm.jump(jump, value.slot, label, e.span);
                    }
                }
                self.asm.release(value);
                Ok(())
            }
        }
    }

    /// A conversion; free where the slot forms agree.
    pub(crate) fn convert(
        &mut self,
        value: Operand,
        from: ScalarTy,
        to: ScalarTy,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        if let Some(bits) = value.constant().and_then(|bits| ops::cast(from, to, bits).ok()) {
            return Ok(self.asm.constant(bits));
        }
        if same_slot_form(from, to) {
            return Ok(value);
        }
        let value = self.asm.release(value);
        let dst = self.asm.target(want);
        self.emit(Op::Cast, to, dst.slot, (value, 0), span, What::From(from));
        Ok(dst)
    }

    /// The slot that holds an array's number.
    pub(crate) fn array(&mut self, array: ArrayRef, span: Span) -> Result<Operand, Trap> {
        if let ArrayRef::Local(local) = array {
            return match self.home(local, span)? {
                Home::Array(slot) => Ok(Operand::variable(slot)),
                _ => Err(Trap::internal("a variable used as an array", span)),
            };
        }
        if self.cx.role == Role::Launch {
            return Err(Trap::internal("an array in an expression over parameters", span));
        }
        let number = self.cx.env.array_number(array).map(u64::from);
        match number.filter(|n| self.cx.env.array(*n).is_some()) {
            Some(number) => Ok(self.asm.constant(number)),
            None => {
                let module = self.cx.module;
                Err(match array {
                    ArrayRef::Tensor(t) => {
                        unbound("integer array", module.tensors.get(t.index()).map_or("?", |t| &t.name), span)
                    }
                    ArrayRef::Meta(c, _) => {
                        unbound("cache", module.caches.get(c.index()).map_or("?", |c| &c.name), span)
                    }
                    ArrayRef::Derived(_) => Trap::internal("an array that the host did not derive", span),
                    ArrayRef::Local(l) => Trap::internal(format!("variable {} is no array", l.0), span),
                })
            }
        }
    }

    fn load(
        &mut self,
        array: ArrayRef,
        index: &'a Expr,
        ty: ScalarTy,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let array = self.array(array, span)?;
        let at = self.expr(index, None)?;
        let at = self.asm.release(at);
        let dst = self.asm.target(want);
        self.emit(Op::Load, ty, dst.slot, (array.slot, at), span, What::From(index.ty));
        Ok(dst)
    }

    fn reduce(
        &mut self,
        op: Op,
        array: ArrayRef,
        count: &'a Expr,
        (ty, want): (ScalarTy, Option<u32>),
        span: Span,
    ) -> Result<Operand, Trap> {
        let array = self.array(array, span)?;
        let n = self.expr(count, None)?;
        let n = self.asm.release(n);
        let dst = self.asm.target(want);
        self.emit(op, ty, dst.slot, (array.slot, n), span, What::From(count.ty));
        Ok(dst)
    }

    fn call(
        &mut self,
        func: FuncId,
        args: &'a [Arg],
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let index = self.nested(span, |f| f.cx.helper(func, span))?;
        let callee = &self.cx.module.functions[func.index()];
        if args.len() != callee.params as usize {
            return Err(Trap::internal(format!("a call of `{}` with other arguments", callee.name), span));
        }
        let mut operands = Vec::with_capacity(args.len());
        for (arg, local) in args.iter().zip(&callee.locals) {
            operands.push(match (arg, &local.ty) {
                (Arg::Scalar(e), LocalTy::Scalar(ty)) if *ty == e.ty => self.expr(e, None)?,
                (Arg::Array(array), LocalTy::Array(_)) => self.array(*array, span)?,
                _ => return Err(Trap::internal("an argument of another type than its parameter", span)),
            });
        }
        let slots = self.release_all(operands);
        self.callee_slots = self.callee_slots.max(self.cx.program.funcs[index].depth_slots);
        self.asm.code.calls.push(CallSite { func: index, args: slots });
        let site = self.asm.code.calls.len() as u32 - 1;
        let dst = self.asm.target(want);
        self.emit(Op::Call, ScalarTy::U64, dst.slot, (site, 0), span, What::Plain);
        Ok(dst)
    }

    fn tile_scalar(
        &mut self,
        op: ReduceOp,
        tile: LocalId,
        ty: ScalarTy,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let tile = self.tile_id(tile, span)?;
        self.tile_value(TileInst::RowScalar { op, tile, ty }, want, span)
    }
}

/// The slot form of a literal.
fn const_bits(c: Const, ty: ScalarTy) -> Option<u64> {
    match (c, ty) {
        (Const::Bool(v), ScalarTy::Bool) => Some(u64::from(v)),
        (Const::Int(v), ScalarTy::F32) => Some(Value::F32(v as f32).to_bits()),
        (Const::Int(v), ScalarTy::F64) => Some(Value::F64(v as f64).to_bits()),
        (Const::Int(v), _) => Value::from_int(ty, v).map(Value::to_bits),
        (Const::Float(v), ScalarTy::F32) => Some(Value::F32(v as f32).to_bits()),
        (Const::Float(v), ScalarTy::F64) => Some(Value::F64(v).to_bits()),
        (Const::Bool(_) | Const::Float(_), _) => None,
    }
}

/// Whether every value of one type has the same slot form in the other, so that converting costs nothing.
fn same_slot_form(from: ScalarTy, to: ScalarTy) -> bool {
    use ScalarTy::{Bool, I32, I64, U32, U64};
    from == to || matches!((from, to), (Bool, I32 | U32 | I64 | U64) | (U32, I64 | U64) | (I32, I64))
}

/// The instruction for an operator and whether its operands change places.
fn fast_op(op: BinOp, ty: ScalarTy) -> (Op, bool) {
    let (ordered, swap) = match op {
        BinOp::Gt if ty.is_int() => (BinOp::Lt, true),
        BinOp::Ge if ty.is_int() => (BinOp::Le, true),
        op => (op, false),
    };
    match Op::of_operator(ordered, ty) {
        Some(special) => (special, swap),
        None => (Op::Binary, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_and_sums_of_integers_have_instructions_of_their_own() {
        use BinOp::{Add, Eq, Ge, Gt, Le, Lt, Mul, Ne, Sub};
        for ty in [ScalarTy::I32, ScalarTy::U32, ScalarTy::I64, ScalarTy::U64] {
            for op in [Add, Sub, Mul, Lt, Le, Gt, Ge, Eq, Ne] {
                assert_ne!(fast_op(op, ty).0, Op::Binary, "{op:?} of {ty:?}");
            }
            assert_eq!((fast_op(Gt, ty).0, fast_op(Ge, ty).0), (fast_op(Lt, ty).0, fast_op(Le, ty).0));
            assert_eq!([Lt, Le, Gt, Ge].map(|op| fast_op(op, ty).1), [false, false, true, true]);
        }
        for ty in [ScalarTy::U32, ScalarTy::U64] {
            assert_eq!(
                [BinOp::Min, BinOp::Max].map(|op| fast_op(op, ty)),
                [(Op::MinU, false), (Op::MaxU, false)]
            );
        }
    }
}
