//! Where the elements of an array lie.

use super::ArrayError;
use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// One cache line, so that every array starts on one.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(super) struct Line([u8; 64]);

/// From this many bytes on an array gets pages of its own: processors fetch ahead up to the end of a page, and the pages of a KV
/// cache are often as large as one. Below, allocators recycle memory that has been touched before, which is faster.
const OWN_PAGES: usize = 32 << 20;

/// Zeroed memory that starts on a cache line, or on a page where it is large.
pub(super) enum Memory {
    Lines(Vec<Line>),
    Pages(MmapMut),
}

impl Memory {
    /// At least so many bytes of zeros.
    pub(super) fn zeros(bytes: usize) -> Result<Memory, ArrayError> {
        if bytes >= OWN_PAGES {
            return Memory::pages(bytes);
        }
        let refused = ArrayError::OutOfMemory { bytes: bytes as u64 };
        let count = bytes.div_ceil(size_of::<Line>());
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).map_err(|_| refused)?;
        lines.resize(count, Line([0; 64]));
        Ok(Memory::Lines(lines))
    }

    /// At least so many bytes of zeros, and at least one, that start on a page.
    pub(super) fn pages(bytes: usize) -> Result<Memory, ArrayError> {
        let refused = ArrayError::OutOfMemory { bytes: bytes as u64 };
        let pages = MmapMut::map_anon(bytes.max(1)).map_err(|_| refused)?;
        // A wish: systems without large pages refuse it, and small ones do.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Ok(Memory::Pages(pages))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Memory::Lines(lines) => lines.as_bytes(),
            Memory::Pages(pages) => pages,
        }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Memory::Lines(lines) => lines.as_mut_bytes(),
            Memory::Pages(pages) => pages,
        }
    }

    /// The same bytes in other memory.
    fn copied(&self) -> Memory {
        let bytes = self.bytes();
        let mut copy =
            Memory::zeros(bytes.len()).expect("memory for a copy should be there, as for a vector's");
        copy.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        copy
    }
}

impl Clone for Memory {
    fn clone(&self) -> Memory {
        match self {
            Memory::Lines(lines) => Memory::Lines(lines.clone()),
            Memory::Pages(_) => self.copied(),
        }
    }
}
