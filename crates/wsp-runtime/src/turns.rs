//! Turns at what one thread has at a time, such as the interpreter of Python, for calls that are shorter than it takes to wake a thread.
//!
//! A thread that waits at a lock has to be woken by the one that has it, which costs both some microseconds: more than a small kernel takes. So of the
//! threads that call one at a time asks for the lock, and the others look meanwhile whether it is done.
//!
//! A thread that has one turn after another keeps them: what it needs for them lies in its caches. Others that had a turn just now sleep, longer each
//! time, until that thread has done without for a moment, or has kept its turns about as long as an interpreter leaves one to a thread. So more threads
//! cost little more, and do not take its core. A thread that has run something else since its last turn takes the next one: kernels that do without
//! turns do not wait for those that take them.
//!
//! Where turns are so long that calls compute without the lock, or wait for something, threads ask for it as they come. One long turn does not say so:
//! the system takes a core from its thread now and then. Two near each other do, and so does one that lasts for as long as a call looks, until it ends.

use crate::look::look_for;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long a turn lasts at most for others to wait for its end.
const SHORT: Duration = Duration::from_micros(10);
/// Calls that wait for no turn after turns that were long: a wait in vain costs each of them less than a hundredth of it.
const CALLS: u32 = 128;
/// What is counted from one long turn to the next, at most, where they are no accident.
const NEAR: u64 = 16;
/// What is counted of turns while two threads have them in turn, at most: with more, the thread has run something else.
const JUST_NOW: u64 = 3;
/// Looks, some 15 ns each, without a turn before another thread takes it: more than the runtime needs between two tasks of a thread.
const PAUSE: u32 = 64;
/// What is counted while a thread keeps its turns, at most: 4 ms of small kernels. An interpreter leaves a thread 5 ms.
const KEEPS: u64 = 4096;
/// How long a thread sleeps at first that has no turn: so long that falling asleep and waking cost little of it.
const NAP: Duration = Duration::from_micros(50);
/// How long it sleeps at most: so long may a turn be left that it could have.
const LONGEST_NAP: Duration = Duration::from_micros(400);
/// Times that a call waits for a turn at most, and times that it sees a long one meanwhile.
const WAITS: u32 = 64;
const LONG_ONES: u32 = 8;

/// Counts turns at one lock.
#[derive(Debug, Default)]
pub struct Turns {
    /// Turns that have begun and that have ended: odd while a thread has one.
    count: AtomicU64,
    /// What was counted when the thread that keeps its turns took the first.
    kept_from: AtomicU64,
    /// What was counted in the last turn that a thread saw to be long.
    long: AtomicU64,
    /// What is counted in a turn that lasts: calls do not wait for its end.
    lasting: AtomicU64,
    /// Threads that wait for a turn.
    waiting: AtomicU32,
    /// Calls that are still not to wait for a turn.
    free: AtomicU32,
}

impl Turns {
    /// Nothing is counted yet.
    pub const fn new() -> Turns {
        Turns {
            count: AtomicU64::new(0),
            kept_from: AtomicU64::new(0),
            long: AtomicU64::new(0),
            lasting: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            free: AtomicU32::new(0),
        }
    }

    /// Waits for a turn as long as those of others are short; whether it has one. If not, the caller asks for the lock without.
    ///
    /// `last` is what [`end`](Self::end) has told this thread last, and 0 at first.
    #[inline]
    pub fn wait(&self, last: u64) -> bool {
        let free = self.free.load(Ordering::Relaxed);
        if free > 0 {
            // What another thread counts meanwhile is lost: it is a call more or less.
            self.free.store(free - 1, Ordering::Relaxed);
            return false;
        }
        let since = self.count.load(Ordering::Relaxed).wrapping_sub(last);
        since == 0 && self.begins(last) || self.waits(since)
    }

