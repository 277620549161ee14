//! The text of designs: a tree of operations, a parser that is total over any text, and a printer from the same tree.
//!
//! An operation has two spellings: the generic one of MLIR, and one of its own, which is a row of [`table`]. The parser takes both, mixed as they come. The
//! printer writes operations of `aie` and `aiex` generically and all others in their own spelling ([`Form::Mixed`]), which MLIR's own tools read
//! without the dialect, or all of them in their own ([`Form::Pretty`]), for people and for `aie-opt`.

mod custom;
mod custom_print;
mod lex;
mod numbers;
mod parse;
mod pretty;
mod print;
mod read;
pub(crate) mod table;
mod tree;
mod types;

pub use parse::parse;
pub(crate) use print::LENGTH_RANGE;
pub use print::{Form, print};
pub use table::Version;
pub use tree::{Attr, Block, Dim, MAX_DEPTH, Module, Op, Region, Shaped, Type, Value, ValueInfo};
pub(crate) use types::text as text_of;
