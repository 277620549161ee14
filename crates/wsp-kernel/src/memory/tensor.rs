//! An array of a launch.

use super::Layout;
use wsp_core::DType;
use wsp_memory::{Bytes, Stored};

/// An array as kernels have it: bytes, element type and layout, which is a [`Layout`] for tiles and a [`Series`](super::Series) for integers
/// that are looked up one by one.
///
/// Every access is checked against `bytes`, whatever the layout says; addresses need no alignment.
#[derive(Clone, Debug)]
pub struct TensorMem<L = Layout> {
    pub(super) bytes: Bytes,
    pub(super) dtype: DType,
    pub(super) layout: L,
}

impl<L> TensorMem<L> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// What tasks store to the array, in a run that records that.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.bytes.stored()
    }

    pub(super) fn ptr(&self) -> *mut u8 {
        self.bytes.ptr()
    }
}

impl TensorMem {
    /// An array of these bytes. Tiles that are loaded from it use them until they are reset, overwritten or dropped.
    pub fn new(bytes: Bytes, dtype: DType, layout: Layout) -> TensorMem {
        TensorMem { bytes, dtype, layout }
    }

    /// Puts a strided array elsewhere: other bytes, and other extents and strides (in elements) in pairs, outermost
    /// dimension first. Nothing is allocated once the array has had as many dimensions. Other layouts become strided.
    pub fn place(&mut self, bytes: Bytes, shape: impl Iterator<Item = (u32, u64)>) {
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
        self.bytes = bytes;
    }

    /// Puts the array elsewhere, as it is.
    ///
    /// # Safety
    /// As for [`Bytes::new`], of as many bytes at `ptr` as the array has.
    #[inline]
    pub unsafe fn move_to(&mut self, ptr: *mut u8) {
        // SAFETY: the caller's promise.
        self.bytes = unsafe { self.bytes.moved_to(ptr) };
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of the array.
    pub fn bytes(&self) -> usize {
        self.bytes.count()
    }

    /// Number of indices that reach one element.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }
}
