//! Tiles of a kernel: what layouts make of them.

use super::{AXES, AxisSet, join};
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_core::{LocalId, TensorId};

/// A tile of a kernel.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Tile {
    pub(super) rows: LayoutDim,
    pub(super) cols: LayoutDim,
    pub(super) pending: AxisSet,
    /// By axis: whether loops go along it one index at a time, so that it has parts of several tiles in turn.
    pub(super) turns: [u8; AXES.len()],
    /// By axis: the tensor that its layout over the axis comes from.
    pub(super) of: [Option<TensorId>; AXES.len()],
    /// Axes over which it lies in one way or another, by the way that the kernel took: it may be replaced, but not read.
    pub(super) unlike: AxisSet,
}

/// A turn that ended: what follows has parts of several tiles together. Below are depths of loops that are under way, 0 for none.
pub(super) const ENDED: u8 = u8::MAX;

/// Tiles by their variables; none where there is nothing yet, or zeros only.
pub(super) type Tiles = Vec<Option<Tile>>;

impl Tile {
    /// Axes with such turns.
    pub(super) fn turning(&self, which: impl Fn(u8) -> bool) -> AxisSet {
        AXES.into_iter().filter(|axis| which(self.turns[*axis as usize])).collect()
    }

    /// Axes over which tiles have parts of it only.
    pub(super) fn parts(&self) -> AxisSet {
        self.pending.with(self.turning(|turn| turn == ENDED))
    }

    /// Whether its rows or columns are sharded over an axis.
    pub(super) fn is_sharded(&self, axis: MeshAxis) -> bool {
        [self.rows, self.cols].contains(&LayoutDim::Shard(axis))
    }

    /// The tensor that its layout over an axis comes from.
    pub(super) fn of(&self, axis: MeshAxis) -> Option<TensorId> {
        self.of[axis as usize]
    }

    /// What is known of a tile that comes from one of two. What is replicated fits as a slice, and is on every tile that a loop under way
    /// goes to; parts of sums and whole values do not fit, nor do dimensions over different axes.
    fn either(self, other: Tile) -> Tile {
        let ended = |tile: &Tile| tile.turning(|turn| turn == ENDED);
        let moves = |tile: &Tile| tile.turning(|turn| turn > 0);
        let mut unlike = self.unlike.with(other.unlike);
        unlike = unlike.with(self.pending.without(other.pending)).with(other.pending.without(self.pending));
        unlike = unlike.with(ended(&self).without(moves(&other))).with(ended(&other).without(moves(&self)));
        for (own, there) in [(self.rows, other.rows), (self.cols, other.cols)] {
            unlike = unlike.with(join(own, there).err().map(|differ| differ.0).into_iter().collect());
        }
        let (rows, cols) = (join(self.rows, other.rows), join(self.cols, other.cols));
        Tile {
            rows: rows.unwrap_or(self.rows),
            cols: cols.unwrap_or(self.cols),
            pending: self.pending.with(other.pending),
            turns: later(self.turns, other.turns),
            of: AXES.map(|axis| self.of(axis).or(other.of(axis))),
            unlike,
        }
    }
}

/// Turns of what has both: of each axis the one that ends first.
pub(super) fn later(a: [u8; AXES.len()], b: [u8; AXES.len()]) -> [u8; AXES.len()] {
    AXES.map(|axis| a[axis as usize].max(b[axis as usize]))
}

pub(super) fn got(tiles: &Tiles, tile: LocalId) -> Tile {
    tiles[tile.index()].unwrap_or_default()
}

/// What is known where two ways meet.
pub(super) fn merge(tiles: &mut Tiles, other: &Tiles) {
    for (tile, other) in tiles.iter_mut().zip(other) {
        *tile = match (*tile, *other) {
            (Some(a), Some(b)) => Some(a.either(b)),
            (a, b) => a.or(b),
        };
    }
}
