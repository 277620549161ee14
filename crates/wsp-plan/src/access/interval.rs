//! Bounds of integer expressions: the loop variables in them are replaced by their extremes.
//!
//! Every rule is monotone. `None` stands for a side that is not known; of an unsigned type the lower side then is 0.

use super::sym;
use crate::fold;
use std::collections::BTreeMap;
use wsp_core::LocalId;
use wsp_ir::{BinOp, Expr, ExprKind, ScalarTy};

/// Smallest and largest value, both inclusive.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Interval {
    pub(super) lo: Option<Expr>,
    pub(super) hi: Option<Expr>,
    /// No value is negative.
    pub(super) nonneg: bool,
}

impl Interval {
    /// Nothing known but the type.
    pub(super) fn unknown(ty: ScalarTy) -> Interval {
        Interval { lo: None, hi: None, nonneg: fold::is_unsigned(ty) }
    }

    /// From a lower side to an upper one; what has grown too large is forgotten.
    pub(super) fn new(lo: Option<Expr>, hi: Option<Expr>, nonneg: bool) -> Interval {
        Interval { lo: lo.filter(sym::is_small), hi: hi.filter(sym::is_small), nonneg }
    }

    /// One value.
    pub(super) fn point(e: &Expr, nonneg: bool) -> Interval {
        Interval { lo: Some(e.clone()), hi: Some(e.clone()), nonneg }
    }

    /// The lower side, 0 where nothing is known of a value that is not negative.
    pub(super) fn lo_or_zero(&self, like: &Expr) -> Option<Expr> {
        self.lo.clone().or_else(|| self.nonneg.then(|| fold::int(0, like.ty, like.span)))
    }

    /// The smallest interval that holds both.
    pub(super) fn join(&self, other: &Interval) -> Interval {
        let lo = self.lo.clone().zip(other.lo.clone()).map(|(a, b)| sym::min(a, b));
        let hi = self.hi.clone().zip(other.hi.clone()).map(|(a, b)| fold::max(a, b));
        Interval::new(lo, hi, self.nonneg && other.nonneg)
    }
}

/// The ranges of the loop variables in scope, free of loop variables themselves.
#[derive(Clone, Default)]
pub(super) struct Ranges(BTreeMap<LocalId, Interval>);

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
        e.any(&mut |e| matches!(e.kind, ExprKind::Local(l) if self.0.contains_key(&l)))
    }

    /// Bounds without loop variables.
    pub(super) fn interval(&self, e: &Expr) -> Interval {
        if !e.ty.is_int() && e.ty != ScalarTy::Bool {
            return Interval::unknown(e.ty);
        }
        if !self.occur_in(e) {
            return Interval::point(e, self.nonneg(e));
        }
        match &e.kind {
            ExprKind::Local(l) => self.0.get(l).cloned().unwrap_or_else(|| Interval::unknown(e.ty)),
            ExprKind::Binary(op, a, b) if a.ty.is_int() && e.ty == a.ty => {
                combine(*op, &self.interval(a), &self.interval(b), e)
            }
            ExprKind::Chain(first, rest) => rest.iter().fold(self.interval(first), |left, (op, operand)| {
                combine(*op, &left, &self.interval(operand), e)
            }),
            ExprKind::Cast(a) => cast(&self.interval(a), a.ty, e.ty),
            ExprKind::Select(c, a, b) => {
                let (a, b) = (self.interval(a), self.interval(b));
                if self.occur_in(c) { a.join(&b) } else { choose(c, &a, &b, e) }
            }
            _ => Interval::unknown(e.ty),
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
    let both = |x: &Option<Expr>, y: &Option<Expr>| -> Option<Expr> {
        Some(sym::binary(op, x.clone()?, y.clone()?))
    };
    let nonneg = a.nonneg && b.nonneg;
    let zero = || nonneg.then(|| fold::int(0, like.ty, like.span));
    let (a_lo, b_lo) = (a.lo_or_zero(like), b.lo_or_zero(like));
    match op {
        BinOp::Add => Interval::new(both(&a_lo, &b_lo), both(&a.hi, &b.hi), nonneg),
        BinOp::Sub => {
            let lo = match (a_lo, b.hi.clone()) {
                // The kernel's own difference is not negative, else it stops.
                (Some(x), Some(y)) if fold::is_unsigned(like.ty) => {
                    Some(sym::sub(fold::max(x, y.clone()), y))
                }
                (Some(x), Some(y)) => Some(sym::sub(x, y)),
                _ => None,
            };
            Interval::new(lo, both(&a.hi, &b_lo), fold::is_unsigned(like.ty))
        }
        BinOp::Mul if nonneg => Interval::new(both(&a_lo, &b_lo), both(&a.hi, &b.hi), true),
        BinOp::Div | BinOp::CeilDiv if nonneg => {
            Interval::new(both(&a_lo, &b.hi).or_else(zero), both(&a.hi, &b_lo), true)
        }
        // A shift to the right never makes more of it.
        BinOp::Shr if nonneg => Interval::new(zero(), a.hi.clone(), true),
        BinOp::Rem if nonneg => {
            let below = b.hi.clone().map(|e| sym::sub(e.clone(), fold::int(1, e.ty, e.span)));
            Interval::new(zero(), least(a.hi.clone(), below), true)
        }
        BinOp::BitAnd if nonneg => Interval::new(zero(), least(a.hi.clone(), b.hi.clone()), true),
        BinOp::Min => {
            // Not above either side, whatever is known of the other.
            Interval::new(both(&a_lo, &b_lo), least(a.hi.clone(), b.hi.clone()), nonneg)
        }
        BinOp::Max => {
            let lo = match (a.lo.clone(), b.lo.clone()) {
                (Some(x), Some(y)) => Some(fold::max(x, y)),
                (x, y) => x.or(y),
            };
            Interval::new(lo, both(&a.hi, &b.hi), a.nonneg || b.nonneg)
        }
        _ => Interval::unknown(like.ty),
    }
}

/// Bounds after a conversion, which keeps the value.
pub(super) fn cast(a: &Interval, from: ScalarTy, to: ScalarTy) -> Interval {
    if !from.is_int() || !to.is_int() {
        return Interval::unknown(to);
    }
    let side = |e: &Option<Expr>| e.clone().map(|e| fold::cast(e, to));
    Interval::new(side(&a.lo), side(&a.hi), a.nonneg || fold::is_unsigned(to))
}

fn choose(cond: &Expr, a: &Interval, b: &Interval, like: &Expr) -> Interval {
    let side = |x: Option<Expr>, y: Option<Expr>| {
        let kind = ExprKind::Select(Box::new(cond.clone()), Box::new(x?), Box::new(y?));
        Some(Expr::new(kind, like.ty, like.span))
    };
    let lo = side(a.lo_or_zero(like), b.lo_or_zero(like));
    Interval::new(lo, side(a.hi.clone(), b.hi.clone()), a.nonneg && b.nonneg)
}

fn least(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(sym::min(a, b)),
        (a, b) => a.or(b),
    }
}
