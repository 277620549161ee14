//! The planner's account of the slots in flight.

use super::edges::EdgeBook;
use super::slot::{NIL, POINT, Slot};
use super::store::Stream;
use crate::TaskRunner;
use crate::infer::SlotTask;
use crate::shared::Shared;
use crate::worker::{ROUNDS, pause};

/// The planner looks for completed tasks when it has none to reuse, and at the latest after this many submissions.
const LOOK_EVERY: u32 = 64;
/// A planner that must wait waits for a part of the window, at most this much: about what a wake-up costs.
const MOST_WAITED_FOR: u32 = 64;

#[derive(Clone, Copy)]
struct Note {
    /// The id in the slot, or [`NIL`].
    task: u32,
    /// The edges that lead to it.
    edges: u32,
}

/// Nothing that runs could end the planner's wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stuck;

/// Slots and edges as the planner sees them. Tasks count against the window, barrier nodes do not.
pub(super) struct Window<'r, R: TaskRunner> {
    shared: &'r Shared<'r, R, Stream>,
    notes: Vec<Note>,
    /// The slot freed last is used first: it is the warmest.
    free: Vec<u32>,
    capacity: u32,
    in_use: u32,
    look_at: u32,
    /// Barrier nodes made so far.
    points: u32,
    pub(super) edges: EdgeBook,
    pub(super) peak: u32,
    pub(super) edge_stalls: u64,
}

impl<'r, R: TaskRunner> Window<'r, R> {
    pub(super) fn new(shared: &'r Shared<'r, R, Stream>, capacity: u32) -> Window<'r, R> {
        Window {
            shared,
            notes: Vec::new(),
            free: Vec::new(),
            capacity,
            in_use: 0,
            look_at: LOOK_EVERY,
            points: 0,
            edges: EdgeBook::new(capacity),
            peak: 0,
            edge_stalls: 0,
        }
    }

    /// Slots there are.
    pub(super) fn len(&self) -> u32 {
        self.notes.len() as u32
    }

    /// Tasks in flight.
    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    #[inline]
    pub(super) fn slot(&self, index: u32) -> &'r Slot {
        self.shared.store.slots.get(index)
    }

    /// The id in a slot that is in use.
    pub(super) fn id(&self, index: u32) -> Option<u32> {
        Some(self.notes[index as usize].task).filter(|&task| task != NIL)
    }

    /// Whether the planner does not yet know the task to be complete.
    #[inline]
    pub(super) fn is_live(&self, access: SlotTask) -> bool {
        self.notes[access.slot as usize].task == access.task
    }

    /// Whether the task has completed, known or not.
    pub(super) fn is_complete(&self, access: SlotTask) -> bool {
        !self.is_live(access) || self.slot(access.slot).is_complete()
    }

    /// Whether the window has no room for another task, after a look for completed ones.
    #[inline]
    pub(super) fn is_full(&mut self) -> bool {
        if self.in_use >= self.look_at.min(self.capacity) {
            self.collect();
        }
        self.in_use >= self.capacity
    }

    /// A slot for `task`. The window must not be full.
    #[inline]
    pub(super) fn take(&mut self, task: u32) -> u32 {
        debug_assert!(self.in_use < self.capacity, "the caller waits for room");
        self.in_use += 1;
        self.peak = self.peak.max(self.in_use);
        self.take_slot(task)
    }

    /// A slot for a barrier node, with the id it gets.
    pub(super) fn take_point(&mut self) -> SlotTask {
        let task = POINT | self.points;
        // One id looks like no id at all.
        self.points = (self.points + 1) % (POINT - 1);
        SlotTask { task, slot: self.take_slot(task) }
    }

    #[inline]
    fn take_slot(&mut self, task: u32) -> u32 {
        if self.free.is_empty() {
            self.collect();
        }
        if self.free.is_empty() {
            self.grow();
        }
        let index = self.free.pop().expect("growing should have freed a slot");
        debug_assert_eq!(self.notes[index as usize].task, NIL, "slot {index} is handed out twice");
        self.notes[index as usize] = Note { task, edges: NIL };
        index
    }

    /// Records the edges that lead to the slot's task.
    #[inline]
    pub(super) fn set_edges(&mut self, index: u32, chain: u32) {
        self.notes[index as usize].edges = chain;
    }

    /// Adds the edge that makes an event happen when the task in a slot is complete.
    pub(super) fn signal(&mut self, index: u32, event: SlotTask) {
        let pool = &self.shared.store.edges;
        let edge = EdgeBook::take(&mut self.edges, pool, NIL);
        // The task has not been published, so it cannot be complete.
        pool.link(self.slot(index), edge, event.slot);
        self.set_edges(event.slot, edge);
    }

    /// Frees a slot whose task is complete.
    #[inline]
    pub(super) fn release(&mut self, index: u32) {
        let note = &mut self.notes[index as usize];
        debug_assert_ne!(note.task, NIL, "slot {index} is freed twice");
        let chain = std::mem::replace(&mut note.edges, NIL);
        self.in_use -= u32::from(note.task & POINT == 0);
        note.task = NIL;
        self.edges.release(chain);
        self.free.push(index);
    }

    /// Frees the slots of what has completed, and returns how many.
    pub(super) fn collect(&mut self) -> u32 {
        let stream = &self.shared.store;
        let mut freed = 0;
        stream.completions.take(
            |index| stream.slots.get(index),
            |index| {
                self.release(index);
                freed += 1;
            },
        );
        self.look_at = self.in_use + LOOK_EVERY;
        freed
    }

    /// Waits for some of the tasks in flight.
    pub(super) fn wait_for_some(&mut self) -> Result<(), Stuck> {
        self.wait((self.in_use / 8).clamp(1, MOST_WAITED_FOR))
    }

    /// Waits for one completion at least.
    pub(super) fn wait_for_one(&mut self) -> Result<(), Stuck> {
        self.wait(1)
    }

    /// Whether no task is in flight, after a look for completed ones.
    pub(super) fn is_empty(&mut self) -> bool {
        if self.in_use > 0 {
            self.collect();
        }
        self.in_use == 0
    }

    /// Waits for all tasks in flight. For a while it looks: a task that is brief is complete before a thread would sleep.
    pub(super) fn drain(&mut self) -> Result<(), Stuck> {
        for round in 1..ROUNDS {
            if self.is_empty() {
                break;
            }
            pause(round);
        }
        while self.in_use > 0 {
            self.wait(self.in_use)?;
        }
        Ok(())
    }

    fn wait(&mut self, need: u32) -> Result<(), Stuck> {
        let shared = self.shared;
        match shared.store.completions.wait(need, || self.collect(), || shared.is_quiet()) {
            0 => Err(Stuck),
            _ => Ok(()),
        }
    }

    fn grow(&mut self) {
        let len = self.len();
        let grown = self.shared.store.grow(len);
        self.notes.resize(grown as usize, Note { task: NIL, edges: NIL });
        self.free.extend((len..grown).rev());
    }
}
