//! Sums and products.

use super::super::places::elements;
use super::{MatMul, Tiles};
use crate::memory::{Fault, Shape};
use wsp_ir::ReduceOp;
use wsp_simd::reduce;

impl Tiles {
    pub(super) fn wide_row_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let Shape { rows, cols } = self.tiles[src].shape;
        let shape = Shape::new(rows, 1);
        self.check_fit(dst, shape)?;
        let from = self.values(src);
        let row = |r: usize| from[r * cols as usize..][..cols as usize].iter().copied();
        self.generate(dst, shape, |(r, _)| reduce(op, row(r)));
        self.done_with(from);
        Ok(())
    }

    pub(super) fn wide_col_reduce(&mut self, op: ReduceOp, dst: usize, src: usize) -> Result<(), Fault> {
        let Shape { rows, cols } = self.tiles[src].shape;
        let shape = Shape::new(1, cols);
        self.check_fit(dst, shape)?;
        let from = self.values(src);
        let column = |c: usize| (0..rows as usize).map(move |r| r * cols as usize + c);
        self.generate(dst, shape, |(_, c)| reduce(op, column(c).map(|at| from[at])));
        self.done_with(from);
        Ok(())
    }

    /// A reduction of a tile of `f64` with one row, as a value.
    ///
    /// # Errors
    /// `ShapeMismatch` when the tile has more than one row. Without a row, the value is that of nothing.
    pub(crate) fn wide_row_scalar(&self, op: ReduceOp, tile: usize) -> Result<f64, Fault> {
        let have = self.tiles[tile].shape;
        if have.rows > 1 {
            return Err(Fault::ShapeMismatch { have, need: Shape::new(1, have.cols) });
        }
        Ok(reduce(op, self.tiles[tile].values.iter().copied()))
    }

    pub(super) fn wide_cumsum(&mut self, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        let (mut values, mut sum) = (self.values(src), 0.0);
        for ((_, c), x) in elements(shape).zip(&mut values) {
            sum = if c == 0 { 0.0 } else { sum } + *x;
            *x = sum;
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
        let n = shape.cols as usize;
        if transpose_b {
            let mut turned = self.blank();
            turned.extend((0..inner * n).map(|at| right[at % n * b_cols + at / n]));
            self.done_with(std::mem::replace(&mut right, turned));
        }
        values.resize(super::count(shape), 0.0);
        for m in 0..shape.rows as usize {
            let sums = &mut values[m * n..][..n];
            for k in 0..inner {
                let (x, row) = (left[m * a_cols + k], &right[k * n..][..n]);
                sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
            }
        }
        if accumulate {
            let before = self.values(dst);
            values.iter_mut().zip(&before).for_each(|(sum, before)| *sum += before);
            self.done_with(before);
        }
        self.done_with(left);
        self.done_with(right);
        self.assign(dst, shape, values);
        Ok(())
    }
}
