//! A set of workers.

use std::ops::Range;

/// A set of worker numbers below a fixed bound.
#[derive(Clone, Debug)]
pub(super) struct WorkerSet {
    words: Vec<u64>,
}

impl WorkerSet {
    /// The empty set, for numbers below `workers`.
    pub(super) fn new(workers: u32) -> WorkerSet {
        WorkerSet { words: vec![0; workers.div_ceil(u64::BITS) as usize] }
    }

    pub(super) fn insert(&mut self, worker: u32) {
        self.words[(worker / u64::BITS) as usize] |= 1 << (worker % u64::BITS);
    }

    pub(super) fn remove(&mut self, worker: u32) {
        self.words[(worker / u64::BITS) as usize] &= !(1 << (worker % u64::BITS));
    }

    /// The smallest member in a range.
    pub(super) fn first_in(&self, range: Range<u32>) -> Option<u32> {
        first(range, |word| self.words[word])
    }

    /// The smallest member in a range that is also one of `other`.
    pub(super) fn first_common(&self, other: &WorkerSet, range: Range<u32>) -> Option<u32> {
        first(range, |word| self.words[word] & other.words[word])
    }

    /// The first member at or after `from` in a range, or else the first of the range.
    pub(super) fn first_around(&self, range: Range<u32>, from: u32) -> Option<u32> {
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
        let mut set = WorkerSet::new(200);
        [3, 64, 190].into_iter().for_each(|worker| set.insert(worker));
        assert_eq!(set.first_in(0..200), Some(3));
        assert_eq!(set.first_in(4..200), Some(64));
        assert_eq!(set.first_in(65..190), None);
        assert_eq!(set.first_in(65..191), Some(190));
        assert_eq!(set.first_around(0..200, 191), Some(3));
        assert_eq!(set.first_around(4..64, 10), None);
        let mut other = WorkerSet::new(200);
        other.insert(190);
        assert_eq!(set.first_common(&other, 0..200), Some(190));
        set.remove(190);
        assert_eq!(set.first_common(&other, 0..200), None);
    }
}
