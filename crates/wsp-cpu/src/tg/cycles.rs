//! How long blocks take in virtual time.

/// Bytes that take a cycle.
const BYTES: u64 = 4;

/// The cycles of a share of so many bytes.
pub(super) fn cycles(bytes: u64, shares: u32) -> u64 {
    bytes.div_ceil(BYTES).div_ceil(shares.max(1).into())
}
