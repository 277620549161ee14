//! Which bytes of some memory tasks have stored.

use crate::bits::Bits;

/// What a load of elements that no task has stored means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyLoads {
    /// The elements have no value: the load is a fault.
    Refused,
    /// The memory has values of its own, which the load uses: it is an input too.
    Noted,
}

/// The bytes of one piece of memory that were stored in a run that records them, a bit per unit. A unit of which a part is stored
/// counts as stored.
#[derive(Debug)]
pub struct Stored {
    base: usize,
    bytes: usize,
    /// Logarithm to base 2 of the bytes of a unit.
    unit: u32,
    stored: Bits,
    /// Loaded where not all was stored: of these, what is not in `stored` is an input. None where such loads are refused.
    loaded_early: Option<Bits>,
}

/// Some of the elements that were never stored. Where nothing was stored, none of them counts as loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unstored {
    /// Nothing has loaded them either.
    Unused,
    /// They were loaded, with the values that the memory has of its own: they are an input.
    Loaded,
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
    /// The same of what tasks have loaded before all of it was stored.
    pub loaded_early: Vec<(usize, usize)>,
}

impl Stored {
    /// Nothing of the `bytes` bytes at `base` is stored yet. `unit`, a power of two, says in how many bytes from there on nothing
    /// is told apart: where all that tasks store and load begins and ends at multiples of it, the record is exact; else some
    /// loads of what nothing has stored are not found. None if the machine refuses the memory.
    pub fn new(base: *const u8, bytes: usize, unit: usize, early: EarlyLoads) -> Option<Stored> {
        let bits = || Bits::new(bytes.div_ceil(unit));
        let loaded_early = match early {
            EarlyLoads::Noted => Some(bits()?),
            EarlyLoads::Refused => None,
        };
        let (base, unit) = (base.addr(), unit.trailing_zeros());
        Some(Stored { base, bytes, unit, stored: bits()?, loaded_early })
    }

    /// `bytes` bytes from `at` on were stored. What does not lie in the memory is left out.
    #[inline]
    pub fn store(&self, at: *const u8, bytes: usize) {
        if let Some((begin, end)) = self.clip(at, bytes) {
            self.stored.insert(begin, end);
        }
    }

    /// Whether all of `bytes` bytes from `at` on were stored.
    #[inline]
    pub fn is_stored(&self, at: *const u8, bytes: usize) -> bool {
        self.clip(at, bytes).is_none_or(|(begin, end)| self.stored.covers(begin, end))
    }

    /// Whether all of `bytes` bytes from `at` on may be loaded: they were stored, or the memory has values of its own.
    #[inline]
    pub fn may_load(&self, at: *const u8, bytes: usize) -> bool {
        let Some((begin, end)) = self.clip(at, bytes) else { return true };
        if self.stored.covers(begin, end) {
            return true;
        }
        self.loaded_early.as_ref().inspect(|early| early.insert(begin, end)).is_some()
    }

    /// `bytes` bytes from `at` on were copied from `source`: those were stored that were in `from`, and the others have no value
    /// any more. All were stored where `from` is not recorded, and where it has values of its own.
    ///
    /// # Errors
    /// The copy would replace values that this memory has of its own by bytes without one: the first of these, counted from
    /// `source`. Nothing is recorded then.
    pub fn copy(&self, at: *const u8, bytes: usize, from: Option<(&Stored, *const u8)>) -> Result<(), usize> {
        let gap = from.filter(|(from, source)| !from.may_load(*source, bytes));
        let Some((from, source)) = gap else {
            self.store(at, bytes);
            return Ok(());
        };
        if self.loaded_early.is_some() {
            return Err(from.first_gap(source, bytes).unwrap_or(0));
        }
        // Source and destination may be one memory: its runs are taken before it changes.
        let runs = from.clip(source, bytes).map(|(begin, end)| (begin, from.stored.runs(begin, end)));
        self.erase(at, bytes);
        for (begin, (first, last)) in
            runs.into_iter().flat_map(|(begin, runs)| runs.into_iter().map(move |run| (begin, run)))
        {
            self.store(at.wrapping_add((first - begin) << from.unit), (last - first) << from.unit);
        }
        Ok(())
    }

    /// `bytes` bytes from `at` on have no value any more.
    pub fn erase(&self, at: *const u8, bytes: usize) {
        if let Some((begin, end)) = self.clip(at, bytes) {
            self.stored.remove(begin, end);
        }
    }

    /// What is recorded at this moment.
    pub fn state(&self) -> StoredState {
        let ranges = |bits: &Bits| {
            let runs = self.whole().map(|(begin, end)| bits.runs(begin, end)).unwrap_or_default();
            runs.into_iter().map(|(begin, end)| (begin << self.unit, end << self.unit)).collect()
        };
        let loaded_early = self.loaded_early.as_ref().map(ranges).unwrap_or_default();
        StoredState { ranges: ranges(&self.stored), loaded_early }
    }

