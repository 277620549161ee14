//! Sets of bytes as ranges.

use std::collections::BTreeMap;

/// A set of bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Ranges {
    /// End of each range by its begin; ranges are not empty, and neither touch nor overlap.
    ends: BTreeMap<usize, usize>,
}

/// Bytes of a range that a set lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gaps {
    pub(super) bytes: usize,
    pub(super) first: Option<usize>,
}

impl Ranges {
    /// Adds a range.
    pub(super) fn insert(&mut self, mut begin: usize, mut end: usize) {
        if let Some((&from, &to)) = self.ends.range(..=begin).next_back().filter(|(_, to)| **to >= begin) {
            if to >= end {
                return;
            }
            begin = from;
        }
        while let Some((&from, &to)) = self.ends.range(begin..=end).next_back() {
            self.ends.remove(&from);
            end = end.max(to);
        }
        self.ends.insert(begin, end);
    }

    /// Takes a range away.
    pub(super) fn remove(&mut self, begin: usize, end: usize) {
        while let Some((&from, &to)) = self.ends.range(..end).next_back().filter(|(_, to)| **to > begin) {
            self.ends.remove(&from);
            if to > end {
                self.ends.insert(end, to);
            }
            if from < begin {
                self.ends.insert(from, begin);
            }
        }
    }

    /// Whether it has no byte.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Takes all away.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }

    /// Whether it has every byte of a range that is not empty.
    pub(super) fn covers(&self, begin: usize, end: usize) -> bool {
        self.ends.range(..=begin).next_back().is_some_and(|(_, to)| *to >= end)
    }

    /// What it lacks of a range.
    pub(super) fn gaps(&self, begin: usize, end: usize) -> Gaps {
        let before = self.ends.range(..begin).next_back().map_or(begin, |(_, to)| (*to).clamp(begin, end));
        let (mut covered, mut first) = (before - begin, before);
        for (&from, &to) in self.ends.range(begin..end) {
            let to = to.min(end);
            if from == first {
                first = to;
            }
            covered += to - from;
        }
        Gaps { bytes: end - begin - covered, first: (first < end).then_some(first) }
    }

    /// Begin and end of each range, in order.
    pub(super) fn to_vec(&self) -> Vec<(usize, usize)> {
        self.ends.iter().map(|(begin, end)| (*begin, *end)).collect()
    }
}
