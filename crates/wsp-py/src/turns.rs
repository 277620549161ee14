//! Whose turn it is to call Python.

use std::cell::Cell;
use wsp_runtime::turns::Turns;

/// Turns at the interpreter.
static TURNS: Turns = Turns::new();

thread_local! {
    /// What was counted of turns when this thread's last one ended.
    static LAST: Cell<u64> = const { Cell::new(0) };
    /// The thread has a turn.
    static HAS_ONE: Cell<bool> = const { Cell::new(false) };
}

/// Gives back the turn of this thread, if it has one: what it is to wait for may need turns.
pub(crate) fn leave() {
    if HAS_ONE.replace(false) {
        LAST.set(TURNS.end());
    }
}

/// The turn of a thread, until this is dropped or the thread leaves it.
pub(crate) struct Turn;

impl Turn {
    /// Waits for a turn as long as those of others are short.
    pub(crate) fn wait() -> Turn {
        HAS_ONE.set(TURNS.wait(LAST.get()));
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        leave();
    }
}

/// To be called in the child of a fork: the thread that had a turn is not there.
pub(crate) fn forked() {
    HAS_ONE.set(false);
    TURNS.forked();
}