    /// The memory has the contents again that it had when this was recorded: what was stored since is not. What was loaded early
    /// stays. Of ranges, what does not lie in the memory is left out.
    pub fn go_back(&self, state: &StoredState) {
        self.stored.clear();
        let early = self.loaded_early.as_ref().map(|early| (early, &state.loaded_early));
        for (bits, ranges) in [(&self.stored, &state.ranges)].into_iter().chain(early) {
            for &(begin, end) in ranges.iter().filter(|(begin, end)| begin < end && *end <= self.bytes) {
                bits.insert(begin >> self.unit, end.div_ceil(1 << self.unit));
            }
        }
    }

    /// As at the beginning: nothing is stored, nothing was loaded.
    pub fn forget(&self) {
        self.stored.clear();
        self.loaded_early.iter().for_each(Bits::clear);
    }

    /// These elements, of `size` bytes, of which some byte was not stored, the first of them counted from the begin of the
    /// memory; none if there are none.
    pub fn missing(&self, which: Unstored, size: usize) -> Option<Missing> {
        self.missing_in(which, size, |piece| piece(std::ptr::without_provenance(self.base), self.bytes))
    }

    /// As [`missing`](Self::missing), of the elements in the pieces of the memory that `each` calls its argument with: begin and
    /// bytes of each. Elements are counted from the first of these.
    pub fn missing_in(
        &self,
        which: Unstored,
        size: usize,
        each: impl FnOnce(&mut dyn FnMut(*const u8, usize)),
    ) -> Option<Missing> {
        let early = self.loaded_early.as_ref().filter(|_| !self.stored.is_empty());
        let group = (size >> self.unit).max(1);
        let (mut found, mut before): (Option<Missing>, usize) = (None, 0);
        each(&mut |at, bytes| {
            let Some((begin, end)) = self.clip(at, bytes) else { return };
            let gaps = match (which, early) {
                (Unstored::Unused, _) => self.stored.gaps(early, begin, end, group),
                (Unstored::Loaded, Some(early)) => self.stored.gaps_in(early, begin, end, group),
                (Unstored::Loaded, None) => return,
            };
            if let Some(first) = gaps.first {
                let first = ((before + first - begin) / group) as u64;
                found.get_or_insert(Missing { elements: 0, first }).elements += gaps.groups as u64;
            }
            before += end - begin;
        });
        found
    }

    /// The first of `bytes` bytes from `at` on that was not stored, counted from there.
    pub fn first_gap(&self, at: *const u8, bytes: usize) -> Option<usize> {
        let (begin, end) = self.clip(at, bytes)?;
        let before = at.addr().saturating_sub(self.base) & ((1 << self.unit) - 1);
        Some(((self.stored.gaps(None, begin, end, 1).first? - begin) << self.unit).saturating_sub(before))
    }

    /// The units of some bytes that lie in the memory; none if there are none.
    fn clip(&self, at: *const u8, bytes: usize) -> Option<(usize, usize)> {
        let begin = at.addr().max(self.base);
        let end = at.addr().checked_add(bytes)?.min(self.base + self.bytes);
        (begin < end).then(|| ((begin - self.base) >> self.unit, (end - self.base).div_ceil(1 << self.unit)))
    }

