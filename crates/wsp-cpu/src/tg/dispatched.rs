//! Kernels that are dispatched: bound to what their blocks work on.

use super::code::Bound;
use super::memory::TensorRange;
use super::workspaces::Workspace;
use smallvec::SmallVec;
use std::sync::Arc;

/// A dispatched kernel.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its place among the kernels of the graph.
    pub(crate) item: u32,
    /// Blocks before it in the dispatch.
    pub(crate) first_block: u32,
    pub(crate) blocks: u32,
    pub(crate) bound: Arc<Bound>,
    pub(crate) workspace: Option<TensorRange>,
    /// What each block takes in virtual time on a machine; empty without one.
    pub(crate) cycles: Box<[u64]>,
}

/// A dispatched kernel, or several that run as one.
#[derive(Debug)]
pub(crate) struct Dispatched {
    pub(crate) parts: SmallVec<[Part; 1]>,
    /// What its kernels have to themselves.
    pub(crate) workspaces: Vec<Workspace>,
    /// The number of the memory that it is bound to.
    pub(crate) instance: u64,
}

impl Dispatched {
    /// The kernel that a block belongs to.
    pub(crate) fn part_of(&self, block: u32) -> &Part {
        match &*self.parts {
            [part] => part,
            parts => &parts[parts.partition_point(|part| part.first_block <= block).saturating_sub(1)],
        }
    }
}
