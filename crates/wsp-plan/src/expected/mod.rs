//! Expected accesses: how many accesses of a tile come before one of a task, told from the task alone.
//!
//! A task that several AICPUs generate parts of the neighbours of has to wait until all of them have told what they
//! generate, unless it can compute what they will tell. [`Expected`] does so for tensors whose regions are *tiles*: any
//! two of them are equal or disjoint. An access of a tile then may begin as soon as so many accesses of the tile are
//! complete ([`Need`]): a write after all that come before it in elaboration order, a read after the writes among these.
//!
//! # Which tensors
//! A tensor is counted ([`Tracking::Counted`]) when, for all accesses of all statements that generate tasks:
//! * the loops around have bounds that are known at launch (`nest`);
//! * the bounds of the region are sums of scaled loop variables;
//! * in each dimension all regions have one size, and begin at a common base plus multiples of it;
//! * of the iterations of the loops whose variables the bounds name, no two give the same region: in each dimension the
//!   factors, from the smallest up, exceed what the smaller ones come to in sum, as the places of a number system do.
//!
//! A tensor that no task writes needs nothing ([`Tracking::ReadOnly`]). Of others [`Tracking::Mapped`] tells why.
//!
//! # Numbers
//! Of a statement's iterations those that give a certain tile are the ones in which the variables that the bounds name have
//! certain values, and the others any. How many of these come before a task follows from the loops that both are in, compared
//! from the outermost in: as many as the free variables allow where an outer index is smaller. The time is that of
//! the tensor's accesses times the depth of the loops, whatever the extents.
//!
//! **Boundary:** knows programs and launches. Who keeps the counters is elsewhere.

mod nest;
mod order;
mod tile;

use nest::Site;
use std::fmt;
use tile::Tiles;
use wsp_core::TensorId;
use wsp_core::ptow::interp::AccessMode;
use wsp_core::ptow::{Launch, Verified};
use wsp_core::words::counted;

/// Most tiles of all tensors.
const MAX_TILES: u64 = 1 << 22;

/// What an access waits for, and what it counts for when its task is complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Need {
    /// The tile: a number below [`Expected::tiles`].
    pub tile: u32,
    /// How it is used. A task that names a tile in several arguments has a need for each; those of one task do not count
    /// for each other.
    pub mode: AccessMode,
    /// Accesses of the tile by tasks before this one.
    pub all_before: u64,
    /// Those of them that write.
    pub writes_before: u64,
}

impl Need {
    /// How many accesses must be complete: writes for a read, all for a write.
    pub fn reached(&self) -> u64 {
        if self.mode == AccessMode::In { self.writes_before } else { self.all_before }
    }
}

/// How the accesses of a tensor are known to be safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tracking {
    /// Nothing writes it.
    ReadOnly,
    /// Its accesses are counted.
    Counted,
    /// Its regions must be compared.
    Mapped(Mapped),
}

/// Why the accesses of a tensor are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// The instruction that is in the way: an index into the words of the program.
    pub word: u32,
    /// What is.
    pub why: Why,
}

/// What is in the way of counting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It holds a computed slot, which the program reads.
    Slot,
    /// A descriptor generator or a process makes tasks with unknown regions.
    Unknown,
    /// An access is in a loop, a condition or a round whose number of times is not known at launch.
    Nest,
    /// Bounds of a region are no sums of scaled loop variables.
    Bounds,
    /// A region leaves the tensor in this dimension, and the program is at fault there.
    Outside {
        /// The dimension.
        dim: u8,
    },
    /// A region is empty in this dimension.
    Empty {
        /// The dimension.
        dim: u8,
    },
    /// Regions differ in size.
    Sizes {
        /// The dimension.
        dim: u8,
        /// Size of one.
        one: i64,
        /// Size of another.
        other: i64,
    },
    /// Regions of one size overlap in part.
    Overlap {
        /// The dimension.
        dim: u8,
        /// The size.
        size: i64,
    },
    /// Several iterations give the same region in a way that is not told by which variables it names.
    Repeats {
        /// The dimension.
        dim: u8,
    },
    /// There are more tiles or tasks than are counted.
    TooMany,
}

