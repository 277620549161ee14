//! Tests of the benchmarks: what they print and write, which options they take, and how they end.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a test fails by panicking, and makes its own files"
)]

mod command;
mod decode;
mod decode_peers;
mod generate;
mod isa;
mod options;
mod plan;
mod runtime;
#[cfg(target_os = "linux")]
mod signals;
mod sim;
