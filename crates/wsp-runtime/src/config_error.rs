//! Why a configuration is refused.

use std::fmt;
use wsp_core::words::counted;

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
    /// An order of starts of other workers.
    ReplayThreads {
        /// Workers of the run whose order it is.
        recorded: u32,
        /// Workers of the run.
        threads: u32,
    },
    /// An order of starts of more tasks, or of fewer.
    ReplayTasks {
        /// Tasks of the order.
        recorded: u64,
        /// Tasks of the run.
        tasks: u64,
    },
    /// An order of starts of blocks of which is not known where in their unit they stand.
    ReplayPlaces {
        /// Tasks of the order.
        recorded: u32,
        /// Those of which it is known.
        places: u64,
    },
    /// An order of starts in which a task is of another kernel, or on a worker that does not run its kind.
    ReplayKernel {
        /// The task, by its place in the order of submission.
        task: u32,
    },
    /// An order of starts in which a task starts before what it waits for.
    ReplayOrder {
        /// The task, by its place in the order of submission.
        task: u32,
    },
}

impl ConfigError {
    /// Whether an order of starts is one of other tasks than the run's.
    pub fn is_of_other_tasks(self) -> bool {
        matches!(
            self,
            ConfigError::ReplayTasks { .. }
                | ConfigError::ReplayPlaces { .. }
                | ConfigError::ReplayKernel { .. }
                | ConfigError::ReplayOrder { .. }
        )
    }
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
            ConfigError::ReplayThreads { recorded, threads } => write!(
                f,
                "the order of starts is one of {}, and this run has {threads}; run it with {recorded} or with 1",
                counted(recorded, "worker")
            ),
            ConfigError::ReplayTasks { recorded, tasks } => write!(
                f,
                "the order of starts has {}, and this run {tasks}: it is one of another program, or of other arguments",
                counted(recorded, "task")
            ),
            ConfigError::ReplayPlaces { recorded, places } => write!(
                f,
                "the order of starts has {}, and of {places} of them it says which block of which launch they are: it is none of a unit of task graphs",
                counted(recorded, "task")
            ),
            ConfigError::ReplayKernel { task } => write!(
                f,
                "in the order of starts task {task} is of another kernel, or on a worker that does not run its kind: it is one of another program, or of other arguments"
            ),
            ConfigError::ReplayOrder { task } => write!(
                f,
                "in the order of starts task {task} comes before something that it waits for: it is one of another program, or of other arguments"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}
