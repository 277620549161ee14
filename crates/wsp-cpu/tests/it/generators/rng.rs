//! Random numbers of a seed.

use crate::randomised::Numbers;

/// Numbers as places in lists.
pub(super) struct Rng(Numbers);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(Numbers::of_seed(seed))
    }

    /// From 0 up to `n`, exclusive.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
