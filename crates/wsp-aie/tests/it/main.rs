//! Tests of designs as a whole.
#![allow(clippy::print_stderr, reason = "tests say where they are")]

mod check;
mod ground;
mod kernels;
mod lower;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod run;
mod support;
mod text;
