//! What a kernel makes of layouts: its tile operations, over layouts in the place of numbers.
//!
//! A dimension counts as sharded where a task reaches past the part of one tile. What lies within one part is whole, wherever that is.

use super::tile::{ENDED, Tile, Tiles, got, later, merge};
use super::{AXES, AxisSet, Differ, join};
use crate::walk;
use wsp_core::limits::MAX_RANK;
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_core::{LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    BinaryTileOp, Block, Const, Expr, ExprKind, Function, Operand, Part, Place, ReduceOp, Stmt, StmtKind,
    TileOp, TileUse, UnaryTileOp,
};
use wsp_ordered::OrderedSet;

/// A tensor as one task reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Seen {
    /// The axes of dimensions that the task reaches across tiles.
    pub(super) dims: [LayoutDim; MAX_RANK],
    /// Where it is read: its pending sums.
    pub(super) pending: AxisSet,
}

/// How the tensors of a task are reached; none where nothing is said of one.
pub(super) trait Reached {
    /// Where it is loaded.
    fn loaded(&self, tensor: TensorId) -> Option<Seen>;

    /// Where it is stored.
    fn stored(&self, tensor: TensorId) -> Option<Seen>;
}

/// Sums of a tensor that a kernel leaves pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Left {
    pub(super) tensor: TensorId,
    pub(super) pending: AxisSet,
    /// The operation that splits the sum.
    pub(super) split: Span,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Fault {
    /// An operation or a store meets layouts that do not fit; the tensor would fit without this axis.
    Unlike { span: Span, message: String, relayout: Option<TensorId>, axis: MeshAxis },
    /// A tensor with pending sums is loaded.
    PendingTensor { span: Span, tensor: TensorId, axis: MeshAxis },
    /// A pending sum of the kernel's own is read by an operation that is not linear.
    PendingTile { span: Span, word: &'static str, axis: MeshAxis, split: Span, contracted: Option<TensorId> },
}

type Checked<T> = Result<T, Fault>;

/// The sums that a kernel leaves pending.
///
/// # Errors
/// The first operation that reads what no tile has.
pub(super) fn analyse(func: &Function, reached: &dyn Reached) -> Checked<Vec<Left>> {
    let mut walk =
        Walk { reached, splits: [None; 2], left: Vec::new(), depth: 0, varies: vec![0; func.locals.len()] };
    let mut tiles = vec![None; func.locals.len()];
    walk.block(&func.body, &mut tiles)?;
    Ok(walk.left)
}

struct Walk<'a> {
    reached: &'a dyn Reached,
    /// Where a sum was split first over each axis, and the tensor whose dimension it was.
    splits: [Option<(Span, Option<TensorId>)>; 2],
    left: Vec<Left>,
    /// Loops around; where very many are, the innermost count as one.
    depth: u8,
    /// By variable: the depth of the innermost loop that a number changes with, 0 for none.
    varies: Vec<u8>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, tiles: &mut Tiles) -> Checked<()> {
        block.iter().try_for_each(|stmt| self.stmt(stmt, tiles))
    }

    fn stmt(&mut self, stmt: &Stmt, tiles: &mut Tiles) -> Checked<()> {
        let mut wrong = None;
        walk::exprs(stmt, &mut |expr| {
            if wrong.is_none() {
                wrong = self.scalar(expr, tiles).err();
            }
        });
        wrong.map_or(Ok(()), Err)?;
        match &stmt.kind {
            StmtKind::Tile(op) => self.op(op, stmt.span, tiles),
            StmtKind::Let { local, init } => {
                tiles[local.index()] = None;
                self.varies[local.index()] = init.as_ref().map_or(0, |init| self.loop_of(init));
                Ok(())
            }
            StmtKind::Assign { local, .. } => {
                self.varies[local.index()] = self.depth;
                Ok(())
            }
            StmtKind::If { then, otherwise, .. } => {
                let mut other = tiles.clone();
                self.block(then, tiles)?;
                self.block(otherwise, &mut other)?;
                merge(tiles, &other);
                Ok(())
            }
            StmtKind::For { var, body, .. } => self.repeated(Some(*var), &[body], tiles),
            StmtKind::While { body, step, .. } => self.repeated(None, &[body, step], tiles),
            _ => Ok(()),
        }
    }

    /// A loop: as often as something changes.
    fn repeated(&mut self, var: Option<LocalId>, blocks: &[&Block], tiles: &mut Tiles) -> Checked<()> {
        let outside = self.depth;
        self.depth = outside.saturating_add(1).min(ENDED - 1);
        if let Some(var) = var {
            self.varies[var.index()] = self.depth;
        }
        // A tile can change seven times at most: its two dimensions and its tensor once each, its sets by two axes.
        for _ in 0..=7 * tiles.len() {
            let before = tiles.clone();
            blocks.iter().try_for_each(|block| self.block(block, tiles))?;
            let turns = tiles.iter_mut().flatten().flat_map(|tile| &mut tile.turns);
            turns.filter(|turn| **turn >= self.depth).for_each(|turn| *turn = ENDED);
            merge(tiles, &before);
            if *tiles == before {
                break;
            }
        }
        self.depth = outside;
        Ok(())
    }

    /// The innermost loop that a number changes with.
    fn loop_of(&self, number: &Expr) -> u8 {
        let mut read = OrderedSet::new();
        walk::reads(number, &mut read);
        read.into_iter().map(|local| self.varies[local.index()]).max().unwrap_or(0)
    }

    /// Elements, and sums and maxima of tiles, in an expression.
    fn scalar(&self, expr: &Expr, tiles: &Tiles) -> Checked<()> {
        match &expr.kind {
            ExprKind::LoadScalar(tensor, _) => self.readable(*tensor, expr.span)?,
            ExprKind::TileMax(tile) | ExprKind::TileSum(tile) => {
                let tile = got(tiles, *tile);
                self.whole_sums(&tile, "an element of a tile", expr.span)?;
                self.whole(&tile, [true, true], "an element of a tile", expr.span)?;
            }
            _ => {}
        }
        let mut wrong = None;
        expr.for_each_child(&mut |child| {
            if wrong.is_none() {
                wrong = self.scalar(child, tiles).err();
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    /// A tensor has no pending sums.
    fn readable(&self, tensor: TensorId, span: Span) -> Checked<()> {
        let pending = self.reached.loaded(tensor).map(|seen| seen.pending).unwrap_or_default();
        pending.axes().next().map_or(Ok(()), |axis| Err(Fault::PendingTensor { span, tensor, axis }))
    }

    /// A tile has no pending sums.
    fn whole_sums(&self, tile: &Tile, word: &'static str, span: Span) -> Checked<()> {
        let Some(axis) = tile.pending.axes().next() else { return Ok(()) };
        let (split, contracted) = self.splits[axis as usize].unwrap_or((span, None));
        Err(Fault::PendingTile { span, word, axis, split, contracted })
    }

    /// The rows, columns or both of a tile lie within one part.
    fn whole(&self, tile: &Tile, which: [bool; 2], word: &str, span: Span) -> Checked<()> {
        let along = [(tile.rows, "rows"), (tile.cols, "columns")].into_iter().zip(which);
        let found = along.filter(|(_, asked)| *asked).find_map(|((dim, of), _)| Some((dim.axis()?, of)));
        let Some((axis, of)) = found else { return Ok(()) };
        let message =
            format!("`{word}` needs all {of} of its operand, which are sharded over `{}`", axis.word());
        Err(Fault::Unlike { span, message, relayout: tile.of, axis })
    }

    fn op(&mut self, op: &TileOp, span: Span, tiles: &mut Tiles) -> Checked<()> {
        let word = op.word();
        match op {
            TileOp::Load { dst, tensor, at, .. } => {
                self.readable(*tensor, span)?;
                tiles[dst.index()] = Some(self.load(*tensor, at));
            }
            TileOp::Store { tensor, src, at, .. } => self.store(*tensor, &got(tiles, *src), at, span)?,
            TileOp::Fill { dst, value, .. } => {
                tiles[dst.index()] = if is_zero(value) { None } else { Some(Tile::default()) };
            }
            TileOp::Unary { op, dst, src } => {
                let tile = got(tiles, *src);
                if !matches!(op, UnaryTileOp::Copy | UnaryTileOp::Neg) {
                    self.whole_sums(&tile, op.word(), span)?;
                }
                tiles[dst.index()] = tiles[src.index()];
            }
            TileOp::Binary { op, dst, a, b } => {
                let tile = self.binary(*op, tiles[a.index()], b, tiles, span)?;
                tiles[dst.index()] = tile;
            }
            TileOp::RowReduce { op, dst, src } => {
                tiles[dst.index()] = Some(self.reduce(*op, &got(tiles, *src), true, span)?);
            }
            TileOp::ColReduce { op, dst, src } => {
                tiles[dst.index()] = Some(self.reduce(*op, &got(tiles, *src), false, span)?);
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                let mut right = got(tiles, *b);
                if *transpose_b {
                    std::mem::swap(&mut right.rows, &mut right.cols);
                }
                let product = self.product(&got(tiles, *a), &right, span)?;
                let before = if *accumulate { tiles[dst.index()] } else { None };
                tiles[dst.index()] = Some(match before {
                    Some(sum) => self.added(&sum, &product, word, span)?,
                    None => product,
                });
            }
            TileOp::Transpose { dst, src } => {
                tiles[dst.index()] =
                    tiles[src.index()].map(|tile| Tile { rows: tile.cols, cols: tile.rows, ..tile });
            }
            _ => return self.other(op, span, tiles),
        }
        Ok(())
    }

    /// Operations that read whole values, some of them whole rows or columns; what they give is laid out as all that they read.
    fn other(&mut self, op: &TileOp, span: Span, tiles: &mut Tiles) -> Checked<()> {
        let word = op.word();
        let needs = |of: LocalId| match op {
            TileOp::CumSum { .. } => [false, true],
            TileOp::Gather { src, by_row, .. } if *src == of => [*by_row, !*by_row],
            TileOp::TopK { src, .. } if *src == of => [false, true],
            TileOp::Reshape { .. } | TileOp::Insert { .. } | TileOp::Extract { .. } => [true, true],
            _ => [false, false],
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
        let mut result: Option<Tile> = None;
        for tile in read {
            let Some(operand) = tiles[tile.index()] else { continue };
            self.whole_sums(&operand, word, span)?;
            self.whole(&operand, needs(tile), word, span)?;
            let operand = if matches!(op, TileOp::Gather { src, .. } if *src == tile) {
                Tile { rows: LayoutDim::Replicate, cols: LayoutDim::Replicate, ..operand }
            } else {
                operand
            };
            result = Some(match result {
                Some(before) => self.met(&before, &operand, word, span)?,
                None => operand,
            });
        }
        let mut result = result.unwrap_or_default();
        if let TileOp::TopK { .. } = op {
            result.cols = LayoutDim::Replicate;
        }
        written.into_iter().for_each(|tile| tiles[tile.index()] = Some(result));
        Ok(())
    }

    fn load(&self, tensor: TensorId, at: &Place) -> Tile {
        let Some(seen) = self.reached.loaded(tensor) else {
            return Tile { of: Some(tensor), ..Tile::default() };
        };
        let dim = |dim: Option<u8>| dim.map_or(LayoutDim::Replicate, |dim| seen.dims[usize::from(dim)]);
        let (rows, cols) = (dim(at.row_dim), dim(at.col_dim));
        let mut turns = [0; AXES.len()];
        for (at_dim, lies) in seen.dims.iter().enumerate() {
            let Some(axis) = lies.axis() else { continue };
            let in_tile = [at.row_dim, at.col_dim].contains(&Some(at_dim as u8));
            turns[axis as usize] = match at.index.get(at_dim).map_or(0, |index| self.loop_of(index)) {
                0 if in_tile => 0,
                turn if (1..=self.depth).contains(&turn) => turn,
                _ => ENDED,
            };
        }
        Tile { rows, cols, pending: AxisSet::default(), turns, of: Some(tensor) }
    }

    fn store(&mut self, tensor: TensorId, tile: &Tile, at: &Place, span: Span) -> Checked<()> {
        let mut pending = tile.pending;
        if let Some(seen) = self.reached.stored(tensor) {
            let dim = |dim: Option<u8>| dim.map_or(LayoutDim::Replicate, |dim| seen.dims[usize::from(dim)]);
            for (own, there, of) in
                [(tile.rows, dim(at.row_dim), "rows"), (tile.cols, dim(at.col_dim), "columns")]
            {
                let Some(axis) = own.axis().filter(|_| own != there) else { continue };
                let other = match there {
                    LayoutDim::Replicate => "reach one part of the tensor only".to_owned(),
                    LayoutDim::Shard(other) => format!("are sharded over `{}` there", other.word()),
                };
                let message =
                    format!("the {of} that are stored are sharded over `{}`, and {other}", axis.word());
                return Err(Fault::Unlike { span, message, relayout: tile.of, axis });
            }
            let reached: AxisSet = seen.dims.iter().filter_map(|dim| dim.axis()).collect();
            pending = pending.with(tile.turning(|turn| turn > 0).without(reached));
        } else {
            pending = pending.with(tile.turning(|turn| turn == ENDED));
        }
        if let Some(axis) = pending.axes().next() {
            let split = self.splits[axis as usize].map_or(span, |(split, _)| split);
            let left = Left { tensor, pending, split };
            if !self.left.contains(&left) {
                self.left.push(left);
            }
        }
        Ok(())
    }

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
            match (a.1.of, b.1.of) {
                (of, None) => Fault::Unlike { span, message, relayout: of, axis: first },
                (_, of) => Fault::Unlike { span, message, relayout: of, axis: second },
            }
        })
    }

    /// Element-wise, of tiles of one shape; pending sums stay with the caller.
    fn met(&self, a: &Tile, b: &Tile, word: &str, span: Span) -> Checked<Tile> {
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
            return Err(Fault::Unlike { span, message, relayout: b.of.or(a.of), axis });
        }
        let of = a.of.or(b.of);
        Ok(Tile { rows, cols, pending: a.pending.with(b.pending), turns: later(a.turns, b.turns), of })
    }

    /// A sum of two tiles: both are pending over the same axes, or neither is.
    fn added(&self, a: &Tile, b: &Tile, word: &'static str, span: Span) -> Checked<Tile> {
        if a.pending != b.pending {
            self.whole_sums(a, word, span)?;
            self.whole_sums(b, word, span)?;
        }
        self.met(a, b, word, span)
    }

    fn binary(
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
            BinaryTileOp::Mul if left.pending.is_empty() => {}
            BinaryTileOp::Mul | BinaryTileOp::Div => {
                self.whole_sums(&right.unwrap_or_default(), word, span)?
            }
            _ => {
                self.whole_sums(&left, word, span)?;
                self.whole_sums(&right.unwrap_or_default(), word, span)?;
            }
        }
        self.met(&left, &right.unwrap_or_default(), word, span).map(Some)
    }

    /// A reduction over columns (`by_row`), or over rows.
    fn reduce(&mut self, op: ReduceOp, src: &Tile, by_row: bool, span: Span) -> Checked<Tile> {
        if op != ReduceOp::Sum {
            self.whole_sums(src, op.word(), span)?;
        }
        let (kept, gone) = if by_row { (src.rows, src.cols) } else { (src.cols, src.rows) };
        let pending = src.pending.with(self.split(gone, src.of, span));
        let (rows, cols) = if by_row { (kept, LayoutDim::Replicate) } else { (LayoutDim::Replicate, kept) };
        Ok(Tile { rows, cols, pending, ..*src })
    }

    /// `a · b`.
    fn product(&mut self, a: &Tile, b: &Tile, span: Span) -> Checked<Tile> {
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
            let relayout = if inner == a.rows { b.of } else { a.of };
            return Err(Fault::Unlike { span, message, relayout, axis });
        }
        let contracted = if a.cols == inner { a.of.or(b.of) } else { b.of.or(a.of) };
        tile.pending = tile.pending.with(self.split(inner, contracted, span));
        Ok(tile)
    }

    /// A dimension that is added up: the sum is split where it is sharded.
    fn split(&mut self, dim: LayoutDim, of: Option<TensorId>, span: Span) -> AxisSet {
        let Some(axis) = dim.axis() else { return AxisSet::default() };
        self.splits[axis as usize].get_or_insert((span, of));
        AxisSet::of(axis)
    }
}

fn is_zero(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Const(Const::Int(0)))
        || matches!(value.kind, ExprKind::Const(Const::Float(number)) if number == 0.0)
}
