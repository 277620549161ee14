//! Integers that are linear in how far requests have grown, and for how long the same is true of them.

use wsp_core::int::{Affine, Int as _};
use wsp_ir::{BinOp, ScalarTy};

/// How often every request may grow by one token before something known so far changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reach(pub(super) u64);

/// A value now, and its change per token: a form whose variable is the number of tokens to come.
pub(super) type Linear = Affine<i128, 1>;

/// A value now that changes by `rate` per token.
pub(super) fn linear(value: i128, rate: i64) -> Linear {
    Linear { offset: value, scales: [rate.into()] }
}

/// `a - b - less`; none when that is beyond all integers that programs have.
pub(super) fn above(a: &Linear, b: &Linear, less: i128) -> Option<Linear> {
    a.minus(b)?.minus(&Linear::constant(less))
}

impl Reach {
    /// Nothing is known of what comes next.
    pub(super) fn end(&mut self) {
        self.0 = 0;
    }

    /// `x`, which is not negative, stays so. Of one that is not known nothing is.
    pub(super) fn keep(&mut self, x: Option<Linear>) {
        match x.map(|Linear { offset, scales: [rate] }| (offset, rate)) {
            Some((0.., 0..)) => {}
            Some((value @ 0.., rate)) => {
                let most = u64::try_from(value / -rate).unwrap_or(u64::MAX);
                self.0 = self.0.min(most);
            }
            _ => self.end(),
        }
    }

    /// `x`, which is a value of this type, stays one.
    pub(super) fn keep_in(&mut self, ty: ScalarTy, x: &Linear) {
        let Some(all) = ty.range() else { return self.end() };
        self.keep(above(x, &Linear::constant(all.low), 0));
        self.keep(above(&Linear::constant(all.high), x, 0));
    }

    /// The change per token of `a op b`, whose value now is `value`, on integers of one type.
    pub(super) fn binary(&mut self, op: BinOp, ty: ScalarTy, a: &Linear, b: &Linear, value: i128) -> i64 {
        if a.is_constant() && b.is_constant() {
            return 0;
        }
        let rate = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul => Affine::binary(op, a, b).map(|made| made.scales[0]),
            BinOp::Div => self.quotient(a, b, value).map(|()| 0),
            BinOp::Rem => i128::binary(BinOp::Div, a.offset, b.offset).ok().and_then(|q| {
                self.quotient(a, b, q)?;
                Some(a.minus(&b.times(q)?)?.scales[0])
            }),
            BinOp::CeilDiv => self.ceiling(a, b, value).map(|()| 0),
            BinOp::Min | BinOp::Max => Some(self.pick(op, a, b)),
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => {
                self.compare(op, a, b);
                return 0;
            }
            _ => None,
        };
        let Some(rate) = rate.and_then(|rate| i64::try_from(rate).ok()) else {
            self.end();
            return 0;
        };
        self.keep_in(ty, &linear(value, rate));
        rate
    }

    /// `a / b` stays `q`: `q·b ≤ a < (q + 1)·b`.
    fn quotient(&mut self, a: &Linear, b: &Linear, q: i128) -> Option<()> {
        if a.offset < 0 || b.offset <= 0 {
            return None;
        }
        self.keep(above(b, &Linear::constant(1), 0));
        self.keep(above(a, &b.times(q)?, 0));
        self.keep(above(&b.times(q + 1)?, a, 1));
        Some(())
    }

    /// `a / b`, rounded up, stays `q`: `(q - 1)·b < a ≤ q·b`.
    fn ceiling(&mut self, a: &Linear, b: &Linear, q: i128) -> Option<()> {
        if a.offset < 0 || b.offset <= 0 {
            return None;
        }
        self.keep(above(b, &Linear::constant(1), 0));
        self.keep(above(&b.times(q)?, a, 0));
        self.keep(above(a, &b.times(q - 1)?, 1));
        Some(())
    }

    /// The rate of the smaller or larger, which stays that.
    fn pick(&mut self, op: BinOp, a: &Linear, b: &Linear) -> i128 {
        let order = (a.offset, a.scales) <= (b.offset, b.scales);
        let (small, large) = if order { (a, b) } else { (b, a) };
        self.keep(above(large, small, 0));
        if op == BinOp::Min { small.scales[0] } else { large.scales[0] }
    }

    /// The outcome of a comparison stays what it is.
    fn compare(&mut self, op: BinOp, a: &Linear, b: &Linear) {
        let (a, b) = if matches!(op, BinOp::Gt | BinOp::Ge) { (b, a) } else { (a, b) };
        match op {
            BinOp::Eq | BinOp::Ne if a.offset == b.offset && a.scales != b.scales => self.end(),
            BinOp::Eq | BinOp::Ne if a.offset == b.offset => {}
            BinOp::Lt | BinOp::Gt if a.offset >= b.offset => self.keep(above(a, b, 0)),
            BinOp::Le | BinOp::Ge if a.offset <= b.offset => self.keep(above(b, a, 0)),
            _ if a.offset < b.offset => self.keep(above(b, a, 1)),
            _ => self.keep(above(a, b, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::ops;
    use proptest::prelude::*;

    const OPS: &[BinOp] = &[
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::Rem,
        BinOp::CeilDiv,
        BinOp::Min,
        BinOp::Max,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::BitAnd,
    ];

    proptest! {
        /// The operators themselves are the oracle, on values some tokens on.
        #[test]
        fn within_reach_results_are_linear(
            op in prop::sample::select(OPS),
            a in (0u32..60, -3i64..4),
            b in (0u32..60, -3i64..4),
        ) {
            let at = |(value, rate): (u32, i64), d: i64| i64::from(value) + rate * d;
            let Ok(now) = ops::binary(op, ScalarTy::U32, a.0.into(), b.0.into()) else { return Ok(()) };
            let mut reach = Reach(1000);
            let of = |(value, rate): (u32, i64)| linear(value.into(), rate);
            for operand in [a, b] {
                reach.keep_in(ScalarTy::U32, &of(operand));
            }
            let rate = reach.binary(op, ScalarTy::U32, &of(a), &of(b), now.into());
            for d in 0..=reach.0.min(50) as i64 {
                let want = (now as i64 + rate * d) as u64;
                prop_assert_eq!(ops::binary(op, ScalarTy::U32, at(a, d) as u64, at(b, d) as u64), Ok(want), "{}", d);
            }
        }
    }

    #[test]
    fn reach_ends_where_a_quotient_changes() {
        let mut reach = Reach(u64::MAX);
        assert_eq!(reach.binary(BinOp::CeilDiv, ScalarTy::U32, &linear(90, 1), &linear(64, 0), 2), 0);
        assert_eq!(reach, Reach(38));
        assert_eq!(reach.binary(BinOp::Min, ScalarTy::U32, &linear(90, 1), &linear(100, 0), 90), 1);
        assert_eq!(reach, Reach(10));
    }
}
