//! `wsp bench decode`: how fast, and how near to what the machine can read. `wsp bench runtime`: see [`runtime`]. `wsp bench generate`: see [`generate`].
//! `wsp bench isa`: see [`isa`]. Other libraries beside `wsp bench decode`: see [`peers`].
//! `wsp bench plan`: see [`plan`].

mod ceiling;
pub(crate) mod generate;
pub(crate) mod isa;
pub(crate) mod peers;
pub(crate) mod plan;
pub(crate) mod runtime;
mod sets;
mod table;

pub use ceiling::read_rate;
pub(crate) use ceiling::read_time;
pub(crate) use sets::{describe, lengths};
pub(crate) use table::{Point, Row, doubt, json, print};
