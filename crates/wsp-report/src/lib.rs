//! Traces as files, written and read, and the report of one or two of them.
//!
//! **Boundary:** knows timelines, and nothing of how they came to be. [`write_trace`] gives a trace file in one of two forms,
//! [`Form`]: JSON of trace events, or Perfetto's protobuf; [`read`] takes the bytes of either; [`pair`] says whether two runs can be compared; [`write`] gives the page that shows them.
#![forbid(unsafe_code)]

mod codes;
mod columns;
pub mod facts;
mod fields;
mod page;

mod pair;
mod read;
mod write;

pub use codes::{OTHER_PROGRAM, REPORT_EXISTS};

pub use page::write;
pub use pair::pair;
pub use read::{MAX_BYTES, MAX_TASKS, read};
pub use write::{Edges, Form, write_trace};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];

/// Sorts many pairs of numbers: the one sort of its kind here, since each type of item has code of its own.
fn sort(pairs: &mut [(u64, u64)]) {
    pairs.sort_unstable();
}
