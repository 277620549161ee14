//! The tensors of declared kernels: memory that tasks read and write by boxes.
//!
//! **Invariant:** of two accesses to boxes that overlap, one of them a write, the first has ended before the second begins. An
//! access is a call of `load`, `store`, `peek` or `poke`, the run of a kernel that is bound to the box by `bind`, `integers` or `view`, or
//! setting a tensor up while no task runs. Only tasks of a run access tensors otherwise, each its own boxes, and the run orders
//! tasks whose boxes conflict: dependences are inferred from these boxes, or, where a schedule states them, checked against
//! these boxes before the run. A source that reads a slot has waited for the tasks that write it. Different tensors have
//! different memory unless no task writes either: what shares memory is refused before the run.
#![allow(
    unsafe_code,
    reason = "tasks on several threads read and write one array; the task graph orders conflicts"
)]

use super::array_view::{ArrayView, Owner};
use super::codes;
use crate::unravel;
use std::ptr;
use std::sync::Arc;
use wsp_core::{DType, MAX_RANK, Region, TensorId};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::AccessMode;
use wsp_kernel::{EarlyLoads, IntArray, IntView, Layout, Missing, Stored, TensorMem, Unstored};
use wsp_plan::{Array, ArrayError};

/// One tensor.
#[derive(Debug)]
pub(crate) struct SharedTensor {
    memory: Memory,
    base: *mut u8,
    rank: usize,
    /// Extents; 1 along the dimensions that it lacks, as in boxes.
    dims: [u32; MAX_RANK],
    /// Bytes from one index to the next, per dimension.
    strides: [usize; MAX_RANK],
    dtype: DType,
    /// What tasks store to it, in a run that records that.
    stored: Option<Arc<Stored>>,
}

/// Owns the bytes; not looked at while a run goes on.
#[derive(Debug)]
enum Memory {
    Own(Arc<Array>),
    Caller(ArrayView),
}

// SAFETY: the bytes are reached as the module's invariant says only.
unsafe impl Send for SharedTensor {}
// SAFETY: as above.
unsafe impl Sync for SharedTensor {}

/// A task loads an element that no task has stored, of a tensor that begins with none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NeverStored {
    pub(crate) tensor: TensorId,
    /// The first such element.
    pub(crate) index: Vec<u64>,
}

/// The memory of a box, as a kernel of the caller sees it. It may be used until the kernel's task ends.
#[derive(Clone, Debug)]
pub struct KernelView {
    /// The first element of the box.
    pub ptr: *mut u8,
    /// Type of the elements, which need not be aligned.
    pub dtype: DType,
    /// Extents of the box, outermost dimension first.
    pub dims: Vec<usize>,
    /// Bytes from one element to the next, per dimension.
    pub strides: Vec<isize>,
    /// Whether the task may write the elements.
    pub writable: bool,
    /// Keeps the memory from going away, also after the task.
    pub owner: Owner,
}

impl SharedTensor {
    /// A tensor of zeros.
    pub(crate) fn zeros(name: &str, dtype: DType, dims: &[u32]) -> Result<SharedTensor, Diagnostic> {
        Ok(SharedTensor::new(allocate(name, dtype, dims)?, dims))
    }

    /// A copy of an array of the launch, which has these extents.
    pub(crate) fn copy_of(name: &str, given: &Array, dims: &[u32]) -> Result<SharedTensor, Diagnostic> {
        let mut array = allocate(name, given.dtype(), dims)?;
        array.bytes_mut().copy_from_slice(given.bytes());
        Ok(SharedTensor::new(array, dims))
    }

    /// An array of the caller, which has these extents.
    pub(crate) fn of_view(view: ArrayView, dims: &[u32]) -> SharedTensor {
        let (base, strides, dtype) = (view.ptr(), view.strides().to_vec(), view.dtype());
        SharedTensor::laid_out(Memory::Caller(view), base, dims, &strides, dtype)
    }

    fn new(mut array: Array, dims: &[u32]) -> SharedTensor {
        let dtype = array.dtype();
        let base = array.bytes_mut().as_mut_ptr();
        let mut strides = vec![dtype.size(); dims.len()];
        for d in (1..dims.len()).rev() {
            strides[d - 1] = strides[d] * dims[d] as usize;
        }
        SharedTensor::laid_out(Memory::Own(Arc::new(array)), base, dims, &strides, dtype)
    }

