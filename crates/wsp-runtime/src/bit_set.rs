//! A set of small numbers: of workers, or of places of ready tasks.

use std::ops::Range;

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set, for numbers below `end`.
    pub(crate) fn new(end: u32) -> BitSet {
        BitSet { words: vec![0; end.div_ceil(u64::BITS) as usize] }
    }

    pub(crate) fn insert(&mut self, number: u32) {
        self.words[(number / u64::BITS) as usize] |= 1 << (number % u64::BITS);
    }

    pub(crate) fn remove(&mut self, number: u32) {
        self.words[(number / u64::BITS) as usize] &= !(1 << (number % u64::BITS));
    }

    /// The smallest member in a range.
    pub(crate) fn first_in(&self, range: Range<u32>) -> Option<u32> {
        first(range, |word| self.words[word])
    }

    /// The smallest member in a range that is also one of `other`.
    pub(crate) fn first_common(&self, other: &BitSet, range: Range<u32>) -> Option<u32> {
        first(range, |word| self.words[word] & other.words[word])
    }

    /// The first member at or after `from` in a range, or else the first of the range.
    pub(crate) fn first_around(&self, range: Range<u32>, from: u32) -> Option<u32> {
        self.first_in(from..range.end).or_else(|| self.first_in(range.start..from))
    }
}

fn first(range: Range<u32>, word_of: impl Fn(usize) -> u64) -> Option<u32> {
    let mut at = range.start;
    while at < range.end {
        let word = at / u64::BITS;
        let bits = word_of(word as usize) >> (at % u64::BITS);
        if bits != 0 {
            let found = at + bits.trailing_zeros();
            return (found < range.end).then_some(found);
        }
        at = (word + 1) * u64::BITS;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_within_and_across_words() {
        let mut set = BitSet::new(200);
        [3, 64, 190].into_iter().for_each(|worker| set.insert(worker));
        assert_eq!(set.first_in(0..200), Some(3));
        assert_eq!(set.first_in(4..200), Some(64));
        assert_eq!(set.first_in(65..190), None);
        assert_eq!(set.first_in(65..191), Some(190));
        assert_eq!(set.first_around(0..200, 191), Some(3));
        assert_eq!(set.first_around(0..200, 64), Some(64));
        assert_eq!(set.first_around(4..64, 10), None);
        let mut other = BitSet::new(200);
        other.insert(190);
        assert_eq!(set.first_common(&other, 0..200), Some(190));
        set.remove(190);
        assert_eq!(set.first_common(&other, 0..200), None);
    }
}
