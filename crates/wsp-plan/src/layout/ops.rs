//! Tile operations of a kernel, over where their operands lie.

use super::kernel::{Checked, Walk};
use super::place::{Stored, adds_up, is_zero};
use super::tile::{Known, Side, Tile, got};
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{Operand, Part, TileOp, TileUse, UnaryTileOp};

impl Walk<'_> {
    pub(super) fn op(&mut self, op: &TileOp, span: Span, known: &mut Known) -> Checked<()> {
        let word = word_of(op);
        for tile in op.reads() {
            self.alike(&got(&known.tiles, tile), word, span)?;
        }
        let tiles = &known.tiles;
        let (dst, result) = match op {
            TileOp::Load { dst, tensor, at, rows, cols } => {
                let most = [rows.as_ref(), cols.as_ref()];
                (*dst, Some(self.load((*dst, *tensor), at, most, known, span)?))
            }
            TileOp::Store { tensor, src, at, add, .. } => {
                return self.store(&Stored { tensor: *tensor, src: *src, at, adds: *add, span }, known);
            }
            TileOp::Fill { dst, value, .. } => (*dst, (!is_zero(value)).then(Tile::default)),
            TileOp::Unary { op, dst, src } => {
                // Zeros stay zeros where the operation is linear only.
                let result = if matches!(op, UnaryTileOp::Copy | UnaryTileOp::Neg) {
                    tiles[src.index()].clone()
                } else {
                    let tile = got(tiles, *src);
                    self.whole_sums(&tile, op.word(), span)?;
                    Some(tile)
                };
                (*dst, result)
            }
            TileOp::Binary { op, dst, a, b } => (*dst, self.binary(*op, *dst, *a, b, tiles, span)?),
            TileOp::RowReduce { op, dst, src } => {
                (*dst, self.reduce(*op, tiles[src.index()].as_ref(), Side::Cols, span)?)
            }
            TileOp::ColReduce { op, dst, src } => {
                (*dst, self.reduce(*op, tiles[src.index()].as_ref(), Side::Rows, span)?)
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                let right = got(tiles, *b);
                let right = if *transpose_b { right.transposed() } else { right };
                let product = self.product(&got(tiles, *a), &right, span)?;
                let result = if *accumulate {
                    let before = tiles[dst.index()].as_ref();
                    self.added(before, Some(&product), [true, false], word, span)?
                } else {
                    Some(product)
                };
                (*dst, result)
            }
            TileOp::Transpose { dst, src } => (*dst, tiles[src.index()].clone().map(Tile::transposed)),
            _ => return self.other(op, span, known),
        };
        self.parts_of(op, dst, result.as_ref(), known, span)?;
        known.tiles[dst.index()] = result;
        Ok(())
    }

    /// What an operation leaves in parts has elements of which parts add up.
    fn parts_of(
        &self,
        op: &TileOp,
        dst: LocalId,
        result: Option<&Tile>,
        known: &Known,
        span: Span,
    ) -> Checked<()> {
        let pending = result.map(Tile::pending).unwrap_or_default();
        let (Some(axis), Some(to)) = (pending.axes().next(), self.elem(dst)) else { return Ok(()) };
        for src in op.reads() {
            let tile = got(&known.tiles, src);
            let fits = self.elem(src).is_none_or(|from| adds_up((from, to), !tile.pending().is_empty()));
            if !fits {
                return Err(self.read_parts(word_of(op), axis, &tile, span));
            }
        }
        Ok(())
    }

    /// Operations that read whole values, some of them whole rows or columns; what they give is laid out as all that they read.
    fn other(&mut self, op: &TileOp, span: Span, known: &mut Known) -> Checked<()> {
        let word = word_of(op);
        let needs = |of: LocalId, side: Side| match op {
            TileOp::CumSum { .. } => side == Side::Cols,
            TileOp::Gather { src, by_row, .. } if *src == of => {
                side == if *by_row { Side::Rows } else { Side::Cols }
            }
            TileOp::TopK { .. } => side == Side::Cols,
            TileOp::Reshape { .. } | TileOp::Insert { .. } | TileOp::Extract { .. } => true,
            _ => false,
        };
        let (mut read, mut written): (Vec<LocalId>, Vec<LocalId>) = (Vec::new(), Vec::new());
        op.each(&mut |part| {
            if let Part::Tile(tile, how) = part {
                if how.reads() || matches!(how, TileUse::Listed) {
                    read.push(*tile);
                }
                if how.writes() {
                    written.push(*tile);
                }
            }
        });
        let mut result = Tile::default();
        for tile in read {
            let Some(operand) = known.tiles[tile.index()].clone() else { continue };
            self.alike(&operand, word, span)?;
            self.whole_sums(&operand, word, span)?;
            self.whole(&operand, |side| needs(tile, side), word, span)?;
            if let TileOp::Select { b: Operand::Column(of) | Operand::Row(of), .. } = op
                && *of == tile
            {
                self.expands(op_side(op), &operand, word, span)?;
            }
            result = self.met(&result, &operand, word, span)?;
        }
        written.into_iter().for_each(|tile| known.tiles[tile.index()] = Some(result.clone()));
        Ok(())
    }
}

/// The side along which the second operand of a selection is one row or column.
fn op_side(op: &TileOp) -> Side {
    match op {
        TileOp::Select { b: Operand::Row(_), .. } => Side::Rows,
        _ => Side::Cols,
    }
}

/// The word of an operation.
fn word_of(op: &TileOp) -> &'static str {
    match op {
        TileOp::Unary { op, .. } => op.word(),
        TileOp::Binary { op, .. } => op.word(),
        TileOp::RowReduce { op, .. } | TileOp::ColReduce { op, .. } => op.word(),
        _ => op.word(),
    }
}
