//! The tensors of declared kernels: views that tasks read and write by regions.
//!
//! An access is a call of `load`, `store`, `peek` or `poke`, the run of a kernel that is bound to the region by `bind`, `integers` or `view`, or
//! setting a tensor up while no task runs. Of the three facts of [`wsp_memory`]: a view of the caller is claimed by the run, and other
//! tensors have memory of their own; only tasks of the run access tensors, each its own regions, and the run orders tasks
//! whose regions conflict: dependences are inferred from these regions, or, where a schedule states them, checked against these regions
//! before the run. A source that reads a slot has waited for the tasks that write it. Views of the caller share no memory
//! unless no task writes either: what does is refused before the run, as is what may only be read and tasks write.
#![allow(
    unsafe_code,
    reason = "tasks on several threads read and write one array; the task graph orders conflicts"
)]

use super::codes;
use wsp_backend::unravel;
use wsp_core::words::counted;
use wsp_core::{DType, MAX_RANK, Region, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::AccessMode;
use wsp_kernel::{IntArray, Layout, Series, TensorMem};
use wsp_memory::{Bytes, EarlyLoads, View};
use wsp_plan::{Array, ArrayError, Element};

/// One tensor.
#[derive(Debug)]
pub(crate) struct SharedTensor {
    view: View,
    /// Whether the memory is the caller's.
    is_callers: bool,
}

/// A task loads an element that no task has stored, of a tensor that begins with none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NeverStored {
    pub(crate) tensor: TensorId,
    /// The first such element.
    pub(crate) index: Vec<u64>,
}

/// Why a region cannot be given as slices.
#[derive(Debug)]
pub(crate) enum RowsFault {
    /// Elements that no task has stored.
    NeverStored(NeverStored),
    /// Elements of a row lie apart: bytes from one to the next, and of one.
    Columns { stride: usize, size: usize },
    /// Addresses are no multiples of this.
    Unaligned { align: usize },
}

/// The elements of a region of a task, whose closure has them as slices while it runs: elements of one row lie beside each other, and all
/// are aligned for the type that the region was asked for with, which the methods are called with. Of two regions of one task that share
/// elements the closure has slices of neither where it writes one, which `typed.rs` checks before.
pub(crate) struct Elements(View);

impl Elements {
    pub(crate) fn shape(&self) -> &[u64] {
        self.0.shape()
    }

    fn is_empty(&self) -> bool {
        self.0.span() == 0
    }

    /// Elements of a row: along the last dimension; of no dimensions, 1.
    pub(crate) fn width(&self) -> usize {
        self.shape().last().map_or(1, |extent| *extent as usize)
    }

    pub(crate) fn rows(&self) -> usize {
        self.shape().iter().rev().skip(1).product::<u64>() as usize
    }

    /// The first element of a row.
    fn start<T>(&self, row: usize) -> *mut T {
        assert!(row < self.rows(), "there is no row {row}: there are {}", self.rows());
        let (mut left, mut offset) = (row, 0);
        let outer = self.shape().iter().zip(self.0.all_strides()).rev().skip(1);
        for (extent, stride) in outer {
            offset += left % *extent as usize * stride;
            left /= *extent as usize;
        }
        self.0.ptr().wrapping_add(offset).cast()
    }

    pub(crate) fn row<'t, T: Element>(&self, row: usize) -> &'t [T] {
        if self.is_empty() {
            return &[];
        }
        // SAFETY: the row lies in the region, its elements lie beside each other and are aligned. The task has the region until its closure
        // returns, which `'t` does not outlive; nothing writes it meanwhile: other tasks do not, and slices that the closure writes share no
        // elements with these.
        unsafe { std::slice::from_raw_parts(self.start(row), self.width()) }
    }

    #[allow(clippy::mut_from_ref, reason = "the type that holds the elements borrows itself for the row")]
    pub(crate) fn row_mut<'t, T: Element>(&self, row: usize) -> &'t mut [T] {
        if self.is_empty() {
            return &mut [];
        }
        // SAFETY: as for `row`; `RowsMut` lends itself for the row, so that it gives no other slice while this one is used, and no other slice shares
        // elements with it.
        unsafe { std::slice::from_raw_parts_mut(self.start(row), self.width()) }
    }

    /// How many there are, if they follow each other in row-major order.
    fn count(&self) -> Option<usize> {
        self.0.is_dense().then(|| self.shape().iter().product::<u64>() as usize)
    }

