//! Generated tasks of declared kernels, run at once or handed to the runtime.

use super::cells::cell;
use super::declared::{Declared, TaskFault, Worker};
use super::equal::{EqualRegions, RegionFault};
use super::kept::MOST_KEPT;
use super::records::{Arguments, Numbers, Record};
use super::settings::affinity;
use super::touch::stated_tile;
use crate::tiles::Tiles;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::{Poll, SlotId, StreamId, TaskId};
use wsp_plan::workload::{TaskRecord, TaskSink};
use wsp_runtime::{KernelStats, Stopped, Submitter, TaskSpec};

/// Tasks between two times that a poll is asked.
const POLL_TASKS: u32 = 16;

/// Runs every task when it is generated: what all other ways are compared with.
pub(crate) struct Sequential<'a> {
    declared: &'a Declared,
    worker: MutexGuard<'a, Worker>,
    cancel: Option<&'a AtomicBool>,
    poll: Option<&'a dyn Poll>,
    /// Tasks until the poll is asked again.
    unasked: u32,
    /// Tasks of each kernel so far.
    counts: &'a mut [KernelStats],
    /// The tasks so far, where they are to be run again; none when that cannot be.
    pub(crate) kept: Option<Vec<Record>>,
}

/// Why no more tasks run.
#[derive(Debug)]
pub(crate) enum SequentialStop {
    /// A task failed.
    Task(Box<TaskFault>),
    /// The run was stopped from outside.
    Cancelled,
}

impl<'a> Sequential<'a> {
    /// Runs tasks on this thread; `counts` has an entry per kernel.
    pub(crate) fn new(
        declared: &'a Declared,
        cancel: Option<&'a AtomicBool>,
        poll: Option<&'a dyn Poll>,
        counts: &'a mut [KernelStats],
    ) -> Sequential<'a> {
        Sequential {
            declared,
            worker: declared.worker(0),
            cancel,
            poll,
            unasked: POLL_TASKS,
            counts,
            kept: None,
        }
    }

    /// Runs a task.
    #[inline]
    pub(crate) fn run(&mut self, task: Arguments<'_>) -> Result<(), SequentialStop> {
        self.counts[task.kernel.index()].tasks += 1;
        self.declared.run_seen(0, &mut self.worker, task).map_err(SequentialStop::Task)?;
        if self.is_cancelled() { Err(SequentialStop::Cancelled) } else { self.ask() }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Asks the poll after some tasks.
    fn ask(&mut self) -> Result<(), SequentialStop> {
        let Some(poll) = self.poll else { return Ok(()) };
        self.unasked -= 1;
        if self.unasked > 0 {
            return Ok(());
        }
        self.unasked = POLL_TASKS;
        if poll.stops() { Err(SequentialStop::Cancelled) } else { Ok(()) }
    }
}

impl TaskSink for Sequential<'_> {
    type Error = SequentialStop;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), SequentialStop> {
        self.run(task.into())?;
        if let Some(tasks) = &mut self.kept {
            if tasks.len() < MOST_KEPT {
                tasks.push(Record::of(task.into()));
            } else {
                self.kept = None;
            }
        }
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, SequentialStop> {
        // Which tasks there are depends on what tasks compute.
        self.kept = None;
        Ok(self.declared.slot(slot))
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

/// Why tasks are no longer submitted.
#[derive(Debug)]
pub(crate) enum StreamFault {
    /// The runtime takes no more.
    Stopped(Stopped),
    /// The regions of the task cannot be.
    Regions(RegionFault),
}

impl From<Stopped> for StreamFault {
    fn from(reason: Stopped) -> StreamFault {
        StreamFault::Stopped(reason)
    }
}

/// Submits tasks while others run.
pub(crate) struct Streaming<'a, 's, 'r> {
    pub(crate) declared: &'a Declared,
    pub(crate) submitter: &'s mut Submitter<'r, Declared>,
    pub(crate) numbers: Numbers,
    pub(crate) poll: Option<&'a dyn Poll>,
    pub(crate) workers: u32,
    /// Whether tasks wait for what `after` names.
    pub(crate) explicit: bool,
    pub(crate) equal: EqualRegions,
    /// Tasks so far.
    pub(crate) tasks: u64,
    /// The grid that tasks are placed on.
    pub(crate) tiles: Option<&'a Tiles>,
}

/// The tasks that `after` names: ids of a run count tasks only, as ordinals do.
pub(crate) fn earlier(task: &TaskRecord<'_>) -> Vec<TaskId> {
    // A run has fewer than 2^31 tasks: the runtime takes no more.
    task.after.iter().map(|&ordinal| TaskId(ordinal as u32)).collect()
}

impl TaskSink for Streaming<'_, '_, '_> {
    type Error = StreamFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), StreamFault> {
        self.equal.check(task.ordinal, task.reads, task.writes).map_err(StreamFault::Regions)?;
        let number = self.declared.records.put(&mut self.numbers, task.into());
        let after = if self.explicit { earlier(task) } else { Vec::new() };
        let tile = self.tiles.map(|tiles| stated_tile(tiles, task));
        let spec = TaskSpec {
            kernel: task.kernel,
            payload: &[number],
            reads: task.reads,
            writes: task.writes,
            affinity: affinity(&task.place, tile, self.workers),
            pool: task.place.pool,
            stream: task.place.stream.map(StreamId),
            priority: task.place.priority,
            after: &after,
            ..TaskSpec::default()
        };
        let submitted = self.submitter.submit(spec);
        if submitted.is_err() {
            self.declared.records.release(&mut self.numbers, number);
        }
        self.tasks = task.ordinal + 1;
        submitted.map(|_| ()).map_err(StreamFault::Stopped)
    }

    fn ordered_begin(&mut self) -> Result<(), StreamFault> {
        self.submitter.ordered_begin();
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), StreamFault> {
        Ok(self.submitter.ordered_step()?)
    }

    fn ordered_end(&mut self) -> Result<(), StreamFault> {
        Ok(self.submitter.ordered_end()?)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, StreamFault> {
        self.submitter.await_writers(&cell(self.declared.slot_tensor(slot)))?;
        Ok(self.declared.read_slot(slot, self.tasks))
    }

    fn cancelled(&self) -> bool {
        self.submitter.cancelled() || self.poll.is_some_and(Poll::stops)
    }
}
