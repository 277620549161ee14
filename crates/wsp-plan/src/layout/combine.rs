//! Operations of several tiles, and sums: which layouts fit, and what they make.

use super::kernel::{Checked, Fault, Walk};
use super::tile::{ENDED, Tile, Tiles, later};
use super::{AXES, AxisSet, Differ, join};
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_diag::Span;
use wsp_ir::{BinaryTileOp, Operand, ReduceOp};

impl Walk<'_> {
    /// Two dimensions that meet.
    fn meet(
        &self,
        a: (LayoutDim, &Tile),
        b: (LayoutDim, &Tile),
        word: &str,
        span: Span,
    ) -> Checked<LayoutDim> {
        join(a.0, b.0).map_err(|Differ(first, second)| {
            let (first_word, second_word) = (first.word(), second.word());
            let message = format!(
                "operands of `{word}` are sharded over different axes, `{first_word}` and `{second_word}`"
            );
            match (a.1.of(first), b.1.of(second)) {
                (of, None) => Fault::Unlike { span, message, relayout: of, axis: first },
                (_, of) => Fault::Unlike { span, message, relayout: of, axis: second },
            }
        })
    }

    /// Element-wise, of tiles of one shape; pending sums stay with the caller.
    pub(super) fn met(&self, a: &Tile, b: &Tile, word: &str, span: Span) -> Checked<Tile> {
        let rows = self.meet((a.rows, a), (b.rows, b), word, span)?;
        let cols = self.meet((a.cols, a), (b.cols, b), word, span)?;
        self.shaped(rows, cols, a, b, word, span)
    }

    /// A result of two operands: no axis shards both of its dimensions.
    fn shaped(
        &self,
        rows: LayoutDim,
        cols: LayoutDim,
        a: &Tile,
        b: &Tile,
        word: &str,
        span: Span,
    ) -> Checked<Tile> {
        if let (Some(axis), true) = (rows.axis(), rows == cols) {
            let message = format!(
                "rows and columns of the result of `{word}` would both be sharded over `{}`",
                axis.word()
            );
            return Err(Fault::Unlike { span, message, relayout: b.of(axis).or(a.of(axis)), axis });
        }
        self.together(a, b, word, span)?;
        let of = AXES.map(|axis| a.of(axis).or(b.of(axis)));
        let pending = a.pending.with(b.pending);
        Ok(Tile { rows, cols, pending, turns: later(a.turns, b.turns), of, unlike: AxisSet::default() })
    }

    /// Operands lie on the same tiles: where a loop goes from tile to tile with one of them, the other goes with it or is everywhere,
    /// and what is sharded over an axis is not met by parts of sums over it.
    fn together(&self, a: &Tile, b: &Tile, word: &str, span: Span) -> Checked<()> {
        let apart = |axis: &MeshAxis| {
            let (first, second) = (a.turns[*axis as usize], b.turns[*axis as usize]);
            let alone = |own: u8, other: u8, there: &Tile| own > 0 && other == 0 && there.is_sharded(*axis);
            alone(first, second, b)
                || alone(second, first, a)
                || first > 0 && second > 0 && first != second && first.max(second) != ENDED
                || a.pending.has(*axis) && b.is_sharded(*axis)
                || b.pending.has(*axis) && a.is_sharded(*axis)
        };
        let Some(axis) = AXES.into_iter().find(apart) else { return Ok(()) };
        let message = format!("operands of `{word}` lie on different tiles along `{}`", axis.word());
        Err(Fault::Unlike { span, message, relayout: b.of(axis).or(a.of(axis)), axis })
    }

    /// A sum of two tiles: both are parts over the same axes, or neither is; what a loop takes from tile to tile adds to parts over
    /// that axis.
    pub(super) fn added(&self, a: &Tile, b: &Tile, word: &'static str, span: Span) -> Checked<Tile> {
        let adds = |part: &Tile, other: &Tile| {
            part.turning(|turn| turn == ENDED).without(other.turning(|turn| turn > 0)).is_empty()
        };
        if a.pending != b.pending || !adds(a, b) || !adds(b, a) {
            self.whole_sums(a, word, span)?;
            self.whole_sums(b, word, span)?;
        }
        self.met(a, b, word, span)
    }

    pub(super) fn binary(
        &self,
        op: BinaryTileOp,
        a: Option<Tile>,
        b: &Operand,
        tiles: &Tiles,
        span: Span,
    ) -> Checked<Option<Tile>> {
        let word = op.word();
        let left = a.unwrap_or_default();
        let right = match b {
            Operand::Tile(tile) => tiles[tile.index()],
            Operand::Column(tile) => {
                tiles[tile.index()].map(|tile| Tile { cols: LayoutDim::Replicate, ..tile })
            }
            Operand::Row(tile) => tiles[tile.index()].map(|tile| Tile { rows: LayoutDim::Replicate, ..tile }),
            Operand::Scalar(_) => Some(Tile::default()),
        };
        match op {
            BinaryTileOp::Add | BinaryTileOp::Sub => match (a, right) {
                (None, None) => return Ok(None),
                // Zeros add nothing to any part.
                (None, Some(only)) if !matches!(b, Operand::Scalar(_)) => return Ok(Some(only)),
                (Some(only), None) => return Ok(Some(only)),
                _ => return self.added(&left, &right.unwrap_or_default(), word, span).map(Some),
            },
            // The product of a part and a number is a part of the product.
            BinaryTileOp::Mul if left.parts().is_empty() => {
                self.outside(&right.unwrap_or_default(), &left, word, span)?;
            }
            BinaryTileOp::Mul | BinaryTileOp::Div => {
                self.whole_sums(&right.unwrap_or_default(), word, span)?;
                self.outside(&left, &right.unwrap_or_default(), word, span)?;
            }
            _ => {
                self.whole_sums(&left, word, span)?;
                self.whole_sums(&right.unwrap_or_default(), word, span)?;
            }
        }
        self.met(&left, &right.unwrap_or_default(), word, span).map(Some)
    }

    /// The factor of parts of a sum is the same on all tiles that have one.
    fn outside(&self, parts: &Tile, factor: &Tile, word: &'static str, span: Span) -> Checked<()> {
        let along = factor.turning(|turn| turn > 0);
        let both =
            |axis: &MeshAxis| parts.parts().has(*axis) && (along.has(*axis) || factor.is_sharded(*axis));
        if AXES.iter().any(both) { self.whole_sums(parts, word, span) } else { Ok(()) }
    }

    /// A reduction over columns (`by_row`), or over rows. Only parts of sums can be added up later.
    pub(super) fn reduce(&mut self, op: ReduceOp, src: &Tile, by_row: bool, span: Span) -> Checked<Tile> {
        if op != ReduceOp::Sum {
            self.whole_sums(src, op.word(), span)?;
            self.whole(src, [!by_row, by_row], op.word(), span)?;
        }
        let (kept, gone) = if by_row { (src.rows, src.cols) } else { (src.cols, src.rows) };
        let pending = src.pending.with(self.split(gone, src, src, span));
        let (rows, cols) = if by_row { (kept, LayoutDim::Replicate) } else { (LayoutDim::Replicate, kept) };
        Ok(Tile { rows, cols, pending, ..*src })
    }

    /// `a · b`.
    pub(super) fn product(&mut self, a: &Tile, b: &Tile, span: Span) -> Checked<Tile> {
        let word = "matmul";
        self.whole_sums(a, word, span)?;
        self.whole_sums(b, word, span)?;
        let inner = self.meet((a.cols, a), (b.rows, b), word, span)?;
        let mut tile = self.shaped(a.rows, b.cols, a, b, word, span)?;
        if let Some(axis) = inner.axis().filter(|_| inner == a.rows || inner == b.cols) {
            let message = format!(
                "the inner dimension of `matmul` and one of its result are both sharded over `{}`",
                axis.word()
            );
            let relayout = if inner == a.rows { b.of(axis) } else { a.of(axis) };
            return Err(Fault::Unlike { span, message, relayout, axis });
        }
        let (first, second) = if a.cols == inner { (a, b) } else { (b, a) };
        tile.pending = tile.pending.with(self.split(inner, first, second, span));
        Ok(tile)
    }

    /// A dimension that is added up: the sum is split where it is sharded.
    fn split(&mut self, dim: LayoutDim, of: &Tile, or: &Tile, span: Span) -> AxisSet {
        let Some(axis) = dim.axis() else { return AxisSet::default() };
        self.splits[axis as usize].get_or_insert((span, of.of(axis).or(or.of(axis))));
        AxisSet::of(axis)
    }
}
