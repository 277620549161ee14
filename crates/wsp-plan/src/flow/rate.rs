//! How often processes send and consume, as expressions over parameters.

use wsp_core::{ChannelId, VarId};
use wsp_ir::BinOp;
use wsp_ir::workload::{AxisKind, Block, IntExpr, IntExprKind, Iteration, NodeKind, WorkloadModule};

/// How often one run of a process sends to a channel, or consumes from it; none where this depends on more than parameters.
pub(super) fn rate(
    module: &WorkloadModule,
    block: &Block,
    channel: ChannelId,
    sends: bool,
) -> Option<IntExpr> {
    let mut sum = IntExpr::from(0);
    for node in block {
        let of = |body: &Block| rate(module, body, channel, sends);
        let once = match &node.kind {
            NodeKind::Send { channel: to, body, .. } => {
                plus(IntExpr::from(i64::from(sends && *to == channel)), of(body)?)
            }
            NodeKind::Consume { arms, all } => match &arms[..] {
                [arm] if !*all => {
                    plus(IntExpr::from(i64::from(!sends && arm.channel == channel)), of(&arm.body)?)
                }
                _ => none_of(&node.kind, channel)?,
            },
            NodeKind::ParallelFor { var, over, body } | NodeKind::ForEach { var, over, body } => {
                let inner = of(body)?;
                if inner.as_const() == Some(0) {
                    continue;
                }
                times(trips(module, over)?, constant_in(inner, *var)?)
            }
            NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
                let mut all = IntExpr::from(0);
                for block in blocks {
                    all = plus(all, of(block)?);
                }
                all
            }
            NodeKind::Cond { then, otherwise, .. } => {
                let (then, otherwise) = (of(then)?, of(otherwise)?);
                if then != otherwise {
                    return None;
                }
                then
            }
            NodeKind::Select { body, .. } | NodeKind::While { body, .. } => {
                if of(body)?.as_const() != Some(0) {
                    return None;
                }
                continue;
            }
            NodeKind::Task(_)
            | NodeKind::Call { .. }
            | NodeKind::Close { .. }
            | NodeKind::Pipeline { .. } => {
                continue;
            }
        };
        sum = plus(sum, once);
    }
    Some(sum)
}

/// The rate at a channel of a statement whose repetitions depend on turns: 0 where the channel is not in it.
fn none_of(kind: &NodeKind, channel: ChannelId) -> Option<IntExpr> {
    let mut used = false;
    let mut look = |kind: &NodeKind| {
        used |= match kind {
            NodeKind::Send { channel: to, .. } => *to == channel,
            NodeKind::Consume { arms, .. } => arms.iter().any(|arm| arm.channel == channel),
            _ => false,
        };
    };
    look(kind);
    kind.bodies().into_iter().for_each(|body| {
        wsp_ir::workload::each_node(body, &mut |node| look(&node.kind));
    });
    (!used).then(|| 0.into())
}

/// An expression that does not depend on a variable.
fn constant_in(expr: IntExpr, var: VarId) -> Option<IntExpr> {
    let mut varies = false;
    expr.each(&mut |kind| varies |= matches!(kind, IntExprKind::Var(of) if *of == var));
    (!varies).then_some(expr)
}

/// How many iterations a loop has.
fn trips(module: &WorkloadModule, over: &Iteration) -> Option<IntExpr> {
    match over {
        Iteration::Range { lo, hi, step } => between(lo, hi, step.as_ref()),
        Iteration::Axis(axis) => match &module.axes[axis.index()].kind {
            AxisKind::Dense { start, end } => between(start, end, None),
            AxisKind::DenseDyn(param) => Some(IntExpr::new(IntExprKind::Param(*param))),
            AxisKind::Ragged { .. } | AxisKind::Sparse { .. } => None,
        },
        Iteration::Ragged { .. } => None,
    }
}

fn between(lo: &IntExpr, hi: &IntExpr, step: Option<&IntExpr>) -> Option<IntExpr> {
    let extent = match (lo.as_const(), hi.as_const()) {
        (Some(lo), Some(hi)) => hi.saturating_sub(lo).max(0).into(),
        (Some(0), None) => hi.clone(),
        _ => IntExpr::joined(BinOp::Sub, hi.clone(), lo.clone()),
    };
    let Some(step) = step else { return Some(extent) };
    match (extent.as_const(), step.as_const()) {
        (Some(extent), Some(step)) if step > 0 => Some((extent / step + i64::from(extent % step > 0)).into()),
        (None, Some(1)) => Some(extent),
        (None, Some(step)) if step > 0 => Some(IntExpr::joined(BinOp::CeilDiv, extent, step.into())),
        _ => None,
    }
}

fn plus(a: IntExpr, b: IntExpr) -> IntExpr {
    match (a.as_const(), b.as_const()) {
        (Some(0), _) => b,
        (_, Some(0)) => a,
        (Some(x), Some(y)) => x.saturating_add(y).into(),
        _ if a == b => times(2.into(), a),
        _ => IntExpr::joined(BinOp::Add, a, b),
    }
}

fn times(a: IntExpr, b: IntExpr) -> IntExpr {
    match (a.as_const(), b.as_const()) {
        (Some(1), _) => b,
        (_, Some(1)) => a,
        (Some(0), _) | (_, Some(0)) => 0.into(),
        (Some(x), Some(y)) => x.saturating_mul(y).into(),
        (None, Some(_)) => IntExpr::joined(BinOp::Mul, b, a),
        _ => IntExpr::joined(BinOp::Mul, a, b),
    }
}
