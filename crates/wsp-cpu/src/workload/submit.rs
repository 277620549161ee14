//! Generated tasks of declared kernels, run at once or handed to the runtime.

use super::declared::{Declared, TaskFault, cell};
use super::equal::{BoxFault, EqualBoxes};
use super::graph::pool;
use super::records::Record;
use super::settings::affinity;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::{SlotId, StreamId, TaskId};
use wsp_plan::workload::{TaskRecord, TaskSink};
use wsp_runtime::{KernelStats, Stopped, Submitter, TaskSpec};

/// Runs every task when it is generated: what all other ways are compared with.
pub(crate) struct Sequential<'a, 'p> {
    pub(crate) declared: &'a Declared<'p>,
    pub(crate) cancel: Option<&'a AtomicBool>,
    /// Tasks of each kernel so far.
    pub(crate) counts: Vec<KernelStats>,
}

impl TaskSink for Sequential<'_, '_> {
    type Error = TaskFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), TaskFault> {
        self.counts[task.kernel.index()].tasks += 1;
        self.declared.run_record(0, &Record::of(task))
    }

    fn ordered_begin(&mut self) -> Result<(), TaskFault> {
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), TaskFault> {
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), TaskFault> {
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, TaskFault> {
        Ok(self.declared.slot(slot))
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Why tasks are no longer submitted.
#[derive(Debug)]
pub(crate) enum StreamFault {
    /// The runtime takes no more.
    Stopped(Stopped),
    /// The boxes of the task cannot be.
    Boxes(BoxFault),
}

impl From<Stopped> for StreamFault {
    fn from(reason: Stopped) -> StreamFault {
        StreamFault::Stopped(reason)
    }
}

/// Submits tasks while others run.
pub(crate) struct Streaming<'a, 'p, 's, 'r> {
    pub(crate) declared: &'a Declared<'p>,
    pub(crate) submitter: &'s mut Submitter<'r, Declared<'p>>,
    pub(crate) workers: u32,
    /// Whether tasks wait for what `after` names.
    pub(crate) explicit: bool,
    pub(crate) equal: EqualBoxes,
}

/// The tasks that `after` names: ids of a run count tasks only, as ordinals do.
pub(crate) fn earlier(task: &TaskRecord<'_>) -> Vec<TaskId> {
    // A run has fewer than 2^31 tasks: the runtime takes no more.
    task.after.iter().map(|&ordinal| TaskId(ordinal as u32)).collect()
}

impl TaskSink for Streaming<'_, '_, '_, '_> {
    type Error = StreamFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), StreamFault> {
        self.equal.check(task.ordinal, task.reads, task.writes).map_err(StreamFault::Boxes)?;
        let number = self.declared.records.put(Record::of(task));
        let after = if self.explicit { earlier(task) } else { Vec::new() };
        let spec = TaskSpec {
            kernel: task.kernel,
            payload: &[number],
            reads: task.reads,
            writes: task.writes,
            affinity: affinity(&task.place, self.workers),
            pool: pool(task.place.pool),
            stream: task.place.stream.map(StreamId),
            priority: task.place.priority,
            after: &after,
            ..TaskSpec::default()
        };
        let submitted = self.submitter.submit(spec);
        if submitted.is_err() {
            self.declared.records.take(number);
        }
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
        Ok(self.declared.slot(slot))
    }

    fn cancelled(&self) -> bool {
        self.submitter.cancelled()
    }
}
