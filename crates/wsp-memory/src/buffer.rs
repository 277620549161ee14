//! Bytes, and what keeps them.

use crate::address::Address;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use wsp_core::words::counted;

/// What keeps memory alive.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// Least alignment of memory that is allocated here, in bytes: a cache line.
const LEAST_ALIGNMENT: usize = 64;

/// What may be done with memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewAccess {
    /// Elements may only be read.
    ReadOnly,
    /// Elements may be read and written.
    ReadWrite,
}

/// Where memory is. Addresses of different spaces have nothing to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// The memory of this process.
    Host,
    /// That of the device with this number, which the host does not read or write by address.
    Device(u32),
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Space::Host => f.write_str("the host"),
            Space::Device(number) => write!(f, "device {number}"),
        }
    }
}

/// Bytes that are always the same ones, as long as the buffer lives.
pub struct Buffer {
    at: Address,
    bytes: usize,
    access: ViewAccess,
    space: Space,
    /// Gives the bytes back when the last view of them is dropped.
    owner: Owner,
}

impl Buffer {
    /// The `bytes` bytes at `ptr`, which `owner` keeps. They need no alignment.
    ///
    /// # Safety
    /// While `owner` or a copy of it is kept:
    /// * In the space of the host every byte is valid for reads, and for writes under [`ViewAccess::ReadWrite`], from any thread, and is
    ///   initialised. `bytes` is at most `isize::MAX`.
    /// * While a [`Claim`](crate::Claim) on a view of the buffer is held, nobody but its holder writes an element of that view; and nobody
    ///   but its holder reads one where the claim is to write.
    pub unsafe fn new(
        owner: Owner,
        ptr: NonNull<u8>,
        bytes: usize,
        access: ViewAccess,
        space: Space,
    ) -> Arc<Buffer> {
        Arc::new(Buffer { at: Address::new(ptr.as_ptr()), bytes, access, space, owner })
    }

    /// Fresh memory of zeros; none if the machine refuses it or `alignment` is no power of two.
    pub fn zeros(bytes: usize, alignment: usize) -> Option<Arc<Buffer>> {
        let layout = Layout::from_size_align(bytes.max(1), alignment.max(LEAST_ALIGNMENT)).ok()?;
        // SAFETY: the layout has at least one byte.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let owner = Arc::new(Allocation { at: Address::new(ptr.as_ptr()), layout });
        // SAFETY: the bytes are zeros, are given back when the owner is dropped, and no more than `isize::MAX`, as every layout has;
        // nobody has the address but views of the buffer.
        Some(unsafe { Buffer::new(owner, ptr, bytes, ViewAccess::ReadWrite, Space::Host) })
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What may be done with it.
    pub fn access(&self) -> ViewAccess {
        self.access
    }

    /// Where it is.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Address of the first byte. What is done at it is to rest on the argument of [this crate](crate).
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        self.at.ptr()
    }

    /// Whether a value of this type keeps the bytes.
    pub fn is_kept_by<T: Any>(&self) -> bool {
        self.owner.is::<T>()
    }

    /// Gives up the buffer for what keeps its bytes.
    pub fn into_owner(self) -> Owner {
        self.owner
    }

    pub(crate) fn at(&self) -> Address {
        self.at
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", counted(self.bytes, "byte"), self.space)
    }
}

/// Memory of the allocator.
struct Allocation {
    at: Address,
    layout: Layout,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the bytes came from `alloc_zeroed` with this layout and are given back once.
        unsafe { dealloc(self.at.ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_as_asked_and_zero() {
        for alignment in [1, 64, 512, 4096, 1 << 20] {
            let buffer = Buffer::zeros(100, alignment).expect("it is small");
            assert!(buffer.ptr().addr().is_multiple_of(alignment), "{alignment}");
            assert_eq!((buffer.bytes(), buffer.space()), (100, Space::Host));
            // SAFETY: the buffer has so many bytes, and nobody writes them.
            assert_eq!(unsafe { std::slice::from_raw_parts(buffer.ptr(), 100) }, [0; 100]);
        }
        assert!(Buffer::zeros(8, 48 * 3).is_none());
        assert!(Buffer::zeros(usize::MAX, 64).is_none());
    }

    #[test]
    fn owners_are_kept_as_long_as_the_buffer() {
        let owner = Arc::new([7u8; 16]);
        let ptr = NonNull::from(&owner[0]);
        // SAFETY: nobody writes the array.
        let buffer = unsafe { Buffer::new(owner.clone(), ptr, 16, ViewAccess::ReadOnly, Space::Host) };
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(buffer);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
