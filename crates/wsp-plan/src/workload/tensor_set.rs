//! Sets of tensors of a module.

use std::ops::{BitAnd, BitOrAssign, Sub};
use wsp_core::TensorId;

/// A set of tensors, a bit each. What lies beyond the words is not in it, and the last word is not 0.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TensorSet(Vec<u64>);

impl TensorSet {
    pub(crate) fn contains(&self, tensor: TensorId) -> bool {
        let (word, bit) = place(tensor);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(crate) fn insert(&mut self, tensor: TensorId) {
        let (word, bit) = place(tensor);
        self.0.resize(self.0.len().max(word + 1), 0);
        self.0[word] |= bit;
    }

    /// Its tensors, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TensorId> {
        (0..64 * self.0.len() as u32).map(TensorId).filter(|&tensor| self.contains(tensor))
    }

    fn of_words(words: impl Iterator<Item = u64>) -> TensorSet {
        let mut words: Vec<u64> = words.collect();
        words.truncate(words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1));
        TensorSet(words)
    }
}

impl BitOrAssign<&TensorSet> for TensorSet {
    fn bitor_assign(&mut self, other: &TensorSet) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}

impl BitAnd for &TensorSet {
    type Output = TensorSet;

    fn bitand(self, other: &TensorSet) -> TensorSet {
        TensorSet::of_words(self.0.iter().zip(&other.0).map(|(word, other)| word & other))
    }
}

impl Sub for &TensorSet {
    type Output = TensorSet;

    fn sub(self, other: &TensorSet) -> TensorSet {
        let taken = other.0.iter().copied().chain(std::iter::repeat(0));
        TensorSet::of_words(self.0.iter().zip(taken).map(|(word, taken)| word & !taken))
    }
}

/// The word and the bit of a tensor.
fn place(tensor: TensorId) -> (usize, u64) {
    (tensor.index() / 64, 1 << (tensor.0 % 64))
}
