//! Which bytes of some memory tasks have stored.

use super::ranges::Ranges;
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
/// is stored row by row in order is one range, and one that is stored by columns has a range per element until they meet.
#[derive(Debug)]
pub struct Stored {
    base: usize,
    bytes: usize,
    early: EarlyLoads,
    seen: Mutex<Seen>,
}

/// What tasks did to the bytes.
#[derive(Debug, Default)]
struct Seen {
    stored: Ranges,
    /// Loaded where not all was stored: of these, what is not in `stored` is an input.
    loaded_early: Ranges,
    /// Stored and not loaded since.
    unread: Ranges,
}

/// Elements that were neither stored nor loaded as an input.
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
    /// The same of what tasks have loaded before all of it was stored.
    pub loaded_early: Vec<(usize, usize)>,
}

impl Stored {
    /// Nothing of the `bytes` bytes at `base` is stored yet.
    pub fn new(base: *const u8, bytes: usize, early: EarlyLoads) -> Stored {
        Stored { base: base.addr(), bytes, early, seen: Mutex::default() }
    }

    /// `bytes` bytes from `at` on were stored. What does not lie in the memory is left out.
    pub fn store(&self, at: *const u8, bytes: usize) {
        let Some((begin, end)) = self.clip(at, bytes) else { return };
        let mut seen = self.lock();
        seen.stored.insert(begin, end);
        seen.unread.insert(begin, end);
    }

    /// Whether all of `bytes` bytes from `at` on may be loaded: they were stored, or the memory has values of its own.
    pub fn may_load(&self, at: *const u8, bytes: usize) -> bool {
        let Some((begin, end)) = self.clip(at, bytes) else { return true };
        let mut seen = self.lock();
        seen.unread.remove(begin, end);
        let (whole, noted) = (seen.stored.covers(begin, end), self.early == EarlyLoads::Noted);
        if !whole && noted {
            seen.loaded_early.insert(begin, end);
        }
        whole || noted
    }

    /// Whether tasks have stored something and loaded all of it again: a step on the way.
    pub fn is_passed_on(&self) -> bool {
        let seen = self.lock();
        seen.unread.is_empty() && !seen.stored.is_empty()
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
        let stored = from.lock().stored.to_vec();
        for (first, last) in stored {
            let (first, last) = (first.max(begin), last.min(end));
            if first < last {
                self.store(at.wrapping_add(first - begin), last - first);
            }
        }
    }

    /// `bytes` bytes from `at` on have no value any more.
    pub fn erase(&self, at: *const u8, bytes: usize) {
        let Some((begin, end)) = self.clip(at, bytes) else { return };
        self.lock().stored.remove(begin, end);
    }

    /// What is recorded at this moment.
    pub fn state(&self) -> StoredState {
        let seen = self.lock();
        StoredState { ranges: seen.stored.to_vec(), loaded_early: seen.loaded_early.to_vec() }
    }

    /// The memory has the contents again that it had when this was recorded: what was stored since is not. What was loaded early
    /// stays. Of ranges, what does not lie in the memory is left out.
    pub fn go_back(&self, state: &StoredState) {
        let mut seen = self.lock();
        seen.stored.clear();
        let Seen { stored, loaded_early, .. } = &mut *seen;
        for (ranges, from) in [(stored, &state.ranges), (loaded_early, &state.loaded_early)] {
            for &(begin, end) in from.iter().filter(|(begin, end)| begin < end && *end <= self.bytes) {
                ranges.insert(begin, end);
            }
        }
    }

    /// As at the beginning: nothing is stored, nothing was loaded.
    pub fn forget(&self) {
        *self.lock() = Seen::default();
    }

    /// Elements of `size` bytes that were neither stored nor loaded early, the first of them counted from the begin of the memory;
    /// none if there are none.
    pub fn missing(&self, size: usize) -> Option<Missing> {
        self.missing_in(size, |piece| piece(std::ptr::without_provenance(self.base), self.bytes))
    }

