//! Random schedules for random modules.

use crate::workload_support::random::Rng;
use wsp_core::{AxisId, ParamId, TableId};
use wsp_diag::Span;
use wsp_ir::BinOp;
use wsp_ir::workload::*;

/// The directives of a schedule; `tasks` is how many tasks there are, where that is known.
pub(crate) fn random_schedule(rng: &mut Rng, tasks: Option<u64>) -> Schedule {
    let mut kinds = Vec::new();
    if !rng.one_in(6) {
        kinds.push(DirectiveKind::Dispatch(dispatch(rng, tasks)));
    }
    if rng.one_in(4) {
        let count = rng.below(4) + 1;
        let first = rng.below(3) as i64 - 1;
        let bounds: Vec<i64> = (0..count as i64).map(|n| first + n * 2).collect();
        let policies: Vec<ThresholdPolicy> = (0..=count).map(|_| level(rng)).collect();
        if policies.iter().any(|policy| matches!(policy, ThresholdPolicy::Pool(_))) {
            kinds.push(DirectiveKind::Pools(PoolSizes::ByUnit { vector: 1, cube: 1 }));
        }
        kinds.push(DispatchThreshold { metric: key(rng, 0), bounds, policies }.into());
    }
    if rng.one_in(4) {
        kinds.push(Streams(rng.below(6) as u32 + 1).into());
        if rng.one_in(2) {
            kinds.push(StreamBy(key(rng, 0)).into());
        }
    }
    if rng.one_in(4) {
        kinds.push(Priority(key(rng, 0)).into());
        kinds.push(DirectiveKind::Ready(Ready::Priority));
    }
    if rng.one_in(3) {
        kinds.push(DirectiveKind::Deps(Deps::Hybrid));
    }
    let directives = kinds.into_iter().map(|kind| Directive { kind, span: Span::default() });
    Schedule { name: String::new(), directives: directives.collect(), span: Span::default() }
}

fn dispatch(rng: &mut Rng, tasks: Option<u64>) -> Dispatch {
    match (rng.below(8), tasks) {
        (0, _) => Dispatch::RoundRobin,
        (1, _) => Dispatch::WorkSteal,
        (2 | 3, _) => Dispatch::Affinity(axis(rng)),
        (4, _) => Dispatch::Affinity(key(rng, 0)),
        (5, _) => Dispatch::Hash(key(rng, 0)),
        (_, None) => Dispatch::RoundRobin,
        (_, Some(tasks)) => {
            let mut ends: Vec<u64> = (0..rng.below(5)).map(|_| rng.below(tasks + 1)).collect();
            ends.push(tasks);
            ends.sort_unstable();
            let starts = std::iter::once(0).chain(ends.iter().copied());
            Dispatch::StaticPartition(starts.zip(ends.iter().copied()).collect())
        }
    }
}

fn level(rng: &mut Rng) -> ThresholdPolicy {
    match rng.below(8) {
        0 => ThresholdPolicy::Pool(ExecPool::Vector),
        1 => ThresholdPolicy::Pool(ExecPool::Cube),
        2 => ThresholdPolicy::Pool(ExecPool::Any),
        3 => ThresholdPolicy::Dispatch(Dispatch::RoundRobin),
        4 => ThresholdPolicy::Dispatch(Dispatch::Hash(key(rng, 0))),
        5 => ThresholdPolicy::Dispatch(Dispatch::Affinity(key(rng, 0))),
        _ => ThresholdPolicy::Dispatch(Dispatch::Affinity(axis(rng))),
    }
}

fn axis(rng: &mut Rng) -> IntExpr {
    IntExpr::new(IntExprKind::Axis(AxisId(rng.below(4) as u32)))
}

/// A key: mostly a sum of scaled axes.
fn key(rng: &mut Rng, depth: u32) -> IntExpr {
    let kind = match rng.below(if depth > 2 { 6 } else { 14 }) {
        0..=3 => return axis(rng),
        4 => IntExprKind::Param(ParamId(rng.below(2) as u32)),
        5 => return (rng.below(9) as i64 - 3).into(),
        6..=8 => binary(rng, BinOp::Add, depth),
        9 => binary(rng, BinOp::Sub, depth),
        10 | 11 => {
            let scale = IntExpr::from(rng.below(7) as i64 - 2);
            IntExprKind::Binary(BinOp::Mul, Box::new(key(rng, depth + 1)), Box::new(scale))
        }
        12 => {
            let ops = [BinOp::Mul, BinOp::Rem, BinOp::Min, BinOp::Lt, BinOp::And];
            let op = ops[rng.below(ops.len() as u64) as usize];
            binary(rng, op, depth)
        }
        _ => IntExprKind::Table(TableId(0), Box::new(axis(rng))),
    };
    IntExpr::new(kind)
}

fn binary(rng: &mut Rng, op: BinOp, depth: u32) -> IntExprKind {
    IntExprKind::Binary(op, Box::new(key(rng, depth + 1)), Box::new(key(rng, depth + 1)))
}
