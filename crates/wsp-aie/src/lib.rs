//! Designs for AMD AIE arrays: the devices as data, the text of designs, checks, and runs without hardware.
#![forbid(unsafe_code)]

mod codes;
pub mod device;
pub mod mlir;
mod number;
pub mod place;
pub mod route;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];
