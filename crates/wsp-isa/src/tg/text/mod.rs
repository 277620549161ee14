//! The text form of task-graph units.
//!
//! [`parse`] reads it, [`print`](print()) writes it. What [`print`](print()) writes is read as the same unit again; a unit that was read and printed
//! is printed the same ever after. `docs/reference/tg.md` describes the form.
//!
//! Names are for numbers: where a name stands for a graph, a kernel, a tensor and so on, its first use gives it the next number
//! of its kind, one more than the largest before it. A text says the number of a name itself (`name kernel K = 7`) only
//! where that would give another one.

pub(crate) mod codes;
mod idents;
mod parse;
mod print;
mod tokens;
mod words;

use wsp_core::DType;
use wsp_core::tg::ScalarType;

#[cfg(test)]
pub(in crate::tg) use parse::MAX_NESTING;
pub use parse::parse;
pub(in crate::tg) use print::default_text;
pub use print::print;
pub use tokens::states_something;

/// What a load that says no type reads from elements of a type: truth values are bytes. None if no scalar holds them.
fn type_of_load(elements: DType) -> Option<ScalarType> {
    match elements {
        DType::Bool => Some(ScalarType::U8),
        _ => ScalarType::of(elements),
    }
}
