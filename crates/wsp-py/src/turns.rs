//! Whose turn it is to call Python.
//!
//! A thread that waits for the interpreter has to be woken by the one that has it, which costs both some microseconds a task: more than a small kernel
//! takes. So of the threads that run tasks one at a time asks for the interpreter, and the others look meanwhile whether it is done. Where a turn lasts
//! so long that its kernel computes without the interpreter, or waits for something, threads ask for it as they come.
//!
//! A thread that has one turn after another keeps them: what the interpreter and the arrays have in its caches need not move for each task. Another one
//! that had a turn just now takes the next only when that thread has done without for a moment, and sleeps if it does not, longer each time; after some
//! such times it takes the next turn in any case. So does one that has run something else since its last turn: kernels that need no Python do not wait for those that do.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use wsp_runtime::look::look_for;

/// Turns that have begun and that have ended: odd while a thread has one.
static TURNS: AtomicU64 = AtomicU64::new(0);
/// What was counted when the thread that has a turn got the interpreter, last.
static CALLING: AtomicU64 = AtomicU64::new(0);
/// Calls that are still not to wait for a turn.
static FREE: AtomicU32 = AtomicU32::new(0);
/// How long a turn lasts at most for others to wait for its end.
const SHORT: Duration = Duration::from_micros(10);
/// Calls that wait for no turn after one that was long: a wait in vain costs each of them less than a hundredth of it.
const CALLS: u32 = 128;
/// Times [`SHORT`] that a thread may take to be woken for the interpreter.
const WAKES: u32 = 5;
/// Times that a call waits for turns of others at most.
const OTHERS: u32 = 64;
/// What is counted of turns while two threads have them in turn, at most: with more, the thread has run something else.
const JUST_NOW: u64 = 3;
/// Looks, some 15 ns each, without a turn before another thread takes it: more than the runtime needs between two tasks of a thread.
const PAUSE: u32 = 64;
/// How long a thread sleeps at first that another one leaves no turn: so long that falling asleep and waking cost little of it.
const NAP: Duration = Duration::from_micros(50);
/// How long it sleeps at most, before it takes the next turn.
const LONGEST_NAP: Duration = Duration::from_micros(400);

thread_local! {
    /// What was counted of turns when this thread's last one ended.
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// The turn of a thread, until this is dropped.
pub(crate) struct Turn {
    is_own: bool,
}

impl Turn {
    /// Waits for a turn as long as those of others are short.
    pub(crate) fn wait() -> Turn {
        let free = FREE.load(Ordering::Relaxed);
        if free > 0 {
            // What another thread counts meanwhile is lost: it is a call more or less.
            FREE.store(free - 1, Ordering::Relaxed);
            return Turn { is_own: false };
        }
        let since = TURNS.load(Ordering::Relaxed).wrapping_sub(LAST.get());
        // None where the last turn was its own.
        let mut pause = if (1..=JUST_NOW).contains(&since) { PAUSE } else { 0 };
        let (mut woken, mut nap) = (WAKES, NAP);
        for _ in 0..OTHERS {
            let seen = TURNS.load(Ordering::Relaxed);
            // Until it has the interpreter, a turn is not long: the thread may have to be woken for it. Much longer, and a thread has it that runs no task.
            let calls = CALLING.load(Ordering::Relaxed) == seen;
            let idle = Cell::new((seen, 0));
            // The clock is not read for a turn that is there.
            if begin(&idle, pause) || look_for(SHORT, || begin(&idle, pause)) {
                return Turn { is_own: true };
            }
            if TURNS.load(Ordering::Relaxed) == seen {
                if calls || woken == 0 {
                    FREE.store(CALLS, Ordering::Relaxed);
                    break;
                }
                woken -= 1;
            }
            if pause > 0 {
                thread::sleep(nap);
                nap *= 2;
                if nap > LONGEST_NAP {
                    pause = 0;
                }
            }
        }
        Turn { is_own: false }
    }

    /// To be called when the thread has got the interpreter.
    pub(crate) fn has_interpreter(&self) {
        if self.is_own {
            CALLING.store(TURNS.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_own {
            LAST.set(TURNS.fetch_add(1, Ordering::Release).wrapping_add(1));
        }
    }
}

/// Begins a turn if no other thread has one, nor had one for the last looks, of which `idle` says at what count they saw none, and how many.
fn begin(idle: &Cell<(u64, u32)>, pause: u32) -> bool {
    let turns = TURNS.load(Ordering::Relaxed);
    let (at, looks) = idle.get();
    if !turns.is_multiple_of(2) || pause > 0 && (at != turns || looks < pause) {
        idle.set((turns, if at == turns { looks + 1 } else { 0 }));
        return false;
    }
    TURNS.compare_exchange(turns, turns + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// To be called in the child of a fork: the thread that had a turn is not there.
pub(crate) fn forked() {
    TURNS.store(0, Ordering::Relaxed);
}
