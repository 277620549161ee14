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

/// Where in its unit a block, a copy or a release of a task graph stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockStart {
    /// Its device.
    pub device: u32,
    /// Its launch, by its place among those of the device in the order in which they were submitted.
    pub launch: u32,
    /// Its node of the graph.
    pub node: u32,
    /// The block; 0 of a copy or a release.
    pub block: u32,
}
