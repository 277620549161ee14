//! Elements at other places.

use super::super::places::{check_place, elements};
use super::{Tiles, integers};
use crate::memory::{Fault, Shape};
use wsp_core::DType;

impl Tiles {
    pub(super) fn wide_gather(
        &mut self,
        dst: usize,
        src: usize,
        indices: usize,
        by_row: bool,
    ) -> Result<(), Fault> {
        let (shape, extent) = self.gathered(dst, src, indices, by_row)?;
        let cols = self.tiles[src].shape.cols as usize;
        let (from, mut values) = (self.values(src), self.values(indices));
        let kind = self.kind(indices);
        // What an `f64` rounds is past every end.
        let index = |word: u64| match kind {
            DType::F64 => f64::from_bits(word),
            _ => integers::value(kind, word) as f64,
        };
        let wrong = elements(shape)
            .zip(&values)
            .try_for_each(|(at, word)| check_place(at, index(*word), extent, by_row));
        if wrong.is_ok() {
            for ((r, c), word) in elements(shape).zip(&mut values) {
                let place = index(*word) as usize;
                *word = if by_row { from[place * cols + c] } else { from[r * cols + place] };
            }
            self.assign(dst, shape, values);
        }
        self.done_with(from);
        wrong
    }

    pub(super) fn wide_transpose(&mut self, dst: usize, src: usize) -> Result<(), Fault> {
        let Shape { rows, cols } = self.tiles[src].shape;
        let shape = Shape::new(cols, rows);
        self.check_fit(dst, shape)?;
        let from = self.values(src);
        self.generate(dst, shape, |(r, c)| from[c * cols as usize + r]);
        self.done_with(from);
        Ok(())
    }

    pub(super) fn wide_insert(
        &mut self,
        dst: usize,
        src: usize,
        (row, col): (u32, u32),
    ) -> Result<(), Fault> {
        let part = self.inserted(dst, src, (row, col))?;
        let shape = self.tiles[dst].shape;
        let (mut values, from) = (self.values(dst), self.values(src));
        for ((r, c), value) in elements(part).zip(&from) {
            values[(row as usize + r) * shape.cols as usize + col as usize + c] = *value;
        }
        self.done_with(from);
        self.assign(dst, shape, values);
        Ok(())
    }

    pub(super) fn wide_extract(&mut self, dst: usize, src: usize, (row, col): (u32, u32)) {
        let shape = self.extracted(dst, src, (row, col));
        let (from, cols) = (self.values(src), self.tiles[src].shape.cols as usize);
        self.generate(dst, shape, |(r, c)| from[(row as usize + r) * cols + col as usize + c]);
        self.done_with(from);
    }
}
