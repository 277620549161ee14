//! The document: a JSON tree of bounded size, objects whose every field is known, and what is wrong with one.

mod fault;
mod fields;
mod limits;
mod tree;

pub(crate) use fault::{Decoded, Fault, codes};
pub(crate) use fields::{Fields, few, items, unknown_word};
pub(crate) use limits::{MAX_BYTES, MAX_FIELDS, MAX_LEVELS, MAX_NAME, MAX_TOGETHER, MAX_VALUES};
pub(crate) use tree::{Json, parse, quoted};
