//! Numbers at random for tests, the same in each run, and how many cases a larger version of a test draws.

/// xorshift64*.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

/// Cases of a test.
pub(crate) fn cases(few: usize) -> usize {
    #[allow(clippy::disallowed_methods, reason = "a larger version of a test says how many")]
    std::env::var("WSP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}
