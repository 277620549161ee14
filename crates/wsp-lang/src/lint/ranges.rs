//! What values an integer expression may have, from the types and constants in it.

use wsp_core::LocalId;
use wsp_core::int::Range;
use wsp_ir::{BinOp, Const, Expr, ExprKind, ScalarTy, UnOp};
use wsp_ordered::OrderedMap;

/// Ranges of variables that are narrower than their types; of truth values, 0 is false.
pub(super) type Known = OrderedMap<LocalId, Range>;

/// The values of an integer expression. Arithmetic that leaves its type stops the run, so the type bounds every result.
pub(super) fn range(e: &Expr, known: &Known) -> Option<Range> {
    let all = e.ty.range()?;
    let own = match &e.kind {
        ExprKind::Const(Const::Int(v)) => Some(Range::point(*v)),
        ExprKind::Local(local) => known.get(local).copied(),
        ExprKind::Cast(a) if a.ty.is_int() => range(a, known),
        ExprKind::Unary(UnOp::Neg, a) => range(a, known).and_then(Range::negated),
        ExprKind::Binary(op, a, b) => {
            range(a, known).zip(range(b, known)).and_then(|(a, b)| Range::binary(*op, a, b))
        }
        ExprKind::Chain(first, rest) => range(first, known).and_then(|first| {
            rest.iter().try_fold(first, |left, (op, operand)| {
                Range::binary(*op, left, range(operand, known)?)?.meet(all)
            })
        }),
        ExprKind::Select(_, a, b) => range(a, known).zip(range(b, known)).map(|(a, b)| a.join(b)),
        _ => None,
    };
    own.map_or(Some(all), |own| own.meet(all))
}

/// Whether a condition has the same value whatever the variables in it are: that value, and why.
pub(super) fn truth(e: &Expr, known: &Known) -> Option<(bool, &'static str)> {
    match &e.kind {
        ExprKind::Const(Const::Bool(value)) => Some((*value, "it has no variable in it")),
        ExprKind::Local(local) if e.ty == ScalarTy::Bool => {
            let only = known.get(local).filter(|range| range.low == range.high)?;
            Some((only.low != 0, "the variable in it never changes"))
        }
        ExprKind::Unary(UnOp::Not, a) => truth(a, known).map(|(value, why)| (!value, why)),
        ExprKind::Binary(BinOp::And, a, b) => match (truth(a, known), truth(b, known)) {
            (Some((false, why)), _) | (_, Some((false, why))) => Some((false, why)),
            (Some((true, why)), Some((true, _))) => Some((true, why)),
            _ => excluded(a, b, known).then_some((false, "its two sides exclude each other")),
        },
        ExprKind::Binary(BinOp::Or, a, b) => match (truth(a, known), truth(b, known)) {
            (Some((true, why)), _) | (_, Some((true, why))) => Some((true, why)),
            (Some((false, why)), Some((false, _))) => Some((false, why)),
            _ => covered(a, b, known).then_some((true, "one of its two sides always holds")),
        },
        ExprKind::Binary(op, a, b) if op.is_comparison() => compared(*op, a, b, known),
        _ => None,
    }
}

/// The truth of a comparison of integers.
fn compared(op: BinOp, a: &Expr, b: &Expr, known: &Known) -> Option<(bool, &'static str)> {
    let (left, right) = (range(a, known)?, range(b, known)?);
    if a == b && !matches!(a.kind, ExprKind::Const(_)) {
        let value = matches!(op, BinOp::Le | BinOp::Ge | BinOp::Eq);
        return Some((value, "both sides are the same"));
    }
    Range::compare(op, left, right).map(|value| (value, "the types and constants in it leave no other value"))
}

/// What a comparison of an expression with a constant range says of the expression when it holds.
fn bound<'e>(e: &'e Expr, known: &Known) -> Option<(&'e Expr, Range)> {
    let ExprKind::Binary(op, a, b) = &e.kind else { return None };
    let constant = |e: &Expr| match e.kind {
        ExprKind::Const(Const::Int(v)) => Some(v),
        _ => None,
    };
    let (op, subject, v) = match (constant(a), constant(b)) {
        (None, Some(v)) => (*op, a, v),
        (Some(v), None) => (turned(*op), b, v),
        _ => return None,
    };
    let all = range(subject, known)?;
    let allowed = match op {
        BinOp::Lt => Range::new(all.low, v - 1),
        BinOp::Le => Range::new(all.low, v),
        BinOp::Gt => Range::new(v + 1, all.high),
        BinOp::Ge => Range::new(v, all.high),
        BinOp::Eq => Range::new(v, v),
        _ => return None,
    };
    Some((subject, allowed))
}

