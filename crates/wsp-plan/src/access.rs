//! What a task reads and writes, summarised from its kernel's own loads and stores.

use wsp_core::TensorId;
use wsp_ir::Expr;

/// Read or write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessMode {
    /// The kernel may load from the box.
    Read,
    /// The kernel may store to the box.
    Write,
}

/// One dimension of a box.
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    /// `[lo, hi)`; both `u32` expressions over descriptor fields ([`wsp_ir::ExprKind::Field`] of local 0) and parameters.
    Range {
        /// First index.
        lo: Expr,
        /// One past the last; clamped to the tensor's extent.
        hi: Expr,
    },
    /// All of the dimension.
    All,
}

/// A box of a tensor that a kernel may touch.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// How.
    pub mode: AccessMode,
    /// When false for a descriptor, the task does not touch it; a `bool` over descriptor fields and parameters.
    pub guard: Option<Expr>,
    /// One bound per dimension of the tensor. Of a workspace tensor, dimension 0 counts bytes.
    pub bounds: Vec<Bound>,
}
