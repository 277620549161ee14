//! Between which numbers the results of operators lie.

use super::{BinOp, Bounds, Ends, Int};

/// Integers from `low` to `high`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The smallest.
    pub low: i128,
    /// The largest.
    pub high: i128,
}

/// Numbers as ends.
struct Numbers;

impl Ends for Numbers {
    type End = i128;

    fn binary(&self, op: BinOp, a: i128, b: i128) -> Option<i128> {
        i128::binary(op, a, b).ok()
    }

    fn zero(&self) -> i128 {
        0
    }

    fn less_one(&self, end: i128) -> Option<i128> {
        end.checked_sub(1)
    }

    fn is_unsigned(&self) -> bool {
        false
    }
}

impl Range {
    /// Integers from one to another, both included.
    pub const fn new(low: i128, high: i128) -> Range {
        Range { low, high }
    }

    /// One integer.
    pub const fn point(value: i128) -> Range {
        Range { low: value, high: value }
    }

    /// Whether an integer is one of them.
    pub fn contains(self, value: i128) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The only integer, if there is one only.
    pub fn value(self) -> Option<i128> {
        (self.low == self.high).then_some(self.low)
    }

    /// What both have; none when they exclude each other.
    pub fn meet(self, other: Range) -> Option<Range> {
        let met = Range { low: self.low.max(other.low), high: self.high.min(other.high) };
        (met.low <= met.high).then_some(met)
    }

    /// The least range that has all of both.
    #[must_use]
    pub fn join(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The negatives; none when 128 bits do not hold them.
    pub fn negated(self) -> Option<Range> {
        Some(Range { low: self.high.checked_neg()?, high: self.low.checked_neg()? })
    }

    /// Each of them plus `step` times each number from 0 to `last`; none when 128 bits do not hold them. This is a sum of
    /// multiples of loop variables, a variable at a time.
    pub fn plus_steps(self, step: i128, last: i128) -> Option<Range> {
        let reach = step.checked_mul(last)?;
        Some(Range { low: self.low.checked_add(reach.min(0))?, high: self.high.checked_add(reach.max(0))? })
    }

    /// Where the results of an operator lie that it has for some value of each side; none when that is not known.
    pub fn binary(op: BinOp, a: Range, b: Range) -> Option<Range> {
        if let (Some(left), Some(right)) = (a.value(), b.value()) {
            return i128::binary(op, left, right).ok().map(Range::point);
        }
        let is_divided = matches!(op, BinOp::Div | BinOp::CeilDiv | BinOp::Rem);
        match op {
            BinOp::Mul => a.products(b),
            BinOp::Shr => None,
            _ if is_divided && (a.low < 0 || b.low <= 0) => None,
            _ if op.is_comparison() => Some(match Range::compare(op, a, b) {
                Some(holds) => Range::point(i128::from(holds)),
                None => Range { low: 0, high: 1 },
            }),
            _ if op.is_logic() => Some(Range { low: 0, high: 1 }),
            _ => {
                let found = Bounds::binary(&Numbers, op, &a.bounds(), &b.bounds());
                Some(Range { low: found.low?, high: found.high? })
            }
        }
    }

    fn bounds(self) -> Bounds<i128> {
        Bounds { low: Some(self.low), high: Some(self.high), nonneg: self.low >= 0 }
    }

    /// Whether a comparison holds for every value of both sides, or for none.
    pub fn compare(op: BinOp, a: Range, b: Range) -> Option<bool> {
        let sure = |always: bool, never: bool| if always || never { Some(always) } else { None };
        match op {
            BinOp::Lt => sure(a.high < b.low, a.low >= b.high),
            BinOp::Le => sure(a.high <= b.low, a.low > b.high),
            BinOp::Gt => sure(a.low > b.high, a.high <= b.low),
            BinOp::Ge => sure(a.low >= b.high, a.high < b.low),
            BinOp::Eq => sure(a.value().is_some() && a == b, a.meet(b).is_none()),
            BinOp::Ne => sure(a.meet(b).is_none(), a.value().is_some() && a == b),
            _ => None,
        }
    }

    /// Where the products lie.
    fn products(self, other: Range) -> Option<Range> {
        let ends =
            [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let mut all: Option<Range> = None;
        for (left, right) in ends {
            let product = Range::point(left.checked_mul(right)?);
            all = Some(all.map_or(product, |all| all.join(product)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every result of every operator over small ranges lies where it is said to, and both ends are as near as the operator allows.
    #[test]
    fn results_lie_in_their_range() {
        let ranges = || (-4..=4i128).flat_map(|low| (low..=4).map(move |high| Range::new(low, high)));
        for &op in BinOp::ALL {
            for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
                let Some(within) = Range::binary(op, a, b) else { continue };
                for (x, y) in (a.low..=a.high).flat_map(|x| (b.low..=b.high).map(move |y| (x, y))) {
                    if let Ok(value) = i128::binary(op, x, y) {
                        assert!(
                            within.contains(value),
                            "{op:?} of {x} and {y} is {value}, not in {within:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn ends_of_sums_differences_and_products_are_reached() {
        let (a, b) = (Range::new(-2, 3), Range::new(-5, 7));
        assert_eq!(Range::binary(BinOp::Add, a, b), Some(Range::new(-7, 10)));
        assert_eq!(Range::binary(BinOp::Sub, a, b), Some(Range::new(-9, 8)));
        assert_eq!(Range::binary(BinOp::Mul, a, b), Some(Range::new(-15, 21)));
        assert_eq!(Range::binary(BinOp::Rem, Range::new(0, 9), Range::new(1, 4)), Some(Range::new(0, 3)));
        assert_eq!(Range::point(5).plus_steps(-2, 3), Some(Range::new(-1, 5)));
        assert_eq!(Range::binary(BinOp::Add, Range::new(0, i128::MAX), b), None);
    }
}