    /// All units; none if there are none.
    fn whole(&self) -> Option<(usize, usize)> {
        self.clip(std::ptr::without_provenance(self.base), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(byte: usize) -> *const u8 {
        std::ptr::without_provenance(1000 + byte)
    }

    fn memory(unit: usize, early: EarlyLoads) -> Stored {
        Stored::new(at(0), 40, unit, early).expect("it is small")
    }

    fn store(stored: &Stored, from: usize, to: usize) {
        stored.store(at(from), to - from);
    }

    #[test]
    fn what_is_stored_may_be_loaded_in_any_order() {
        let stored = memory(1, EarlyLoads::Refused);
        assert_eq!(stored.missing(Unstored::Unused, 4), Some(Missing { elements: 10, first: 0 }));
        for (from, to) in [(0, 8), (16, 24), (36, 44), (8, 12), (20, 28)] {
            store(&stored, from, to);
        }
        assert_eq!(stored.missing(Unstored::Unused, 4), Some(Missing { elements: 3, first: 3 }));
        assert!(stored.may_load(at(0), 12) && !stored.may_load(at(8), 12));
        let inside = stored.missing_in(Unstored::Unused, 4, |piece| piece(at(4), 24));
        assert_eq!(inside, Some(Missing { elements: 1, first: 2 }));
        stored.erase(at(2), 24);
        assert_eq!(stored.copy(at(20), 8, Some((&stored, at(24)))), Ok(()));
        assert_eq!(stored.state().ranges, [(0, 2), (22, 24), (36, 40)]);
        store(&stored, 0, 4);
        store(&stored, 4, 38);
        assert_eq!((stored.missing(Unstored::Unused, 4), stored.state().ranges.len()), (None, 1));
        stored.forget();
        assert_eq!(stored.missing(Unstored::Unused, 8), Some(Missing { elements: 5, first: 0 }));
    }

    #[test]
    fn an_element_of_which_a_byte_is_not_stored_is_missing() {
        let stored = memory(1, EarlyLoads::Refused);
        for (from, to) in [(0, 3), (4, 10), (12, 15), (16, 39)] {
            store(&stored, from, to);
        }
        assert_eq!(stored.missing(Unstored::Unused, 4), Some(Missing { elements: 4, first: 0 }));
        let inside = stored.missing_in(Unstored::Unused, 4, |piece| piece(at(6), 12));
        assert_eq!(inside, Some(Missing { elements: 2, first: 1 }));
    }

    #[test]
    fn a_unit_of_which_a_part_is_stored_counts_as_stored() {
        let stored = memory(16, EarlyLoads::Refused);
        assert!(!stored.may_load(at(4), 4));
        store(&stored, 8, 12);
        assert!(stored.may_load(at(0), 16) && !stored.may_load(at(12), 8));
        assert_eq!(stored.first_gap(at(12), 8), Some(4));
        assert_eq!(stored.first_gap(at(36), 4), Some(0));
        store(&stored, 39, 40);
        assert!(stored.may_load(at(36), 4) && !stored.may_load(at(0), 40));
    }

    #[test]
    fn bytes_without_a_value_do_not_replace_values_of_the_memory() {
        let (scratch, given) = (memory(1, EarlyLoads::Refused), memory(1, EarlyLoads::Noted));
        store(&scratch, 8, 20);
        assert_eq!(given.copy(at(0), 16, Some((&scratch, at(8)))), Err(12));
        assert!(given.state().ranges.is_empty());
        assert_eq!(given.copy(at(0), 12, Some((&scratch, at(8)))), Ok(()));
        assert_eq!(given.state().ranges, [(0, 12)]);
        // Values of its own are values.
        assert_eq!(scratch.copy(at(0), 40, Some((&given, at(0)))), Ok(()));
        assert_eq!(scratch.state().ranges, [(0, 40)]);
    }

    #[test]
    fn a_record_goes_back_to_a_state() {
        let stored = memory(2, EarlyLoads::Noted);
        let loaded_early = vec![(4, 10)];
        let ranges = vec![(0, 8), (12, 40), (8, 44)];
        stored.go_back(&StoredState { ranges, loaded_early: loaded_early.clone() });
        assert_eq!(stored.state(), StoredState { ranges: vec![(0, 8), (12, 40)], loaded_early });
    }

    #[test]
    fn of_memory_with_values_what_is_loaded_before_it_is_stored_is_an_input_and_no_more() {
        let stored = memory(4, EarlyLoads::Noted);
        store(&stored, 0, 4);
        assert!(stored.may_load(at(0), 4) && stored.state().loaded_early.is_empty());
        assert!(stored.may_load(at(0), 8));
        assert_eq!(stored.state().loaded_early, [(0, 8)]);
        assert_eq!(stored.missing(Unstored::Unused, 4), Some(Missing { elements: 8, first: 2 }));
        let every_second =
            |piece: &mut dyn FnMut(*const u8, usize)| (0..5).for_each(|i| piece(at(4 + 8 * i), 4));
        assert_eq!(
            stored.missing_in(Unstored::Unused, 4, every_second),
            Some(Missing { elements: 4, first: 1 })
        );
        assert_eq!(stored.missing(Unstored::Loaded, 4), Some(Missing { elements: 1, first: 1 }));
        assert_eq!(
            stored.missing_in(Unstored::Loaded, 4, every_second),
            Some(Missing { elements: 1, first: 0 })
        );
        store(&stored, 8, 40);
        assert_eq!(stored.missing(Unstored::Unused, 4), None);
        assert_eq!(stored.missing(Unstored::Loaded, 4), Some(Missing { elements: 1, first: 1 }));
        store(&stored, 4, 8);
        assert_eq!(stored.missing(Unstored::Loaded, 4), None);
        // What is loaded, and to which nothing is stored, is no output.
        stored.forget();
        assert!(stored.may_load(at(0), 40));
        assert_eq!(stored.missing(Unstored::Unused, 4), Some(Missing { elements: 10, first: 0 }));
        assert_eq!(stored.missing(Unstored::Loaded, 4), None);
    }
}
