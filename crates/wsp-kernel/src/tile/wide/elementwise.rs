//! Element by element.

use super::super::places::elements;
use super::Tiles;
use crate::memory::Fault;
use wsp_ir::{BinaryTileOp, Operand, UnaryTileOp};

impl Tiles {
    pub(super) fn wide_unary(&mut self, op: UnaryTileOp, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        let (mut values, f) = (self.values(src), op.exact());
        values.iter_mut().for_each(|x| *x = f(*x));
        self.assign(dst, shape, values);
        Ok(())
    }

    pub(super) fn wide_binary(
        &mut self,
        f: fn(f64, f64) -> f64,
        dst: usize,
        a: usize,
        b: Operand<usize, u64>,
    ) -> Result<(), Fault> {
        let shape = self.tiles[a].shape;
        self.check_right(&b, shape)?;
        self.check_fit(dst, shape)?;
        let (mut values, right) = (self.values(a), self.right_values(&b));
        for (at, x) in elements(shape).zip(&mut values) {
            *x = f(*x, beside(&b, &right, at, shape.cols));
        }
        self.done_with(right);
        self.assign(dst, shape, values);
        Ok(())
    }

    pub(super) fn wide_clamp(
        &mut self,
        dst: usize,
        src: usize,
        (low, high): (f64, f64),
    ) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        let (max, min) = (BinaryTileOp::Max.plain_f64(), BinaryTileOp::Min.plain_f64());
        let mut values = self.values(src);
        values.iter_mut().for_each(|x| *x = min(max(*x, low), high));
        self.assign(dst, shape, values);
        Ok(())
    }

    pub(super) fn wide_select(
        &mut self,
        dst: usize,
        mask: usize,
        a: usize,
        b: Operand<usize, u64>,
    ) -> Result<(), Fault> {
        let shape = self.tiles[mask].shape;
        self.check_shape(a, shape)?;
        self.check_right(&b, shape)?;
        self.check_fit(dst, shape)?;
        let (test, mut values, right) = (self.values(mask), self.values(a), self.right_values(&b));
        for ((at, x), _) in elements(shape).zip(&mut values).zip(&test).filter(|(_, test)| **test == 0.0) {
            *x = beside(&b, &right, at, shape.cols);
        }
        self.done_with(test);
        self.done_with(right);
        self.assign(dst, shape, values);
        Ok(())
    }

    /// Elements for which `which` holds become the value.
    pub(super) fn replace(&mut self, tile: usize, value: f64, which: impl Fn((usize, usize)) -> bool) {
        let (shape, mut values) = (self.tiles[tile].shape, self.values(tile));
        for (_, x) in elements(shape).zip(&mut values).filter(|(at, _)| which(*at)) {
            *x = value;
        }
        self.assign(tile, shape, values);
    }

    /// The values of a right operand that is a tile.
    fn right_values(&mut self, b: &Operand<usize, u64>) -> Vec<f64> {
        match *b {
            Operand::Tile(tile) | Operand::Column(tile) | Operand::Row(tile) => self.values(tile),
            Operand::Scalar(_) => self.blank(),
        }
    }
}

/// What an element of a tile with so many columns meets.
fn beside(b: &Operand<usize, u64>, values: &[f64], (r, c): (usize, usize), cols: u32) -> f64 {
    match *b {
        Operand::Tile(_) => values[r * cols as usize + c],
        Operand::Column(_) => values[r],
        Operand::Row(_) => values[c],
        Operand::Scalar(bits) => f64::from_bits(bits),
    }
}
