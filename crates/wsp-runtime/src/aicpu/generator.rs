//! What an AICPU generates: tasks, and the boundaries of ordered scopes, in the order of their ordinals.

use crate::NotReplayed;
use std::fmt;
use wsp_core::words::counted;
use wsp_core::{AccessKind, ExecPool, KernelId, Region, SlotId, StreamId, limits};

/// What one AICPU generates, in its own ordinals' order.
///
/// Ordinals count the tasks of all AICPUs in elaboration order; each belongs to exactly one AICPU.
pub trait Generator: Send {
    /// What can be wrong with the program or its data.
    type Fault: Send;

    /// Goes on: hands over at most `free` tasks, which is at least 1, and takes bounded time.
    ///
    /// When `out` refuses something the run ends, and the generator should return.
    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<Self::Fault>;

    /// All own tasks with smaller ordinals were handed over; `u64::MAX` when finished. Never decreases. After a task was
    /// handed over it is above the task's ordinal; while the generator waits for a slot, it is at least the ordinal that
    /// it asked with.
    fn watermark(&self) -> u64;
}

impl<G: Generator> Generator for &mut G {
    type Fault = G::Fault;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<G::Fault> {
        (**self).generate(free, out)
    }

    fn watermark(&self) -> u64 {
        (**self).watermark()
    }
}

impl<G: Generator + ?Sized> Generator for Box<G> {
    type Fault = G::Fault;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<G::Fault> {
        (**self).generate(free, out)
    }

    fn watermark(&self) -> u64 {
        (**self).watermark()
    }
}

/// How far a generator came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress<F> {
    /// There may be more.
    More,
    /// The slot has no value yet: [`Emit::slot`] returned nothing. The generator is asked again.
    Waits(SlotId),
    /// All tasks were handed over.
    Finished,
    /// It cannot go on. Tasks before its watermark still run.
    Fault(F),
}

/// A generated task.
#[derive(Clone, Copy, Debug, Default)]
pub struct AicpuTask<'t> {
    /// How many tasks, of all AICPUs, were generated before it.
    pub ordinal: u64,
    /// Its kernel, as the runner numbers them.
    pub kernel: KernelId,
    /// The execution units that may run it.
    pub pool: ExecPool,
    /// Starts only when the task before it on the same stream is complete.
    pub stream: Option<StreamId>,
    /// Under [`ReadyOrder::Priority`](super::ReadyOrder::Priority) the larger goes first.
    pub priority: i32,
    /// Regions it may load from. Regions of tensors that no task writes can be left out, and so can those whose order `needs` keeps.
    pub reads: &'t [Region],
    /// Regions it may store to.
    pub writes: &'t [Region],
    /// Ordinals of tasks that must be complete before it starts; all smaller than its own.
    pub after: &'t [u64],
    /// Its descriptor: at most [`MAX_LOCAL_PARAMS`](limits::MAX_LOCAL_PARAMS) words.
    pub payload: &'t [u32],
    /// Accesses whose order is known beforehand.
    pub needs: &'t [Need],
}

/// An access to a tile whose earlier accesses have been counted beforehand.
///
/// A read waits until so many writes of the tile are complete, a write until so many accesses are, reads and writes
/// together. With the numbers of those that come before it in elaboration order, tasks of one tile run as their regions
/// would order them, and no AICPU has to know how far the others have generated. A task names a tile once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Need {
    /// The tile: an index below [`AicpuConfig::counters`](super::AicpuConfig::counters).
    pub counter: u32,
    /// How the task uses it.
    pub access: AccessKind,
    /// Complete writes that a read, or complete accesses that a write waits for.
    pub reached: u64,
}

