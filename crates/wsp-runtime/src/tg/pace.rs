//! When work starts and ends, by the clock or in virtual time.

use crate::clock;
use std::time::Instant;

/// When work starts and ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Nanoseconds since then; without it nothing is recorded.
    Measured(Option<Instant>),
    /// From this cycle on.
    Virtual(u64),
}

impl Pace {
    /// When something starts; `last` is the end of what the worker has done before of the same work.
    pub(super) fn start(self, last: Option<u64>) -> u64 {
        match self {
            Pace::Measured(since) => since.map_or(0, clock::nanos_since),
            Pace::Virtual(cycle) => last.unwrap_or(cycle),
        }
    }

    /// Whether it is of use to know when blocks ran.
    pub(super) fn records(self) -> bool {
        !matches!(self, Pace::Measured(None))
    }

    /// When it ends: now, or after its cycles. A cycle that 64 bits cannot tell is the last.
    pub(super) fn end(self, started: u64, cycles: impl FnOnce() -> u64) -> u64 {
        match self {
            Pace::Measured(since) => since.map_or(0, clock::nanos_since),
            Pace::Virtual(_) => started.saturating_add(cycles()),
        }
    }
}
