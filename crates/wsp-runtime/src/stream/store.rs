//! The window as the workers see it.

use super::completion::Completions;
use super::edges::EdgePool;
use super::segmented::Segmented;
use super::slot::{CLOSED, NIL, POINT, Slot};
use crate::placement::Placement;
use crate::shared::{Notes, Store};
use crate::sync::{AtomicU64, Fault, Ordering, weakened};
use crate::{RunConfig, TracePolicy};
use wsp_core::{KernelId, TaskId};

/// Slots in the first segment, as a power of two; models can do with few.
const FIRST_SLOTS: u32 = if cfg!(loom) { 1 } else { 6 };

/// What its worker does not know of a task, for its record.
#[derive(Default)]
pub(crate) struct Moments {
    /// Nanoseconds, and in the highest bit whether the source waited for the window before.
    submitted: AtomicU64,
    notes: Notes,
}

const STALLED: u64 = 1 << 63;

impl Moments {
    /// Begins the record of a task.
    pub(super) fn submit(&self, ns: u64, stalled: bool) {
        // Relaxed: edge or queue orders it, as all of the record.
        self.submitted.store(ns | if stalled { STALLED } else { 0 }, Ordering::Relaxed);
        self.notes.clear();
    }
}

/// Slots, edges, and the way back to the planner.
pub(crate) struct Stream {
    pub(crate) slots: Segmented<Slot, FIRST_SLOTS>,
    pub(crate) edges: EdgePool,
    /// Present with a trace.
    pub(crate) moments: Option<Segmented<Moments, FIRST_SLOTS>>,
    pub(crate) completions: Completions,
}

impl Stream {
    pub(crate) fn new(config: &RunConfig) -> Stream {
        Stream {
            slots: Segmented::new(),
            edges: EdgePool::new(),
            moments: (config.trace == TracePolicy::Measured).then(Segmented::new),
            completions: Completions::new(config.threads),
        }
    }

    /// Adds slots after the `len` there are, and returns the new number.
    pub(crate) fn grow(&self, len: u32) -> u32 {
        if let Some(moments) = &self.moments {
            moments.grow(len);
        }
        self.slots.grow(len)
    }
}

impl Store for Stream {
    #[inline]
    fn task(&self, node: u32) -> Option<TaskId> {
        let task = self.slots.get(node).task();
        if task & POINT == 0 { Some(TaskId(task)) } else { None }
    }

    #[inline]
    fn call<T>(&self, node: u32, run: impl FnOnce(KernelId, &[u32]) -> T) -> T {
        let call = self.slots.get(node).call();
        run(call.kernel, call.payload())
    }

    #[inline]
    fn placement(&self, node: u32) -> Placement {
        self.slots.get(node).placement()
    }

    #[inline]
    fn start(&self, node: u32, mut prefetch: impl FnMut(Option<(KernelId, &[u32])>)) {
        for (target, at) in self.slots.get(node).start() {
            match self.slots.get(at).peek(target) {
                Some(call) => prefetch(Some((call.kernel, call.payload()))),
                None => prefetch(None),
            }
        }
    }

    #[inline]
    fn release(&self, node: u32, mut ready: impl FnMut(u32)) {
        // AcqRel: takes over the list, and publishes the task's writes to whoever finds it closed.
        let publish = weakened(Fault::UnpublishedResult, Ordering::AcqRel);
        let mut edge = self.slots.get(node).successors.swap(CLOSED, publish);
        while edge != NIL {
            // The edge may be reused once its successor is counted down, so `next` is read before.
            let (next, successor) = self.edges.get(edge);
            // AcqRel: passes on this task's writes, and at zero takes over those of all the others.
            let pass_on = weakened(Fault::UnpublishedResult, Ordering::AcqRel);
            if self.slots.get(successor).pending.fetch_sub(1, pass_on) == 1 {
                ready(successor);
            }
            edge = next;
        }
    }

    #[inline]
    fn retire(&self, worker: u32, node: u32) {
        self.completions.push(worker, node, self.slots.get(node));
    }

    fn has_backward_edges(&self) -> bool {
        false
    }

    fn notes(&self, node: u32) -> &Notes {
        &self.moments.as_ref().expect("a trace should have notes").get(node).notes
    }

    fn submission(&self, node: u32) -> (u64, bool) {
        let moments = self.moments.as_ref().expect("a trace should have notes");
        // Relaxed: the ready queue ordered it.
        let submitted = moments.get(node).submitted.load(Ordering::Relaxed);
        (submitted & !STALLED, submitted & STALLED != 0)
    }

    fn idle(&self, _: u32, _: u64) -> bool {
        false
    }

    fn quiet(&self) -> bool {
        self.completions.tell_quiet();
        false
    }
}
