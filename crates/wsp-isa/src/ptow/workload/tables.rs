//! What a program declares: values, tables, axes, kernels, tensors, slots.

use super::body::Found;
use super::{Lifted, Lifting, refused};
use wsp_core::int::BinOp;
use wsp_core::ptow::{AxisForm, Op};
use wsp_core::{AxisId, DType, ExecPool, KernelId, ParamId, TableId, TensorId};
use wsp_diag::Span;
use wsp_ir::workload::{
    Axis, AxisKind, IntExpr, IntExprKind, Kernel, Param, ParamSource, Signature, Slot, Table, Tensor,
};

impl<'p> Lifting<'p> {
    /// Declares everything; `outermost` has the instructions that set axes.
    pub(super) fn tables(&mut self, outermost: &[Found<'p>]) -> Lifted<()> {
        let program = self.program;
        for at in 0..program.counts.values {
            let name = self.name(program.value_name(at), &format!("v{at}"));
            self.param(name);
        }
        for at in 0..program.counts.tables {
            let name = self.name(program.table_name(at), &format!("t{at}"));
            self.module.tables.push(Table { name, len: None, values: None, span: Span::default() });
        }
        let named = |at: usize| program.axis_name(at as u16).filter(|name| !name.is_empty());
        // Loops over a range have its bounds.
        let is_range = |at: usize| program.axes[at].form == AxisForm::Range as u8;
        let rows = (0..program.axes.len())
            .map(|at| (!is_range(at)).then(|| self.name(named(at), &format!("a{at}"))));
        let names: Vec<Option<String>> = rows.collect();
        self.kernels()?;
        self.tensors()?;
        for (at, name) in names.into_iter().enumerate() {
            let Some(name) = name else {
                self.axes.push(None);
                continue;
            };
            let kind = self.axis_kind(at, &name, outermost)?;
            let axis = self.push_axis(name, kind);
            self.axes.push(Some(axis));
        }
        Ok(())
    }

    fn param(&mut self, name: String) -> IntExpr {
        self.module.params.push(Param { name, source: ParamSource::Set(None), span: Span::default() });
        IntExpr::new(IntExprKind::Param(ParamId(self.module.params.len() as u32 - 1)))
    }

    fn push_axis(&mut self, name: String, kind: AxisKind) -> AxisId {
        self.module.axes.push(Axis { name, kind, span: Span::default() });
        AxisId(self.module.axes.len() as u32 - 1)
    }

    fn kernels(&mut self) -> Lifted<()> {
        let program = self.program;
        for (row, at) in program.kernels.iter().zip(0u16..) {
            let name = self.name(program.kernel_name(KernelId(at)), &format!("k{at}"));
            let Some(unit) = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any]
                .into_iter()
                .find(|unit| *unit as u8 == row.pool)
            else {
                return refused(0, format!("kernel `{name}` runs on a unit without a name"));
            };
            self.module.kernels.push(Kernel {
                name,
                signature: Signature::Library,
                unit,
                on_host: false,
                cost: None,
                span: Span::default(),
            });
        }
        Ok(())
    }

    fn tensors(&mut self) -> Lifted<()> {
        let program = self.program;
        let mut slots = Vec::new();
        for (row, at) in program.tensors.iter().zip(0u32..) {
            let name = self.name(program.tensor_name(TensorId(at)), &format!("x{at}"));
            let Some(dtype) = DType::from_code(row.dtype) else {
                return refused(0, format!("tensor `{name}` has elements without a name"));
            };
            let dims = match row.slot {
                0 => (0..row.rank)
                    .map(|dim| {
                        let name = self.name(None, &format!("{name}_{dim}"));
                        self.param(name)
                    })
                    .collect(),
                _ if (dtype, row.rank) != (DType::I64, 1) => {
                    return refused(0, format!("slot `{name}`, which is no `i64[1]`"));
                }
                slot => {
                    let init = self.name(None, &format!("{name}_init"));
                    slots.push((
                        slot,
                        Slot { tensor: TensorId(at), init: self.param(init), span: Span::default() },
                    ));
                    vec![IntExpr::from(1)]
                }
            };
            self.module.tensors.push(Tensor { name, dtype, dims, span: Span::default() });
        }
        if !slots.iter().map(|(slot, _)| *slot).eq(1..=u32::from(program.counts.slots)) {
            return refused(0, "slots that stand in another order than their tensors, or in none");
        }
        self.module.slots = slots.into_iter().map(|(_, slot)| slot).collect();
        Ok(())
    }

    /// What a row of the table of axes is that is no range.
    fn axis_kind(&mut self, at: usize, name: &str, outermost: &[Found<'p>]) -> Lifted<AxisKind> {
        let row = self.program.axes[at];
        let len = |table: u32| IntExpr::new(IntExprKind::TableLen(TableId(table)));
        let one_less = |len| IntExpr::joined(BinOp::Sub, len, 1.into());
        Ok(match AxisForm::from_code(row.form) {
            Some(AxisForm::Dense) => {
                AxisKind::Dense { start: self.expr(row.a.into(), None)?, end: self.expr(row.b, None)? }
            }
            Some(AxisForm::DenseDyn) => AxisKind::DenseDyn(ParamId(row.a.into())),
            Some(AxisForm::Ragged) => {
                AxisKind::Ragged { outer: self.outer(row.a, name, len(row.b)), lengths: TableId(row.b) }
            }
            Some(AxisForm::Sparse) => {
                let (indptr, indices) = (row.b & 0xFFFF, row.b >> 16);
                let outer = self.outer(row.a, name, one_less(len(indptr)));
                AxisKind::Sparse { outer, indptr: TableId(indptr), indices: TableId(indices) }
            }
            Some(AxisForm::Set | AxisForm::Range) | None => {
                let set = outermost.iter().find(|found| {
                    found.info.group == wsp_core::ptow::Group::Axis && usize::from(found.word.operand1) == at
                });
                let Some(set) = set else { return refused(0, format!("axis `{name}` is never set")) };
                let (operand, ext) = (set.word.operand2, set.exts.first().map(|ext| ext.operand2));
                match set.info.op {
                    Op::AxisDense => AxisKind::Dense { start: 0.into(), end: i64::from(operand).into() },
                    Op::AxisDenseDyn => AxisKind::DenseDyn(ParamId(operand)),
                    Op::AxisRagged => {
                        let rows = ext.map(|value| IntExpr::new(IntExprKind::Param(ParamId(value))));
                        let rows = rows.unwrap_or_else(|| len(operand));
                        AxisKind::Ragged {
                            outer: self.outer(u16::MAX, name, rows),
                            lengths: TableId(operand),
                        }
                    }
                    _ => {
                        let outer = self.outer(u16::MAX, name, one_less(len(operand)));
                        AxisKind::Sparse {
                            outer,
                            indptr: TableId(operand),
                            indices: TableId(ext.unwrap_or(0)),
                        }
                    }
                }
            }
        })
    }

    /// The outer axis of another: the dense one that its row names, else one of so many rows.
    fn outer(&mut self, row: u16, name: &str, rows: IntExpr) -> AxisId {
        let named = self.axes.get(usize::from(row)).copied().flatten();
        let is_dense = |axis: &AxisId| {
            matches!(self.module.axes[axis.index()].kind, AxisKind::Dense { .. } | AxisKind::DenseDyn(_))
        };
        if let Some(axis) = named.filter(is_dense) {
            return axis;
        }
        let name = self.name(None, &format!("{name}_rows"));
        self.push_axis(name, AxisKind::Dense { start: 0.into(), end: rows })
    }
}
