//! Traces read back, and the report of one or two of them.
//!
//! **Boundary:** knows timelines, and nothing of how they came to be. [`read`] takes the bytes of a trace file, in either of the forms in which
//! `wsp_runtime::timeline` writes them; [`pair`] says whether two runs can be compared; [`write`] gives the page that shows them.
#![forbid(unsafe_code)]

mod codes;
pub mod facts;
mod page;

mod pair;
mod read;

pub use codes::REPORT_EXISTS;

pub use page::write;
pub use pair::pair;
pub use read::{MAX_BYTES, MAX_TASKS, read};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];