    fn laid_out(
        memory: Memory,
        base: *mut u8,
        dims: &[u32],
        strides: &[usize],
        dtype: DType,
    ) -> SharedTensor {
        let mut tensor = SharedTensor {
            memory,
            base,
            rank: dims.len(),
            dims: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            dtype,
            stored: None,
        };
        tensor.dims[..dims.len()].copy_from_slice(dims);
        tensor.strides[..strides.len()].copy_from_slice(strides);
        tensor
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// From now on, what tasks store to it is recorded.
    pub(crate) fn record(&mut self, early: EarlyLoads) {
        let (base, bytes) = self.extent(&self.whole());
        let size = self.dtype.size();
        let apart = self.strides.iter().all(|stride| stride.is_multiple_of(size));
        self.stored = Some(Arc::new(Stored::new(base, bytes, if apart { size } else { 1 }, early)));
    }

    /// What tasks store to it, in a run that records that.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.stored.as_deref()
    }

    /// These of the elements that no task has stored, in row-major order; none if there are none and where nothing is recorded.
    pub(crate) fn missing(&self, which: Unstored) -> Option<Missing> {
        let stored = self.stored.as_deref()?;
        let each = |piece: &mut dyn FnMut(*const u8, usize)| {
            self.runs(&self.whole(), |offset, bytes| piece(self.base.wrapping_add(offset), bytes));
        };
        stored.missing_in(which, self.dtype.size(), each)
    }

    /// A task stores to a box.
    fn note_store(&self, region: &Region) {
        if let Some(stored) = &self.stored {
            self.runs(region, |offset, bytes| stored.store(self.base.wrapping_add(offset), bytes));
        }
    }

    /// A task loads from a box.
    fn note_load(&self, region: &Region) -> Result<(), NeverStored> {
        let Some(stored) = &self.stored else { return Ok(()) };
        let (mut before, mut missing) = (0, None);
        self.runs(region, |offset, bytes| {
            let (at, size) = (self.base.wrapping_add(offset), self.dtype.size());
            if missing.is_none() && !stored.may_load(at, bytes) {
                missing = Some(before + stored.first_gap(at, bytes).map_or(0, |first| (first / size) as u64));
            }
            before += (bytes / size) as u64;
        });
        missing.map_or(Ok(()), |first| {
            Err(NeverStored { tensor: region.tensor, index: self.index(region, first) })
        })
    }

    /// The index of element number `at` of a box, in row-major order.
    fn index(&self, region: &Region, at: u64) -> Vec<u64> {
        let extents: Vec<u64> = extents(region).take(self.rank).map(|n| n as u64).collect();
        unravel(at, &extents).into_iter().zip(region.lo).map(|(i, lo)| i + u64::from(lo)).collect()
    }

    /// Shape, for people.
    pub(crate) fn shape(&self) -> Vec<u64> {
        self.dims[..self.rank].iter().map(|&n| u64::from(n)).collect()
    }

    /// The array of the caller that it is, if it is one.
    pub(crate) fn caller(&self) -> Option<&ArrayView> {
        match &self.memory {
            Memory::Own(_) => None,
            Memory::Caller(view) => Some(view),
        }
    }

    /// The array, when no run goes on; none for one of the caller.
    pub(crate) fn into_array(self) -> Option<Array> {
        match self.memory {
            // A kernel of the caller may have kept the owner.
            Memory::Own(array) => Some(Arc::unwrap_or_clone(array)),
            Memory::Caller(_) => None,
        }
    }

    /// A copy of the elements, when no run goes on.
    pub(crate) fn to_array(&self) -> Result<Array, ArrayError> {
        let mut array = Array::zeros(self.dtype, &self.shape())?;
        let mut at = 0;
        self.runs(&self.whole(), |offset, bytes| {
            let to = &mut array.bytes_mut()[at..at + bytes];
            // SAFETY: `runs` yields ranges inside the array, which nobody writes now.
            unsafe { ptr::copy_nonoverlapping(self.base.add(offset), to.as_mut_ptr(), bytes) };
            at += bytes;
        });
        Ok(array)
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&self) {
        self.runs(&self.whole(), |offset, bytes| {
            // SAFETY: `runs` yields ranges inside the array, and by the module's invariant nobody looks at them now.
            unsafe { self.base.add(offset).write_bytes(0, bytes) };
        });
    }

