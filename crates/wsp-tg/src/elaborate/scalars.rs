//! Scalars of a module as scalars of a plan: numbers of unrolled loops put in, tensors and loops named by their places.

use super::ranges::Bytes;
use super::unit::Unit;
use std::collections::HashMap;
use wsp_core::tg::{ConstEnv, EvalFault, ExprId, ExprOp, GraphNo, IterNo, Scalar, TensorNo, eval};

/// What a loop's variable stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IterValue {
    /// The iteration of an unrolled loop.
    Fixed(i64),
    /// A loop that runs at run time.
    Loop(u32),
}

/// Where a scalar stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub(super) graph: GraphNo,
    /// Variables of loops around it, outermost first.
    pub(super) iters: Vec<(IterNo, IterValue)>,
    /// Tensors that stand elsewhere in a fused graph.
    pub(super) moved: HashMap<u32, u32>,
}

impl Surroundings {
    /// The place of a tensor.
    pub(super) fn tensor(&self, unit: &Unit<'_>, no: TensorNo) -> Option<u32> {
        let place = unit.tensor(self.graph, no)?;
        Some(self.moved.get(&place).copied().unwrap_or(place))
    }
}

/// Expressions of a plan.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) ops: Vec<ExprOp>,
    /// Those without loop variables, which are the same everywhere in a graph.
    known: HashMap<(GraphNo, ExprId), ExprId>,
}

/// What is wrong with a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScalarFault {
    /// A loop variable or tensor that is not known there.
    Unknown(ExprOp),
    /// Its constants have no value; the scalar that has them, for what a run decides whether it needs it.
    Value(EvalFault, Scalar),
}

impl Pool {
    /// The scalar of the plan.
    pub(super) fn scalar(
        &mut self,
        unit: &Unit<'_>,
        around: &Surroundings,
        scalar: Scalar,
    ) -> Result<Scalar, ScalarFault> {
        let Scalar::Expr(id) = scalar else { return Ok(scalar) };
        if let Some(&known) = self.known.get(&(around.graph, id)) {
            return Ok(Scalar::Expr(known));
        }
        let source = unit.module.expr(id);
        let first = self.ops.len();
        for &op in source {
            match place(unit, around, op) {
                Ok(op) => self.ops.push(op),
                Err(fault) => {
                    self.ops.truncate(first);
                    return Err(fault);
                }
            }
        }
        let value = eval(&self.ops[first..], &ConstEnv);
        if let Ok(value) = value {
            self.ops.truncate(first);
            return Ok(Scalar::Const(value));
        }
        let varies = self.ops[first..].iter().any(|op| op.varies());
        self.ops.push(ExprOp::End);
        let placed = ExprId(first as u32);
        if let (Err(fault), false) = (value, varies) {
            return Err(ScalarFault::Value(fault, Scalar::Expr(placed)));
        }
        if !source.iter().any(|op| matches!(op, ExprOp::Iter(_))) {
            self.known.insert((around.graph, id), placed);
        }
        Ok(Scalar::Expr(placed))
    }

    /// Bytes that a scalar reads.
    pub(super) fn reads(&self, scalar: Scalar, mut read: impl FnMut(Bytes)) {
        let Scalar::Expr(id) = scalar else { return };
        let mut before = None;
        for &op in self.ops[id.0 as usize..].iter().take_while(|op| **op != ExprOp::End) {
            if let ExprOp::Load(TensorNo(tensor), ty) = op {
                read(match before {
                    Some(ExprOp::Const(first)) if first >= 0 => {
                        Bytes { tensor, first: first as u64, end: first as u64 + ty.size() }
                    }
                    _ => Bytes::all(tensor),
                });
            }
            before = Some(op);
        }
    }
}

fn place(unit: &Unit<'_>, around: &Surroundings, op: ExprOp) -> Result<ExprOp, ScalarFault> {
    Ok(match op {
        ExprOp::Iter(iter) => {
            let found = around.iters.iter().rev().find(|(no, _)| *no == iter);
            match found.ok_or(ScalarFault::Unknown(op))?.1 {
                IterValue::Fixed(value) => ExprOp::Const(value),
                IterValue::Loop(at) => ExprOp::Iter(IterNo(at)),
            }
        }
        ExprOp::Load(tensor, ty) => {
            ExprOp::Load(TensorNo(around.tensor(unit, tensor).ok_or(ScalarFault::Unknown(op))?), ty)
        }
        op => op,
    })
}
