//! The record of one task in flight.
//!
//! # Protocol
//!
//! A slot is *free* (planner), *open* (planner, predecessors), *ready* (a queue), *running* (a worker), *done* (a
//! completion stack), and free again when the planner collects it. It changes hands through
//! 1. an edge: the planner pushes the successor onto the predecessor's list `successors` (compare-exchange, Release);
//!    the completing worker takes the whole list by swapping in [`CLOSED`] (AcqRel). An edge either gets into the list
//!    before, and is then walked, or finds `CLOSED`, and then the predecessor's writes are visible to the planner.
//!    Nobody but the planner reuses a slot, and it compares ids first, so `CLOSED` cannot belong to another task.
//! 2. `pending`: open edges, plus one while the planner links. Every decrement is AcqRel, so whoever reaches zero has
//!    seen the writes of all predecessors and passes them on through the ready queue.
//! 3. `hints`: the number of prefetch targets, or [`STARTED`]. The planner adds a target by compare-exchange, the worker
//!    swaps in `STARTED`, so a target is either seen by the worker or refused to the planner.
//!
//! A prefetching worker reads the record of a task that it does not own, as a sequence lock keyed by the task id: see
//! [`Slot::peek`].

use crate::placement::Placement;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use wsp_core::{KernelId, TaskId, limits};

/// No slot, no edge, no task.
pub(crate) const NIL: u32 = u32::MAX;
/// The successor list of a completed task.
pub(crate) const CLOSED: u32 = u32::MAX - 1;
/// Set in the id of a barrier node, which completes without running; the other bits count them.
pub(crate) const POINT: u32 = 1 << 31;
/// In place of the number of prefetch targets: the task has started.
const STARTED: u32 = u32::MAX;

/// Prefetch targets per task.
pub(crate) const TARGETS: usize = 4;

const WORDS: usize = limits::MAX_PAYLOAD_WORDS as usize;

/// A task in flight. With a descriptor of up to eight words all that a run without prefetches touches is one cache line.
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// Task id, that of a barrier node, or [`NIL`] while the planner writes the record.
    task: AtomicU32,
    /// Kernel in the low half, payload length in the high half.
    code: AtomicU32,
    pub(crate) pending: AtomicU32,
    /// First edge of the list, [`NIL`] or [`CLOSED`].
    pub(crate) successors: AtomicU32,
    /// Where it is to run, as [`Placement`] encodes it.
    place: AtomicU32,
    priority: AtomicU32,
    hints: AtomicU32,
    /// Next in a completion stack.
    pub(crate) next_done: AtomicU32,
    payload: [AtomicU32; WORDS],
    /// Prefetch targets: task id in the high half, slot in the low.
    targets: [AtomicU64; TARGETS],
}