    /// The box of all elements; of tensor 0, which no caller looks at.
    pub(crate) fn whole(&self) -> Region {
        let lo = [0; MAX_RANK];
        Region { tensor: TensorId(0), lo, hi: self.dims }
    }

    /// Bytes that a box has. The box must lie in the tensor.
    pub(crate) fn box_bytes(&self, region: &Region) -> usize {
        self.dtype.size() * extents(region).product::<usize>()
    }

    /// Number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Appends the box's bytes in row-major order.
    pub(crate) fn load(&self, region: &Region, into: &mut Vec<u8>) -> Result<(), NeverStored> {
        self.note_load(region)?;
        self.peek(region, into);
        Ok(())
    }

    /// [`load`](Self::load) of no task, which is not recorded.
    pub(crate) fn peek(&self, region: &Region, into: &mut Vec<u8>) {
        into.reserve(self.box_bytes(region));
        self.runs(region, |offset, bytes| {
            // SAFETY: `runs` yields ranges inside the array, and by the module's invariant nobody writes them now.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(self.base.add(offset), bytes) });
        });
    }

    /// Replaces the box's bytes; `from` has exactly [`box_bytes`](Self::box_bytes).
    pub(crate) fn store(&self, region: &Region, from: &[u8]) {
        self.note_store(region);
        self.poke(region, from);
    }

    /// [`store`](Self::store) of no task, which is not recorded.
    pub(crate) fn poke(&self, region: &Region, from: &[u8]) {
        assert_eq!(from.len(), self.box_bytes(region), "a store should have the size of its box");
        let mut at = 0;
        self.runs(region, |offset, bytes| {
            let part = &from[at..at + bytes];
            // SAFETY: `runs` yields ranges inside the array, and by the module's invariant nobody else looks at them now.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), self.base.add(offset), bytes) };
            at += bytes;
        });
    }

    /// Memory for a view of a compiled kernel with these dimensions, to be bound to a box before the kernel runs.
    pub(crate) fn unbound(dtype: DType, rank: usize) -> TensorMem {
        let layout = Layout::Strided { dims: vec![0; rank], strides: vec![0; rank] };
        // SAFETY: no byte belongs to the array.
        unsafe { TensorMem::new(ptr::null_mut(), 0, dtype, layout) }
    }

    /// An array of no integers, for a view that is not bound yet; none for real numbers.
    pub(crate) fn no_integers(dtype: DType) -> Option<IntArray> {
        // SAFETY: there are no elements.
        unsafe { IntView::new(ptr::null(), 0, dtype.size(), dtype) }.map(IntArray::View)
    }

    /// Binds a view of a compiled kernel to a box, of which it keeps these dimensions. The view ends where the box does, and
    /// is used until its kernel's task ends.
    pub(crate) fn bind(&self, region: &Region, keep: &[u8], view: &mut TensorMem) {
        let (ptr, bytes) = self.extent(region);
        let size = self.dtype.size() as u64;
        let kept = keep.iter().map(|&d| usize::from(d));
        let kept = kept.map(|d| (region.hi[d] - region.lo[d], self.strides[d] as u64 / size));
        // SAFETY: the bytes lie in the array, which outlives the run; tasks use them as the module's invariant says.
        unsafe { view.place(ptr, bytes, kept) };
        view.record(self.stored.clone());
    }

    /// Binds a view that was last bound to a box of this tensor with these extents to another one, if that has the same.
    #[inline]
    pub(crate) fn bind_like(&self, region: &Region, extents: &[u32; MAX_RANK], view: &mut TensorMem) -> bool {
        let (mut inside, mut same, mut first) = (true, true, 0usize);
        for (d, extent) in extents.iter().enumerate().take(self.rank) {
            let (lo, hi) = (region.lo[d], region.hi[d]);
            inside &= lo <= hi && hi <= self.dims[d];
            same &= hi.wrapping_sub(lo) == *extent;
            // What wraps belongs to a box that does not lie in the tensor.
            first = first.wrapping_add((lo as usize).wrapping_mul(self.strides[d]));
        }
        // Empty boxes have no first element.
        if !inside || !same || view.bytes() == 0 {
            return false;
        }
        // SAFETY: the box lies in the array and has as many elements as the one before, so as many bytes lie there; tasks use
        // them as the module's invariant says.
        unsafe { view.move_to(self.base.add(first)) };
        true
    }

