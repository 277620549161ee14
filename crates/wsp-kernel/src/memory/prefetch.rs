//! Bringing data near before a task needs it.

use super::{Clip, RowsView, Shape, TensorMem, Window};
use wsp_core::Region;

/// Most that is fetched of one region: a query, not its keys and values. A task asks for the rest of what it reads in a row in
/// time, so that more would only keep the task waiting that runs meanwhile.
const MOST_BYTES: u64 = 4096;
/// Bytes of a cache line.
const LINE: usize = 64;

impl TensorMem {
    /// Asks the processor to fetch the cache lines of a region of at most [`MOST_BYTES`]; a larger one is left to the task that reads
    /// it. Parts outside the array are left out; nothing but `view` changes, which then has the rows that were asked for.
    pub(crate) fn prefetch(&self, region: &Region, view: &mut RowsView) {
        view.clear();
        let rank = self.rank();
        if rank == 0 || rank > region.lo.len() || region.is_empty() {
            return;
        }
        let index = region.lo.map(u64::from);
        let extent = |d: usize| {
            let end = u64::from(region.hi[d]).min(self.layout().extent(d, &index[..rank]));
            u32::try_from(end.saturating_sub(index[d])).unwrap_or(u32::MAX)
        };
        let elements = (0..rank).map(|d| u64::from(extent(d))).fold(1, u64::saturating_mul);
        if elements.saturating_mul(self.dtype().size() as u64) > MOST_BYTES {
            return;
        }
        let col = rank - 1;
        let row = (0..col).rev().find(|&d| extent(d) > 1);
        let at =
            Window { index: &region.lo[..rank], row_dim: row.map(|d| d as u8), col_dim: Some(col as u8) };
        let want = Shape::new(row.map_or(1, extent), extent(col));
        if self.locate(at, want, Clip::Clamp, view).is_err() {
            return;
        }
        let bytes = (view.cols as usize).saturating_mul(view.col_stride);
        view.starts().iter().for_each(|row| prefetch_bytes(*row, bytes));
    }
}

/// Asks the processor to fetch the cache lines of some bytes, which need not be valid.
pub(crate) fn prefetch_bytes(first: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|b| prefetch_line(first.wrapping_add(b)));
}

#[cfg(target_arch = "x86_64")]
fn prefetch_line(line: *const u8) {
    // SAFETY: a prefetch reads nothing and never faults, whatever the address.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(line.cast()) }
}

#[cfg(target_arch = "aarch64")]
fn prefetch_line(line: *const u8) {
    // SAFETY: a prefetch reads nothing and never faults, whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags));
    }
}

/// Other processors fetch ahead on their own.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn prefetch_line(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Layout;
    use wsp_core::{DType, MAX_RANK, TensorId};
    use wsp_memory::Bytes;

    /// Rows and columns that are asked for of rows `lo..hi` of an array of 100 rows of 64 floats, all columns.
    fn asked(lo: u32, hi: u32) -> (u32, u32) {
        let mut floats = vec![0f32; 6400];
        let layout = Layout::Strided { dims: vec![100, 64], strides: vec![64, 1] };
        // SAFETY: the array outlives its use, and nobody else uses it.
        let bytes = unsafe { Bytes::new(floats.as_mut_ptr().cast(), 25_600) };
        let array = TensorMem::new(bytes, DType::F32, layout);
        let mut region = Region { tensor: TensorId(0), lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        (region.lo[0], region.hi[0], region.hi[1]) = (lo, hi, u32::MAX);
        let mut view = RowsView::empty();
        array.prefetch(&region, &mut view);
        (view.rows, view.cols)
    }

    #[test]
    fn a_small_region_is_asked_for_as_far_as_it_exists() {
        assert_eq!(asked(3, 19), (16, 64));
        assert_eq!(asked(98, 107), (2, 64));
        assert_eq!(asked(99, u32::MAX), (1, 64));
        assert_eq!(asked(100, 101), (0, 0));
    }

    #[test]
    fn a_large_region_is_left_to_its_task() {
        assert_eq!(asked(3, 20), (0, 0));
        assert_eq!(asked(0, u32::MAX), (0, 0));
    }
}
