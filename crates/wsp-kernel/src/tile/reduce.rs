//! Reductions and transposition.

use super::Tiles;
use crate::memory::{Fault, Shape};
use wsp_ir::ReduceOp;

impl Tiles {
    /// `TROWMAX`, …: one column, a value per valid row.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn row_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = Shape::new(self.tiles[src].shape.rows, 1);
        self.check_fit(dst, shape)?;
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
            return Ok(match op {
                ReduceOp::Max => f32::NEG_INFINITY,
                ReduceOp::Min => f32::INFINITY,
                ReduceOp::Sum => 0.0,
            });
        }
        self.own(tile);
        let src = self.grid(tile);
        let ptr = self.scratch.reserve(crate::simd::ROW_ALIGN);
        let to = crate::simd::Grid { ptr, stride: crate::simd::ROW_ALIGN, rows: 1, cols: 1 };
        // SAFETY: the destination is one element of a buffer of its own.
        unsafe {
            (self.kernels.row_reduce)(op, to, src);
            Ok(*ptr)
        }
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
