//! Reading and writing elements. Every block of `unsafe` code rests on the argument of the crate.

use crate::buffer::{Space, ViewAccess};
use crate::view::View;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use wsp_core::Region;

/// Why no run can use a view so, alone or beside others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// The host does not reach its elements by address.
    Elsewhere(Space),
    /// They may not be written.
    ReadOnly,
    /// Some of them share bytes, and they are to be written.
    Folded,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Elsewhere(space) => write!(f, "its elements are on {space}"),
            Unusable::ReadOnly => f.write_str("its elements may only be read"),
            Unusable::Folded => f.write_str("its elements share memory with each other"),
        }
    }
}

impl std::error::Error for Unusable {}

impl View {
    /// Whether a run on the host can read the elements, and write them if that is asked for.
    ///
    /// # Errors
    /// They are not in the memory of the host; or they are to be written, and may only be read, or share bytes with each other.
    pub fn usable(&self, written: bool) -> Result<(), Unusable> {
        match self.space() {
            Space::Host if written && self.access() == ViewAccess::ReadOnly => Err(Unusable::ReadOnly),
            Space::Host if written && self.shares_with_itself() => Err(Unusable::Folded),
            Space::Host => Ok(()),
            elsewhere @ Space::Device(_) => Err(Unusable::Elsewhere(elsewhere)),
        }
    }

    /// Appends the elements of a region in row-major order.
    ///
    /// # Safety
    /// Facts 2 and 3 of [the crate](crate) hold of this access, and the view is in the memory of the host.
    pub unsafe fn read(&self, region: &Region, into: &mut Vec<u8>) {
        into.reserve(self.region_bytes(region));
        self.runs(region, |offset, bytes| {
            // SAFETY: `runs` yields ranges inside of the view, which are initialised; nothing writes them now.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(self.ptr().add(offset), bytes) });
        });
    }

    /// Replaces the elements of a region.
    ///
    /// # Panics
    /// When `from` has not as many bytes as they.
    ///
    /// # Safety
    /// As for [`read`](Self::read), and the view may be written.
    pub unsafe fn write(&self, region: &Region, from: &[u8]) {
        assert_eq!(from.len(), self.region_bytes(region), "a store should have the size of its region");
        let mut at = 0;
        self.runs(region, |offset, bytes| {
            let part = &from[at..at + bytes];
            // SAFETY: `runs` yields ranges inside of the view; nothing else uses them now.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), self.ptr().add(offset), bytes) };
            at += bytes;
        });
    }

    /// Sets every byte of every element to zero.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    pub unsafe fn clear(&self) {
        self.runs(&self.whole(), |offset, bytes| {
            // SAFETY: as in `write`.
            unsafe { self.ptr().add(offset).write_bytes(0, bytes) };
        });
    }
}

/// Copies bytes from `from` on into `into`, atomically in units of `unit` bytes where these are aligned.
///
/// # Safety
/// The bytes lie in a buffer of the host that is kept, and facts 2 and 3 of [the crate](crate) hold of this access, where
/// calls of this function and of [`store_units`] may meet.
#[inline]
pub unsafe fn load_units(from: *mut u8, unit: usize, into: &mut [u8]) {
    let whole = from.addr() | into.len();
    macro_rules! units {
        ($atomic:ty, $size:literal) => {
            for (i, to) in into.chunks_exact_mut($size).enumerate() {
                // SAFETY: the unit lies among the bytes and is aligned; it is not written plainly now.
                let unit = unsafe { <$atomic>::from_ptr(from.add(i * $size).cast()) };
                to.copy_from_slice(&unit.load(Ordering::Relaxed).to_ne_bytes());
            }
        };
    }
    match unit {
        8 if whole.is_multiple_of(8) => units!(AtomicU64, 8),
        4 if whole.is_multiple_of(4) => units!(AtomicU32, 4),
        2 if whole.is_multiple_of(2) => units!(AtomicU16, 2),
        _ => units!(AtomicU8, 1),
    }
}

