//! Graphs as lists of records that a runtime takes task by task: [`PendingTask`].
//!
//! A record of such a runtime has pointers, and a file has none: [`PendingTask::func_name`] is a row of a table of kernels,
//! [`PendingTask::func_ptr`] 0, and the base of an argument a row of a table of tensors. The tables and their names stand
//! before the records:
//!
//! | part | bytes | |
//! |---|---|---|
//! | [`PendingHeader`] | 24 | |
//! | kernels | 8 each | [`PendingKernel`] |
//! | tensors | 4 each | where its name begins among the names |
//! | names | as the header says | UTF-8, each ended by a zero byte; then zeros up to a multiple of 8 |
//! | records | 2,592 each | [`PendingTask`], by their numbers |
//!
//! A record has room for 512 successors. A task with more has [relays](PendingTask::RELAY) for successors, which stand behind
//! all tasks: each passes on that its only predecessor is complete, and names tasks, or relays with smaller numbers. A reader
//! takes them away, so that edges are those of the graph.
//!
//! Records are written and read one by one: no more than the graph is in memory.

mod read;
mod write;

pub use read::{PendingFault, read};
pub use write::{PendingGraph, Unfit};

use wsp_core::pod::PendingTask;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What a file of records begins with: "PTOP", as a number.
pub const MAGIC: u32 = 0x5054_4F50;
/// The version of the format.
pub const VERSION: u32 = 1;

/// What a file of records begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PendingHeader {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// Tasks and relays.
    pub records: u32,
    /// Rows of the table of kernels.
    pub kernels: u32,
    /// Rows of the table of tensors.
    pub tensors: u32,
    /// Bytes of names.
    pub name_bytes: u32,
}

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PendingKernel {
    /// Where its name begins among the names.
    pub name: u32,
    /// [`ExecPool`](wsp_core::ExecPool).
    pub pool: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

/// Whether a name can stand in every list of a graph.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| !c.is_control() && c != ',' && c != '"')
}

#[cfg(test)]
mod tests;
