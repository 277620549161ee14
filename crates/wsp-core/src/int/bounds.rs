//! Between which ends the results of operators lie, whatever computes the ends.
//!
//! Numbers are ends ([`Range`](super::Range)), and so are expressions whose values are known later. Every rule is monotone. A side that is not
//! known is none.

use super::BinOp;

/// What computes ends.
pub trait Ends {
    /// An end.
    type End: Clone;

    /// The result of an operator; none when there is none, or when it cannot be said.
    fn binary(&self, op: BinOp, a: Self::End, b: Self::End) -> Option<Self::End>;

    /// 0.
    fn zero(&self) -> Self::End;

    /// One less.
    fn less_one(&self, end: Self::End) -> Option<Self::End>;

    /// Whether no result is negative, because what computes it stops instead.
    fn is_unsigned(&self) -> bool;
}

/// The smallest and the largest value, both included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds<E> {
    /// No value is smaller.
    pub low: Option<E>,
    /// No value is larger.
    pub high: Option<E>,
    /// No value is negative.
    pub nonneg: bool,
}

impl<E: Clone> Bounds<E> {
    /// One value.
    pub fn point(value: E, nonneg: bool) -> Bounds<E> {
        Bounds { low: Some(value.clone()), high: Some(value), nonneg }
    }

    /// The lower side, 0 where nothing is known of a value that is not negative.
    pub fn low_or(&self, zero: impl FnOnce() -> E) -> Option<E> {
        self.low.clone().or_else(|| self.nonneg.then(zero))
    }

    /// Where the results of an operator lie that it has for some value of each side.
    pub fn binary<X: Ends<End = E>>(ends: &X, op: BinOp, a: &Bounds<E>, b: &Bounds<E>) -> Bounds<E> {
        let of = |op: BinOp, x: &Option<E>, y: &Option<E>| ends.binary(op, x.clone()?, y.clone()?);
        let both = |x: &Option<E>, y: &Option<E>| of(op, x, y);
        let least = |x: Option<E>, y: Option<E>| match (x, y) {
            (Some(x), Some(y)) => ends.binary(BinOp::Min, x, y),
            (x, y) => x.or(y),
        };
        let nonneg = a.nonneg && b.nonneg;
        let (a_low, b_low) = (a.low_or(|| ends.zero()), b.low_or(|| ends.zero()));
        match op {
            BinOp::Add => Bounds { low: both(&a_low, &b_low), high: both(&a.high, &b.high), nonneg },
            BinOp::Sub => {
                // A difference that would be negative stops what computes it.
                let from = match ends.is_unsigned() {
                    true => of(BinOp::Max, &a_low, &b.high),
                    false => a_low,
                };
                Bounds { low: both(&from, &b.high), high: both(&a.high, &b_low), nonneg: ends.is_unsigned() }
            }
            BinOp::Mul if nonneg => {
                Bounds { low: both(&a_low, &b_low), high: both(&a.high, &b.high), nonneg }
            }
            BinOp::Div | BinOp::CeilDiv if nonneg => {
                let low = both(&a_low, &b.high).or_else(|| Some(ends.zero()));
                Bounds { low, high: both(&a.high, &b_low), nonneg }
            }
            // A shift to the right never makes more of it.
            BinOp::Shr if nonneg => Bounds { low: Some(ends.zero()), high: a.high.clone(), nonneg },
            BinOp::Rem if nonneg => {
                let below = b.high.clone().and_then(|end| ends.less_one(end));
                Bounds { low: Some(ends.zero()), high: least(a.high.clone(), below), nonneg }
            }
            BinOp::BitAnd if nonneg => {
                Bounds { low: Some(ends.zero()), high: least(a.high.clone(), b.high.clone()), nonneg }
            }
            // Not above either side, whatever is known of the other.
            BinOp::Min => {
                Bounds { low: both(&a_low, &b_low), high: least(a.high.clone(), b.high.clone()), nonneg }
            }
            BinOp::Max => {
                let low = both(&a.low, &b.low).or_else(|| a.low.clone().or_else(|| b.low.clone()));
                Bounds { low, high: both(&a.high, &b.high), nonneg: a.nonneg || b.nonneg }
            }
            _ => Bounds { low: None, high: None, nonneg: ends.is_unsigned() },
        }
    }
}
