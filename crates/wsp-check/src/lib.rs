//! Whether results are right: references in f64, data that are made up for programs, and the comparison of outputs.
//!
//! [`mod@reference`] computes what a program should give from its raw arrays, and compares; it shares no code with plans, kernels or tile
//! operations. [`generate`] makes the arrays from a seed, by a formula that other programs can follow; what extents and parameters are, it
//! takes from expressions of the program, which it evaluates as a launch does.
//!
//! **Boundary:** knows neither the command line nor its files: a list of lengths comes through [`generate::Origin`].
#![forbid(unsafe_code)]

pub mod generate;
mod integers;
mod memory;
mod numbers;
pub mod reference;

pub use integers::to_u32;
pub use memory::{available_memory, check_memory, total_memory};

/// Threads that the machine runs at once; at least 1.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}
