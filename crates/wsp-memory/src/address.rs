//! Addresses, and bytes of which a run has the address.

use crate::stored::Stored;
use std::fmt;
use wsp_core::words::counted;

/// An address of memory that is kept somewhere else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Address(*mut u8);

// SAFETY: an address is a number. What is done at it is `unsafe` by itself, and rests on the argument of this crate.
unsafe impl Send for Address {}
// SAFETY: as for `Send`.
unsafe impl Sync for Address {}

impl Address {
    /// That of nothing.
    const NULL: Address = Address(std::ptr::null_mut());

    /// The address that a pointer has.
    #[inline]
    pub const fn new(ptr: *mut u8) -> Address {
        Address(ptr)
    }

    /// The pointer.
    #[inline]
    pub fn ptr(self) -> *mut u8 {
        self.0
    }

    /// The pointers of a list.
    #[inline]
    pub fn pointers(list: &[Address]) -> &[*mut u8] {
        // SAFETY: an address is a pointer and nothing else, so that a list of them is a list of pointers.
        unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len()) }
    }
}

/// Bytes that kernels of a run read and write, without what keeps them: a range as a task of the run has it, where counting
/// owners would be an access to memory that all threads share.
#[derive(Clone, Copy)]
pub struct Bytes {
    at: Address,
    count: usize,
    /// The record of what tasks store to them, null where there is none.
    stored: Address,
}

impl Bytes {
    /// No bytes.
    pub const NONE: Bytes = Bytes { at: Address::NULL, count: 0, stored: Address::NULL };

    /// The `count` bytes at `ptr`. They need no alignment.
    ///
    /// # Safety
    /// Until the value, its copies and all that is made of them are dropped or used for the last time:
    /// * Every byte is valid for reads and is initialised, and is valid for writes where some access writes. `count` is at most
    ///   `isize::MAX`. What keeps the bytes, a buffer mostly, is kept.
    /// * Facts 2 and 3 of [the crate](crate) hold of every access to them.
    #[inline]
    pub unsafe fn new(ptr: *mut u8, count: usize) -> Bytes {
        Bytes { at: Address(ptr), count, stored: Address::NULL }
    }

    /// As [`new`](Self::new), with the record of what tasks store to them.
    ///
    /// # Safety
    /// As for [`new`](Self::new); the record is kept as the bytes are.
    #[inline]
    pub(crate) unsafe fn recorded(at: Address, count: usize, stored: Option<&Stored>) -> Bytes {
        let stored =
            stored.map_or(Address::NULL, |stored| Address(std::ptr::from_ref(stored).cast_mut().cast()));
        Bytes { at, count, stored }
    }

    /// Address of the first byte.
    #[inline]
    pub fn ptr(self) -> *mut u8 {
        self.at.ptr()
    }

    /// How many there are.
    #[inline]
    pub fn count(self) -> usize {
        self.count
    }

    /// What tasks store to them, in a run that records that.
    #[inline]
    pub fn stored(&self) -> Option<&Stored> {
        // SAFETY: the address is null or that of a record, which is kept until the value is used for the last time.
        unsafe { self.stored.ptr().cast::<Stored>().as_ref() }
    }

    /// The same bytes without the record, for accesses that are recorded otherwise.
    #[inline]
    #[must_use]
    pub fn unrecorded(self) -> Bytes {
        Bytes { stored: Address::NULL, ..self }
    }

    /// As many bytes elsewhere in the same buffer.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[inline]
    pub unsafe fn moved_to(self, ptr: *mut u8) -> Bytes {
        Bytes { at: Address(ptr), ..self }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:p}", counted(self.count, "byte"), self.at.ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_addresses_is_one_of_pointers() {
        let mut bytes = [0u8; 3];
        let first = bytes.as_mut_ptr();
        let list = [0, 2, 1].map(|n| Address::new(first.wrapping_add(n)));
        assert_eq!(Address::pointers(&list), [0, 2, 1].map(|n| first.wrapping_add(n)));
        assert!(Address::pointers(&[]).is_empty());
    }
}
