//! From indices to rows in memory.

use super::{Fault, Layout, Paged, RowsView, Segment, Shape, TensorMem};

/// Most indices of one element: those of a tensor and the slot of a workspace field.
pub(crate) const MAX_INDICES: usize = wsp_core::MAX_RANK + 2;

/// Where a tile lies in a tensor: the first element, and the dimensions its rows and columns follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// One index per dimension; a byte offset for the slot dimension of a workspace field.
    pub(crate) index: &'a [u32],
    /// Dimension that rows follow; without one there is one row.
    pub(crate) row_dim: Option<u8>,
    /// Dimension that columns follow; without one there is one column.
    pub(crate) col_dim: Option<u8>,
}

/// What happens to rows or columns past the end of their dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clip {
    /// They are left out.
    Clamp,
    /// They are a fault.
    Strict,
}

impl TensorMem {
    /// The rows that a tile of at most `want` covers at `at`, into `view`.
    ///
    /// # Errors
    /// `IndexOutOfBounds` for an index past the end of a dimension that neither rows nor columns follow, `StorePastEnd` for rows
    /// or columns past the end when `clip` is strict, `ShapeMismatch` for several rows (columns) without a dimension to follow
    /// when `clip` is strict, and whatever is wrong with the layout.
    pub(crate) fn locate(
        &self,
        at: Window<'_>,
        want: Shape,
        clip: Clip,
        view: &mut RowsView,
    ) -> Result<(), Fault> {
        view.clear();
        let mut buffer = [0; MAX_INDICES];
        let index = self.normalise(at.index, &mut buffer)?;
        let rows = self.clamp(at.row_dim, index, want.rows, clip)?;
        let cols = self.clamp(at.col_dim, index, want.cols, clip)?;
        if clip == Clip::Strict && (rows != want.rows || cols != want.cols) {
            return Err(Fault::ShapeMismatch { have: want, need: Shape::new(rows, cols) });
        }
        self.check_fixed(at, index, rows)?;
        let size = self.dtype().size() as u64;
        let col_stride = match at.col_dim {
            Some(dim) if cols > 1 => {
                self.layout().byte_stride(usize::from(dim), size).ok_or(Fault::ColumnDimension { dim })?
            }
            _ => size,
        };
        view.dtype = self.dtype();
        (view.rows, view.cols) = (rows, cols);
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        let width = (u64::from(cols) - 1).saturating_mul(col_stride).saturating_add(size);
        let found = self.runs(at.row_dim, index, rows, width, view);
        // One row at most `bytes` wide passed the check, so the stride fits.
        view.col_stride = usize::try_from(col_stride).unwrap_or(0);
        if found.is_err() {
            view.clear();
        }
        found
    }

    /// Elements along a dimension at an index, whose slot dimension counts bytes.
    pub(crate) fn extent_at(&self, dim: u8, index: &[u32]) -> u64 {
        let mut buffer = [0; MAX_INDICES];
        self.normalise(index, &mut buffer).map_or(0, |index| self.layout().extent(usize::from(dim), index))
    }

    /// The address of one element.
    pub(crate) fn locate_element(&self, index: &[u32]) -> Result<*mut u8, Fault> {
        let mut buffer = [0; MAX_INDICES];
        let at = Window { index, row_dim: None, col_dim: None };
        let index = self.normalise(index, &mut buffer)?;
        self.check_fixed(at, index, 1)?;
        let size = self.dtype().size() as u64;
        let offset = self.layout().byte_offset(index, size)?;
        Ok(self.segment(offset, 1, 0, size)?.ptr)
    }

