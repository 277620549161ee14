//! PTOW, the bytecode from which AICPUs generate tasks, as text.
//!
//! [`disassemble`] writes the text of any program that can be read, [`assemble`] reads it. The bytes of a text and the text
//! of bytes are the same again and again: nothing of a program is lost in its text.
//!
//! # Text
//! One directive, label or instruction per line; `;` begins a comment. Directives fill the tables, instructions are written
//! as the table of instructions says, with their extension words as further operands. `docs/reference/ptow.md` describes
//! all of it. What has no such form, because a program breaks a rule, is written by its numbers: `.word`, `.xword`, `raw`,
//! `#N` for an operand that names nothing, `@N` for a place in the pool of expressions.
//!
//! Expressions stand where they are used. In bytes they form a pool in which equal expressions are shared, in the order of
//! their first use in the text; a program with another order gets `.expr` lines, which put expressions there beforehand.

pub(crate) mod codes;
mod image;
mod names;
mod operators;
mod parse;
mod print;
mod quote;
#[cfg(test)]
mod reference;
mod shape;
mod symbols;
mod usage;
mod workload;

pub use image::AlignedBytes;
pub use parse::{assemble, encode, states_something};
pub use print::{disassemble, not_a_program};
pub use workload::workload;
