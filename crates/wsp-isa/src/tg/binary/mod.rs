//! The binary form of task-graph units (`.ptog`).
//!
//! [`encode`] writes version 3 of the format and loses nothing: [`decode`] gives the same unit again, with its places in the
//! source. [`decode`] also takes version 1, the four tables of document 000. The layout is `docs/reference/ptog.md`, records and
//! the reader are [`wsp_core::tg::wire`] and [`wsp_core::tg::read`].
//!
//! ```
//! use wsp_core::tg::{GraphNo, Instr};
//! use wsp_ir::tg::TgModule;
//! let mut unit = TgModule::default();
//! unit.instrs = vec![Instr::TgBegin { graph_id: GraphNo(3) }, Instr::TgEnd { graph_id: GraphNo(3) }];
//! let bytes = wsp_isa::tg::binary::encode(&unit).unwrap();
//! assert_eq!(wsp_isa::tg::binary::decode("unit.ptog", &bytes).unwrap(), unit);
//! ```

pub(crate) mod codes;
mod decode;
mod document;
mod encode;
#[cfg(test)]
mod layout;

pub use decode::decode;
pub use encode::{Source, encode, encode_with_source};