/// Takes what a generator generates.
pub trait Emit {
    /// Takes a task.
    ///
    /// # Errors
    /// The run ends with [`SourceFault::Refused`](super::SourceFault::Refused).
    fn task(&mut self, task: &AicpuTask<'_>) -> Result<(), Refused>;

    /// An ordered scope begins with its first step; `ordinal` tasks of all AICPUs were generated before. Scopes without
    /// own tasks may be left out.
    fn ordered_begin(&mut self, ordinal: u64);

    /// The next step of the innermost scope begins: its tasks start after all tasks of the scope so far, whoever has them.
    ///
    /// # Errors
    /// No scope has begun.
    fn ordered_step(&mut self, ordinal: u64) -> Result<(), Refused>;

    /// The innermost ordered scope ends.
    ///
    /// # Errors
    /// No scope has begun.
    fn ordered_end(&mut self, ordinal: u64) -> Result<(), Refused>;

    /// The value of a slot once all tasks below `ordinal` that write it are complete; nothing before. The generator then
    /// returns [`Progress::Waits`], and asks again when it is called.
    ///
    /// # Errors
    /// There is no such slot.
    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Result<Option<i64>, Refused>;
}

/// Why something of a generator was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refused {
    /// More tasks than there was room for.
    TooMany,
    /// The window is full, and its mode is [`WindowMode::Abort`](crate::WindowMode::Abort).
    WindowFull {
        /// Its capacity, in tasks.
        capacity: u32,
    },
    /// The payload is longer than [`limits::MAX_LOCAL_PARAMS`].
    PayloadTooLong {
        /// Words of the payload.
        words: usize,
    },
    /// The ordinal is not above those of the tasks before.
    NotIncreasing {
        /// The smallest ordinal that would have been taken.
        least: u64,
    },
    /// `after` names a task that does not come before.
    AfterLater {
        /// The task that it names.
        after: u64,
    },
    /// `after` names tasks, but the run was told that none does ([`AfterEdges::Absent`](super::AfterEdges::Absent)).
    AfterNotKept,
    /// A tile that the run does not count.
    NoCounter {
        /// Its number.
        counter: u32,
        /// How many are counted.
        counters: u32,
    },
    /// A step or an end without the beginning of an ordered scope.
    NoOrderedScope,
    /// A slot that the launch does not have.
    NoSlot(SlotId),
    /// The order of starts is one of other tasks.
    NotReplayed(NotReplayed),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refused::TooMany => f.write_str("the generator handed over more tasks than there was room for"),
            Refused::WindowFull { capacity } => write!(
                f,
                "it finds the window of {capacity} full; let generation stall, or ask for a larger window"
            ),
            Refused::PayloadTooLong { words } => {
                write!(
                    f,
                    "a payload of {words}, but at most {} are allowed",
                    limits::MAX_LOCAL_PARAMS,
                    words = counted(words, "word")
                )
            }
            Refused::NotIncreasing { least } => {
                write!(f, "ordinals of one AICPU increase: it should be at least {least}")
            }
            Refused::AfterLater { after } => {
                write!(f, "it comes after task {after}, which is not generated before it")
            }
            Refused::AfterNotKept => {
                f.write_str("it comes after another task, but the run keeps no such edges; ask for them")
            }
            Refused::NoCounter { counter, counters } => {
                write!(f, "there is no counter {counter}: the run has {counters}")
            }
            Refused::NoOrderedScope => f.write_str("no ordered scope has begun"),
            Refused::NoSlot(slot) => write!(f, "there is no slot {}", slot.0),
            Refused::NotReplayed(NotReplayed::End { tasks }) => {
                write!(f, "the order of starts has {tasks} tasks")
            }
            Refused::NotReplayed(_) => f.write_str("in the order of starts it is of another kernel"),
        }
    }
}

impl std::error::Error for Refused {}

/// The values that tasks compute and generators read.
pub trait Slots: Sync {
    /// The region that a slot's writers write; nothing if there is no such slot.
    fn region(&self, slot: SlotId) -> Option<Region>;

    /// Its value at this moment, for the task of an ordinal and those behind it. Called when the tasks that should have written it are complete,
    /// and no other runs.
    fn value(&self, slot: SlotId, ordinal: u64) -> i64;
}

/// For programs that read no computed value.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSlots;

impl Slots for NoSlots {
    fn region(&self, _: SlotId) -> Option<Region> {
        None
    }

    fn value(&self, _: SlotId, _: u64) -> i64 {
        0
    }
}