    /// As [`missing`](Self::missing), of the elements in the pieces of the memory that `each` calls its argument with: begin and bytes
    /// of each. Elements are counted from the first of these.
    pub fn missing_in(
        &self,
        size: usize,
        each: impl FnOnce(&mut dyn FnMut(*const u8, usize)),
    ) -> Option<Missing> {
        let used = self.lock().used();
        let (mut found, mut before): (Option<Missing>, usize) = (None, 0);
        each(&mut |at, bytes| {
            let Some((begin, end)) = self.clip(at, bytes) else { return };
            let gaps = used.gaps(begin, end);
            if let Some(first) = gaps.first {
                let first = ((before + first - begin) / size) as u64;
                found.get_or_insert(Missing { elements: 0, first }).elements += (gaps.bytes / size) as u64;
            }
            before += end - begin;
        });
        found.filter(|missing| missing.elements > 0)
    }

    /// The first of `bytes` bytes from `at` on that was not stored, counted from there.
    pub fn first_gap(&self, at: *const u8, bytes: usize) -> Option<usize> {
        let (begin, end) = self.clip(at, bytes)?;
        Some(self.lock().stored.gaps(begin, end).first? - begin)
    }

    /// The part of some bytes that lies in the memory, as offsets; none if that is empty.
    fn clip(&self, at: *const u8, bytes: usize) -> Option<(usize, usize)> {
        let begin = at.addr().max(self.base);
        let end = at.addr().checked_add(bytes)?.min(self.base + self.bytes);
        (begin < end).then(|| (begin - self.base, end - self.base))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        // No code panics while it holds the lock.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// What was stored or loaded early.
    fn used(&self) -> Ranges {
        let mut used = self.stored.clone();
        self.loaded_early.to_vec().into_iter().for_each(|(begin, end)| used.insert(begin, end));
        used
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
        let inside = stored.missing_in(4, |piece| piece(std::ptr::without_provenance(1004), 24));
        assert_eq!(inside, Some(Missing { elements: 1, first: 2 }));
        stored.erase(std::ptr::without_provenance(1002), 24);
        stored.copy(
            std::ptr::without_provenance(1020),
            8,
            Some((&stored, std::ptr::without_provenance(1024))),
        );
        assert_eq!(stored.state().ranges, [(0, 2), (22, 24), (26, 28), (36, 40)]);
        store(&stored, 0, 4);
        store(&stored, 4, 38);
        assert_eq!((stored.missing(4), stored.state().ranges.len()), (None, 1));
        let loaded_early = vec![(4, 10)];
        let ranges = vec![(0, 8), (12, 40), (8, 44)];
        stored.go_back(&StoredState { ranges, loaded_early: loaded_early.clone() });
        assert_eq!(stored.state(), StoredState { ranges: vec![(0, 8), (12, 40)], loaded_early });
        stored.forget();
        assert_eq!(stored.missing(8), Some(Missing { elements: 5, first: 0 }));
    }

    #[test]
    fn of_memory_with_values_what_is_loaded_before_it_is_stored_is_an_input_and_no_more() {
        let at = std::ptr::without_provenance;
        let stored = Stored::new(at(8), 40, EarlyLoads::Noted);
        stored.store(at(8), 4);
        assert!(stored.may_load(at(8), 4) && stored.state().loaded_early.is_empty());
        assert!(stored.may_load(at(8), 8));
        assert_eq!(stored.state().loaded_early, [(0, 8)]);
        assert_eq!(stored.missing(4), Some(Missing { elements: 8, first: 2 }));
        let every_second =
            |piece: &mut dyn FnMut(*const u8, usize)| (0..5).for_each(|i| piece(at(12 + 8 * i), 4));
        assert_eq!(stored.missing_in(4, every_second), Some(Missing { elements: 4, first: 1 }));
        assert!(stored.is_passed_on());
        stored.store(at(16), 32);
        assert_eq!((stored.missing(4), stored.is_passed_on()), (None, false));
        assert!(stored.may_load(at(16), 16) && !stored.is_passed_on());
        assert!(stored.may_load(at(24), 24) && stored.is_passed_on());
    }
}
