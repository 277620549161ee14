//! Operations with a tile of `f64` among their operands or results: loops over elements, in `f64`, the same on every instruction set.
//!
//! Values of other tiles are widened, which is exact. A result is rounded once, to the element type of its tile.

mod elementwise;
mod places;
mod products;

use super::{MatMul, Sequence, Tiles};
use crate::memory::{Fault, Shape};
use wsp_core::DType;
use wsp_ir::TileOp;
use wsp_simd::{read_f64, round_f64, write_f64};

/// An operation with its numbers read: slots' words, of `f64` those that meet tiles.
pub(crate) type WideOp = TileOp<usize, u64, ()>;

impl Tiles {
    /// Whether a tile holds `f64`.
    pub(crate) fn is_wide(&self, tile: usize) -> bool {
        self.tiles[tile].elem == DType::F64
    }

    /// An operation that neither loads nor stores, and is no `TTOPK`.
    ///
    /// # Errors
    /// Those of the operation on tiles of `f32`.
    pub(crate) fn wide(&mut self, op: &WideOp) -> Result<(), Fault> {
        // Counts and columns are words of 32 bits.
        let word = |bits: u64| bits as u32;
        let count = |bits: Option<u64>| bits.map(word);
        let signed = |bits: u64| i64::from(word(bits).cast_signed());
        let real = f64::from_bits;
        match *op {
            TileOp::Fill { dst, value, rows, cols } => {
                let shape = self.at_most(dst, count(rows), count(cols));
                self.generate(dst, shape, |_| real(value));
            }
            TileOp::Unary { op, dst, src } => self.wide_unary(op, dst, src)?,
            TileOp::Binary { op, dst, a, b } => self.wide_binary(op.plain_f64(), dst, a, b)?,
            TileOp::Clamp { dst, src, low, high } => self.wide_clamp(dst, src, (real(low), real(high)))?,
            TileOp::Select { dst, mask, a, b } => self.wide_select(dst, mask, a, b)?,
            TileOp::RowReduce { op, dst, src } => self.wide_row_reduce(op, dst, src)?,
            TileOp::ColReduce { op, dst, src } => self.wide_col_reduce(op, dst, src)?,
            TileOp::CumSum { dst, src } => self.wide_cumsum(dst, src)?,
            TileOp::Gather { dst, src, indices, by_row } => self.wide_gather(dst, src, indices, by_row)?,
            TileOp::Reshape { dst, src, rows, cols } => {
                let shape = self.reshaped(dst, src, count(rows), count(cols))?;
                let values = self.values(src);
                self.assign(dst, shape, values);
            }
            TileOp::Random { dst, seed, first, pitch, rows, cols } => {
                let sequence = Sequence { seed: word(seed), first: word(first), pitch: word(pitch) };
                let shape = self.at_most(dst, count(rows), count(cols));
                let mut values = self.blank();
                for r in 0..shape.rows as usize {
                    values.extend(sequence.row(r).take(shape.cols as usize).map(f64::from));
                }
                self.assign(dst, shape, values);
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                self.wide_matmul(MatMul { dst, a, b, transpose_b, accumulate })?;
            }
            TileOp::Transpose { dst, src } => self.wide_transpose(dst, src)?,
            TileOp::Mask { tile, rows, cols, value } => {
                let past = |limit: Option<u64>, at: usize| limit.is_some_and(|n| at >= word(n) as usize);
                self.replace(tile, real(value), |(r, c)| past(rows, r) || past(cols, c));
            }
            TileOp::MaskCausal { tile, cols, value } => {
                self.replace(tile, real(value), |(r, c)| c as i64 >= signed(cols) + r as i64);
            }
            TileOp::MaskBand { tile, begin, end, group, value } => {
                let group = word(group).max(1) as usize;
                self.replace(tile, real(value), |(r, c)| {
                    let column = c as i64 - (r / group) as i64;
                    column < signed(begin) || column >= signed(end)
                });
            }
            TileOp::Iota { dst, start, cols } => {
                let shape = self.at_most(dst, None, count(cols));
                self.generate(dst, shape, |(_, c)| (signed(start) + c as i64) as f64);
            }
            TileOp::Insert { dst, src, row, col } => self.wide_insert(dst, src, (word(row), word(col)))?,
            TileOp::Extract { dst, src, row, col } => self.wide_extract(dst, src, (word(row), word(col))),
            TileOp::Load { .. } | TileOp::Store { .. } | TileOp::TopK { .. } => {
                unreachable!("`{}` should not be one of these", op.word())
            }
        }
        Ok(())
    }

