//! `cargo xtask bench isa`: what it takes to assemble, load and re-run units of task graphs.
//!
//! | rows | what is measured |
//! |---|---|
//! | `assemble` | from text to checked instructions and to bytes, on one thread: millions of instructions per second |
//! | `load` | from the bytes of a unit of 100,000 kernels to checked instructions: milliseconds |
//! | `invoke` | a finished graph of 10,000 kernels run again on one thread: nanoseconds per kernel |
//! | `launch` | the same graphs, launched on the threads of a session and waited for: nanoseconds per kernel |
//!
//! Every figure is a median over rounds after one to warm up. The column `plain` is what the same work takes at the very least: one
//! pass over the bytes that are read, or a loop over the graph's ready counts written by hand.

mod launch;
mod load;
mod plain;
mod rerun;
mod unit;

use super::runtime::{Field, Row};

/// The first column of what ours is compared with.
const PLAIN: &str = "plain";

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Kernels of the text that is assembled.
    pub(crate) assembled: u32,
    /// Kernels of the unit that is loaded.
    pub(crate) loaded: u32,
    /// Kernels of the graphs that are run again.
    pub(crate) rerun: u32,
    /// Times that a graph is run again in a row.
    pub(crate) launches: u32,
    /// Measurements of which the median is taken.
    pub(crate) rounds: u32,
}

impl Plan {
    /// What is measured as a rule.
    pub(crate) fn usual(rounds: u32) -> Plan {
        Plan { assembled: 50_000, loaded: 100_000, rerun: 10_000, launches: 50, rounds }
    }

    /// Small: shows that everything runs, measures nothing.
    pub(crate) fn quick(rounds: u32) -> Plan {
        Plan { assembled: 200, loaded: 400, rerun: 100, launches: 2, rounds }
    }
}

/// Names of what ours is compared with, in the order of the columns.
pub(crate) fn columns(field: &Field) -> Vec<&'static str> {
    [PLAIN].into_iter().chain(field.names()).collect()
}

/// Measures, row by row.
///
/// # Errors
/// What went wrong, in words.
pub(crate) fn measure(plan: &Plan, field: &Field, mut row: impl FnMut(Row)) -> Result<(), String> {
    load::assemble(plan, &mut row)?;
    load::load(plan, &mut row)?;
    rerun::rows(plan, field, &mut row)?;
    launch::rows(plan, &mut row)
}