impl fmt::Display for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "word {}: ", self.word)?;
        match self.why {
            Why::Slot => write!(f, "it holds a computed slot"),
            Why::Unknown => write!(f, "tasks are generated whose regions the program does not say"),
            Why::Nest => write!(f, "how often the statement runs is not known at launch"),
            Why::Bounds => write!(f, "the bounds of the region are no sums of scaled loop variables"),
            Why::Outside { dim } => write!(f, "a region leaves the tensor in dimension {dim}"),
            Why::Empty { dim } => write!(f, "the region is empty in dimension {dim}"),
            Why::Sizes { dim, one, other } => {
                write!(
                    f,
                    "regions have {one} and {other} in dimension {dim}; tiles have one size",
                    other = counted(other, "index")
                )
            }
            Why::Overlap { dim, size } => {
                write!(
                    f,
                    "regions of {size} overlap in part in dimension {dim}",
                    size = counted(size, "index")
                )
            }
            Why::Repeats { dim } => {
                write!(f, "several iterations give the same indices in dimension {dim}")
            }
            Why::TooMany => write!(f, "there are more than {MAX_TILES} tiles, or too many tasks to count"),
        }
    }
}

/// Which tensors' accesses are counted, and the numbers.
#[derive(Clone, Debug)]
pub struct Expected {
    sites: Vec<Site>,
    /// The site of each `TASK` that generates tasks, by word.
    by_word: Vec<Option<u32>>,
    tensors: Vec<Tensor>,
    tiles: u32,
}

/// What is known of a tensor.
#[derive(Clone, Debug)]
struct Tensor {
    tracking: Tracking,
    /// Empty unless its accesses are counted.
    tiles: Tiles,
}

impl Expected {
    /// Looks at every tensor of a program with a launch.
    pub fn analyse(program: &Verified<'_>, launch: &Launch<'_>) -> Expected {
        let nest = nest::sites(program.program(), launch);
        let mut by_word = vec![None; program.program().words.len()];
        for (index, site) in (0u32..).zip(&nest.sites) {
            by_word[site.word as usize] = Some(index);
        }
        let mut found = Expected { sites: nest.sites, by_word, tensors: Vec::new(), tiles: 0 };
        for (index, tensor) in (0u32..).zip(program.program().tensors) {
            let extents = launch.extents.get(index as usize).copied().unwrap_or_default();
            let extents = &extents[..usize::from(tensor.rank).min(extents.len())];
            let result = match nest.unknown {
                Some(word) => Err(Mapped { word, why: Why::Unknown }),
                None if tensor.slot != 0 => Err(Mapped { word: 0, why: Why::Slot }),
                None => Tiles::of(TensorId(index), extents, &found.sites, found.tiles),
            };
            found.add(result);
        }
        found
    }

    fn add(&mut self, result: Result<Tiles, Mapped>) {
        let tensor = match result {
            Ok(tiles) => {
                self.tiles = tiles.end();
                let tracking = if tiles.is_empty() { Tracking::ReadOnly } else { Tracking::Counted };
                Tensor { tracking, tiles }
            }
            Err(mapped) => Tensor { tracking: Tracking::Mapped(mapped), tiles: Tiles::default() },
        };
        self.tensors.push(tensor);
    }

    /// How the accesses of a tensor are known to be safe. Of a tensor that the program does not have, as of one that nothing
    /// writes.
    pub fn tracking(&self, tensor: TensorId) -> Tracking {
        self.tensors.get(tensor.index()).map_or(Tracking::ReadOnly, |tensor| tensor.tracking)
    }

    /// How many tiles the counted tensors have.
    pub fn tiles(&self) -> u32 {
        self.tiles
    }

    /// Whether every tensor that tasks write is counted: then no task waits for others to be generated.
    pub fn is_complete(&self) -> bool {
        self.tensors.iter().all(|tensor| !matches!(tensor.tracking, Tracking::Mapped(_)))
    }

    /// Appends what a task waits for on counted tensors, in the order of its accesses. `site` is its `TASK` instruction, an
    /// index into the words, and `vars` are the loop variables in scope, outermost first. Of what is no task of the
    /// program there is nothing to append.
    pub fn needs(&self, site: u32, vars: &[i64], needs: &mut Vec<Need>) {
        let found = self.by_word.get(site as usize).copied().flatten();
        let Some(index) = found.filter(|index| self.sites[*index as usize].is_counted) else { return };
        let site = &self.sites[index as usize];
        let Some(at) = site.iterations(vars) else { return };
        for (number, access) in (0u32..).zip(&site.accesses) {
            let tiles = &self.tensors[access.tensor.index()].tiles;
            let Some(tile) = tiles.tile(index, number, &at) else { continue };
            let (all_before, writes_before) = tiles.before(&tile, &self.sites, index, &at);
            needs.push(Need { tile: tile.number, mode: access.mode, all_before, writes_before });
        }
    }
}
