//! What a kernel makes of layouts: its tile operations, over layouts in the place of numbers.
//!
//! A dimension counts as sharded where a task reaches past the part of one tile. What lies within one part is whole, wherever that is.

use super::tile::{ENDED, Tile, Tiles, got, merge};
use super::{AXES, AxisSet};
use crate::walk;
use wsp_core::limits::MAX_RANK;
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_core::{LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    ArrayRef, Block, Const, Expr, ExprKind, Function, Part, Place, Stmt, StmtKind, TileOp, TileUse,
    UnaryTileOp,
};
use wsp_ordered::OrderedSet;

/// A tensor as one task reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Seen {
    /// The axes of dimensions that the task reaches across tiles.
    pub(super) dims: [LayoutDim; MAX_RANK],
    /// Where it is read: its pending sums.
    pub(super) pending: AxisSet,
    /// The axes over which other tasks reach other parts of it, on other tiles.
    pub(super) parts: AxisSet,
}

impl Seen {
    /// Axes that it is reached across.
    pub(super) fn axes(&self) -> AxisSet {
        self.dims.iter().filter_map(|dim| dim.axis()).collect()
    }
}

/// How the tensors of a task are reached; none where nothing is said of one.
pub(super) trait Reached {
    /// Where it is loaded.
    fn loaded(&self, tensor: TensorId) -> Option<Seen>;

    /// Where it is stored.
    fn stored(&self, tensor: TensorId) -> Option<Seen>;

    /// The axes along which the tile of the task follows from the parts that it reaches.
    fn along(&self) -> AxisSet;

    /// Whether both names stand for one tensor.
    fn same(&self, a: TensorId, b: TensorId) -> bool;
}

/// Sums of a tensor that a store of a kernel leaves pending, or none.
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

pub(super) type Checked<T> = Result<T, Fault>;

/// The sums that a kernel leaves pending.
///
/// # Errors
/// The first operation that reads what no tile has.
pub(super) fn analyse(func: &Function, reached: &dyn Reached) -> Checked<Vec<Left>> {
    let mut walk = Walk {
        reached,
        splits: [None; 2],
        walked: [None; 2],
        left: Vec::new(),
        stored: Vec::new(),
        depth: 0,
        varies: vec![0; func.locals.len()],
    };
    let mut tiles = vec![None; func.locals.len()];
    walk.block(&func.body, &mut tiles)?;
    Ok(walk.left)
}

