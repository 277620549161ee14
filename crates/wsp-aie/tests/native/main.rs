//! Bodies of cores, taken from the text that is emitted, compiled by MLIR's tools and LLVM, in threads with the same fifos: they leave what the interpreter leaves.
//! Without these tools nothing is compiled, and `cargo xtask test` says so.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "tests say what they lack")]

#[path = "../../../wsp-tile/tests/it/bench.rs"]
#[allow(dead_code, reason = "tests of tile programs use more of it")]
mod bench;
mod designs;
#[path = "../it/kernels/drawn.rs"]
#[allow(dead_code, reason = "tests against plain runs use more of it")]
mod drawn;
mod examples;
mod kernels;
#[path = "../it/kernels/one_core.rs"]
#[allow(dead_code, reason = "tests of bodies use more of it")]
mod one_core;
#[path = "../it/programs.rs"]
#[allow(dead_code, reason = "tests of programs use more of it")]
mod programs;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
#[path = "../it/references.rs"]
mod references;
#[path = "../it/support.rs"]
#[allow(dead_code, reason = "tests of designs use more of it")]
mod support;
mod tools;
mod twin;
