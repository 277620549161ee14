//! Symbolic arithmetic: sums, differences and minima that cancel what loops bring in.
//!
//! Each rule keeps the value as an integer. Some drop a difference that could trap; the kernel computes that difference
//! itself, so where it traps no access follows.

use crate::fold;
use wsp_ir::{BinOp, Expr, ExprKind};

/// Largest expression that a summary carries, in nodes.
pub(crate) const MAX_NODES: usize = 160;

/// `a + b`
pub(super) fn add(a: Expr, b: Expr) -> Expr {
    let (a, b) = if a.as_const_int().is_some() { (b, a) } else { (a, b) };
    if let Some(sum) = add_constant(&a, &b).or_else(|| cancel(&a, &b)).or_else(|| cancel(&b, &a)) {
        return sum;
    }
    fold::add(a, b)
}

/// `a - b`
pub(super) fn sub(a: Expr, b: Expr) -> Expr {
    if a == b {
        return fold::int(0, a.ty, a.span);
    }
    if let ExprKind::Binary(BinOp::Add, x, y) = &a.kind {
        if **y == b {
            return (**x).clone();
        }
        if **x == b {
            return (**y).clone();
        }
    }
    fold::sub(a, b)
}

/// The smaller.
pub(super) fn min(a: Expr, b: Expr) -> Expr {
    for (x, y) in [(&a, &b), (&b, &a)] {
        if let ExprKind::Binary(op, p, q) = &x.kind {
            let absorbed = match op {
                // x + c and x, with c not negative.
                BinOp::Add => **p == *y && q.as_const_int().is_some_and(|c| c >= 0),
                _ => false,
            };
            if absorbed {
                return y.clone();
            }
            if *op == BinOp::Min && (**p == *y || **q == *y) {
                return x.clone();
            }
        }
    }
    fold::min(a, b)
}

/// A binary operation, simplified.
pub(super) fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    match op {
        BinOp::Add => add(a, b),
        BinOp::Sub => sub(a, b),
        BinOp::Min => min(a, b),
        _ => fold::binary(op, a, b),
    }
}

/// Whether an expression has at most [`MAX_NODES`] nodes.
pub(super) fn is_small(e: &Expr) -> bool {
    let mut nodes = 0;
    !e.any(&mut |_| {
        nodes += 1;
        nodes > MAX_NODES
    })
}

/// `(x ± c) + d` for constants `c`, `d`.
fn add_constant(a: &Expr, b: &Expr) -> Option<Expr> {
    let d = b.as_const_int()?;
    let ExprKind::Binary(op, x, c) = &a.kind else { return None };
    let c = c.as_const_int()?;
    let most = a.ty.range()?.high;
    let total = match op {
        BinOp::Add => d + c,
        BinOp::Sub => d - c,
        _ => return None,
    };
    let literal = |v: i128| fold::int(v, a.ty, b.span);
    if total.abs() > most {
        return None;
    }
    let x = (**x).clone();
    Some(if total < 0 { fold::sub(x, literal(-total)) } else { fold::add(x, literal(total)) })
}

/// `a + (b - a)`, and `a + min(p, b - a)` as `min(a + p, b)`.
fn cancel(a: &Expr, sum: &Expr) -> Option<Expr> {
    match &sum.kind {
        ExprKind::Binary(BinOp::Sub, b, x) if **x == *a => Some((**b).clone()),
        ExprKind::Binary(BinOp::Min, p, q) => {
            if let Some(b) = difference_from(q, a) {
                return Some(min(add(a.clone(), (**p).clone()), b));
            }
            difference_from(p, a).map(|b| min(add(a.clone(), (**q).clone()), b))
        }
        _ => None,
    }
}

/// `b` when the expression is `b - a`, also inside minima: `min(b - a, r)` gives `min(b, a + r)`.
fn difference_from(e: &Expr, a: &Expr) -> Option<Expr> {
    match &e.kind {
        ExprKind::Binary(BinOp::Sub, b, x) if **x == *a => Some((**b).clone()),
        ExprKind::Binary(BinOp::Min, ..) => cancel(a, e),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::ParamId;
    use wsp_diag::Span;
    use wsp_ir::ScalarTy;

    fn p(i: u32) -> Expr {
        Expr::new(ExprKind::Param(ParamId(i)), ScalarTy::U32, Span::default())
    }

    fn k(v: u32) -> Expr {
        Expr::u32(v, Span::default())
    }

    #[test]
    fn the_rest_of_a_range_added_to_its_start_ends_with_the_range() {
        let rest = sub(p(1), p(0));
        assert_eq!(add(p(0), rest.clone()), p(1));
        assert_eq!(add(p(0), min(k(64), rest.clone())), min(add(p(0), k(64)), p(1)));
        let twice = min(k(64), min(k(64), rest));
        assert_eq!(add(p(0), twice), min(add(p(0), k(64)), p(1)));
    }

    #[test]
    fn constants_meet() {
        assert_eq!(add(sub(p(0), k(1)), k(1)), p(0));
        assert_eq!(add(k(3), add(p(0), k(2))), add(p(0), k(5)));
        assert_eq!(add(sub(p(0), k(9)), k(2)), sub(p(0), k(7)));
        assert_eq!(min(p(0), add(p(0), k(1))), p(0));
    }

    #[test]
    fn constants_that_would_overflow_stay_apart() {
        let big = add(p(0), k(u32::MAX));
        assert_eq!(add(big.clone(), k(1)), fold::add(big, k(1)));
    }
}
