//! Operations of several tiles, and sums: which layouts fit, and what they make.
//!
//! An operation runs on the tiles along an axis that have all of its operands. Where one of them lies on one tile only, so does the
//! result, and the others keep what they had: a sum in place of one of its operands, zeros or parts, is in parts then.

use super::index::Key;
use super::kernel::{Checked, Fault, Walk};
use super::tile::{Lies, Side, Tile, Tiles, got};
use super::{AXES, Differ, join};
use wsp_core::LocalId;
use wsp_core::policy::MeshAxis;
use wsp_diag::Span;
use wsp_ir::{BinaryTileOp, Operand, ReduceOp};

impl Walk<'_> {
    /// Operands that do not meet along an axis.
    fn apart(&self, axis: MeshAxis, a: &Tile, b: &Tile, word: &str, span: Span) -> Fault {
        let name = axis.word();
        let message = match (a.along(axis), b.along(axis)) {
            (Lies::Shard(first, _), Lies::Shard(second, _)) if first != second => {
                format!("rows and columns of the result of `{word}` would both be sharded over `{name}`")
            }
            (Lies::Shard(side, _), Lies::Shard(..)) => {
                format!(
                    "{} of operands of `{word}` are sharded over `{name}` from different indices on",
                    side.word()
                )
            }
            _ => format!("operands of `{word}` lie on different tiles along `{name}`"),
        };
        Fault::Unlike { span, message, relayout: b.of(axis).or(a.of(axis)), axis }
    }

    /// What two operands make of an axis, neither of which is in parts.
    fn along(&self, axis: MeshAxis, a: &Tile, b: &Tile, word: &str, span: Span) -> Checked<Lies> {
        match (a.along(axis), b.along(axis)) {
            (Lies::Whole, other) | (other, Lies::Whole) => Ok(other.clone()),
            (own, other) => own.same(other).ok_or_else(|| self.apart(axis, a, b, word, span)),
        }
    }

    /// Dimensions that meet are sharded over one axis at most.
    fn one_axis(&self, a: (&Tile, Side), b: (&Tile, Side), word: &str, span: Span) -> Checked<()> {
        join(a.0.side(a.1), b.0.side(b.1)).map(drop).map_err(|Differ(first, second)| {
            let message = format!(
                "operands of `{word}` are sharded over different axes, `{}` and `{}`",
                first.word(),
                second.word()
            );
            match (a.0.of(first), b.0.of(second)) {
                (of, None) => Fault::Unlike { span, message, relayout: of, axis: first },
                (_, of) => Fault::Unlike { span, message, relayout: of, axis: second },
            }
        })
    }

    /// What is element by element of two operands.
    fn both(&self, a: &Tile, b: &Tile, lies: [Lies; AXES.len()], word: &str, span: Span) -> Checked<Tile> {
        for side in [Side::Rows, Side::Cols] {
            self.one_axis((a, side), (b, side), word, span)?;
        }
        Ok(of_both(a, b, lies))
    }

    /// Element-wise, of tiles of one shape that are no parts of sums.
    pub(super) fn met(&self, a: &Tile, b: &Tile, word: &str, span: Span) -> Checked<Tile> {
        let [x, y] = AXES.map(|axis| self.along(axis, a, b, word, span));
        self.both(a, b, [x?, y?], word, span)
    }

    /// The sum of two tiles, none of zeros; it takes the place of one of them where that is `placed`.
    pub(super) fn added(
        &mut self,
        a: Option<&Tile>,
        b: Option<&Tile>,
        placed: [bool; 2],
        word: &'static str,
        span: Span,
    ) -> Checked<Option<Tile>> {
        let (only, in_place) = match (a, b) {
            (None, None) => return Ok(None),
            (Some(a), Some(b)) => return self.added_to(a, b, placed, word, span).map(Some),
            (Some(only), None) => (only, placed[1]),
            (None, Some(only)) => (only, placed[0]),
        };
        let mut tile = only.clone();
        for axis in AXES {
            if in_place && matches!(tile.along(axis), Lies::Own(_)) {
                self.split(axis, tile.of(axis), span);
                tile.lies[axis as usize] = Lies::Pending;
            }
        }
        Ok(Some(tile))
    }

    fn added_to(
        &mut self,
        a: &Tile,
        b: &Tile,
        placed: [bool; 2],
        word: &'static str,
        span: Span,
    ) -> Checked<Tile> {
        let mut lies = [Lies::Whole, Lies::Whole];
        for axis in AXES {
            lies[axis as usize] = match (a.along(axis), b.along(axis)) {
                (Lies::Pending, Lies::Pending) => Lies::Pending,
                (Lies::Pending, Lies::Own(_)) if placed[0] => Lies::Pending,
                (Lies::Own(_), Lies::Pending) if placed[1] => Lies::Pending,
                (Lies::Pending, _) | (_, Lies::Pending) => {
                    self.whole_sums(a, word, span)?;
                    self.whole_sums(b, word, span)?;
                    Lies::Unlike
                }
                _ => self.along(axis, a, b, word, span)?,
            };
        }
        self.both(a, b, lies, word, span)
    }

    /// A row or a column that meets all of a tile is one: its other side is not sharded.
    pub(super) fn expands(&self, one: Side, tile: &Tile, word: &str, span: Span) -> Checked<()> {
        self.whole(tile, |side| side == one, word, span)
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryTileOp,
        dst: LocalId,
        a: LocalId,
        b: &Operand,
        tiles: &Tiles,
        span: Span,
    ) -> Checked<Option<Tile>> {
        let word = op.word();
        let of_tile = match b {
            Operand::Tile(tile) => Some(*tile),
            Operand::Column(tile) => {
                self.expands(Side::Cols, &got(tiles, *tile), word, span)?;
                Some(*tile)
            }
            Operand::Row(tile) => {
                self.expands(Side::Rows, &got(tiles, *tile), word, span)?;
                Some(*tile)
            }
            Operand::Scalar(_) => None,
        };
        let left = tiles[a.index()].as_ref();
        let whole = Tile::default();
        // A number is on all tiles.
        let right = of_tile.map_or(Some(&whole), |tile| tiles[tile.index()].as_ref());
        if matches!(op, BinaryTileOp::Add | BinaryTileOp::Sub) {
            // `x - sum` in the place of the sum changes the sign of one part only; of zeros none has one.
            let second = *b == Operand::Tile(dst) && (op == BinaryTileOp::Add || right.is_none());
            return self.added(left, right, [dst == a, second], word, span);
        }
        let (left, right) = (left.unwrap_or(&whole), right.unwrap_or(&whole));
        let is_integer = || self.elem(dst).is_some_and(|elem| elem.is_integer());
        match op {
            // The product of a part and a number is a part of the product.
            BinaryTileOp::Mul => self.scaled(left, right, word, span).map(Some),
            BinaryTileOp::Div if !is_integer() => {
                self.whole_sums(right, word, span)?;
                self.scaled(left, right, word, span).map(Some)
            }
            _ => {
                self.whole_sums(left, word, span)?;
                self.whole_sums(right, word, span)?;
                self.met(left, right, word, span).map(Some)
            }
        }
    }

    /// A product, or a quotient: the factor of parts of a sum is the same on all tiles that have one.
    fn scaled(&self, a: &Tile, b: &Tile, word: &'static str, span: Span) -> Checked<Tile> {
        for axis in AXES {
            let (first, second) = (a.along(axis), b.along(axis));
            if *first == Lies::Pending && *second != Lies::Whole {
                self.whole_sums(a, word, span)?;
            }
            if *second == Lies::Pending && *first != Lies::Whole {
                self.whole_sums(b, word, span)?;
            }
        }
        self.met(a, b, word, span)
    }

    /// A reduction that one side of a tile goes away in. Only parts of sums can be added up later.
    pub(super) fn reduce(
        &mut self,
        op: ReduceOp,
        src: Option<&Tile>,
        gone: Side,
        span: Span,
    ) -> Checked<Option<Tile>> {
        let Some(src) = src else { return Ok((op != ReduceOp::Sum).then(Tile::default)) };
        if op != ReduceOp::Sum {
            self.whole_sums(src, op.word(), span)?;
            self.whole(src, |side| side == gone, op.word(), span)?;
        }
        let mut tile = src.clone();
        for axis in AXES {
            if let Lies::Shard(side, key) = tile.along(axis)
                && *side == gone
            {
                self.several(axis, key, src, op.word(), span)?;
                self.split(axis, tile.of(axis), span);
                tile.lies[axis as usize] = Lies::Pending;
            }
        }
        Ok(Some(tile))
    }

    /// A sum goes along indices that are known to be of several tiles: of those of one tile no other has a part.
    fn several(&self, axis: MeshAxis, key: &Key, tile: &Tile, word: &str, span: Span) -> Checked<()> {
        if key.several {
            return Ok(());
        }
        let message = format!(
            "`{word}` adds up indices that may all lie on one tile along `{}`, or on several",
            axis.word()
        );
        Err(Fault::Unlike { span, message, relayout: tile.of(axis), axis })
    }

    /// `a · b`.
    pub(super) fn product(&mut self, a: &Tile, b: &Tile, span: Span) -> Checked<Tile> {
        let word = "matmul";
        self.whole_sums(a, word, span)?;
        self.whole_sums(b, word, span)?;
        self.one_axis((a, Side::Cols), (b, Side::Rows), word, span)?;
        let mut lies = [Lies::Whole, Lies::Whole];
        for axis in AXES {
            let sum = |walk: &mut Self, key: &Key, of: &Tile, or: &Tile| {
                walk.several(axis, key, of, word, span)?;
                walk.split(axis, of.of(axis).or(or.of(axis)), span);
                Ok(Lies::Pending)
            };
            let (first, second) = (a.along(axis), b.along(axis));
            lies[axis as usize] = match (first, second) {
                (Lies::Shard(Side::Cols, own), Lies::Shard(Side::Rows, other)) => match own.with(other) {
                    Some(key) => sum(self, &key, a, b)?,
                    None => return Err(self.apart(axis, a, b, word, span)),
                },
                (Lies::Shard(Side::Cols, key), Lies::Whole) => sum(self, key, a, b)?,
                (Lies::Whole, Lies::Shard(Side::Rows, key)) => sum(self, key, b, a)?,
                (Lies::Whole, other) | (other, Lies::Whole) => other.clone(),
                (Lies::Shard(Side::Rows, _), Lies::Shard(Side::Rows, _))
                | (Lies::Shard(Side::Cols, _), Lies::Shard(Side::Cols, _)) => {
                    let message = format!(
                        "the inner dimension of `matmul` and one of its result are both sharded over `{}`",
                        axis.word()
                    );
                    let relayout = if matches!(first, Lies::Shard(Side::Rows, _)) { b } else { a }.of(axis);
                    return Err(Fault::Unlike { span, message, relayout, axis });
                }
                (Lies::Own(_), Lies::Own(_)) => self.along(axis, a, b, word, span)?,
                _ => return Err(self.apart(axis, a, b, word, span)),
            };
        }
        Ok(of_both(a, b, lies))
    }
}

/// A result of two operands.
fn of_both(a: &Tile, b: &Tile, lies: [Lies; AXES.len()]) -> Tile {
    Tile { lies, of: AXES.map(|axis| a.of(axis).or(b.of(axis))) }
}
