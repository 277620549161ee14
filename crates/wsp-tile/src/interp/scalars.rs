//! Scalar expressions of a running program.

use super::{Fault, World};
use crate::{codes, eval};
use wsp_core::LocalId;
use wsp_ir::{ArrayRef, BinOp, Const, Expr, ExprKind};
use wsp_ordered::OrderedMap;

/// Values of variables.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) values: OrderedMap<LocalId, Const>,
    pub(super) arrays: OrderedMap<LocalId, ArrayRef>,
}

impl Frame {
    /// The value of an expression.
    pub(super) fn value(&self, e: &Expr, world: &World) -> Result<Const, Fault> {
        let stop = |why: String| Fault::new(codes::STOPPED, why).at(e.span);
        let of = |inner: &Expr| self.value(inner, world);
        let found = match &e.kind {
            ExprKind::Const(value) => return Ok(*value),
            ExprKind::Local(local) => {
                return self
                    .values
                    .get(local)
                    .copied()
                    .ok_or_else(|| stop(format!("variable {} has no value", local.0)));
            }
            ExprKind::Param(id) => {
                let value = world.params.get(id.index()).copied().flatten();
                return value.ok_or_else(|| stop(format!("parameter {} has no value", id.0)));
            }
            ExprKind::Field(_, field) => {
                let word = world.descriptor.get(*field as usize);
                return word
                    .map(|word| Const::Int(i128::from(*word)))
                    .ok_or_else(|| stop(format!("field {field} has no value")));
            }
            ExprKind::Unary(op, a) => eval::unary(*op, a.ty, of(a)?),
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => {
                let left = of(a)?;
                return if left == Const::Bool(*op == BinOp::And) { of(b) } else { Ok(left) };
            }
            ExprKind::Binary(op, a, b) => eval::binary(*op, a.ty, of(a)?, of(b)?),
            ExprKind::Chain(first, rest) => {
                let mut value = of(first)?;
                for (op, operand) in rest {
                    let right = of(operand)?;
                    value =
                        eval::binary(*op, first.ty, value, right).map_err(|why| stop(format!("{why:?}")))?;
                }
                Ok(value)
            }
            ExprKind::Cast(a) => eval::cast(e.ty, of(a)?),
            ExprKind::Select(cond, a, b) => {
                return if of(cond)? == Const::Bool(true) { of(a) } else { of(b) };
            }
            ExprKind::Math(f, a) => eval::math(*f, a.ty, of(a)?),
            ExprKind::Load(array, at) => {
                let array = self.array(*array);
                let (Const::Int(at), Some((_, values))) =
                    (of(at)?, world.arrays.iter().find(|(of, _)| *of == array))
                else {
                    return Err(stop(format!("{array:?} has no values")));
                };
                let value = usize::try_from(at).ok().and_then(|at| values.get(at));
                return value
                    .map(|value| Const::Int(*value))
                    .ok_or_else(|| stop(format!("element {at} of {array:?}, which has {}", values.len())));
            }
            other => return Err(stop(format!("no value here for {other:?}"))),
        };
        found.map_err(|why| stop(format!("{why:?}")))
    }
}
