//! Workloads.

use super::names::Names;
use super::{Printer, name_of};
use crate::workload::{
    Access, Arg, ArgValue, Block, DimRange, IntExpr, Iteration, Node, NodeKind, Task, Workload,
};
use wsp_core::{AxisId, LabelId, VarId};

impl Printer<'_> {
    pub(super) fn workload(&mut self, workload: &Workload) {
        self.names = Names::of_workload(self.module, workload);
        self.labels = workload.labels.iter().map(|label| label.name.clone()).collect();
        self.text(&format!("workload {}", workload.name));
        if workload.params > 0 {
            self.text("(");
            let formals: Vec<VarId> =
                (0..workload.params.min(workload.vars.len() as u32)).map(VarId).collect();
            self.separated(&formals, |p, var| p.text(&p.names.var(*var)));
            self.text(")");
        }
        self.channels = workload.channels.iter().map(|channel| channel.name.clone()).collect();
        self.workload_body(workload);
        self.text("\n");
    }

    /// ` { … }`.
    pub(super) fn block(&mut self, block: &Block) {
        if block.is_empty() {
            return self.text(" {}");
        }
        self.text(" {\n");
        self.level += 1;
        self.statements(block);
        self.level -= 1;
        self.indent();
        self.text("}");
    }

    /// A line for each statement.
    pub(super) fn statements(&mut self, block: &Block) {
        for node in block {
            self.indent();
            self.node(node);
            self.text("\n");
        }
    }

    fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Task(task) => self.task(task),
            NodeKind::ParallelFor { var, over, body } => self.for_loop("parallel for", *var, over, body),
            NodeKind::ForEach { var, over, body } => self.for_loop("for", *var, over, body),
            NodeKind::Select { var, position, axis, row, body } => {
                let position = position.map_or(String::new(), |var| format!(" @ {}", self.names.var(var)));
                let head = format!("select {}{position} in {}[", self.names.var(*var), self.axis_of(*axis));
                self.text(&head);
                self.expr(row);
                self.text("]");
                self.block(body);
            }
            NodeKind::Cond { condition, then, otherwise } => self.cond(condition, then, otherwise),
            NodeKind::While { condition, max, body } => {
                self.text("while ");
                self.expr(condition);
                if let Some(max) = max {
                    self.text(" max ");
                    self.expr(max);
                }
                self.block(body);
            }
            NodeKind::Combine(blocks) => self.blocks("combine", blocks),
            NodeKind::Sequential(blocks) => self.blocks("sequential", blocks),
            NodeKind::Pipeline { processes } => self.pipeline(processes),
            NodeKind::Send { channel, var, body } => self.transfer("send", *channel, *var, body),
            NodeKind::Consume { arms, all } => self.consume(arms, *all),
            NodeKind::Close { channel } => {
                let name = self.channel(*channel);
                self.text(&format!("close {name};"));
            }
            NodeKind::Call { workload, args } => {
                let name = name_of(&self.module.workloads, workload.index(), |w| &w.name);
                self.text(&format!("call {name}("));
                self.separated(args, Self::expr);
                self.text(");");
            }
        }
    }

    fn axis_of(&self, axis: AxisId) -> String {
        name_of(&self.module.axes, axis.index(), |axis| &axis.name)
    }

    fn for_loop(&mut self, word: &str, var: VarId, over: &Iteration, body: &Block) {
        let head = format!("{word} {} in ", self.names.var(var));
        self.text(&head);
        match over {
            Iteration::Axis(axis) => self.text(&self.axis_of(*axis)),
            Iteration::Ragged { axis, outer } => {
                self.text(&self.axis_of(*axis));
                self.text("[");
                self.expr(outer);
                self.text("]");
            }
            Iteration::Range { lo, hi, step } => {
                self.expr(lo);
                self.text("..");
                self.expr(hi);
                if let Some(step) = step {
                    self.text(" step ");
                    self.expr(step);
                }
            }
        }
        self.block(body);
    }

    fn cond(&mut self, condition: &IntExpr, then: &Block, otherwise: &Block) {
        self.text("if ");
        self.expr(condition);
        self.block(then);
        match otherwise.as_slice() {
            [] => {}
            [Node { kind: NodeKind::Cond { condition, then, otherwise }, .. }] => {
                self.text(" else ");
                self.cond(condition, then, otherwise);
            }
            _ => {
                self.text(" else");
                self.block(otherwise);
            }
        }
    }

    fn blocks(&mut self, word: &str, blocks: &[Block]) {
        self.text(word);
        if blocks.is_empty() {
            return self.text(" {}");
        }
        self.text(" {\n");
        self.level += 1;
        for block in blocks {
            self.indent();
            let at = self.out.len();
            self.block(block);
            // A block writes the blank that stands between it and a head.
            self.out.remove(at);
            self.text("\n");
        }
        self.level -= 1;
        self.indent();
        self.text("}");
    }

    fn label(&self, label: LabelId) -> String {
        self.labels.get(label.index()).cloned().unwrap_or_else(|| format!("?{}", label.0))
    }

    fn task(&mut self, task: &Task) {
        if let Some(label) = task.label {
            let head = format!("let {} = ", self.label(label));
            self.text(&head);
        }
        let kernel = name_of(&self.module.kernels, task.kernel.index(), |kernel| &kernel.name);
        self.text(&format!("{kernel}("));
        self.separated(&task.args, Self::arg);
        self.text(")");
        if !task.after.is_empty() {
            self.text(" after ");
            self.separated(&task.after, |p, label| p.text(&p.label(*label)));
        }
        self.text(";");
    }

    fn arg(&mut self, arg: &Arg) {
        if let Some(name) = &arg.name {
            self.text(&format!("{name} = "));
        }
        match &arg.value {
            ArgValue::Scalar(value) => self.expr(value),
            ArgValue::Access(access) => self.access(access),
        }
    }

    fn access(&mut self, access: &Access) {
        let name = name_of(&self.module.tensors, access.tensor.index(), |tensor| &tensor.name);
        self.text(&name);
        if access.ranges.is_empty() {
            return;
        }
        self.text("[");
        self.separated(&access.ranges, Self::range);
        self.text("]");
    }

    fn range(&mut self, range: &DimRange) {
        match range {
            DimRange::Whole => self.text(".."),
            DimRange::Index(index) => self.expr(index),
            DimRange::Range { lo, hi } => {
                self.expr(lo);
                self.text("..");
                self.expr(hi);
            }
            DimRange::Sized { lo, len } => {
                self.expr(lo);
                self.text(" +: ");
                self.expr(len);
            }
        }
    }
}
