//! Ranges of ordinals, one after the other.

use crate::ptow::Word;

/// The ranges of a partition, in words whose second operand is where each ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranges<'a> {
    words: &'a [Word],
}

impl<'a> Ranges<'a> {
    /// Ranges from words whose second operand is where each ends; the ends never decrease.
    pub fn new(words: &'a [Word]) -> Ranges<'a> {
        Ranges { words }
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.words.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Where the last ends; 0 when there are none.
    pub fn end(&self) -> u64 {
        self.words.last().map_or(0, |word| u64::from(word.operand2))
    }

    /// The number of the range that an ordinal lies in; none past the last.
    #[inline]
    pub fn find(&self, ordinal: u64) -> Option<u32> {
        let range = self.words.partition_point(|word| u64::from(word.operand2) <= ordinal);
        (range < self.words.len()).then_some(range as u32)
    }

    /// A range as ordinals, half-open; none past the last.
    pub fn get(&self, range: u32) -> Option<(u64, u64)> {
        let end = u64::from(self.words.get(range as usize)?.operand2);
        let before = (range as usize).checked_sub(1).and_then(|before| self.words.get(before));
        Some((before.map_or(0, |word| u64::from(word.operand2)), end))
    }
}
