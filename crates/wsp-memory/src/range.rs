//! Bytes of a buffer, which they keep.

use crate::address::{Address, Bytes};
use crate::buffer::Buffer;
use crate::stored::{EarlyLoads, Missing, Stored, Unstored};
use std::fmt;
use std::sync::Arc;
use wsp_core::words::counted;

/// Bytes of a buffer. A range of no bytes is possible and has an address.
#[derive(Clone)]
pub struct ByteRange {
    buffer: Arc<Buffer>,
    /// The first byte.
    at: Address,
    count: usize,
}

impl ByteRange {
    /// All bytes of a buffer.
    pub fn whole(buffer: Arc<Buffer>) -> ByteRange {
        let (at, count) = (buffer.at(), buffer.bytes());
        ByteRange { buffer, at, count }
    }

    /// `count` bytes of it from byte `first` on; none if it has fewer.
    #[inline]
    pub fn part(&self, first: usize, count: usize) -> Option<ByteRange> {
        let inside = first.checked_add(count).is_some_and(|end| end <= self.count);
        inside.then(|| {
            // SAFETY: so many bytes lie in the range.
            let at = Address::new(unsafe { self.ptr().add(first) });
            ByteRange { buffer: Arc::clone(&self.buffer), at, count }
        })
    }

    /// How many bytes it has.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Address of the first byte. What is done at it is to rest on the argument of [this crate](crate).
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        self.at.ptr()
    }

    /// The buffer that it lies in.
    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    /// Whether some byte belongs to both.
    pub fn overlaps(&self, other: &ByteRange) -> bool {
        let (one, two) = (self.ptr().addr(), other.ptr().addr());
        self.buffer.space() == other.buffer.space() && one < two + other.count && two < one + self.count
    }

    /// The same bytes, of which what tasks store is recorded from now on, in units of `unit` bytes: see [`Stored::new`]. Other
    /// ranges of the bytes do not have the record. None if the machine refuses the memory.
    pub fn recorded(self, unit: usize, early: EarlyLoads) -> Option<ByteRange> {
        let stored = Stored::new(self.ptr(), self.count, unit, early)?;
        Some(ByteRange::whole(Buffer::of(&self, Some(stored))))
    }

    /// The same bytes without the record of what tasks store, where there is one.
    #[must_use]
    pub fn unrecorded(self) -> ByteRange {
        if self.stored().is_none() { self } else { ByteRange::whole(Buffer::of(&self, None)) }
    }

    /// What tasks store to its buffer, in a run that records that.
    #[inline]
    pub fn stored(&self) -> Option<&Stored> {
        self.buffer.stored()
    }

    /// These of its elements, of `size` bytes, that no task has stored; none if there are none and where nothing is recorded.
    pub fn missing(&self, which: Unstored, size: usize) -> Option<Missing> {
        self.stored()?.missing_in(which, size, |piece| piece(self.ptr(), self.count))
    }

    /// The bytes as kernels of a run have them, with the record of what they store.
    ///
    /// # Safety
    /// The range or a clone of it is kept, and facts 2 and 3 of [the crate](crate) hold of every access, until the value, its
    /// copies and all that is made of them are dropped or used for the last time. What may not be written is not.
    #[inline]
    pub unsafe fn bytes(&self) -> Bytes {
        // SAFETY: the bytes lie in the buffer, which the range keeps with the record; the rest is the caller's promise.
        unsafe { Bytes::recorded(self.at, self.count, self.stored()) }
    }

    pub(crate) fn at(&self) -> Address {
        self.at
    }

    /// Bytes of it that begin elsewhere in it.
    ///
    /// # Safety
    /// `count` bytes lie at `at` in the buffer of the range.
    pub(crate) unsafe fn moved_to(&self, at: Address, count: usize) -> ByteRange {
        ByteRange { buffer: Arc::clone(&self.buffer), at, count }
    }

    /// As [`Buffer::alone`].
    pub(crate) fn alone(&mut self) -> Option<&mut Buffer> {
        Buffer::alone(&mut self.buffer)
    }

    /// Gives up the range for its buffer.
    pub(crate) fn into_buffer(self) -> Arc<Buffer> {
        self.buffer
    }
}

impl fmt::Debug for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:p}", counted(self.count, "byte"), self.at.ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_three_words() {
        assert_eq!(size_of::<ByteRange>(), 3 * size_of::<usize>());
    }

    #[test]
    fn a_part_lies_in_its_range_and_overlaps_what_shares_a_byte() {
        let all = ByteRange::whole(Buffer::zeros(8, 64).expect("it is small"));
        let part = all.part(2, 4).expect("it lies inside");
        assert_eq!((part.count(), part.ptr().addr() - all.ptr().addr()), (4, 2));
        assert!(part.part(1, 4).is_none() && part.part(usize::MAX, 1).is_none());
        assert_eq!(all.part(8, 0).expect("the end").count(), 0);
        assert!(part.overlaps(&all.part(5, 2).expect("it lies inside")));
        assert!(!part.overlaps(&all.part(6, 2).expect("it lies inside")));
    }

    #[test]
    fn a_range_is_shown_with_its_count_and_address() {
        let all = ByteRange::whole(Buffer::zeros(8, 64).expect("it is small"));
        for (count, says) in [(0, "0 bytes at "), (1, "1 byte at "), (8, "8 bytes at ")] {
            let part = all.part(0, count).expect("it lies inside");
            assert_eq!(format!("{part:?}"), format!("{says}{:p}", all.ptr()));
        }
    }

    #[test]
    fn parts_of_a_recorded_range_have_its_record() {
        let all = ByteRange::whole(Buffer::zeros(40, 64).expect("it is small"));
        let inside = all.part(8, 32).expect("it lies inside");
        let recorded = inside.recorded(4, EarlyLoads::Refused).expect("it is small");
        let part = recorded.part(8, 8).expect("it lies inside");
        part.stored().expect("it is recorded").store(part.ptr(), part.count());
        assert!(all.stored().is_none());
        assert_eq!(recorded.missing(Unstored::Unused, 4), Some(Missing { elements: 6, first: 0 }));
        assert_eq!(part.missing(Unstored::Unused, 4), None);
        // SAFETY: nothing reads or writes them.
        let bytes = unsafe { part.bytes() };
        assert!(bytes.stored().is_some_and(|stored| stored.may_load(part.ptr(), 8)));
        assert!(bytes.unrecorded().stored().is_none());
    }
}
