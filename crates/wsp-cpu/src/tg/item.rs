//! What runs in a graph, and when its bindings are known.

use wsp_core::tg::{ExprOp, Scalar};
use wsp_tg::plan::{BindTensor, FixedItem, GraphPlan, KernelItem};

/// When bindings are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum When {
    /// They are the same for every launch.
    Always,
    /// When the graph is launched: iteration, scalars.
    Launch,
    /// When the kernel is dispatched: loop variables.
    Dispatch,
}

/// A kernel or a copy of a graph, or a condition or count, by place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Kernel(u32),
    Copy(u32),
    Condition(u32),
}

impl Item {
    /// The node of a kernel or copy in the plan.
    pub(super) fn node(self, plan: &GraphPlan) -> Option<u32> {
        match self {
            Item::Kernel(at) => Some(plan.kernels[at as usize].node),
            Item::Copy(at) => Some(plan.copies[at as usize].node),
            Item::Condition(_) => None,
        }
    }

    /// Numbers of the unrolled loops around it.
    pub(super) fn fixed(self, plan: &GraphPlan) -> FixedItem {
        match self {
            Item::Kernel(at) => plan.kernels[at as usize].fixed,
            Item::Copy(at) => plan.copies[at as usize].fixed,
            Item::Condition(at) => plan.conditions[at as usize].fixed,
        }
    }
}

/// What the bindings of a kernel depend on.
pub(crate) fn when(plan: &GraphPlan, kernel: &KernelItem) -> When {
    let of = |scalar: Scalar| {
        let ops = plan.expr(scalar).iter().take_while(|op| **op != ExprOp::End);
        // Constants that have no value: a fault where a round needs it.
        if matches!(scalar, Scalar::Expr(_)) && !ops.clone().any(|op| op.varies()) {
            return When::Dispatch;
        }
        let of = |op: &ExprOp| match op {
            ExprOp::Iter(_) | ExprOp::Load(..) => When::Dispatch,
            ExprOp::Arg(_) | ExprOp::Iteration => When::Launch,
            _ => When::Always,
        };
        ops.map(of).max().unwrap_or(When::Always)
    };
    let of_bind = |bind: &wsp_tg::plan::BindItem| {
        let index = match bind.tensor {
            BindTensor::One(_) => When::Always,
            // It names none of the table.
            BindTensor::Table { index: Scalar::Const(_), .. } => When::Dispatch,
            BindTensor::Table { index, .. } => of(index),
        };
        index.max(of(bind.offset)).max(of(bind.size))
    };
    plan.binds_of(kernel).iter().map(of_bind).max().unwrap_or(When::Always)
}
