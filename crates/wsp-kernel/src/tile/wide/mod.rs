//! Operations with a tile of `f64` or of integers among their operands or results: loops over elements, the same on every instruction
//! set.
//!
//! An element is a *word*: the bits of an `f64` where its tile is of real numbers, which is exact for all of them, else the integer as a
//! slot has it, with the sign of its type. Arithmetic of `f64` is rounded once, to the element type of the result; that of integers wraps.

mod elementwise;
mod integers;
mod places;
mod products;

use super::{MatMul, Sequence, Tiles};
use crate::memory::{Fault, Shape};
use crate::memory::{read_integer, write_integer};
use wsp_core::DType;
use wsp_ir::TileOp;
use wsp_simd::{read_f64, round_f64, write_f64};

/// An operation with its numbers read: slots' words, of `f64` or integers those that meet tiles.
pub(crate) type WideOp = TileOp<usize, u64, ()>;

impl Tiles {
    /// Whether the elements of a tile are words: `f64` or integers.
    pub(crate) fn is_wide(&self, tile: usize) -> bool {
        let elem = self.tiles[tile].elem;
        elem == DType::F64 || !elem.is_float()
    }

    /// What the words of a tile are: `f64` for all real numbers, else the integers of its type.
    fn kind(&self, tile: usize) -> DType {
        let elem = self.tiles[tile].elem;
        if elem.is_float() { DType::F64 } else { elem }
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
        match *op {
            TileOp::Fill { dst, value, rows, cols } => {
                let shape = self.at_most(dst, count(rows), count(cols));
                let value = integers::number(self.kind(dst), value)?;
                self.generate(dst, shape, |_| value);
            }
            TileOp::Unary { op, dst, src } => self.wide_unary(op, dst, src)?,
            TileOp::Binary { op, dst, a, b } => self.wide_binary(op, dst, a, b)?,
            TileOp::Clamp { dst, src, low, high } => self.wide_clamp(dst, src, (low, high))?,
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
                    values.extend(sequence.row(r).take(shape.cols as usize).map(|x| f64::from(x).to_bits()));
                }
                self.assign(dst, shape, values);
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                self.wide_matmul(MatMul { dst, a, b, transpose_b, accumulate })?;
            }
            TileOp::Transpose { dst, src } => self.wide_transpose(dst, src)?,
            TileOp::Mask { tile, rows, cols, value } => {
                let past = |limit: Option<u64>, at: usize| limit.is_some_and(|n| at >= word(n) as usize);
                self.replace(tile, value, |(r, c)| past(rows, r) || past(cols, c))?;
            }
            TileOp::MaskCausal { tile, cols, value } => {
                self.replace(tile, value, |(r, c)| c as i64 >= signed(cols) + r as i64)?;
            }
            TileOp::MaskBand { tile, begin, end, group, value } => {
                let group = word(group).max(1) as usize;
                self.replace(tile, value, |(r, c)| {
                    let column = c as i64 - (r / group) as i64;
                    column < signed(begin) || column >= signed(end)
                })?;
            }
            TileOp::Iota { dst, start, cols } => {
                let shape = self.at_most(dst, None, count(cols));
                let kind = self.kind(dst);
                self.generate(dst, shape, |(_, c)| integers::whole(kind, signed(start) + c as i64));
            }
            TileOp::Insert { dst, src, row, col } => self.wide_insert(dst, src, (word(row), word(col)))?,
            TileOp::Extract { dst, src, row, col } => self.wide_extract(dst, src, (word(row), word(col))),
            TileOp::Load { .. } | TileOp::Store { .. } | TileOp::TopK { .. } => {
                unreachable!("`{}` should not be one of these", op.word())
            }
        }
        Ok(())
    }

    /// Words to be filled in.
    fn blank(&mut self) -> Vec<u64> {
        let mut values = self.idle.pop().unwrap_or_default();
        values.clear();
        values
    }

    /// Words that are no longer used.
    fn done_with(&mut self, values: Vec<u64>) {
        self.idle.push(values);
    }

    /// The valid part of a tile, row by row.
    fn values(&mut self, tile: usize) -> Vec<u64> {
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
            values.extend(row.iter().map(|x| f64::from(*x).to_bits()));
        }
        values
    }

    /// Words of its kind become the valid part of a tile, of a shape that fits.
    fn assign(&mut self, dst: usize, shape: Shape, mut values: Vec<u64>) {
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
                    *to = round_f64(elem, f64::from_bits(*value));
                }
            }
        }
        self.done_with(values);
    }

    /// Words of a kind become the valid part of a tile, of a shape that fits, each as its elements have it.
    ///
    /// # Errors
    /// `NoInteger`.
    fn assign_as(
        &mut self,
        dst: usize,
        shape: Shape,
        mut values: Vec<u64>,
        kind: DType,
    ) -> Result<(), Fault> {
        let to = self.tiles[dst].elem;
        if self.kind(dst) != kind {
            for (at, word) in super::places::elements(shape).zip(&mut values) {
                let value = *word;
                let fault = || Fault::NoInteger { at: place(at), value, dtype: to };
                *word = integers::convert(kind, to, value).ok_or_else(fault)?;
            }
        }
        self.assign(dst, shape, values);
        Ok(())
    }

    /// A tile becomes what `f` makes of each row and column, words of its kind.
    fn generate(&mut self, dst: usize, shape: Shape, f: impl FnMut((usize, usize)) -> u64) {
        let mut values = self.blank();
        values.extend(super::places::elements(shape).map(f));
        self.assign(dst, shape, values);
    }

    /// Copies the rows found into a tile whose elements are words.
    pub(super) fn copy_in_wide(&mut self, dst: usize) {
        let mut values = self.blank();
        let found = &self.found;
        let is_real = found.dtype.is_float();
        for &from in found.starts() {
            for c in 0..found.cols as usize {
                let from = from.wrapping_add(c * found.col_stride);
                // SAFETY: `locate` checked element `c` of the row.
                values.push(unsafe {
                    if is_real {
                        read_f64(from, found.dtype).to_bits()
                    } else {
                        read_integer(from, found.dtype)
                    }
                });
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
                let (to, word) = (to.wrapping_add(c * found.col_stride), values[r * found.cols as usize + c]);
                // SAFETY: `locate` checked element `c` of the row, of an array that is writable when a function stores to it.
                unsafe {
                    match (found.dtype.is_float(), add) {
                        (true, false) => write_f64(to, found.dtype, f64::from_bits(word)),
                        (true, true) => {
                            write_f64(to, found.dtype, f64::from_bits(word) + read_f64(to, found.dtype));
                        }
                        (false, false) => write_integer(to, found.dtype, word),
                        // The low bytes of the sum are the sum in the type.
                        (false, true) => {
                            let sum = word.wrapping_add(read_integer(to, found.dtype));
                            write_integer(to, found.dtype, sum);
                        }
                    }
                }
            }
        }
        self.done_with(values);
    }
}

/// A row and column as a fault has them.
fn place((r, c): (usize, usize)) -> Shape {
    Shape::new(r as u32, c as u32)
}

/// Elements of a shape.
fn count(shape: Shape) -> usize {
    shape.rows as usize * shape.cols as usize
}
