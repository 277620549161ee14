//! Rows of an array in memory.

use super::Shape;
use wsp_core::DType;
use wsp_memory::Address;

/// A run of rows, evenly spaced.
///
/// Whoever builds one has checked that every element of every row lies in the array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// First element of the first row.
    pub(crate) ptr: *mut u8,
    /// Rows, at least 1.
    pub(crate) rows: usize,
    /// Bytes between rows; 0 when there is only one.
    pub(crate) stride: usize,
}

/// What a tile covers of an array: rows, top to bottom, all with the same columns.
#[derive(Clone, Debug)]
pub(crate) struct RowsView {
    /// First element of each row; none when there are no rows or no columns.
    starts: Vec<Address>,
    /// Rows in all.
    pub(crate) rows: u32,
    /// Columns.
    pub(crate) cols: u32,
    /// Bytes between columns.
    pub(crate) col_stride: usize,
    /// Element type.
    pub(crate) dtype: DType,
}

impl Default for RowsView {
    fn default() -> RowsView {
        RowsView::empty()
    }
}

impl RowsView {
    /// A view of nothing.
    pub(crate) fn empty() -> RowsView {
        RowsView { starts: Vec::new(), rows: 0, cols: 0, col_stride: 0, dtype: DType::F32 }
    }

    /// Forgets every address; keeps the allocation.
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
        self.rows = 0;
        self.cols = 0;
    }

    /// Whether the elements of a row lie side by side.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.cols <= 1 || self.col_stride == self.dtype.size()
    }

    /// First element of each row, top to bottom.
    pub(crate) fn starts(&self) -> &[*mut u8] {
        Address::pointers(&self.starts)
    }

    /// Bytes from the first element of a row to the end of its last one, where they lie side by side.
    pub(crate) fn row_bytes(&self) -> usize {
        self.cols as usize * self.dtype.size()
    }

    /// Calls `f` with row and column, address and bytes of every run of elements that lie side by side in a row, top to bottom,
    /// until it answers false.
    pub(crate) fn runs(&self, mut f: impl FnMut(Shape, *const u8, usize) -> bool) {
        let (step, bytes) = match self.is_contiguous() {
            true => (self.cols.max(1) as usize, self.row_bytes()),
            false => (1, self.dtype.size()),
        };
        for (row, start) in (0..).zip(self.starts()) {
            for col in (0..self.cols).step_by(step) {
                let ptr = start.wrapping_add(col as usize * self.col_stride);
                if !f(Shape::new(row, col), ptr, bytes) {
                    return;
                }
            }
        }
    }

    /// Adds a run of rows.
    pub(super) fn push(&mut self, run: Segment) {
        // `wrapping_add` stays in the array: only rows of the run are added.
        self.starts.extend((0..run.rows).map(|r| Address::new(run.ptr.wrapping_add(r * run.stride))));
    }
}
