//! Tiles of a kernel: what layouts make of them.

use super::{AXES, AxisSet, join};
use wsp_core::policy::LayoutDim;
use wsp_core::{LocalId, TensorId};

/// A tile of a kernel.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Tile {
    pub(super) rows: LayoutDim,
    pub(super) cols: LayoutDim,
    pub(super) pending: AxisSet,
    /// By axis: whether loops go along it one index at a time, so that it has parts of several tiles in turn.
    pub(super) turns: [u8; AXES.len()],
    /// The tensor that it comes from.
    pub(super) of: Option<TensorId>,
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
}

/// Turns of what has both: of each axis the one that ends first.
pub(super) fn later(a: [u8; AXES.len()], b: [u8; AXES.len()]) -> [u8; AXES.len()] {
    AXES.map(|axis| a[axis as usize].max(b[axis as usize]))
}

pub(super) fn got(tiles: &Tiles, tile: LocalId) -> Tile {
    tiles[tile.index()].unwrap_or_default()
}

/// What is known where two ways meet. Ways that disagree on an axis keep the first: each has been checked.
pub(super) fn merge(tiles: &mut Tiles, other: &Tiles) {
    for (tile, other) in tiles.iter_mut().zip(other) {
        *tile = match (*tile, *other) {
            (Some(a), Some(b)) => Some(Tile {
                rows: join(a.rows, b.rows).unwrap_or(a.rows),
                cols: join(a.cols, b.cols).unwrap_or(a.cols),
                pending: a.pending.with(b.pending),
                turns: later(a.turns, b.turns),
                of: a.of.or(b.of),
            }),
            (a, b) => a.or(b),
        };
    }
}
