//! Tests of designs as a whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "tests say where they are")]

mod check;
mod control;
mod descriptors;
mod device;
mod ground;
mod held;
mod kernels;
mod lower;
mod numbers;
mod once;
mod place;
mod programs;
mod races;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod references;
mod route;
mod run;
mod starts;
mod support;
mod text;
mod users;
