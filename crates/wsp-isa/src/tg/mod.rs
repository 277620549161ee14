//! Task-graph units as text (`.tg`) and as bytes (`.ptog`).

pub mod binary;
#[cfg(test)]
mod reference;
pub mod text;
mod usage;

pub(crate) use usage::usage;