/// Replaces bytes from `to` on by `from`, atomically in units of `unit` bytes where these are aligned.
///
/// # Safety
/// As for [`load_units`], and the buffer may be written.
#[inline]
pub unsafe fn store_units(to: *mut u8, unit: usize, from: &[u8]) {
    let whole = to.addr() | from.len();
    macro_rules! units {
        ($atomic:ty, $int:ty, $size:literal) => {
            for (i, value) in from.chunks_exact($size).enumerate() {
                let value = <$int>::from_ne_bytes(value.try_into().expect("a chunk should have its size"));
                // SAFETY: the unit lies among the bytes and is aligned; it is not accessed plainly now.
                unsafe { <$atomic>::from_ptr(to.add(i * $size).cast()) }.store(value, Ordering::Relaxed);
            }
        };
    }
    match unit {
        8 if whole.is_multiple_of(8) => units!(AtomicU64, u64, 8),
        4 if whole.is_multiple_of(4) => units!(AtomicU32, u32, 4),
        2 if whole.is_multiple_of(2) => units!(AtomicU16, u16, 2),
        _ => units!(AtomicU8, u8, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use wsp_core::{DType, TensorId};

    fn counting(dims: &[u64], strides: &[i64]) -> View {
        let bytes = View::span_of(DType::U32, dims, strides).expect("it is small");
        let buffer = Buffer::zeros(bytes, 64).expect("it is small");
        let all = View::dense(buffer.clone(), DType::U32, &[bytes as u64 / 4]).expect("it fits");
        let counted: Vec<u8> = (0..bytes as u32 / 4).flat_map(u32::to_ne_bytes).collect();
        // SAFETY: nothing else has the buffer.
        unsafe { all.write(&all.whole(), &counted) };
        View::new(buffer, 0, DType::U32, dims, strides).expect("it fits")
    }

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect()
    }

    fn load(view: &View, lo: &[u32], hi: &[u32]) -> Vec<u32> {
        let mut bytes = Vec::new();
        // SAFETY: nothing else has the buffer.
        unsafe { view.read(&Region::new(TensorId(0), lo, hi).expect("ranks agree"), &mut bytes) };
        words(&bytes)
    }

    #[test]
    fn a_region_is_read_in_row_major_order() {
        let view = counting(&[3, 4, 5], &[80, 20, 4]);
        assert_eq!(load(&view, &[1, 1, 2], &[3, 3, 4]), [27, 28, 32, 33, 47, 48, 52, 53]);
        assert_eq!(load(&view, &[2, 3, 4], &[3, 4, 5]), [59]);
        assert!(load(&view, &[1, 1, 2], &[1, 3, 4]).is_empty());
        assert_eq!(load(&counting(&[], &[]), &[], &[]), [0]);
    }

    #[test]
    fn elements_that_follow_each_other_are_one_run() {
        let runs = |view: &View, lo: &[u32], hi: &[u32]| {
            let mut runs = Vec::new();
            view.runs(&Region::new(TensorId(0), lo, hi).expect("ranks agree"), |offset, bytes| {
                runs.push((offset, bytes));
            });
            runs
        };
        let dense = counting(&[3, 4, 5], &[80, 20, 4]);
        assert_eq!(runs(&dense, &[0, 0, 0], &[3, 4, 5]), [(0, 240)]);
        assert_eq!(runs(&dense, &[1, 0, 0], &[3, 4, 5]), [(80, 160)]);
        assert_eq!(runs(&dense, &[0, 1, 0], &[2, 3, 5]), [(20, 40), (100, 40)]);
        assert_eq!(runs(&dense, &[0, 2, 1], &[3, 3, 2]), [(44, 4), (124, 4), (204, 4)]);
        assert_eq!(runs(&counting(&[2, 3], &[16, 4]), &[0, 0], &[2, 3]), [(0, 12), (16, 12)]);
        assert_eq!(runs(&counting(&[2, 3], &[0, 4]), &[0, 0], &[2, 3]), [(0, 12), (0, 12)]);
        assert_eq!(runs(&counting(&[], &[]), &[], &[]), [(0, 4)]);
    }

    #[test]
    fn elements_that_lie_apart_are_found_one_by_one() {
        let view = counting(&[3, 2], &[20, 8]);
        assert_eq!(load(&view, &[0, 0], &[3, 2]), [0, 2, 5, 7, 10, 12]);
        assert_eq!(load(&view, &[1, 1], &[3, 2]), [7, 12]);
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_changes() {
        let view = counting(&[4, 4], &[16, 4]);
        let region = Region::new(TensorId(0), &[1, 2], &[3, 4]).expect("ranks agree");
        let bytes: Vec<u8> = [100u32, 101, 102, 103].iter().flat_map(|v| v.to_ne_bytes()).collect();
        // SAFETY: nothing else has the buffer.
        unsafe { view.write(&region, &bytes) };
        let all = [0, 1, 2, 3, 4, 5, 100, 101, 8, 9, 102, 103, 12, 13, 14, 15];
        assert_eq!(load(&view, &[0, 0], &[4, 4]), all);
        let part = view.part(&region).expect("it lies inside");
        // SAFETY: as above.
        unsafe { part.clear() };
        assert_eq!(load(&view, &[1, 0], &[3, 4]), [4, 5, 0, 0, 8, 9, 0, 0]);
    }

    #[test]
    fn units_are_loaded_and_stored_at_any_offset() {
        let buffer = Buffer::zeros(64, 64).expect("it is small");
        let view = View::dense(buffer, DType::U8, &[64]).expect("it fits");
        for unit in [1, 2, 4, 8] {
            for at in [0, 1, 4, 8, 13] {
                let value: Vec<u8> = (0..16).map(|i| i * 3 + at as u8 + unit as u8).collect();
                let mut back = [0; 16];
                // SAFETY: the bytes lie in the buffer, which nothing else has.
                unsafe {
                    store_units(view.ptr().add(at), unit, &value);
                    load_units(view.ptr().add(at), unit, &mut back);
                }
                assert_eq!(back[..], value[..], "unit {unit} at {at}");
            }
        }
    }

    #[test]
    fn what_no_run_can_use_is_told_apart() {
        let view = counting(&[2, 2], &[8, 4]);
        assert_eq!((view.usable(true), view.clone().read_only().usable(false)), (Ok(()), Ok(())));
        assert_eq!(view.read_only().usable(true), Err(Unusable::ReadOnly));
        let folded = counting(&[2, 2], &[0, 4]);
        assert_eq!((folded.usable(true), folded.usable(false)), (Err(Unusable::Folded), Ok(())));
    }
}
