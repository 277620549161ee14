//! Order points while tasks run: fences, events, and the steps of ordered scopes.

use super::edges::EdgeBook;
use super::slot::NIL;
use super::submit::{Pred, Submitter};
use super::window::Window;
use crate::interval::Access;
use crate::placement::Placement;
use crate::scopes::{Orders, Scopes};
use crate::{Stopped, TaskRunner};
use wsp_core::{EventId, KernelId};

/// A list of members is not pruned below this length.
const PRUNE_AT_LEAST: usize = 64;

/// Tasks that may be unfinished, without most of those that are complete: at most about twice as many as are in flight.
#[derive(Debug)]
pub(super) struct Unfinished {
    list: Vec<Access>,
    prune_at: usize,
}

impl Default for Unfinished {
    fn default() -> Unfinished {
        Unfinished { list: Vec::new(), prune_at: PRUNE_AT_LEAST }
    }
}

impl Unfinished {
    #[inline]
    pub(super) fn push(&mut self, access: Access, live: impl Fn(Access) -> bool) {
        if self.list.len() >= self.prune_at {
            self.list.retain(|&earlier| live(earlier));
            self.prune_at = (2 * self.list.len()).max(PRUNE_AT_LEAST);
        }
        self.list.push(access);
    }

    /// Those that `live` says are unfinished.
    pub(super) fn take(&mut self, live: impl Fn(Access) -> bool) -> Vec<Access> {
        self.prune_at = PRUNE_AT_LEAST;
        self.list.retain(|&access| live(access));
        std::mem::take(&mut self.list)
    }
}

/// What the planner knows of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) point: Access,
    pub(super) signalled: bool,
}

/// The open steps of ordered scopes: the order point of each, and the tasks that lead to it.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) scopes: Scopes<Access>,
    gathering: Vec<(Access, Unfinished)>,
}

impl<R: TaskRunner> Submitter<'_, R> {
    /// Tasks submitted later start only when all submitted so far are complete. Does not wait: the cost is proportional to
    /// the number of unfinished tasks since the last fence.
    pub fn fence(&mut self) {
        // Whatever comes later is ordered after these accesses by the fence.
        self.inference.clear();
        self.fences += 1;
        if self.cancelled() {
            return;
        }
        let window = &self.window;
        let preds = self.since_fence.take(|access| !window.is_complete(access));
        if preds.is_empty() {
            return;
        }
        let point = self.window.take_point();
        self.lead_all(preds, point, 1);
        self.fence = Some(point);
    }

    /// Makes an event.
    pub fn event(&mut self) -> EventId {
        let event = EventId(self.events.len() as u32);
        let point = self.window.take_point();
        // One for the task that signals it.
        self.window.slot(point.slot).fill(point.task, KernelId(0), &[], Placement::default(), 1);
        self.events.push(Event { point, signalled: false });
        event
    }

    /// Begins a scope whose steps run one after another. Scopes nest: one that begins within a step belongs to that step.
    pub fn ordered_begin(&mut self) {
        self.steps.scopes.begin();
        self.ordered = true;
    }

    /// Tasks submitted later in the innermost scope start when all tasks submitted before in that scope are complete. Does
    /// not wait.
    ///
    /// # Errors
    /// No scope has begun.
    pub fn ordered_step(&mut self) -> Result<(), Stopped> {
        self.with_scopes(|scopes, planner| scopes.step(planner))
    }

    /// Ends the innermost scope.
    ///
    /// # Errors
    /// No scope has begun.
    pub fn ordered_end(&mut self) -> Result<(), Stopped> {
        self.with_scopes(|scopes, planner| scopes.end(planner))
    }

    fn with_scopes(
        &mut self,
        change: impl FnOnce(&mut Scopes<Access>, &mut Self) -> bool,
    ) -> Result<(), Stopped> {
        let mut scopes = std::mem::take(&mut self.steps.scopes);
        let done = change(&mut scopes, self);
        self.steps.scopes = scopes;
        if done { Ok(()) } else { Err(Stopped::NoOrderedScope) }
    }

    /// Adds a task to the step at hand.
    pub(super) fn add_to_step(&mut self, access: Access) {
        let mut scopes = std::mem::take(&mut self.steps.scopes);
        scopes.add(access, self);
        self.steps.scopes = scopes;
    }

    /// Fills an order point that waits for `preds`; `pending` counts what else holds it open, and all of that ends here.
    fn lead_all(&mut self, preds: Vec<Access>, point: Access, pending: u32) {
        self.preds.clear();
        self.preds.extend(preds.into_iter().map(Pred::order));
        self.reserve_edges(0);
        let slot = self.window.slot(point.slot);
        slot.fill(point.task, KernelId(0), &[], Placement::default(), self.preds.len() as u32 + pending);
        let open = self.link(point.slot);
        if self.close_pending(point.slot, self.preds.len() as u32 + pending - open) {
            // Nothing waits for it yet.
            self.window.release(point.slot);
        }
    }
}

impl<R: TaskRunner> Orders for Submitter<'_, R> {
    type Handle = Access;

    fn order_point(&mut self) -> Access {
        let point = self.window.take_point();
        self.window.slot(point.slot).fill(point.task, KernelId(0), &[], Placement::default(), 1);
        self.steps.gathering.push((point, Unfinished::default()));
        point
    }

    fn lead(&mut self, from: Access, to: Access) {
        let window = &self.window;
        let gathering = self.steps.gathering.iter_mut().rev();
        if let Some((_, members)) = gathering.into_iter().find(|(point, _)| *point == to) {
            members.push(from, |access| window.is_live(access));
        }
    }

    fn close(&mut self, point: Access) {
        let Some(at) = self.steps.gathering.iter().rposition(|(open, _)| *open == point) else { return };
        let (_, mut members) = self.steps.gathering.remove(at);
        let window = &self.window;
        let preds = members.take(|access| !window.is_complete(access));
        self.lead_all(preds, point, 1);
    }
}

/// Adds the edge that makes an event happen when the task in `slot` is complete.
pub(super) fn signal<R: TaskRunner>(
    window: &mut Window<'_, R>,
    pool: &super::edges::EdgePool,
    slot: u32,
    event: Access,
) {
    let edge = EdgeBook::take(&mut window.edges, pool, NIL);
    // The task has not been published, so it cannot be complete.
    pool.link(window.slot(slot), edge, event.slot);
    window.set_edges(event.slot, edge);
}
