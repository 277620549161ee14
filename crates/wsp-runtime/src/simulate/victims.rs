//! Which worker a thief looks at first.

use std::ops::Range;

/// Picks victims of thieves: a fixed sequence for each seed (the splitmix64 generator).
#[derive(Clone, Debug)]
pub(super) struct Victims(u64);

impl Victims {
    pub(super) fn new(seed: u64) -> Victims {
        Victims(seed)
    }

    /// The first victim to try, of a non-empty range.
    pub(super) fn first(&mut self, of: &Range<u32>) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        of.start + (bits % u64::from((of.end - of.start).max(1))) as u32
    }
}
