//! The document: a JSON tree of bounded size, objects whose every field is known, and what is wrong with one.

pub(crate) mod codes;
#[cfg(feature = "read")]
mod fault;
#[cfg(feature = "read")]
mod fields;
#[cfg(feature = "read")]
mod limits;
#[cfg(feature = "read")]
mod tree;

#[cfg(feature = "read")]
pub(crate) use fault::{Decoded, Fault};
#[cfg(feature = "read")]
pub(crate) use fields::{Fields, few, items, unknown_word};
#[cfg(feature = "read")]
pub(crate) use limits::{MAX_BYTES, MAX_FIELDS, MAX_LEVELS, MAX_NAME, MAX_TOGETHER, MAX_VALUES};
#[cfg(feature = "read")]
pub(crate) use tree::{Json, parse, quoted};