    pub(crate) fn slice<'t, T: Element>(&self) -> Option<&'t [T]> {
        match self.count()? {
            0 => Some(&[]),
            // SAFETY: as for `row`, of all elements, which follow each other.
            count => Some(unsafe { std::slice::from_raw_parts(self.0.ptr().cast(), count) }),
        }
    }

    pub(crate) fn slice_mut<'t, T: Element>(self) -> Option<&'t mut [T]> {
        match self.count()? {
            0 => Some(&mut []),
            // SAFETY: as for `row_mut`, of all elements, which follow each other.
            count => Some(unsafe { std::slice::from_raw_parts_mut(self.0.ptr().cast(), count) }),
        }
    }
}

impl SharedTensor {
    /// A tensor of zeros.
    pub(crate) fn zeros(name: &str, dtype: DType, dims: &[u32]) -> Result<SharedTensor, Diagnostic> {
        Ok(SharedTensor::own(allocate(name, dtype, dims)?))
    }

    /// A copy of an array of the launch, which has these extents.
    pub(crate) fn copy_of(name: &str, given: &Array, dims: &[u32]) -> Result<SharedTensor, Diagnostic> {
        let mut array = allocate(name, given.dtype(), dims)?;
        array.bytes_mut().copy_from_slice(given.bytes());
        Ok(SharedTensor::own(array))
    }

    /// An array of the caller.
    pub(crate) fn of_view(view: View) -> SharedTensor {
        SharedTensor { view, is_callers: true }
    }

    /// An array of this run, whose extents regions reach.
    fn own(array: Array) -> SharedTensor {
        let view = array.lend().expect("extents of a tensor have 32 bits");
        SharedTensor { view, is_callers: false }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.view.dtype()
    }

    /// From now on, what tasks store to it is recorded.
    pub(crate) fn record(&mut self, early: EarlyLoads) {
        self.view = self.view.clone().recorded(early);
    }

    /// Where its elements lie, with the record of what tasks store to them, in a run that records that.
    pub(crate) fn elements(&self) -> &View {
        &self.view
    }

    /// A task loads from a region.
    fn note_load(&self, region: &Region) -> Result<(), NeverStored> {
        let fault = |first| NeverStored { tensor: region.tensor, index: self.index(region, first) };
        self.view.note_load(region).map_err(fault)
    }

    /// The index of element number `at` of a region, in row-major order.
    fn index(&self, region: &Region, at: u64) -> Vec<u64> {
        let extents: Vec<u64> = extents(region).take(self.rank()).map(|n| n as u64).collect();
        unravel(at, &extents).into_iter().zip(region.lo).map(|(i, lo)| i + u64::from(lo)).collect()
    }

    /// Shape, for people.
    pub(crate) fn shape(&self) -> Vec<u64> {
        self.view.shape().to_vec()
    }

    /// The array of the caller that it is, if it is one.
    pub(crate) fn caller(&self) -> Option<&View> {
        self.is_callers.then_some(&self.view)
    }

    /// An array of the caller without elements, of the same type and rank; none where there is no memory for it.
    pub(crate) fn without_elements(&self) -> Option<SharedTensor> {
        let nothing = Array::zeros(self.dtype(), &[0; MAX_RANK][..self.rank()]).ok()?;
        Some(SharedTensor { is_callers: true, ..SharedTensor::own(nothing) })
    }

    /// The array, when no run goes on; none for one of the caller.
    pub(crate) fn into_array(self, name: &str) -> Option<Result<Array, Diagnostic>> {
        let SharedTensor { view, is_callers } = self;
        if is_callers {
            return None;
        }
        // A kernel of the caller may have kept a view.
        let kept = |view| SharedTensor { view, is_callers }.to_array();
        Some(view.take_back().or_else(kept).map_err(|fault| no_memory(name, fault)))
    }

    /// A copy of the elements, when no run goes on.
    pub(crate) fn to_array(&self) -> Result<Array, ArrayError> {
        let mut array = Array::zeros(self.dtype(), self.view.shape())?;
        let mut bytes = Vec::new();
        self.peek(&self.whole(), &mut bytes);
        array.bytes_mut().copy_from_slice(&bytes);
        Ok(array)
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&self) {
        // SAFETY: no task runs; what may not be written is no tensor that is cleared.
        unsafe { self.view.clear() };
    }

    /// The region of all elements; of tensor 0, which no caller looks at.
    pub(crate) fn whole(&self) -> Region {
        self.view.whole()
    }

    /// Bytes that a region has. The region must lie in the tensor.
    pub(crate) fn region_bytes(&self, region: &Region) -> usize {
        self.view.region_bytes(region)
    }

