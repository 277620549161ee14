//! Other libraries beside `cargo xtask bench decode`: the programs of `benches/peers/decode`, which its `README.md` describes.
//!
//! A peer is started once for a problem and a number of threads, says when it is ready, and then measures itself whenever
//! it is told to, so that ours and theirs alternate and nobody's start counts.

mod affinity;
mod install;
mod problem;
mod process;
mod table;
mod team;

pub(crate) use affinity::Bound;
pub(crate) use install::{Place, install};
pub(crate) use problem::{Problem, Workspace};
pub(crate) use table::{Compared, WRONG, heading, json, line, notes};
pub(crate) use team::Team;

/// Why a peer gave nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// Which failed or said something else than it should, and what it did.
    pub(crate) what: String,
    /// The end of what it wrote to standard error.
    pub(crate) said: String,
}
