//! Reductions, transposition, and parts of tiles.

use super::Tiles;
use crate::memory::{Fault, Shape};
use wsp_ir::ReduceOp;
use wsp_simd::Grid;

impl Tiles {
    /// `TROWMAX`, …: one column, a value per valid row.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn row_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = Shape::new(self.tiles[src].shape.rows, 1);
        self.check_fit(dst, shape)?;
        self.ask_for_rows();
        self.own(src);
        let src = self.grid(src);
        let to = self.begin(dst, shape);
        // SAFETY: grids of tiles, the same or different buffers; the destination has a column for every row.
        unsafe { (self.kernels.row_reduce)(op, to, src) };
        self.round(dst);
        Ok(())
    }

    /// `TCOLMAX`, …: one row, a value per valid column.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn col_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = Shape::new(1, self.tiles[src].shape.cols);
        self.check_fit(dst, shape)?;
        self.own(src);
        let src = self.grid(src);
        let to = self.begin(dst, shape);
        // SAFETY: grids of tiles, the same or different buffers; the destination has one row.
        unsafe { (self.kernels.col_reduce)(op, to, src) };
        self.round(dst);
        Ok(())
    }

    /// `TCUMSUM`: one addition after the other, so that the result is the same on every instruction set.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn cumsum(&mut self, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        self.own(src);
        let from = self.grid(src);
        let to = self.begin(dst, shape);
        for r in 0..from.rows {
            let mut sum = 0.0;
            for c in 0..from.cols {
                // SAFETY: both grids have the element; it is read before it may be overwritten.
                unsafe {
                    sum += *from.row(r).add(c);
                    *to.row(r).add(c) = sum;
                }
            }
        }
        self.round(dst);
        Ok(())
    }

    /// `TROWMAX`, `TROWMIN`, `TROWSUM` as a value.
    ///
    /// # Errors
    /// `ShapeMismatch` when the tile has more than one row. Without a row, the value is that of nothing.
    pub(crate) fn row_scalar(&mut self, op: ReduceOp, tile: usize) -> Result<f32, Fault> {
        let have = self.tiles[tile].shape;
        if have.rows > 1 {
            return Err(Fault::ShapeMismatch { have, need: Shape::new(1, have.cols) });
        }
        if have.rows == 0 {
            return Ok(op.neutral());
        }
        self.own(tile);
        let src = self.grid(tile);
        let ptr = self.scratch.reserve(wsp_simd::ROW_ALIGN);
        let to = wsp_simd::Grid { ptr, stride: wsp_simd::ROW_ALIGN, rows: 1, cols: 1 };
        // SAFETY: the destination is one element of a buffer of its own.
        unsafe {
            (self.kernels.row_reduce)(op, to, src);
            Ok(*ptr)
        }
    }

    /// `TINSERT`: the valid part of `src` replaces that of `dst` from a row and column on.
    ///
    /// # Errors
    /// `ShapeMismatch` when it does not fit there.
    pub(crate) fn insert(&mut self, dst: usize, src: usize, (row, col): (u32, u32)) -> Result<(), Fault> {
        let part = self.inserted(dst, src, (row, col))?;
        self.own(src);
        self.own(dst);
        copy_block((self.grid(src), 0, 0), (self.grid(dst), row as usize, col as usize), part);
        self.round(dst);
        Ok(())
    }

    /// The shape of what is put in, which fits there.
    pub(super) fn inserted(&self, dst: usize, src: usize, (row, col): (u32, u32)) -> Result<Shape, Fault> {
        let (have, part) = (self.tiles[dst].shape, self.tiles[src].shape);
        let need = Shape::new(row.saturating_add(part.rows), col.saturating_add(part.cols));
        if need.rows > have.rows || need.cols > have.cols {
            return Err(Fault::ShapeMismatch { have, need });
        }
        Ok(part)
    }

    /// The shape of what is taken out.
    pub(super) fn extracted(&self, dst: usize, src: usize, (row, col): (u32, u32)) -> Shape {
        let (have, capacity) = (self.tiles[src].shape, self.tiles[dst].capacity);
        Shape::new(
            have.rows.saturating_sub(row).min(capacity.rows),
            have.cols.saturating_sub(col).min(capacity.cols),
        )
    }

    /// `TEXTRACT`: what `src` has from a row and column on, at most the capacity of `dst`.
    pub(crate) fn extract(&mut self, dst: usize, src: usize, (row, col): (u32, u32)) {
        let shape = self.extracted(dst, src, (row, col));
        self.own(src);
        let from = self.grid(src);
        let to = self.begin(dst, shape);
        copy_block((from, row as usize, col as usize), (to, 0, 0), shape);
        self.round(dst);
    }

    /// `TTRANS`.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn transpose(&mut self, dst: usize, src: usize) -> Result<(), Fault> {
        let Shape { rows, cols } = self.tiles[src].shape;
        let shape = Shape::new(cols, rows);
        self.check_fit(dst, shape)?;
        self.own(src);
        let from = self.grid(src);
        let to = self.spare_grid(dst, shape);
        for r in 0..from.rows {
            for c in 0..from.cols {
                // SAFETY: element (r, c) of the source is element (c, r) of the result, which lies in another buffer.
                unsafe { *to.row(c).add(r) = *from.row(r).add(c) };
            }
        }
        self.swap_spare(dst, shape);
        self.round(dst);
        Ok(())
    }
}

/// Copies a block of `shape` between two tiles, from and to a row and a column.
fn copy_block(
    (from, from_row, from_col): (Grid, usize, usize),
    (to, to_row, to_col): (Grid, usize, usize),
    shape: Shape,
) {
    if shape.cols == 0 {
        return;
    }
    for r in 0..shape.rows as usize {
        // SAFETY: the callers checked that both grids have these rows and columns, and they are different buffers.
        unsafe {
            let (from, to) = (from.row(from_row + r).add(from_col), to.row(to_row + r).add(to_col));
            core::ptr::copy_nonoverlapping(from, to, shape.cols as usize);
        }
    }
}
