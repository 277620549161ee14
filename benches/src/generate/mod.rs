//! `cargo xtask bench generate`: what it costs an AICPU to generate its own tasks, beside a loop written by hand for one program and
//! beside a list that the host makes.
//!
//! | rows | what is measured |
//! |---|---|
//! | `dense` | a nest of two loops, a task of two parameters and one box: nanoseconds per task of one thread, from the bytecode and by the host's expansion |
//! | `expanders` | programs that differ in what stands around a task: nanoseconds per task of the host, from the program and by a walk over the tree |
//! | `flat` | one AICPU of `N` whose own tasks stay as many: nanoseconds per own task, as `N` grows |
//! | `ragged` | rows of different lengths: the same, with and without sums over them |
//! | `llama` | the attention of LLaMA-7B: bytes of program and list, time to the first task, memory |
//!
//! Every figure is a median over rounds, in each of which ours and what it is compared with are measured in turn.

mod aicpu;
mod dense;
mod expanders;
mod flat;
mod hosts;
mod llama;
mod nest;
mod ragged;

use super::runtime::table::Row;
use crate::args::GenerateSection;

/// What our figures are compared with, in the order of the columns.
pub(crate) const PEERS: [&str; 3] = ["by hand", "naive", "host list"];

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Tasks of the dense nest.
    pub(crate) dense: u32,
    /// Own tasks of one AICPU, in the rows of `flat`.
    pub(crate) own: u32,
    /// Tokens of a sequence, in the rows of `llama`.
    pub(crate) seq: u32,
    /// Measurements of which the median is taken.
    pub(crate) rounds: u32,
}

impl Plan {
    /// What is measured as a rule.
    pub(crate) fn usual(rounds: u32) -> Plan {
        Plan { dense: 1 << 24, own: 1 << 20, seq: 16_384, rounds }
    }

    /// Tiny: shows that everything runs, measures nothing.
    pub(crate) fn quick(rounds: u32) -> Plan {
        Plan { dense: 1 << 10, own: 1 << 8, seq: 256, rounds }
    }
}

/// Measures one part of the table, row by row.
///
/// # Errors
/// What went wrong, in words.
pub(crate) fn measure(section: GenerateSection, plan: &Plan, mut row: impl FnMut(Row)) -> Result<(), String> {
    match section {
        GenerateSection::Dense => dense::rows(plan, &mut row),
        GenerateSection::Expanders => expanders::rows(plan, &mut row),
        GenerateSection::Flat => flat::rows(plan, &mut row),
        GenerateSection::Ragged => ragged::rows(plan, &mut row),
        GenerateSection::Llama => llama::rows(plan, &mut row),
    }
}
