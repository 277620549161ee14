//! Tiles of one tensor: which an access is, and in which iterations a statement has one.

use super::nest::{At, Dim, Loop, Site};
use super::{MAX_TILES, Mapped, Why};
use wsp_core::ptow::MAX_LOOP_DEPTH;
use wsp_core::ptow::interp::AccessMode;
use wsp_core::{MAX_RANK, TensorId};
use wsp_ordered::Arrange;

/// The tiles of a tensor and all accesses of them. Empty for a tensor that nothing writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tiles {
    /// The number of the first, and one past that of the last.
    start: u32,
    end: u32,
    pub(super) accesses: Vec<Tiled>,
}

/// An access: a tile for each iteration.
#[derive(Clone, Debug)]
pub(super) struct Tiled {
    pub(super) site: u32,
    /// Its place among the accesses of the statement.
    number: u32,
    pub(super) writes: bool,
    /// Tile index of each dimension.
    places: Vec<Places>,
    /// Loops whose variables the bounds name: bit of the place among the loops.
    pub(super) named: u32,
    /// From each loop on inwards, the product of the iterations of those that the bounds do not name; then 1.
    pub(super) free: [u64; MAX_LOOP_DEPTH + 1],
}

/// The tile index in one dimension: `offset + Σ factor * iteration`.
#[derive(Clone, Debug)]
struct Places {
    offset: i64,
    /// Loops that earlier dimensions name, too.
    known: Vec<Digit>,
    /// The others, the largest factor first: each exceeds what those behind it come to.
    digits: Vec<Digit>,
    /// Tiles from one index of the dimension to the next.
    stride: u64,
}

/// A loop and its factor, not 0.
#[derive(Clone, Copy, Debug)]
struct Digit {
    at: usize,
    factor: i64,
    trip: u64,
}

/// A tile of a tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub(super) number: u32,
    index: [i64; MAX_RANK],
}

/// The tiling of a dimension.
#[derive(Clone, Copy, Debug)]
struct Grid {
    base: i64,
    size: i64,
    stride: u64,
}

