//! Items, except workloads and schedules.

use super::names::Names;
use super::{Printer, name_of};
use crate::workload::{
    AccessMode, Axis, AxisKind, ExecPool, IntExpr, Kernel, KernelParam, Param, ParamKind, ParamSource,
    Signature, Table,
};
use wsp_core::{AxisId, TableId, TensorId};

impl Printer<'_> {
    pub(super) fn use_file(&mut self, path: &str) {
        let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
        self.text(&format!("use \"{escaped}\";\n"));
    }

    pub(super) fn param(&mut self, param: &Param) {
        let (word, value) = match &param.source {
            ParamSource::Set(value) => ("param", value.as_ref()),
            ParamSource::Derived(value) => ("let", Some(value)),
        };
        self.text(&format!("{word} {}", param.name));
        self.value(value);
        self.text(";\n");
    }

    /// ` = value`, if there is one.
    fn value(&mut self, value: Option<&IntExpr>) {
        if let Some(value) = value {
            self.text(" = ");
            self.expr(value);
        }
    }

    pub(super) fn table(&mut self, table: &Table) {
        self.text(&format!("table {}", table.name));
        if let Some(len) = &table.len {
            self.text("[");
            self.expr(len);
            self.text("]");
        }
        if let Some(values) = &table.values {
            self.text(" = [");
            self.separated(values, |p, value| p.text(&value.to_string()));
            self.text("]");
        }
        self.text(";\n");
    }

    fn axis_name(&self, id: AxisId) -> String {
        name_of(&self.module.axes, id.index(), |axis| &axis.name)
    }

    fn table_name(&self, id: TableId) -> String {
        name_of(&self.module.tables, id.index(), |table| &table.name)
    }

    pub(super) fn axis(&mut self, axis: &Axis) {
        self.text(&format!("axis {} = ", axis.name));
        match &axis.kind {
            AxisKind::Dense { start, end } => {
                self.text("dense(");
                if start.as_const() != Some(0) {
                    self.expr(start);
                    self.text(", ");
                }
                self.expr(end);
            }
            AxisKind::DenseDyn(param) => {
                let name = name_of(&self.module.params, param.index(), |p| &p.name);
                self.text(&format!("dense_dyn({name}"));
            }
            AxisKind::Ragged { outer, lengths } => {
                let text = format!("ragged({}, {}", self.axis_name(*outer), self.table_name(*lengths));
                self.text(&text);
            }
            AxisKind::Sparse { outer, indptr, indices } => {
                let (indptr, indices) = (self.table_name(*indptr), self.table_name(*indices));
                self.text(&format!("sparse({}, {indptr}, {indices}", self.axis_name(*outer)));
            }
        }
        self.text(");\n");
    }

    pub(super) fn tensor(&mut self, id: TensorId) {
        let module = self.module;
        let Some(tensor) = module.tensors.get(id.index()) else { return };
        if let Some(slot) = self.slots.get(&id).and_then(|slot| module.slots.get(*slot)) {
            self.text(&format!("slot {}", tensor.name));
            self.value(Some(&slot.init));
        } else {
            self.text(&format!("tensor {}: {}[", tensor.name, tensor.dtype));
            self.separated(&tensor.dims, Self::expr);
            self.text("]");
        }
        self.text(";\n");
    }

    pub(super) fn kernel(&mut self, kernel: &Kernel) {
        self.text(&format!("kernel {}", kernel.name));
        if let Signature::Declared(params) = &kernel.signature {
            self.text("(");
            self.separated(params, Self::kernel_param);
            self.text(")");
            self.names = Names::of_kernel(params);
        } else {
            self.names = Names::default();
        }
        if kernel.on_host || kernel.unit != ExecPool::default() {
            self.text(&format!(" on {}", kernel.place()));
        }
        if let Some(cost) = &kernel.cost {
            self.text(" cost ");
            self.expr(cost);
        }
        self.text(";\n");
    }

    fn kernel_param(&mut self, param: &KernelParam) {
        self.text(match param.kind {
            ParamKind::Scalar => "",
            ParamKind::Tensor(AccessMode::In) => "in ",
            ParamKind::Tensor(AccessMode::Out) => "out ",
            ParamKind::Tensor(AccessMode::InOut) => "inout ",
        });
        self.text(&param.name);
    }
}
