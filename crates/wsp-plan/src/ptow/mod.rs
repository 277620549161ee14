//! From a workload and its schedule to a PTOW program, and from bindings to what launches it.
//!
//! [`lower`] makes the program in time and size that depend on the source alone: extents, lengths and parameters are
//! launch-time values and tables ([`LaunchData`]), so that the same bytes serve every shape. [`dispatch_configs`] makes
//! what each AICPU is told beside the program.
//!
//! # What becomes of a workload
//! Calls are inlined. An argument that is a number, a parameter, the length of a table or a variable stands for itself in
//! the copy; any other is evaluated once, by a `LET`. Kernels, tensors and slots keep their numbers; parameters, tables
//! and axes are numbered anew, those that the program uses ([`Lowered::values`], [`Lowered::tables`], [`Lowered::axes`]).
//! A program has labels and `AFTER` only under dependences that use them (`explicit` and `hybrid`), as whoever generates
//! their tasks must remember ordinals.
//!
//! **Boundary:** makes programs and their launches; what interprets them is elsewhere.

mod buffer;
pub(crate) mod codes;
mod configs;
mod dispatch;
mod emit;
mod expand;
mod fault;
mod launch;
mod lower;
mod sums;

pub use buffer::{ProgramBuf, ProgramError};
pub use configs::dispatch_configs;
pub use dispatch::{DispatchPlan, check_ranges};
pub use expand::{divide, expand};
pub use fault::Found;
pub use launch::{HostList, LaunchData, Transfer, transfer};
pub use lower::{BodyVar, Lowered, Site, Statement, VarKind, lower, statements};
pub use sums::prefix_sums;
