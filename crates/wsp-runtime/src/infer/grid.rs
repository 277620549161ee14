//! A tiling of one tensor: regions that are tiles, or lie within one, are found by arithmetic.
//!
//! The index space is cut into tiles of one extent, and tiles are mapped to *cells*, whose number is a power of two on
//! each dimension: tile `q` lies in cell `q mod cells`. A cell names at most one region, its *owner*, which lies within one
//! tile. Owners of different cells lie in different tiles, so they are disjoint.

use super::NIL;
use wsp_core::{MAX_RANK, Region};

/// Largest tile extent: up to here the division by multiplication is exact.
const MAX_PITCH: u32 = 1 << 31;

/// The bounds of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub(super) lo: [u32; MAX_RANK],
    pub(super) hi: [u32; MAX_RANK],
}

impl Bounds {
    pub(super) fn of(region: &Region) -> Bounds {
        Bounds { lo: region.lo, hi: region.hi }
    }

    pub(super) fn overlaps(&self, other: &Bounds) -> bool {
        (0..MAX_RANK).all(|d| self.lo[d].max(other.lo[d]) < self.hi[d].min(other.hi[d]))
    }

    /// Width on a dimension; the region is not empty.
    pub(super) fn extent(&self, d: usize) -> u32 {
        self.hi[d] - self.lo[d]
    }
}

/// A dimension on which cells are told apart.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Axis {
    /// `ceil(2⁶³ / pitch)`: `⌊x / pitch⌋` is the high half of its product with `2x`, exactly for every `u32` x.
    magic: u64,
    origin: u32,
    mask: u32,
    shift: u8,
    dim: u8,
}

/// The dimensions on which a grid tells cells apart; the first `axis_count` of them count.
pub(super) type Axes = [Axis; MAX_RANK];

/// The cell in which a region that begins here would be owner if it can be one anywhere, counted from the grid's first.
#[inline(always)]
pub(super) fn cell_at(axes: &Axes, axis_count: u32, lo: &[u32; MAX_RANK]) -> u32 {
    let mut cell = 0;
    for axis in axes.iter().take(axis_count as usize) {
        let x = u64::from(lo[axis.dim as usize].wrapping_sub(axis.origin)) << 1;
        let tile = ((u128::from(axis.magic) * u128::from(x)) >> 64) as u32;
        cell |= (tile & axis.mask) << axis.shift;
    }
    cell
}

/// The tiling of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tiling {
    /// First index of the tile with number 0.
    pub(super) origin: [u32; MAX_RANK],
    /// Extent of a tile.
    pub(super) pitch: [u32; MAX_RANK],
}

impl Tiling {
    /// The tiling in which this region is a tile.
    pub(super) fn of_region(bounds: &Bounds) -> Tiling {
        let pitch: [u32; MAX_RANK] = std::array::from_fn(|d| bounds.extent(d).min(MAX_PITCH));
        Tiling { origin: std::array::from_fn(|d| bounds.lo[d] % pitch[d]), pitch }
    }

    /// This tiling with the widest tiles whose first indices still include those of all these regions.
    pub(super) fn widened(mut self, regions: impl Iterator<Item = Bounds>) -> Tiling {
        let mut common = [0; MAX_RANK];
        for bounds in regions {
            for (d, common) in common.iter_mut().enumerate() {
                *common = gcd(*common, bounds.lo[d].abs_diff(self.origin[d]));
            }
        }
        for (d, common) in common.into_iter().enumerate() {
            if common > self.pitch[d] && common <= MAX_PITCH {
                self.pitch[d] = common;
                self.origin[d] %= common;
            }
        }
        self
    }

    /// The tile in which the region lies, if it lies in one.
    pub(super) fn tile_of(&self, bounds: &Bounds) -> Option<[u32; MAX_RANK]> {
        let mut tile = [0; MAX_RANK];
        for (d, tile) in tile.iter_mut().enumerate() {
            let from = bounds.lo[d].checked_sub(self.origin[d])?;
            *tile = from / self.pitch[d];
            let end = (u64::from(*tile) + 1) * u64::from(self.pitch[d]) + u64::from(self.origin[d]);
            if u64::from(bounds.hi[d]) > end {
                return None;
            }
        }
        Some(tile)
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A tiling and its cells in the common store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) tiling: Tiling,
    /// Binary logarithm of the number of cells on each dimension.
    pub(super) bits: [u8; MAX_RANK],
    start: u32,
}

impl Grid {
    /// Cells that a grid of this shape takes, if that is at most 2³¹.
    pub(super) fn cells(bits: &[u8; MAX_RANK]) -> Option<usize> {
        let total: u32 = bits.iter().map(|&bits| u32::from(bits)).sum();
        (total < 32).then(|| 1 << total)
    }

    /// A grid whose cells begin at `start`. Its cells fit, as [`Grid::cells`] says.
    pub(super) fn new(tiling: Tiling, bits: [u8; MAX_RANK], start: u32) -> Grid {
        Grid { tiling, bits, start }
    }

    pub(super) fn len(&self) -> usize {
        Grid::cells(&self.bits).unwrap_or(0)
    }