    /// Values to be filled in.
    fn blank(&mut self) -> Vec<f64> {
        let mut values = self.idle.pop().unwrap_or_default();
        values.clear();
        values
    }

    /// Values that are no longer used.
    fn done_with(&mut self, values: Vec<f64>) {
        self.idle.push(values);
    }

    /// The valid part of a tile, row by row.
    fn values(&mut self, tile: usize) -> Vec<f64> {
        let mut values = self.blank();
        if self.is_wide(tile) {
            values.extend_from_slice(&self.tiles[tile].values);
            return values;
        }
        self.own(tile);
        let grid = self.grid(tile);
        for r in 0..grid.rows {
            // SAFETY: the row has `cols` floats, and nothing else refers to the buffer here.
            let row = unsafe { core::slice::from_raw_parts(grid.row(r), grid.cols) };
            values.extend(row.iter().copied().map(f64::from));
        }
        values
    }

    /// The values become the valid part of a tile, of a shape that fits.
    fn assign(&mut self, dst: usize, shape: Shape, mut values: Vec<f64>) {
        debug_assert_eq!(values.len(), count(shape), "every element should have a value");
        if self.is_wide(dst) {
            self.tiles[dst].shape = shape;
            core::mem::swap(&mut self.tiles[dst].values, &mut values);
        } else {
            let (elem, grid) = (self.tiles[dst].elem, self.begin(dst, shape));
            for r in 0..grid.rows {
                // SAFETY: the row has `cols` floats, and nothing else refers to the buffer here.
                let row = unsafe { core::slice::from_raw_parts_mut(grid.row(r), grid.cols) };
                for (to, value) in row.iter_mut().zip(&values[r * grid.cols..]) {
                    *to = round_f64(elem, *value);
                }
            }
        }
        self.done_with(values);
    }

    /// A tile becomes what `f` makes of each row and column.
    fn generate(&mut self, dst: usize, shape: Shape, f: impl FnMut((usize, usize)) -> f64) {
        let mut values = self.blank();
        values.extend(super::places::elements(shape).map(f));
        self.assign(dst, shape, values);
    }

    /// Copies the rows found into a tile of `f64`.
    pub(super) fn copy_in_wide(&mut self, dst: usize) {
        let mut values = self.blank();
        let found = &self.found;
        for &from in found.starts() {
            for c in 0..found.cols as usize {
                // SAFETY: `locate` checked element `c` of the row.
                values.push(unsafe { read_f64(from.wrapping_add(c * found.col_stride), found.dtype) });
            }
        }
        let shape = Shape::new(found.rows, found.cols);
        self.assign(dst, shape, values);
    }

    /// Copies a tile to the rows found, or adds it to what they hold.
    pub(super) fn copy_out_wide(&mut self, src: usize, add: bool) {
        let values = self.values(src);
        let found = &self.found;
        for (r, &to) in found.starts().iter().enumerate() {
            for c in 0..found.cols as usize {
                let (to, mut value) =
                    (to.wrapping_add(c * found.col_stride), values[r * found.cols as usize + c]);
                // SAFETY: `locate` checked element `c` of the row, of an array that is writable when a function stores to it.
                unsafe {
                    if add {
                        value += read_f64(to, found.dtype);
                    }
                    write_f64(to, found.dtype, value);
                }
            }
        }
        self.done_with(values);
    }
}

/// Elements of a shape.
fn count(shape: Shape) -> usize {
    shape.rows as usize * shape.cols as usize
}
