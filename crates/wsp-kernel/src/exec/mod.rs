//! The function executor.
//!
//! [`compile`](self) turns IR into [`code`] with every variable, temporary and constant in a slot, [`vm`] runs it. What
//! every scalar operator does is written once, in [`ops`]: folding, the interpreter's slow path and traps share it.

mod asm;
mod cache;
mod code;
mod compile;
mod engine;
mod flat;
mod generator;
mod growth;
mod host;
mod interpreter;
mod kernel;
#[cfg(all(
    feature = "native",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "s390x")
))]
mod native;
#[cfg(not(all(
    feature = "native",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "s390x")
)))]
#[path = "no_native.rs"]
mod native;
mod ops;
mod outlined;
mod recorded;
mod recording;
mod scalar;
mod tile_code;
mod tile_run;
mod tile_trap;
mod together;
pub(crate) mod trap;
mod value;
mod vm;
mod workspace;

#[cfg(test)]
mod tests;

/// Whether this build compiles for this machine.
pub(crate) fn has_native() -> bool {
    native::Native::is_supported()
}

pub use cache::{CodeCache, CodeStatistics};
pub use flat::{FlatBuffer, FlatEvent, FlatFull, FlatSite};
pub use generator::GeneratorCode;
pub use growth::{Growing, GrowingWord, Rate, Stripe, TierWord, one_token_more, stripes};
pub use host::{Extent, GeneratorHost, Hints, PrefetchValue, WsRequest};
pub use kernel::{KernelCode, Scratch};
pub use scalar::{ScalarCode, eval_launch_expr};
pub use trap::Trap;
pub use value::Value;
pub use workspace::Workspace;
