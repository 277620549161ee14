//! What a generator asks of its host: tasks, workspace, axes.

use super::{FnCompiler, Role};
use crate::Trap;
use crate::exec::asm::Operand;
use crate::exec::code::{AxisSite, EmitSite, Op, What, WsSite};
use crate::exec::host::HintShape;
use wsp_core::{AxisId, StructId};
use wsp_diag::Span;
use wsp_ir::{EmitHints, Expr, ExtentSource, ScalarTy, WsSlot};

impl<'a> FnCompiler<'_, 'a> {
    /// Compiles `u32` operands that are needed at the same time.
    fn words(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) -> Result<Vec<Operand>, Trap> {
        exprs.into_iter().map(|e| self.expr_as(e, ScalarTy::U32)).collect()
    }

    /// Gives operands back; the next instruction may still read their slots, which are the result.
    pub(super) fn release_all(&mut self, operands: Vec<Operand>) -> Vec<u32> {
        operands.into_iter().map(|operand| self.asm.release(operand)).collect()
    }

    pub(super) fn emit_task(
        &mut self,
        descriptor: StructId,
        fields: &'a [Expr],
        hints: &'a EmitHints,
        span: Span,
    ) -> Result<(), Trap> {
        self.require(Role::Generator, "an emission", span)?;
        let declared = self.cx.module.structs.get(descriptor.index()).map_or(0, |s| s.fields.len());
        if declared != fields.len() {
            return Err(Trap::internal("an emission with other fields than its descriptor", span));
        }
        let mut operands = self.words(fields)?;
        operands.extend(self.words(hints.affinity.iter().map(|(_, value)| value))?);
        for prefetch in &hints.prefetch {
            operands.extend(self.words(std::iter::once(&prefetch.value).chain(&prefetch.rest))?);
        }
        operands.extend(self.words(&hints.priority)?);
        let shape = HintShape {
            affinity: hints.affinity.iter().map(|(policy, _)| *policy).collect(),
            prefetch: hints.prefetch.iter().map(|p| (p.depth, p.rest.len() as u32)).collect(),
            priority: hints.priority.is_some(),
        };
        let words = self.release_all(operands);
        self.asm.code.emits.push(EmitSite { descriptor, words, fields: fields.len(), hints: shape });
        let site = self.asm.code.emits.len() as u32 - 1;
        self.emit(Op::Emit, ScalarTy::U32, 0, (site, 0), span, What::Plain);
        Ok(())
    }

    pub(super) fn fence(&mut self, span: Span) -> Result<(), Trap> {
        self.require(Role::Generator, "a fence", span)?;
        self.emit(Op::Fence, ScalarTy::U32, 0, (0, 0), span, What::Plain);
        Ok(())
    }

    pub(super) fn alloc_ws(
        &mut self,
        slot: &'a WsSlot,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        self.require(Role::Generator, "a workspace allocation", span)?;
        let set = self.tier_set(slot.tiers, span)?;
        let tier_bytes = self.tier_bytes(set)?;
        let mut operands = self.words([&slot.tier, &slot.count, &slot.index])?;
        operands.extend(self.words(&slot.key)?);
        let slots = self.release_all(operands);
        self.asm.code.allocs.push(WsSite {
            set: slot.tiers,
            set_name: set.name.clone(),
            tier_bytes,
            tier: slots[0],
            count: slots[1],
            index: slots[2],
            key: slots[3..].to_vec(),
        });
        let site = self.asm.code.allocs.len() as u32 - 1;
        let dst = self.asm.target(want);
        self.emit(Op::AllocWs, ScalarTy::U32, dst.slot, (site, 0), span, What::Plain);
        Ok(dst)
    }

    fn axis_site(&mut self, axis: AxisId, span: Span) -> Result<u32, Trap> {
        let Some(declared) = self.cx.module.axes.get(axis.index()) else {
            return Err(Trap::internal(format!("axis {} does not exist", axis.0), span));
        };
        self.asm.code.axes.push(AxisSite { axis, name: declared.name.clone() });
        Ok(self.asm.code.axes.len() as u32 - 1)
    }

    pub(super) fn set_tile(&mut self, axis: AxisId, size: &'a Expr, span: Span) -> Result<(), Trap> {
        self.require(Role::Generator, "`PTO_SET_TILE`", span)?;
        let size = self.expr_as(size, ScalarTy::U32)?;
        let site = self.axis_site(axis, span)?;
        self.emit(Op::SetTile, ScalarTy::U32, 0, (site, size.slot), span, What::Plain);
        self.asm.release(size);
        Ok(())
    }

    pub(super) fn set_extent(
        &mut self,
        axis: AxisId,
        extent: &'a ExtentSource,
        span: Span,
    ) -> Result<(), Trap> {
        self.require(Role::Generator, "`PTO_SET_EXTENT`", span)?;
        let site = self.axis_site(axis, span)?;
        let (op, value) = match extent {
            ExtentSource::Scalar(e) => (Op::SetExtentScalar, self.expr_as(e, ScalarTy::U32)?),
            ExtentSource::PerOuter(array) => (Op::SetExtentArray, self.array(*array, span)?),
        };
        self.emit(op, ScalarTy::U32, 0, (site, value.slot), span, What::Plain);
        self.asm.release(value);
        Ok(())
    }

    pub(super) fn axis_extent(
        &mut self,
        axis: AxisId,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        if let Some(Some(extent)) = self.cx.env.axis_extents.get(axis.index()) {
            return Ok(self.asm.constant(u64::from(*extent)));
        }
        if !self.is_generator() {
            let name = self.cx.module.axes.get(axis.index()).map_or("?", |a| &a.name);
            return Err(super::unbound("the extent of axis", name, span));
        }
        let site = self.axis_site(axis, span)?;
        let dst = self.asm.target(want);
        self.emit(Op::HostAxisExtent, ScalarTy::U32, dst.slot, (site, 0), span, What::Plain);
        Ok(dst)
    }

    pub(super) fn axis_tile(&mut self, axis: AxisId, want: Option<u32>, span: Span) -> Result<Operand, Trap> {
        let site = self.axis_site(axis, span)?;
        let op = if self.is_generator() { Op::HostAxisTile } else { Op::AxisTile };
        let dst = self.asm.target(want);
        self.emit(op, ScalarTy::U32, dst.slot, (site, 0), span, What::Plain);
        Ok(dst)
    }
}
