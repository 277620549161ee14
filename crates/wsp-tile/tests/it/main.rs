//! Integration tests, in one program: they link once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod calls;
mod faults;
mod loops;
mod mutate;
mod operations;
mod random;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod refusals;
mod slice;
mod table;
mod two_cores;