    /// The index in elements: a slot's byte offset becomes the number of the slot.
    fn normalise<'b>(
        &self,
        index: &[u32],
        buffer: &'b mut [u64; MAX_INDICES],
    ) -> Result<&'b mut [u64], Fault> {
        let rank = self.rank();
        if index.len() != rank || rank > MAX_INDICES {
            return Err(Fault::Rank { have: limit_u32(index.len()), need: limit_u32(rank) });
        }
        for (to, &from) in buffer.iter_mut().zip(index) {
            *to = u64::from(from);
        }
        if let Layout::Slots { slots, slot_bytes, .. } = *self.layout() {
            let offset = index[0];
            match offset.checked_rem(slot_bytes) {
                Some(0) => buffer[0] /= u64::from(slot_bytes),
                Some(_) => return Err(Fault::SlotMisaligned { offset, slot_bytes }),
                // Slots of no bytes: only the first exists.
                None if offset == 0 => {}
                None => {
                    let extent = u64::from(slots) * u64::from(slot_bytes);
                    return Err(Fault::IndexOutOfBounds { dim: 0, index: u64::from(offset), extent });
                }
            }
        }
        Ok(&mut buffer[..rank])
    }

    /// How many of `want` elements exist along `dim` from the index on.
    fn clamp(&self, dim: Option<u8>, index: &[u64], want: u32, clip: Clip) -> Result<u32, Fault> {
        let Some(dim) = dim else { return Ok(want.min(1)) };
        let first = *index
            .get(usize::from(dim))
            .ok_or(Fault::Rank { have: limit_u32(index.len()), need: u32::from(dim) + 1 })?;
        let extent = self.layout().extent(usize::from(dim), index);
        let mut have = extent.saturating_sub(first);
        if let (Layout::Slots { slot_bytes, apart: Some(apart), .. }, 0) = (self.layout(), dim) {
            have = (have * u64::from(*slot_bytes)).div_ceil(u64::from((*apart).max(1)));
        }
        if clip == Clip::Strict && have < u64::from(want) {
            return Err(Fault::StorePastEnd { dim, index: first, count: u64::from(want), extent });
        }
        Ok(u32::try_from(have).unwrap_or(u32::MAX).min(want))
    }

    /// Indices that neither rows nor columns follow must exist.
    fn check_fixed(&self, at: Window<'_>, index: &[u64], rows: u32) -> Result<(), Fault> {
        for (dim, &i) in (0u8..).zip(index) {
            // With no outer index there is no extent to compare the next one with.
            let unknown = dim == 1 && rows == 0 && at.row_dim == Some(0);
            if Some(dim) == at.row_dim || Some(dim) == at.col_dim || unknown {
                continue;
            }
            let extent = self.layout().extent(usize::from(dim), index);
            if i >= extent {
                let unit = match self.layout() {
                    Layout::Slots { slot_bytes, .. } if dim == 0 => u64::from(*slot_bytes),
                    _ => 1,
                };
                return Err(Fault::IndexOutOfBounds { dim, index: i * unit, extent: extent * unit });
            }
        }
        Ok(())
    }

    /// Runs of `rows` rows along `row_dim`, each `width` bytes from its first byte to its last.
    fn runs(
        &self,
        row_dim: Option<u8>,
        index: &mut [u64],
        rows: u32,
        width: u64,
        view: &mut RowsView,
    ) -> Result<(), Fault> {
        let size = self.dtype().size() as u64;
        let dim = match row_dim {
            Some(dim) if rows > 1 => usize::from(dim),
            _ => {
                let offset = self.layout().byte_offset(index, size)?;
                view.push(self.segment(offset, 1, 0, width)?);
                return Ok(());
            }
        };
        if let Some(stride) = self.layout().byte_stride(dim, size) {
            let offset = self.layout().byte_offset(index, size)?;
            view.push(self.segment(offset, rows, stride, width)?);
            return Ok(());
        }
        match (self.layout(), dim) {
            (Layout::Paged(paged), 1) => return self.page_runs(paged, index, rows, width, view),
            (Layout::Slots { .. }, 0) => return Err(Fault::SlotsUneven),
            _ => {}
        }
        let first = index[dim];
        let mut done = 0;
        while done < rows {
            index[dim] = first + u64::from(done);
            let (count, stride) = self.even_run(index)?;
            let offset = self.layout().byte_offset(index, size)?;
            view.push(self.segment(offset, count, stride, width)?);
            done += count;
        }
        Ok(())
    }

    /// The runs of positions of a request, page by page.
    fn page_runs(
        &self,
        paged: &Paged,
        index: &[u64],
        rows: u32,
        width: u64,
        view: &mut RowsView,
    ) -> Result<(), Fault> {
        let size = self.dtype().size() as u64;
        let page_size = u64::from(paged.page_size.max(1));
        let stride = paged.slot_stride.saturating_mul(size);
        let inner = index[2].saturating_mul(paged.head_stride).saturating_add(index[3]);
        let (first, end) = (index[1], index[1] + u64::from(rows));
        let pages = paged.pages(index[0], first, end - 1)?;
        let mut slot = first % page_size;
        let mut left = u64::from(rows);
        for &page in pages {
            let count = left.min(page_size - slot);
            // Saturated, it is past the end of every buffer.
            let element = u64::from(page).saturating_mul(paged.page_stride).saturating_add(inner);
            let element = element.saturating_add(slot.saturating_mul(paged.slot_stride));
            // At most `rows`.
            view.push(self.segment(element.saturating_mul(size), count as u32, stride, width)?);
            left -= count;
            slot = 0;
        }
        Ok(())
    }

    /// Rows from the index on that are evenly spaced, and their distance in bytes, for the outer dimension of ragged rows.
    fn even_run(&self, index: &[u64]) -> Result<(u32, u64), Fault> {
        // The next index must exist for each of them.
        let extent = self.layout().extent(1, index);
        if index[1] >= extent {
            return Err(Fault::IndexOutOfBounds { dim: 1, index: index[1], extent });
        }
        Ok((1, 0))
    }

    /// A run of rows, once it is known to lie in the array.
    fn segment(&self, offset: u64, rows: u32, stride: u64, width: u64) -> Result<Segment, Fault> {
        let end = (u64::from(rows) - 1).saturating_mul(stride).saturating_add(offset).saturating_add(width);
        let bytes = self.bytes() as u64;
        if end > bytes {
            return Err(Fault::OutsideBuffer { end, bytes });
        }
        let outside = Fault::OutsideBuffer { end, bytes };
        let stride = if rows > 1 { usize::try_from(stride).map_err(|_| outside)? } else { 0 };
        let offset = usize::try_from(offset).map_err(|_| outside)?;
        // SAFETY: `offset <= end <= bytes`, and there are that many bytes, at most `isize::MAX`, as `Bytes::new` requires.
        let ptr = unsafe { self.ptr().add(offset) };
        Ok(Segment { ptr, rows: rows as usize, stride })
    }
}

fn limit_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
