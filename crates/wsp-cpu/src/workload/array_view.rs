//! Arrays of the caller, which a run uses where they lie.
#![allow(
    unsafe_code,
    reason = "the caller's memory is used from several threads; its contract is that of `new`"
)]

use super::overlap::{Sharing, shares_with_itself, sharing};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use wsp_core::{DType, MAX_RANK};

/// What keeps memory alive.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// What may be done with an array of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewAccess {
    /// Elements may only be read.
    ReadOnly,
    /// Elements may be read and written.
    ReadWrite,
}

/// An array of the caller: an address, an element type, extents and strides.
///
/// A tensor of a workload that is bound to one is read and written there; nothing is copied.
#[derive(Clone)]
pub struct ArrayView {
    ptr: *mut u8,
    dtype: DType,
    dims: Vec<u64>,
    /// Bytes from one index to the next; 0 along dimensions of at most one element and in arrays without elements.
    strides: Vec<usize>,
    /// Bytes from the first element's first to the last element's last.
    span: usize,
    access: ViewAccess,
    owner: Owner,
}

// SAFETY: the contract of `ArrayView::new` lets any thread use the memory.
unsafe impl Send for ArrayView {}
// SAFETY: as for `Send`.
unsafe impl Sync for ArrayView {}

/// An array that cannot be used where it lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// There are elements, and the address is null.
    Null,
}

impl fmt::Display for ViewFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewFault::Strides { dims, strides } => write!(f, "{dims} extents and {strides} strides"),
            ViewFault::Rank { rank } => write!(f, "{rank} dimensions; a tensor has at most {MAX_RANK}"),
            ViewFault::NegativeStride { dim, stride } => {
                write!(
                    f,
                    "dimension {dim} has a stride of {stride} bytes: elements that lie backwards must be copied"
                )
            }
            ViewFault::UnevenStride { dim, stride, size } => write!(
                f,
                "dimension {dim} has a stride of {stride} bytes, which is no multiple of the {size} bytes of an element"
            ),
            ViewFault::TooLarge => f.write_str("the elements span more bytes than can be addressed"),
            ViewFault::Null => f.write_str("the address is null"),
        }
    }
}

impl std::error::Error for ViewFault {}

impl ArrayView {
    /// The array whose element with index 0 in every dimension lies at `ptr`, with `dims` elements and a stride in bytes along
    /// each dimension, outermost first. Elements need no alignment. `owner` is kept as long as the view or a copy of it.
    ///
    /// # Errors
    /// What cannot be used in place, see [`ViewFault`]. Strides of dimensions of at most one element do not matter.
    ///
    /// # Safety
    /// * While `owner` or a copy of it is kept, every element is valid for reads, and for writes under
    ///   [`ViewAccess::ReadWrite`], from any thread, and is initialised.
    /// * While a run goes on to which the view is bound, nothing else writes an element; where tasks of the run may write
    ///   elements, nothing else reads them.
    pub unsafe fn new(
        ptr: *mut u8,
        dtype: DType,
        dims: Vec<u64>,
        strides: Vec<i64>,
        access: ViewAccess,
        owner: Owner,
    ) -> Result<ArrayView, ViewFault> {
        if dims.len() != strides.len() {
            return Err(ViewFault::Strides { dims: dims.len(), strides: strides.len() });
        }
        if dims.len() > MAX_RANK {
            return Err(ViewFault::Rank { rank: dims.len() });
        }
        let size = dtype.size();
        let empty = dims.contains(&0);
        let (mut bytes, mut span) = (Vec::with_capacity(dims.len()), size as u64);
        for (dim, (&extent, &stride)) in dims.iter().zip(&strides).enumerate() {
            if empty || extent == 1 {
                bytes.push(0);
                continue;
            }
            let distance = u64::try_from(stride).map_err(|_| ViewFault::NegativeStride { dim, stride })?;
            if !distance.is_multiple_of(size as u64) {
                return Err(ViewFault::UnevenStride { dim, stride, size });
            }
            let reach = distance.checked_mul(extent - 1).and_then(|reach| span.checked_add(reach));
            span = reach.ok_or(ViewFault::TooLarge)?;
            bytes.push(usize::try_from(distance).map_err(|_| ViewFault::TooLarge)?);
        }
        let span = if empty { 0 } else { usize::try_from(span).map_err(|_| ViewFault::TooLarge)? };
        if span > isize::MAX as usize {
            return Err(ViewFault::TooLarge);
        }
        if span != 0 && ptr.is_null() {
            return Err(ViewFault::Null);
        }
        Ok(ArrayView { ptr, dtype, dims, strides: bytes, span, access, owner })
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.dims
    }

    /// What may be done with it.
    pub fn access(&self) -> ViewAccess {
        self.access
    }

    /// Whether some byte belongs to an element of this array and to one of the other; also where finding out would take too long.
    pub fn may_share_memory(&self, other: &ArrayView) -> bool {
        sharing(self, other) != Sharing::Disjoint
    }

    /// Whether two of its elements may share a byte, so that what is written to one changes the other.
    pub fn may_fold(&self) -> bool {
        shares_with_itself(self)
    }

    pub(super) fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    pub(super) fn strides(&self) -> &[usize] {
        &self.strides
    }

    pub(super) fn span(&self) -> usize {
        self.span
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl fmt::Debug for ArrayView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(dims: &[u64], strides: &[i64]) -> Result<ArrayView, ViewFault> {
        let memory: Arc<[u32; 8]> = Arc::new([0; 8]);
        let ptr = memory.as_ptr().cast_mut().cast();
        // SAFETY: no test reads or writes an element.
        unsafe {
            ArrayView::new(ptr, DType::F32, dims.to_vec(), strides.to_vec(), ViewAccess::ReadOnly, memory)
        }
    }

    #[test]
    fn what_cannot_be_used_in_place_is_refused_with_its_numbers() {
        let fault = |dims: &[u64], strides: &[i64]| view(dims, strides).unwrap_err();
        assert_eq!(fault(&[2, 3], &[4]), ViewFault::Strides { dims: 2, strides: 1 });
        assert_eq!(fault(&[1; 7], &[4; 7]), ViewFault::Rank { rank: 7 });
        assert_eq!(fault(&[2, 2], &[8, -4]), ViewFault::NegativeStride { dim: 1, stride: -4 });
        assert_eq!(fault(&[2], &[6]), ViewFault::UnevenStride { dim: 0, stride: 6, size: 4 });
        assert_eq!(fault(&[u64::MAX, 2], &[1 << 40, 4]), ViewFault::TooLarge);
        assert!(fault(&[2], &[6]).to_string().contains("6 bytes"));
    }

    #[test]
    fn strides_that_reach_no_second_element_do_not_matter() {
        assert_eq!(view(&[1, 2], &[-7, 4]).expect("one row").span(), 8);
        assert_eq!(view(&[0, 2], &[-7, 3]).expect("no rows").span(), 0);
        assert_eq!(view(&[3, 2], &[0, 4]).expect("a row three times").span(), 8);
    }
}
