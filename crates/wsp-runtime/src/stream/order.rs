//! Barrier nodes while tasks run: fences, events, and the steps of ordered scopes.

use super::submit::Submitter;
use super::waits::{Event, Pred};
use crate::infer::SlotTask;
use crate::placement::Placement;
use crate::scopes::{Orders, Scopes};
use crate::{Stopped, TaskRunner};
use wsp_core::{EventId, KernelId};

impl<R: TaskRunner> Submitter<'_, R> {
    /// Tasks submitted later start only when all submitted so far are complete. Does not wait: the cost is proportional to
    /// the number of unfinished tasks since the last fence.
    pub fn fence(&mut self) {
        // Whatever comes later is ordered after these accesses by the fence.
        self.inference.begin_at(self.submitted());
        self.fences += 1;
        if self.cancelled() {
            return;
        }
        let window = &self.window;
        let preds = self.since_fence.take(|access| !window.is_complete(access));
        if preds.is_empty() {
            return;
        }
        self.fence = Some(self.point_after(&preds));
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
        self.scopes.begin();
        self.ordered = true;
    }

    /// Tasks submitted later in the innermost scope start when all tasks submitted before in that scope are complete. Does
    /// not wait.
    ///
    /// # Errors
    /// No scope has begun.
    pub fn ordered_step(&mut self) -> Result<(), Stopped> {
        if self.scopes.step() { Ok(()) } else { Err(Stopped::NoOrderedScope) }
    }

    /// Ends the innermost scope.
    ///
    /// # Errors
    /// No scope has begun.
    pub fn ordered_end(&mut self) -> Result<(), Stopped> {
        if self.with_scopes(|scopes, planner| scopes.end(planner)) {
            Ok(())
        } else {
            Err(Stopped::NoOrderedScope)
        }
    }

    fn with_scopes<T>(&mut self, change: impl FnOnce(&mut Scopes<SlotTask>, &mut Self) -> T) -> T {
        let mut scopes = std::mem::take(&mut self.scopes);
        let done = change(&mut scopes, self);
        self.scopes = scopes;
        done
    }

    /// What the next task waits for in its scopes; called before it gets a slot.
    #[cold]
    pub(super) fn scope_token(&mut self) -> Option<SlotTask> {
        self.with_scopes(|scopes, planner| scopes.token(planner))
    }

    /// Adds a task to the step at hand.
    pub(super) fn add_to_step(&mut self, access: SlotTask) {
        self.with_scopes(|scopes, planner| scopes.add(access, planner));
    }

    /// Makes a barrier node that waits for those of `members` that are not complete.
    fn point_after(&mut self, members: &[SlotTask]) -> SlotTask {
        // First, because taking a slot may free those of members.
        let point = self.window.take_point();
        let window = &self.window;
        self.preds.clear();
        self.preds
            .extend(members.iter().filter(|&&member| !window.is_complete(member)).map(|&m| Pred::order(m)));
        self.reserve_edges(0);
        let pending = self.preds.len() as u32 + 1;
        self.window.slot(point.slot).fill(point.task, KernelId(0), &[], Placement::default(), pending);
        let open = self.link(point.slot);
        if self.close_pending(point.slot, pending - open) {
            // Nothing waits for it yet.
            self.window.release(point.slot);
        }
        point
    }
}

impl<R: TaskRunner> Orders for Submitter<'_, R> {
    type Handle = SlotTask;

    fn is_live(&self, handle: SlotTask) -> bool {
        self.window.is_live(handle)
    }

    fn join(&mut self, members: &mut Vec<SlotTask>) -> Option<SlotTask> {
        let window = &self.window;
        members.retain(|&member| !window.is_complete(member));
        match members.as_slice() {
            [] => None,
            [one] => Some(*one),
            several => Some(self.point_after(several)),
        }
    }
}