pub(super) struct Walk<'a> {
    reached: &'a dyn Reached,
    /// Where a sum was split first over each axis, and the tensor whose dimension it was.
    pub(super) splits: [Option<(Span, Option<TensorId>)>; 2],
    /// Where a tensor was loaded first whose dimension over each axis is taken part after part.
    walked: [Option<(Span, Option<TensorId>)>; 2],
    left: Vec<Left>,
    /// Tensors that are stored so far.
    stored: Vec<TensorId>,
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
        // What a tile has only grows: two dimensions, and for two axes a tensor, two sets and two steps of a turn.
        for _ in 0..=12 * tiles.len() {
            let before = tiles.clone();
            let stores = (self.left.len(), self.stored.len());
            blocks.iter().try_for_each(|block| self.block(block, tiles))?;
            let turns = tiles.iter_mut().flatten().flat_map(|tile| &mut tile.turns);
            turns.filter(|turn| **turn >= self.depth).for_each(|turn| *turn = ENDED);
            merge(tiles, &before);
            if *tiles == before && stores == (self.left.len(), self.stored.len()) {
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
            ExprKind::LoadScalar(tensor, _)
            | ExprKind::Load(ArrayRef::Tensor(tensor), _)
            | ExprKind::ArrayMax(ArrayRef::Tensor(tensor), _)
            | ExprKind::ArraySum(ArrayRef::Tensor(tensor), _) => {
                self.readable(*tensor, expr.span)?;
                let over = self.reached.loaded(*tensor).unwrap_or_default().axes();
                self.number(over, Some(*tensor), expr.span)?;
            }
            ExprKind::TileMax(tile) | ExprKind::TileSum(tile) => {
                let tile = got(tiles, *tile);
                self.alike(&tile, "an element of a tile", expr.span)?;
                self.whole_sums(&tile, "an element of a tile", expr.span)?;
                self.whole(&tile, [true, true], "an element of a tile", expr.span)?;
                self.number(tile.turning(|turn| turn > 0), None, expr.span)?;
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

    /// A number has one value on all tiles: it is not followed further.
    fn number(&self, over: AxisSet, tensor: Option<TensorId>, span: Span) -> Checked<()> {
        let Some(axis) = over.axes().next() else { return Ok(()) };
        let message = format!(
            "a number is taken from a dimension that is sharded over `{}` and reached across tiles; numbers are not followed",
            axis.word()
        );
        let relayout = tensor.or(self.walked[axis as usize].and_then(|(_, tensor)| tensor));
        Err(Fault::Unlike { span, message, relayout, axis })
    }

    /// A tensor has no pending sums, and this task stores none of what it loads in another layout.
    fn readable(&self, tensor: TensorId, span: Span) -> Checked<()> {
        let loaded = self.reached.loaded(tensor).unwrap_or_default();
        if let Some(axis) = loaded.pending.axes().next() {
            return Err(Fault::PendingTensor { span, tensor, axis });
        }
        let same = |other: TensorId| self.reached.same(other, tensor);
        let own = self.left.iter().find(|left| same(left.tensor) && !left.pending.is_empty());
        if let Some((left, axis)) = own.and_then(|left| Some((left, left.pending.axes().next()?))) {
            let (_, contracted) = self.source(left.pending, axis).unwrap_or((span, None));
            return Err(Fault::PendingTile { span, word: "load", axis, split: left.split, contracted });
        }
        let stored = self.stored.iter().filter(|stored| same(**stored));
        let stored = stored.filter_map(|other| Some((*other, self.reached.stored(*other)?)));
        // Dimensions of two views count from different ones.
        let differs = |(other, stored): &(TensorId, Seen)| match *other == tensor {
            true => stored.dims != loaded.dims,
            false => stored.axes() != loaded.axes(),
        };
        let Some(axis) = stored.filter(differs).find_map(|(_, stored)| stored.axes().axes().next()) else {
            return Ok(());
        };
        let message = "a task loads what it stores itself, before a relayout of the tensor".to_owned();
        Err(Fault::Unlike { span, message, relayout: None, axis })
    }

    /// Where sums over an axis were split first, by operations (where they are pending) or by a loop.
    fn source(&self, pending: AxisSet, axis: MeshAxis) -> Option<(Span, Option<TensorId>)> {
        let (split, walked) = (self.splits[axis as usize], self.walked[axis as usize]);
        if pending.has(axis) { split.or(walked) } else { walked }
    }

    /// A tile has no parts of sums.
    pub(super) fn whole_sums(&self, tile: &Tile, word: &'static str, span: Span) -> Checked<()> {
        let Some(axis) = tile.parts().axes().next() else { return Ok(()) };
        let (split, contracted) = self.source(tile.pending, axis).unwrap_or((span, None));
        let contracted = contracted.or(tile.of(axis));
        Err(Fault::PendingTile { span, word, axis, split, contracted })
    }

    /// A tile has the same layout on all ways to here.
    fn alike(&self, tile: &Tile, word: &str, span: Span) -> Checked<()> {
        let Some(axis) = tile.unlike.axes().next() else { return Ok(()) };
        let message = format!(
            "`{word}` reads a tile that lies in one way over `{}` by one branch or pass of a loop, and in another way by another",
            axis.word()
        );
        let (_, contracted) = self.source(tile.pending, axis).unwrap_or((span, None));
        Err(Fault::Unlike { span, message, relayout: tile.of(axis).or(contracted), axis })
    }

    /// The rows, columns or both of a tile lie within one part.
    pub(super) fn whole(&self, tile: &Tile, which: [bool; 2], word: &str, span: Span) -> Checked<()> {
        let along = [(tile.rows, "rows"), (tile.cols, "columns")].into_iter().zip(which);
        let found = along.filter(|(_, asked)| *asked).find_map(|((dim, of), _)| Some((dim.axis()?, of)));
        let Some((axis, of)) = found else { return Ok(()) };
        let message =
            format!("`{word}` needs all {of} of its operand, which are sharded over `{}`", axis.word());
        Err(Fault::Unlike { span, message, relayout: tile.of(axis), axis })
    }

    fn op(&mut self, op: &TileOp, span: Span, tiles: &mut Tiles) -> Checked<()> {
        let word = op.word();
        for tile in op.reads() {
            self.alike(&got(tiles, tile), word, span)?;
        }
        match op {
            TileOp::Load { dst, tensor, at, .. } => {
                self.readable(*tensor, span)?;
                tiles[dst.index()] = Some(self.load(*tensor, at, span));
            }
            // Zeros are parts of every sum.
            TileOp::Store { src, .. } if tiles[src.index()].is_none() => {}
            TileOp::Store { tensor, src, at, add, .. } => {
                // Tasks on other tiles add to it, too: each tile has what its own tasks add.
                let there = self.reached.stored(*tensor).unwrap_or_default().parts;
                let added = if *add { self.reached.along().without(there) } else { AxisSet::default() };
                self.store(*tensor, &got(tiles, *src), at, (span, added))?;
            }
            TileOp::Fill { dst, value, .. } => {
                tiles[dst.index()] = if is_zero(value) { None } else { Some(Tile::default()) };
            }
            TileOp::Unary { op, dst, src } => {
                let tile = got(tiles, *src);
                let is_linear = matches!(op, UnaryTileOp::Copy | UnaryTileOp::Neg);
                if !is_linear {
                    self.whole_sums(&tile, op.word(), span)?;
                }
                // Zeros stay zeros where the operation is linear only.
                tiles[dst.index()] = if is_linear { tiles[src.index()] } else { Some(tile) };
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
            self.alike(&operand, word, span)?;
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

    fn load(&mut self, tensor: TensorId, at: &Place, span: Span) -> Tile {
        let Some(seen) = self.reached.loaded(tensor) else { return Tile::default() };
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
            if turns[axis as usize] > 0 {
                self.walked[axis as usize].get_or_insert((span, Some(tensor)));
            }
        }
        let of = AXES.map(|axis| seen.axes().has(axis).then_some(tensor));
        Tile { rows, cols, turns, of, ..Tile::default() }
    }

    /// Stores a tile; sums over `added` are left in parts, as tasks of other tiles add to the tensor.
    fn store(
        &mut self,
        tensor: TensorId,
        tile: &Tile,
        at: &Place,
        (span, added): (Span, AxisSet),
    ) -> Checked<()> {
        self.stored.extend((!self.stored.contains(&tensor)).then_some(tensor));
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
                return Err(Fault::Unlike { span, message, relayout: tile.of(axis), axis });
            }
        }
        // What a loop takes from tile to tile stays on them where it is stored along the same loop; where nothing is said of the
        // tensor, along any of its dimensions.
        let seen = self.reached.stored(tensor);
        let follows = |axis: MeshAxis, turn: u8| {
            at.index.iter().enumerate().any(|(dim, index)| {
                let lies =
                    seen.is_none_or(|seen| seen.dims.get(dim).is_some_and(|lies| lies.axis() == Some(axis)));
                turn != ENDED && lies && self.loop_of(index) == turn
            })
        };
        let astray = |axis: &MeshAxis| {
            let turn = tile.turns[*axis as usize];
            turn > 0 && !follows(*axis, turn)
        };
        let pending = tile.pending.with(AXES.into_iter().filter(astray).collect());
        let source = pending.axes().next().and_then(|axis| self.source(tile.pending, axis));
        let pending = pending.with(added);
        let left = Left { tensor, pending, split: source.map_or(span, |(split, _)| split) };
        if !self.left.contains(&left) {
            self.left.push(left);
        }
        Ok(())
    }
}

fn is_zero(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Const(Const::Int(0)))
        || matches!(value.kind, ExprKind::Const(Const::Float(number)) if number == 0.0)
}
