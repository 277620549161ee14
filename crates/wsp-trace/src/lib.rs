//! Reads traces: what a front end in another language says, as JSON.
//!
//! A front end that cannot call Rust directly writes one document: the user's source files with places in them, a workload,
//! and a body per kernel. [`read`] makes checked IR of it. Its findings stand in the user's source where the document says
//! a place, so that a fault of a user's program reads as one; a fault of the document itself names the way to it:
//! `workload.kernels[2].cost`.
//!
//! Reading is the feature `read`, which the Python package has; without it, the crate has the codes alone, which `wsp explain` tells of.
//!
//! **Invariant:** total over any bytes. A document has a bounded size and depth, every field of an object is known, ids
//! are checked against their tables, here or by the verifiers of `wsp-ir`.
//!
//! ```
//! # #[cfg(feature = "read")] {
//! let document = br#"{
//!     "format": "pto-wsp-trace", "version": 1,
//!     "files": [{"name": "scale.py", "text": "for i in P(n):\n    scale(x[i])\n"}],
//!     "spans": [[0, 1, 0, 1, 14], [0, 2, 4, 2, 15]],
//!     "workload": {
//!         "params": [{"name": "n"}],
//!         "tensors": [{"name": "x", "dtype": "f32", "dims": [{"k": "param", "id": 0}], "storage": "argument"}],
//!         "kernels": [{"name": "scale", "params": [{"name": "x", "kind": "inout"}]}],
//!         "workloads": [{"name": "main", "params": 0, "vars": [{"name": "i", "s": 0}], "body": [
//!             {"k": "parallel_for", "var": 0, "s": 0,
//!              "over": {"k": "range", "lo": 0, "hi": {"k": "param", "id": 0}},
//!              "body": [{"k": "task", "kernel": 0, "s": 1, "args": [
//!                  {"tensor": 0, "ranges": [{"k": "index", "i": {"k": "var", "id": 0}}]}]}]}]}]
//!     },
//!     "kernels": [{"body": "none"}]
//! }"#;
//! let trace = wsp_trace::read(document).map_err(|(_, found)| found).unwrap();
//! assert!(wsp_trace::workload_text(&trace).contains("parallel for i in 0..n {\n        scale(x[i]);"));
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "read")]
mod decode;
pub mod python;
#[cfg(feature = "read")]
mod read;
mod wire;

#[cfg(feature = "read")]
pub use read::{GivenNames, KernelBody, Trace, kernel_text, read, workload_text};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[
    wire::codes::CODES,
    python::workload::CODES,
    python::workload::SCHEDULE_CODES,
    python::kernel::CODES,
    python::arrays::CODES,
];
