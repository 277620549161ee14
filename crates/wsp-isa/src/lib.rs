//! Text forms of PTO-WSP instruction sets.
//!
//! An instruction set has a text form, which an assembler reads and a disassembler writes, and a reference page that is
//! generated from its tables. [`ptow`] is the bytecode from which AICPUs generate their tasks.
//!
//! ```
//! use wsp_diag::SourceMap;
//! let text = ".value n\n.axis i dense 0 .. n\n.kernel scale vector\n\
//!             PARALLEL_FOR i, body\nHALT\nbody:\nTASK scale\nPARAM_LOOPVAR i0\nEND\n";
//! let bytes = wsp_isa::ptow::assemble("scale.ptows", text, &mut SourceMap::default()).unwrap();
//! let text = wsp_isa::ptow::disassemble(&bytes).unwrap();
//! assert!(text.contains("PARALLEL_FOR i, L2"));
//! ```
#![forbid(unsafe_code)]

pub mod ptow;
pub mod tg;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[ptow::codes::CODES, tg::text::codes::CODES, tg::binary::codes::CODES];
