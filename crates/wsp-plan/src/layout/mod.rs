//! How tensors lie on a grid of tiles: which tile has which element, which layouts fit together, what a kernel makes of the layouts of
//! what it loads, and which tile a task is for.
//!
//! A dimension of a tensor is replicated, or sharded over an axis of the grid: then each of the `n` tiles along the axis has a part of
//! `extent / n` indices, rounded up, the last ones perhaps fewer or none. An axis shards one dimension of a tensor at most. Where a
//! kernel adds up over a dimension that is sharded, each tile along the axis has a part of the sum: the sum is *pending* over
//! the axis, and nothing may be read of it before a relayout has added the parts up.
//!
//! **Boundary:** knows no target: `cpu_sim` takes a tile as an affinity, a tile array as a place.

pub(crate) mod codes;
mod combine;
pub(crate) mod declared;
mod faults;
mod index;
mod kernel;
mod map;
mod ops;
mod place;
mod shared;
mod tasks;
mod tile;
mod views;
mod words;

pub use map::{Tensors, TileMap};
pub use shared::check_shared;
pub use tasks::{Facts, LayoutAnalyzer};

use wsp_core::policy::{Grid, LayoutDim, MeshAxis};

/// A set of axes of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AxisSet(u8);

impl AxisSet {
    /// The set of one axis.
    pub const fn of(axis: MeshAxis) -> AxisSet {
        AxisSet(1 << axis as u8)
    }

    /// Whether it has an axis.
    pub fn has(self, axis: MeshAxis) -> bool {
        self.0 & AxisSet::of(axis).0 != 0
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in either.
    #[must_use]
    pub fn with(self, other: AxisSet) -> AxisSet {
        AxisSet(self.0 | other.0)
    }

    /// What is in this and not in the other.
    #[must_use]
    pub fn without(self, other: AxisSet) -> AxisSet {
        AxisSet(self.0 & !other.0)
    }

    /// Its axes.
    pub fn axes(self) -> impl Iterator<Item = MeshAxis> {
        AXES.into_iter().filter(move |axis| self.has(*axis))
    }
}

impl FromIterator<MeshAxis> for AxisSet {
    fn from_iter<I: IntoIterator<Item = MeshAxis>>(axes: I) -> AxisSet {
        axes.into_iter().fold(AxisSet::default(), |set, axis| set.with(AxisSet::of(axis)))
    }
}

/// The axes of a grid.
pub const AXES: [MeshAxis; 2] = [MeshAxis::X, MeshAxis::Y];

/// A tile of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TileCoord {
    /// Its place in its row.
    pub x: u32,
    /// Its row.
    pub y: u32,
}

impl TileCoord {
    /// Its place along an axis.
    pub fn along(self, axis: MeshAxis) -> u32 {
        match axis {
            MeshAxis::X => self.x,
            MeshAxis::Y => self.y,
        }
    }

    /// Its number, row by row.
    pub fn number(self, grid: Grid) -> u32 {
        self.y * grid.x.max(1) + self.x
    }

    /// The tile with a number.
    pub fn numbered(number: u32, grid: Grid) -> TileCoord {
        TileCoord { x: number % grid.x.max(1), y: number / grid.x.max(1) }
    }
}

/// How a tensor of a known shape lies on a grid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorLayout {
    /// Its name.
    pub name: String,
    /// Its extents, outermost first.
    pub shape: Vec<u32>,
    /// One entry for each dimension.
    pub dims: Vec<LayoutDim>,
    /// Axes along which each tile has a part of its elements' sums.
    pub pending: AxisSet,
}

impl TensorLayout {
    /// Indices of a dimension that a tile has, if no tile has more; 1 of an empty dimension.
    fn part(&self, dim: usize, grid: Grid) -> u32 {
        let extent = self.shape[dim];
        match self.dims[dim].axis() {
            Some(axis) => extent.div_ceil(grid.along(axis)).max(1),
            None => extent.max(1),
        }
    }

    /// The tile that has an element, the first of those along axes that shard no dimension. `global` has an index below the extent for
    /// each dimension.
    pub fn get_tile(&self, global: &[u32], grid: Grid) -> TileCoord {
        let mut tile = TileCoord::default();
        for (dim, index) in global.iter().enumerate().take(self.dims.len()) {
            match self.dims[dim].axis() {
                Some(MeshAxis::X) => tile.x = index / self.part(dim, grid),
                Some(MeshAxis::Y) => tile.y = index / self.part(dim, grid),
                None => {}
            }
        }
        tile
    }

    /// Where an element is within what its tile has.
    pub fn get_local_idx(&self, global: &[u32], grid: Grid) -> Vec<u32> {
        global.iter().enumerate().map(|(dim, index)| index % self.part(dim, grid)).collect()
    }

    /// The element at a place of what a tile has; none where the tile has no such place.
    pub fn get_global_idx(&self, tile: TileCoord, local: &[u32], grid: Grid) -> Option<Vec<u32>> {
        let extents = self.local_shape(tile, grid);
        let within = local.len() == extents.len() && local.iter().zip(&extents).all(|(at, end)| at < end);
        let first = |dim: usize| self.first(dim, tile, grid);
        within.then(|| local.iter().enumerate().map(|(dim, at)| first(dim) + at).collect())
    }

    /// How many indices of each dimension a tile has.
    pub fn local_shape(&self, tile: TileCoord, grid: Grid) -> Vec<u32> {
        let ends = |dim: usize| self.first(dim, tile, grid).saturating_add(self.part(dim, grid));
        (0..self.dims.len())
            .map(|dim| ends(dim).min(self.shape[dim]).saturating_sub(self.first(dim, tile, grid)))
            .collect()
    }

    /// The first index of a dimension that a tile has.
    fn first(&self, dim: usize, tile: TileCoord, grid: Grid) -> u32 {
        let at = self.dims[dim].axis().map_or(0, |axis| tile.along(axis));
        at.saturating_mul(self.part(dim, grid))
    }

    /// What brings a tensor from this layout into another one: a collective operation for each axis that something is moved or added up
    /// over.
    pub fn moves(&self, to: &TensorLayout) -> Vec<(&'static str, MeshAxis)> {
        let of = |layout: &TensorLayout, axis| layout.dims.iter().position(|dim| dim.axis() == Some(axis));
        let word = |axis: MeshAxis| match (self.pending.has(axis), of(self, axis), of(to, axis)) {
            (true, _, Some(_)) => Some("reduce-scatter"),
            (true, _, None) => Some("all-reduce"),
            (false, Some(from), Some(to)) if from != to => Some("all-to-all"),
            (false, Some(_), None) => Some("all-gather"),
            (false, None, Some(_)) => Some("slice"),
            (false, _, _) => None,
        };
        AXES.into_iter().filter_map(|axis| Some((word(axis)?, axis))).collect()
    }
}

/// Two dimensions that meet are sharded over different axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Differ(pub MeshAxis, pub MeshAxis);

/// The layout of a dimension in which dimensions of two operands meet: what is replicated fits everything, what is sharded only itself.
///
/// # Errors
/// Both are sharded, over different axes: one of them needs a relayout.
pub fn join(a: LayoutDim, b: LayoutDim) -> Result<LayoutDim, Differ> {
    match (a, b) {
        (LayoutDim::Replicate, other) | (other, LayoutDim::Replicate) => Ok(other),
        (LayoutDim::Shard(a), LayoutDim::Shard(b)) if a == b => Ok(LayoutDim::Shard(a)),
        (LayoutDim::Shard(a), LayoutDim::Shard(b)) => Err(Differ(a, b)),
    }
}
