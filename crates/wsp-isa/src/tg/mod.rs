//! Task-graph units as text (`.tg`) and as bytes (`.ptog`).

pub mod binary;
pub mod random;
mod reference;
pub mod text;
mod usage;

pub use reference::reference;
pub(crate) use usage::usage;
