//! Tiles of a kernel: where the tiles of an array have them.

use super::index::{Index, Indices, Key};
use super::{AXES, AxisSet};
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_core::{LocalId, TensorId};

/// A dimension of a tile of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Rows,
    Cols,
}

impl Side {
    pub(super) fn word(self) -> &'static str {
        match self {
            Side::Rows => "rows",
            Side::Cols => "columns",
        }
    }

    pub(super) fn other(self) -> Side {
        match self {
            Side::Rows => Side::Cols,
            Side::Cols => Side::Rows,
        }
    }
}

/// Where the tiles along an axis have a tile of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Lies {
    /// All have all of it.
    Whole,
    /// Each has its indices of one dimension.
    Shard(Side, Key),
    /// The tile that has an index of a sharded dimension has all of it, until the index changes.
    Own(Key),
    /// Each has a part, and the sum of the parts is the value.
    Pending,
    /// Not known: it may be replaced, but not read.
    Unlike,
}

impl Lies {
    /// That of both, where they are alike.
    pub(super) fn same(&self, other: &Lies) -> Option<Lies> {
        match (self, other) {
            (Lies::Shard(own, a), Lies::Shard(side, b)) if own == side => {
                a.with(b).map(|key| Lies::Shard(*own, key))
            }
            (Lies::Own(a), Lies::Own(b)) => a.with(b).map(Lies::Own),
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    /// That of what comes from one of two. What is whole is there where the other is.
    fn either(&self, other: &Lies) -> Lies {
        if let Some(same) = self.same(other) {
            return same;
        }
        match (self, other) {
            (Lies::Whole, there @ (Lies::Shard(..) | Lies::Own(_)))
            | (there @ (Lies::Shard(..) | Lies::Own(_)), Lies::Whole) => there.clone(),
            _ => Lies::Unlike,
        }
    }

    /// The index that it goes along with.
    fn key(&self) -> Option<&Key> {
        match self {
            Lies::Shard(_, key) | Lies::Own(key) => Some(key),
            Lies::Whole | Lies::Pending | Lies::Unlike => None,
        }
    }
}

/// A tile of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tile {
    /// By axis.
    pub(super) lies: [Lies; AXES.len()],
    /// By axis: the tensor that this comes from.
    pub(super) of: [Option<TensorId>; AXES.len()],
}

impl Default for Tile {
    fn default() -> Tile {
        Tile { lies: [Lies::Whole, Lies::Whole], of: [None; AXES.len()] }
    }
}

impl Tile {
    /// Along an axis.
    pub(super) fn along(&self, axis: MeshAxis) -> &Lies {
        &self.lies[axis as usize]
    }

    /// The tensor that its layout over an axis comes from.
    pub(super) fn of(&self, axis: MeshAxis) -> Option<TensorId> {
        self.of[axis as usize]
    }

    /// The axes along which it lies in a way.
    pub(super) fn which(&self, test: impl Fn(&Lies) -> bool) -> AxisSet {
        AXES.into_iter().filter(|axis| test(self.along(*axis))).collect()
    }

    /// Axes along which tiles have parts of sums of it.
    pub(super) fn pending(&self) -> AxisSet {
        self.which(|lies| *lies == Lies::Pending)
    }

    /// With rows as columns.
    pub(super) fn transposed(self) -> Tile {
        let lies = self.lies.map(|lies| match lies {
            Lies::Shard(side, key) => Lies::Shard(side.other(), key),
            other => other,
        });
        Tile { lies, ..self }
    }

    /// The layout of one of its sides.
    pub(super) fn side(&self, side: Side) -> LayoutDim {
        let over = |axis: &MeshAxis| matches!(self.along(*axis), Lies::Shard(own, _) if *own == side);
        AXES.into_iter().find(over).map_or(LayoutDim::Replicate, LayoutDim::Shard)
    }

    fn either(&self, other: &Tile) -> Tile {
        let [x, mut y] = AXES.map(|axis| self.along(axis).either(other.along(axis)));
        if let (Lies::Shard(first, _), Lies::Shard(second, _)) = (&x, &y)
            && first == second
        {
            y = Lies::Unlike;
        }
        Tile { lies: [x, y], of: AXES.map(|axis| self.of(axis).or(other.of(axis))) }
    }
}

/// Tiles by their variables; none where there is nothing yet, or zeros on all tiles of an array.
pub(super) type Tiles = Vec<Option<Tile>>;

pub(super) fn got(tiles: &Tiles, tile: LocalId) -> Tile {
    tiles[tile.index()].clone().unwrap_or_default()
}

/// What is known at a place of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Known {
    pub(super) tiles: Tiles,
    /// By variable: the index that it is, in other variables.
    pub(super) values: Vec<Option<Index>>,
}

impl Known {
    /// A variable has another value: what went along with it is known no more.
    pub(super) fn change(&mut self, local: LocalId, indices: &Indices) {
        for lies in self.tiles.iter_mut().flatten().flat_map(|tile| &mut tile.lies) {
            if lies.key().is_some_and(|key| indices.reads(&key.first, local)) {
                *lies = Lies::Unlike;
            }
        }
        for value in &mut self.values {
            value.take_if(|value| indices.reads(value, local));
        }
        self.values[local.index()] = None;
    }

    /// What is known where two ways meet. Zeros are parts of every sum, and there wherever the other is.
    fn either(&self, other: &Known) -> Known {
        let tile = |(a, b): (&Option<Tile>, &Option<Tile>)| match (a, b) {
            (Some(a), Some(b)) => Some(a.either(b)),
            (a, b) => a.clone().or(b.clone()),
        };
        let value = |(a, b): (&Option<Index>, &Option<Index>)| a.clone().filter(|_| a == b);
        Known {
            tiles: self.tiles.iter().zip(&other.tiles).map(tile).collect(),
            values: self.values.iter().zip(&other.values).map(value).collect(),
        }
    }
}

/// What is known at a place; none where no way leads to it.
pub(super) type Flow = Option<Known>;

/// Where two ways meet.
pub(super) fn meet(a: Flow, b: Flow) -> Flow {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.either(&b)),
        (a, b) => a.or(b),
    }
}
