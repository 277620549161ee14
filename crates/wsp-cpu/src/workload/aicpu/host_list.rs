//! The tasks of every AICPU from a list that the host makes before the run.

use super::bytecode::runtime_task;
use super::generation::GenerationFault;
use super::issue::Issue;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::{KernelId, Region, SlotId, TensorId, limits};
use wsp_diag::Span;
use wsp_ir::workload::Task;
use wsp_plan::workload::{Placement, TaskRecord, TaskSink};
use wsp_runtime::aicpu::{AfterEdges, Emit, Generator, Progress, Slots};

/// Everything that the host generates, in elaboration order.
#[derive(Default)]
pub(super) struct HostList<'m> {
    items: Vec<Item<'m>>,
    tasks: u64,
}

/// An entry of the list.
enum Item<'m> {
    Task(Box<Listed<'m>>),
    Begin(u64),
    Step(u64),
    End(u64),
}

/// A task that waits for its AICPU.
struct Listed<'m> {
    ordinal: u64,
    kernel: KernelId,
    scalars: SmallVec<[i64; 4]>,
    task: &'m Task,
    span: Span,
    reads: SmallVec<[Region; 4]>,
    writes: SmallVec<[Region; 2]>,
    regions: SmallVec<[Region; 4]>,
    after: SmallVec<[u64; 2]>,
    place: Placement,
    indices: SmallVec<[i64; 4]>,
}

/// Why there is no list.
pub(super) enum NoList {
    /// Which tasks there are depends on a slot that tasks write.
    Computed(SlotId),
    /// More than [`limits::MAX_GRAPH_TASKS`] tasks.
    TooMany,
}

/// Collects the list; `statements` are those of the module, by which records outlive the expansion.
pub(super) struct Collecting<'m, 'c> {
    pub(super) list: HostList<'m>,
    pub(super) find: &'c dyn Fn(&Task) -> Option<&'m Task>,
    pub(super) slots: &'c dyn Slots,
    /// Tensors of slots that some task writes.
    pub(super) written: Vec<TensorId>,
    /// Tensors of all slots.
    pub(super) slot_tensors: Vec<TensorId>,
    pub(super) cancel: Option<&'c AtomicBool>,
}

impl TaskSink for Collecting<'_, '_> {
    type Error = NoList;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), NoList> {
        let Some(statement) = (self.find)(task.task) else { return Ok(()) };
        if self.list.tasks >= limits::MAX_GRAPH_TASKS.into() {
            return Err(NoList::TooMany);
        }
        for region in task.writes {
            if self.slot_tensors.contains(&region.tensor) && !self.written.contains(&region.tensor) {
                self.written.push(region.tensor);
            }
        }
        self.list.tasks += 1;
        self.list.items.push(Item::Task(Box::new(Listed {
            ordinal: task.ordinal,
            kernel: task.kernel,
            scalars: SmallVec::from_slice(task.scalars),
            task: statement,
            span: task.span,
            reads: SmallVec::from_slice(task.reads),
            writes: SmallVec::from_slice(task.writes),
            regions: SmallVec::from_slice(task.regions),
            after: SmallVec::from_slice(task.after),
            place: task.place,
            indices: SmallVec::from_slice(task.indices),
        })));
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), NoList> {
        self.list.items.push(Item::Begin(self.list.tasks));
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), NoList> {
        self.list.items.push(Item::Step(self.list.tasks));
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), NoList> {
        self.list.items.push(Item::End(self.list.tasks));
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, NoList> {
        let tensor = self.slot_tensors.get(slot.index()).ok_or(NoList::Computed(slot))?;
        if self.written.contains(tensor) {
            Err(NoList::Computed(slot))
        } else {
            Ok(self.slots.value(slot, self.list.tasks))
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// One AICPU's way through the list.
pub(super) struct Share<'a, 'm, I> {
    list: &'a HostList<'m>,
    next: usize,
    watermark: u64,
    me: u32,
    aicpus: u32,
    /// Whether tasks wait for what `after` names.
    after: AfterEdges,
    issue: I,
}

impl<'a, 'm, I: Issue> Share<'a, 'm, I> {
    pub(super) fn new(
        list: &'a HostList<'m>,
        me: u32,
        aicpus: u32,
        after: AfterEdges,
        issue: I,
    ) -> Share<'a, 'm, I> {
        Share { list, next: 0, watermark: 0, me, aicpus, after, issue }
    }

    /// Whether a task is this AICPU's: as its dispatch says, in turn where it says nothing.
    fn owns(&self, task: &Listed<'_>) -> bool {
        let worker = task.place.dispatch.and_then(|dispatched| dispatched.worker(self.aicpus));
        worker.unwrap_or((task.ordinal % u64::from(self.aicpus)) as u32) == self.me
    }

    /// Hands over one entry; whether it was a task.
    fn hand_over(&mut self, item: &Item<'_>, out: &mut dyn Emit) -> Result<bool, Option<GenerationFault>> {
        let told = match item {
            Item::Task(task) if self.owns(task) => {
                let record = TaskRecord {
                    ordinal: task.ordinal,
                    kernel: task.kernel,
                    scalars: &task.scalars,
                    task: task.task,
                    span: task.span,
                    reads: &task.reads,
                    writes: &task.writes,
                    regions: &task.regions,
                    after: if self.after == AfterEdges::Kept { &task.after } else { &[] },
                    place: task.place,
                    indices: &task.indices,
                };
                let issued = self.issue.issue(&record).map_err(|fault| Some(GenerationFault::Task(fault)))?;
                out.task(&runtime_task(&record, task.place.pool, &issued)).map_err(|_| None)?;
                self.watermark = task.ordinal + 1;
                return Ok(true);
            }
            Item::Task(task) => {
                self.watermark = task.ordinal + 1;
                Ok(())
            }
            Item::Begin(ordinal) => {
                out.ordered_begin(*ordinal);
                Ok(())
            }
            Item::Step(ordinal) => out.ordered_step(*ordinal),
            Item::End(ordinal) => out.ordered_end(*ordinal),
        };
        // The runtime has said why, and ends the run.
        told.map_err(|_| None).map(|()| false)
    }
}

/// Entries of the list that an AICPU passes at a time.
const ENTRIES: usize = 4096;

impl<I: Issue> Generator for Share<'_, '_, I> {
    type Fault = GenerationFault;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<GenerationFault> {
        let mut left = free;
        for _ in 0..ENTRIES {
            let Some(item) = self.list.items.get(self.next) else {
                self.watermark = u64::MAX;
                return Progress::Finished;
            };
            match self.hand_over(item, out) {
                Ok(handed) => left -= u32::from(handed),
                Err(Some(fault)) => return Progress::Fault(fault),
                Err(None) => return Progress::More,
            }
            self.next += 1;
            if left == 0 {
                break;
            }
        }
        Progress::More
    }

    fn watermark(&self) -> u64 {
        self.watermark
    }
}
