//! Tiles whose accesses are counted: see [`Need`].

use super::generator::{Access, Need};
use crate::sync::{AtomicU64, Ordering};

#[derive(Debug)]
struct Tile {
    accesses: AtomicU64,
    writes: AtomicU64,
}

/// What is complete of each tile.
#[derive(Debug)]
pub(super) struct Counters {
    tiles: Box<[Tile]>,
}

impl Counters {
    pub(super) fn new(counters: u32) -> Counters {
        let tile = |_| Tile { accesses: AtomicU64::new(0), writes: AtomicU64::new(0) };
        Counters { tiles: (0..counters).map(tile).collect() }
    }

    pub(super) fn len(&self) -> u32 {
        self.tiles.len() as u32
    }

    /// How many of those that the access waits for are complete; what they wrote is then visible.
    pub(super) fn reached(&self, need: &Need) -> u64 {
        let tile = &self.tiles[need.counter as usize];
        match need.access {
            Access::Read => tile.writes.load(Ordering::Acquire),
            Access::Write => tile.accesses.load(Ordering::Acquire),
        }
    }

    pub(super) fn is_met(&self, need: &Need) -> bool {
        self.reached(need) >= need.reached
    }

    /// The task of the access is complete.
    pub(super) fn count(&self, need: &Need) {
        let tile = &self.tiles[need.counter as usize];
        if need.access == Access::Write {
            tile.writes.fetch_add(1, Ordering::AcqRel);
        }
        tile.accesses.fetch_add(1, Ordering::AcqRel);
    }
}
