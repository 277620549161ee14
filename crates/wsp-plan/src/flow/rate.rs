//! How often processes send and consume, as expressions over parameters.
//!
//! A range of sums and products of parameters and numbers from 0 on has as many iterations as its end says: such parameters are sizes, of which none
//! is below 0. Of any other range, none is more than its end is behind its begin.

use wsp_core::{ChannelId, VarId};
use wsp_ir::BinOp;
use wsp_ir::workload::{AxisKind, Block, IntExpr, IntExprKind, Iteration, Node, NodeKind, WorkloadModule};
use wsp_ordered::OrderedMap;

/// Rates by channel and whether they are of what is sent to it; none where one depends on more than parameters.
pub(super) type Rates = OrderedMap<(ChannelId, bool), Option<IntExpr>>;

/// How often one run of a process sends to the channels that it sends to or closes, and consumes from those that it consumes from.
pub(super) fn rates(module: &WorkloadModule, block: &Block) -> Rates {
    let mut sum = Rates::new();
    for node in block {
        let once = of_node(module, node);
        once.into_iter().for_each(|(end, rate)| add(&mut sum, end, rate));
    }
    sum
}

fn of_node(module: &WorkloadModule, node: &Node) -> Rates {
    let of = |body: &Block| rates(module, body);
    match &node.kind {
        NodeKind::Send { channel, body, .. } => {
            let mut once = of(body);
            add(&mut once, (*channel, true), Some(1.into()));
            once
        }
        NodeKind::Close { channel } => [((*channel, true), Some(0.into()))].into_iter().collect(),
        NodeKind::Consume { arms, all } => {
            let mut once = Rates::new();
            for arm in arms {
                of(&arm.body).into_iter().for_each(|(end, rate)| add(&mut once, end, rate));
                add(&mut once, (arm.channel, false), Some(1.into()));
            }
            if *all || arms.len() > 1 {
                // How often each is taken depends on turns.
                return each(once, |_| None);
            }
            once
        }
        NodeKind::ParallelFor { var, over, body } | NodeKind::ForEach { var, over, body } => {
            let trips = trips(module, over);
            each(of(body), |rate| Some(times(trips.clone()?, constant_in(rate, *var)?)))
        }
        NodeKind::Cond { then, otherwise, .. } => {
            let (mut then, mut otherwise) = (of(then), of(otherwise));
            for (end, rate) in &mut then {
                let other = otherwise.remove(end).unwrap_or(Some(0.into()));
                *rate = rate.take().filter(|rate| other.as_ref() == Some(rate));
            }
            then.into_iter().chain(each(otherwise, |_| None)).collect()
        }
        NodeKind::Select { body, .. } | NodeKind::While { body, .. } => each(of(body), |_| None),
        NodeKind::Task(_) | NodeKind::Call { .. } => Rates::new(),
        kind => {
            let mut all = Rates::new();
            for body in kind.bodies() {
                of(body).into_iter().for_each(|(end, rate)| add(&mut all, end, rate));
            }
            all
        }
    }
}

fn add(sum: &mut Rates, end: (ChannelId, bool), rate: Option<IntExpr>) {
    let before = sum.remove(&end).unwrap_or(Some(0.into()));
    sum.insert(end, before.and_then(|before| Some(plus(before, rate?))));
}

/// Rates of what repeats those; none of it is none.
fn each(of: Rates, mut repeated: impl FnMut(IntExpr) -> Option<IntExpr>) -> Rates {
    let rates = of.into_iter().map(|(end, rate)| {
        let none = rate.as_ref().and_then(IntExpr::as_const) == Some(0);
        (end, if none { rate } else { rate.and_then(&mut repeated) })
    });
    rates.collect()
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
        (Some(0), None) if is_size(hi) => hi.clone(),
        (Some(0), None) => IntExpr::joined(BinOp::Max, hi.clone(), 0.into()),
        _ => IntExpr::joined(BinOp::Max, IntExpr::joined(BinOp::Sub, hi.clone(), lo.clone()), 0.into()),
    };
    let Some(step) = step else { return Some(extent) };
    match (extent.as_const(), step.as_const()) {
        (Some(extent), Some(step)) if step > 0 => Some((extent / step + i64::from(extent % step > 0)).into()),
        (None, Some(1)) => Some(extent),
        (None, Some(step)) if step > 0 => Some(IntExpr::joined(BinOp::CeilDiv, extent, step.into())),
        _ => None,
    }
}

/// Whether an expression is below 0 only where a parameter is.
fn is_size(expr: &IntExpr) -> bool {
    let mut sizes = true;
    expr.each(&mut |kind| {
        sizes &= match kind {
            IntExprKind::Const(value) => *value >= 0,
            IntExprKind::Param(_) => true,
            IntExprKind::Binary(op, ..) => is_of_sizes(*op),
            IntExprKind::Chain(_, rest) => rest.iter().all(|(op, _)| is_of_sizes(*op)),
            _ => false,
        };
    });
    sizes
}

fn is_of_sizes(op: BinOp) -> bool {
    matches!(op, BinOp::Add | BinOp::Mul | BinOp::Div | BinOp::CeilDiv | BinOp::Min | BinOp::Max)
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
