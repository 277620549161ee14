//! C++ that PTO-WSP emits for Ascend accelerators.
//!
//! What is emitted builds on the headers under `include/`, which travel with it.

#![forbid(unsafe_code)]

mod backend;
pub mod expander;
pub mod graph;
pub mod host;
pub mod kernels;
pub mod shipped;
mod writer;

pub use backend::AscendBackend;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[kernels::codes::CODES];
