//! How a run ends.

use crate::aicpu::AicpuConfigError;
use crate::infer::MapError;
use crate::{ConfigError, Report, Stats};
use std::fmt;
use wsp_core::words::counted;
use wsp_core::{EventId, KernelId, TaskId, limits};

/// Statistics of a run that completed, or why it did not.
pub type Outcome<F, E> = Result<Stats, Failure<F, E>>;

/// Why a run did not complete, on threads, on AICPUs, or in virtual time, or a launch of a task graph: `F` of its tasks, `E` of what generates them; `T` is
/// what a task that failed is known by. Tasks that were running have finished; the others were never started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure<F, E, T = FailedTask> {
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
        task: T,
        /// What it returned.
        failure: F,
    },
    /// A task panicked; otherwise as [`Failure::Task`].
    Panic {
        /// The task.
        task: T,
        /// The panic's message.
        message: String,
    },
    /// [`RunConfig::cancel`](crate::RunConfig::cancel) became true while there was work left.
    Cancelled,
    /// Tasks are left that wait for each other, or for what will never happen.
    Stuck(Report),
}

/// A task of a run that failed. AICPUs know tasks by their ordinals (`T` is `u64`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedTask<T = TaskId> {
    /// The task.
    pub id: T,
    /// Its kernel.
    pub kernel: KernelId,
    /// Its descriptor.
    pub payload: Vec<u32>,
    /// Submitted tasks that were not started.
    pub cancelled: u64,
}

impl<T: Numbered> fmt::Display for FailedTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} (kernel {})", self.id.number(), self.kernel.0)
    }
}

/// What a task is known by.
pub trait Numbered: Copy {
    /// Its number in messages.
    fn number(self) -> u64;
}

impl Numbered for TaskId {
    fn number(self) -> u64 {
        self.0.into()
    }
}

/// An ordinal.
impl Numbered for u64 {
    fn number(self) -> u64 {
        self
    }
}

impl<F: fmt::Display, E: fmt::Display, T: fmt::Display> fmt::Display for Failure<F, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Start(error) => error.fmt(f),
            Failure::Source(error) => error.fmt(f),
            Failure::Task { task, failure } => write!(f, "{task} failed: {failure}"),
            Failure::Panic { task, message } => write!(f, "{task} panicked: {message}"),
            Failure::Cancelled => f.write_str("the run was cancelled"),
            Failure::Stuck(report) => report.fmt(f),
        }
    }
}

impl<F, E, T> std::error::Error for Failure<F, E, T>
where
    F: fmt::Debug + fmt::Display,
    E: fmt::Debug + fmt::Display,
    T: fmt::Debug + fmt::Display,
{
}

/// Why a run could not start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StartError {
    /// The configuration.
    Config(ConfigError),
    /// The configuration of a run on AICPUs.
    Aicpus(AicpuConfigError),
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
            StartError::Aicpus(error) => error.fmt(f),
            StartError::Threads { wanted, started, reason } => {
                write!(f, "could start {started} of {wanted} worker threads: {reason}")
            }
        }
    }
}

impl std::error::Error for StartError {}

/// Why a task was not taken. It then leaves no trace: the next takes its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// A task has failed, the run was cancelled or cannot go on; [`run`](crate::run) will return which. The source should
    /// return.
    Stopping,
    /// The payload is longer than [`limits::MAX_PAYLOAD_WORDS`].
    PayloadTooLong {
        /// Words of the payload.
        words: usize,
    },
    /// There already are [`limits::MAX_TASKS`] tasks and barrier nodes.
    TooManyTasks,
    /// There already are as many edges as can be counted.
    TooManyEdges,
    /// The window is full and its mode is [`WindowMode::Abort`](crate::WindowMode::Abort).
    WindowOverflow {
        /// Its capacity.
        capacity: u32,
        /// Tasks in flight.
        active: u32,
        /// The id that the task would have had.
        task: TaskId,
    },
    /// No such task has been submitted.
    UnknownTask(TaskId),
    /// It would end after cycle 2^64 - 1 of virtual time.
    TooLong(TaskId),
    /// The order of starts has another task in its place.
    NotReplayed {
        /// The task.
        task: TaskId,
        /// What is another.
        why: NotReplayed,
    },
    /// No such event has been made.
    UnknownEvent(EventId),
    /// Another task already signals the event.
    SignalledTwice(EventId),
    /// An edge was given, but [`Deps`](crate::Deps) says that edges come from regions alone.
    EdgeNotTaken,
    /// Writers of a region were asked for, but [`Deps`](crate::Deps) says that regions are not looked at.
    RegionsNotKept,
    /// A step or the end of an ordered scope without its beginning.
    NoOrderedScope,
    /// The accesses of a task cannot be recorded: a tile of no tensor registered here, or too many distinct regions.
    Map(MapError),
}

/// Why a task is not the one that an order of starts has in its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotReplayed {
    /// The order ends before it.
    End {
        /// Tasks of the order.
        tasks: u32,
    },
    /// It is of another kernel.
    Kernel,
    /// Its worker is of a pool that does not run it.
    Pool {
        /// The worker.
        worker: u32,
    },
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Stopping => f.write_str("the run is stopping"),
            Stopped::PayloadTooLong { words } => {
                write!(
                    f,
                    "a payload of {words}, but at most {} are allowed",
                    limits::MAX_PAYLOAD_WORDS,
                    words = counted(words, "word")
                )
            }
            Stopped::TooManyTasks => write!(f, "more than {}", counted(limits::MAX_TASKS, "task")),
            Stopped::TooManyEdges => f.write_str("more than 2147483647 edges"),
            Stopped::WindowOverflow { capacity, active, task } => write!(
                f,
                "task {} finds the window of {capacity} full: {active} are in flight; let submissions stall, or \
                 ask for a larger window",
                task.0,
                active = counted(active, "task")
            ),
            Stopped::UnknownTask(task) => write!(f, "task {} has not been submitted", task.0),
            Stopped::TooLong(task) => {
                write!(f, "task {} would end after cycle {}; scale the costs down", task.0, u64::MAX)
            }
            Stopped::NotReplayed { task, why } => {
                let what = match why {
                    NotReplayed::End { tasks } => {
                        format!("comes after the last of {}", counted(*tasks, "task"))
                    }
                    NotReplayed::Kernel => "is of another kernel".to_owned(),
                    NotReplayed::Pool { worker } => {
                        format!("is on worker {worker}, which does not run its kind,")
                    }
                };
                let of = "which is one of another program, of other arguments or of other pools";
                write!(f, "task {} {what} in the order of starts, {of}", task.0)
            }
            Stopped::UnknownEvent(event) => write!(f, "there is no event {}", event.0),
            Stopped::SignalledTwice(event) => write!(f, "a second task signals event {}", event.0),
            Stopped::EdgeNotTaken => {
                f.write_str("edges are inferred from regions; to give some too, ask for hybrid dependences")
            }
            Stopped::RegionsNotKept => f.write_str(
                "dependences are explicit, so the writers of a region are not known; ask for hybrid ones",
            ),
            Stopped::NoOrderedScope => f.write_str("no ordered scope has begun"),
            Stopped::Map(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Stopped {}
