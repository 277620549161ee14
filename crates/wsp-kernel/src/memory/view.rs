//! Rows of an array in memory.

use wsp_core::DType;

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

/// What a tile covers of an array: runs of rows, top to bottom, all with the same columns.
#[derive(Clone, Debug)]
pub(crate) struct RowsView {
    /// The runs; none when there are no rows or no columns.
    pub(crate) segments: Vec<Segment>,
    /// Rows in all.
    pub(crate) rows: u32,
    /// Columns.
    pub(crate) cols: u32,
    /// Bytes between columns.
    pub(crate) col_stride: usize,
    /// Element type.
    pub(crate) dtype: DType,
}

// SAFETY: the pointer comes from a `TensorMem`, which any thread may use under the contract of `TensorMem::new`.
unsafe impl Send for Segment {}

impl RowsView {
    /// A view of nothing.
    pub(crate) fn empty() -> RowsView {
        RowsView { segments: Vec::new(), rows: 0, cols: 0, col_stride: 0, dtype: DType::F32 }
    }

    /// Forgets every address; keeps the allocation.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
        self.rows = 0;
        self.cols = 0;
    }

    /// Whether the elements of a row lie side by side.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.cols <= 1 || self.col_stride == self.dtype.size()
    }

    /// First element of each row, top to bottom.
    pub(crate) fn row_ptrs(&self) -> impl Iterator<Item = *mut u8> + '_ {
        // `wrapping_add` stays in the array: only rows of the segment are visited.
        self.segments.iter().flat_map(|s| (0..s.rows).map(move |r| s.ptr.wrapping_add(r * s.stride)))
    }

    /// Adds a run of rows, joining it to the last one where memory goes on evenly.
    pub(super) fn push(&mut self, run: Segment) {
        if let Some(last) = self.segments.last_mut() {
            let next = last.ptr.wrapping_add(last.rows * last.stride);
            if last.rows > 1 && next == run.ptr && (run.rows == 1 || run.stride == last.stride) {
                last.rows += run.rows;
                return;
            }
        }
        self.segments.push(run);
    }
}
