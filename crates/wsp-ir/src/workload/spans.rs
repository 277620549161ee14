//! Modules without source positions, which can be compared.

use super::{
    ArgValue, AxisKind, Block, DimRange, IntExpr, IntExprKind, Iteration, Node, NodeKind, ParamSource,
    WorkloadModule,
};
use wsp_diag::Span;

impl WorkloadModule {
    /// The same module with every position at the start of the first file, so that `==` compares what is said and not
    /// where.
    #[must_use]
    pub fn without_spans(mut self) -> WorkloadModule {
        let none = Span::default();
        self.uses.iter_mut().for_each(|entry| entry.span = none);
        for param in &mut self.params {
            param.span = none;
            match &mut param.source {
                ParamSource::Set(value) => value.iter_mut().for_each(expr),
                ParamSource::Derived(value) => expr(value),
            }
        }
        for table in &mut self.tables {
            table.span = none;
            table.len.iter_mut().for_each(expr);
        }
        for axis in &mut self.axes {
            axis.span = none;
            if let AxisKind::Dense { start, end } = &mut axis.kind {
                expr(start);
                expr(end);
            }
        }
        for tensor in &mut self.tensors {
            tensor.span = none;
            tensor.dims.iter_mut().for_each(expr);
        }
        for slot in &mut self.slots {
            slot.span = none;
            expr(&mut slot.init);
        }
        for kernel in &mut self.kernels {
            kernel.span = none;
            kernel.cost.iter_mut().for_each(expr);
        }
        for workload in &mut self.workloads {
            workload.span = none;
            workload.vars.iter_mut().for_each(|var| var.span = none);
            workload.labels.iter_mut().for_each(|label| label.span = none);
            for channel in &mut workload.channels {
                channel.span = none;
                expr(&mut channel.depth);
            }
            block(&mut workload.body);
        }
        for schedule in &mut self.schedules {
            schedule.span = none;
            for entry in &mut schedule.directives {
                entry.span = none;
                entry.kind.interface_mut().exprs_mut().into_iter().for_each(expr);
            }
        }
        self
    }
}

fn block(block: &mut Block) {
    block.iter_mut().for_each(node);
}

fn node(node: &mut Node) {
    node.span = Span::default();
    match &mut node.kind {
        NodeKind::Task(task) => task.args.iter_mut().for_each(|arg| value(&mut arg.value)),
        NodeKind::ParallelFor { over, body, .. } | NodeKind::ForEach { over, body, .. } => {
            iteration(over);
            block(body);
        }
        NodeKind::Select { row, body, .. } => {
            expr(row);
            block(body);
        }
        NodeKind::Cond { condition, then, otherwise } => {
            expr(condition);
            block(then);
            block(otherwise);
        }
        NodeKind::While { condition, max, body } => {
            expr(condition);
            max.iter_mut().for_each(expr);
            block(body);
        }
        NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => blocks.iter_mut().for_each(block),
        NodeKind::Call { args, .. } => args.iter_mut().for_each(expr),
        NodeKind::Pipeline { processes } => {
            for process in processes {
                process.span = Span::default();
                block(&mut process.body);
            }
        }
        NodeKind::Send { body, .. } | NodeKind::Consume { body, .. } => block(body),
    }
}

fn iteration(over: &mut Iteration) {
    match over {
        Iteration::Axis(_) => {}
        Iteration::Ragged { outer, .. } => expr(outer),
        Iteration::Range { lo, hi, step } => {
            expr(lo);
            expr(hi);
            step.iter_mut().for_each(expr);
        }
    }
}

fn value(value: &mut ArgValue) {
    let access = match value {
        ArgValue::Scalar(value) => return expr(value),
        ArgValue::Access(access) => access,
    };
    access.span = Span::default();
    for range in &mut access.ranges {
        match range {
            DimRange::Whole => {}
            DimRange::Index(index) => expr(index),
            DimRange::Range { lo, hi: other } | DimRange::Sized { lo, len: other } => {
                expr(lo);
                expr(other);
            }
        }
    }
}

fn expr(tree: &mut IntExpr) {
    tree.span = Span::default();
    match &mut tree.kind {
        IntExprKind::Table(_, operand) | IntExprKind::Unary(_, operand) => expr(operand),
        IntExprKind::Binary(_, a, b) => {
            expr(a);
            expr(b);
        }
        IntExprKind::Chain(first, rest) => {
            expr(first);
            rest.iter_mut().for_each(|(_, operand)| expr(operand));
        }
        IntExprKind::Choose(condition, then, otherwise) => {
            expr(condition);
            expr(then);
            expr(otherwise);
        }
        _ => {}
    }
}