    /// Number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.view.rank()
    }

    /// Appends the region's bytes in row-major order.
    pub(crate) fn load(&self, region: &Region, into: &mut Vec<u8>) -> Result<(), NeverStored> {
        self.note_load(region)?;
        self.peek(region, into);
        Ok(())
    }

    /// [`load`](Self::load) of no task, which is not recorded.
    pub(crate) fn peek(&self, region: &Region, into: &mut Vec<u8>) {
        // SAFETY: the task may read the region, by the argument above.
        unsafe { self.view.read(region, into) };
    }

    /// Replaces the region's bytes; `from` has exactly [`region_bytes`](Self::region_bytes).
    pub(crate) fn store(&self, region: &Region, from: &[u8]) {
        self.view.note_store(region);
        self.poke(region, from);
    }

    /// A task has stored these elements of a region, by their numbers in row-major order, or the whole region.
    pub(crate) fn note_stores(&self, region: &Region, stored: impl Iterator<Item = usize>, whole: bool) {
        if whole {
            return self.view.note_store(region);
        }
        for at in stored {
            let mut one = *region;
            for (d, index) in self.index(region, at as u64).into_iter().enumerate() {
                (one.lo[d], one.hi[d]) = (index as u32, index as u32 + 1);
            }
            self.view.note_store(&one);
        }
    }

    /// [`store`](Self::store) of no task, which is not recorded.
    pub(crate) fn poke(&self, region: &Region, from: &[u8]) {
        // SAFETY: the task may write the region, by the argument above.
        unsafe { self.view.write(region, from) };
    }

    /// Memory for a view of a compiled kernel with these dimensions, to be bound to a region before the kernel runs.
    pub(crate) fn unbound(dtype: DType, rank: usize) -> TensorMem {
        let layout = Layout::Strided { dims: vec![0; rank], strides: vec![0; rank] };
        TensorMem::new(Bytes::NONE, dtype, layout)
    }

    /// An array of no integers, for a view that is not bound yet; none for real numbers.
    pub(crate) fn no_integers(dtype: DType) -> Option<IntArray> {
        TensorMem::integers(Bytes::NONE, dtype, Series { count: 0, stride: 0 }).map(IntArray::View)
    }

    /// Binds a view of a compiled kernel to a region, of which it keeps these dimensions. The view ends where the region does, and
    /// is used until its kernel's task ends.
    pub(crate) fn bind(&self, region: &Region, keep: &[u8], view: &mut TensorMem) {
        let size = self.dtype().size() as u64;
        let kept = keep.iter().map(|&d| usize::from(d));
        let strides = self.view.all_strides();
        let kept = kept.map(|d| (region.hi[d] - region.lo[d], strides[d] as u64 / size));
        view.place(self.bytes(region), kept);
    }

    /// Binds a view that was last bound to a region of this tensor with these extents to another one, if that has the same.
    #[inline]
    pub(crate) fn bind_like(&self, region: &Region, extents: &[u32; MAX_RANK], view: &mut TensorMem) -> bool {
        // Empty regions have no first element.
        let Some(first) = self.view.first_of(region, extents).filter(|_| view.bytes() != 0) else {
            return false;
        };
        // SAFETY: the region lies in the view and has as many elements as the one before, so as many bytes lie there; tasks use
        // them as the argument above says.
        unsafe { view.move_to(first) };
        true
    }

    /// The elements of a region along one dimension as integers; none where they are real numbers. Used until the kernel's task
    /// ends.
    pub(crate) fn integers(&self, region: &Region, dim: u8) -> Result<Option<IntArray>, NeverStored> {
        let d = usize::from(dim);
        self.note_load(region)?;
        let bytes = self.bytes(region).unrecorded();
        let count = if bytes.count() == 0 { 0 } else { (region.hi[d] - region.lo[d]) as usize };
        let layout = Series { count, stride: self.view.all_strides()[d] };
        Ok(TensorMem::integers(bytes, self.dtype(), layout).map(IntArray::View))
    }

    /// The elements of a region for a closure of the caller, as [`view`](Self::view) gives them. `size` and `align` are those of its elements.
    pub(crate) fn rows(
        &self,
        region: &Region,
        mode: AccessMode,
        size: usize,
        align: usize,
        watched: bool,
    ) -> Result<Elements, RowsFault> {
        let view = self.view(region, mode, watched).map_err(RowsFault::NeverStored)?;
        let (shape, strides) = (view.shape(), view.all_strides());
        let mut several = (0..shape.len()).filter(|d| shape[*d] > 1);
        if let Some(last) = shape.len().checked_sub(1).filter(|d| shape[*d] > 1 && strides[*d] != size) {
            return Err(RowsFault::Columns { stride: strides[last], size });
        }
        let lies = |bytes: usize| bytes.is_multiple_of(align);
        let is_aligned = lies(view.ptr().addr()) && several.all(|d| lies(strides[d]));
        if view.span() > 0 && !is_aligned { Err(RowsFault::Unaligned { align }) } else { Ok(Elements(view)) }
    }

    /// A region for a kernel of the caller, which is taken to load all that its mode lets it, and to store all of it where no watch tells what it stores.
    pub(crate) fn view(&self, region: &Region, mode: AccessMode, watched: bool) -> Result<View, NeverStored> {
        if mode != AccessMode::Out {
            self.note_load(region)?;
        }
        if mode != AccessMode::In && !watched {
            self.view.note_store(region);
        }
        let part = self.view.part(region).expect("a region should lie in its tensor, which expansion checks");
        // A run of the kernel's own records by itself.
        let part = part.unrecorded();
        Ok(if mode == AccessMode::In { part.read_only() } else { part })
    }

    /// The bytes of a region for the kernel of a task, which uses them until the task ends.
    #[inline]
    fn bytes(&self, region: &Region) -> Bytes {
        // SAFETY: the view outlives the run; tasks use the bytes as the argument above says.
        let bytes = unsafe { self.view.bytes(region) };
        bytes.expect("a region should lie in its tensor, which expansion checks")
    }
}

