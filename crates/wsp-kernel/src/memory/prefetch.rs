//! Bringing data near before a task needs it.

use super::{Clip, RowsView, Shape, TensorMem, Window};
use wsp_core::Region;

/// Most cache lines that one call asks for: the start of a task's inputs, up to where its matrix products ask for the rest in time.
const MOST_LINES: usize = 128;
/// Bytes of a cache line.
const LINE: usize = 64;

impl TensorMem {
    /// Asks the processor to fetch the first cache lines of a box. Parts outside the array are left out; nothing changes.
    pub fn prefetch(&self, region: &Region) {
        let rank = self.rank();
        if rank == 0 || rank > region.lo.len() || region.is_empty() {
            return;
        }
        let extent = |d: usize| region.hi[d] - region.lo[d];
        let col = rank - 1;
        let row = (0..col).rev().find(|&d| extent(d) > 1);
        let at =
            Window { index: &region.lo[..rank], row_dim: row.map(|d| d as u8), col_dim: Some(col as u8) };
        let want = Shape::new(row.map_or(1, extent).min(MOST_LINES as u32), extent(col));
        let mut view = RowsView::empty();
        if self.locate(at, want, Clip::Clamp, &mut view).is_err() {
            return;
        }
        let bytes = (view.cols as usize).saturating_mul(view.col_stride);
        let lines =
            view.starts().iter().flat_map(|row| (0..bytes).step_by(LINE).map(move |b| row.wrapping_add(b)));
        lines.take(MOST_LINES).for_each(|line| prefetch_line(line));
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
