//! Bytes, and what keeps them.

use crate::address::Address;
use crate::range::ByteRange;
use crate::stored::Stored;
use memmap2::MmapMut;
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use wsp_core::words::counted;
use zerocopy::{FromBytes, FromZeros};

/// What keeps memory alive.
pub type Owner = Arc<dyn Any + Send + Sync>;

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
    /// Whether the bytes were allocated here, so that no one has them but through buffers.
    is_own: bool,
    /// What tasks store to the bytes, in a run that records that.
    stored: Option<Stored>,
}

impl Buffer {
    /// Alignment of memory that is allocated here, in bytes, where no larger one is asked for: a cache line.
    pub const ALIGNMENT: usize = size_of::<Line>();

    /// The `bytes` bytes at `ptr`, which `owner` keeps. They need no alignment.
    ///
    /// # Safety
    /// While `owner` or a copy of it is kept:
    /// * In the space of the host every byte is valid for reads, and for writes under [`ViewAccess::ReadWrite`], from any thread,
    ///   and is initialised. `bytes` is at most `isize::MAX`.
    /// * While a [`Claim`](crate::Claim) on a view of the buffer is held, only its holder writes an element of that view; and
    ///   only its holder reads one where the claim is to write.
    pub unsafe fn new(
        owner: Owner,
        ptr: NonNull<u8>,
        bytes: usize,
        access: ViewAccess,
        space: Space,
    ) -> Arc<Buffer> {
        let at = Address::new(ptr.as_ptr());
        Arc::new(Buffer { at, bytes, access, space, owner, is_own: false, stored: None })
    }

    /// Fresh memory of zeros, at least on a cache line, and on a page where it is large; none if the machine refuses it or
    /// `alignment` is no power of two.
    pub fn zeros(bytes: usize, alignment: usize) -> Option<Arc<Buffer>> {
        if bytes >= OWN_PAGES {
            return Buffer::pages(bytes, alignment);
        }
        let padded = padded(bytes, alignment, Buffer::ALIGNMENT)?;
        let mut lines = Line::new_vec_zeroed(padded.div_ceil(size_of::<Line>())).ok()?;
        let first = NonNull::new(lines.as_mut_ptr().cast())?;
        Some(Buffer::own(Arc::new(lines), first, bytes, alignment))
    }

    /// Fresh memory of zeros that begins at a page, whatever its size; none as for [`zeros`](Self::zeros). The system is asked
    /// for large pages.
    pub fn pages(bytes: usize, alignment: usize) -> Option<Arc<Buffer>> {
        let mut pages = MmapMut::map_anon(padded(bytes, alignment, LEAST_PAGE)?).ok()?;
        // A wish: systems without large pages refuse it, and small ones do.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        let first = NonNull::new(pages.as_mut_ptr())?;
        Some(Buffer::own(Arc::new(pages), first, bytes, alignment))
    }

    /// Bytes of fresh zeros from `first` on, as many as [`room`] says, which `owner` owns: it keeps them where they are, and does
    /// not look at them.
    fn own(owner: Owner, first: NonNull<u8>, bytes: usize, alignment: usize) -> Arc<Buffer> {
        // SAFETY: the room has the bytes behind the first address that is aligned so.
        let first = unsafe { first.add(first.align_offset(alignment)) };
        let (at, access) = (Address::new(first.as_ptr()), ViewAccess::ReadWrite);
        Arc::new(Buffer { at, bytes, access, space: Space::Host, owner, is_own: true, stored: None })
    }

    /// Bytes of a buffer, as a buffer of their own with this record.
    pub(crate) fn of(part: &ByteRange, stored: Option<Stored>) -> Arc<Buffer> {
        let Buffer { access, space, is_own, .. } = **part.buffer();
        let (at, bytes, owner) = (part.at(), part.count(), part.buffer().owner.clone());
        Arc::new(Buffer { at, bytes, access, space, owner, is_own, stored })
    }

