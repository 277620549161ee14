//! Bounds of integer expressions: the loop variables in them are replaced by their extremes.
//!
//! The rules are those of [`Bounds`]. `None` stands for a side that is not known; of an unsigned type the lower side then is 0.

use super::sym;
use crate::fold;
use wsp_core::LocalId;
use wsp_core::int::{Bounds, Ends};
use wsp_ir::{BinOp, Expr, ExprKind, ScalarTy};
use wsp_ordered::OrderedMap;

/// Smallest and largest value; ends are expressions.
pub(super) type Interval = Bounds<Expr>;

/// Nothing known but the type.
pub(super) fn unknown(ty: ScalarTy) -> Interval {
    Interval { low: None, high: None, nonneg: fold::is_unsigned(ty) }
}

/// What has grown too large is forgotten.
pub(super) fn small(Interval { low, high, nonneg }: Interval) -> Interval {
    Interval { low: low.filter(sym::is_small), high: high.filter(sym::is_small), nonneg }
}

/// The lower side, 0 where nothing is known of a value that is not negative.
pub(super) fn low_or_zero(interval: &Interval, like: &Expr) -> Option<Expr> {
    interval.low_or(|| fold::int(0, like.ty, like.span))
}

/// The smallest interval that holds both.
pub(super) fn join(a: &Interval, b: &Interval) -> Interval {
    let low = a.low.clone().zip(b.low.clone()).map(|(a, b)| sym::min(a, b));
    let high = a.high.clone().zip(b.high.clone()).map(|(a, b)| fold::max(a, b));
    small(Interval { low, high, nonneg: a.nonneg && b.nonneg })
}

/// Expressions as ends; the result has the type and place of this one.
struct Symbolic<'e>(&'e Expr);

impl Ends for Symbolic<'_> {
    type End = Expr;

    fn binary(&self, op: BinOp, a: Expr, b: Expr) -> Option<Expr> {
        Some(sym::binary(op, a, b))
    }

    fn zero(&self) -> Expr {
        fold::int(0, self.0.ty, self.0.span)
    }

    fn less_one(&self, end: Expr) -> Option<Expr> {
        let one = fold::int(1, end.ty, end.span);
        Some(sym::sub(end, one))
    }

    fn is_unsigned(&self) -> bool {
        fold::is_unsigned(self.0.ty)
    }
}

/// The ranges of the loop variables in scope, free of loop variables themselves.
#[derive(Clone, Default)]
pub(super) struct Ranges(OrderedMap<LocalId, Interval>);

impl Ranges {
    /// Enters a loop.
    pub(super) fn enter(&mut self, var: LocalId, range: Interval) {
        self.0.insert(var, range);
    }

    /// Leaves a loop.
    pub(super) fn leave(&mut self, var: LocalId) {
        self.0.remove(&var);
    }

    /// Whether the expression has a loop variable in it.
    pub(super) fn occur_in(&self, e: &Expr) -> bool {
        !self.0.is_empty() && e.any(&mut |e| matches!(e.kind, ExprKind::Local(l) if self.0.contains_key(&l)))
    }

    /// The lower bound without loop variables.
    pub(super) fn low(&self, e: Expr) -> Option<Expr> {
        if self.is_own_bound(&e) { Some(e) } else { self.interval(&e).low }
    }

    /// The upper bound without loop variables.
    pub(super) fn high(&self, e: Expr) -> Option<Expr> {
        if self.is_own_bound(&e) { Some(e) } else { self.interval(&e).high }
    }

    /// Whether an expression is both of its bounds, which most are: there is no need to copy them.
    fn is_own_bound(&self, e: &Expr) -> bool {
        (e.ty.is_int() || e.ty == ScalarTy::Bool) && !self.occur_in(e)
    }

    /// Bounds without loop variables.
    pub(super) fn interval(&self, e: &Expr) -> Interval {
        if !e.ty.is_int() && e.ty != ScalarTy::Bool {
            return unknown(e.ty);
        }
        if !self.occur_in(e) {
            return Interval::point(e.clone(), self.nonneg(e));
        }
        match &e.kind {
            ExprKind::Local(l) => self.0.get(l).cloned().unwrap_or_else(|| unknown(e.ty)),
            ExprKind::Binary(op, a, b) if a.ty.is_int() && e.ty == a.ty => {
                combine(*op, &self.interval(a), &self.interval(b), e)
            }
            ExprKind::Chain(first, rest) => rest.iter().fold(self.interval(first), |left, (op, operand)| {
                combine(*op, &left, &self.interval(operand), e)
            }),
            ExprKind::Cast(a) => cast(&self.interval(a), a.ty, e.ty),
            ExprKind::Select(c, a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                if self.occur_in(c) { join(&a, &b) } else { choose(c, &a, &b, e) }
            }
            _ => unknown(e.ty),
        }
    }

    /// Whether the value of an expression is never negative, by its form.
    pub(super) fn nonneg(&self, e: &Expr) -> bool {
        if fold::is_unsigned(e.ty) {
            return true;
        }
        match &e.kind {
            ExprKind::Const(_) => e.as_const_int().is_some_and(|v| v >= 0),
            ExprKind::Local(l) => self.0.get(l).is_some_and(|range| range.nonneg),
            ExprKind::Cast(a) => a.ty.is_int() && self.nonneg(a),
            ExprKind::Binary(BinOp::Max, a, b) => self.nonneg(a) || self.nonneg(b),
            ExprKind::Binary(
                BinOp::Add | BinOp::Mul | BinOp::Div | BinOp::Rem | BinOp::Min | BinOp::CeilDiv,
                a,
                b,
            ) => self.nonneg(a) && self.nonneg(b),
            ExprKind::Chain(first, rest) => {
                self.nonneg(first) && rest.iter().all(|(op, e)| *op != BinOp::Sub && self.nonneg(e))
            }
            ExprKind::Select(_, a, b) => self.nonneg(a) && self.nonneg(b),
            _ => false,
        }
    }
}

/// Bounds of `a op b`; `like` has the type and place of the result.
pub(super) fn combine(op: BinOp, a: &Interval, b: &Interval, like: &Expr) -> Interval {
    small(Bounds::binary(&Symbolic(like), op, a, b))
}

/// Bounds after a conversion, which keeps the value.
pub(super) fn cast(a: &Interval, from: ScalarTy, to: ScalarTy) -> Interval {
    if !from.is_int() || !to.is_int() {
        return unknown(to);
    }
    let side = |e: &Option<Expr>| e.clone().map(|e| fold::cast(e, to));
    small(Interval { low: side(&a.low), high: side(&a.high), nonneg: a.nonneg || fold::is_unsigned(to) })
}

fn choose(cond: &Expr, a: &Interval, b: &Interval, like: &Expr) -> Interval {
    let side = |x: Option<Expr>, y: Option<Expr>| {
        let kind = ExprKind::Select(Box::new(cond.clone()), Box::new(x?), Box::new(y?));
        Some(Expr::new(kind, like.ty, like.span))
    };
    let low = side(low_or_zero(a, like), low_or_zero(b, like));
    let high = side(a.high.clone(), b.high.clone());
    small(Interval { low, high, nonneg: a.nonneg && b.nonneg })
}
