//! Tasks whose start brings the inputs of later tasks near (`PTO_PREFETCH`).

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wsp_core::TaskId;

/// Identifies a task: stage, descriptor type, hint, index on the axis, and the other indices.
pub(crate) type PrefetchKey = SmallVec<[u32; 8]>;

/// Entries below which none is looked at again.
const KEEP_AT_LEAST: usize = 1024;

/// Tasks by key: those in flight, and at most as many that have completed as there were in flight.
#[derive(Debug)]
pub(crate) struct Prefetchable {
    tasks: FxHashMap<PrefetchKey, TaskId>,
    /// Entries at which completed tasks are dropped.
    prune_at: usize,
    has_dropped: bool,
}

/// What is known of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sought {
    Known(TaskId),
    /// Not known, and others were dropped: it has completed, if there was one.
    Forgotten,
    /// There was none.
    Never,
}

impl Default for Prefetchable {
    fn default() -> Prefetchable {
        Prefetchable { tasks: FxHashMap::default(), prune_at: KEEP_AT_LEAST, has_dropped: false }
    }
}

impl Prefetchable {
    /// The task with this key.
    pub(crate) fn find(&self, key: &PrefetchKey) -> Sought {
        match self.tasks.get(key) {
            Some(&task) => Sought::Known(task),
            None if self.has_dropped => Sought::Forgotten,
            None => Sought::Never,
        }
    }

    /// Adds a task. When there are twice as many as were in flight at the last look, those that are no more are dropped: they
    /// have started, so nothing can be brought near when they do.
    pub(crate) fn insert(&mut self, key: PrefetchKey, task: TaskId, is_in_flight: impl Fn(TaskId) -> bool) {
        self.tasks.insert(key, task);
        if self.tasks.len() >= self.prune_at {
            let before = self.tasks.len();
            self.tasks.retain(|_, task| is_in_flight(*task));
            self.has_dropped |= self.tasks.len() < before;
            self.prune_at = (2 * self.tasks.len()).max(KEEP_AT_LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> PrefetchKey {
        PrefetchKey::from_slice(&[n])
    }

    #[test]
    fn tasks_that_have_completed_are_not_kept() {
        let mut known = Prefetchable::default();
        for n in 0..100_000 {
            known.insert(key(n), TaskId(n), |task| task.0 + 3000 > n);
            assert!(known.tasks.len() <= 6001, "{} entries after {n} tasks", known.tasks.len());
            assert_eq!(
                known.find(&key(n.saturating_sub(2999))),
                Sought::Known(TaskId(n.saturating_sub(2999)))
            );
        }
        assert_eq!(known.find(&key(0)), Sought::Forgotten);
        assert_eq!(Prefetchable::default().find(&key(0)), Sought::Never);
    }
}