    /// The elements of a box along one dimension as integers; none where they are real numbers. Used until the kernel's task
    /// ends.
    pub(crate) fn integers(&self, region: &Region, dim: u8) -> Result<Option<IntArray>, NeverStored> {
        let d = usize::from(dim);
        let (ptr, bytes) = self.extent(region);
        let len = if bytes == 0 { 0 } else { (region.hi[d] - region.lo[d]) as usize };
        self.note_load(region)?;
        // SAFETY: every element lies in the array, which outlives the run; tasks use them as the module's invariant says.
        let view = unsafe { IntView::new(ptr, len, self.strides[d], self.dtype) };
        Ok(view.map(IntArray::View))
    }

    /// A box for a kernel of the caller, which is taken to load and store all that its mode lets it.
    pub(crate) fn view(&self, region: &Region, mode: AccessMode) -> Result<KernelView, NeverStored> {
        let (ptr, _) = self.extent(region);
        if mode != AccessMode::Out {
            self.note_load(region)?;
        }
        if mode != AccessMode::In {
            self.note_store(region);
        }
        Ok(KernelView {
            ptr,
            dtype: self.dtype,
            dims: extents(region).take(self.rank).collect(),
            // No stride exceeds the span of its array, which is at most `isize::MAX`.
            strides: self.strides[..self.rank].iter().map(|&stride| stride.cast_signed()).collect(),
            writable: mode != AccessMode::In,
            owner: match &self.memory {
                Memory::Own(array) => Arc::<Array>::clone(array),
                Memory::Caller(view) => Arc::clone(view.owner()),
            },
        })
    }

    /// The first element of a box, and the bytes from there to the end of its last element; none in an empty box.
    #[inline]
    fn extent(&self, region: &Region) -> (*mut u8, usize) {
        let (mut inside, mut empty, mut first, mut bytes) = (true, false, 0usize, self.dtype.size());
        for d in 0..MAX_RANK {
            let (lo, hi) = (region.lo[d], region.hi[d]);
            inside &= lo <= hi && hi <= self.dims[d];
            empty |= lo == hi;
            // What wraps belongs to a box that has no element or does not lie in the tensor.
            first = first.wrapping_add((lo as usize).wrapping_mul(self.strides[d]));
            let reach = (hi as usize).wrapping_sub(lo as usize).wrapping_sub(1);
            bytes = bytes.wrapping_add(reach.wrapping_mul(self.strides[d]));
        }
        assert!(inside, "a box should lie in its tensor, which expansion checks");
        if empty {
            return (self.base, 0);
        }
        // SAFETY: the box lies in the array and has an element, and this is its first.
        (unsafe { self.base.add(first) }, bytes)
    }

    /// Calls `f` with offset and length in bytes of every contiguous run of a box, in row-major order.
    fn runs(&self, region: &Region, mut f: impl FnMut(usize, usize)) {
        if self.extent(region).1 == 0 {
            return;
        }
        let (rank, size) = (self.rank, self.dtype.size());
        let Some(last) = rank.checked_sub(1) else {
            f(0, size);
            return;
        };
        let (count, stride) = ((region.hi[last] - region.lo[last]) as usize, self.strides[last]);
        let mut index = region.lo;
        loop {
            let offset: usize = (0..rank).map(|d| index[d] as usize * self.strides[d]).sum();
            if stride == size || count == 1 {
                f(offset, count * size);
            } else {
                (0..count).for_each(|i| f(offset + i * stride, size));
            }
            let Some(next) = (0..last).rev().find(|&d| index[d] + 1 < region.hi[d]) else { return };
            index[next] += 1;
            index[next + 1..last].copy_from_slice(&region.lo[next + 1..last]);
        }
    }
}

fn allocate(name: &str, dtype: DType, dims: &[u32]) -> Result<Array, Diagnostic> {
    let shape: Vec<u64> = dims.iter().map(|&n| u64::from(n)).collect();
    Array::zeros(dtype, &shape).map_err(|fault| {
        let what = match fault {
            ArrayError::TooLarge => format!("tensor `{name}` is too large to be addressed"),
            ArrayError::OutOfMemory { bytes } => {
                format!("there is no memory for the {bytes} bytes of tensor `{name}`")
            }
        };
        Diagnostic::error(codes::NO_MEMORY, what).note(format!("its shape is {dims:?}"))
    })
}

