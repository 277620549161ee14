//! Tier selection.

use super::{Compiler, FnCompiler, Role};
use crate::exec::asm::{Label, Operand};
use crate::exec::code::{Op, Thresholds, What};
use crate::exec::trap::TIER_INDEX;
use crate::{Trap, Value};
use wsp_core::TierSetId;
use wsp_diag::Span;
use wsp_ir::{BinOp, Expr, ExprKind, ScalarTy, TierSet};

impl<'a> FnCompiler<'_, 'a> {
    /// The index of the first tier whose condition holds for a value.
    pub(super) fn select_tier(
        &mut self,
        set: TierSetId,
        value: &'a Expr,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let selector = self.expr(value, None)?;
        self.tier_of(set, selector, value.ty, want, span)
    }

    /// The index of the first tier whose condition holds for an operand: by bisection where the conditions are rising
    /// thresholds, else one condition after the other.
    pub(crate) fn tier_of(
        &mut self,
        id: TierSetId,
        selector: Operand,
        ty: ScalarTy,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let module = self.cx.module;
        let set = module
            .tier_sets
            .get(id.index())
            .ok_or_else(|| Trap::internal(format!("tier set {} does not exist", id.0), span))?;
        if let Some(thresholds) = self.cx.thresholds(set, ty) {
            if let Some(bits) = selector.constant()
                && let Some(tier) = Value::from_bits(ty, bits).as_int().and_then(|v| thresholds.find(v))
            {
                return Ok(self.asm.constant(u64::from(tier)));
            }
            self.asm.code.tiers.push((thresholds, set.name.clone()));
            let table = self.asm.code.tiers.len() as u32 - 1;
            let selector = self.asm.release(selector);
            let dst = self.asm.target(want);
            self.emit(Op::Tier, ty, dst.slot, (selector, table), span, What::Plain);
            return Ok(dst);
        }
        let outer = self.selector.replace((selector.lent(), ty));
        let tier = self.first_match(set, want, span);
        self.selector = outer;
        self.asm.release(selector);
        tier
    }

    fn first_match(&mut self, set: &'a TierSet, want: Option<u32>, span: Span) -> Result<Operand, Trap> {
        // Conditions are evaluated after the first store to the result, so it is no variable they might read.
        let result = self.asm.temp();
        let mut end = Label::default();
        let mut open = true;
        for (index, tier) in set.tiers.iter().enumerate() {
            let mut next = Label::default();
            if let Some(cond) = &tier.cond {
                self.branch(cond, false, &mut next)?;
            }
            let number = self.asm.constant(index as u64);
            self.asm.mov(result.slot, number.slot, span);
            self.asm.jump(Op::Jump, 0, &mut end, span);
            self.asm.place(next);
            open = tier.cond.is_some();
            if !open {
                break;
            }
        }
        if open {
            let trap = Trap::new(TIER_INDEX, format!("no tier of `{}` takes the value", set.name), span);
            self.stop(trap);
        }
        self.asm.place(end);
        match want {
            Some(slot) => {
                self.asm.mov(slot, result.slot, span);
                self.asm.release(result);
                Ok(Operand::variable(slot))
            }
            None => Ok(result),
        }
    }

    /// Bytes per slot of every tier.
    pub(super) fn tier_bytes(&self, set: &'a TierSet) -> Result<Vec<u64>, Trap> {
        set.tiers
            .iter()
            .map(|tier| match &tier.workspace {
                None => Ok(0),
                Some(bytes) => {
                    let value = self.cx.launch_value(bytes)?;
                    value.as_u64().ok_or_else(|| {
                        Trap::new(
                            crate::exec::trap::LOSSY_CONVERSION,
                            format!("workspace of {value} bytes in tiers `{}`", set.name),
                            bytes.span,
                        )
                    })
                }
            })
            .collect()
    }

    pub(super) fn tier_set(&self, id: TierSetId, span: Span) -> Result<&'a TierSet, Trap> {
        let module = self.cx.module;
        module
            .tier_sets
            .get(id.index())
            .ok_or_else(|| Trap::internal(format!("tier set {} does not exist", id.0), span))
    }

    /// Whether generators and hosts may be asked here.
    pub(super) fn is_generator(&self) -> bool {
        self.cx.role == Role::Generator
    }
}

impl<'a> Compiler<'a> {
    /// The conditions as rising upper bounds, when that is what they are.
    pub(crate) fn thresholds(&self, set: &'a TierSet, ty: ScalarTy) -> Option<Thresholds> {
        if !ty.is_int() {
            return None;
        }
        let mut bounds: Vec<i128> = Vec::with_capacity(set.tiers.len());
        for tier in &set.tiers {
            let Some(cond) = &tier.cond else {
                return Some(Thresholds { bounds, default: true });
            };
            let bound = self.upper_bound(cond, ty)?;
            if bounds.last().is_some_and(|last| *last >= bound) {
                return None;
            }
            bounds.push(bound);
        }
        Some(Thresholds { bounds, default: false })
    }

    /// `c` when the condition is `selector <= c` in one of its spellings.
    fn upper_bound(&self, cond: &'a Expr, ty: ScalarTy) -> Option<i128> {
        let ExprKind::Binary(op, a, b) = &cond.kind else { return None };
        let (bound, strict) = match op {
            BinOp::Le if is_selector(a, ty) => (b, false),
            BinOp::Lt if is_selector(a, ty) => (b, true),
            BinOp::Ge if is_selector(b, ty) => (a, false),
            BinOp::Gt if is_selector(b, ty) => (a, true),
            _ => return None,
        };
        if bound.any(&mut |e| matches!(e.kind, ExprKind::Selector)) {
            return None;
        }
        let value = self.launch_value(bound).ok()?.as_int()?;
        Some(value - i128::from(strict))
    }
}

/// Whether an expression is the selector, perhaps widened.
fn is_selector(e: &Expr, ty: ScalarTy) -> bool {
    use ScalarTy::{I32, I64, U32, U64};
    match &e.kind {
        ExprKind::Selector => e.ty == ty,
        ExprKind::Cast(inner) => {
            matches!((inner.ty, e.ty), (U32, I64 | U64) | (I32, I64)) && is_selector(inner, ty)
        }
        _ => false,
    }
}
