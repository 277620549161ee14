//! The `.pto` language: lexer, parser, names and types, lowering to the IR.
//!
//! [`parse`] turns text into an [`ast::File`], [`compile`] into a [`wsp_ir::Module`].
#![forbid(unsafe_code)]

pub mod ast;
mod codes;
mod compile;
mod lexer;
mod number;
mod parser;
mod sema;

pub use compile::compile;
pub use parser::parse;
