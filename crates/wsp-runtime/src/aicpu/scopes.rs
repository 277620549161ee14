//! Ordered scopes over all AICPUs: counters in place of edges.
//!
//! A scope is known by its depth and the ordinal at which it begins; ordinals of its tasks have no gap. So the tasks that
//! come before a step are as many as ordinals lie between the scope's beginning and the step's, and a task of the step
//! waits until so many tasks of the scope are complete. None of its own step, and none of a later one, has started by then,
//! so the count tells exactly whether all earlier ones are complete.

use super::generator::Refused;
use crate::sync::{AtomicU64, Mutex, Ordering};
use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError};

/// Locks that the table is divided among.
const SHARDS: usize = 16;

/// A scope that has tasks: its depth and where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ScopeKey {
    depth: u32,
    begin: u64,
}

/// The counters of scopes that are open for some AICPU.
#[derive(Debug)]
pub(super) struct ScopeTable {
    shards: [Mutex<FxHashMap<ScopeKey, Arc<AtomicU64>>>; SHARDS],
}

impl ScopeTable {
    pub(super) fn new() -> ScopeTable {
        ScopeTable { shards: std::array::from_fn(|_| Mutex::new(FxHashMap::default())) }
    }

    fn with<T>(&self, key: ScopeKey, act: impl FnOnce(&mut FxHashMap<ScopeKey, Arc<AtomicU64>>) -> T) -> T {
        let shard = &self.shards[(key.begin as usize ^ key.depth as usize) % SHARDS];
        act(&mut shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }
}

/// A step of a scope, with the steps around it, as one AICPU sees it.
#[derive(Debug)]
pub(super) struct Step {
    around: Option<Arc<Step>>,
    complete: Arc<AtomicU64>,
    need: u64,
    begin: u64,
}

/// A scope whose earlier steps are not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unfinished {
    pub(super) begin: u64,
    pub(super) need: u64,
    pub(super) complete: u64,
}

impl Step {
    /// The first of it and those around it whose earlier steps are not complete.
    pub(super) fn waits_for(&self) -> Option<Unfinished> {
        // Acquire: what the earlier steps wrote is visible.
        let complete = self.complete.load(Ordering::Acquire);
        if complete < self.need {
            return Some(Unfinished { begin: self.begin, need: self.need, complete });
        }
        self.around.as_ref()?.waits_for()
    }

    /// A task of the step is complete.
    pub(super) fn count(&self) {
        self.complete.fetch_add(1, Ordering::AcqRel);
        if let Some(around) = &self.around {
            around.count();
        }
    }
}

#[derive(Debug)]
struct Level {
    begin: u64,
    step_begin: u64,
    /// Made with the first own task.
    complete: Option<Arc<AtomicU64>>,
    /// Made with the first own task of the step.
    step: Option<Arc<Step>>,
}

/// The scopes around the next task of one AICPU, the outermost first.
#[derive(Debug, Default)]
pub(super) struct ScopeStack {
    levels: Vec<Level>,
    /// Scopes that have ended, and the ordinal of their end.
    ended: Vec<(ScopeKey, u64)>,
}

impl ScopeStack {
    pub(super) fn begin(&mut self, ordinal: u64) {
        self.levels.push(Level { begin: ordinal, step_begin: ordinal, complete: None, step: None });
    }

    pub(super) fn step(&mut self, ordinal: u64) -> Result<(), Refused> {
        let level = self.levels.last_mut().ok_or(Refused::NoOrderedScope)?;
        (level.step_begin, level.step) = (ordinal, None);
        Ok(())
    }

    pub(super) fn end(&mut self, ordinal: u64) -> Result<(), Refused> {
        let level = self.levels.pop().ok_or(Refused::NoOrderedScope)?;
        if level.complete.is_some() {
            self.ended.push((ScopeKey { depth: self.levels.len() as u32, begin: level.begin }, ordinal));
        }
        Ok(())
    }

    /// The step that an own task generated now belongs to.
    pub(super) fn current(&mut self, table: &ScopeTable) -> Option<Arc<Step>> {
        let mut around: Option<Arc<Step>> = None;
        for (depth, level) in (0..).zip(&mut self.levels) {
            let step = level.step.get_or_insert_with(|| {
                let key = ScopeKey { depth, begin: level.begin };
                let complete = level
                    .complete
                    .get_or_insert_with(|| table.with(key, |scopes| scopes.entry(key).or_default().clone()));
                Arc::new(Step {
                    around: around.take(),
                    complete: complete.clone(),
                    need: level.step_begin.saturating_sub(level.begin),
                    begin: level.begin,
                })
            });
            around = Some(step.clone());
        }
        around
    }

    /// Forgets the scopes that no AICPU will enter any more: every generator is past their end.
    ///
    /// They have tasks, so another scope of the same depth begins elsewhere. Tasks in flight keep the counters they need.
    pub(super) fn forget_ended(&mut self, table: &ScopeTable, watermark: u64) {
        self.ended.retain(|&(key, end)| {
            let past = end <= watermark;
            if past {
                table.with(key, |scopes| drop(scopes.remove(&key)));
            }
            !past
        });
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn waits(step: &Option<Arc<Step>>) -> Option<u64> {
        step.as_ref().and_then(|step| step.waits_for()).map(|open| open.need - open.complete)
    }

    #[test]
    fn a_step_waits_for_all_tasks_before_it_whoever_has_them() {
        let table = ScopeTable::new();
        let (mut a, mut b) = (ScopeStack::default(), ScopeStack::default());
        a.begin(10);
        b.begin(10);
        let first = [a.current(&table), b.current(&table)];
        assert_eq!(first.each_ref().map(waits), [None, None]);
        a.step(12).unwrap();
        let second = a.current(&table);
        assert_eq!(waits(&second), Some(2));
        first.iter().flatten().for_each(|step| step.count());
        assert_eq!(waits(&second), None);
    }

    #[test]
    fn a_task_in_an_inner_scope_counts_and_waits_for_the_outer_too() {
        let table = ScopeTable::new();
        let mut stack = ScopeStack::default();
        stack.begin(0);
        stack.begin(0);
        let inner = stack.current(&table);
        stack.end(1).unwrap();
        stack.step(1).unwrap();
        stack.begin(1);
        let next = stack.current(&table);
        assert_eq!(waits(&next), Some(1));
        inner.iter().for_each(|step| step.count());
        assert_eq!(waits(&next), None);
    }

    #[test]
    fn an_empty_scope_leaves_nothing_for_one_that_begins_where_it_did() {
        let table = ScopeTable::new();
        let mut stack = ScopeStack::default();
        stack.begin(5);
        stack.end(5).unwrap();
        stack.begin(5);
        let step = stack.current(&table);
        stack.forget_ended(&table, 5);
        assert_eq!((table.len(), waits(&step)), (1, None));
        stack.end(6).unwrap();
        stack.forget_ended(&table, 5);
        assert_eq!(table.len(), 1);
        stack.forget_ended(&table, 6);
        assert_eq!((table.len(), stack.has_ended()), (0, false));
        assert_eq!(stack.step(7), Err(Refused::NoOrderedScope));
    }
}
