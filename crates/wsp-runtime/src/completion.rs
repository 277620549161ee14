//! How completed tasks get back to the planner.
//!
//! # Protocol
//!
//! Each worker has a stack of slots it has completed, linked through `next_done`. Only the worker pushes
//! (compare-exchange) and only the planner takes, always all of it (swap), so there is no ABA and no shared counter.
//!
//! A planner that has to wait for `need` completions clears `want`, raises `waiting`, collects once more, and adds what is
//! still missing to `want`. A worker that sees `waiting` after its push counts `want` down; the one that brings it to
//! zero unparks the planner. Push before the read of `waiting` and raise before the collection, all SeqCst: a completion
//! is either collected or counted (or both: then the planner wakes early, finds too few, and waits again). So the
//! planner is woken once per wait, not once per task, and never too late.

use crate::slot::{NIL, Slot};
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::thread::{self, Thread};

#[derive(Default)]
struct Wait {
    waiting: AtomicBool,
    want: AtomicI64,
}

/// Completed slots on their way back.
pub(crate) struct Completions {
    stacks: Box<[CachePadded<AtomicU32>]>,
    wait: CachePadded<Wait>,
    planner: Thread,
}

impl Completions {
    /// For `workers` workers; the calling thread is the planner.
    pub(crate) fn new(workers: u32) -> Completions {
        Completions {
            stacks: (0..workers).map(|_| CachePadded::new(AtomicU32::new(NIL))).collect(),
            wait: CachePadded::default(),
            planner: thread::current(),
        }
    }

    /// Hands a completed slot back. That worker only.
    pub(crate) fn push(&self, worker: u32, index: u32, slot: &Slot) {
        let stack = &self.stacks[worker as usize];
        // Relaxed: only this worker pushes, and a planner's swap is seen by the exchange.
        let mut head = stack.load(Ordering::Relaxed);
        loop {
            slot.next_done.store(head, Ordering::Relaxed);
            // SeqCst: comes before the read of `waiting`. Relaxed on failure: only the head is used.
            match stack.compare_exchange_weak(head, index, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        // AcqRel on the count: whoever reaches zero, and so the planner, has seen all the pushes counted.
        if self.wait.waiting.load(Ordering::SeqCst) && self.wait.want.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.planner.unpark();
        }
    }

    /// Shows every slot handed back since the last time. Planner only.
    pub(crate) fn take<'s>(&self, slots: impl Fn(u32) -> &'s Slot, mut each: impl FnMut(u32)) {
        for stack in &self.stacks {
            if stack.load(Ordering::SeqCst) == NIL {
                continue;
            }
            let mut index = stack.swap(NIL, Ordering::SeqCst);
            while index != NIL {
                // Relaxed: the swap saw the push, and the slot is not reused before `each`.
                let next = slots(index).next_done.load(Ordering::Relaxed);
                each(index);
                index = next;
            }
        }
    }

    /// Parks the planner until `collect`, which takes what there is and returns how many, has had `need` in all.
    pub(crate) fn wait(&self, need: u32, mut collect: impl FnMut() -> u32) {
        let mut missing = need.saturating_sub(collect());
        while missing > 0 {
            self.wait.want.store(0, Ordering::SeqCst);
            self.wait.waiting.store(true, Ordering::SeqCst);
            missing = missing.saturating_sub(collect());
            if missing > 0 {
                self.wait.want.fetch_add(i64::from(missing), Ordering::AcqRel);
                while self.wait.want.load(Ordering::Acquire) > 0 {
                    thread::park();
                }
            }
            self.wait.waiting.store(false, Ordering::SeqCst);
            missing = missing.saturating_sub(collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planner_wakes_when_enough_is_complete() {
        const SLOTS: u32 = 1000;
        let slots: Vec<Slot> = (0..SLOTS).map(|_| Slot::default()).collect();
        let completions = Completions::new(2);
        let mut seen = vec![0; SLOTS as usize];
        thread::scope(|scope| {
            for worker in 0..2 {
                let (completions, slots) = (&completions, &slots);
                scope.spawn(move || {
                    for index in (worker..SLOTS).step_by(2) {
                        completions.push(worker, index, &slots[index as usize]);
                    }
                });
            }
            let mut left = SLOTS;
            while left > 0 {
                let need = left.min(7);
                let mut got = 0;
                completions.wait(need, || {
                    let before = got;
                    completions.take(
                        |i| &slots[i as usize],
                        |i| {
                            seen[i as usize] += 1;
                            got += 1;
                        },
                    );
                    got - before
                });
                assert!(got >= need);
                left -= got;
            }
        });
        assert!(seen.iter().all(|&count| count == 1));
    }
}
