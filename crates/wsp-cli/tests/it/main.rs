//! Integration tests of the command line, in one program: they link once.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "a test fails by panicking, makes its own files, and says what it could not run"
)]

mod advice;
mod arrays;
mod asm;
mod attention;
mod cache;
mod cases;
mod channels;
mod check_kernels;
mod cli;
mod command;
mod decode;
mod decode_cases;
mod deep;
mod emit_kernels;
mod files;
mod generation;
mod graph;
mod isa;
mod isa_kill;
mod isa_reference;
mod loops;
mod matrix;
mod memory;
mod misuse;
mod options;
mod packages;
mod pending;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod real_numbers;
mod reference;
mod replay;
mod report;
mod sim;
mod sim_aicpus;
mod sim_units;
mod workload;
mod workload_examples;
