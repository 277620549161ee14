//! Why a task did not start earlier.

use crate::TaskId;
use core::fmt;

/// What a task's start waited for last, in virtual time and in measured runs alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WhyLate {
    /// Its generation: it started when it was submitted, and was submitted when it was generated.
    Generation {
        /// The task whose completion last made the source go on after a full window, if one did.
        resumed_by: Option<TaskId>,
    },
    /// A task or a barrier node before it.
    Predecessor(TaskId),
    /// The release of a task before it, which was complete, but kept in the batch of its worker.
    Batch {
        /// The task before it.
        predecessor: TaskId,
        /// The task upon whose completion the worker released the batch.
        released_with: TaskId,
    },
    /// A worker.
    Worker {
        /// The task that the worker ran until then.
        busy_with: TaskId,
    },
    /// A gate.
    Gate {
        /// The task whose completion opened it.
        held_by: TaskId,
    },
    /// A place in the window, for it or for one submitted at the same time.
    Window {
        /// The task whose completion made room.
        held_by: TaskId,
    },
    /// The moment from which the start policy lets tasks start.
    Start,
    /// Something before it of which the run recorded when it came, but not with which task: what AICPUs count.
    Unrecorded,
}

impl WhyLate {
    /// One word for each kind, in the order of the variants.
    pub const KINDS: [&'static str; 8] =
        ["generation", "predecessor", "batch", "worker", "gate", "window", "start", "unrecorded"];

    /// Which of [`KINDS`](Self::KINDS) it is.
    pub fn kind(self) -> usize {
        match self {
            WhyLate::Generation { .. } => 0,
            WhyLate::Predecessor(_) => 1,
            WhyLate::Batch { .. } => 2,
            WhyLate::Worker { .. } => 3,
            WhyLate::Gate { .. } => 4,
            WhyLate::Window { .. } => 5,
            WhyLate::Start => 6,
            WhyLate::Unrecorded => 7,
        }
    }

    /// The task whose completion ended the wait.
    pub fn held_by(self) -> Option<TaskId> {
        match self {
            WhyLate::Generation { resumed_by } => resumed_by,
            WhyLate::Predecessor(task)
            | WhyLate::Batch { released_with: task, .. }
            | WhyLate::Worker { busy_with: task }
            | WhyLate::Gate { held_by: task }
            | WhyLate::Window { held_by: task } => Some(task),
            WhyLate::Start | WhyLate::Unrecorded => None,
        }
    }
}

impl fmt::Display for WhyLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyLate::Generation { resumed_by: None } => f.write_str("its generation"),
            WhyLate::Generation { resumed_by: Some(task) } => {
                write!(f, "its generation, after the window had waited for task {}", task.0)
            }
            WhyLate::Predecessor(task) => write!(f, "task {} before it", task.0),
            WhyLate::Batch { predecessor, released_with } => write!(
                f,
                "the batch that released task {} before it when task {} was complete",
                predecessor.0, released_with.0
            ),
            WhyLate::Worker { busy_with } => write!(f, "a worker, busy with task {}", busy_with.0),
            WhyLate::Gate { held_by } => write!(f, "a gate, held by task {}", held_by.0),
            WhyLate::Window { held_by } => write!(f, "a place in the window, held by task {}", held_by.0),
            WhyLate::Start => f.write_str("the start policy"),
            WhyLate::Unrecorded => f.write_str("something before it that was not recorded"),
        }
    }
}
