//! Which bytes of some memory tasks have stored.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a load of elements that no task has stored means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyLoads {
    /// The elements have no value: the load is a fault.
    Refused,
    /// The memory has values of its own, which the load uses: it is an input too.
    Noted,
}

/// The bytes of one piece of memory that were stored in a run that records them: ranges of neighbours, so that an output which
/// is stored row by row in order is one range, and one that is stored in any order has at most a range per row.
#[derive(Debug)]
pub struct Stored {
    base: usize,
    bytes: usize,
    early: EarlyLoads,
    loaded: AtomicBool,
    loaded_early: AtomicBool,
    /// End of each range by its begin; ranges neither touch nor overlap.
    ranges: Mutex<BTreeMap<usize, usize>>,
}

/// Elements that were never stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// How many.
    pub elements: u64,
    /// Number of the first, in the order in which they lie.
    pub first: u64,
}

/// What was recorded of some memory, for a run that goes on from its contents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredState {
    /// Begin and end of each range that was stored, in bytes from the begin of the memory.
    pub ranges: Vec<(usize, usize)>,
    /// Whether some task has loaded elements before any task stored them.
    pub loaded_early: bool,
}

impl Stored {
    /// Nothing of the `bytes` bytes at `base` is stored yet.
    pub fn new(base: *const u8, bytes: usize, early: EarlyLoads) -> Stored {
        let (loaded, loaded_early) = (AtomicBool::new(false), AtomicBool::new(false));
        Stored { base: base.addr(), bytes, early, loaded, loaded_early, ranges: Mutex::default() }
    }

    /// `bytes` bytes from `at` on were stored. What does not lie in the memory is left out.
    pub fn store(&self, at: *const u8, bytes: usize) {
        let Some((begin, end)) = self.clip(at, bytes) else { return };
        let mut ranges = self.lock();
        let (mut begin, mut end) = (begin, end);
        if let Some((&from, &to)) = ranges.range(..=begin).next_back().filter(|(_, to)| **to >= begin) {
            if to >= end {
                return;
            }
            begin = from;
        }
        while let Some((&from, &to)) = ranges.range(begin..=end).next_back() {
            ranges.remove(&from);
            end = end.max(to);
        }
        ranges.insert(begin, end);
    }

    /// Whether all of `bytes` bytes from `at` on may be loaded: they were stored, or the memory has values of its own.
    pub fn may_load(&self, at: *const u8, bytes: usize) -> bool {
        let Some((begin, end)) = self.clip(at, bytes) else { return true };
        // Flags are read when no task runs.
        self.loaded.store(true, Ordering::Relaxed);
        let whole = self.lock().range(..=begin).next_back().is_some_and(|(_, to)| *to >= end);
        if !whole && self.early == EarlyLoads::Noted {
            self.loaded_early.store(true, Ordering::Relaxed);
        }
        whole || self.early == EarlyLoads::Noted
    }

