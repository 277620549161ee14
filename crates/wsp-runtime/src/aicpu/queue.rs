//! The window of one AICPU: the tasks that it has generated and that are not complete.
//!
//! A task is named by its slot, a 16-bit number that later tasks take again, with a generation that tells them apart. Slots
//! are taken back in whatever order their tasks complete. What other threads see of a task ([`SharedTask`]) is written while
//! the slot is free for them, and handed over by the handshake with the core.

use super::generator::{AicpuTask, Need};
use super::registration::Registration;
use super::scopes::Step;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use wsp_core::{AccessKind, ExecPool, KernelId, Region, StreamId, limits};

const WORDS: usize = limits::MAX_LOCAL_PARAMS as usize;
/// Successors in one row of the arena.
const ROW: usize = 13;
const NONE: u32 = u32::MAX;

/// A task, as others refer to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Producer {
    pub(super) aicpu: u16,
    pub(super) slot: u16,
    pub(super) generation: u32,
}

/// What cores read of a task.
#[derive(Debug)]
pub(super) struct SharedTask {
    ordinal: AtomicU64,
    /// Kernel in the low half, words of the descriptor in the high half.
    code: AtomicU32,
    /// The number of its stream; [`NONE`] without one.
    stream: AtomicU32,
    params: [AtomicU32; WORDS],
}

/// A task as a core runs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreTask {
    pub(super) ordinal: u64,
    pub(super) kernel: KernelId,
    pub(super) stream: Option<StreamId>,
    words: usize,
    params: [u32; WORDS],
}

impl CoreTask {
    pub(super) fn payload(&self) -> &[u32] {
        &self.params[..self.words]
    }
}

