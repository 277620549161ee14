//! Designs for AMD AIE arrays: the devices as data, the text of designs, checks, and runs without hardware.
#![forbid(unsafe_code)]

mod check;
mod codes;
pub mod design;
pub mod device;
pub mod mlir;
mod number;
pub mod place;
pub mod route;
pub mod run;

pub use check::check;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];
