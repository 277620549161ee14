//! How a run ends.

use crate::{ConfigError, Stats};
use std::fmt;
use wsp_core::{KernelId, TaskId, limits};

/// Figures of a run that completed, or why it did not.
pub type Outcome<F, E> = Result<Stats, Failure<F, E>>;

/// Why a run did not complete. Tasks that were running have finished; the others were never started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure<F, E> {
    /// The run could not start.
    Start(StartError),
    /// The source returned an error, and no task had failed.
    Source(E),
    /// A task returned an error.
    ///
    /// Of several failing tasks it is the one with the smallest id: when a task fails only later ones are dropped, so
    /// that every run of a program reports the failure that its sequential run meets first.
    Task {
        /// The task.
        task: TaskId,
        /// Its kernel.
        kernel: KernelId,
        /// Its descriptor.
        payload: Vec<u32>,
        /// What it returned.
        failure: F,
        /// Submitted tasks that were not started.
        cancelled: u64,
    },
    /// A task panicked; otherwise as [`Failure::Task`].
    Panic {
        /// The task.
        task: TaskId,
        /// Its kernel.
        kernel: KernelId,
        /// Its descriptor.
        payload: Vec<u32>,
        /// The panic's message.
        message: String,
        /// Submitted tasks that were not started.
        cancelled: u64,
    },
    /// [`RunConfig::cancel`](crate::RunConfig::cancel) became true while there was work left.
    Cancelled,
}

/// Why a run could not start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StartError {
    /// The configuration.
    Config(ConfigError),
    /// The system gave fewer threads than asked for.
    Threads {
        /// Threads asked for.
        wanted: u32,
        /// Threads that could be started.
        started: u32,
        /// What the system says.
        reason: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(error) => error.fmt(f),
            StartError::Threads { wanted, started, reason } => {
                write!(f, "could start {started} of {wanted} worker threads: {reason}")
            }
        }
    }
}

impl std::error::Error for StartError {}

/// Why a task was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A task has failed or the run was cancelled; [`run`](crate::run) will return which. The source should return.
    Stopping,
    /// The payload is longer than [`limits::MAX_PAYLOAD_WORDS`].
    PayloadTooLong {
        /// Words of the payload.
        words: usize,
    },
    /// The run already has [`limits::MAX_DESCRIPTORS`] tasks.
    TooManyTasks,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Stopping => f.write_str("the run is stopping"),
            Stopped::PayloadTooLong { words } => {
                write!(f, "a payload of {words} words, but at most {} are allowed", limits::MAX_PAYLOAD_WORDS)
            }
            Stopped::TooManyTasks => write!(f, "more than {} tasks in one run", limits::MAX_DESCRIPTORS),
        }
    }
}

impl std::error::Error for Stopped {}
