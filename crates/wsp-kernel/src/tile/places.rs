//! Elements of a tile at other places of another one.

use super::Tiles;
use crate::memory::{Fault, Shape};

impl Tiles {
    /// `TGATHER`, `TGATHER_ROWS`.
    ///
    /// # Errors
    /// `ShapeMismatch` when the indices do not have the rows of `src` (its columns with `by_row`), `Capacity`, and `NoPlace`.
    pub(crate) fn gather(
        &mut self,
        dst: usize,
        src: usize,
        indices: usize,
        by_row: bool,
    ) -> Result<(), Fault> {
        let (have, shape) = (self.tiles[src].shape, self.tiles[indices].shape);
        let (need, extent) = match by_row {
            true => (Shape::new(shape.rows, have.cols), have.rows),
            false => (Shape::new(have.rows, shape.cols), have.cols),
        };
        self.check_shape(indices, need)?;
        self.check_fit(dst, shape)?;
        self.own(src);
        self.own(indices);
        let (from, places) = (self.grid(src), self.grid(indices));
        // SAFETY: the grid of indices has the element.
        let place = |r: usize, c: usize| unsafe { *places.row(r).add(c) };
        // All are looked at before the destination changes.
        for (r, c) in elements(shape) {
            let index = f64::from(place(r, c));
            if !(index >= 0.0 && index < f64::from(extent) && index.fract() == 0.0) {
                let at = Shape::new(r as u32, c as u32);
                return Err(Fault::NoPlace { at, index: place(r, c).to_bits(), extent, by_row });
            }
        }
        let to = self.spare_grid(dst, shape);
        for (r, c) in elements(shape) {
            let index = place(r, c) as usize;
            let (row, col) = if by_row { (index, c) } else { (r, index) };
            // SAFETY: the index was found to be a row or column of the source, whose other extent is that of the result; that is another buffer.
            unsafe { *to.row(r).add(c) = *from.row(row).add(col) };
        }
        self.swap_spare(dst, shape);
        self.round(dst);
        Ok(())
    }

    /// `TRESHAPE`.
    ///
    /// # Errors
    /// `Capacity`, and `ShapeMismatch` when the source has another number of elements.
    pub(crate) fn reshape(
        &mut self,
        dst: usize,
        src: usize,
        rows: Option<u32>,
        cols: Option<u32>,
    ) -> Result<(), Fault> {
        let room = self.tiles[dst].capacity;
        let (have, shape) =
            (self.tiles[src].shape, Shape::new(rows.unwrap_or(room.rows), cols.unwrap_or(room.cols)));
        self.check_fit(dst, shape)?;
        let count = |shape: Shape| u64::from(shape.rows) * u64::from(shape.cols);
        if count(have) != count(shape) {
            return Err(Fault::ShapeMismatch { have, need: shape });
        }
        self.own(src);
        let from = self.grid(src);
        let to = self.spare_grid(dst, shape);
        for ((r, c), (row, col)) in elements(shape).zip(elements(have)) {
            // SAFETY: both grids have the element, and they are different buffers.
            unsafe { *to.row(r).add(c) = *from.row(row).add(col) };
        }
        self.swap_spare(dst, shape);
        self.round(dst);
        Ok(())
    }
}

/// Rows and columns of all elements, row by row.
fn elements(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.rows as usize).flat_map(move |r| (0..shape.cols as usize).map(move |c| (r, c)))
}
