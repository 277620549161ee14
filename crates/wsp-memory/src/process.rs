//! What each process has for itself. The child of a fork has the memory of its parent, and none of its threads.

use crate::claim::RUNNING;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The forks between the first process and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// What tells this process from those that it was forked from.
pub fn process() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// To be called in the child of a fork, which has none of the threads that run.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    RUNNING.begin();
}

/// A value of each process, behind a lock. The child of a fork has another one than its parent, whose lock a thread may hold that
/// the child does not have.
#[derive(Debug)]
pub struct PerProcess<T> {
    own: Mutex<T>,
    of_child: OnceLock<Box<PerProcess<T>>>,
}

impl<T: Default> PerProcess<T> {
    /// That of the first process; the others begin with the default.
    pub const fn new(first: T) -> PerProcess<T> {
        PerProcess { own: Mutex::new(first), of_child: OnceLock::new() }
    }

    /// That of this process.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.after(process()).own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called in the child of a fork while it has one thread: its own child would find half made what another one begins.
    pub fn begin(&self) {
        drop(self.lock());
    }

    fn after(&self, forks: u32) -> &PerProcess<T> {
        (0..forks).fold(self, |of, _| of.of_child.get_or_init(|| Box::new(PerProcess::new(T::default()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_of_a_fork_has_a_free_lock_and_a_value_of_its_own() {
        let runs = PerProcess::new(vec![1]);
        let held = runs.own.lock().expect("it is free");
        for forks in [1, 2] {
            assert!(runs.after(forks).own.try_lock().expect("no thread of the child has it").is_empty());
        }
        drop(held);
        assert_eq!(*runs.after(0).own.lock().expect("it is free"), [1]);
    }
}
