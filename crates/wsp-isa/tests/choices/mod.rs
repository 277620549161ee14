//! Decisions from bytes, for what tests make at random.

#![allow(dead_code, reason = "not every program of tests needs all of it")]

/// Decisions, taken from bytes.
#[derive(Clone, Debug)]
pub(crate) struct Choices<'b> {
    bytes: &'b [u8],
}

impl<'b> Choices<'b> {
    /// Decisions from these bytes.
    pub(crate) fn new(bytes: &'b [u8]) -> Choices<'b> {
        Choices { bytes }
    }

    /// Whether all bytes are spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte; 0 behind the end.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `count`; 0 when that is 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let wide = if count > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())).checked_rem(count).unwrap_or(0)
    }

    /// True once in `times`, and never behind the end.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        !self.is_spent() && self.below(times) == 1 % times.max(1)
    }

    /// One of these; none of none.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len());
        from.get(index)
    }

    /// Eight bytes.
    pub(crate) fn wide(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }
}

/// A stream of bytes for [`Choices`] from a number: splitmix64.
pub(crate) fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
