//! Elements of a buffer: a type, extents, strides.

use crate::address::{Address, Bytes};
use crate::buffer::{Buffer, Space, ViewAccess};
use crate::overlap::{Sharing, shares_with_itself, sharing};
use crate::range::ByteRange;
use std::fmt;
use std::sync::Arc;
use wsp_core::words::counted;
use wsp_core::{DType, MAX_RANK, Region, TensorId};

/// Elements where they lie: a type, extents, and the bytes from one element to the next along each dimension.
#[derive(Clone)]
pub struct View {
    /// From the first byte of the element whose indices are all 0 to the last byte of the last element.
    range: ByteRange,
    dtype: DType,
    access: ViewAccess,
    rank: usize,
    /// Extents, of 32 bits; 1 along the dimensions that it lacks, as in regions.
    dims: [u64; MAX_RANK],
    /// Bytes from one index to the next. Those along dimensions of at most one element, and in views without elements, have no
    /// meaning.
    strides: [usize; MAX_RANK],
}

/// Elements that cannot be used where they lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ViewFault {
    /// There are not as many strides as extents.
    Strides {
        /// Extents.
        dims: usize,
        /// Strides.
        strides: usize,
    },
    /// More dimensions than a tensor may have.
    Rank {
        /// Dimensions.
        rank: usize,
    },
    /// Elements are laid out backwards.
    NegativeStride {
        /// The dimension.
        dim: usize,
        /// Its stride in bytes.
        stride: i64,
    },
    /// The distance of neighbours is no multiple of their size.
    UnevenStride {
        /// The dimension.
        dim: usize,
        /// Its stride in bytes.
        stride: i64,
        /// Bytes of an element.
        size: usize,
    },
    /// The elements span more bytes than can be addressed.
    TooLarge,
    /// More elements along a dimension than regions reach.
    Extent {
        /// The dimension.
        dim: usize,
        /// Its extent.
        extent: u64,
    },
    /// There are elements, and the address is null.
    Null,
    /// Elements lie outside of the buffer.
    Outside {
        /// The first byte of the elements in the buffer.
        first: usize,
        /// Bytes from there to the end of the last element.
        span: usize,
        /// Bytes of the buffer.
        bytes: usize,
    },
}

impl fmt::Display for ViewFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewFault::Strides { dims, strides } => {
                write!(f, "{dims} and {strides} strides", dims = counted(dims, "extent"))
            }
            ViewFault::Rank { rank } => {
                write!(f, "{rank}; a tensor has at most {MAX_RANK}", rank = counted(rank, "dimension"))
            }
            ViewFault::NegativeStride { dim, stride } => {
                write!(
                    f,
                    "dimension {dim} has a stride of {stride}: elements that lie backwards must be copied",
                    stride = counted(stride, "byte")
                )
            }
            ViewFault::UnevenStride { dim, stride, size } => write!(
                f,
                "dimension {dim} has a stride of {stride}, which is no multiple of the {size} of an element",
                stride = counted(stride, "byte"),
                size = counted(size, "byte")
            ),
            ViewFault::TooLarge => f.write_str("the elements span more bytes than can be addressed"),
            ViewFault::Extent { dim, extent } => {
                write!(
                    f,
                    "dimension {dim} has {extent}; regions reach {}",
                    u32::MAX,
                    extent = counted(extent, "element")
                )
            }
            ViewFault::Null => f.write_str("the address is null"),
            ViewFault::Outside { first, span, bytes } => {
                write!(
                    f,
                    "the elements take {span} from byte {first} on, of a buffer that has {bytes}",
                    span = counted(span, "byte")
                )
            }
        }
    }
}

impl std::error::Error for ViewFault {}

impl View {
    /// Elements of a buffer, of which the one with index 0 in every dimension begins at byte `first`, with `dims` elements and a
    /// stride in bytes along each dimension, outermost first. They may be written if the buffer may be.
    ///
    /// # Errors
    /// What cannot be used in place, see [`ViewFault`]. Strides of dimensions of at most one element do not matter.
    pub fn new(
        buffer: Arc<Buffer>,
        first: usize,
        dtype: DType,
        dims: &[u64],
        strides: &[i64],
    ) -> Result<View, ViewFault> {
        let (strides, span) = laid_out(dtype, dims, strides)?;
        let (bytes, access) = (buffer.bytes(), buffer.access());
        let range = ByteRange::whole(buffer).part(first, span);
        let range = range.ok_or(ViewFault::Outside { first, span, bytes })?;
        let mut all = [1; MAX_RANK];
        all[..dims.len()].copy_from_slice(dims);
        Ok(View { range, dtype, access, rank: dims.len(), dims: all, strides })
    }

