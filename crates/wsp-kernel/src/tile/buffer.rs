//! Memory of a tile.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of buffers: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// Initialised floats, aligned to 64 bytes; none until asked for.
#[derive(Debug)]
pub(super) struct Buffer {
    ptr: NonNull<f32>,
    len: usize,
}

// SAFETY: the buffer is owned and holds plain data.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(super) const fn new() -> Buffer {
        Buffer { ptr: NonNull::dangling(), len: 0 }
    }

    /// At least `len` floats; their values are lost when the buffer has to grow.
    #[inline]
    pub(super) fn reserve(&mut self, len: usize) -> *mut f32 {
        if len > self.len {
            self.grow(len);
        }
        self.ptr.as_ptr()
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        *self = Buffer::zeroed(len);
    }

    /// The floats, as many as were ever reserved.
    pub(super) fn ptr(&self) -> *mut f32 {
        self.ptr.as_ptr()
    }

    fn zeroed(len: usize) -> Buffer {
        let layout = Buffer::layout(len);
        // SAFETY: `len` is above 0, hence the layout has a size.
        let ptr = unsafe { alloc_zeroed(layout) };
        let Some(ptr) = NonNull::new(ptr.cast()) else { handle_alloc_error(layout) };
        Buffer { ptr, len }
    }

    fn layout(len: usize) -> Layout {
        let bytes = len.checked_mul(size_of::<f32>()).expect("a tile's size should have been checked");
        Layout::from_size_align(bytes, ALIGN).expect("a tile's size should have been checked")
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated by `zeroed` with this layout.
            unsafe { dealloc(self.ptr.as_ptr().cast(), Buffer::layout(self.len)) }
        }
    }
}
