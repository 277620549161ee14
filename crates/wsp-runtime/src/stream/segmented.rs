//! An array that grows without moving, so that workers can read it while the planner extends it.

use std::sync::OnceLock;

/// Segments double in size, so this many reach any `u32` index.
const SEGMENTS: usize = 32;

/// Grown by one thread, read by all.
///
/// # Protocol
/// Segment `k` holds `1 << FIRST_LOG2 + k` items and is published once through its [`OnceLock`]; it never moves nor shrinks. A
/// thread learns an index only from a thread that saw its segment published, so a lookup never finds one missing.
pub(crate) struct Segmented<T, const FIRST_LOG2: u32> {
    segments: [OnceLock<Box<[T]>>; SEGMENTS],
}

impl<T: Default, const FIRST_LOG2: u32> Segmented<T, FIRST_LOG2> {
    /// An empty array.
    pub(crate) fn new() -> Self {
        Segmented { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// Adds the segment after the `len` items there are, and returns the new length.
    pub(crate) fn grow(&self, len: u32) -> u32 {
        let (segment, offset) = Self::locate(len);
        debug_assert_eq!(offset, 0, "only whole segments are added");
        let items = 1u32 << (FIRST_LOG2 + segment as u32);
        self.segments[segment].get_or_init(|| (0..items).map(|_| T::default()).collect());
        len + items
    }
}

impl<T, const FIRST_LOG2: u32> Segmented<T, FIRST_LOG2> {
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &T {
        let (segment, offset) = Self::locate(index);
        &self.segments[segment].get().expect("an index should be known only after its segment")[offset]
    }

    #[inline(always)]
    fn locate(index: u32) -> (usize, usize) {
        let from_one = u64::from(index) + (1 << FIRST_LOG2);
        let log2 = from_one.ilog2();
        ((log2 - FIRST_LOG2) as usize, (from_one ^ 1 << log2) as usize)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn items_keep_their_place_while_the_array_grows() {
        let array: Segmented<AtomicU32, 2> = Segmented::new();
        let mut len = 0;
        for expected in [4, 12, 28, 60] {
            let next = array.grow(len);
            assert_eq!(next, expected);
            (len..next).for_each(|i| array.get(i).store(i, Ordering::Relaxed));
            len = next;
        }
        assert!((0..len).all(|i| array.get(i).load(Ordering::Relaxed) == i));
    }
}
