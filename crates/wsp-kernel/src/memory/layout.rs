//! How the elements of an array lie in memory.

use super::Fault;
use std::sync::Arc;

/// Where the element with a given index lies. Strides are in elements.
#[derive(Clone, Debug)]
pub enum Layout {
    /// A plain array.
    Strided {
        /// Extent of each dimension.
        dims: Vec<u32>,
        /// Distance between neighbours along each dimension.
        strides: Vec<u64>,
    },
    /// A paged cache.
    Paged(Paged),
    /// Rows per outer index: logical dimensions `[outer, i, inner…]`, where `i` counts from 0 for every outer index.
    Ragged {
        /// First row of each outer index, and the number of rows at the end.
        starts: Arc<[u64]>,
        /// Extents of the inner dimensions.
        dims: Vec<u32>,
        /// Distance between rows, then between neighbours along each inner dimension.
        strides: Vec<u64>,
    },
    /// A field of every workspace slot: logical dimensions `[slot, inner…]`. The index of the slot dimension is a *byte*
    /// offset, a multiple of `slot_bytes`.
    Slots {
        /// Number of slots.
        slots: u32,
        /// What the offsets of all slots are multiples of.
        slot_bytes: u32,
        /// Bytes from a slot to the next; none where that depends on the slot.
        apart: Option<u32>,
        /// First byte of the field in its slot.
        offset: u32,
        /// Extents of the inner dimensions.
        dims: Vec<u32>,
        /// Distance between neighbours along each inner dimension.
        strides: Vec<u64>,
    },
}

/// A paged cache: logical dimensions `[batch, position, head, lane]`; request `b` has `lengths[b]` positions, which lie
/// `page_size` at a time in the pages `indices[indptr[b]..indptr[b + 1]]`. Lanes are contiguous.
#[derive(Clone, Debug)]
pub struct Paged {
    /// Positions per request.
    pub lengths: Arc<[u32]>,
    /// First entry of each request in `indices`, and their number at the end.
    pub indptr: Arc<[u32]>,
    /// Page ids.
    pub indices: Arc<[u32]>,
    /// Positions per page.
    pub page_size: u32,
    /// Heads.
    pub heads: u32,
    /// Elements per head and position.
    pub lanes: u32,
    /// Elements between pages.
    pub page_stride: u64,
    /// Elements between positions of one page: `heads · lanes` (NHD) or `lanes` (HND).
    pub slot_stride: u64,
    /// Elements between heads: `lanes` (NHD) or `page_size · lanes` (HND).
    pub head_stride: u64,
}

/// An index with the byte offset of a slot turned into the number of the slot.
pub(super) type Index = [u64];

impl Layout {
    /// Number of indices that reach one element.
    pub fn rank(&self) -> usize {
        match self {
            Layout::Strided { dims, .. } => dims.len(),
            Layout::Paged(_) => 4,
            Layout::Ragged { dims, .. } => dims.len() + 2,
            Layout::Slots { dims, .. } => dims.len() + 1,
        }
    }

    /// Elements along a dimension, which may depend on the first index; 0 where that is out of range.
    pub(super) fn extent(&self, dim: usize, index: &Index) -> u64 {
        let inner = |dims: &[u32], at: usize| dims.get(at).map_or(0, |&n| u64::from(n));
        match self {
            Layout::Strided { dims, .. } => inner(dims, dim),
            Layout::Paged(paged) => paged.extent(dim, index[0]),
            Layout::Ragged { starts, dims, .. } => match dim {
                0 => starts.len().saturating_sub(1) as u64,
                1 => ragged_rows(starts, index[0]),
                _ => inner(dims, dim - 2),
            },
            Layout::Slots { slots, dims, .. } => match dim {
                0 => u64::from(*slots),
                _ => inner(dims, dim - 1),
            },
        }
    }

    /// Bytes between neighbours along a dimension, `size` bytes per element; none when they are not evenly spaced.
    pub(super) fn byte_stride(&self, dim: usize, size: u64) -> Option<u64> {
        let of = |strides: &[u64], at: usize| strides.get(at).copied().unwrap_or(0);
        let elements = match self {
            Layout::Strided { strides, .. } => of(strides, dim),
            Layout::Paged(paged) => match dim {
                2 => paged.head_stride,
                3 => 1,
                _ => return None,
            },
            Layout::Ragged { strides, .. } => match dim {
                0 => return None,
                _ => of(strides, dim - 1),
            },
            Layout::Slots { apart, strides, .. } => match dim {
                0 => return apart.map(u64::from),
                _ => of(strides, dim - 1),
            },
        };
        // A stride that is not representable reaches no second element of any buffer; saturation fails the bounds check.
        Some(elements.saturating_mul(size))
    }

