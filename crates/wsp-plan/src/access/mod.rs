//! What a task reads and writes, summarised from its kernel's own loads and stores.
//!
//! A kernel is walked once with symbolic values: integer expressions over the descriptor's fields, parameters, and the
//! variables of the loops around. Each load or store becomes a region whose bounds have the loop variables replaced by
//! their extremes. What cannot be bounded is [`Bound::All`].
//!
//! # Evaluation
//! Bounds and guards are evaluated with the descriptor's fields by checked arithmetic. They are exact as integers, so a
//! value that comes out is right, but one may trap: a region can be empty in a way that its bounds cannot express, or past
//! what `u32` holds. Whoever evaluates takes
//! * a guard that traps for true,
//! * a bound that traps for [`Bound::All`] of its dimension,
//! * `hi` past the tensor's extent for the extent, and `lo >= hi` for an empty region.
//!
//! The guard is evaluated first; the bounds of a region whose guard is false need not be evaluated.

mod interval;
mod path;
mod record;
mod slot;
mod state;
mod sym;
mod tile;
mod walk;

pub use slot::{SlotLayout, slot_layout};
pub use walk::summarise;

use wsp_core::{AccessKind, TensorId};
use wsp_ir::Expr;

/// One dimension of a region.
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

/// A region of a tensor that a kernel may touch.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelAccess {
    /// The tensor.
    pub tensor: TensorId,
    /// How.
    pub mode: AccessKind,
    /// When false for a descriptor, the task does not touch it; a `bool` over descriptor fields and parameters.
    pub guard: Option<Expr>,
    /// One bound per dimension of the tensor. Of a workspace tensor, dimension 0 counts bytes.
    pub bounds: Vec<Bound>,
}
