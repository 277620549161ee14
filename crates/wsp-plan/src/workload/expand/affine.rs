//! Integer expressions as sums of scaled registers.
//!
//! A form stands for its expression only while every register lies within [`REGISTER_BOUND`]: then no operation of the
//! expression overflows, as the scales of every sub-expression stay within [`SCALE_BOUND`] in sum.

use super::super::eval::{Closed, Values, eval};
use wsp_ir::workload::{IntExpr, IntExprKind};
use wsp_ir::{BinOp, UnOp};

/// Registers of forms lie in `[-2^31, 2^31)`.
pub(super) const REGISTER_BOUND: i64 = 1 << 31;
/// Scales and offset of a form are at most this in sum.
const SCALE_BOUND: u64 = 1 << 31;

/// `scale * register`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Term {
    pub(super) register: u32,
    pub(super) scale: i64,
}

/// A sum of terms, in the order of their registers, and an offset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Form {
    pub(super) terms: Vec<Term>,
    pub(super) offset: i64,
}

/// The form of an expression whose variables are registers from `base`; none if it has none.
pub(super) fn form(expr: &IntExpr, values: &Values, base: u32) -> Option<Form> {
    let of = |operand: &IntExpr| form(operand, values, base);
    let found = match &expr.kind {
        IntExprKind::Var(var) => {
            Some(Form { terms: vec![Term { register: base + var.0, scale: 1 }], offset: 0 })
        }
        IntExprKind::Binary(BinOp::Add, left, right) => of(left).zip(of(right)).map(|(l, r)| l.plus(&r, 1)),
        IntExprKind::Binary(BinOp::Sub, left, right) => of(left).zip(of(right)).map(|(l, r)| l.plus(&r, -1)),
        IntExprKind::Unary(UnOp::Neg, operand) => of(operand).map(|form| Form::default().plus(&form, -1)),
        IntExprKind::Binary(BinOp::Mul, left, right) => of(left).zip(of(right)).and_then(|(l, r)| {
            let (form, scale) = if r.terms.is_empty() { (l, r.offset) } else { (r, l.constant()?) };
            Some(Form::default().plus(&form, scale))
        }),
        _ if is_closed(expr) => {
            let value = eval(expr, &mut Closed(values)).ok()?;
            Some(Form { terms: Vec::new(), offset: value })
        }
        _ => None,
    };
    found.filter(Form::is_small)
}

impl Form {
    /// Its value if it has no terms.
    pub(super) fn constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.offset)
    }

    /// `self + scale * other`; operands that are small give no overflow worth keeping, as the result is then not small.
    pub(super) fn plus(&self, other: &Form, scale: i64) -> Form {
        let mut terms = self.terms.clone();
        for term in &other.terms {
            let scaled = term.scale.saturating_mul(scale);
            match terms.binary_search_by_key(&term.register, |t| t.register) {
                Ok(at) => terms[at].scale = terms[at].scale.saturating_add(scaled),
                Err(at) => terms.insert(at, Term { register: term.register, scale: scaled }),
            }
        }
        terms.retain(|term| term.scale != 0);
        Form { terms, offset: self.offset.saturating_add(other.offset.saturating_mul(scale)) }
    }

    /// Whether scales and offset are within their bound in sum.
    pub(super) fn is_small(&self) -> bool {
        let scales = self.terms.iter().map(|term| term.scale.unsigned_abs());
        scales.fold(self.offset.unsigned_abs(), u64::saturating_add) <= SCALE_BOUND
    }
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
        let terms = vec![Term { register: 10, scale: 1 }, Term { register: 11, scale: 64 }];
        assert_eq!(found, Form { terms, offset: -64 });
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
        assert_eq!(form(&zero, &Values::default(), 0).and_then(|form| form.constant()), Some(0));
    }
}
