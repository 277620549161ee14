//! Whose turn it is to call Python.
//!
//! A thread that waits for the interpreter has to be woken by the one that has it, which costs both some microseconds a task: more than a small kernel
//! takes. So of the threads that run tasks one at a time asks for the interpreter, and the others look meanwhile whether it is done. Where a turn lasts
//! so long that its kernel computes without the interpreter, or waits for something, threads ask for it as they come.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use wsp_runtime::look::look_for;

/// Turns that have begun and that have ended: odd while a thread has one.
static TURNS: AtomicU64 = AtomicU64::new(0);
/// Calls that are still not to wait for a turn.
static FREE: AtomicU32 = AtomicU32::new(0);
/// How long a turn lasts at most for others to wait for its end.
const SHORT: Duration = Duration::from_micros(10);
/// Calls that wait for no turn after one that was long: a wait in vain costs each of them less than a hundredth of it.
const CALLS: u32 = 128;
/// Turns of others that a call waits for at most.
const OTHERS: u32 = 64;

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
        for _ in 0..OTHERS {
            let seen = TURNS.load(Ordering::Relaxed);
            if look_for(SHORT, begin) {
                return Turn { is_own: true };
            }
            if TURNS.load(Ordering::Relaxed) == seen {
                FREE.store(CALLS, Ordering::Relaxed);
                break;
            }
        }
        Turn { is_own: false }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_own {
            TURNS.fetch_add(1, Ordering::Release);
        }
    }
}

/// Begins a turn if no other thread has one.
fn begin() -> bool {
    let turns = TURNS.load(Ordering::Relaxed);
    turns.is_multiple_of(2)
        && TURNS.compare_exchange(turns, turns + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// To be called in the child of a fork: the thread that had a turn is not there.
pub(crate) fn forked() {
    TURNS.store(0, Ordering::Relaxed);
}
