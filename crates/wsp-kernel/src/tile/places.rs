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
        let (shape, extent) = self.gathered(dst, src, indices, by_row)?;
        self.own(src);
        self.own(indices);
        let (from, places) = (self.grid(src), self.grid(indices));
        // SAFETY: the grid of indices has the element.
        let place = |r: usize, c: usize| unsafe { *places.row(r).add(c) };
        // All are looked at before the destination changes.
        for (r, c) in elements(shape) {
            check_place((r, c), f64::from(place(r, c)), extent, by_row)?;
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

    /// The shape of what is gathered, and how many rows or columns there are to choose from.
    pub(super) fn gathered(
        &self,
        dst: usize,
        src: usize,
        indices: usize,
        by_row: bool,
    ) -> Result<(Shape, u32), Fault> {
        let (have, shape) = (self.tiles[src].shape, self.tiles[indices].shape);
        let (need, extent) = match by_row {
            true => (Shape::new(shape.rows, have.cols), have.rows),
            false => (Shape::new(have.rows, shape.cols), have.cols),
        };
        self.check_shape(indices, need)?;
        self.check_fit(dst, shape)?;
        Ok((shape, extent))
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
        let (have, shape) = (self.tiles[src].shape, self.reshaped(dst, src, rows, cols)?);
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

    /// The new shape, which has as many elements.
    pub(super) fn reshaped(
        &self,
        dst: usize,
        src: usize,
        rows: Option<u32>,
        cols: Option<u32>,
    ) -> Result<Shape, Fault> {
        let room = self.tiles[dst].capacity;
        let (have, shape) =
            (self.tiles[src].shape, Shape::new(rows.unwrap_or(room.rows), cols.unwrap_or(room.cols)));
        self.check_fit(dst, shape)?;
        let count = |shape: Shape| u64::from(shape.rows) * u64::from(shape.cols);
        if count(have) != count(shape) {
            return Err(Fault::ShapeMismatch { have, need: shape });
        }
        Ok(shape)
    }
}

/// Whether the index in a row and column is a place.
pub(super) fn check_place(
    (r, c): (usize, usize),
    index: f64,
    extent: u32,
    by_row: bool,
) -> Result<(), Fault> {
    if index >= 0.0 && index < f64::from(extent) && index.fract() == 0.0 {
        return Ok(());
    }
    let at = Shape::new(r as u32, c as u32);
    Err(Fault::NoPlace { at, index: index.to_bits(), extent, by_row })
}

/// Rows and columns of all elements, row by row.
pub(super) fn elements(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.rows as usize).flat_map(move |r| (0..shape.cols as usize).map(move |c| (r, c)))
}
