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
//!
//! A planner may wait for what never comes: when all workers sleep and nothing is queued. After raising `waiting` it looks
//! whether that is so; the last worker to fall asleep looks at `waiting` after it entered the list of sleepers, and wakes
//! the planner to look again. Both looks are under the lock of that list, so one of them sees the other.

use super::slot::{NIL, Slot};
use crate::sync::{AtomicBool, AtomicI64, AtomicU32, Fault, Ordering, Thread, has, model_fence, thread};
use crossbeam_utils::CachePadded;

#[derive(Default)]
struct Wait {
    waiting: AtomicBool,
    want: AtomicI64,
    /// All workers fell asleep while the planner waited.
    quiet: AtomicBool,
    /// How often the planner has parked.
    #[cfg(all(test, not(loom)))]
    parks: AtomicU32,
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
        model_fence();
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

    /// Wakes a waiting planner because every worker sleeps.
    pub(crate) fn tell_quiet(&self) {
        if !has(Fault::QuietUntold) && self.wait.waiting.load(Ordering::SeqCst) {
            self.wait.quiet.store(true, Ordering::SeqCst);
            self.planner.unpark();
        }
    }

    /// Parks the planner until `collect`, which takes what there is and returns how many, has had `need` in all; or until
    /// nothing more will come, as `quiet` tells. Returns how many came.
    pub(crate) fn wait(&self, need: u32, mut collect: impl FnMut() -> u32, quiet: impl Fn() -> bool) -> u32 {
        let mut got = collect();
        while got < need {
            self.wait.want.store(0, Ordering::SeqCst);
            self.wait.quiet.store(false, Ordering::SeqCst);
            self.wait.waiting.store(true, Ordering::SeqCst);
            model_fence();
            if !has(Fault::NoSecondCollection) {
                got += collect();
            }
            if got < need && quiet() {
                // Whatever the workers completed they handed back before they fell asleep.
                got += collect();
                self.wait.waiting.store(false, Ordering::SeqCst);
                return got;
            }
            if got < need {
                self.wait.want.fetch_add(i64::from(need - got), Ordering::AcqRel);
                while self.wait.want.load(Ordering::Acquire) > 0 && !self.wait.quiet.load(Ordering::SeqCst) {
                    #[cfg(all(test, not(loom)))]
                    self.wait.parks.fetch_add(1, Ordering::SeqCst);
                    thread::park();
                }
            }
            self.wait.waiting.store(false, Ordering::SeqCst);
            got += collect();
        }
        got
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_planner_that_waits_is_parked_and_does_not_look_again_and_again() {
        const MANY: u32 = 20;
        let slot = Slot::default();
        let completions = Completions::new(1);
        let looks = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                // A planner that does not park looks many times before anything is handed back.
                let parks = &completions.wait.parks;
                while parks.load(Ordering::SeqCst) == 0 && looks.load(Ordering::SeqCst) < MANY {
                    thread::yield_now();
                }
                completions.push(0, 0, &slot);
            });
            let collect = || {
                looks.fetch_add(1, Ordering::SeqCst);
                let mut got = 0;
                completions.take(|_| &slot, |_| got += 1);
                got
            };
            assert_eq!(completions.wait(1, collect, || false), 1);
        });
        let looks = looks.into_inner();
        assert!(looks <= 3, "{looks}");
    }

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
                completions.wait(
                    need,
                    || {
                        let before = got;
                        completions.take(
                            |i| &slots[i as usize],
                            |i| {
                                seen[i as usize] += 1;
                                got += 1;
                            },
                        );
                        got - before
                    },
                    || false,
                );
                assert!(got >= need);
                left -= got;
            }
        });
        assert!(seen.iter().all(|&count| count == 1));
    }
}
