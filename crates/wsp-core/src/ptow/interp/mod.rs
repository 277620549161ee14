//! The interpreter: from a program and a launch to the tasks of one AICPU.
//!
//! An interpreter keeps a stack of bodies ([`MAX_BODY_DEPTH`](super::MAX_BODY_DEPTH)) and goes on from wherever it has
//! stopped: [`Interpreter::run`] returns when a budget is spent, when it needs the value of a slot, when the host takes no
//! more, and at the end. It needs no memory but itself and its workspace, whose size follows from the program alone.
//!
//! Tasks are handed over in the order of their ordinals, and only those of this AICPU. Every interpreter of a program counts
//! the tasks of the others, so that all agree on ordinals. [`Mode::Naive`] tests the owner of every task; [`Mode::Skip`]
//! leaves out iterations and loops that hold no task of its own. Both hand over the same tasks.
//!
//! Under [`Mode::Skip`] an innermost loop of nothing but tasks, with the dense loops directly around it, is a *strip*: its own tasks
//! are found by arithmetic, and arguments that grow by the same number from iteration to iteration are kept up to date by
//! sums. Whatever does not fit that is evaluated task by task, with the same result.
//!
//! # Ordered scopes
//! `FOR_EACH`, `WHILE` and `SEQUENTIAL` tell the host where their steps begin. An interpreter that leaves out a whole scope
//! tells nothing of it; one that leaves out steps tells of those only in which it may have tasks. What it tells always
//! carries the global ordinal at that boundary, so that "the tasks from where the scope began up to this ordinal" are the same
//! tasks for everyone.
//!
//! # Faults
//! A fault of an argument, stream or priority matters for a task that this AICPU generates. A fault of a bound, a row, a
//! condition or a filter is found by every interpreter that comes to it. Under [`Mode::Skip`] the value of a `LET` around no task may
//! be left out by all of them.

mod fast;
mod fault;
mod frame;
mod linear;
mod loops;
mod machine;
mod own;
mod owner;
mod pace;
mod process;
mod setup;
mod skip;
mod stop;
mod strip;
mod turns;
mod values;
mod words;

use crate::{ExecPool, KernelId, LabelId, Region, SlotId};

pub use fault::{Fault, FaultKind, Refusal};
pub use machine::Interpreter;
pub use setup::workspace_words;
pub use turns::{Channel, Waits};

/// How an interpreter finds its own tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Leaves out what holds no task of its own.
    Skip,
    /// Tests every task.
    Naive,
}

/// Why a run has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A budget is spent; there is more.
    Yielded,
    /// The value of a slot is needed: go on when it is there.
    Waits(SlotId),
    /// All tasks have been handed over.
    Finished,
    /// The program is at fault.
    Fault(Fault),
}

/// What is told of an ordered scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordered {
    /// It begins, with a step.
    Begin,
    /// Another step of the innermost scope begins: its tasks start after all tasks of the scope so far.
    Step,
    /// The innermost scope ends.
    End,
}

/// What a task does to a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum AccessMode {
    /// Reads it.
    #[default]
    In = 0,
    /// Writes every element of it.
    Out = 1,
    /// Reads it and writes to it.
    InOut = 2,
}

/// A task, as it is handed over.
#[derive(Clone, Copy, Debug)]
pub struct Task<'t> {
    /// How many tasks were generated before it, whoever owns them.
    pub ordinal: u64,
    /// Its `TASK` instruction: an index into the words of the program.
    pub site: u32,
    /// Its kernel.
    pub kernel: KernelId,
    /// Its pool: that of its kernel, unless a threshold says otherwise.
    pub pool: ExecPool,
    /// Its parameters.
    pub params: &'t [i64],
    /// Its regions, in the order of the accesses; a region may be empty.
    pub regions: &'t [Region],
    /// What it does to each region.
    pub modes: &'t [AccessMode],
    /// Ordinals of the tasks that it waits for, without repetition.
    pub after: &'t [u64],
    /// The label that names it from now on.
    pub label: Option<LabelId>,
    /// Its stream, where there are streams.
    pub stream: Option<u16>,
    /// Its priority; larger first.
    pub priority: i32,
    /// Loop variables in scope, outermost first.
    pub vars: &'t [i64],
    /// Those of `PARALLEL_FOR`, `FOR_EACH` and `SELECT` among them.
    pub indices: &'t [i64],
}

/// What takes the tasks.
pub trait Host {
    /// Why it takes no more for now.
    type Stop;

    /// Takes a task.
    ///
    /// # Errors
    /// Ends the run. The task counts as not handed over: the next run begins with it.
    fn task(&mut self, task: &Task<'_>) -> Result<(), Self::Stop>;

    /// A boundary of an ordered scope; `ordinal` tasks were generated before, by all AICPUs.
    ///
    /// # Errors
    /// Ends the run. The next run tells of this boundary again.
    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Self::Stop>;

    /// The value of a slot once every task that writes it and whose ordinal is smaller is complete; none before.
    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64>;

    /// Runs a descriptor generator, whose first task has this ordinal; how many tasks it has generated. None when the host
    /// has no such generator.
    ///
    /// # Errors
    /// Ends the run. The generator counts as not run.
    fn plan(&mut self, generator: u16, ordinal: u64) -> Result<Option<u64>, Self::Stop>;
}

/// What an interpreter has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InterpStats {
    /// Tasks handed over.
    pub tasks: u64,
    /// Bodies entered, iterations, and skips.
    pub steps: u64,
    /// Ordered scopes entered.
    pub scopes: u64,
    /// Rounds of all `WHILE`s.
    pub while_rounds: u64,
    /// Tasks counted, whoever owns them.
    pub total_ordinals: u64,
}
