//! The `.pto` language: parser, names and types, lowering to the IR.
//!
//! [`parse`] turns text into an [`ast::File`], [`compile`] into a [`wsp_ir::Module`], and [`compile_with`] a file together with
//! those that it includes. [`check_with`] adds warnings.
#![forbid(unsafe_code)]

pub mod ast;
mod codes;
mod compile;
mod include;
mod lint;
mod number;
mod parser;
mod part;
mod sema;
mod tokens;

pub use compile::{Purpose, check_with, compile, compile_with};
pub use include::Reader;
pub use parser::parse;
pub use part::part_of_programs;
pub use tokens::states_something;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES, sema::codes::CODES, lint::codes::CODES];
