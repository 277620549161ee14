//! The function executor.
//!
//! [`compile`](self) turns IR into [`code`] with every variable, temporary and constant in a slot, [`vm`] runs it. What
//! every scalar operator does is written once, in [`ops`]: folding, the interpreter's slow path and traps share it.

mod asm;
mod code;
mod compile;
mod generator;
mod host;
mod kernel;
mod ops;
mod scalar;
mod tile_code;
mod tile_run;
mod tile_trap;
mod trap;
mod value;
mod vm;

#[cfg(test)]
mod tests;

pub use generator::GeneratorCode;
pub use host::{Extent, GeneratorHost, Hints, PrefetchValue, WsRequest};
pub use kernel::{KernelCode, Scratch};
pub use scalar::{ScalarCode, TierCode, eval_launch_expr};
pub use trap::Trap;
pub use value::Value;
