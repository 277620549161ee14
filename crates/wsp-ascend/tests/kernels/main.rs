//! Kernels for Ascend cores: their text, and what it computes when the host's compiler compiles it with the host headers. Compiled
//! kernels run over real memories in which each fault of order, of addresses and of unwritten bytes is found; results are those of a plain
//! run of `cpu_sim`, which shares no code with them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
#[path = "../../../wsp-tile/tests/it/bench.rs"]
#[allow(dead_code, reason = "tests of tile programs use more of it")]
mod bench;
#[path = "../../../wsp-tile/tests/it/calls.rs"]
mod calls;
mod draw;
mod each_code;
mod examples;
mod findings;
mod mixed;
#[path = "../../../wsp-tile/tests/it/mutate.rs"]
#[allow(dead_code, reason = "tests of tile programs use more of it")]
mod mutate;
mod omissions;
mod operations;
mod page;
mod paged;
mod random;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
#[path = "../toolchain/mod.rs"]
mod toolchain;
mod whole;
