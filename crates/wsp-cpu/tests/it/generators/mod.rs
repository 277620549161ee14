//! Random generators with tiers, workspaces, loops, helpers and temporaries of every kind: what the program does is what an
//! interpreter of its tree says, which shares no code with the compiler. Plans and results are compared, by both engines, on
//! several threads and under schedules; where lengths are those of a cache, plans that are advanced too.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ast;
mod compare;
mod eval;
mod exprs;
mod merges;
mod numbers;
mod random;
mod rng;