impl Tiles {
    /// The tiles of a tensor, numbered from `start`.
    pub(super) fn of(tensor: TensorId, extents: &[u32], sites: &[Site], start: u32) -> Result<Tiles, Mapped> {
        let mut found = Vec::new();
        for (index, site) in (0u32..).zip(sites) {
            let of_tensor = (0u32..).zip(&site.accesses).filter(|(_, access)| access.tensor == tensor);
            found.extend(of_tensor.map(|(number, access)| (index, site, number, access)));
        }
        if found.iter().all(|(.., access)| access.mode == AccessMode::In) {
            return Ok(Tiles { start, end: start, accesses: Vec::new() });
        }
        let mut regions = Vec::new();
        for (index, site, number, access) in found {
            let fault = |why| Mapped { word: site.word, why };
            if !site.is_counted {
                return Err(fault(Why::Nest));
            }
            let dims = access.dims.as_ref().ok_or(fault(Why::Bounds))?;
            for ((dim, bounds), extent) in (0u8..).zip(dims).zip(extents) {
                let inside = bounds.is_inside(*extent, &site.loops);
                if !inside {
                    return Err(fault(Why::Outside { dim }));
                }
            }
            regions.push((index, site, number, access.mode, dims));
        }
        let shapes: Vec<(u32, &[Dim])> =
            regions.iter().map(|(_, site, .., dims)| (site.word, &dims[..])).collect();
        let (grid, tiles) = grid(extents, &shapes)?;
        let end = u32::try_from(u64::from(start) + tiles).ok().filter(|end| u64::from(*end) <= MAX_TILES);
        let last = regions.last().map_or(0, |(_, site, ..)| site.word);
        let end = end.ok_or(Mapped { word: last, why: Why::TooMany })?;
        let mut accesses = Vec::new();
        for (index, site, number, mode, dims) in regions {
            let tiled = tiled(site, dims, &grid).map_err(|why| Mapped { word: site.word, why })?;
            accesses.push(Tiled { site: index, number, writes: mode != AccessMode::In, ..tiled });
        }
        Ok(Tiles { start, end, accesses })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// One past the number of the last tile.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// The tile of an access of a statement in an iteration; none when its accesses are not counted.
    pub(super) fn tile(&self, site: u32, number: u32, at: &At) -> Option<Tile> {
        let first = self.accesses.partition_point(|access| (access.site, access.number) < (site, number));
        let access = self.accesses.get(first).filter(|a| (a.site, a.number) == (site, number))?;
        let (mut index, mut tile) = ([0; MAX_RANK], u64::from(self.start));
        for (index, places) in index.iter_mut().zip(&access.places) {
            *index = places.index(at);
            tile = tile.checked_add(u64::try_from(*index).ok()?.checked_mul(places.stride)?)?;
        }
        let number = u32::try_from(tile).ok().filter(|number| *number < self.end)?;
        Some(Tile { number, index })
    }
}

impl Tiled {
    /// The iterations of the named loops in which this access is of a tile; none when it never is.
    pub(super) fn iterations(&self, tile: &Tile) -> Option<At> {
        let mut at = [0; MAX_LOOP_DEPTH];
        for (index, places) in tile.index.iter().zip(&self.places) {
            let known = places.known.iter().map(|digit| digit.factor * at[digit.at] as i64);
            let mut rest = index - places.offset - known.sum::<i64>();
            for digit in &places.digits {
                // Counted from the end where the tile index falls, so that every digit adds.
                if digit.factor < 0 {
                    rest -= digit.factor * (digit.trip - 1) as i64;
                }
            }
            for digit in &places.digits {
                let size = digit.factor.abs();
                let value = u64::try_from(rest.div_euclid(size)).ok().filter(|value| *value < digit.trip)?;
                rest -= value as i64 * size;
                at[digit.at] = if digit.factor < 0 { digit.trip - 1 - value } else { value };
            }
            if rest != 0 {
                return None;
            }
        }
        Some(at)
    }
}

impl Places {
    fn index(&self, at: &At) -> i64 {
        let digits = self.known.iter().chain(&self.digits);
        digits.fold(self.offset, |sum, digit| sum + digit.factor * at[digit.at] as i64)
    }
}

/// The tiling that all regions of a tensor share, and how many tiles there are.
fn grid(extents: &[u32], regions: &[(u32, &[Dim])]) -> Result<(Vec<Grid>, u64), Mapped> {
    let Some((_, first)) = regions.first() else { return Ok((Vec::new(), 0)) };
    let mut grid = Vec::new();
    for (dim, Dim { lo, len: size }) in (0u8..).zip(*first) {
        for (word, dims) in regions {
            let fault = |why| Mapped { word: *word, why };
            let Dim { lo: other, len } = &dims[usize::from(dim)];
            if *len < 1 {
                return Err(fault(Why::Empty { dim }));
            }
            if len != size {
                return Err(fault(Why::Sizes { dim, one: *size, other: *len }));
            }
            let apart = i128::from(lo.offset) - i128::from(other.offset);
            if apart % i128::from(*size) != 0 || other.scales.iter().any(|scale| scale % size != 0) {
                return Err(fault(Why::Overlap { dim, size: *size }));
            }
        }
        grid.push(Grid { base: lo.offset.rem_euclid(*size), size: *size, stride: 0 });
    }
    let mut tiles = Some(1u64);
    for (grid, extent) in grid.iter_mut().zip(extents).rev() {
        grid.stride = tiles.unwrap_or(0);
        let across = u64::from(*extent).div_ceil(grid.size.unsigned_abs());
        tiles = tiles.and_then(|tiles| tiles.checked_mul(across));
    }
    let last = regions.last().map_or(0, |(word, _)| *word);
    let tiles = tiles.filter(|tiles| *tiles <= MAX_TILES);
    tiles.map(|tiles| (grid, tiles)).ok_or(Mapped { word: last, why: Why::TooMany })
}

/// An access in terms of tiles.
fn tiled(site: &Site, dims: &[Dim], grid: &[Grid]) -> Result<Tiled, Why> {
    let (mut named, mut places) = (0u32, Vec::new());
    for ((number, dim), grid) in (0u8..).zip(dims).zip(grid) {
        let digits = digits(dim, grid, &site.loops);
        let (known, mut digits): (Vec<Digit>, Vec<Digit>) =
            digits.into_iter().partition(|digit| named & (1 << digit.at) != 0);
        digits.arrange_by_key(|digit| std::cmp::Reverse(digit.factor.abs()));
        let mut below = 0i64;
        for digit in digits.iter().rev() {
            if digit.factor.abs() <= below {
                return Err(Why::Repeats { dim: number });
            }
            below += digit.factor.abs() * (digit.trip - 1) as i64;
            named |= 1 << digit.at;
        }
        let offset = (dim.lo.offset - grid.base) / grid.size;
        places.push(Places { offset, known, digits, stride: grid.stride });
    }
    let mut free = [1u64; MAX_LOOP_DEPTH + 1];
    for (at, loop_) in site.loops.iter().enumerate().rev() {
        let trip = if named & (1 << at) != 0 { 1 } else { loop_.trip };
        free[at] = free[at + 1].checked_mul(trip).ok_or(Why::TooMany)?;
    }
    Ok(Tiled { site: 0, number: 0, writes: false, places, named, free })
}

/// The loops that bounds name, of those that iterate.
fn digits(dim: &Dim, grid: &Grid, loops: &[Loop]) -> Vec<Digit> {
    let scaled = dim.lo.scales.iter().zip(loops).enumerate();
    let digits = scaled.map(|(at, (scale, loop_))| Digit { at, factor: scale / grid.size, trip: loop_.trip });
    digits.filter(|digit| digit.factor != 0 && digit.trip > 1).collect()
}
