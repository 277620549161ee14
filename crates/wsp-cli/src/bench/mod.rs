//! `wsp bench decode`: how fast, and how near to what the machine can read. `wsp bench runtime`: see [`runtime`]. `wsp bench generate`: see [`generate`].
//! `wsp bench isa`: see [`isa`].

mod ceiling;
pub(crate) mod generate;
pub(crate) mod isa;
pub(crate) mod runtime;
mod sets;
mod table;

pub use ceiling::read_rate;
pub(crate) use sets::{describe, lengths};
pub(crate) use table::{Row, json, print};
