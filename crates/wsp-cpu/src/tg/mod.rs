//! Task-graph units on this backend: memory, kernels, sessions.
//!
//! A [`Session`] is a unit that is checked, elaborated and given memory and [`TgKernels`]. It runs the unit's host program, or
//! is led step by step: launch, invoke, sync, checkpoint.
//!
//! **Level:** the host machine, which compiles, submits and waits. Graphs are the device machine's (`wsp_runtime::tg`), kernels
//! the core machine's ([`PtoEntry`], [`TgCx`]).

mod accounts;
mod binding;
mod bodies;
mod build;
mod c_block;
mod code;
pub(crate) mod codes;
mod cx;
mod cycles;
mod dispatched;
mod fault;
mod faults;
mod first_reads;
mod first_uses;
mod graph_code;
mod graph_parts;
mod host;
mod identity;
mod inputs;
mod instance;
mod item;
mod kernels;
mod launch_order;
mod launched;
mod launches;
mod launching;
mod memory;
mod open;
mod open_pairs;
mod open_uses;
mod options;
mod outside;
mod prepared;
mod pto;
mod record;
mod report;
mod run;
mod saved;
mod scalars;
mod session;
mod shared;
mod simulated;
mod sizes;
mod snapshot;
mod start;
mod takes;
mod tensors;
mod touches;
mod unit_check;
mod values;
mod watch;
mod workspaces;

pub(crate) use build::{CheckedUnit, fits};
pub use cx::{BoundArg, TgCx};
pub use kernels::TgKernels;
pub use memory::TensorRange;
pub use options::SessionOptions;
pub use prepared::Prepared;
pub use pto::{PtoBound, PtoEntry, PtoResident};
pub use report::Report;
pub use session::Session;
pub(crate) use simulated::simulate;
pub(crate) use unit_check::check_unit;
