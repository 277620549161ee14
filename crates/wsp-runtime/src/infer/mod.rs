//! Dependence inference: which earlier tasks a task must wait for, from the regions that both access.
//!
//! A read waits for the last writers of every region that it overlaps (RAW). A write waits for the last writers (WAW) and for
//! those who read since (WAR). A region that one later write covers is forgotten with its writer and readers: what
//! overlaps it overlaps that write, and is ordered through it. A write that covers only a part leaves both. So every
//! conflicting pair is ordered by a path of edges, with one edge per ordered pair, named by the first hazard of RAW, WAW
//! and WAR that applies.
//!
//! # How it works
//!
//! Every distinct region of a tensor in use is a *place* with a last writer and the readers since. Places of one tensor that
//! overlap, and of which at least one was written, are linked once, when the second of them is first used. So an access
//! finds its place, looks at it, and follows its links, of which tiled programs have none.
//! * `grid.rs`: places that are tiles of a tensor are found by arithmetic.
//! * `table.rs`: all other places are found by a hash.
//! * `index.rs`: what a region off the grid overlaps, for the links.
//! * `geometry.rs`: the three together. It knows regions, not tasks.
//! * `tasks.rs`: places, links and tasks, and what an access waits for.
//! * `region_map.rs`, `sweep.rs`: the map as a whole.
//! * `check.rs`: which hazards a given set of edges leaves unordered.
//!
//! **Invariant:** the edges, their hazards and their order depend on the tasks and regions alone, not on capacities, grids,
//! hashes or on what was dropped before.

mod check;
mod gather;
mod geometry;
mod grid;
mod index;
mod list;
mod region_map;
mod sweep;
mod table;
mod tasks;
mod tiles;

pub use check::{Unordered, unordered_hazards};
pub use region_map::RegionMap;
pub use tiles::{TileRef, TiledTensor, TilingError};

use wsp_core::{Region, TaskId};

/// No place, no node, no cell.
const NIL: u32 = u32::MAX;

/// The hazard behind an edge, strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// Read after write.
    Raw,
    /// Write after write.
    Waw,
    /// Write after read.
    War,
}

/// What a map keeps of a task.
pub trait TaskHandle: Copy + Eq + std::fmt::Debug {
    /// A value that is no task.
    const NONE: Self;

    /// The task's number in submission order: no two tasks in a map share it, and edges come in its order.
    fn task(self) -> u32;

    /// The handle in the low 62 bits, so that tasks compare as their numbers; `None` if it is no task.
    fn to_bits(self) -> Option<u64>;

    /// The handle with these bits.
    fn from_bits(bits: u64) -> Self;
}

impl TaskHandle for u32 {
    const NONE: u32 = u32::MAX;

    fn task(self) -> u32 {
        self
    }

    fn to_bits(self) -> Option<u64> {
        (self != u32::NONE).then_some(u64::from(self))
    }

    fn from_bits(bits: u64) -> u32 {
        bits as u32
    }
}

impl TaskHandle for TaskId {
    const NONE: TaskId = TaskId(u32::NONE);

    fn task(self) -> u32 {
        self.0
    }

    fn to_bits(self) -> Option<u64> {
        self.0.to_bits()
    }

    fn from_bits(bits: u64) -> TaskId {
        TaskId(bits as u32)
    }
}

/// A task in a recycled slot. Slots are below 2³⁰.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotTask {
    /// Its number in submission order.
    pub task: u32,
    /// The slot it was given.
    pub slot: u32,
}

impl SlotTask {
    const SLOT_BITS: u32 = 30;
}

impl TaskHandle for SlotTask {
    const NONE: SlotTask = SlotTask { task: u32::MAX, slot: u32::MAX };

    fn task(self) -> u32 {
        self.task
    }

    fn to_bits(self) -> Option<u64> {
        let is_task = self.task != u32::MAX && self.slot >> Self::SLOT_BITS == 0;
        is_task.then_some(u64::from(self.task) << Self::SLOT_BITS | u64::from(self.slot))
    }

    fn from_bits(bits: u64) -> SlotTask {
        SlotTask { task: (bits >> Self::SLOT_BITS) as u32, slot: bits as u32 & ((1 << Self::SLOT_BITS) - 1) }
    }
}

/// The regions that one task accesses. A region that it reads and writes stands in both lists. Empty regions touch nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accesses<'a> {
    /// Regions read.
    pub reads: &'a [Region],
    /// Regions written.
    pub writes: &'a [Region],
    /// Tiles read, of tensors registered with the map.
    pub tile_reads: &'a [TileRef],
    /// Tiles written, of tensors registered with the map.
    pub tile_writes: &'a [TileRef],
}

