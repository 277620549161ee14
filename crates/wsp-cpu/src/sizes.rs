//! Sizes of a launch: what a sizing run finds.

use crate::bind::{BoundDim, BoundTensor};
use wsp_core::{AxisId, StructId};

/// One emitted descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedDescriptor {
    /// Index of the stage.
    pub stage: u32,
    /// Its type.
    pub descriptor: StructId,
    /// Values in field order.
    pub words: Vec<u32>,
    /// Name of the kernel that takes it.
    pub kernel: String,
    /// Elements of inputs that the kernel reads at most: an estimate of what it costs.
    pub cost: u64,
}

/// What a sizing run found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// Descriptors per descriptor type.
    pub(crate) descriptors: Vec<u64>,
    /// Bytes of workspace.
    pub(crate) workspace_bytes: u64,
    /// Slots of workspace.
    pub(crate) workspace_slots: u64,
    /// Tiles that were settled.
    pub(crate) tiles: Vec<(AxisId, u32)>,
    /// Axes whose tile is not the same for all tasks.
    pub(crate) changed_tiles: Vec<AxisId>,
    /// Whether some task starts after all those before it.
    pub(crate) fences: bool,
    /// Per tensor: extent of dimension 1 per index of dimension 0, when it is a dynamic axis.
    pub(crate) ragged: Vec<Option<Vec<u32>>>,
    /// Iterations per axis, where the same for all outer indices.
    pub(crate) axis_iterations: Vec<u32>,
    /// Every descriptor, when asked for.
    pub(crate) list: Vec<PlannedDescriptor>,
}

impl Sizes {
    /// Extents of a temporary tensor; a ragged dimension counts as 0.
    pub(crate) fn resolve(&self, tensor: &BoundTensor) -> Vec<u32> {
        tensor
            .dims
            .iter()
            .map(|dim| match dim {
                BoundDim::Fixed(n) => *n,
                BoundDim::Axis(axis) => self.axis_iterations[axis.index()],
                BoundDim::Lengths(_) => 0,
            })
            .collect()
    }

    /// All descriptors.
    pub(crate) fn total(&self) -> u64 {
        self.descriptors.iter().sum()
    }
}
