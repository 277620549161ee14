//! Integers that are linear in how far requests have grown, and for how long the same is true of them.

use wsp_ir::{BinOp, ScalarTy};

/// How often every request may grow by one token before something known so far changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reach(pub(super) u64);

/// A value now, and its change per token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Linear {
    pub(super) value: i128,
    pub(super) rate: i128,
}

impl Linear {
    pub(super) fn new(value: i128, rate: i64) -> Linear {
        Linear { value, rate: rate.into() }
    }

    /// `self - other - less`
    fn above(self, other: Linear, less: i128) -> Linear {
        Linear { value: self.value - other.value - less, rate: self.rate - other.rate }
    }

    /// `factor` times the value; none when that is beyond all integers that programs have.
    fn times(self, factor: i128) -> Option<Linear> {
        Some(Linear { value: self.value.checked_mul(factor)?, rate: self.rate.checked_mul(factor)? })
    }
}

impl Reach {
    /// Nothing is known of what comes next.
    pub(super) fn end(&mut self) {
        self.0 = 0;
    }

    /// `x`, which is not negative, stays so.
    pub(super) fn keep(&mut self, x: Linear) {
        if x.value < 0 {
            self.end();
        } else if x.rate < 0 {
            let most = u64::try_from(x.value / -x.rate).unwrap_or(u64::MAX);
            self.0 = self.0.min(most);
        }
    }

    /// `x`, which is a value of this type, stays one.
    pub(super) fn keep_in(&mut self, ty: ScalarTy, x: Linear) {
        let Some(all) = ty.range() else { return self.end() };
        self.keep(x.above(Linear { value: all.low, rate: 0 }, 0));
        self.keep(Linear { value: all.high, rate: 0 }.above(x, 0));
    }

    /// The change per token of `a op b`, whose value now is `value`, on integers of one type.
    pub(super) fn binary(&mut self, op: BinOp, ty: ScalarTy, a: Linear, b: Linear, value: i128) -> i64 {
        if a.rate == 0 && b.rate == 0 {
            return 0;
        }
        let rate = match op {
            BinOp::Add => Some(a.rate + b.rate),
            BinOp::Sub => Some(a.rate - b.rate),
            BinOp::Mul if a.rate == 0 => a.value.checked_mul(b.rate),
            BinOp::Mul if b.rate == 0 => b.value.checked_mul(a.rate),
            BinOp::Div => self.quotient(a, b, value).map(|()| 0),
            BinOp::Rem => a.value.checked_div(b.value).and_then(|q| {
                self.quotient(a, b, q)?;
                Some(a.rate - q.checked_mul(b.rate)?)
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
        self.keep_in(ty, Linear::new(value, rate));
        rate
    }

    /// `a / b` stays `q`: `q·b ≤ a < (q + 1)·b`.
    fn quotient(&mut self, a: Linear, b: Linear, q: i128) -> Option<()> {
        if a.value < 0 || b.value <= 0 {
            return None;
        }
        self.keep(b.above(Linear { value: 1, rate: 0 }, 0));
        self.keep(a.above(b.times(q)?, 0));
        self.keep(b.times(q + 1)?.above(a, 1));
        Some(())
    }

    /// `a / b`, rounded up, stays `q`: `(q - 1)·b < a ≤ q·b`.
    fn ceiling(&mut self, a: Linear, b: Linear, q: i128) -> Option<()> {
        if a.value < 0 || b.value <= 0 {
            return None;
        }
        self.keep(b.above(Linear { value: 1, rate: 0 }, 0));
        self.keep(b.times(q)?.above(a, 0));
        self.keep(a.above(b.times(q - 1)?, 1));
        Some(())
    }

    /// The rate of the smaller or larger, which stays that.
    fn pick(&mut self, op: BinOp, a: Linear, b: Linear) -> i128 {
        let order = (a.value, a.rate) <= (b.value, b.rate);
        let (small, large) = if order { (a, b) } else { (b, a) };
        self.keep(large.above(small, 0));
        if op == BinOp::Min { small.rate } else { large.rate }
    }

    /// The outcome of a comparison stays what it is.
    fn compare(&mut self, op: BinOp, a: Linear, b: Linear) {
        let (a, b) = if matches!(op, BinOp::Gt | BinOp::Ge) { (b, a) } else { (a, b) };
        match op {
            BinOp::Eq | BinOp::Ne if a.value == b.value && a.rate != b.rate => self.end(),
            BinOp::Eq | BinOp::Ne if a.value == b.value => {}
            BinOp::Lt | BinOp::Gt if a.value >= b.value => self.keep(a.above(b, 0)),
            BinOp::Le | BinOp::Ge if a.value <= b.value => self.keep(b.above(a, 0)),
            _ if a.value < b.value => self.keep(b.above(a, 1)),
            _ => self.keep(a.above(b, 1)),
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
            let linear = |(value, rate): (u32, i64)| Linear::new(value.into(), rate);
            for operand in [a, b] {
                reach.keep_in(ScalarTy::U32, linear(operand));
            }
            let rate = reach.binary(op, ScalarTy::U32, linear(a), linear(b), now.into());
            for d in 0..=reach.0.min(50) as i64 {
                let want = (now as i64 + rate * d) as u64;
                prop_assert_eq!(ops::binary(op, ScalarTy::U32, at(a, d) as u64, at(b, d) as u64), Ok(want), "{}", d);
            }
        }
    }

    #[test]
    fn reach_ends_where_a_quotient_changes() {
        let mut reach = Reach(u64::MAX);
        assert_eq!(reach.binary(BinOp::CeilDiv, ScalarTy::U32, Linear::new(90, 1), Linear::new(64, 0), 2), 0);
        assert_eq!(reach, Reach(38));
        assert_eq!(reach.binary(BinOp::Min, ScalarTy::U32, Linear::new(90, 1), Linear::new(100, 0), 90), 1);
        assert_eq!(reach, Reach(10));
    }
}