    /// Elements in row-major order without gaps from the begin of a buffer on.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn dense(buffer: Arc<Buffer>, dtype: DType, dims: &[u64]) -> Result<View, ViewFault> {
        let mut strides = vec![dtype.size() as i64; dims.len()];
        for d in (1..dims.len()).rev() {
            let extent = i64::try_from(dims[d]).map_err(|_| ViewFault::TooLarge)?;
            strides[d - 1] = strides[d].checked_mul(extent).ok_or(ViewFault::TooLarge)?;
        }
        View::new(buffer, 0, dtype, dims, &strides)
    }

    /// Bytes from the first element's first to the last element's last of elements that lie so: what a buffer over them has at
    /// least.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn span_of(dtype: DType, dims: &[u64], strides: &[i64]) -> Result<usize, ViewFault> {
        laid_out(dtype, dims, strides).map(|(_, span)| span)
    }

    /// The same elements, which may only be read.
    #[must_use]
    pub fn read_only(self) -> View {
        View { access: ViewAccess::ReadOnly, ..self }
    }

    /// The elements of a region; none where it does not lie in the view. Which tensor it names does not matter.
    pub fn part(&self, region: &Region) -> Option<View> {
        let (ptr, span) = self.extent(region)?;
        // SAFETY: the region lies in the view, and so do the bytes from its first element to its last.
        let range = unsafe { self.range.moved_to(Address::new(ptr), span) };
        let dims = std::array::from_fn(|d| u64::from(region.hi[d] - region.lo[d]));
        Some(View { range, dims, ..*self })
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.dims[..self.rank]
    }

    /// Bytes from one index to the next, per dimension. Those along dimensions of at most one element have no meaning.
    pub fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    /// [`strides`](Self::strides), with those of the dimensions that it lacks.
    #[inline]
    pub fn all_strides(&self) -> &[usize; MAX_RANK] {
        &self.strides
    }

    /// Bytes from the first element's first to the last element's last.
    pub fn span(&self) -> usize {
        self.range.count()
    }

    /// Those bytes.
    pub fn range(&self) -> &ByteRange {
        &self.range
    }

    /// The same elements by another range over their bytes.
    pub(crate) fn with_range(self, f: impl FnOnce(ByteRange) -> ByteRange) -> View {
        View { range: f(self.range), ..self }
    }

    /// As [`Buffer::alone`].
    pub(crate) fn alone(&mut self) -> Option<&mut Buffer> {
        self.range.alone()
    }

    /// What may be done with the elements.
    pub fn access(&self) -> ViewAccess {
        self.access
    }

    /// Where the elements are.
    pub fn space(&self) -> Space {
        self.range.buffer().space()
    }

    /// The buffer that it lies in.
    pub fn buffer(&self) -> &Arc<Buffer> {
        self.range.buffer()
    }

    /// Gives up the view for its buffer.
    pub fn into_buffer(self) -> Arc<Buffer> {
        self.range.into_buffer()
    }

    /// Address of the element whose indices are all 0. What is done at it is to rest on the argument of [this crate](crate).
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        self.range.ptr()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_dense(&self) -> bool {
        let mut step = self.dtype.size();
        (0..self.rank).rev().all(|d| {
            let fits = self.dims[d] <= 1 || self.strides[d] == step;
            step = step.saturating_mul(self.dims[d] as usize);
            fits || self.span() == 0
        })
    }

    /// The region of all elements; of tensor 0, which is not looked at.
    pub fn whole(&self) -> Region {
        // No extent has more than 32 bits.
        Region { tensor: TensorId(0), lo: [0; MAX_RANK], hi: self.dims.map(|extent| extent as u32) }
    }

    /// Bytes of the elements of a region, without those that lie between them.
    pub fn region_bytes(&self, region: &Region) -> usize {
        let extents = region.lo.iter().zip(&region.hi).map(|(lo, hi)| (hi - lo) as usize);
        self.dtype.size() * extents.product::<usize>()
    }

    /// Whether both are the same elements at the same place.
    pub(crate) fn is_same(&self, other: &View) -> bool {
        (self.ptr(), self.dtype, self.dims, self.strides, self.space())
            == (other.ptr(), other.dtype, other.dims, other.strides, other.space())
    }

    /// Whether some byte belongs to an element of this view and to one of the other.
    pub fn sharing(&self, other: &View) -> Sharing {
        sharing(self, other)
    }

    /// Whether some byte belongs to an element of this view and to one of the other; also where finding out would take too long.
    pub fn may_share_memory(&self, other: &View) -> bool {
        sharing(self, other) != Sharing::Disjoint
    }

    /// Whether two elements of it may share a byte: some stride is shorter than what lies between two of its steps.
    pub fn shares_with_itself(&self) -> bool {
        shares_with_itself(self)
    }

    /// The first element of a region, and the bytes from there to the end of its last element, 0 in an empty region. None where the region
    /// does not lie in the view.
    #[inline]
    pub fn extent(&self, region: &Region) -> Option<(*mut u8, usize)> {
        let (mut inside, mut empty, mut first, mut bytes) = (true, false, 0usize, self.dtype.size());
        for d in 0..MAX_RANK {
            let (lo, hi) = (region.lo[d], region.hi[d]);
            inside &= lo <= hi && u64::from(hi) <= self.dims[d];
            empty |= lo == hi;
            // What wraps belongs to a region that has no element or does not lie in the view.
            first = first.wrapping_add((lo as usize).wrapping_mul(self.strides[d]));
            let reach = (hi as usize).wrapping_sub(lo as usize).wrapping_sub(1);
            bytes = bytes.wrapping_add(reach.wrapping_mul(self.strides[d]));
        }
        if !inside {
            return None;
        }
        // A region with elements begins in the view; an empty one stays where that begins.
        Some(if empty { (self.ptr(), 0) } else { (self.ptr().wrapping_add(first), bytes) })
    }

    /// The bytes of a region from its first element's first to its last element's last, as kernels of a run have them. None where
    /// the region does not lie in the view.
    ///
    /// # Safety
    /// As for [`ByteRange::bytes`], of the elements of the region.
    #[inline]
    pub unsafe fn bytes(&self, region: &Region) -> Option<Bytes> {
        let (ptr, count) = self.extent(region)?;
        // SAFETY: the bytes lie in the view, which is kept with the record; the rest is the caller's promise.
        Some(unsafe { Bytes::recorded(Address::new(ptr), count, self.range.stored()) })
    }

    /// The first element of a region that has these extents, if it lies in the view. It must have elements.
    #[inline]
    pub fn first_of(&self, region: &Region, extents: &[u32; MAX_RANK]) -> Option<*mut u8> {
        let (mut fits, mut first) = (true, 0usize);
        for (d, extent) in extents.iter().enumerate().take(self.rank) {
            let (lo, hi) = (region.lo[d], region.hi[d]);
            fits &= lo <= hi && u64::from(hi) <= self.dims[d] && hi.wrapping_sub(lo) == *extent;
            // What wraps belongs to a region that does not lie in the view.
            first = first.wrapping_add((lo as usize).wrapping_mul(self.strides[d]));
        }
        fits.then(|| self.ptr().wrapping_add(first))
    }

    /// Calls `f` with offset from [`ptr`](Self::ptr) and length in bytes of every contiguous run of a region, in row-major order: a dense
    /// view is one. A region that does not lie in the view has none.
    pub fn runs(&self, region: &Region, mut f: impl FnMut(usize, usize)) {
        if self.extent(region).is_none_or(|(_, bytes)| bytes == 0) {
            return;
        }
        // The inner dimensions whose elements follow each other are one run.
        let (mut outer, mut bytes) = (self.rank, self.dtype.size());
        while let Some(d) = outer.checked_sub(1) {
            let count = (region.hi[d] - region.lo[d]) as usize;
            if count > 1 && self.strides[d] != bytes {
                break;
            }
            (outer, bytes) = (d, bytes * count);
        }
        // Of the others, the innermost is stepped through, and the rest counted.
        let last = outer.saturating_sub(1);
        let (count, step) = match outer {
            0 => (1, 0),
            _ => ((region.hi[last] - region.lo[last]) as usize, self.strides[last]),
        };
        let mut index = region.lo;
        loop {
            let offset: usize = (0..self.rank).map(|d| index[d] as usize * self.strides[d]).sum();
            (0..count).for_each(|i| f(offset + i * step, bytes));
            let Some(next) = (0..last).rev().find(|&d| index[d] + 1 < region.hi[d]) else { return };
            index[next] += 1;
            index[next + 1..last].copy_from_slice(&region.lo[next + 1..last]);
        }
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape())
    }
}

