//! Names of launches and streams.

/// A launch of a runtime, in the order of submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LaunchId(pub u64);

/// A stream of a device: its launches run one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StreamId {
    pub(crate) index: u32,
    /// No two streams of the process have the same.
    pub(crate) serial: u64,
}

impl StreamId {
    /// Its place among those of its runtime, which a later stream may have again.
    pub fn index(self) -> u32 {
        self.index
    }
}
