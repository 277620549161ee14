//! Tensors registered with their tiling: accesses by tile number, without a region.

use super::MapError;
use super::grid::{Bounds, Tiling, advance};
use wsp_core::words::counted;
use wsp_core::{MAX_RANK, Region, TensorId};

/// A tile of a tensor registered with a map: means exactly its region, and mixes with regions of the same tensor. Of use with
/// the map that gave it out only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TileRef(pub u32);

/// A tensor cut into tiles of one extent; the last tile of a dimension may be smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TiledTensor {
    tensor: TensorId,
    /// The number of the first tile.
    pub(super) first: u32,
    rank: u32,
    shape: [u32; MAX_RANK],
    tile: [u32; MAX_RANK],
    /// Tiles per dimension.
    counts: [u32; MAX_RANK],
}

/// A tensor could not be registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TilingError {
    /// The shape and the tile have different ranks, or more than [`MAX_RANK`].
    Rank {
        /// Dimensions of the shape.
        shape: usize,
        /// Dimensions of the tile.
        tile: usize,
    },
    /// A tile extent is 0 or above 2³¹, or an extent of the shape is 0.
    Extent {
        /// The dimension.
        dim: usize,
        /// The tensor's extent.
        shape: u32,
        /// The tile's extent.
        tile: u32,
    },
    /// The tensor is registered already, or regions of it have been recorded.
    InUse(TensorId),
    /// There is no room for so many tiles.
    Map(MapError),
}

impl std::fmt::Display for TilingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TilingError::Rank { shape, tile } => write!(
                f,
                "a tensor of {shape} cannot be cut into tiles of {tile}; give as many extents for both, at most {MAX_RANK}",
                shape = counted(shape, "dimension")
            ),
            TilingError::Extent { dim, shape, tile } => write!(
                f,
                "dimension {dim} of extent {shape} cannot be cut into tiles of {tile}; give positive extents up to 2^31"
            ),
            TilingError::InUse(tensor) => write!(
                f,
                "tensor {} is registered or in use already; register it once, before its first access",
                tensor.0
            ),
            TilingError::Map(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TilingError {}

impl TiledTensor {
    /// The tensor.
    pub fn tensor(&self) -> TensorId {
        self.tensor
    }

    /// Tiles per dimension.
    pub fn counts(&self) -> &[u32] {
        &self.counts[..self.rank as usize]
    }

    /// The tile with this index on each dimension; `None` outside the tensor or with another rank.
    #[inline]
    pub fn tile(&self, index: &[u32]) -> Option<TileRef> {
        if index.len() != self.rank as usize {
            return None;
        }
        let mut number = 0;
        for (&i, &count) in index.iter().zip(&self.counts) {
            if i >= count {
                return None;
            }
            number = number * count + i;
        }
        Some(TileRef(self.first + number))
    }

    /// The region of the tile with this index; `None` as for [`tile`](Self::tile).
    pub fn region(&self, index: &[u32]) -> Option<Region> {
        self.tile(index)?;
        let mut at = [0; MAX_RANK];
        at.iter_mut().zip(index).for_each(|(at, &i)| *at = u64::from(i));
        let Bounds { lo, hi } = self.bounds(&at);
        Some(Region { tensor: self.tensor, lo, hi })
    }

    fn bounds(&self, at: &[u64; MAX_RANK]) -> Bounds {
        let end = |d: usize| (at[d] + 1) * u64::from(self.tile[d]);
        Bounds {
            lo: std::array::from_fn(|d| at[d] as u32 * self.tile[d]),
            hi: std::array::from_fn(|d| end(d).min(u64::from(self.shape[d])) as u32),
        }
    }
}

impl TiledTensor {
    /// A tensor of this shape (in elements) in tiles of these extents, the first of which is number 0.
    pub(super) fn new(tensor: TensorId, shape: &[u32], tile: &[u32]) -> Result<TiledTensor, TilingError> {
        if shape.len() != tile.len() || shape.len() > MAX_RANK {
            return Err(TilingError::Rank { shape: shape.len(), tile: tile.len() });
        }
        let mut tiled = TiledTensor {
            tensor,
            first: 0,
            rank: shape.len() as u32,
            shape: [1; MAX_RANK],
            tile: [1; MAX_RANK],
            counts: [1; MAX_RANK],
        };
        for (dim, (&shape, &tile)) in shape.iter().zip(tile).enumerate() {
            if shape == 0 || tile == 0 || tile > 1 << 31 {
                return Err(TilingError::Extent { dim, shape, tile });
            }
            (tiled.shape[dim], tiled.tile[dim], tiled.counts[dim]) = (shape, tile, shape.div_ceil(tile));
        }
        Ok(tiled)
    }

    /// Bits of the largest index of a tile, by dimension.
    pub(super) fn bits(&self) -> [u8; MAX_RANK] {
        self.counts.map(|count| (u32::BITS - (count - 1).leading_zeros()) as u8)
    }

    /// How many tiles there are; `usize::MAX` for more.
    pub(super) fn total(&self) -> usize {
        let total = self.counts.iter().fold(1u64, |total, &count| total.saturating_mul(count.into()));
        usize::try_from(total).unwrap_or(usize::MAX)
    }

    /// How places of this tensor are cut.
    pub(super) fn tiling(&self) -> Tiling {
        Tiling { origin: [0; MAX_RANK], pitch: self.tile }
    }

    /// The regions of all tiles, in order of their numbers.
    pub(super) fn regions(&self) -> impl Iterator<Item = Bounds> {
        let counts = self.counts.map(u64::from);
        let mut at = Some([0; MAX_RANK]);
        std::iter::from_fn(move || {
            let now = at?;
            let mut next = now;
            at = advance(&mut next, &counts).then_some(next);
            Some(self.bounds(&now))
        })
    }
}