impl SharedTask {
    fn new() -> SharedTask {
        SharedTask {
            ordinal: AtomicU64::new(0),
            code: AtomicU32::new(0),
            stream: AtomicU32::new(NONE),
            params: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Owner, while the slot is not with a core. The payload fits.
    pub(super) fn fill(&self, task: &AicpuTask<'_>) {
        // Relaxed throughout: the handshake hands the record over.
        self.ordinal.store(task.ordinal, Ordering::Relaxed);
        let words = task.payload.len() as u32;
        self.code.store(u32::from(task.kernel.0) | words << 16, Ordering::Relaxed);
        self.stream.store(task.stream.map_or(NONE, |stream| stream.0.into()), Ordering::Relaxed);
        for (param, &word) in self.params.iter().zip(task.payload) {
            param.store(word, Ordering::Relaxed);
        }
    }

    /// Core, between assignment and completion.
    pub(super) fn read(&self) -> CoreTask {
        let code = self.code.load(Ordering::Relaxed);
        let words = (code >> 16) as usize;
        let mut params = [0; WORDS];
        for (param, word) in params.iter_mut().zip(&self.params).take(words) {
            *param = word.load(Ordering::Relaxed);
        }
        CoreTask {
            ordinal: self.ordinal.load(Ordering::Relaxed),
            kernel: KernelId(code as u16),
            stream: u16::try_from(self.stream.load(Ordering::Relaxed)).ok().map(StreamId),
            words: words.min(WORDS),
            params,
        }
    }
}

/// What other AICPUs and cores see of a slot.
#[derive(Debug)]
pub(super) struct SharedSlot {
    pub(super) registration: Registration,
    pub(super) task: SharedTask,
}

/// Slots that are made together.
const CHUNK: usize = 64;

/// What other AICPUs and cores see of a window. Slots are made when they are first used, so that a run starts at once.
#[derive(Debug)]
pub(super) struct SharedQueue {
    chunks: Box<[OnceLock<Box<[SharedSlot]>>]>,
    aicpus: u16,
}

impl SharedQueue {
    /// A window of an AICPU, in a run of so many.
    pub(super) fn new(window: u32, aicpus: u16) -> SharedQueue {
        let chunks = (window as usize).div_ceil(CHUNK);
        SharedQueue { chunks: (0..chunks).map(|_| OnceLock::new()).collect(), aicpus }
    }

    /// A slot of the window.
    pub(super) fn slot(&self, slot: u16) -> &SharedSlot {
        let made = || SharedSlot { registration: Registration::new(self.aicpus), task: SharedTask::new() };
        let chunk = &self.chunks[usize::from(slot) / CHUNK];
        &chunk.get_or_init(|| (0..CHUNK).map(|_| made()).collect())[usize::from(slot) % CHUNK]
    }
}

/// An access of a task, and one of its places in the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    /// The tensor, as the AICPU's cache of the map numbers it.
    pub(super) object: u32,
    /// The lock that it is under.
    pub(super) shard: u8,
    pub(super) place: u32,
    pub(super) region: Region,
    pub(super) access: AccessKind,
}

/// The owner's record of a task in flight.
#[derive(Debug, Default)]
pub(super) struct LocalTask {
    pub(super) ordinal: u64,
    pub(super) kernel: KernelId,
    pub(super) pool: ExecPool,
    pub(super) stream: Option<StreamId>,
    pub(super) priority: i32,
    /// Whether there is a task in the slot.
    pub(super) in_flight: bool,
    /// Whether it found a gate shut, or came before its turn on its stream.
    pub(super) was_refused: bool,
    /// What it still waits for.
    pub(super) fanin: u32,
    pub(super) accesses: Vec<Published>,
    /// How many regions those are.
    pub(super) regions: u32,
    pub(super) after: Vec<u64>,
    pub(super) needs: Vec<Need>,
    /// The ordered step that it belongs to.
    pub(super) step: Option<Arc<Step>>,
    pub(super) generated_ns: u64,
    pub(super) ready_ns: u64,
}

/// A row of successors; the first of a task is that with the number of its slot.
#[derive(Clone, Copy, Debug)]
struct Row {
    successors: [u16; ROW],
    count: u16,
    next: u32,
}

const EMPTY_ROW: Row = Row { successors: [0; ROW], count: 0, next: NONE };

/// The window. Slots are made when they are first used, so that a run starts at once.
#[derive(Debug)]
pub(super) struct LocalTaskQueue {
    capacity: u32,
    tasks: Vec<LocalTask>,
    free: VecDeque<u16>,
    /// The first row of each slot.
    heads: Vec<Row>,
    /// Further rows; their numbers begin behind those of the slots.
    further: Vec<Row>,
    spare_rows: Vec<u32>,
}

impl LocalTaskQueue {
    /// An empty window of at most 2¹⁵ slots.
    pub(super) fn new(window: u32) -> LocalTaskQueue {
        LocalTaskQueue {
            capacity: window,
            tasks: Vec::new(),
            free: VecDeque::new(),
            heads: Vec::new(),
            further: Vec::new(),
            spare_rows: Vec::new(),
        }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn free_slots(&self) -> u32 {
        self.free.len() as u32 + self.capacity - self.tasks.len() as u32
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.capacity() - self.free_slots()
    }

    /// A free slot, now in flight.
    pub(super) fn take(&mut self) -> Option<u16> {
        let slot = self.free.pop_front().or_else(|| self.make())?;
        debug_assert!(!self.task(slot).in_flight, "slot {slot} is handed out twice");
        let task = self.task_mut(slot);
        (task.in_flight, task.was_refused) = (true, false);
        Some(slot)
    }

    /// One slot more, up to the capacity.
    fn make(&mut self) -> Option<u16> {
        let slot = self.tasks.len();
        (slot < self.capacity as usize).then(|| {
            self.tasks.push(LocalTask::default());
            self.heads.push(EMPTY_ROW);
            slot as u16
        })
    }

    fn row(&self, row: u32) -> &Row {
        match row.checked_sub(self.capacity) {
            None => &self.heads[row as usize],
            Some(further) => &self.further[further as usize],
        }
    }

    fn row_mut(&mut self, row: u32) -> &mut Row {
        match row.checked_sub(self.capacity) {
            None => &mut self.heads[row as usize],
            Some(further) => &mut self.further[further as usize],
        }
    }

    /// A completed task leaves.
    pub(super) fn release(&mut self, slot: u16) {
        debug_assert!(self.task(slot).in_flight, "slot {slot} is freed twice");
        self.task_mut(slot).in_flight = false;
        self.free.push_back(slot);
    }

    pub(super) fn task(&self, slot: u16) -> &LocalTask {
        &self.tasks[slot as usize]
    }

    pub(super) fn task_mut(&mut self, slot: u16) -> &mut LocalTask {
        &mut self.tasks[slot as usize]
    }

    /// Slots with a task, ascending.
    pub(super) fn occupied(&self) -> impl Iterator<Item = u16> {
        (0..).zip(&self.tasks).filter(|(_, task)| task.in_flight).map(|(slot, _)| slot)
    }

    /// Both tasks are in flight: the successor waits for the other.
    pub(super) fn add_successor(&mut self, slot: u16, successor: u16) {
        let head = usize::from(slot);
        if self.heads[head].count as usize == ROW {
            // The head's full row moves behind it.
            let full = self.heads[head];
            let behind = self.spare_rows.pop().unwrap_or_else(|| {
                self.further.push(EMPTY_ROW);
                self.capacity + self.further.len() as u32 - 1
            });
            *self.row_mut(behind) = full;
            self.heads[head] = Row { next: behind, ..EMPTY_ROW };
        }
        let row = &mut self.heads[head];
        row.successors[row.count as usize] = successor;
        row.count += 1;
    }

    /// Takes all successors of a completed task.
    pub(super) fn take_successors(&mut self, slot: u16, taken: &mut Vec<u16>) {
        let mut row = std::mem::replace(&mut self.heads[usize::from(slot)], EMPTY_ROW);
        loop {
            taken.extend(&row.successors[..row.count as usize]);
            if row.next == NONE {
                return;
            }
            self.spare_rows.push(row.next);
            row = *self.row(row.next);
        }
    }

    /// The successors of a task, for reports.
    pub(super) fn successors(&self, slot: u16) -> Vec<u16> {
        let (mut found, mut at) = (Vec::new(), u32::from(slot));
        while at != NONE {
            let row = self.row(at);
            found.extend(&row.successors[..row.count as usize]);
            at = row.next;
        }
        found
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back_in_the_order_of_completion() {
        let mut queue = LocalTaskQueue::new(3);
        let slots: Vec<u16> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!((slots, queue.free_slots(), queue.take()), (vec![0, 1, 2], 0, None));
        queue.release(2);
        queue.release(0);
        assert_eq!((queue.in_flight(), queue.occupied().collect::<Vec<_>>()), (1, vec![1]));
        assert_eq!((queue.take(), queue.take(), queue.take()), (Some(2), Some(0), None));
    }

    #[test]
    fn successors_beyond_a_row_are_chained_and_rows_are_used_again() {
        let mut queue = LocalTaskQueue::new(1000);
        assert_eq!(queue.take(), Some(0));
        for _ in 0..3 {
            for successor in 1..1000 {
                queue.add_successor(0, successor);
            }
            assert_eq!(queue.successors(0).len(), 999);
            let mut taken = Vec::new();
            queue.take_successors(0, &mut taken);
            taken.sort_unstable();
            assert_eq!(taken, (1..1000).collect::<Vec<u16>>());
            assert_eq!(queue.successors(0), []);
        }
        assert_eq!(queue.further.len(), 998 / ROW);
    }

    #[test]
    fn a_core_reads_what_was_filled_in() {
        let shared = SharedQueue::new(1, 1);
        let task = AicpuTask {
            ordinal: 1 << 40,
            kernel: KernelId(65_535),
            stream: Some(StreamId(65_535)),
            payload: &[7, 8],
            ..AicpuTask::default()
        };
        shared.slot(0).task.fill(&task);
        let read = shared.slot(0).task.read();
        assert_eq!((read.ordinal, read.kernel, read.payload()), (1 << 40, KernelId(65_535), &[7, 8][..]));
        assert_eq!(read.stream, task.stream);
        shared.slot(0).task.fill(&AicpuTask { stream: None, ..task });
        assert_eq!(shared.slot(0).task.read().stream, None);
    }
}
