//! The headers that stand in for PTO-ISA: what each platform refuses, the faults of runs, and values.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::type_complexity, reason = "tables of names and functions are read as they stand")]

mod faults;
mod npz;
mod refusals;
mod source;
#[path = "../toolchain/mod.rs"]
mod toolchain;
mod values;
