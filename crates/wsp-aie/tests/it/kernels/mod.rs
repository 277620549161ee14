//! Kernels as bodies of cores: printed, read, run, and compared with plain runs of `cpu_sim`.

#[path = "../../../../wsp-tile/tests/it/bench.rs"]
#[allow(dead_code, reason = "tests of tile programs use more of it")]
pub(crate) mod bench;
mod drawn;
mod one_core;
mod operations;
mod random;
mod refusals;
mod types;
