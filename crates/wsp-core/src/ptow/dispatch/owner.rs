//! Rules, and what they say of one task.

use super::Ranges;

/// How tasks are given to `n` AICPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule<'a> {
    /// In turn, by ordinal.
    RoundRobin,
    /// By the variable at this depth, modulo `n`; 0 where there is none.
    Affinity(u16),
    /// By the value of a key, modulo `n`; never negative.
    Key(u32),
    /// By the hash of a key.
    Hash(u32),
    /// The `r`-th range of ordinals belongs to `r % n`.
    Ranges(Ranges<'a>),
    /// Ordinals of this AICPU, half-open; those of others are not known.
    Own {
        /// The first.
        start: u64,
        /// One past the last.
        end: u64,
    },
}

/// What a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The ordinal: [`Rule::by_ordinal`] and [`Rule::next_owned`].
    Ordinal,
    /// The variable at this depth, 0 where there is none: [`Rule::by_value`].
    Variable(u16),
    /// The value of a key, an expression over axes: [`Rule::by_value`].
    Key(u32),
}

/// A task that comes after the last range of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PastPartition {
    /// Where the last range ends.
    pub end: u64,
}

impl Rule<'_> {
    /// What it looks at.
    #[inline]
    pub fn source(&self) -> Source {
        match *self {
            Rule::RoundRobin | Rule::Ranges(_) | Rule::Own { .. } => Source::Ordinal,
            Rule::Affinity(depth) => Source::Variable(depth),
            Rule::Key(key) | Rule::Hash(key) => Source::Key(key),
        }
    }

    /// Whether a task belongs to AICPU `me` of `n`, of a rule that looks at the ordinal. Other rules own nothing by it.
    ///
    /// # Errors
    /// When the ordinal is past a partition of the program. A range of a configuration has no such end: what lies outside
    /// belongs to others.
    #[inline]
    pub fn by_ordinal(&self, ordinal: u64, n: u16, me: u16) -> Result<bool, PastPartition> {
        match self {
            Rule::RoundRobin => Ok(ordinal.checked_rem(u64::from(n)) == Some(u64::from(me))),
            Rule::Ranges(ranges) => match ranges.find(ordinal) {
                Some(range) => Ok(range.checked_rem(u32::from(n)) == Some(u32::from(me))),
                None => Err(PastPartition { end: ranges.end() }),
            },
            Rule::Own { start, end } => Ok((*start..*end).contains(&ordinal)),
            Rule::Affinity(_) | Rule::Key(_) | Rule::Hash(_) => Ok(false),
        }
    }

    /// The owner, among `n` AICPUs, of a task with this value of what [`Rule::source`] names. 0 of rules that look at the
    /// ordinal.
    #[inline]
    pub fn by_value(&self, value: i64, n: u16) -> u16 {
        match self {
            Rule::Affinity(_) | Rule::Key(_) => residue(value, n),
            Rule::Hash(_) => mix(value.cast_unsigned()).checked_rem(u64::from(n)).unwrap_or(0) as u16,
            Rule::RoundRobin | Rule::Ranges(_) | Rule::Own { .. } => 0,
        }
    }
}

/// `value mod n`, never negative; 0 when `n` is 0.
#[inline]
pub(super) fn residue(value: i64, n: u16) -> u16 {
    value.checked_rem_euclid(i64::from(n)).unwrap_or(0) as u16
}

/// A fixed bijection of 64-bit words in which every input bit reaches every output bit: alternate multiplications by odd
/// numbers, which move bits up, and shifts, which move them down.
#[inline]
pub const fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    key ^ (key >> 32)
}
