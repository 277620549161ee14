//! When and where a task of a run started.

/// When and where a task started. Times are those of the run's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Started {
    /// When it started.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
    /// Which worker ran it.
    pub worker: u32,
    /// Its kernel, by its place among the kernels of the run.
    pub kernel: u32,
}
