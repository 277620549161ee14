//! Task-graph units: programs in the task-graph instruction set (`TG_`, `MC_`, `CF_`, `CA_`, `SY_`) with their names and places.
//!
//! A [`TgModule`] is what one text or binary holds: declarations, then instructions in the order in which they were written.

pub mod builder;
mod earlier;
mod equal;
mod module;
mod names;
pub mod outline;
pub mod signature;
pub(crate) mod verify;

pub use builder::{ArgRef, Expr, IntoOperand, Table, TgBuilder};
pub use earlier::earlier_waits;
pub use module::{ArgDecl, ArgSource, ExternTensor, RefValue, Reference, SetPool, TgModule, Use};
pub use names::{Names, Namespace, Strings};
pub use signature::{ArgSignature, KernelSignature, Signatures};
pub use verify::{verify, verify_with_outline};
