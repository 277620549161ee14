//! Generated tasks of declared kernels, run at once or handed to the runtime.

use super::declared::{Declared, TaskFault, cell};
use super::graph::pool;
use super::records::Record;
use super::settings::affinity;
use wsp_core::{SlotId, StreamId, TaskId};
use wsp_plan::workload::{TaskRecord, TaskSink};
use wsp_runtime::infer::{Accesses, Conflict, MapError, RegionMap, TensorMap};
use wsp_runtime::{Stopped, Submitter, TaskSpec};

/// Runs every task when it is generated: what all other ways are compared with.
pub(crate) struct Sequential<'a, 'p> {
    pub(crate) declared: &'a Declared<'p>,
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

impl TaskSink for Sequential<'_, '_> {
    type Error = TaskFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), TaskFault> {
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
        (self.cancelled)()
    }
}

/// Why tasks are no longer submitted.
#[derive(Debug)]
pub(crate) enum StreamFault {
    /// The runtime takes no more.
    Stopped(Stopped),
    /// Two boxes overlap and differ, which dependences between equal boxes do not see.
    Missed(Conflict<u32>),
    /// The boxes of the run cannot be kept for that check.
    Unchecked(MapError),
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
    /// Under `exact`: checks that boxes are equal or disjoint.
    pub(crate) equal: Option<RegionMap<u32>>,
}

impl Streaming<'_, '_, '_, '_> {
    fn check(&mut self, task: &TaskRecord<'_>) -> Result<(), StreamFault> {
        let Some(map) = &mut self.equal else { return Ok(()) };
        let accesses = Accesses::new(task.reads, task.writes);
        map.infer(task.ordinal as u32, accesses, |_| true, |_, _| {}).map_err(StreamFault::Unchecked)?;
        map.conflicts().first().map_or(Ok(()), |&conflict| Err(StreamFault::Missed(conflict)))
    }
}

impl TaskSink for Streaming<'_, '_, '_, '_> {
    type Error = StreamFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), StreamFault> {
        self.check(task)?;
        let number = self.declared.records.put(Record::of(task));
        // Ids of a run count tasks only, as ordinals do.
        let after: Vec<TaskId> =
            if self.explicit { task.after.iter().map(|&o| TaskId(o as u32)).collect() } else { Vec::new() };
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
            self.declared.records.release(number);
        }
        submitted?;
        Ok(())
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
