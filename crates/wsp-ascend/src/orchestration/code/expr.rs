//! Expressions of generators as code: operands, then what is done with them.

use super::super::order::can_fail;
use super::ops::{Op, bits_of, code_of, number_of, op_of};
use super::{Coder, NONE};
use crate::kernels::codes;
use wsp_core::{CacheId, FuncId, TierSetId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Arg, ArrayRef, BinOp, Expr, ExprKind, LaunchArray, MetaKind, ScalarTy, UnOp, WsSlot};

impl Coder<'_> {
    pub(super) fn cast(&mut self, e: &Expr, to: ScalarTy) {
        self.expr(e);
        self.convert(e.ty, to, e.span);
    }

    fn convert(&mut self, from: ScalarTy, to: ScalarTy, span: Span) {
        self.at(span);
        self.words([Op::Cast as u32 | code_of(to) << 8 | code_of(from) << 16]);
    }

    pub(super) fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Const(value) => self.bits(bits_of(*value, e.ty)),
            ExprKind::Param(id) => self.local(Op::Parameter, id.0),
            ExprKind::Local(local) => self.local(Op::Local, local.0),
            ExprKind::Selector => {
                let Some((at, ty)) = self.selector else { return self.lacks(e) };
                self.local(Op::Local, at);
                self.convert(ty, e.ty, e.span);
            }
            ExprKind::Unary(op, a) => {
                self.expr(a);
                self.at(e.span);
                self.typed(if *op == UnOp::Not { Op::Not } else { Op::Neg }, e.ty);
            }
            ExprKind::Binary(op, a, b) => {
                self.expr(a);
                self.joined(*op, a.ty, b, e.span);
            }
            ExprKind::Chain(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(op, b)| self.joined(*op, e.ty, b, first.span.to(b.span)));
            }
            ExprKind::Cast(a) => {
                self.expr(a);
                self.convert(a.ty, e.ty, e.span);
            }
            ExprKind::Select(cond, a, b) => self.choose(cond, |own| own.expr(a), |own| own.expr(b)),
            ExprKind::Math(f, a) => {
                self.expr(a);
                self.typed(Op::Math, e.ty);
                self.words([number_of(*f)]);
            }
            ExprKind::Load(array, at) => self.elements(Op::Load, *array, at, e),
            ExprKind::ArrayMax(array, n) => self.elements(Op::ArrayMax, *array, n, e),
            ExprKind::ArraySum(array, n) => self.elements(Op::ArraySum, *array, n, e),
            ExprKind::ArrayLen(array) => {
                self.array(*array);
                self.at(e.span);
                self.typed(Op::ArrayLen, e.ty);
            }
            ExprKind::Call(function, args) => self.call(*function, args, e.span),
            ExprKind::SelectTier(set, value) => self.tier(*set, value, e.span),
            ExprKind::AllocWs(slot) => self.alloc(slot, e.span),
            ExprKind::MaxBlocks => self.op(Op::MaxBlocks),
            ExprKind::AxisExtent(axis) => {
                self.at(e.span);
                self.local(Op::AxisExtent, axis.0);
            }
            ExprKind::AxisTile(axis) => {
                let lengths = LaunchArray::Meta(CacheId(0), MetaKind::Lengths);
                let lengths = match self.source.plan.module.caches.as_slice() {
                    [_] => self.array_number(lengths.into()),
                    _ => NONE,
                };
                self.at(e.span);
                self.op(Op::AxisTile);
                self.words([axis.0, lengths]);
            }
            ExprKind::Field(..)
            | ExprKind::ItemBegin(_)
            | ExprKind::ItemEnd(_)
            | ExprKind::ItemCount(_)
            | ExprKind::TileMax(_)
            | ExprKind::TileSum(_)
            | ExprKind::TileRows(_)
            | ExprKind::TileCols(_)
            | ExprKind::LoadScalar(..) => self.lacks(e),
        }
    }

    /// The left side of an operator is on the stack.
    fn joined(&mut self, op: BinOp, ty: ScalarTy, b: &Expr, span: Span) {
        if op.is_logic() {
            let decides = u64::from(op == BinOp::Or);
            if op == BinOp::Or {
                self.op(Op::Not);
            }
            let short = self.jump(Op::JumpZero);
            self.expr(b);
            let end = self.jump(Op::Jump);
            self.land([short]);
            self.bits(decides);
            return self.land([end]);
        }
        self.expr(b);
        if can_fail(op, ty) {
            self.at(span);
        }
        self.typed(op_of(op), ty);
    }

    fn choose(&mut self, cond: &Expr, a: impl FnOnce(&mut Self), b: impl FnOnce(&mut Self)) {
        self.expr(cond);
        let no = self.jump(Op::JumpZero);
        a(self);
        let end = self.jump(Op::Jump);
        self.land([no]);
        b(self);
        self.land([end]);
    }

    fn elements(&mut self, op: Op, array: ArrayRef, at: &Expr, whole: &Expr) {
        self.array(array);
        self.expr(at);
        self.at(whole.span);
        self.typed(op, whole.ty);
    }

    fn array_number(&mut self, array: ArrayRef) -> u32 {
        let at = self.code.arrays.iter().position(|known| *known == array);
        at.unwrap_or_else(|| {
            self.code.arrays.push(array);
            self.code.arrays.len() - 1
        }) as u32
    }

    /// An array is its number.
    pub(super) fn array(&mut self, array: ArrayRef) {
        match array {
            ArrayRef::Local(local) => self.local(Op::Local, local.0),
            array => {
                let at = self.array_number(array);
                self.bits(at.into());
            }
        }
    }

    fn call(&mut self, function: FuncId, args: &[Arg], span: Span) {
        for arg in args {
            match arg {
                Arg::Scalar(e) => self.expr(e),
                Arg::Array(array) => self.array(*array),
            }
        }
        let at = self.called.iter().position(|known| *known == function).unwrap_or_else(|| {
            self.called.push(function);
            self.called.len() - 1
        });
        self.at(span);
        self.local(Op::Call, at as u32);
    }

    /// The first tier whose condition holds.
    fn tier(&mut self, set: TierSetId, value: &Expr, span: Span) {
        let tiers = &self.source.plan.module.tier_sets[set.index()].tiers;
        let at = self.variable();
        self.expr(value);
        self.local(Op::Set, at);
        let outer = self.selector.replace((at, value.ty));
        let mut ends = Vec::new();
        let mut is_open = true;
        for (number, tier) in (0u64..).zip(tiers) {
            let Some(cond) = &tier.cond else {
                self.bits(number);
                is_open = false;
                break;
            };
            self.expr(cond);
            let next = self.jump(Op::JumpZero);
            self.bits(number);
            ends.push(self.jump(Op::Jump));
            self.land([next]);
        }
        if is_open {
            self.at(span);
            self.op(Op::NoTier);
        }
        self.land(ends);
        self.selector = outer;
    }

    fn alloc(&mut self, slot: &WsSlot, span: Span) {
        let tier = self.variable();
        self.expr(&slot.tier);
        self.local(Op::Set, tier);
        [&slot.count, &slot.index].into_iter().chain(&slot.key).for_each(|e| self.expr(e));
        self.bytes(slot.tiers, tier, span);
        self.at(span);
        self.op(Op::Alloc);
        self.words([slot.tiers.0, slot.key.len() as u32]);
    }

    /// How many bytes of workspace the tier of a variable has.
    fn bytes(&mut self, set: TierSetId, at: u32, span: Span) {
        let tiers = &self.source.plan.module.tier_sets[set.index()].tiers;
        let mut ends = Vec::new();
        for (number, tier) in (0u64..).zip(tiers) {
            self.local(Op::Local, at);
            self.bits(number);
            self.typed(Op::Eq, ScalarTy::U32);
            let next = self.jump(Op::JumpZero);
            match &tier.workspace {
                Some(bytes) => self.cast(bytes, ScalarTy::U32),
                None => self.bits(0),
            }
            ends.push(self.jump(Op::Jump));
            self.land([next]);
        }
        self.at(span);
        self.op(Op::NoTier);
        self.land(ends);
    }

    fn lacks(&mut self, e: &Expr) {
        let message = "an expression over tiles in a generator has no code";
        self.found.push(Diagnostic::error(codes::NOT_EMITTED, message).at(e.span, "here"));
    }
}
