//! Axes: rows of their table, made when the first loop over them is written.

use super::scope::{Binding, InlinedWorkload};
use super::{AxisRow, Lowering, VarKind};
use wsp_core::AxisId;
use wsp_core::ptow::{AxisDescriptor, AxisForm, Op};
use wsp_ir::workload::{AxisKind, IntExpr, IntExprKind, Iteration};

/// A loop: its instruction, its axis, and an expression for its row.
pub(super) struct Over {
    pub(super) op: Op,
    pub(super) row: u32,
    pub(super) kind: VarKind,
    pub(super) outer: Option<u32>,
}

impl<'m> Lowering<'m> {
    /// A loop over an iteration.
    pub(super) fn over(&mut self, op: Op, iteration: &'m Iteration, scope: &InlinedWorkload<'m>) -> Over {
        match iteration {
            Iteration::Axis(axis) => {
                Over { op, row: self.axis(*axis), kind: VarKind::Axis(*axis), outer: None }
            }
            Iteration::Ragged { axis, outer } => self.over_row(op, *axis, outer, scope),
            Iteration::Range { lo, hi, step } => {
                let step = step.as_ref().filter(|step| step.as_const() != Some(1));
                let key = [
                    self.expr(lo, scope),
                    self.expr(hi, scope),
                    step.map_or(u32::from(u16::MAX), |step| self.expr(step, scope)),
                ];
                Over { op, row: self.range(key), kind: VarKind::Range, outer: None }
            }
        }
    }

    /// A loop over a row of an axis.
    pub(super) fn over_row(
        &mut self,
        op: Op,
        axis: AxisId,
        row: &IntExpr,
        scope: &InlinedWorkload<'m>,
    ) -> Over {
        let outer = self.outer(row, scope);
        Over { op, row: self.axis(axis), kind: VarKind::Axis(axis), outer }
    }

    /// The expression of a row; none where it is the innermost variable.
    fn outer(&mut self, row: &IntExpr, scope: &InlinedWorkload<'m>) -> Option<u32> {
        if let IntExprKind::Var(var) = &row.kind
            && let Binding::Depth(depth) = scope.binding(*var)
            && depth as usize + 1 == self.vars.len()
        {
            self.exprs_at.unnamed(row.span);
            return None;
        }
        Some(self.expr(row, scope))
    }

    /// The row of `lo..hi step s`, by its expressions.
    fn range(&mut self, key: [u32; 3]) -> u32 {
        if let Some(row) = self.ranges.get(&key) {
            return *row;
        }
        let [lo, hi, step] = key;
        let row = self.push_axis(None, AxisForm::Range, (lo, hi & 0xFFFF | step << 16));
        self.ranges.insert(key, row);
        row
    }

    /// The row of a named axis.
    fn axis(&mut self, axis: AxisId) -> u32 {
        if let Some(row) = self.named_axes.get(&axis) {
            return *row;
        }
        let (form, operands) = match &self.module.axes[axis.index()].kind {
            AxisKind::Dense { start, end } => match (start.as_const(), &end.kind) {
                (Some(0), IntExprKind::Param(param)) => (AxisForm::DenseDyn, (self.value(*param), 0)),
                _ => (AxisForm::Dense, (self.key(start), self.key(end))),
            },
            AxisKind::DenseDyn(param) => (AxisForm::DenseDyn, (self.value(*param), 0)),
            AxisKind::Ragged { outer, lengths } => {
                (AxisForm::Ragged, (self.outer_row(*outer), self.table(*lengths)))
            }
            AxisKind::Sparse { outer, indptr, indices } => {
                let (indptr, indices) = (self.table(*indptr), self.table(*indices));
                (AxisForm::Sparse, (self.outer_row(*outer), indptr & 0xFFFF | indices << 16))
            }
        };
        let row = self.push_axis(Some(axis), form, operands);
        self.named_axes.insert(axis, row);
        row
    }

    /// The row of an outer axis, if a loop around has given it one; else all ones.
    fn outer_row(&self, outer: AxisId) -> u32 {
        self.named_axes.get(&outer).copied().unwrap_or(u32::from(u16::MAX))
    }

    fn push_axis(&mut self, axis: Option<AxisId>, form: AxisForm, (a, b): (u32, u32)) -> u32 {
        let row = AxisDescriptor { form: form as u8, reserved: 0, a: a as u16, b };
        self.axes.push(AxisRow { axis, row });
        self.axes.len() as u32 - 1
    }
}