/// The comparison with its sides exchanged.
fn turned(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Le => BinOp::Ge,
        BinOp::Gt => BinOp::Lt,
        BinOp::Ge => BinOp::Le,
        other => other,
    }
}

/// Whether two comparisons of one expression cannot both hold.
fn excluded(a: &Expr, b: &Expr, known: &Known) -> bool {
    let both = bound(a, known).zip(bound(b, known));
    both.is_some_and(|((x, left), (y, right))| x == y && left.meet(right).is_none())
}

/// Whether one of two comparisons of one expression always holds.
fn covered(a: &Expr, b: &Expr, known: &Known) -> bool {
    let Some(((x, left), (y, right))) = bound(a, known).zip(bound(b, known)) else { return unequal(a, b) };
    let Some(all) = range(x, known) else { return false };
    let (first, second) = if left.low <= right.low { (left, right) } else { (right, left) };
    let joined = first.low <= all.low && second.high >= all.high && second.low <= first.high + 1;
    (x == y && joined) || unequal(a, b)
}

/// Whether these are `x != c` and `x != d` with different constants.
fn unequal(a: &Expr, b: &Expr) -> bool {
    let other = |e: &Expr| match &e.kind {
        ExprKind::Binary(BinOp::Ne, x, c) => c.as_const_int().map(|c| ((**x).clone(), c)),
        _ => None,
    };
    other(a).zip(other(b)).is_some_and(|((x, c), (y, d))| x == y && c != d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_diag::Span;

    fn local() -> Expr {
        Expr::local(LocalId(0), ScalarTy::U32, Span::default())
    }

    fn number(v: u32) -> Expr {
        Expr::u32(v, Span::default())
    }

    fn value(e: &Expr) -> Option<bool> {
        truth(e, &Known::new()).map(|(value, _)| value)
    }

    #[test]
    fn types_decide_comparisons() {
        assert_eq!(value(&Expr::binary(BinOp::Ge, local(), number(0))), Some(true));
        assert_eq!(value(&Expr::binary(BinOp::Lt, local(), number(0))), Some(false));
        assert_eq!(value(&Expr::binary(BinOp::Gt, local(), number(0))), None);
        assert_eq!(value(&Expr::binary(BinOp::Le, local(), number(u32::MAX))), Some(true));
        let rest = Expr::binary(BinOp::Rem, local(), number(4));
        assert_eq!(value(&Expr::binary(BinOp::Lt, rest.clone(), number(4))), Some(true));
        assert_eq!(value(&Expr::binary(BinOp::Eq, rest.clone(), number(4))), Some(false));
        assert_eq!(value(&Expr::binary(BinOp::Eq, rest, number(3))), None);
        assert_eq!(value(&Expr::binary(BinOp::Eq, local(), local())), Some(true));
    }

    #[test]
    fn two_comparisons_of_one_expression_are_joined() {
        let below = |v| Expr::binary(BinOp::Lt, local(), number(v));
        let above = |v| Expr::binary(BinOp::Gt, local(), number(v));
        assert_eq!(value(&Expr::binary(BinOp::And, below(4), above(8))), Some(false));
        assert_eq!(value(&Expr::binary(BinOp::And, above(4), below(8))), None);
        assert_eq!(value(&Expr::binary(BinOp::Or, below(9), above(4))), Some(true));
        assert_eq!(value(&Expr::binary(BinOp::Or, below(4), above(8))), None);
        let not = |v| Expr::binary(BinOp::Ne, local(), number(v));
        assert_eq!(value(&Expr::binary(BinOp::Or, not(1), not(2))), Some(true));
        assert_eq!(value(&Expr::binary(BinOp::Or, not(1), not(1))), None);
    }

    #[test]
    fn a_known_variable_decides() {
        let known = Known::from([(LocalId(0), Range::new(0, 3))]);
        let below = |v| Expr::binary(BinOp::Lt, local(), number(v));
        assert_eq!(truth(&below(8), &known).map(|(value, _)| value), Some(true));
        assert_eq!(truth(&below(3), &known), None);
    }
}