    /// Ends the turn of this thread: what is counted then.
    #[inline]
    pub fn end(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Release).wrapping_add(1)
    }

    /// To be called in the child of a fork: the thread that had a turn, and those that waited, are not there.
    pub fn forked(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.kept_from.store(0, Ordering::Relaxed);
        self.waiting.store(0, Ordering::Relaxed);
        self.lasting.store(0, Ordering::Relaxed);
    }

    #[cold]
    fn waits(&self, since: u64) -> bool {
        let others = self.waiting.fetch_add(1, Ordering::Relaxed);
        let begun = self.waits_among(just_now(since, others));
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        if begun {
            self.kept_from.store(self.count.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        begun
    }

    /// Waits for a turn. One that had a turn just now leaves the next ones to the thread that keeps them: one that has more of them than is given here.
    fn waits_among(&self, mut had_one: Option<u64>) -> bool {
        let (mut nap, mut long_ones, mut same) = (NAP, 0, (0, 0));
        for _ in 0..WAITS {
            let seen = self.count.load(Ordering::Relaxed);
            if self.lasts(seen) {
                return false;
            }
            let kept = had_one.filter(|_| self.may_be_kept(seen));
            let pause = if kept.is_some() { PAUSE } else { 0 };
            let (idle, begun) = (Cell::new((seen, 0)), Cell::new(false));
            let is_over = || {
                begun.set(self.begins_after(&idle, pause));
                begun.get() || kept.is_some_and(|most| idle.get().0.wrapping_sub(seen) > most)
            };
            // The clock is not read for a turn that is there.
            if (is_over() || look_for(SHORT, is_over)) && begun.get() {
                return true;
            }
            if self.count.load(Ordering::Relaxed) == seen {
                long_ones += 1;
                same = (seen, if same.0 == seen { same.1 + 1 } else { 1 });
                if same.1 == LONG_ONES {
                    self.lasting.store(seen, Ordering::Relaxed);
                }
                if self.are_long(seen) || long_ones == LONG_ONES {
                    return false;
                }
            } else if pause == 0 {
                continue;
            }
            thread::sleep(nap);
            // It has waited long enough to know that one keeps them.
            had_one = had_one.map(|_| JUST_NOW);
            nap = LONGEST_NAP.min(nap * 2);
        }
        false
    }

    /// Whether a thread has a turn that was seen to last.
    fn lasts(&self, seen: u64) -> bool {
        !seen.is_multiple_of(2) && seen == self.lasting.load(Ordering::Relaxed)
    }

    /// Whether the thread that has one turn after another may have more of them.
    fn may_be_kept(&self, seen: u64) -> bool {
        seen.wrapping_sub(self.kept_from.load(Ordering::Relaxed)) < KEEPS
    }

    /// Whether turns are long, of which one was seen to be; then calls are free for a while.
    fn are_long(&self, seen: u64) -> bool {
        let before = self.long.swap(seen, Ordering::Relaxed);
        let are = (1..=NEAR).contains(&seen.wrapping_sub(before));
        if are {
            self.free.store(CALLS, Ordering::Relaxed);
        }
        are
    }

    /// Begins a turn if no other thread has one, nor had one for the last looks, of which `idle` says at what count they saw none, and how many.
    fn begins_after(&self, idle: &Cell<(u64, u32)>, pause: u32) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        let (at, looks) = idle.get();
        if !count.is_multiple_of(2) || pause > 0 && (at != count || looks < pause) {
            idle.set((count, if at == count { looks + 1 } else { 0 }));
            return false;
        }
        self.begins(count)
    }

    /// Begins a turn if nothing has been counted beyond `count`, where no thread has one.
    fn begins(&self, count: u64) -> bool {
        self.count.compare_exchange(count, count + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// What is counted of turns since the last one of a thread that has run nothing else, at most, where so many others wait, which may have had turns of
/// their own; none for a thread that has run something else, or whose turn was the last.
fn just_now(since: u64, others: u32) -> Option<u64> {
    let most = JUST_NOW + 2 * u64::from(others);
    (1..=most).contains(&since).then_some(most)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn one_long_turn_leaves_calls_in_turns_and_two_near_each_other_free_them() {
        let turns = Turns::default();
        // The same turn, seen by two threads, and one that comes much later.
        assert!(!turns.are_long(101) && !turns.are_long(101) && !turns.are_long(1001));
        assert!(turns.wait(0));
        turns.end();
        assert!(turns.are_long(1003));
        let last = turns.count.load(Ordering::Relaxed);
        assert!((0..CALLS).all(|_| !turns.wait(last)) && turns.wait(last));
    }

    /// Such as one that sleeps: others ask for the lock at once, and take turns again when it has ended.
    #[test]
    fn calls_do_not_wait_for_a_turn_that_lasts() {
        let (turns, mut last) = (Turns::default(), 0);
        for _ in 0..NEAR {
            assert!(turns.wait(last));
            last = turns.end();
        }
        assert!(turns.wait(last));
        let held = turns.count.load(Ordering::Relaxed);
        assert!(!turns.lasts(held) && !turns.wait(held + 8) && turns.lasts(held));
        assert!((0..2 * CALLS).all(|_| !turns.wait(held + 8)));
        last = turns.end();
        assert!(!turns.lasts(last) && turns.wait(last) && !turns.lasts(last + 1));
    }

    #[test]
    fn a_thread_leaves_the_turns_to_another_also_where_many_wait() {
        assert_eq!([1, 3].map(|since| just_now(since, 0)), [Some(3); 2]);
        // Its own was the last, or it has run something else.
        assert_eq!([0, 4].map(|since| just_now(since, 0)), [None; 2]);
        // Seven others had a turn each since its own.
        assert_eq!([14, 18].map(|since| just_now(since, 7)), [Some(17), None]);
    }

    #[test]
    fn a_thread_keeps_its_turns_for_a_while() {
        let turns = Turns::default();
        assert!(turns.waits(8));
        let mut last = turns.end();
        let mut kept = 0;
        while turns.may_be_kept(last) {
            assert!(turns.wait(last));
            last = turns.end();
            kept += 1;
        }
        assert_eq!(kept, KEEPS / 2);
        // Another one takes the next.
        assert!(turns.waits_among(Some(JUST_NOW)));
    }

    #[test]
    fn turns_are_those_of_one_thread_at_a_time() {
        let (turns, is_taken) = (Turns::new(), AtomicBool::new(false));
        let calls = || {
            let (mut last, mut own) = (0, 0);
            for _ in 0..10_000 {
                if turns.wait(last) {
                    assert!(!is_taken.swap(true, Ordering::Relaxed));
                    is_taken.store(false, Ordering::Relaxed);
                    last = turns.end();
                    own += 1;
                }
            }
            own
        };
        let own: u64 = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(calls)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
        });
        assert_eq!(turns.count.into_inner(), 2 * own);
    }
}