/// Strides of all dimensions, and the bytes that the elements span.
fn laid_out(dtype: DType, dims: &[u64], strides: &[i64]) -> Result<([usize; MAX_RANK], usize), ViewFault> {
    if dims.len() != strides.len() {
        return Err(ViewFault::Strides { dims: dims.len(), strides: strides.len() });
    }
    if dims.len() > MAX_RANK {
        return Err(ViewFault::Rank { rank: dims.len() });
    }
    let size = dtype.size();
    let empty = dims.contains(&0);
    let (mut bytes, mut span) = ([0; MAX_RANK], size as u64);
    for (dim, (&extent, &stride)) in dims.iter().zip(strides).enumerate() {
        if empty || extent == 1 {
            continue;
        }
        let distance = u64::try_from(stride).map_err(|_| ViewFault::NegativeStride { dim, stride })?;
        if !distance.is_multiple_of(size as u64) {
            return Err(ViewFault::UnevenStride { dim, stride, size });
        }
        let reach = distance.checked_mul(extent - 1).and_then(|reach| span.checked_add(reach));
        span = reach.ok_or(ViewFault::TooLarge)?;
        bytes[dim] = usize::try_from(distance).map_err(|_| ViewFault::TooLarge)?;
    }
    if let Some(dim) = dims.iter().position(|&extent| extent > u64::from(u32::MAX)) {
        return Err(ViewFault::Extent { dim, extent: dims[dim] });
    }
    let span = if empty { 0 } else { usize::try_from(span).map_err(|_| ViewFault::TooLarge)? };
    if span > isize::MAX as usize {
        return Err(ViewFault::TooLarge);
    }
    Ok((bytes, span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(dims: &[u64], strides: &[i64]) -> Result<View, ViewFault> {
        View::new(Buffer::zeros(32, 64).expect("it is small"), 0, DType::F32, dims, strides)
    }

    #[test]
    fn what_cannot_be_used_in_place_is_refused_with_its_numbers() {
        let fault = |dims: &[u64], strides: &[i64]| view(dims, strides).unwrap_err();
        assert_eq!(fault(&[2, 3], &[4]), ViewFault::Strides { dims: 2, strides: 1 });
        assert_eq!(fault(&[1; 7], &[4; 7]), ViewFault::Rank { rank: 7 });
        assert_eq!(fault(&[2, 2], &[8, -4]), ViewFault::NegativeStride { dim: 1, stride: -4 });
        assert_eq!(fault(&[2], &[6]), ViewFault::UnevenStride { dim: 0, stride: 6, size: 4 });
        assert_eq!(fault(&[u64::MAX, 2], &[1 << 40, 4]), ViewFault::TooLarge);
        assert_eq!(fault(&[2, 1 << 32], &[4, 0]), ViewFault::Extent { dim: 1, extent: 1 << 32 });
        assert!(fault(&[2], &[6]).to_string().contains("6 bytes"));
    }

    #[test]
    fn strides_that_reach_no_second_element_do_not_matter() {
        assert_eq!(view(&[1, 2], &[-7, 4]).expect("one row").span(), 8);
        assert_eq!(view(&[0, 2], &[-7, 3]).expect("no rows").span(), 0);
        assert_eq!(view(&[3, 2], &[0, 4]).expect("a row three times").span(), 8);
    }

    #[test]
    fn a_view_lies_in_its_buffer() {
        let buffer = Buffer::zeros(32, 64).expect("it is small");
        let from =
            |first: usize, rows: u64| View::new(buffer.clone(), first, DType::F32, &[rows, 2], &[12, 4]);
        assert_eq!(from(0, 3).map(|view| view.span()), Ok(32));
        assert_eq!(from(4, 3).unwrap_err(), ViewFault::Outside { first: 4, span: 32, bytes: 32 });
        assert_eq!(from(12, 2).map(|view| view.ptr().addr() - buffer.ptr().addr()), Ok(12));
        assert!(from(usize::MAX, 1).is_err());
        assert_eq!(from(32, 0).map(|view| view.span()), Ok(0));
        assert!(from(33, 0).is_err());
    }

    #[test]
    fn a_part_has_the_elements_of_its_region_and_a_region_outside_is_none() {
        let view =
            View::dense(Buffer::zeros(60, 64).expect("it is small"), DType::U32, &[3, 5]).expect("it fits");
        let region = |lo: [u32; 2], hi: [u32; 2]| Region::new(TensorId(9), &lo, &hi).expect("ranks agree");
        let part = view.part(&region([1, 2], [3, 4])).expect("it lies inside");
        assert_eq!((part.shape(), part.strides(), part.span()), (&[2, 2][..], &[20, 4][..], 28));
        assert_eq!(part.ptr().addr() - view.ptr().addr(), 28);
        assert!(
            !part.is_dense()
                && view.is_dense()
                && view.part(&region([1, 0], [2, 5])).expect("a row").is_dense()
        );
        assert!(view.part(&region([1, 2], [4, 4])).is_none());
        assert!(view.part(&region([2, 2], [1, 4])).is_none());
        assert_eq!(view.part(&region([3, 5], [3, 5])).expect("no elements, at the end").span(), 0);
        assert!(part.part(&region([0, 0], [2, 3])).is_none(), "a part of a part stays in it");
    }

    #[test]
    fn what_is_read_only_stays_so_in_its_parts() {
        let view = view(&[2, 2], &[8, 4]).expect("it fits").read_only();
        let part = view.part(&view.whole()).expect("all of it");
        assert_eq!(part.access(), ViewAccess::ReadOnly);
    }
}
