//! Handles: what declarations return, each of its own type.

use super::origin::Owner;
use wsp_core::{AxisId, KernelId, LabelId, ParamId, SlotId, TableId, TensorId, VarId, WorkloadId};

/// A parameter, or a value derived from parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    pub(super) id: ParamId,
    pub(super) owner: Owner,
}

/// A loop variable, a formal argument, or an integer of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index {
    pub(super) id: VarId,
    pub(super) owner: Owner,
}

/// A slot: an integer that tasks compute. As a value it is read; as an argument, [`Slot::whole`], it is a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub(super) id: SlotId,
    pub(super) tensor: Tensor,
}

/// A table of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    pub(super) id: TableId,
    pub(super) owner: Owner,
}

/// A tensor. As an argument it is all of it; [`Tensor::at`] is a region of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub(super) id: TensorId,
    pub(super) owner: Owner,
}

/// A dense axis: loops run over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DenseAxis {
    pub(super) id: AxisId,
    pub(super) owner: Owner,
}

/// A ragged axis: loops run over [`RaggedAxis::under`] an index of its outer axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaggedAxis {
    pub(super) id: AxisId,
    pub(super) owner: Owner,
}

/// A sparse axis: selections run over one row, [`SparseAxis::row`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SparseAxis {
    pub(super) id: AxisId,
    pub(super) owner: Owner,
}

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel {
    pub(super) id: KernelId,
    pub(super) owner: Owner,
}

/// A workload that others call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    pub(super) id: WorkloadId,
    pub(super) owner: Owner,
}

/// A label of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    pub(super) id: LabelId,
    pub(super) owner: Owner,
}

impl Slot {
    /// The slot as a tensor, which a task reads or writes.
    #[must_use]
    pub fn whole(self) -> Tensor {
        self.tensor
    }
}
