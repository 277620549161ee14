//! How many runs the work of a thread lies within: a run that a task starts has threads of its own, and those of the run around it wait meanwhile.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs that what this thread does is a part of: threads of a team are within those of the thread that gave them work.
pub fn depth() -> u32 {
    DEPTH.get()
}

/// What this thread does is within so many runs, until this is dropped.
#[derive(Debug)]
pub struct Within {
    before: u32,
    /// It is dropped on its thread.
    _here: PhantomData<*const ()>,
}

impl Within {
    /// From now on.
    pub fn runs(depth: u32) -> Within {
        Within { before: DEPTH.replace(depth), _here: PhantomData }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        DEPTH.set(self.before);
    }
}
