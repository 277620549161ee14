//! An array of a launch.

use super::{Layout, Stored};
use std::sync::Arc;
use wsp_core::DType;

/// An array of a launch: bytes, element type and layout.
///
/// Every access is checked against `bytes`, whatever the layout says; addresses need no alignment.
#[derive(Debug)]
pub struct TensorMem {
    ptr: *mut u8,
    bytes: usize,
    dtype: DType,
    layout: Layout,
    /// What tasks store to it, in a run that records that.
    stored: Option<Arc<Stored>>,
}

// SAFETY: the contract of `TensorMem::new` makes concurrent accesses disjoint or read-only, and the memory outlives the value.
unsafe impl Send for TensorMem {}
// SAFETY: as for `Send`.
unsafe impl Sync for TensorMem {}

impl TensorMem {
    /// An array of `bytes` bytes at `ptr`.
    ///
    /// # Safety
    /// * `ptr` is valid for reads of `bytes` bytes, all initialised, and for writes when any function stores to the array,
    ///   until the value is dropped and every tile that was loaded from it has been reset, overwritten or dropped.
    /// * `bytes` is at most `isize::MAX`.
    /// * Accesses by tasks that run at the same time are disjoint or reads only (the scheduler's dependences see to it), and
    ///   nothing outside the launch writes the memory meanwhile.
    pub unsafe fn new(ptr: *mut u8, bytes: usize, dtype: DType, layout: Layout) -> TensorMem {
        TensorMem { ptr, bytes, dtype, layout, stored: None }
    }

    /// From now on, what kernels store to the array is recorded there, and what they load is looked up.
    pub fn record(&mut self, stored: Option<Arc<Stored>>) {
        self.stored = stored;
    }

    /// What tasks store to the array, in a run that records that.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.stored.as_deref()
    }

    /// Puts a strided array elsewhere: another address, and other extents and strides (in elements) in pairs, outermost
    /// dimension first. Nothing is allocated once the array has had as many dimensions. Other layouts become strided.
    ///
    /// # Safety
    /// As for [`TensorMem::new`], from now until the array is placed elsewhere or used for the last time.
    pub unsafe fn place(&mut self, ptr: *mut u8, bytes: usize, shape: impl Iterator<Item = (u32, u64)>) {
        if !matches!(self.layout, Layout::Strided { .. }) {
            self.layout = Layout::Strided { dims: Vec::new(), strides: Vec::new() };
        }
        if let Layout::Strided { dims, strides } = &mut self.layout {
            dims.clear();
            strides.clear();
            for (extent, stride) in shape {
                dims.push(extent);
                strides.push(stride);
            }
        }
        (self.ptr, self.bytes) = (ptr, bytes);
    }

    /// Puts the array elsewhere, as it is.
    ///
    /// # Safety
    /// As for [`TensorMem::place`].
    pub unsafe fn move_to(&mut self, ptr: *mut u8) {
        self.ptr = ptr;
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of the array.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of indices that reach one element.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    pub(super) fn ptr(&self) -> *mut u8 {
        self.ptr
    }
}
