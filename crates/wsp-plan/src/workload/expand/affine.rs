//! Integer expressions as sums of scaled registers.
//!
//! A form stands for its expression only while every register lies within [`REGISTER_BOUND`]: then no operation of the
//! expression overflows, as the scales of every sub-expression stay within [`SCALE_BOUND`] in sum.

use super::super::eval::{Closed, Values, eval};
use wsp_core::int::Int as _;
use wsp_ir::affine::Affine;
use wsp_ir::workload::{IntExpr, IntExprKind};
use wsp_ir::{BinOp, UnOp};

/// Registers of forms lie in `[-2^31, 2^31)`.
pub(super) const REGISTER_BOUND: i64 = 1 << 31;
/// Scales and offset of a form are at most this in sum.
const SCALE_BOUND: u128 = 1 << 31;

/// A sum of multiples of registers.
pub(super) type Form = Affine<u32>;

/// The form of an expression whose variables are registers from `base`; none if it has none.
pub(super) fn form(expr: &IntExpr, values: &Values, base: u32) -> Option<Form> {
    let of = |operand: &IntExpr| form(operand, values, base);
    let found = match &expr.kind {
        IntExprKind::Var(var) => Some(Form::variable(base + var.0)),
        IntExprKind::Binary(op, left, right) if op.is_sum() || *op == BinOp::Mul => {
            combined(*op, &of(left)?, &of(right)?)
        }
        IntExprKind::Unary(UnOp::Neg, operand) => of(operand)?.times(-1),
        _ if is_closed(expr) => eval(expr, &mut Closed(values)).ok().map(Form::constant),
        IntExprKind::Chain(first, rest) => rest
            .iter()
            .try_fold(of(first)?, |left, (op, operand)| combined(*op, &left, &of(operand)?).filter(is_small)),
        _ => None,
    };
    found.filter(is_small)
}

/// The form of an operation of a sum or a product.
fn combined(op: BinOp, left: &Form, right: &Form) -> Option<Form> {
    match op {
        BinOp::Add => left.add(right),
        BinOp::Sub => left.minus(right),
        BinOp::Mul => left.multiply(right),
        _ => {
            let constant = |form: &Form| i64::try_from(form.as_constant()?).ok();
            i64::binary(op, constant(left)?, constant(right)?).ok().map(Form::constant)
        }
    }
}

/// Whether scales and offset are within their bound in sum.
pub(super) fn is_small(form: &Form) -> bool {
    let scales = form.terms.iter().map(|(_, scale)| scale.unsigned_abs());
    scales.fold(form.constant.unsigned_abs(), u128::saturating_add) <= SCALE_BOUND
}

/// Whether an expression names no variable, axis and slot.
pub(super) fn is_closed(expr: &IntExpr) -> bool {
    let mut closed = true;
    expr.each(&mut |kind| {
        closed &= !matches!(kind, IntExprKind::Var(_) | IntExprKind::Axis(_) | IntExprKind::Slot(_));
    });
    closed
}

/// Whether an expression names a slot.
pub(super) fn names_slot(expr: &IntExpr) -> bool {
    let mut found = false;
    expr.each(&mut |kind| found |= matches!(kind, IntExprKind::Slot(_)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::VarId;

    fn var(n: u32) -> IntExpr {
        IntExpr::new(IntExprKind::Var(VarId(n)))
    }

    fn binary(op: BinOp, left: IntExpr, right: IntExpr) -> IntExpr {
        IntExpr::new(IntExprKind::Binary(op, Box::new(left), Box::new(right)))
    }

    #[test]
    fn sums_of_scaled_variables_have_a_form() {
        let scaled = binary(BinOp::Mul, 64.into(), binary(BinOp::Sub, var(1), 1.into()));
        let sum = binary(BinOp::Add, scaled, var(0));
        let found = form(&sum, &Values::default(), 10).expect("a form");
        assert_eq!(found, Form { terms: vec![(10, 1), (11, 64)], constant: -64 });
    }

    #[test]
    fn a_chain_has_the_form_of_nested_operators() {
        use BinOp::{Add, Div, Mul, Rem, Sub};
        let sum = vec![(Add, binary(Mul, 64.into(), var(0))), (Sub, 5.into()), (Add, var(2)), (Sub, var(1))];
        let product = vec![(Div, 4.into()), (Mul, 3.into()), (Rem, 7.into()), (Mul, var(2))];
        let late = vec![(Mul, var(2)), (Div, 4.into())];
        let square = vec![(Mul, var(1)), (Mul, var(2))];
        let (large, zero) =
            (vec![(Add, var(0)), (Add, (1i64 << 40).into())], vec![(Rem, 0.into()), (Mul, var(1))]);
        for (first, rest) in [
            (var(1), sum),
            (9.into(), product),
            (8.into(), late),
            (2.into(), square),
            (var(1), large),
            (6.into(), zero),
        ] {
            let nested =
                rest.iter().fold(first.clone(), |left, (op, right)| binary(*op, left, right.clone()));
            let chain = IntExpr::new(IntExprKind::Chain(Box::new(first), rest));
            assert_eq!(
                form(&chain, &Values::default(), 10),
                form(&nested, &Values::default(), 10),
                "{chain:?}"
            );
        }
        let closed = vec![(Mul, (1i64 << 40).into()), (Div, (1i64 << 38).into())];
        let closed = IntExpr::new(IntExprKind::Chain(Box::new(6.into()), closed));
        assert_eq!(form(&closed, &Values::default(), 0), Some(Form::constant(24)));
    }

    #[test]
    fn products_quotients_and_large_scales_have_none() {
        let none = |expr| assert_eq!(form(&expr, &Values::default(), 0), None);
        none(binary(BinOp::Mul, var(0), var(1)));
        none(binary(BinOp::Div, var(0), 2.into()));
        let large = binary(BinOp::Mul, var(0), (1i64 << 40).into());
        none(binary(BinOp::Sub, large.clone(), large));
        none(binary(BinOp::Div, 1.into(), 0.into()));
    }

    #[test]
    fn variables_that_cancel_leave_a_constant() {
        let zero = binary(BinOp::Sub, var(3), var(3));
        assert_eq!(form(&zero, &Values::default(), 0).and_then(|form| form.as_constant()), Some(0));
    }
}
