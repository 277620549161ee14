//! Element by element.

use super::Tiles;
use crate::memory::{Fault, Shape};
use wsp_ir::{BinaryTileOp, Operand, UnaryTileOp};
use wsp_simd::{Grid, Rhs};

impl Tiles {
    /// `TASSIGN`: at most `rows` and `cols` of the capacity become valid, with the value.
    pub(crate) fn fill(&mut self, dst: usize, value: f32, rows: Option<u32>, cols: Option<u32>) {
        let shape = self.at_most(dst, rows, cols);
        let grid = self.begin(dst, shape);
        fill(grid, 0, value);
        self.round(dst);
    }

    /// `TMOV`, `TEXP`, …: the valid part of `dst` becomes that of `src`.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn unary(&mut self, op: UnaryTileOp, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        self.ask_for_rows();
        self.own(src);
        let src = self.grid(src);
        let to = self.begin(dst, shape);
        // SAFETY: grids of tiles: the same one, or different buffers.
        unsafe { (self.kernels.unary)(op, to, src) };
        self.round(dst);
        Ok(())
    }

    /// `TADD`, `TADDS`, `TROWEXPANDADD`, …: the valid part of `dst` becomes that of `a`.
    ///
    /// # Errors
    /// `ShapeMismatch` for a right operand that does not have the shape its kind asks for, `Capacity`.
    pub(crate) fn binary(
        &mut self,
        op: BinaryTileOp,
        dst: usize,
        a: usize,
        b: Operand<usize, f32>,
    ) -> Result<(), Fault> {
        let shape = self.tiles[a].shape;
        self.check_right(&b, shape)?;
        self.check_fit(dst, shape)?;
        self.ask_for_rows();
        self.own(a);
        let left = self.grid(a);
        let right = self.right(b, dst);
        let to = self.begin(dst, shape);
        // SAFETY: grids of tiles with the shapes checked above: the same one, or different buffers. A column that is also
        // the destination has the same buffer, and kernels read its row before they write it.
        unsafe { (self.kernels.binary)(op, to, left, right) };
        self.round(dst);
        Ok(())
    }

    /// `TCLAMP`: the valid part of `dst` becomes that of `src`. It is rounded once: what is above `high` may have no value in the element type.
    ///
    /// # Errors
    /// `Capacity`.
    pub(crate) fn clamp(&mut self, dst: usize, src: usize, low: f32, high: f32) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        self.ask_for_rows();
        self.own(src);
        let from = self.grid(src);
        let to = self.begin(dst, shape);
        // SAFETY: grids of tiles: the same one, or different buffers.
        unsafe {
            (self.kernels.binary)(BinaryTileOp::Max, to, from, Rhs::Scalar(low));
            (self.kernels.binary)(BinaryTileOp::Min, to, to, Rhs::Scalar(high));
        }
        self.round(dst);
        Ok(())
    }

    /// `TSEL`: the valid part of `dst` becomes that of `mask`.
    ///
    /// # Errors
    /// `ShapeMismatch` for an operand that does not have the shape of the mask, or that its kind asks for; `Capacity`.
    pub(crate) fn select(
        &mut self,
        dst: usize,
        mask: usize,
        a: usize,
        b: Operand<usize, f32>,
    ) -> Result<(), Fault> {
        let shape = self.tiles[mask].shape;
        self.check_shape(a, shape)?;
        self.check_right(&b, shape)?;
        self.check_fit(dst, shape)?;
        self.own(mask);
        self.own(a);
        let (test, left) = (self.grid(mask), self.grid(a));
        let right = self.right(b, dst);
        let to = self.begin(dst, shape);
        // SAFETY: as in `binary`.
        unsafe { (self.kernels.select)(to, test, left, right) };
        self.round(dst);
        Ok(())
    }

    /// Whether a right operand has the shape that its kind asks for where the left one has `shape`.
    #[inline]
    pub(super) fn check_right<N>(&self, b: &Operand<usize, N>, shape: Shape) -> Result<(), Fault> {
        match *b {
            Operand::Tile(b) => self.check_shape(b, shape),
            Operand::Column(b) => self.check_shape(b, Shape::new(shape.rows, 1)),
            Operand::Row(b) => self.check_shape(b, Shape::new(1, shape.cols)),
            Operand::Scalar(_) => Ok(()),
        }
    }

    /// A right operand in a buffer, where kernels may read it while they write `dst`.
    #[inline]
    fn right(&mut self, b: Operand<usize, f32>, dst: usize) -> Rhs {
        if let Operand::Tile(b) | Operand::Column(b) | Operand::Row(b) = b {
            self.own(b);
        }
        match b {
            Operand::Tile(b) => Rhs::Grid(self.grid(b)),
            Operand::Column(b) => Rhs::Column(self.grid(b)),
            // The first row of the result would replace the operand of the second.
            Operand::Row(b) if b == dst => Rhs::Row(self.copy_of_row(b)),
            Operand::Row(b) => Rhs::Row(self.grid(b)),
            Operand::Scalar(value) => Rhs::Scalar(value),
        }
    }

    /// `TMASK`, `TMASK_ROWS`: valid elements at or past the row or the column become the value.
    pub(crate) fn mask(&mut self, tile: usize, rows: Option<u32>, cols: Option<u32>, value: f32) {
        self.own(tile);
        let grid = self.grid(tile);
        let first_row = rows.map_or(grid.rows, |r| r as usize).min(grid.rows);
        let first_col = cols.map_or(grid.cols, |c| c as usize).min(grid.cols);
        fill(Grid { rows: first_row, ..grid }, first_col, value);
        fill(Grid { ptr: grid.row(first_row), rows: grid.rows - first_row, ..grid }, 0, value);
        self.round(tile);
    }

    /// `TMASK_CAUSAL`: in row `r`, valid elements at or past column `cols + r` become the value.
    pub(crate) fn mask_causal(&mut self, tile: usize, cols: i32, value: f32) {
        self.own(tile);
        let grid = self.grid(tile);
        for r in 0..grid.rows {
            let first = (i64::from(cols) + r as i64).clamp(0, grid.cols as i64);
            // Between 0 and the columns of the grid.
            fill(Grid { ptr: grid.row(r), rows: 1, ..grid }, first as usize, value);
        }
        self.round(tile);
    }

    /// `TMASK_BAND`: in row `r`, valid elements outside of columns `begin + r / group .. end + r / group` become the value.
    pub(crate) fn mask_band(&mut self, tile: usize, begin: i32, end: i32, group: u32, value: f32) {
        self.own(tile);
        let grid = self.grid(tile);
        for r in 0..grid.rows {
            let shift = (r / group.max(1) as usize) as i64;
            // Between 0 and the columns of the grid.
            let column = |c: i32| (i64::from(c) + shift).clamp(0, grid.cols as i64) as usize;
            let row = Grid { ptr: grid.row(r), rows: 1, ..grid };
            fill(row, column(end), value);
            fill(Grid { cols: column(begin), ..row }, 0, value);
        }
        self.round(tile);
    }

    /// `TCI`: column `c` of every row becomes `start + c`, in at most `cols` columns of the capacity.
    pub(crate) fn iota(&mut self, dst: usize, start: i32, cols: Option<u32>) {
        let shape = self.at_most(dst, None, cols);
        let grid = self.begin(dst, shape);
        for r in 0..grid.rows {
            // SAFETY: the row has `cols` floats, and nothing else refers to the buffer here.
            let row = unsafe { core::slice::from_raw_parts_mut(grid.row(r), grid.cols) };
            for (c, to) in row.iter_mut().enumerate() {
                *to = (i64::from(start) + c as i64) as f32;
            }
        }
        self.round(dst);
    }

    /// The capacity of a tile, or fewer rows and columns where so many are asked for.
    pub(super) fn at_most(&self, tile: usize, rows: Option<u32>, cols: Option<u32>) -> Shape {
        let Shape { rows: most_rows, cols: most_cols } = self.tiles[tile].capacity;
        Shape::new(rows.map_or(most_rows, |n| n.min(most_rows)), cols.map_or(most_cols, |n| n.min(most_cols)))
    }

    #[inline]
    pub(super) fn check_shape(&self, tile: usize, need: Shape) -> Result<(), Fault> {
        let have = self.tiles[tile].shape;
        if have == need { Ok(()) } else { Err(Fault::ShapeMismatch { have, need }) }
    }

    fn copy_of_row(&mut self, tile: usize) -> Grid {
        let row = self.grid(tile);
        let ptr = self.scratch.reserve(row.stride);
        // SAFETY: the tile has one row of `stride` floats, the scratch buffer is another one with as many.
        unsafe { core::ptr::copy_nonoverlapping(row.ptr, ptr, row.stride) };
        Grid { ptr, ..row }
    }
}

/// Sets every row from column `first` on.
pub(super) fn fill(grid: Grid, first: usize, value: f32) {
    for r in 0..grid.rows {
        // SAFETY: the row has `cols` floats, and nothing else refers to the buffer here.
        unsafe { core::slice::from_raw_parts_mut(grid.row(r).add(first), grid.cols - first) }.fill(value);
    }
}