fn extents(region: &Region) -> impl Iterator<Item = usize> {
    region.lo.iter().zip(&region.hi).map(|(lo, hi)| (hi - lo) as usize)
}

#[cfg(test)]
mod tests {
    use super::super::array_view::ViewAccess;
    use super::*;

    fn counting(dims: &[u32]) -> SharedTensor {
        let shape: Vec<u64> = dims.iter().map(|&n| u64::from(n)).collect();
        let mut array = Array::zeros(DType::U32, &shape).expect("it is small");
        for (i, value) in array.as_slice_mut::<u32>().expect("the type is U32").iter_mut().enumerate() {
            *value = i as u32;
        }
        SharedTensor::new(array, dims)
    }

    fn load(tensor: &SharedTensor, lo: &[u32], hi: &[u32]) -> Vec<u32> {
        let region = Region::new(TensorId(0), lo, hi).expect("ranks agree");
        let mut bytes = Vec::new();
        tensor.load(&region, &mut bytes).expect("nothing is recorded");
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
    }

    #[test]
    fn a_box_is_read_in_row_major_order() {
        let tensor = counting(&[3, 4, 5]);
        assert_eq!(load(&tensor, &[1, 1, 2], &[3, 3, 4]), [27, 28, 32, 33, 47, 48, 52, 53]);
        assert_eq!(load(&tensor, &[2, 3, 4], &[3, 4, 5]), [59]);
        assert!(load(&tensor, &[1, 1, 2], &[1, 3, 4]).is_empty());
    }

    #[test]
    fn what_is_stored_is_loaded_and_nothing_else_changes() {
        let tensor = counting(&[4, 4]);
        let region = Region::new(TensorId(0), &[1, 2], &[3, 4]).expect("ranks agree");
        let bytes: Vec<u8> = [100u32, 101, 102, 103].iter().flat_map(|v| v.to_le_bytes()).collect();
        tensor.store(&region, &bytes);
        let all = load(&tensor, &[0, 0], &[4, 4]);
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 100, 101, 8, 9, 102, 103, 12, 13, 14, 15]);
    }
    /// Columns 1 and 3 of each row of `counting(&[3, 5])`.
    fn columns(owner: &Arc<[u32; 15]>) -> SharedTensor {
        let first = owner.as_ptr().wrapping_add(1).cast_mut().cast();
        let access = ViewAccess::ReadOnly;
        // SAFETY: the columns lie in the vector, and nobody writes it.
        let view =
            unsafe { ArrayView::new(first, DType::U32, vec![3, 2], vec![20, 8], access, owner.clone()) };
        SharedTensor::of_view(view.expect("it can be used in place"), &[3, 2])
    }

    #[test]
    fn elements_of_a_strided_array_are_found_one_by_one() {
        let owner = Arc::new(std::array::from_fn(|i| i as u32));
        let tensor = columns(&owner);
        assert_eq!(load(&tensor, &[0, 0], &[3, 2]), [1, 3, 6, 8, 11, 13]);
        assert_eq!(load(&tensor, &[1, 1], &[3, 2]), [8, 13]);
        let copy = tensor.to_array().expect("it is small");
        assert_eq!(copy.as_slice::<u32>(), Some(&[1, 3, 6, 8, 11, 13][..]));
    }

    #[test]
    fn a_bound_view_reaches_its_box_and_nothing_else() {
        let owner = Arc::new(std::array::from_fn(|i| i as u32));
        let tensor = columns(&owner);
        let region = Region::new(TensorId(0), &[1, 1], &[3, 2]).expect("ranks agree");
        let mut view = SharedTensor::unbound(DType::U32, 2);
        tensor.bind(&region, &[0], &mut view);
        assert_eq!((view.rank(), view.bytes()), (1, 24));
        let Some(IntArray::View(column)) = tensor.integers(&region, 0).expect("nothing is recorded") else {
            panic!("a view in place");
        };
        assert_eq!(column.len(), 2);
        let empty = Region::new(TensorId(0), &[3, 1], &[3, 2]).expect("ranks agree");
        tensor.bind(&empty, &[0, 1], &mut view);
        assert_eq!(view.bytes(), 0);
        assert!(matches!(tensor.integers(&empty, 0), Ok(Some(none)) if none.is_empty()));
    }
}