impl<'a> Accesses<'a> {
    /// Accesses given as regions.
    pub fn new(reads: &'a [Region], writes: &'a [Region]) -> Accesses<'a> {
        Accesses { reads, writes, ..Accesses::default() }
    }

    /// Accesses given as tiles.
    pub fn tiles(tile_reads: &'a [TileRef], tile_writes: &'a [TileRef]) -> Accesses<'a> {
        Accesses { tile_reads, tile_writes, ..Accesses::default() }
    }

    fn read_count(&self) -> usize {
        self.reads.len() + self.tile_reads.len()
    }

    fn len(&self) -> usize {
        self.read_count() + self.writes.len() + self.tile_writes.len()
    }
}

/// Which earlier accesses an access waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Matching {
    /// Those that overlap it: complete.
    Overlap,
    /// Those of the equal region: complete if any two regions of a tensor are equal or disjoint, or only read. What that leaves
    /// out is reported by [`TensorMap::conflicts`].
    Equal,
    /// The newest writer of the equal region, for each read: RAW only, an edge per read. The edges of the pto-isa-lh
    /// runtime; neither complete nor checked.
    EqualRaw,
}

/// Sizes of a map that never allocates after its construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Tensors ever used.
    pub tensors: u32,
    /// Distinct regions in use at a time.
    pub regions: u32,
    /// Readers remembered at a time, beyond one per region. A task needs as many free ones as it reads.
    pub readers: u32,
    /// Pairs of overlapping regions at a time.
    pub overlaps: u32,
    /// Accesses of one task.
    pub accesses: u32,
}

/// What a map has too little of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Store {
    /// [`Capacity::tensors`].
    Tensors,
    /// [`Capacity::regions`].
    Regions,
    /// [`Capacity::readers`].
    Readers,
    /// [`Capacity::overlaps`].
    Overlaps,
    /// [`Capacity::accesses`].
    Accesses,
}

/// A task's accesses could not be recorded; nothing was, and no edge was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapError {
    /// A fixed map has no room, even after dropping what tasks no longer live had left there. Let tasks complete and try
    /// again; if none is in flight, the capacity is too small for this task.
    Full {
        /// What is exhausted.
        store: Store,
        /// How many it can hold.
        capacity: u32,
    },
    /// The handle is no task's: see [`TaskHandle::to_bits`].
    ReservedHandle,
    /// A tile that no registration of this map has given out.
    UnknownTile(TileRef),
}

impl std::fmt::Display for MapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MapError::Full { store, capacity } => {
                let what = match store {
                    Store::Tensors => "tensors",
                    Store::Regions => "distinct regions",
                    Store::Readers => "readers",
                    Store::Overlaps => "pairs of overlapping regions",
                    Store::Accesses => "accesses of one task",
                };
                write!(
                    f,
                    "the tensor map is full: it holds {capacity} {what}; let tasks complete, or give it a larger capacity"
                )
            }
            MapError::ReservedHandle => {
                write!(f, "this is no task: numbers go up to {}, and slots to 2^30 - 1", u32::MAX - 1)
            }
            MapError::UnknownTile(tile) => {
                write!(
                    f,
                    "tile {} is of no tensor registered with this map; register its tensor first",
                    tile.0
                )
            }
        }
    }
}

impl std::error::Error for MapError {}

/// A hazard between unequal regions, which [`Matching::Equal`] does not turn into an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict<H> {
    /// The task that was recorded when it was found.
    pub task: H,
    /// Its region.
    pub region: Region,
    /// The earlier task.
    pub other: H,
    /// The earlier task's region: not equal, but overlapping.
    pub other_region: Region,
    /// What kind it is.
    pub hazard: Hazard,
}

/// Infers dependences from accesses. One thread uses a map.
pub trait TensorMap<H: TaskHandle> {
    /// Shows whom `task` must wait for, among tasks that are `live`, and records its accesses. Each predecessor is
    /// shown once, in ascending order of task numbers (with [`Matching::EqualRaw`]: once per read, in order of reads).
    ///
    /// Tasks that are not `live` may be forgotten on the way; a task that is not live must never become live again.
    ///
    /// # Errors
    ///
    /// See [`MapError`]. A call that failed has recorded nothing and can be repeated.
    fn infer(
        &mut self,
        task: H,
        accesses: Accesses<'_>,
        live: impl Fn(H) -> bool,
        found: impl FnMut(H, Hazard),
    ) -> Result<(), MapError>;

    /// Shows the last writers of every region that overlaps `region`, each once, in ascending order.
    fn writers_of(&mut self, region: &Region, found: impl FnMut(H));

    /// The last writer of `region` itself, or else the latest of a region that overlaps it. A region that is covered by a later
    /// one, of the same task or of another, is forgotten.
    fn find_producer(&mut self, region: &Region) -> Option<H>;

    /// Forgets tasks that are not `live`.
    fn retire(&mut self, live: impl Fn(H) -> bool);

    /// Forgets tasks with numbers below `oldest` that are not `live`.
    fn gc_before(&mut self, oldest: u32, live: impl Fn(H) -> bool);

    /// Forgets all tasks and keeps the memory.
    fn clear(&mut self);

    /// Hazards that [`Matching::Equal`] found and made no edge of: the first of them, one per pair of regions.
    fn conflicts(&self) -> &[Conflict<H>];
}
