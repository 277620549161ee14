//! What a block refers to, and which variables are visible there.

use super::{Arg, ArgValue, Block, DimRange, IntExpr, IntExprKind, Iteration, Node, NodeKind};
use wsp_core::{AxisId, KernelId, ParamId, SlotId, TableId, TensorId, VarId, WorkloadId};

/// Something that is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    Param(ParamId),
    Var(VarId),
    Slot(SlotId),
    Axis(AxisId),
    Table(TableId),
    Tensor(TensorId),
    Kernel(KernelId),
    Workload(WorkloadId),
}

/// Told of every reference, in source order, between the openings and closings of the variables around it.
pub(crate) trait Visitor {
    /// Something is referred to.
    fn reference(&mut self, reference: Reference);
    /// A variable becomes visible.
    fn open(&mut self, var: VarId);
    /// Two variables of one head, the second behind the first.
    fn beside(&mut self, _first: VarId, _second: VarId) {}
    /// The variable that became visible last and still is, is not any more.
    fn close(&mut self);
}

/// Walks the statements of a block.
pub(crate) fn block(nodes: &Block, visitor: &mut impl Visitor) {
    for entry in nodes {
        node(entry, visitor);
    }
}

fn node(node: &Node, visitor: &mut impl Visitor) {
    match &node.kind {
        NodeKind::Task(task) => {
            visitor.reference(Reference::Kernel(task.kernel));
            for entry in &task.args {
                arg(entry, visitor);
            }
        }
        NodeKind::ParallelFor { var, over, body } | NodeKind::ForEach { var, over, body } => {
            iteration(over, visitor);
            visitor.open(*var);
            block(body, visitor);
            visitor.close();
        }
        NodeKind::Select { var, position, axis, row, body } => {
            visitor.reference(Reference::Axis(*axis));
            expr(row, visitor);
            if let Some(position) = position {
                visitor.beside(*var, *position);
            }
            let vars = [Some(*var), *position];
            for var in vars.iter().flatten() {
                visitor.open(*var);
            }
            block(body, visitor);
            for _ in vars.iter().flatten() {
                visitor.close();
            }
        }
        NodeKind::Cond { condition, then, otherwise } => {
            expr(condition, visitor);
            block(then, visitor);
            block(otherwise, visitor);
        }
        NodeKind::While { condition, max, body } => {
            expr(condition, visitor);
            if let Some(max) = max {
                expr(max, visitor);
            }
            block(body, visitor);
        }
        NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
            for body in blocks {
                block(body, visitor);
            }
        }
        NodeKind::Call { workload, args } => {
            visitor.reference(Reference::Workload(*workload));
            for arg in args {
                expr(arg, visitor);
            }
        }
        NodeKind::Pipeline { processes } => {
            for process in processes {
                block(&process.body, visitor);
            }
        }
        NodeKind::Send { var, body, .. } => {
            visitor.open(*var);
            block(body, visitor);
            visitor.close();
        }
        NodeKind::Consume { arms, .. } => {
            for arm in arms {
                visitor.open(arm.var);
                block(&arm.body, visitor);
                visitor.close();
            }
        }
        NodeKind::Close { .. } => {}
    }
}

fn iteration(over: &Iteration, visitor: &mut impl Visitor) {
    match over {
        Iteration::Axis(axis) => visitor.reference(Reference::Axis(*axis)),
        Iteration::Ragged { axis, outer } => {
            visitor.reference(Reference::Axis(*axis));
            expr(outer, visitor);
        }
        Iteration::Range { lo, hi, step } => {
            expr(lo, visitor);
            expr(hi, visitor);
            if let Some(step) = step {
                expr(step, visitor);
            }
        }
    }
}

fn arg(arg: &Arg, visitor: &mut impl Visitor) {
    let access = match &arg.value {
        ArgValue::Scalar(value) => return expr(value, visitor),
        ArgValue::Access(access) => access,
    };
    visitor.reference(Reference::Tensor(access.tensor));
    for range in &access.ranges {
        match range {
            DimRange::Whole => {}
            DimRange::Index(lo) => expr(lo, visitor),
            DimRange::Range { lo, hi: other } | DimRange::Sized { lo, len: other } => {
                expr(lo, visitor);
                expr(other, visitor);
            }
        }
    }
}

/// Walks an expression.
pub(crate) fn expr(tree: &IntExpr, visitor: &mut impl Visitor) {
    match &tree.kind {
        IntExprKind::Const(_) => {}
        IntExprKind::Param(id) => visitor.reference(Reference::Param(*id)),
        IntExprKind::Var(id) => visitor.reference(Reference::Var(*id)),
        IntExprKind::Slot(id) => visitor.reference(Reference::Slot(*id)),
        IntExprKind::Axis(id) => visitor.reference(Reference::Axis(*id)),
        IntExprKind::TableLen(id) => visitor.reference(Reference::Table(*id)),
        IntExprKind::Table(id, index) => {
            visitor.reference(Reference::Table(*id));
            expr(index, visitor);
        }
        IntExprKind::Unary(_, operand) => expr(operand, visitor),
        IntExprKind::Binary(_, a, b) => {
            expr(a, visitor);
            expr(b, visitor);
        }
        IntExprKind::Chain(first, rest) => {
            expr(first, visitor);
            rest.iter().for_each(|(_, operand)| expr(operand, visitor));
        }
        IntExprKind::Choose(condition, then, otherwise) => {
            expr(condition, visitor);
            expr(then, visitor);
            expr(otherwise, visitor);
        }
    }
}
