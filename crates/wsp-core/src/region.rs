//! Regions over tensors: what a task reads or writes.

use crate::TensorId;

pub use crate::limits::MAX_RANK;

/// How a task uses a region or bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// It may load from them, and does not store.
    Read,
    /// It may store to them, and load.
    Write,
}

/// A half-open region `[lo, hi)` in the index space of one tensor.
///
/// Dimensions past the tensor's rank are `[0, 1)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Region {
    /// The tensor the region lies in.
    pub tensor: TensorId,
    /// First index of each dimension.
    pub lo: [u32; MAX_RANK],
    /// One past the last index of each dimension.
    pub hi: [u32; MAX_RANK],
}

impl Region {
    /// A region from its bounds; `None` when the ranks differ or exceed [`MAX_RANK`].
    pub fn new(tensor: TensorId, lo: &[u32], hi: &[u32]) -> Option<Region> {
        if lo.len() != hi.len() || lo.len() > MAX_RANK {
            return None;
        }
        let mut region = Region { tensor, lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        region.lo[..lo.len()].copy_from_slice(lo);
        region.hi[..hi.len()].copy_from_slice(hi);
        Some(region)
    }

    /// Whether no element lies in the region.
    pub fn is_empty(&self) -> bool {
        self.lo.iter().zip(&self.hi).any(|(lo, hi)| lo >= hi)
    }

    /// Whether two regions of the same tensor share an element.
    pub fn overlaps(&self, other: &Region) -> bool {
        self.tensor == other.tensor
            && (0..MAX_RANK).all(|d| self.lo[d].max(other.lo[d]) < self.hi[d].min(other.hi[d]))
    }

    /// Whether every element of `other` lies in this region.
    pub fn covers(&self, other: &Region) -> bool {
        self.tensor == other.tensor
            && (other.is_empty()
                || (0..MAX_RANK).all(|d| self.lo[d] <= other.lo[d] && other.hi[d] <= self.hi[d]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(lo: &[u32], hi: &[u32]) -> Region {
        Region::new(TensorId(1), lo, hi).expect("ranks agree")
    }

    #[test]
    fn adjacent_regions_do_not_overlap() {
        assert!(!region(&[0, 0], &[4, 4]).overlaps(&region(&[4, 0], &[8, 4])));
        assert!(region(&[0, 0], &[5, 4]).overlaps(&region(&[4, 0], &[8, 4])));
    }

    #[test]
    fn empty_regions_overlap_nothing_and_are_covered_by_everything() {
        let empty = region(&[3], &[3]);
        assert!(empty.is_empty());
        assert!(!empty.overlaps(&region(&[0], &[9])));
        assert!(region(&[0], &[1]).covers(&empty));
    }

    #[test]
    fn regions_of_different_tensors_never_overlap() {
        let mut other = region(&[0], &[9]);
        other.tensor = TensorId(2);
        assert!(!region(&[0], &[9]).overlaps(&other));
    }

    #[test]
    fn a_rank_above_the_limit_is_refused() {
        assert!(Region::new(TensorId(0), &[0; 7], &[1; 7]).is_none());
        assert!(Region::new(TensorId(0), &[0; 2], &[1; 3]).is_none());
    }
}