    /// Whether some task has loaded elements.
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Relaxed)
    }

    /// Whether some task has loaded elements before any task stored them.
    pub fn loaded_early(&self) -> bool {
        self.loaded_early.load(Ordering::Relaxed)
    }

    /// `bytes` bytes from `at` on were copied from `source`, of which those count that were stored in `from`; all do where it is
    /// not recorded, and where it has values of its own.
    pub fn copy(&self, at: *const u8, bytes: usize, from: Option<(&Stored, *const u8)>) {
        let Some((from, source)) = from else { return self.store(at, bytes) };
        if from.may_load(source, bytes) {
            return self.store(at, bytes);
        }
        let Some((begin, end)) = from.clip(source, bytes) else { return };
        // A copy: source and destination may be one memory.
        let ranges: Vec<(usize, usize)> = from.lock().iter().map(|(from, to)| (*from, *to)).collect();
        for (first, last) in ranges {
            let (first, last) = (first.max(begin), last.min(end));
            if first < last {
                self.store(at.wrapping_add(first - begin), last - first);
            }
        }
    }

    /// `bytes` bytes from `at` on have no value any more.
    pub fn erase(&self, at: *const u8, bytes: usize) {
        let Some((begin, end)) = self.clip(at, bytes) else { return };
        let mut ranges = self.lock();
        while let Some((&from, &to)) = ranges.range(..end).next_back().filter(|(_, to)| **to > begin) {
            ranges.remove(&from);
            if to > end {
                ranges.insert(end, to);
            }
            if from < begin {
                ranges.insert(from, begin);
            }
        }
    }

    /// What is recorded at this moment.
    pub fn state(&self) -> StoredState {
        let ranges = self.lock().iter().map(|(begin, end)| (*begin, *end)).collect();
        StoredState { ranges, loaded_early: self.loaded_early() }
    }

    /// The memory has the contents again that it had when this was recorded: what was stored since is not. That elements were
    /// loaded early stays. Of ranges, what does not lie in the memory is left out.
    pub fn go_back(&self, state: &StoredState) {
        self.lock().clear();
        for &(begin, end) in state.ranges.iter().filter(|(begin, end)| begin < end && *end <= self.bytes) {
            self.store(std::ptr::without_provenance(self.base + begin), end - begin);
        }
        self.loaded_early.fetch_or(state.loaded_early, Ordering::Relaxed);
    }

    /// As at the beginning: nothing is stored, nothing was loaded.
    pub fn forget(&self) {
        self.lock().clear();
        self.loaded.store(false, Ordering::Relaxed);
        self.loaded_early.store(false, Ordering::Relaxed);
    }

    /// Elements of `size` bytes that were never stored, the first of them counted from the begin of the memory; none if all were.
    pub fn missing(&self, size: usize) -> Option<Missing> {
        self.missing_in(std::ptr::without_provenance(self.base), self.bytes, size)
    }

    /// Elements of `size` bytes that were never stored of those in `bytes` bytes from `at` on, the first of them counted from
    /// there; none if all were.
    pub fn missing_in(&self, at: *const u8, bytes: usize, size: usize) -> Option<Missing> {
        let (begin, end) = self.clip(at, bytes)?;
        let ranges = self.lock();
        let before = ranges.range(..begin).next_back().map_or(begin, |(_, to)| (*to).clamp(begin, end));
        let (mut stored, mut first) = (before - begin, before);
        for (&from, &to) in ranges.range(begin..end) {
            let to = to.min(end);
            if from == first {
                first = to;
            }
            stored += to - from;
        }
        let size = size.max(1);
        let elements = ((end - begin - stored) / size) as u64;
        (elements > 0).then_some(Missing { elements, first: ((first - begin) / size) as u64 })
    }

    /// The part of some bytes that lies in the memory, as offsets; none if that is empty.
    fn clip(&self, at: *const u8, bytes: usize) -> Option<(usize, usize)> {
        let begin = at.addr().max(self.base);
        let end = at.addr().checked_add(bytes)?.min(self.base + self.bytes);
        (begin < end).then(|| (begin - self.base, end - self.base))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        // No code panics while it holds the lock.
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Stored {
        Stored::new(std::ptr::without_provenance(1000), 40, EarlyLoads::Refused)
    }

    fn store(stored: &Stored, from: usize, to: usize) {
        stored.store(std::ptr::without_provenance(1000 + from), to - from);
    }

    #[test]
    fn neighbours_are_one_range_in_any_order() {
        let stored = memory();
        assert_eq!(stored.missing(4), Some(Missing { elements: 10, first: 0 }));
        for (from, to) in [(0, 8), (16, 24), (36, 44), (8, 12), (20, 28)] {
            store(&stored, from, to);
        }
        assert_eq!(stored.missing(4), Some(Missing { elements: 3, first: 3 }));
        assert!(stored.may_load(std::ptr::without_provenance(1000), 12));
        assert!(!stored.may_load(std::ptr::without_provenance(1008), 12));
        let inside = stored.missing_in(std::ptr::without_provenance(1004), 24, 4);
        assert_eq!(inside, Some(Missing { elements: 1, first: 2 }));
        stored.erase(std::ptr::without_provenance(1002), 24);
        stored.copy(
            std::ptr::without_provenance(1020),
            8,
            Some((&stored, std::ptr::without_provenance(1024))),
        );
        assert_eq!(*stored.lock(), BTreeMap::from([(0, 2), (22, 24), (26, 28), (36, 40)]));
        store(&stored, 0, 4);
        store(&stored, 4, 38);
        assert_eq!((stored.missing(4), stored.lock().len()), (None, 1));
        let state = StoredState { ranges: vec![(0, 8), (12, 40), (8, 44)], loaded_early: true };
        stored.go_back(&state);
        assert_eq!(stored.state(), StoredState { ranges: vec![(0, 8), (12, 40)], loaded_early: true });
        stored.forget();
        assert_eq!(stored.missing(8), Some(Missing { elements: 5, first: 0 }));
    }

    #[test]
    fn memory_with_values_of_its_own_may_be_loaded_and_it_is_noted() {
        let stored = Stored::new(std::ptr::without_provenance(8), 8, EarlyLoads::Noted);
        stored.store(std::ptr::without_provenance(8), 4);
        assert!(stored.may_load(std::ptr::without_provenance(8), 4) && !stored.loaded_early());
        assert!(stored.may_load(std::ptr::without_provenance(8), 8) && stored.loaded_early());
    }
}