    /// Bytes of a buffer, as a buffer of their own that may only be read.
    pub(crate) fn read_only(part: &ByteRange) -> Arc<Buffer> {
        let (at, bytes, owner) = (part.at(), part.count(), part.buffer().owner.clone());
        let (access, space) = (ViewAccess::ReadOnly, part.buffer().space);
        Arc::new(Buffer { at, bytes, access, space, owner, is_own: false, stored: None })
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

    /// What tasks store to it, in a run that records that.
    #[inline]
    pub fn stored(&self) -> Option<&Stored> {
        self.stored.as_ref()
    }

    /// The buffer, if its bytes were allocated here and no other buffer, view or array has them, or can get them meanwhile.
    pub(crate) fn alone(buffer: &mut Arc<Buffer>) -> Option<&mut Buffer> {
        let buffer = Arc::get_mut(buffer).filter(|buffer| buffer.is_own)?;
        Arc::get_mut(&mut buffer.owner).is_some().then_some(buffer)
    }

    /// From now on, nothing is recorded.
    pub(crate) fn forget_record(&mut self) {
        self.stored = None;
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

/// One cache line.
#[derive(Clone, Copy, FromBytes)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// From this many bytes on memory has pages of its own: processors fetch ahead up to the end of a page, and the pages of a KV
/// cache are often as large as one. Below, allocators recycle memory that has been touched before, which is faster.
const OWN_PAGES: usize = 32 << 20;

/// What every page begins at a multiple of, in bytes.
const LEAST_PAGE: usize = 4096;

/// Bytes to ask for, at least one, so that `bytes` of them begin at a multiple of `alignment` where the first begins at one of
/// `least`. None if that cannot be.
fn padded(bytes: usize, alignment: usize, least: usize) -> Option<usize> {
    let more = alignment.is_power_of_two().then(|| alignment.saturating_sub(least))?;
    bytes.max(1).checked_add(more).filter(|bytes| *bytes <= isize::MAX as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::EarlyLoads;

    #[test]
    fn memory_is_aligned_as_asked_and_zero() {
        for alignment in [1, 64, 512, 4096, 1 << 20] {
            for made in [Buffer::zeros, Buffer::pages] {
                let buffer = made(100, alignment).expect("it is small");
                assert!(buffer.ptr().addr().is_multiple_of(alignment.max(64)), "{alignment}");
                assert_eq!((buffer.bytes(), buffer.space()), (100, Space::Host));
                // SAFETY: the buffer has so many bytes, and nothing writes them.
                assert_eq!(unsafe { std::slice::from_raw_parts(buffer.ptr(), 100) }, [0; 100]);
            }
        }
        let large = Buffer::zeros(OWN_PAGES + 1, 1 << 21).expect("it is not touched");
        assert!(large.ptr().addr().is_multiple_of(1 << 21));
        assert!(Buffer::zeros(8, 48 * 3).is_none() && Buffer::zeros(8, 0).is_none());
        assert!(Buffer::zeros(usize::MAX, 64).is_none() && Buffer::zeros(1 << 60, 64).is_none());
    }

    #[test]
    fn owners_are_kept_as_long_as_the_buffer() {
        let owner = Arc::new([7u8; 16]);
        let ptr = NonNull::from(&owner[0]);
        // SAFETY: nothing writes the array.
        let mut buffer = unsafe { Buffer::new(owner.clone(), ptr, 16, ViewAccess::ReadOnly, Space::Host) };
        assert_eq!(Arc::strong_count(&owner), 2);
        assert!(Buffer::alone(&mut buffer).is_none(), "the owner has it too");
        let recorded = ByteRange::whole(buffer.clone()).recorded(4, EarlyLoads::Noted).expect("it is small");
        drop(buffer);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(recorded);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn a_record_does_not_hide_that_others_have_the_memory() {
        let plain = Buffer::zeros(64, 64).expect("it is small");
        let mut recorded = ByteRange::whole(plain.clone())
            .recorded(1, EarlyLoads::Refused)
            .expect("it is small")
            .into_buffer();
        assert!(recorded.stored().is_some() && recorded.ptr() == plain.ptr());
        assert!(Buffer::alone(&mut recorded).is_none());
        drop(plain);
        Buffer::alone(&mut recorded).expect("nothing else has it").forget_record();
        assert!(recorded.stored().is_none());
    }
}
