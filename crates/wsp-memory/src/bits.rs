//! Sets of units of memory, a bit each, which several threads change at a time.
//!
//! # Protocol
//! A bit is set, cleared and read by tasks that access its unit. The task graph orders tasks that access a unit that one of them
//! writes, and so their accesses of its bit; `missing` and the like are asked when no task runs. Bits of other units in a word
//! are kept by atomic read-modify-write operations. So no operation orders another, and all are relaxed. Where a unit is more
//! than what tasks store at a time, several may set its bit, and one that loads what was stored before it sees the bit set.
//!
//! Of a word whose bits are all set a bit of its own may be set, which spares looking at the word. Who sets it adds all units of the word at once, and who
//! takes one of them away clears it first: the units that both have order the two. Another bit of its own is set of every word that has bits, so that
//! taking all away costs as much as there is, in a large memory of which little is used too.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use zerocopy::FromZeros;

/// A set of numbers below a bound.
#[derive(Debug)]
pub(crate) struct Bits {
    words: Words,
    /// Some of the words that have all of their bits.
    full: Words,
    /// All of the words that have bits, and some that had.
    used: Words,
}

/// Words, a bit for each number.
#[derive(Debug)]
struct Words(Box<[AtomicU64]>);

/// Some numbers of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Gaps {
    /// How many groups have one of them.
    pub(crate) groups: usize,
    pub(crate) first: Option<usize>,
}

impl Bits {
    /// The empty set of numbers below `bound`; none if the machine refuses the memory.
    pub(crate) fn new(bound: usize) -> Option<Bits> {
        let words = bound.div_ceil(64);
        let of_words = || Words::zeros(words.div_ceil(64));
        Some(Bits { words: Words::zeros(words)?, full: of_words()?, used: of_words()? })
    }

    /// Adds a range that is not empty.
    pub(crate) fn insert(&self, begin: usize, end: usize) {
        let (low, high) = (begin / 64, end.div_ceil(64));
        if let Some((word, mask)) = self.words.one(begin, end) {
            if word.load(Relaxed) == 0 {
                self.used.insert(low, high);
            }
            return add(word, mask);
        }
        if !self.used.covers(low, high) {
            self.used.insert(low, high);
        }
        let (first, last) = (begin.div_ceil(64), end / 64);
        if first >= last {
            return self.words.insert(begin, end);
        }
        if !self.full.covers(first, last) {
            self.words.0[first..last].iter().for_each(|word| word.store(u64::MAX, Relaxed));
            self.full.insert(first, last);
        }
        for (begin, end) in [(begin, first * 64), (last * 64, end)] {
            if begin < end {
                self.words.insert(begin, end);
            }
        }
    }

    /// Takes a range that is not empty away.
    pub(crate) fn remove(&self, begin: usize, end: usize) {
        self.full.remove(begin / 64, end.div_ceil(64));
        self.words.remove(begin, end);
    }

    /// Takes all away.
    pub(crate) fn clear(&self) {
        for ((used, full), words) in self.used.0.iter().zip(&self.full.0).zip(self.words.0.chunks(64)) {
            if used.load(Relaxed) != 0 {
                [used, full].into_iter().chain(words).for_each(|word| word.store(0, Relaxed));
            }
        }
    }

    /// Whether it has no number.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.0.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// Whether it has every number of a range that is not empty.
    pub(crate) fn covers(&self, begin: usize, end: usize) -> bool {
        match self.words.one(begin, end) {
            Some((word, mask)) => word.load(Relaxed) & mask == mask,
            None => self.full.covers(begin / 64, end.div_ceil(64)) || self.words.covers(begin, end),
        }
    }

    /// What it and `other`, which has the same bound, lack together of a range, in groups of so many numbers from its begin on.
    pub(crate) fn gaps(&self, other: Option<&Bits>, begin: usize, end: usize, group: usize) -> Gaps {
        self.lacks(begin, end, group, |at| !other.map_or(0, |other| other.words.0[at].load(Relaxed)))
    }

    /// What it lacks of a range and `other`, which has the same bound, has, in such groups.
    pub(crate) fn gaps_in(&self, other: &Bits, begin: usize, end: usize, group: usize) -> Gaps {
        self.lacks(begin, end, group, |at| other.words.0[at].load(Relaxed))
    }

    /// What it lacks of a range, of the numbers whose bits `among` has, word by word.
    fn lacks(&self, begin: usize, end: usize, group: usize, among: impl Fn(usize) -> u64) -> Gaps {
        let (mut found, mut counted) = (Gaps::default(), begin);
        for (at, (word, mask)) in (begin / 64..).zip(self.words.parts(begin, end)) {
            let mut lacks = mask & !word.load(Relaxed) & among(at);
            if lacks == 0 {
                continue;
            }
            found.first.get_or_insert(at * 64 + lacks.trailing_zeros() as usize);
            if group == 1 {
                found.groups += lacks.count_ones() as usize;
                continue;
            }
            while lacks != 0 {
                let next = at * 64 + lacks.trailing_zeros() as usize;
                if next >= counted {
                    found.groups += 1;
                    counted = next + group - (next - begin) % group;
                }
                lacks &= u64::MAX.checked_shl((counted - at * 64) as u32).unwrap_or(0);
            }
        }
        found
    }

    /// Begin and end of each run of neighbours in a range, in order.
    pub(crate) fn runs(&self, begin: usize, end: usize) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (at, (word, mask)) in (begin / 64..).zip(self.words.parts(begin, end)) {
            let mut left = word.load(Relaxed) & mask;
            if let Some((_, to)) = runs.last_mut()
                && left == u64::MAX
                && *to == at * 64
            {
                *to += 64;
                continue;
            }
            while left != 0 {
                let first = left.trailing_zeros();
                let count = (!(left >> first)).trailing_zeros().min(64 - first);
                let from = at * 64 + first as usize;
                match runs.last_mut() {
                    Some((_, to)) if *to == from => *to += count as usize,
                    _ => runs.push((from, from + count as usize)),
                }
                left &= u64::MAX.checked_shl(first + count).unwrap_or(0);
            }
        }
        runs
    }
}

