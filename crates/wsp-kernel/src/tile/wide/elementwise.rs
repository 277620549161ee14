//! Element by element.

use super::super::places::elements;
use super::{Tiles, integers, place};
use crate::memory::Fault;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Operand, UnaryTileOp};

impl Tiles {
    pub(super) fn wide_unary(&mut self, op: UnaryTileOp, dst: usize, src: usize) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        let (mut values, f, kind) = (self.values(src), op.exact(), self.kind(src));
        match (op, kind) {
            (UnaryTileOp::Copy, _) => {}
            (_, DType::F64) => values.iter_mut().for_each(|x| *x = f(f64::from_bits(*x)).to_bits()),
            _ => values.iter_mut().for_each(|x| *x = integers::unary(op, kind, *x)),
        }
        self.assign_as(dst, shape, values, kind)
    }

    pub(super) fn wide_binary(
        &mut self,
        op: BinaryTileOp,
        dst: usize,
        a: usize,
        b: Operand<usize, u64>,
    ) -> Result<(), Fault> {
        let shape = self.tiles[a].shape;
        self.check_right(&b, shape)?;
        self.check_fit(dst, shape)?;
        let kind = self.kind(a);
        let b = in_range(kind, b)?;
        let f = op.plain_f64();
        let (mut values, right) = (self.values(a), self.right_values(&b));
        for (at, x) in elements(shape).zip(&mut values) {
            let y = beside(&b, &right, at, shape.cols);
            *x = match kind {
                DType::F64 => f(f64::from_bits(*x), f64::from_bits(y)).to_bits(),
                _ => integers::binary(op, kind, *x, y).ok_or(Fault::DivisionByZero { at: place(at) })?,
            };
        }
        self.done_with(right);
        let is_mask = op.compares() && kind != DType::F64;
        self.assign_as(dst, shape, values, if is_mask { DType::Bool } else { kind })
    }

    pub(super) fn wide_clamp(
        &mut self,
        dst: usize,
        src: usize,
        (low, high): (u64, u64),
    ) -> Result<(), Fault> {
        let shape = self.tiles[src].shape;
        self.check_fit(dst, shape)?;
        // Both before anything changes.
        integers::number(self.kind(src), high)?;
        self.wide_binary(BinaryTileOp::Max, dst, src, Operand::Scalar(low))?;
        self.wide_binary(BinaryTileOp::Min, dst, dst, Operand::Scalar(high))
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
        let b = in_range(self.kind(a), b)?;
        let (test, mut values, right) = (self.values(mask), self.values(a), self.right_values(&b));
        let is_real = self.kind(mask) == DType::F64;
        let is_zero = |word: u64| if is_real { f64::from_bits(word) == 0.0 } else { word == 0 };
        for ((at, x), _) in elements(shape).zip(&mut values).zip(&test).filter(|(_, test)| is_zero(**test)) {
            *x = beside(&b, &right, at, shape.cols);
        }
        self.done_with(test);
        self.done_with(right);
        self.assign(dst, shape, values);
        Ok(())
    }

    /// Elements for which `which` holds become the value.
    ///
    /// # Errors
    /// `NumberRange`.
    pub(super) fn replace(
        &mut self,
        tile: usize,
        value: u64,
        which: impl Fn((usize, usize)) -> bool,
    ) -> Result<(), Fault> {
        let value = integers::number(self.kind(tile), value)?;
        let (shape, mut values) = (self.tiles[tile].shape, self.values(tile));
        for (_, x) in elements(shape).zip(&mut values).filter(|(at, _)| which(*at)) {
            *x = value;
        }
        self.assign(tile, shape, values);
        Ok(())
    }

    /// The values of a right operand that is a tile.
    fn right_values(&mut self, b: &Operand<usize, u64>) -> Vec<u64> {
        match *b {
            Operand::Tile(tile) | Operand::Column(tile) | Operand::Row(tile) => self.values(tile),
            Operand::Scalar(_) => self.blank(),
        }
    }
}

/// The operand, whose number must be one of the kind.
fn in_range(kind: DType, b: Operand<usize, u64>) -> Result<Operand<usize, u64>, Fault> {
    Ok(match b {
        Operand::Scalar(word) => Operand::Scalar(integers::number(kind, word)?),
        other => other,
    })
}

/// What an element of a tile with so many columns meets.
fn beside(b: &Operand<usize, u64>, values: &[u64], (r, c): (usize, usize), cols: u32) -> u64 {
    match *b {
        Operand::Tile(_) => values[r * cols as usize + c],
        Operand::Column(_) => values[r],
        Operand::Row(_) => values[c],
        Operand::Scalar(word) => word,
    }
}
