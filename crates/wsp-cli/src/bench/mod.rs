//! `wsp bench decode`: how fast, and how near to what the machine can read.

mod ceiling;
mod sets;
mod table;

pub use ceiling::read_rate;
pub(crate) use sets::{describe, lengths};
pub(crate) use table::{Row, json, print};
