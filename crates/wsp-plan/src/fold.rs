//! Making integer expressions: constants are folded, and operands that change nothing are dropped.

use wsp_diag::Span;
use wsp_ir::{BinOp, Const, Expr, ExprKind, ScalarTy, UnOp};

/// A truth value.
pub(crate) fn truth(value: bool, span: Span) -> Expr {
    Expr::new(ExprKind::Const(Const::Bool(value)), ScalarTy::Bool, span)
}

/// An integer of a type.
pub(crate) fn int(value: i128, ty: ScalarTy, span: Span) -> Expr {
    Expr::new(ExprKind::Const(Const::Int(value)), ty, span)
}

/// The truth value when it is a literal.
pub(crate) fn as_bool(expr: &Expr) -> Option<bool> {
    match expr.kind {
        ExprKind::Const(Const::Bool(b)) => Some(b),
        _ => None,
    }
}

/// Whether values of the type are never negative integers.
pub(crate) fn is_unsigned(ty: ScalarTy) -> bool {
    matches!(ty, ScalarTy::U32 | ScalarTy::U64)
}

/// A binary operation on operands of one type.
pub(crate) fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    if let (Some(x), Some(y)) = (a.as_const_int(), b.as_const_int())
        && let Some(folded) = fold(op, x, y, a.ty, a.span.to(b.span))
    {
        return folded;
    }
    if let Some(kept) = neutral(op, &a, &b) {
        return kept;
    }
    Expr::binary(op, a, b)
}

/// `a + b`
pub(crate) fn add(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Add, a, b)
}

/// `a - b`
pub(crate) fn sub(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Sub, a, b)
}

/// `a * b`
pub(crate) fn mul(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Mul, a, b)
}

/// The smaller.
pub(crate) fn min(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Min, a, b)
}

/// The larger.
pub(crate) fn max(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Max, a, b)
}

/// `⌈a / b⌉`
pub(crate) fn ceil_div(a: Expr, b: Expr) -> Expr {
    binary(BinOp::CeilDiv, a, b)
}

/// `!e`, with integer comparisons turned round.
pub(crate) fn not(e: Expr) -> Expr {
    let span = e.span;
    match e.kind {
        ExprKind::Const(Const::Bool(b)) => truth(!b, span),
        ExprKind::Unary(UnOp::Not, inner) => *inner,
        // Comparisons of floats are left alone: with a NaN both `a < b` and `a >= b` are false.
        ExprKind::Binary(op, a, b) if op.is_comparison() && !a.ty.is_float() => {
            let op = match op {
                BinOp::Lt => BinOp::Ge,
                BinOp::Le => BinOp::Gt,
                BinOp::Gt => BinOp::Le,
                BinOp::Ge => BinOp::Lt,
                BinOp::Eq => BinOp::Ne,
                _ => BinOp::Eq,
            };
            Expr::new(ExprKind::Binary(op, a, b), ScalarTy::Bool, span)
        }
        kind => {
            let inner = Expr { kind, ty: e.ty, span };
            Expr::new(ExprKind::Unary(UnOp::Not, Box::new(inner)), ScalarTy::Bool, span)
        }
    }
}

/// An integer or truth value as another integer type.
pub(crate) fn cast(e: Expr, ty: ScalarTy) -> Expr {
    if e.ty == ty {
        return e;
    }
    if let (Some(v), Some(all)) = (e.as_const_int(), ty.range())
        && all.contains(v)
    {
        return int(v, ty, e.span);
    }
    let span = e.span;
    // There and back: conversions are checked, so they keep the value.
    if let ExprKind::Cast(inner) = &e.kind
        && inner.ty == ty
        && ty.is_int()
        && e.ty.is_int()
    {
        return (**inner).clone();
    }
    Expr::new(ExprKind::Cast(Box::new(e)), ty, span)
}

fn fold(op: BinOp, a: i128, b: i128, ty: ScalarTy, span: Span) -> Option<Expr> {
    let value = ty.binary(op, a, b).ok()?;
    Some(if op.is_comparison() { truth(value != 0, span) } else { int(value, ty, span) })
}

fn neutral(op: BinOp, a: &Expr, b: &Expr) -> Option<Expr> {
    let zero_or_less = |e: &Expr| is_unsigned(e.ty) && e.as_const_int() == Some(0);
    let largest = |e: &Expr| e.as_const_int().is_some_and(|v| e.ty.range().is_some_and(|all| v == all.high));
    match (op, a.as_const_int(), b.as_const_int()) {
        (BinOp::Add | BinOp::Sub, _, Some(0)) | (BinOp::Mul | BinOp::Div | BinOp::CeilDiv, _, Some(1)) => {
            Some(a.clone())
        }
        (BinOp::Add, Some(0), _) | (BinOp::Mul, Some(1), _) => Some(b.clone()),
        (BinOp::Mul, Some(0), _) => Some(a.clone()),
        (BinOp::Mul, _, Some(0)) => Some(b.clone()),
        (BinOp::Min | BinOp::Max, ..) if a == b => Some(a.clone()),
        (BinOp::Max, ..) if zero_or_less(a) => Some(b.clone()),
        (BinOp::Max, ..) if zero_or_less(b) => Some(a.clone()),
        (BinOp::Min, ..) if zero_or_less(a) => Some(a.clone()),
        (BinOp::Min, ..) if zero_or_less(b) => Some(b.clone()),
        (BinOp::Min, ..) if largest(a) => Some(b.clone()),
        (BinOp::Min, ..) if largest(b) => Some(a.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::ParamId;

    fn p() -> Expr {
        Expr::new(ExprKind::Param(ParamId(0)), ScalarTy::U32, Span::default())
    }

    fn k(v: u32) -> Expr {
        Expr::u32(v, Span::default())
    }

    #[test]
    fn what_would_overflow_is_not_folded() {
        assert!(sub(k(1), k(2)).as_const_int().is_none());
        assert!(add(k(u32::MAX), k(1)).as_const_int().is_none());
        assert!(ceil_div(k(7), k(0)).as_const_int().is_none());
        assert_eq!(ceil_div(k(u32::MAX), k(2)).as_const_int(), Some(1 << 31));
    }

    #[test]
    fn neutral_operands_vanish() {
        assert_eq!(add(p(), k(0)), p());
        assert_eq!(mul(k(1), p()), p());
        assert_eq!(max(k(0), p()), p());
        assert_eq!(min(p(), k(0)), k(0));
    }

    #[test]
    fn a_negated_comparison_is_the_opposite_one() {
        assert_eq!(not(binary(BinOp::Eq, p(), k(1))), binary(BinOp::Ne, p(), k(1)));
        assert_eq!(not(not(binary(BinOp::Lt, p(), k(1)))), binary(BinOp::Lt, p(), k(1)));
    }
}