/// Sets bits. What is there already is not written again, which would take the line from other threads.
fn add(word: &AtomicU64, mask: u64) {
    if word.load(Relaxed) & mask != mask {
        word.fetch_or(mask, Relaxed);
    }
}

impl Words {
    fn zeros(count: usize) -> Option<Words> {
        // Zeros of the system, which cost nothing where they are not touched.
        FromZeros::new_box_zeroed_with_elems(count).ok().map(Words)
    }

    /// The word of a range that lies in one and does not fill it, with the bits of its numbers.
    fn one(&self, begin: usize, end: usize) -> Option<(&AtomicU64, u64)> {
        let count = end - begin;
        (begin % 64 + count <= 64 && count < 64)
            .then(|| (&self.0[begin / 64], ((1 << count) - 1) << (begin % 64)))
    }

    fn insert(&self, begin: usize, end: usize) {
        self.parts(begin, end).for_each(|(word, mask)| add(word, mask));
    }

    fn remove(&self, begin: usize, end: usize) {
        self.parts(begin, end).for_each(|(word, mask)| _ = word.fetch_and(!mask, Relaxed));
    }

    fn covers(&self, begin: usize, end: usize) -> bool {
        self.parts(begin, end).all(|(word, mask)| word.load(Relaxed) & mask == mask)
    }

    /// The words that have numbers of a range which is not empty, each with the bits of these numbers.
    fn parts(&self, begin: usize, end: usize) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let last = (end - 1) / 64;
        let (low, high) = (u64::MAX << (begin % 64), u64::MAX >> (63 - (end - 1) % 64));
        (begin / 64..).zip(&self.0[begin / 64..=last]).map(move |(at, word)| {
            let from = if at == begin / 64 { low } else { u64::MAX };
            let to = if at == last { high } else { u64::MAX };
            (word, from & to)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_any_length_and_place_are_added_and_taken_away() {
        for (begin, end) in [(0, 1), (0, 64), (3, 70), (63, 65), (64, 128), (5, 200), (130, 131), (1, 199)] {
            let bits = Bits::new(200).expect("it is small");
            bits.insert(begin, end);
            assert_eq!(bits.runs(0, 200), [(begin, end)]);
            assert!(bits.covers(begin, end) && !bits.is_empty());
            let lacks = Gaps { groups: 200 - (end - begin), first: (begin > 0).then_some(0).or(Some(end)) };
            let all = Gaps { first: lacks.first.filter(|_| lacks.groups > 0), ..lacks };
            assert_eq!(bits.gaps(None, 0, 200, 1), all);
            assert_eq!(bits.gaps(Some(&bits), begin, end, 1), Gaps::default());
            bits.remove(end - 1, end);
            assert!(
                !bits.covers(begin, end)
                    && bits.runs(0, 200) == [(begin, end - 1)][..(end - 1 - begin).min(1)]
            );
            bits.clear();
            assert!(bits.is_empty());
        }
    }

    #[test]
    fn all_is_taken_away_wherever_it_was_added() {
        const BOUND: usize = 5 * 64 * 64 + 7;
        let bits = Bits::new(BOUND).expect("it is small");
        for round in 0..3 {
            for (begin, end) in [(0, 1), (4095, 4097), (4100, 9000), (12_288, 12_352), (BOUND - 1, BOUND)] {
                bits.insert(begin, end);
                assert!(bits.covers(begin, end), "{begin}, round {round}");
            }
            bits.remove(4100, 4200);
            bits.clear();
            assert!(bits.is_empty() && !bits.covers(5000, 8000), "round {round}");
        }
    }

    #[test]
    fn runs_and_gaps_cross_words() {
        let (bits, other) = (Bits::new(256).expect("it is small"), Bits::new(256).expect("it is small"));
        for (begin, end) in [(2, 4), (5, 6), (60, 70), (127, 129), (250, 256)] {
            bits.insert(begin, end);
        }
        assert_eq!(bits.runs(0, 256), [(2, 4), (5, 6), (60, 70), (127, 129), (250, 256)]);
        assert_eq!(bits.runs(61, 128), [(61, 70), (127, 128)]);
        other.insert(4, 60);
        assert_eq!(bits.gaps(Some(&other), 2, 72, 1), Gaps { groups: 2, first: Some(70) });
        assert_eq!(bits.gaps(None, 2, 72, 1), Gaps { groups: 57, first: Some(4) });
        assert_eq!(bits.gaps_in(&other, 2, 72, 1), Gaps { groups: 55, first: Some(4) });
        assert_eq!(other.gaps_in(&bits, 3, 200, 1), Gaps { groups: 13, first: Some(3) });
    }

    #[test]
    fn groups_with_a_gap_are_counted_once_wherever_they_begin() {
        let bits = Bits::new(256).expect("it is small");
        for (begin, end) in [(0, 3), (4, 8), (62, 63), (64, 66), (100, 256)] {
            bits.insert(begin, end);
        }
        for begin in 0..8 {
            for group in [1, 2, 4, 8] {
                let end = begin + 128;
                let lacks = |from: usize| (from..from + group).any(|n| !bits.covers(n, n + 1));
                let groups = (begin..end).step_by(group).filter(|&from| lacks(from)).count();
                assert_eq!(bits.gaps(None, begin, end, group).groups, groups, "{begin}, {group}");
            }
        }
    }
}