fn allocate(name: &str, dtype: DType, dims: &[u32]) -> Result<Array, Diagnostic> {
    let shape: Vec<u64> = dims.iter().map(|&n| u64::from(n)).collect();
    Array::zeros(dtype, &shape).map_err(|fault| no_memory(name, fault).note(format!("its shape is {dims:?}")))
}

pub(super) fn no_memory(name: &str, fault: ArrayError) -> Diagnostic {
    let what = match fault {
        ArrayError::TooLarge => format!("tensor `{name}` is too large to be addressed"),
        ArrayError::OutOfMemory { bytes } => {
            format!("there is no memory for the {bytes} of tensor `{name}`", bytes = counted(bytes, "byte"))
        }
        _ => format!("tensor `{name}`: {fault}"),
    };
    Diagnostic::error(codes::NO_MEMORY, what)
        .python("give smaller sizes, or tiles instead of whole temporaries")
}

fn extents(region: &Region) -> impl Iterator<Item = usize> {
    region.lo.iter().zip(&region.hi).map(|(lo, hi)| (hi - lo) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::TensorId;
    use wsp_memory::{Buffer, ViewAccess};

    /// Columns 1 and 3 of each row of a matrix of 3 rows and 5 columns.
    fn columns() -> SharedTensor {
        let buffer = Buffer::zeros(60, 64).expect("it is small");
        let view = View::new(buffer, 4, DType::U32, &[3, 2], &[20, 8]).expect("it lies inside");
        SharedTensor::of_view(view)
    }

    #[test]
    fn a_bound_view_reaches_its_region_and_nothing_else() {
        let tensor = columns();
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

    #[test]
    fn a_view_of_a_kernel_is_recorded_when_it_is_made_and_has_no_record_itself() {
        let mut tensor = columns();
        tensor.record(EarlyLoads::Refused);
        let region = Region::new(TensorId(3), &[1, 0], &[2, 2]).expect("ranks agree");
        let refused = NeverStored { tensor: TensorId(3), index: vec![1, 0] };
        assert_eq!(tensor.view(&region, AccessMode::In, false).unwrap_err(), refused);
        let written = tensor.view(&region, AccessMode::Out, false).expect("nothing is loaded");
        assert!(written.range().stored().is_none(), "a run inside of the kernel records by itself");
        assert!(tensor.view(&region, AccessMode::In, false).is_ok());
        assert_eq!(
            tensor.elements().missing(wsp_memory::Unstored::Unused).map(|missing| missing.elements),
            Some(4)
        );
    }

    #[test]
    fn what_a_kernel_only_reads_is_a_view_that_may_not_be_written() {
        let tensor = columns();
        let region = Region::new(TensorId(0), &[1, 0], &[2, 2]).expect("ranks agree");
        let access = |mode| tensor.view(&region, mode, false).expect("nothing is recorded").access();
        assert_eq!(access(AccessMode::In), ViewAccess::ReadOnly);
        assert_eq!(
            (access(AccessMode::Out), access(AccessMode::InOut)),
            (ViewAccess::ReadWrite, ViewAccess::ReadWrite)
        );
    }
}