    /// Byte offset of an element whose index is in range; `u64::MAX` when not representable, which no buffer reaches.
    pub(super) fn byte_offset(&self, index: &Index, size: u64) -> Result<u64, Fault> {
        let sum = |index: &Index, strides: &[u64]| {
            index.iter().zip(strides).try_fold(0u64, |sum, (&i, &s)| sum.checked_add(i.checked_mul(s)?))
        };
        let offset = match self {
            Layout::Strided { strides, .. } => sum(index, strides).and_then(|e| e.checked_mul(size)),
            Layout::Paged(paged) => {
                let page = u64::from(paged.page(index[0], index[1])?);
                let slot = index[1] % u64::from(paged.page_size.max(1));
                let strides = [paged.page_stride, paged.slot_stride, paged.head_stride, 1];
                sum(&[page, slot, index[2], index[3]], &strides).and_then(|e| e.checked_mul(size))
            }
            Layout::Ragged { starts, strides, .. } => {
                let start =
                    usize::try_from(index[0]).ok().and_then(|o| starts.get(o)).copied().unwrap_or(u64::MAX);
                start
                    .checked_add(index[1])
                    .and_then(|row| row.checked_mul(strides.first().copied().unwrap_or(0)))
                    .and_then(|e| e.checked_add(sum(&index[2..], strides.get(1..).unwrap_or(&[]))?))
                    .and_then(|e| e.checked_mul(size))
            }
            Layout::Slots { slot_bytes, offset, strides, .. } => index[0]
                .checked_mul(u64::from(*slot_bytes))
                .and_then(|b| b.checked_add(u64::from(*offset)))
                .and_then(|b| b.checked_add(sum(&index[1..], strides)?.checked_mul(size)?)),
        };
        Ok(offset.unwrap_or(u64::MAX))
    }
}

impl Paged {
    /// The page that holds a position of a request.
    pub(super) fn page(&self, batch: u64, position: u64) -> Result<u32, Fault> {
        self.pages(batch, position, position).map(|pages| pages[0])
    }

    /// The pages that hold positions `first..=last` of a request.
    pub(super) fn pages(&self, batch: u64, first: u64, last: u64) -> Result<&[u32], Fault> {
        let missing =
            |position| Fault::PageMissing { batch: u32::try_from(batch).unwrap_or(u32::MAX), position };
        let page_size = u64::from(self.page_size);
        let (Some(from), Some(to)) = (first.checked_div(page_size), last.checked_div(page_size)) else {
            return Err(missing(first));
        };
        let have = self.entries(batch).unwrap_or_default();
        let wanted = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        wanted.and_then(|(from, to)| have.get(from..=to)).ok_or_else(|| {
            // The first position that has no page.
            missing(first.max((have.len() as u64).saturating_mul(page_size)))
        })
    }

    /// The pages of a request, as far as the arrays have them.
    fn entries(&self, batch: u64) -> Option<&[u32]> {
        let b = usize::try_from(batch).ok()?;
        let (first, end) = (*self.indptr.get(b)? as usize, *self.indptr.get(b.checked_add(1)?)? as usize);
        self.indices.get(first..end.min(self.indices.len()))
    }

    fn extent(&self, dim: usize, batch: u64) -> u64 {
        match dim {
            0 => self.lengths.len() as u64,
            1 => usize::try_from(batch).ok().and_then(|b| self.lengths.get(b)).map_or(0, |&n| u64::from(n)),
            2 => u64::from(self.heads),
            _ => u64::from(self.lanes),
        }
    }
}

fn ragged_rows(starts: &[u64], outer: u64) -> u64 {
    let Ok(outer) = usize::try_from(outer) else { return 0 };
    match (starts.get(outer), starts.get(outer.saturating_add(1))) {
        (Some(&first), Some(&end)) => end.saturating_sub(first),
        _ => 0,
    }
}