impl Default for Slot {
    fn default() -> Slot {
        Slot {
            task: AtomicU32::new(NIL),
            code: AtomicU32::new(0),
            pending: AtomicU32::new(0),
            successors: AtomicU32::new(CLOSED),
            place: AtomicU32::new(0),
            priority: AtomicU32::new(0),
            hints: AtomicU32::new(STARTED),
            next_done: AtomicU32::new(NIL),
            payload: std::array::from_fn(|_| AtomicU32::new(0)),
            targets: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// A copy of what a kernel needs.
pub(crate) struct Call {
    pub(crate) kernel: KernelId,
    words: [u32; WORDS],
    len: usize,
}

impl Call {
    pub(crate) fn payload(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

impl Slot {
    /// Writes the record of a task. Planner only; published by the edge or queue that next carries the slot.
    pub(crate) fn fill(
        &self,
        task: u32,
        kernel: KernelId,
        payload: &[u32],
        placement: Placement,
        pending: u32,
    ) {
        // Relaxed, then a Release fence: a prefetching worker that reads any store below also reads NIL or the new id.
        self.task.store(NIL, Ordering::Relaxed);
        fence(Ordering::Release);
        self.code.store(u32::from(kernel.0) | (payload.len() as u32) << 16, Ordering::Relaxed);
        for (to, &word) in self.payload.iter().zip(payload) {
            to.store(word, Ordering::Relaxed);
        }
        self.pending.store(pending, Ordering::Relaxed);
        self.successors.store(NIL, Ordering::Relaxed);
        self.place.store(placement.encode(), Ordering::Relaxed);
        self.priority.store(placement.priority as u32, Ordering::Relaxed);
        self.hints.store(0, Ordering::Relaxed);
        // Release: a prefetching worker that reads this id reads this record.
        self.task.store(task, Ordering::Release);
    }

    /// The task id. For the slot's owner: Relaxed, because the queue that handed it over ordered it.
    pub(crate) fn task(&self) -> u32 {
        self.task.load(Ordering::Relaxed)
    }

    /// Where the task is to run, for the slot's owner (Relaxed for the same reason).
    #[inline]
    pub(crate) fn placement(&self) -> Placement {
        let priority = self.priority.load(Ordering::Relaxed) as i32;
        Placement::decode(self.place.load(Ordering::Relaxed), priority)
    }

    /// The kernel and payload, for the slot's owner (Relaxed for the same reason).
    pub(crate) fn call(&self) -> Call {
        let code = self.code.load(Ordering::Relaxed);
        let len = ((code >> 16) as usize).min(WORDS);
        let mut words = [0; WORDS];
        for (to, from) in words.iter_mut().zip(&self.payload[..len]) {
            *to = from.load(Ordering::Relaxed);
        }
        Call { kernel: KernelId(code as u16), words, len }
    }

    /// The kernel and payload of `task`, if the slot still holds it and it has not started.
    pub(crate) fn peek(&self, task: TaskId) -> Option<Call> {
        // Acquire: pairs with the Release store of the id, so that the record below is at least that of `task`.
        if self.task.load(Ordering::Acquire) != task.0 || self.hints.load(Ordering::Relaxed) == STARTED {
            return None;
        }
        let call = self.call();
        // Acquire fence: had any load above read a later record, the load below would read NIL or a later id.
        fence(Ordering::Acquire);
        (self.task.load(Ordering::Relaxed) == task.0).then_some(call)
    }

    /// Asks for a prefetch when the task starts; false if it has started or has enough targets. Planner only.
    pub(crate) fn add_target(&self, target: TaskId, slot: u32) -> bool {
        let count = self.hints.load(Ordering::Relaxed);
        if count == STARTED || count as usize >= TARGETS {
            return false;
        }
        self.targets[count as usize].store(u64::from(target.0) << 32 | u64::from(slot), Ordering::Relaxed);
        // Release: publishes the target; on failure nothing is read.
        self.hints.compare_exchange(count, count + 1, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Marks the task as started and yields its prefetch targets. The running worker only.
    pub(crate) fn start(&self) -> impl Iterator<Item = (TaskId, u32)> {
        // Acquire: pairs with the Release of `add_target`.
        let count = self.hints.swap(STARTED, Ordering::Acquire);
        let count = if count == STARTED { 0 } else { count as usize };
        self.targets[..count].iter().map(|target| {
            let target = target.load(Ordering::Relaxed);
            (TaskId((target >> 32) as u32), target as u32)
        })
    }

    /// Whether the task has completed. Acquire: its writes are then visible.
    pub(crate) fn is_complete(&self) -> bool {
        self.successors.load(Ordering::Acquire) == CLOSED
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_written() {
        let slot = Slot::default();
        slot.fill(7, KernelId(65535), &[1, 2, 3], Placement::default(), 1);
        let call = slot.call();
        assert_eq!((slot.task(), call.kernel, call.payload()), (7, KernelId(65535), &[1, 2, 3][..]));
    }

    #[test]
    fn a_record_is_not_seen_for_another_task_nor_after_the_start() {
        let slot = Slot::default();
        slot.fill(7, KernelId(1), &[9], Placement::default(), 1);
        assert!(slot.peek(TaskId(6)).is_none());
        assert_eq!(slot.peek(TaskId(7)).expect("it has not started").payload(), [9]);
        assert_eq!(slot.start().count(), 0);
        assert!(slot.peek(TaskId(7)).is_none());
    }

    #[test]
    fn targets_are_taken_until_the_start_and_up_to_the_limit() {
        let slot = Slot::default();
        slot.fill(0, KernelId(0), &[], Placement::default(), 1);
        for i in 1..=TARGETS as u32 {
            assert!(slot.add_target(TaskId(i), 10 + i));
        }
        assert!(!slot.add_target(TaskId(9), 9));
        let targets: Vec<_> = slot.start().collect();
        assert_eq!(targets[3], (TaskId(4), 14));
        assert!(!slot.add_target(TaskId(9), 9));
    }

    #[test]
    fn a_slot_is_two_cache_lines_and_the_short_record_one() {
        assert_eq!(size_of::<Slot>(), 128);
        assert!(std::mem::offset_of!(Slot, payload) + 8 * 4 <= 64);
    }
}
