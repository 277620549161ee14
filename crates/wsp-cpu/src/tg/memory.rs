//! Memory of task graphs: the byte ranges of buffers that kernels are given.
//!
//! Of the three facts of [`wsp_memory`]: a session claims the arrays of its caller, and has the other buffers to itself. An access
//! is plain if it is a copy, a fill, or done by a compiled kernel through [`TensorRange::tensor_mem`] or
//! [`TensorRange::integers`], or by a kernel of the caller through [`TensorRange::ptr`]. Copies and fills are done by nodes of
//! a graph, which the graph orders with other users of their ranges, or while no kernel runs that is bound to the bytes.
//! Kernels of one graph whose ranges conflict are ordered by it, which the checker of races sees to before a run; blocks of one
//! kernel write different bytes, which is the contract of kernels. [`TensorRange::read`] and [`TensorRange::write`] are
//! atomic element by element: functions that break that contract see one or the other value of an element, and nothing worse.
//! Arrays of the caller share no memory that kernels write, and what may only be read none writes: both are refused before a run.
#![allow(
    unsafe_code,
    reason = "blocks on several threads read and write one buffer; the task graph orders conflicts"
)]

use std::ptr;
use wsp_core::DType;
use wsp_core::tg::{EvalFault, ScalarType, TensorNo};
use wsp_kernel::{IntArray, Layout, Series, TensorMem};
use wsp_memory::{Buffer, ByteRange, EarlyLoads, Stored, StoredState, View, load_units, store_units};

/// Bytes of a buffer that a session has. A range of no bytes is possible and has an address.
#[derive(Clone, Debug)]
pub struct TensorRange(ByteRange);

impl TensorRange {
    /// Fresh memory of zeros; none if the machine refuses it or `alignment` is no power of two.
    pub(crate) fn zeros(bytes: u64, alignment: u32) -> Option<TensorRange> {
        let buffer = Buffer::zeros(usize::try_from(bytes).ok()?, alignment as usize)?;
        Some(TensorRange(ByteRange::whole(buffer)))
    }

    /// The elements of an array of the caller, which lie in row-major order without gaps.
    pub(crate) fn of_view(view: &View) -> TensorRange {
        assert!(view.is_dense(), "an array with gaps should be refused");
        TensorRange(view.range().clone())
    }

    /// The same bytes, of which what is stored is recorded from now on, in units of `unit` bytes; none if the machine refuses the memory.
    pub(crate) fn recorded(self, unit: usize, early: EarlyLoads) -> Option<TensorRange> {
        self.0.recorded(unit, early).map(TensorRange)
    }