    /// Where the grid's cells are in the common store.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len()
    }

    /// Where the grid's first cell is in the common store.
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    /// Its axes, and how many there are.
    pub(super) fn axes(&self) -> (Axes, u32) {
        let (mut axes, mut count, mut shift) = (Axes::default(), 0, 0);
        for dim in (0..MAX_RANK).rev().filter(|&dim| self.bits[dim] > 0) {
            axes[count] = Axis {
                magic: (1u64 << 63).div_ceil(u64::from(self.tiling.pitch[dim])),
                origin: self.tiling.origin[dim],
                mask: ((1u64 << self.bits[dim]) - 1) as u32,
                shift,
                dim: dim as u8,
            };
            count += 1;
            shift += self.bits[dim];
        }
        (axes, count as u32)
    }

    /// The cell of a tile, in the common store.
    pub(super) fn cell_of(&self, tile: &[u32; MAX_RANK]) -> usize {
        let mut cell = 0usize;
        for (tile, bits) in tile.iter().zip(self.bits) {
            let mask = (1u64 << bits) - 1;
            cell = cell << bits | (u64::from(*tile) & mask) as usize;
        }
        self.start as usize + cell
    }

    /// The numbers of bits with which two different tiles get different cells, for the fewest cells.
    pub(super) fn bits_to_part(&self, a: &[u32; MAX_RANK], b: &[u32; MAX_RANK]) -> [u8; MAX_RANK] {
        let mut bits = self.bits;
        let needed = |d: usize| (a[d] ^ b[d]).trailing_zeros() as u8 + 1;
        let added = |d: usize| needed(d).saturating_sub(self.bits[d]);
        let best = (0..MAX_RANK).filter(|&d| a[d] != b[d]).min_by_key(|&d| added(d));
        if let Some(d) = best {
            bits[d] = bits[d].max(needed(d));
        }
        bits
    }

    /// Shows every cell whose owner may overlap the region, each once.
    pub(super) fn cells_near(&self, bounds: &Bounds, mut show: impl FnMut(usize)) {
        let mut first = [0; MAX_RANK];
        let mut count = [1; MAX_RANK];
        for d in 0..MAX_RANK {
            let (origin, pitch) = (self.tiling.origin[d], self.tiling.pitch[d]);
            if bounds.hi[d] <= origin {
                return;
            }
            first[d] = bounds.lo[d].saturating_sub(origin) / pitch;
            let last = (bounds.hi[d] - 1 - origin) / pitch;
            count[d] = u64::from(last - first[d]) + 1;
            count[d] = count[d].min(1 << self.bits[d]);
        }
        let mut at = [0u64; MAX_RANK];
        loop {
            let tile = std::array::from_fn(|d| first[d].wrapping_add(at[d] as u32));
            show(self.cell_of(&tile));
            if !advance(&mut at, &count) {
                return;
            }
        }
    }
}

/// The next index vector below `count`, last dimension fastest; false after the last.
pub(super) fn advance(at: &mut [u64; MAX_RANK], count: &[u64; MAX_RANK]) -> bool {
    for d in (0..MAX_RANK).rev() {
        at[d] += 1;
        if at[d] < count[d] {
            return true;
        }
        at[d] = 0;
    }
    false
}

/// Moves the owners of a grid's cells to the cells of a larger grid of the same tiling.
pub(super) fn move_owners(
    cells: &mut [u32],
    from: &Grid,
    to: &Grid,
    tile_of: impl Fn(u32) -> Option<[u32; MAX_RANK]>,
) {
    for cell in from.range() {
        let owner = std::mem::replace(&mut cells[cell], NIL);
        if owner != NIL
            && let Some(tile) = tile_of(owner)
        {
            cells[to.cell_of(&tile)] = owner;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(lo: [u32; 2], size: [u32; 2]) -> Bounds {
        let hi = [lo[0] + size[0], lo[1] + size[1]];
        Bounds::of(&Region::new(wsp_core::TensorId(0), &lo, &hi).expect("ranks agree"))
    }

    proptest! {
        #[test]
        fn the_cell_found_is_that_of_the_tile(
            x in any::<u32>(),
            pitch in prop_oneof![1..50u32, any::<u32>().prop_map(|x| (x >> 1) + 1)],
            bits in 0..20u8,
        ) {
            let (mut origin, mut pitches, mut all) = ([0; 6], [1; 6], [0; 6]);
            (origin[0], pitches[0], all[0]) = (x % pitch / 2, pitch, bits);
            let grid = Grid::new(Tiling { origin, pitch: pitches }, all, 7);
            let mut lo = [0; 6];
            lo[0] = x.max(origin[0]);
            let tile = (lo[0] - origin[0]) / pitch;
            let (axes, count) = grid.axes();
            prop_assert_eq!(cell_at(&axes, count, &lo), tile & ((1 << bits) - 1));
        }
    }

    #[test]
    fn tails_and_smaller_regions_lie_in_tiles_and_larger_or_shifted_ones_do_not() {
        let tiling = Tiling::of_region(&bounds([5, 0], [10, 8]));
        assert_eq!(
            tiling.tile_of(&bounds([25, 8], [10, 3])).map(|tile| tile[..2].to_vec()),
            Some(vec![2, 1])
        );
        for outside in [bounds([20, 0], [10, 8]), bounds([5, 0], [11, 8]), bounds([0, 0], [5, 8])] {
            assert_eq!(tiling.tile_of(&outside), None);
        }
    }

    #[test]
    fn regular_strides_widen_the_tiles() {
        let regions = [0, 3 << 14, 5 << 14, 7 << 14].map(|row| bounds([row, 0], [32, 128]));
        let tiling = Tiling::of_region(&regions[1]).widened(regions.into_iter());
        assert_eq!(
            (tiling.origin[..2].to_vec(), tiling.pitch[..2].to_vec()),
            (vec![0, 0], vec![1 << 14, 128])
        );
    }

    #[test]
    fn cells_near_a_region_are_shown_once_even_when_tiles_share_cells() {
        let grid = Grid::new(Tiling::of_region(&bounds([0, 0], [4, 4])), [1, 2, 0, 0, 0, 0], 0);
        let mut seen = Vec::new();
        grid.cells_near(&bounds([2, 2], [100, 5]), |cell| seen.push(cell));
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 4, 5]);
    }
}
