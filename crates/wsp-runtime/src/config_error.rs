//! Why a configuration is refused.

use std::fmt;

/// What is wrong with a [`RunConfig`](crate::RunConfig).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// A field outside its range.
    Range {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
        /// Smallest value allowed.
        min: u32,
        /// Largest value allowed.
        max: u32,
    },
    /// The workers of the pools are not the workers of the run.
    PoolSum {
        /// Workers for vector tasks.
        vector: u32,
        /// Workers for cube tasks.
        cube: u32,
        /// Workers of the run.
        threads: u32,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ConfigError::Range { field, value, min, max } => {
                write!(f, "`{field}` is {value}, but must lie in {min}..={max}")
            }
            ConfigError::PoolSum { vector, cube, threads } => write!(
                f,
                "{vector} vector and {cube} cube workers are {}, but `threads` is {threads}; make the two add up to it",
                vector + cube
            ),
        }
    }
}

impl std::error::Error for ConfigError {}
