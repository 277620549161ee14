//! Tiles whose accesses are counted: see [`Need`].

use super::generator::Need;
use crate::sync::{AtomicU64, Ordering};
use std::sync::OnceLock;
use wsp_core::AccessKind;

/// Tiles of a page.
const PAGE: u32 = 1 << 12;

#[derive(Debug)]
struct Tile {
    accesses: AtomicU64,
    writes: AtomicU64,
}

/// Tiles side by side; made when one of them is first counted, so that a run begins at once however many there are.
type Page = OnceLock<Box<[Tile]>>;

/// What is complete of each tile.
#[derive(Debug)]
pub(super) struct Counters {
    pages: Box<[Page]>,
    tiles: u32,
}

impl Counters {
    pub(super) fn new(tiles: u32) -> Counters {
        Counters { pages: (0..tiles.div_ceil(PAGE)).map(|_| OnceLock::new()).collect(), tiles }
    }

    pub(super) fn len(&self) -> u32 {
        self.tiles
    }

    /// How many of those that the access waits for are complete; what they wrote is then visible.
    pub(super) fn reached(&self, need: &Need) -> u64 {
        // Of a page that was not made nothing is complete.
        let Some(page) = self.pages[(need.counter / PAGE) as usize].get() else { return 0 };
        let tile = &page[(need.counter % PAGE) as usize];
        match need.access {
            AccessKind::Read => tile.writes.load(Ordering::Acquire),
            AccessKind::Write => tile.accesses.load(Ordering::Acquire),
        }
    }

    pub(super) fn is_met(&self, need: &Need) -> bool {
        need.reached == 0 || self.reached(need) >= need.reached
    }

    /// The task of the access is complete.
    pub(super) fn count(&self, need: &Need) {
        let tile = |_| Tile { accesses: AtomicU64::new(0), writes: AtomicU64::new(0) };
        let page = self.pages[(need.counter / PAGE) as usize].get_or_init(|| (0..PAGE).map(tile).collect());
        let tile = &page[(need.counter % PAGE) as usize];
        if need.access == AccessKind::Write {
            tile.writes.fetch_add(1, Ordering::AcqRel);
        }
        tile.accesses.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_counted_apart_and_pages_are_made_when_needed() {
        let counters = Counters::new(5 * PAGE);
        let need = |counter, access| Need { counter, access, reached: 0 };
        for counter in [0, PAGE - 1, PAGE, 5 * PAGE - 1] {
            counters.count(&need(counter, AccessKind::Write));
            counters.count(&need(counter, AccessKind::Read));
        }
        for (counter, accesses) in
            [(0, 2), (1, 0), (PAGE - 1, 2), (PAGE, 2), (2 * PAGE, 0), (5 * PAGE - 1, 2)]
        {
            let reached =
                [AccessKind::Write, AccessKind::Read].map(|access| counters.reached(&need(counter, access)));
            assert_eq!(reached, [accesses, accesses / 2], "{counter}");
        }
        assert_eq!(counters.pages.iter().filter(|page| page.get().is_some()).count(), 3);
    }
}
