//! Which come next: ordinals and iterations of one AICPU, found without a look at those between.

use super::Rule;
use super::owner::residue;

/// Iterations `first`, `first + period`, `first + 2 * period`, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stride {
    /// The first.
    pub first: u64,
    /// From one to the next; at least 1.
    pub period: u64,
}

impl Stride {
    /// The first that is not below `from`; none when it does not fit.
    #[inline]
    pub fn next_from(&self, from: u64) -> Option<u64> {
        let Some(past) = from.checked_sub(self.first) else { return Some(self.first) };
        match past.checked_rem(self.period)? {
            0 => Some(from),
            over => from.checked_add(self.period.wrapping_sub(over)),
        }
    }

    /// How many there are in `[from, to)`.
    pub fn count(&self, from: u64, to: u64) -> u64 {
        match self.next_from(from) {
            Some(next) if next < to => {
                let last = to.wrapping_sub(1).wrapping_sub(next);
                last.checked_div(self.period).unwrap_or(0).saturating_add(1)
            }
            _ => 0,
        }
    }
}

impl Rule<'_> {
    /// The first ordinal of AICPU `me` of `n` that is not below `ordinal`, of a rule that looks at the ordinal; none when
    /// nothing that follows is its own. Of other rules none.
    #[inline]
    pub fn next_owned(&self, ordinal: u64, n: u16, me: u16) -> Option<u64> {
        match self {
            Rule::RoundRobin => {
                let stride = Stride { first: u64::from(me), period: u64::from(n) };
                stride.next_from(ordinal)
            }
            Rule::Own { start, end } => {
                let next = ordinal.max(*start);
                (next < *end).then_some(next)
            }
            Rule::Ranges(ranges) => {
                let mut range = ranges.find(ordinal)?;
                loop {
                    let (start, end) = ranges.get(range)?;
                    if start < end && range.checked_rem(u32::from(n)) == Some(u32::from(me)) {
                        return Some(ordinal.max(start));
                    }
                    range = range.checked_add(1)?;
                }
            }
            Rule::Affinity(_) | Rule::Key(_) | Rule::Hash(_) => None,
        }
    }
}

/// The numbers `i`, from 0, for which `a * i + b` leaves `me` modulo `n`, by the extended Euclidean algorithm; none when there
/// are none or `n` is 0.
pub fn solve(a: i64, b: i64, n: u16, me: u16) -> Option<Stride> {
    congruence(residue(a, n), residue(b, n), n, me)
}

/// The iterations of a loop, from 0, in which `scale * variable + offset` leaves `me` modulo `n`. The variable is `start` at
/// first and grows by `step`.
pub fn solve_loop(scale: i64, offset: i64, (start, step): (i64, i64), n: u16, me: u16) -> Option<Stride> {
    let product =
        |left: i64, right: i64| i64::from(residue(left, n)).wrapping_mul(i64::from(residue(right, n)));
    let first = product(scale, start).wrapping_add(i64::from(residue(offset, n)));
    congruence(residue(product(scale, step), n), residue(first, n), n, me)
}

/// As [`solve`], of numbers below `n`.
fn congruence(a: u16, b: u16, n: u16, me: u16) -> Option<Stride> {
    if me >= n {
        return None;
    }
    let wanted = residue(i64::from(me).wrapping_sub(i64::from(b)), n);
    let (divisor, inverse) = inverse(a, n);
    if wanted.checked_rem(divisor)? != 0 {
        return None;
    }
    let period = n.checked_div(divisor)?;
    let first = i64::from(wanted.checked_div(divisor)?).wrapping_mul(inverse);
    Some(Stride { first: u64::from(residue(first, period)), period: u64::from(period) })
}

/// The greatest common divisor of `a` and `n`, and a number whose product with `a` is the divisor modulo `n`.
fn inverse(a: u16, n: u16) -> (u16, i64) {
    let (mut left, mut right) = ((i64::from(n), 0i64), (i64::from(a), 1i64));
    while let Some(quotient) = left.0.checked_div(right.0) {
        let rest = left.0.wrapping_sub(quotient.wrapping_mul(right.0));
        let factor = left.1.wrapping_sub(quotient.wrapping_mul(right.1));
        (left, right) = (right, (rest, factor));
    }
    (left.0 as u16, left.1)
}
