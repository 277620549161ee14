//! Why what generators hand over ends a run on AICPUs.

use super::generator::Refused;
use crate::{FailedTask, Failure};
use std::fmt;

/// What ends a run on AICPUs beside its tasks.
///
/// When a task or a generator fails, tasks with smaller ordinals still run and the others are dropped. So of several
/// failures it is that with the smallest ordinal, which a sequential run meets first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceFault<G> {
    /// A generator cannot go on.
    Fault {
        /// The AICPU.
        aicpu: u32,
        /// How far it had generated.
        watermark: u64,
        /// What it found.
        fault: G,
    },
    /// Something that a generator handed over was not taken.
    Refused {
        /// The AICPU.
        aicpu: u32,
        /// The task, or how many were generated before.
        ordinal: u64,
        /// Why.
        refused: Refused,
    },
    /// The order of starts is one of another run.
    NotReplayed {
        /// The task that it has next, and that did not start.
        task: u32,
    },
    /// A notice of completion was overwritten: two AICPUs disagree on what one told the other.
    NoticeLost {
        /// Who sent it.
        from: u32,
        /// Who read it.
        to: u32,
        /// The sequence number that it should have.
        expected: u16,
        /// The sequence number that it has.
        found: u16,
    },
}

/// Why a run of AICPUs ended early; its tasks are known by their ordinals.
pub type AicpuFailure<F, G> = Failure<F, SourceFault<G>, FailedTask<u64>>;

impl<G: fmt::Display> fmt::Display for SourceFault<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceFault::Fault { aicpu, fault, .. } => write!(f, "AICPU {aicpu} cannot go on: {fault}"),
            SourceFault::Refused { aicpu, ordinal, refused } => {
                write!(f, "task {ordinal} of AICPU {aicpu} was not taken: {refused}")
            }
            SourceFault::NotReplayed { task } => write!(
                f,
                "in the order of starts task {task} is next, and cannot start then: it is one of other AICPUs, of another program, or of other arguments"
            ),
            SourceFault::NoticeLost { from, to, expected, found } => write!(
                f,
                "a notice from AICPU {from} to AICPU {to} was overwritten: it has number {found}, but {expected} is next"
            ),
        }
    }
}
