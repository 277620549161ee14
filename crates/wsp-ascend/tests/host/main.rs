//! The headers that stand in for PTO-ISA: what each platform refuses, the faults of runs, and values.

mod faults;
mod refusals;
mod source;
#[path = "../toolchain/mod.rs"]
mod toolchain;
mod values;
