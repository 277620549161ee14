//! Loads and stores of a kernel: what is fetched, and where a store may put what tiles have.

use super::index::{Count, Index, Key};
use super::kernel::{Checked, Fault, Left, Loaded, Walk};
use super::tile::{Known, Lies, Side, Tile};
use super::ways::Seen;
use super::{AXES, AxisSet};
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_core::{LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{Const, Elem, Expr, ExprKind, LocalTy, Place};

/// A store of a kernel.
pub(super) struct Stored<'a> {
    pub(super) tensor: TensorId,
    pub(super) src: LocalId,
    pub(super) at: &'a Place,
    /// It adds to what is there.
    pub(super) adds: bool,
    pub(super) span: Span,
}

impl Walk<'_> {
    /// A tensor has no pending sums, and this task stores none of what it loads in another layout.
    pub(super) fn readable(&mut self, tensor: TensorId, span: Span) -> Checked<()> {
        let is_own = self.stored.iter().any(|stored| self.reached.same(*stored, tensor));
        let mut known = self.found.loaded.iter();
        if !known.any(|known| (known.tensor, known.is_own) == (tensor, is_own)) {
            self.found.loaded.push(Loaded { tensor, span, is_own });
        }
        let loaded = self.reached.loaded(tensor).unwrap_or_default();
        if let Some(axis) = loaded.pending.axes().next() {
            return Err(Fault::PendingTensor { span, tensor, axis });
        }
        let same = |other: TensorId| self.reached.same(other, tensor);
        let own = self.found.left.iter().find(|left| same(left.tensor) && !left.pending.is_empty());
        if let Some((left, axis)) = own.and_then(|left| Some((left, left.pending.axes().next()?))) {
            let (_, contracted) = self.source(axis).unwrap_or((span, None));
            return Err(Fault::PendingTile { span, word: "load", axis, split: left.split, contracted });
        }
        let mut stored = self.stored.iter().filter(|stored| same(**stored));
        let differs = |other: &TensorId| {
            let stored = self.reached.stored(*other).unwrap_or_default();
            loaded.is_moved || stored.across != loaded.across
        };
        let Some(other) = stored.find(|other| differs(other)) else { return Ok(()) };
        let stored = self.reached.stored(*other).unwrap_or_default();
        let axes = stored.axes().with(loaded.axes()).with(stored.within).with(loaded.within);
        let axis = axes.axes().next().unwrap_or_default();
        Err(Fault::StoredBefore { span, tensor, axis })
    }

    /// What a tile has after a load.
    pub(super) fn load(
        &mut self,
        (dst, tensor): (LocalId, TensorId),
        at: &Place,
        most: [Option<&Expr>; 2],
        known: &Known,
        span: Span,
    ) -> Checked<Tile> {
        self.readable(tensor, span)?;
        let mut tile = Tile::default();
        let Some(seen) = self.reached.loaded(tensor) else { return Ok(tile) };
        for (dim, lies) in seen.dims.iter().enumerate() {
            let Some(axis) = lies.axis() else { continue };
            let key = self.key(&seen, (tensor, at, dim), known, span)?;
            tile.lies[axis as usize] = match side_of(at, dim) {
                Some(side) => {
                    let most = most[side as usize].map(|most| self.count(most, &known.values));
                    self.along_side(dst, side, most, key, seen.end[dim])
                }
                None => Lies::Own(self.indices.one_part(&key, Some(1)).unwrap_or(key)),
            };
            tile.of[axis as usize] = Some(tensor);
        }
        Ok(tile)
    }

    /// What a load of a tile has of one side of it, of which a number says the most that is loaded.
    fn along_side(
        &mut self,
        dst: LocalId,
        side: Side,
        most: Option<Option<u32>>,
        key: Key,
        end: u32,
    ) -> Lies {
        let room = self.room(dst, side);
        let bound = [most.flatten(), room].into_iter().flatten().min();
        if let Some(key) = self.indices.one_part(&key, bound) {
            return Lies::Own(key);
        }
        let is_exact = room.is_some() && most != Some(None);
        let several = bound.is_some_and(|most| self.indices.is_several(&key, Count { most, is_exact, end }));
        Lies::Shard(side, Key { several, ..key })
    }

    /// A number of rows or columns, where it is known.
    fn count(&mut self, number: &Expr, values: &[Option<Index>]) -> Option<u32> {
        u32::try_from(self.indices.of(number, values)?.as_constant()?).ok()
    }

    /// Which tile along an axis has the first index of a dimension that a load or a store goes along.
    fn key(
        &mut self,
        seen: &Seen,
        (tensor, at, dim): (TensorId, &Place, usize),
        known: &Known,
        span: Span,
    ) -> Checked<Key> {
        let index = at.index.get(dim).and_then(|index| self.indices.of(index, &known.values));
        let first = index.and_then(|mut index| {
            index.constant = index.constant.checked_add(i128::from(seen.first[dim]))?;
            Some(index)
        });
        let axis = seen.dims[dim].axis().unwrap_or_default();
        let unknown = || {
            let message = format!(
                "an index of a dimension that is sharded over `{}` and reached across tiles is no sum of multiples of variables, fields and parameters; such indices are not followed",
                axis.word()
            );
            Fault::Unlike { span, message, relayout: Some(tensor), axis }
        };
        Ok(Key { first: first.ok_or_else(unknown)?, part: seen.part[dim], several: false })
    }

    /// How many rows or columns a tile has room for, where that is known.
    fn room(&mut self, tile: LocalId, side: Side) -> Option<u32> {
        let LocalTy::Tile(ty) = &self.func.local(tile).ty else { return None };
        let room = match side {
            Side::Rows => &ty.rows,
            Side::Cols => &ty.cols,
        };
        self.count(room, &[])
    }

    /// A store of a number, which all tiles have.
    pub(super) fn store_number(&mut self, tensor: TensorId, value: &Expr, span: Span) -> Checked<()> {
        self.stored.extend((!self.stored.contains(&tensor)).then_some(tensor));
        let nowhere = self.reached.stored(tensor).is_some_and(|seen| seen.nowhere);
        if !is_zero(value) && !nowhere {
            self.leave(tensor, AxisSet::default(), span);
        }
        Ok(())
    }

    /// Stores a tile.
    pub(super) fn store(&mut self, of: &Stored<'_>, known: &Known) -> Checked<()> {
        let Stored { tensor, src, adds, span, .. } = *of;
        self.stored.extend((!self.stored.contains(&tensor)).then_some(tensor));
        // Zeros are parts of every sum.
        let Some(tile) = &known.tiles[src.index()] else { return Ok(()) };
        self.alike(tile, "store", span)?;
        let seen = self.reached.stored(tensor).unwrap_or_default();
        if seen.nowhere {
            return Ok(());
        }
        let mut pending = AxisSet::default();
        for axis in AXES {
            if self.stored_along(axis, tile, of, &seen, known)? {
                pending = pending.with(AxisSet::of(axis));
            }
        }
        if adds {
            // Tasks on other tiles add to it, too: each tile has what its own tasks add.
            pending = pending.with(self.reached.along().without(seen.parts).without(seen.within));
        }
        let to = self.module.tensors[tensor.index()].elem;
        let fits = self.elem(src).is_none_or(|from| adds_up((from, to), !tile.pending().is_empty()));
        if let Some(axis) = pending.axes().next().filter(|_| !fits) {
            return Err(self.read_parts("store", axis, tile, span));
        }
        let source = pending.axes().find_map(|axis| self.source(axis).filter(|_| tile.pending().has(axis)));
        self.leave(tensor, pending, source.map_or(span, |(split, _)| split));
        Ok(())
    }

    fn leave(&mut self, tensor: TensorId, pending: AxisSet, split: Span) {
        let left = Left { tensor, pending, split };
        if !self.found.left.contains(&left) {
            self.found.left.push(left);
        }
    }

    /// Whether a store leaves parts of sums over an axis.
    fn stored_along(
        &mut self,
        axis: MeshAxis,
        tile: &Tile,
        of: &Stored<'_>,
        seen: &Seen,
        known: &Known,
    ) -> Checked<bool> {
        let lies = tile.along(axis);
        let across = seen.dims.iter().position(|dim| *dim == LayoutDim::Shard(axis));
        let wrong =
            |message: String| Err(Fault::Unlike { span: of.span, message, relayout: tile.of(axis), axis });
        match (lies, across) {
            (Lies::Whole, _) => Ok(false),
            (Lies::Pending, None) if !seen.within.has(axis) => Ok(true),
            (Lies::Pending, _) => {
                let message = format!(
                    "each tile along `{0}` has a part of the sum that is stored, and the tensor is sharded over `{0}`",
                    axis.word()
                );
                let relayout = self.source(axis).and_then(|(_, contracted)| contracted).or(tile.of(axis));
                Err(Fault::Unlike { span: of.span, message, relayout, axis })
            }
            (_, Some(dim)) => {
                let key = self.key(seen, (of.tensor, of.at, dim), known, of.span)?;
                let side = side_of(of.at, dim);
                let fits = match lies {
                    Lies::Shard(own, there) => side == Some(*own) && there.is_at(&key),
                    Lies::Own(there) => {
                        let most = side.map_or(Some(1), |side| self.room(of.src, side));
                        self.indices.one_part(&key, most).is_some_and(|key| key.is_at(there))
                    }
                    _ => false,
                };
                if fits { Ok(false) } else { wrong(self.elsewhere(axis, lies, side)) }
            }
            (_, None) if seen.within.has(axis) => wrong(format!(
                "what is stored lies on different tiles along `{}`, and the task stores to one part of the tensor only",
                axis.word()
            )),
            // Each tile adds what it has to its own copy, and the sum of these is the value.
            (_, None) if of.adds => {
                self.split(axis, tile.of(axis), of.span);
                Ok(true)
            }
            (_, None) => Err(self.unstored(axis, tile, of, known)),
        }
    }

    fn elsewhere(&self, axis: MeshAxis, lies: &Lies, side: Option<Side>) -> String {
        let axis = axis.word();
        match (lies, side) {
            (Lies::Shard(own, _), Some(side)) if *own == side => format!(
                "the {} that are stored are sharded over `{axis}` from another index on than those of the tensor there",
                own.word()
            ),
            (Lies::Shard(own, _), _) => format!(
                "the {} that are stored are sharded over `{axis}`, and other dimensions of the tensor are there",
                own.word()
            ),
            _ => format!("what is stored lies on one tile along `{axis}`, and the place on others"),
        }
    }

    /// A store of what single tiles have where every tile has a copy.
    fn unstored(&mut self, axis: MeshAxis, tile: &Tile, of: &Stored<'_>, known: &Known) -> Fault {
        let word = axis.word();
        let (what, dim) = match tile.along(axis) {
            Lies::Shard(side, _) => {
                let dim = match side {
                    Side::Rows => of.at.row_dim,
                    Side::Cols => of.at.col_dim,
                };
                (format!("the {} that are stored are sharded over `{word}`", side.word()), dim)
            }
            Lies::Own(key) => {
                let along = of.at.index.iter().position(|index| {
                    self.indices.of(index, &known.values).is_some_and(|index| index.terms == key.first.terms)
                });
                (format!("what is stored lies on one tile along `{word}`"), along.map(|dim| dim as u8))
            }
            _ => (format!("what is stored does not lie on all tiles along `{word}`"), None),
        };
        let message = format!("{what}, and each tile has a copy of the tensor");
        Fault::Unstored { span: of.span, message, relayout: tile.of(axis), axis, stored: of.tensor, dim }
    }

    /// The element type of a tile.
    pub(super) fn elem(&self, tile: LocalId) -> Option<Elem> {
        match &self.func.local(tile).ty {
            LocalTy::Tile(ty) => Some(ty.elem),
            _ => None,
        }
    }

    /// An operation that reads parts of sums over an axis otherwise than as parts.
    pub(super) fn read_parts(&self, word: &'static str, axis: MeshAxis, tile: &Tile, span: Span) -> Fault {
        let (split, contracted) = self.source(axis).unwrap_or((span, None));
        Fault::PendingTile { span, word, axis, split, contracted: contracted.or(tile.of(axis)) }
    }
}

/// Whether parts of a sum are its parts in another type, too: integers wrap, so that sums of them are the same in any order, and parts
/// keep their type; floats are rounded either way.
pub(super) fn adds_up((from, to): (Elem, Elem), in_parts: bool) -> bool {
    match (from.is_integer(), to.is_integer()) {
        (true, true) => !in_parts || from == to,
        (true, false) => !in_parts,
        (false, to) => !to,
    }
}

/// The side of a tile that goes along a dimension.
fn side_of(at: &Place, dim: usize) -> Option<Side> {
    let dim = Some(dim as u8);
    if at.row_dim == dim {
        return Some(Side::Rows);
    }
    (at.col_dim == dim).then_some(Side::Cols)
}

pub(super) fn is_zero(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Const(Const::Int(0)))
        || matches!(value.kind, ExprKind::Const(Const::Float(number)) if number == 0.0)
}
