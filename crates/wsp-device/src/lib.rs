//! The bytecode interpreter as a static library for devices, with a C ABI: `include/wsp_ptow.h`.
//!
//! The code is that of [`wsp_core::ptow`], which programs of the host use directly. Here are only its plain-C face and the
//! checks of what comes through it: pointers, alignments, lengths. No allocation, no standard library, no panic.
//!
//! ```sh
//! cargo rustc -p wsp-device --profile device --crate-type staticlib --features panic-handler
//! ```
//!
//! makes `libwsp_device.a`. Its panic handler calls a function that nobody defines, so that a program with a way to a panic
//! does not link; `tests/link.rs` links one.
//!
//! # Safety
//! The functions are called from C, which knows no borrows: the header says how long memory must stay. `unsafe` is in this
//! crate only to form references from pointers that C has passed.
#![no_std]
// The C ABI is made of raw pointers.
#![allow(unsafe_code)]

pub mod abi;
pub mod graph;
mod handle;
mod host;
mod input;
mod layout;
mod open;
#[cfg(feature = "panic-handler")]
mod panic;
#[cfg(feature = "panic-probe")]
mod probe;
mod report;
mod run;
mod schedule;
mod sums;

/// The C interface of graphs, `wsp_tg.h`: what emitted programs include.
pub const TG_HEADER: &str = include_str!("../include/wsp_tg.h");

/// The C interface of programs, `wsp_ptow.h`: what the headers of emitted programs include.
pub const PTOW_HEADER: &str = include_str!("../include/wsp_ptow.h");

pub use handle::Handle;
pub use open::{wsp_ptow_open, wsp_ptow_scratch_bytes, wsp_ptow_verify};
pub use run::{wsp_ptow_run, wsp_ptow_stats_of, wsp_ptow_waits_of, wsp_ptow_watermark};
pub use schedule::{wsp_ptow_compile, wsp_ptow_compile_bytes, wsp_ptow_dispatch};
pub use sums::{Sums, wsp_ptow_sums_build, wsp_ptow_sums_bytes};
