//! How a run on AICPUs ends early.

use super::generator::Refused;
use crate::{Report, StartError};
use std::fmt;
use wsp_core::KernelId;

/// Why a run did not complete. Tasks that were running have finished.
///
/// When a task or a generator fails, tasks with smaller ordinals still run and the others are dropped. So of several
/// failures it is that with the smallest ordinal, which a sequential run meets first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AicpuFailure<F, G> {
    /// The run could not start.
    Start(StartError),
    /// A task returned an error.
    Task {
        /// Its number in elaboration order.
        ordinal: u64,
        /// Its kernel.
        kernel: KernelId,
        /// Its descriptor.
        payload: Vec<u32>,
        /// What it returned.
        failure: F,
        /// Generated tasks that were not started.
        cancelled: u64,
    },
    /// A task panicked; otherwise as [`AicpuFailure::Task`].
    Panic {
        /// Its number in elaboration order.
        ordinal: u64,
        /// Its kernel.
        kernel: KernelId,
        /// Its descriptor.
        payload: Vec<u32>,
        /// The panic's message.
        message: String,
        /// Generated tasks that were not started.
        cancelled: u64,
    },
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
    /// [`AicpuConfig::cancel`](super::AicpuConfig::cancel) became true while there was work left.
    Cancelled,
    /// Tasks are left that wait for what will never happen.
    Stuck(Report),
}

impl<F: fmt::Display, G: fmt::Display> fmt::Display for AicpuFailure<F, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AicpuFailure::Start(error) => error.fmt(f),
            AicpuFailure::Task { ordinal, kernel, failure, .. } => {
                write!(f, "task {ordinal} (kernel {}) failed: {failure}", kernel.0)
            }
            AicpuFailure::Panic { ordinal, kernel, message, .. } => {
                write!(f, "task {ordinal} (kernel {}) panicked: {message}", kernel.0)
            }
            AicpuFailure::Fault { aicpu, fault, .. } => write!(f, "AICPU {aicpu} cannot go on: {fault}"),
            AicpuFailure::Refused { aicpu, ordinal, refused } => {
                write!(f, "task {ordinal} of AICPU {aicpu} was not taken: {refused}")
            }
            AicpuFailure::NoticeLost { from, to, expected, found } => write!(
                f,
                "a notice from AICPU {from} to AICPU {to} was overwritten: it has number {found}, but {expected} is next"
            ),
            AicpuFailure::Cancelled => f.write_str("the run was cancelled"),
            AicpuFailure::Stuck(report) => report.fmt(f),
        }
    }
}

impl<F: fmt::Debug + fmt::Display, G: fmt::Debug + fmt::Display> std::error::Error for AicpuFailure<F, G> {}
