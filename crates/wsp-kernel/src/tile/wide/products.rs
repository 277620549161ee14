//! Sums and products.

use super::super::places::elements;
use super::{MatMul, Tiles, integers};
use crate::memory::{Fault, Shape};
use wsp_core::DType;
use wsp_ir::ReduceOp;
use wsp_simd::reduce;

impl Tiles {
    pub(super) fn wide_row_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let Shape { rows, cols } = self.tiles[src].shape;
        let shape = Shape::new(rows, 1);
        self.check_fit(dst, shape)?;
        let (from, mut values, kind) = (self.values(src), self.blank(), self.kind(src));
        let row = |r: usize| from[r * cols as usize..][..cols as usize].iter().copied();
        values.extend((0..rows as usize).map(|r| reduced(op, kind, row(r))));
        self.done_with(from);
        self.assign_as(dst, shape, values, reduces_to(op, kind))
    }

    pub(super) fn wide_col_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let Shape { rows, cols } = self.tiles[src].shape;
        let shape = Shape::new(1, cols);
        self.check_fit(dst, shape)?;
        let (from, mut values, kind) = (self.values(src), self.blank(), self.kind(src));
        let column = |c: usize| (0..rows as usize).map(move |r| r * cols as usize + c);
        values.extend((0..cols as usize).map(|c| reduced(op, kind, column(c).map(|at| from[at]))));
        self.done_with(from);
        self.assign_as(dst, shape, values, reduces_to(op, kind))
    }

    /// A reduction of a tile of words with one row: of `f64` its bits, of integers one of the type.
    ///
    /// # Errors
    /// `ShapeMismatch` when the tile has more than one row. Without a row, the value is that of nothing.
    pub(crate) fn wide_row_scalar(&self, op: ReduceOp, tile: usize) -> Result<u64, Fault> {
        let have = self.tiles[tile].shape;
        if have.rows > 1 {
            return Err(Fault::ShapeMismatch { have, need: Shape::new(1, have.cols) });
        }
        Ok(reduced(op, self.kind(tile), self.tiles[tile].values.iter().copied()))
    }

    pub(super) fn wide_cumsum(&mut self, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        let (mut values, kind) = (self.values(src), self.kind(src));
        let (mut sum, mut real) = (0, 0.0);
        for ((_, c), word) in elements(shape).zip(&mut values) {
            if c == 0 {
                (sum, real) = (0, 0.0);
            }
            if kind == DType::F64 {
                real += f64::from_bits(*word);
                *word = real.to_bits();
            } else {
                sum = integers::wrapped(kind, integers::value(kind, sum) + integers::value(kind, *word));
                *word = sum;
            }
        }
        self.assign(dst, shape, values);
        Ok(())
    }

    /// Products are added in the order of the inner dimension, then to what is there.
    pub(super) fn wide_matmul(&mut self, product: MatMul) -> Result<(), Fault> {
        let MatMul { dst, a, b, transpose_b, accumulate } = product;
        let (shape, inner) = self.multiplied(product)?;
        let (a_cols, b_cols) = (self.tiles[a].shape.cols as usize, self.tiles[b].shape.cols as usize);
        let (left, mut right, mut values) = (self.values(a), self.values(b), self.blank());
        let real = f64::from_bits;
        let n = shape.cols as usize;
        if transpose_b {
            let mut turned = self.blank();
            turned.extend((0..inner * n).map(|at| right[at % n * b_cols + at / n]));
            self.done_with(std::mem::replace(&mut right, turned));
        }
        values.resize(super::count(shape), 0.0_f64.to_bits());
        for m in 0..shape.rows as usize {
            let sums = &mut values[m * n..][..n];
            for k in 0..inner {
                let (x, row) = (real(left[m * a_cols + k]), &right[k * n..][..n]);
                sums.iter_mut().zip(row).for_each(|(sum, y)| *sum = (real(*sum) + x * real(*y)).to_bits());
            }
        }
        if accumulate {
            let before = self.values(dst);
            values
                .iter_mut()
                .zip(&before)
                .for_each(|(sum, there)| *sum = (real(*sum) + real(*there)).to_bits());
            self.done_with(before);
        }
        self.done_with(left);
        self.done_with(right);
        self.assign(dst, shape, values);
        Ok(())
    }
}

/// The word that a reduction makes of words of a kind.
fn reduced(op: ReduceOp, kind: DType, words: impl ExactSizeIterator<Item = u64>) -> u64 {
    match kind {
        DType::F64 => reduce(op, words.map(f64::from_bits)).to_bits(),
        _ => integers::reduce(op, kind, words),
    }
}

/// What its result is.
fn reduces_to(op: ReduceOp, kind: DType) -> DType {
    if op.gives_places() && kind != DType::F64 { DType::I64 } else { kind }
}
