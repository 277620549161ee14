//! The interpreter: what every instruction means, that it goes on where it stopped, and that leaving out what is not its
//! own changes nothing.

#[path = "../common/mod.rs"]
mod common;
mod ops;
mod random;
