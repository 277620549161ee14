//! The planner's account of the slots in flight.

use crate::TaskRunner;
use crate::edges::EdgeBook;
use crate::interval::Access;
use crate::shared::Shared;
use crate::slot::{NIL, Slot};

/// The planner looks for completed tasks when it has none to reuse, and at the latest after this many submissions.
const LOOK_EVERY: u32 = 64;
/// A planner that must wait waits for a part of the window, at most this much: about what a wake-up costs.
const MOST_WAITED_FOR: u32 = 64;

#[derive(Clone, Copy)]
struct Note {
    /// The task in the slot, [`FENCE`](crate::slot::FENCE), or [`NIL`].
    task: u32,
    /// The edges that lead to it.
    edges: u32,
}

/// Slots and edges as the planner sees them.
pub(crate) struct Window<'r, R: TaskRunner> {
    shared: &'r Shared<'r, R>,
    notes: Vec<Note>,
    /// The slot freed last is used first: it is the warmest.
    free: Vec<u32>,
    in_use: u32,
    look_at: u32,
    pub(crate) edges: EdgeBook,
    pub(crate) peak: u32,
    pub(crate) window_stalls: u64,
    pub(crate) edge_stalls: u64,
}

impl<'r, R: TaskRunner> Window<'r, R> {
    pub(crate) fn new(shared: &'r Shared<'r, R>) -> Window<'r, R> {
        Window {
            shared,
            notes: Vec::new(),
            free: Vec::new(),
            in_use: 0,
            look_at: LOOK_EVERY,
            edges: EdgeBook::new(shared.config.window),
            peak: 0,
            window_stalls: 0,
            edge_stalls: 0,
        }
    }

    /// Slots there are.
    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }

    pub(crate) fn slot(&self, index: u32) -> &'r Slot {
        self.shared.slots.get(index)
    }

    /// Whether the planner does not yet know the task to be complete.
    pub(crate) fn is_live(&self, access: Access) -> bool {
        self.notes[access.slot as usize].task == access.task
    }

    /// Whether the task has completed, known or not.
    pub(crate) fn is_complete(&self, access: Access) -> bool {
        !self.is_live(access) || self.slot(access.slot).is_complete()
    }

    /// A slot for `task`; waits while the window is full.
    pub(crate) fn take(&mut self, task: u32) -> u32 {
        if self.free.is_empty() || self.in_use >= self.look_at {
            self.collect();
        }
        if self.free.is_empty() && (self.notes.len() as u32) < self.shared.config.window {
            self.grow();
        }
        if self.free.is_empty() {
            self.window_stalls += 1;
            self.wait_for_some(0);
        }
        let index = self.free.pop().expect("a wait should have freed a slot");
        self.notes[index as usize] = Note { task, edges: NIL };
        self.in_use += 1;
        self.peak = self.peak.max(self.in_use);
        index
    }

    /// Records the edges that lead to the slot's task.
    pub(crate) fn set_edges(&mut self, index: u32, chain: u32) {
        self.notes[index as usize].edges = chain;
    }

    /// Frees a slot whose task is complete.
    pub(crate) fn release(&mut self, index: u32) {
        let note = &mut self.notes[index as usize];
        let chain = std::mem::replace(&mut note.edges, NIL);
        note.task = NIL;
        self.edges.release(chain);
        self.free.push(index);
        self.in_use -= 1;
    }

    /// Frees the slots of tasks that have completed, and returns how many.
    pub(crate) fn collect(&mut self) -> u32 {
        let shared = self.shared;
        let before = self.in_use;
        shared.completions.take(|index| shared.slots.get(index), |index| self.release(index));
        self.look_at = self.in_use + LOOK_EVERY.max(shared.config.threads);
        before - self.in_use
    }

    /// Waits for some of the tasks in flight. `held` slots are taken but not submitted, and there must be others.
    pub(crate) fn wait_for_some(&mut self, held: u32) {
        let submitted = self.in_use - held;
        debug_assert!(submitted > 0, "waiting for nothing");
        self.wait((submitted / 8).clamp(1, MOST_WAITED_FOR));
    }

    /// Waits for all of them.
    pub(crate) fn drain(&mut self) {
        self.wait(self.in_use);
    }

    fn wait(&mut self, need: u32) {
        let shared = self.shared;
        shared.completions.wait(need, || self.collect());
    }

    fn grow(&mut self) {
        let len = self.notes.len() as u32;
        let grown = self.shared.slots.grow(len, self.shared.config.window);
        if let Some(moments) = &self.shared.moments {
            moments.grow(len, self.shared.config.window);
        }
        self.notes.resize(grown as usize, Note { task: NIL, edges: NIL });
        self.free.extend((len..grown).rev());
    }
}
