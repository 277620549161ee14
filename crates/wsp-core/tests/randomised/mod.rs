//! What randomised tests of all crates share: how many cases they run, and numbers that look random.

#![allow(dead_code, reason = "some tests draw by other means")]

/// How many cases a randomised test runs: few, or as many as the environment variable `WSP_CASES` says.
///
/// # Panics
/// When the variable is no number.
#[allow(clippy::disallowed_methods, reason = "a large run is asked for by the environment")]
pub(crate) fn cases(few: u64) -> u64 {
    std::env::var("WSP_CASES").map_or(few, |cases| cases.parse().expect("WSP_CASES should be a number"))
}

/// Numbers that look random, the same ones for every start but 0: xorshift.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Those of a seed.
    pub(crate) fn of_seed(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From 0 up to `n`, exclusive.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
