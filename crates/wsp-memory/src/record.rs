//! What is recorded of the elements of a view: which ones tasks store, and whether what they load was stored.

use crate::range::ByteRange;
use crate::stored::{EarlyLoads, Missing, Unstored};
use crate::view::View;
use wsp_core::Region;

impl View {
    /// The same elements, of which what tasks store is recorded from now on. Other views of them do not have the record.
    ///
    /// # Panics
    /// When the machine refuses the memory.
    #[must_use]
    pub fn recorded(self, early: EarlyLoads) -> View {
        // Every element begins at a multiple of the size from the first on.
        let unit = self.dtype().size();
        self.with_range(|range| {
            range.recorded(unit, early).expect("there should be memory for the record of a view")
        })
    }

    /// The same elements without the record of what tasks store, where there is one.
    #[must_use]
    pub fn unrecorded(self) -> View {
        self.with_range(ByteRange::unrecorded)
    }

    /// A task stores to a region.
    pub fn note_store(&self, region: &Region) {
        if let Some(stored) = self.range().stored() {
            self.runs(region, |offset, bytes| stored.store(self.ptr().wrapping_add(offset), bytes));
        }
    }

    /// A task loads from a region.
    ///
    /// # Errors
    /// No task has stored some elements of it, and they have no value: the number of the first of them in row-major order of the
    /// region.
    pub fn note_load(&self, region: &Region) -> Result<(), u64> {
        let Some(stored) = self.range().stored() else { return Ok(()) };
        let (mut before, mut missing, size) = (0, None, self.dtype().size());
        self.runs(region, |offset, bytes| {
            let at = self.ptr().wrapping_add(offset);
            if missing.is_none() && !stored.may_load(at, bytes) {
                missing = Some(before + stored.first_gap(at, bytes).map_or(0, |first| (first / size) as u64));
            }
            before += (bytes / size) as u64;
        });
        missing.map_or(Ok(()), Err)
    }

    /// These of the elements that no task has stored, in row-major order; none if there are none and where nothing is recorded.
    pub fn missing(&self, which: Unstored) -> Option<Missing> {
        // What lies between the elements does not count.
        self.range().stored()?.missing_in(which, self.dtype().size(), |piece| {
            self.runs(&self.whole(), |offset, bytes| piece(self.ptr().wrapping_add(offset), bytes));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use wsp_core::{DType, TensorId};

    /// Columns 1 and 3 of each row of a matrix of 3 rows and 5 columns.
    fn columns(early: EarlyLoads) -> View {
        let buffer = Buffer::zeros(60, 64).expect("it is small");
        View::new(buffer, 4, DType::U32, &[3, 2], &[20, 8]).expect("it lies inside").recorded(early)
    }

    fn region(lo: [u32; 2], hi: [u32; 2]) -> Region {
        Region::new(TensorId(0), &lo, &hi).expect("ranks agree")
    }

    #[test]
    fn elements_are_counted_and_what_lies_between_is_not() {
        let view = columns(EarlyLoads::Refused);
        assert_eq!(view.missing(Unstored::Unused), Some(Missing { elements: 6, first: 0 }));
        view.note_store(&region([0, 0], [2, 2]));
        assert_eq!(view.missing(Unstored::Unused), Some(Missing { elements: 2, first: 4 }));
        assert_eq!(view.note_load(&region([0, 1], [2, 2])), Ok(()));
        assert_eq!(view.note_load(&region([1, 1], [3, 2])), Err(1));
        let part = view.part(&region([2, 0], [3, 2])).expect("it lies inside");
        part.note_store(&part.whole());
        assert_eq!(view.missing(Unstored::Unused), None);
    }

    #[test]
    fn what_is_not_recorded_may_be_loaded() {
        let view = columns(EarlyLoads::Noted);
        assert_eq!(view.note_load(&view.whole()), Ok(()));
        let plain =
            View::dense(Buffer::zeros(8, 64).expect("it is small"), DType::U32, &[2]).expect("it fits");
        assert_eq!((plain.note_load(&plain.whole()), plain.missing(Unstored::Unused)), (Ok(()), None));
    }
}