    /// What is stored to its memory, in a session that records that.
    #[inline]
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.0.stored()
    }

    /// Whether all of it was stored, or has values of its own; also where that is not recorded.
    fn may_load(&self) -> bool {
        self.stored().is_none_or(|stored| stored.may_load(self.ptr(), self.0.count()))
    }

    /// All of it is stored by what is not looked into.
    pub(crate) fn note_store(&self) {
        if let Some(stored) = self.stored() {
            stored.store(self.ptr(), self.0.count());
        }
    }

    /// Fresh memory with these bytes; none if the machine refuses it.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<TensorRange> {
        let range = TensorRange::zeros(bytes.len() as u64, 1)?;
        range.fill_from(bytes);
        Some(range)
    }

    /// `bytes` bytes of it from `at` on; none if it has fewer.
    pub fn part(&self, at: u64, bytes: u64) -> Option<TensorRange> {
        self.0.part(usize::try_from(at).ok()?, usize::try_from(bytes).ok()?).map(TensorRange)
    }

    /// How many bytes it has.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.0.count() as u64
    }

    /// Address of the first byte, for a kernel of the caller. Valid as long as the range or a clone of it; to be used while
    /// the kernel's block runs, as the direction of its argument allows.
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        self.0.ptr()
    }

    /// Whether some byte belongs to both.
    pub(crate) fn overlaps(&self, other: &TensorRange) -> bool {
        self.0.overlaps(&other.0)
    }

    /// Copies bytes from `at` on into `into`, atomically in units of `unit` bytes where these are aligned.
    ///
    /// # Panics
    /// When the range has fewer bytes.
    #[inline]
    pub(crate) fn read(&self, at: usize, unit: usize, into: &mut [u8]) {
        assert!(
            at.checked_add(into.len()).is_some_and(|end| end <= self.0.count()),
            "a read should lie in its range"
        );
        // SAFETY: `at` lies in the range, or is its end.
        let from = unsafe { self.ptr().add(at) };
        if let Some(stored) = self.stored() {
            // What the caller's kernels find where nothing was stored is theirs to know.
            let _ = stored.may_load(from, into.len());
        }
        // SAFETY: the bytes lie in the range, and are accessed as the argument above says.
        unsafe { load_units(from, unit, into) };
    }

    /// Replaces bytes from `at` on by `from`, atomically in units of `unit` bytes where these are aligned.
    ///
    /// # Panics
    /// When the range has fewer bytes.
    #[inline]
    pub(crate) fn write(&self, at: usize, unit: usize, from: &[u8]) {
        assert!(
            at.checked_add(from.len()).is_some_and(|end| end <= self.0.count()),
            "a write should lie in its range"
        );
        // SAFETY: `at` lies in the range, or is its end.
        let to = unsafe { self.ptr().add(at) };
        if let Some(stored) = self.stored() {
            stored.store(to, from.len());
        }
        // SAFETY: as in `read`; what may not be written, no kernel writes.
        unsafe { store_units(to, unit, from) };
    }

    /// The scalar at byte `offset`; `tensor` is what faults call the range.
    ///
    /// # Errors
    /// It does not lie in the range, nothing has stored it, where that is recorded, or it does not fit an `i64`.
    pub(crate) fn scalar(&self, tensor: TensorNo, offset: i64, ty: ScalarType) -> Result<i64, EvalFault> {
        let size = ty.size() as usize;
        let at = usize::try_from(offset).ok();
        let inside = at.filter(|at| at.checked_add(size).is_some_and(|end| end <= self.0.count()));
        let may_load = |at: &usize| self.part(*at as u64, size as u64).is_some_and(|part| part.may_load());
        let at = inside.filter(may_load).ok_or(EvalFault::Load { tensor, offset, ty })?;
        let mut bytes = [0u8; 8];
        self.read(at, size, &mut bytes[..size]);
        let word = u64::from_le_bytes(bytes);
        match ty {
            ScalarType::U8 | ScalarType::U32 => Ok(word as i64),
            ScalarType::I32 => Ok(i64::from(word as u32 as i32)),
            ScalarType::U64 => {
                i64::try_from(word).map_err(|_| EvalFault::Large { tensor, offset, value: word })
            }
            ScalarType::I64 => Ok(word as i64),
        }
    }

    /// A copy of the bytes; to be called while nobody writes them.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        // SAFETY: the bytes are initialised and the buffer is alive; by the argument above nobody writes them now.
        unsafe { std::slice::from_raw_parts(self.ptr(), self.0.count()) }.to_vec()
    }

    /// Replaces all bytes.
    ///
    /// # Panics
    /// When `from` has another number of bytes.
    pub(crate) fn fill_from(&self, from: &[u8]) {
        self.note_store();
        self.put(from);
    }

    /// Replaces all bytes, and leaves open which of them are stored.
    ///
    /// # Panics
    /// When `from` has another number of bytes.
    pub(crate) fn put(&self, from: &[u8]) {
        assert_eq!(from.len(), self.0.count(), "a range should be filled with as many bytes as it has");
        // SAFETY: as many bytes lie in the range; `from` is another piece of memory, since no reference to a buffer's bytes
        // leaves this module; by the argument above nobody looks at the range now.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.ptr(), self.0.count()) };
    }

    /// Replaces all bytes by those of a checkpoint; none stands for zeros. What was stored to them then is stored, and no more;
    /// all is where the checkpoint does not say.
    ///
    /// # Panics
    /// When `from` has bytes, and not as many.
    pub(crate) fn go_back(&self, from: &[u8], state: Option<&StoredState>) {
        match from {
            [] => self.fill(0),
            from => self.fill_from(from),
        }
        match (self.stored(), state) {
            (Some(stored), Some(state)) => stored.go_back(state),
            _ => self.note_store(),
        }
    }

    /// Sets every byte. What is recorded is that no byte has a value then.
    pub(crate) fn fill(&self, byte: u8) {
        if let Some(stored) = self.stored() {
            stored.erase(self.ptr(), self.0.count());
        }
        // SAFETY: the bytes lie in the buffer, which is alive; by the argument above nobody looks at them now.
        unsafe { self.ptr().write_bytes(byte, self.0.count()) };
    }

    /// Copies the bytes of `from`, which has as many and may overlap.
    ///
    /// # Errors
    /// The memory has values of its own, as memory has of which nothing is recorded, and `from` bytes that nothing has stored: the number of the first of them
    /// in `from`.
    ///
    /// # Panics
    /// When it has another number of bytes.
    pub(crate) fn copy_from(&self, from: &TensorRange) -> Result<(), usize> {
        assert_eq!(from.0.count(), self.0.count(), "a copy should have two ends of one size");
        let (count, source) = (self.0.count(), from.ptr().cast_const());
        match (self.stored(), from.stored()) {
            (Some(stored), of) => stored.copy(self.ptr(), count, of.map(|of| (of, source)))?,
            (None, Some(of)) if !of.may_load(source, count) => {
                return Err(of.first_gap(source, count).unwrap_or(0));
            }
            (None, _) => {}
        }
        // SAFETY: both ranges have as many bytes in buffers that are alive; by the argument above nobody else uses them
        // now.
        unsafe { ptr::copy(from.ptr(), self.ptr(), self.0.count()) };
        Ok(())
    }

    /// The range as an array of a compiled kernel. It is to be used while a clone of the range is kept, and by blocks of the
    /// kernel that the range is bound to.
    pub(crate) fn tensor_mem(&self, dtype: DType, layout: Layout) -> TensorMem {
        // SAFETY: the array's maker keeps the range; accesses are as the argument above says.
        TensorMem::new(unsafe { self.0.bytes() }, dtype, layout)
    }

    /// The range as a list of integers of a compiled kernel; none for real numbers. To be used as
    /// [`tensor_mem`](Self::tensor_mem).
    pub(crate) fn integers(&self, dtype: DType) -> Option<IntArray> {
        // SAFETY: as in `tensor_mem`.
        let bytes = unsafe { self.0.bytes() };
        let stride = dtype.size();
        TensorMem::integers(bytes, dtype, Series { count: bytes.count() / stride, stride })
            .map(IntArray::View)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reaches_its_bytes_and_nothing_else() {
        let range = TensorRange::of_bytes(&[1, 2, 3, 4, 5, 6, 7, 8]).expect("it is small");
        let part = range.part(2, 4).expect("it lies inside");
        assert_eq!(part.to_vec(), [3, 4, 5, 6]);
        assert_eq!(part.part(1, 3).expect("it lies inside").to_vec(), [4, 5, 6]);
        assert!(part.part(1, 4).is_none());
        assert!(part.part(u64::MAX, 1).is_none());
        assert_eq!(range.part(8, 0).expect("the end").bytes(), 0u64);
        part.fill(9);
        assert_eq!(range.to_vec(), [1, 2, 9, 9, 9, 9, 7, 8]);
        assert!(part.overlaps(&range.part(5, 2).expect("it lies inside")));
        assert!(!part.overlaps(&range.part(6, 2).expect("it lies inside")));
    }

    #[test]
    fn scalars_have_their_sign_and_their_bounds() {
        let range = TensorRange::of_bytes(&[0xff; 8]).expect("it is small");
        let tensor = TensorNo(3);
        let scalar = |offset, ty| range.scalar(tensor, offset, ty);
        assert_eq!(scalar(0, ScalarType::U8), Ok(255));
        assert_eq!(scalar(7, ScalarType::U8), Ok(255));
        assert_eq!(scalar(4, ScalarType::U32), Ok(u32::MAX.into()));
        assert_eq!(scalar(4, ScalarType::I32), Ok(-1));
        assert_eq!(scalar(0, ScalarType::I64), Ok(-1));
        let large = EvalFault::Large { tensor, offset: 0, value: u64::MAX };
        assert_eq!(scalar(0, ScalarType::U64), Err(large));
        for (offset, ty) in [
            (5, ScalarType::U32),
            (8, ScalarType::U8),
            (1, ScalarType::U64),
            (-1, ScalarType::U8),
            (i64::MAX, ScalarType::I64),
        ] {
            assert_eq!(scalar(offset, ty), Err(EvalFault::Load { tensor, offset, ty }));
        }
        let largest = TensorRange::of_bytes(&i64::MAX.to_le_bytes()).expect("it is small");
        assert_eq!(largest.scalar(tensor, 0, ScalarType::U64), Ok(i64::MAX));
    }
}
