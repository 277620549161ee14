//! How many accesses of a tile come before a task.

use super::nest::{At, Site};
use super::tile::{Tile, Tiled, Tiles};

impl Tiles {
    /// Accesses of a tile by tasks before the one that a statement generates in an iteration: all, and those that write.
    pub(super) fn before(&self, tile: &Tile, sites: &[Site], site: u32, at: &At) -> (u64, u64) {
        let (mut all, mut writes) = (0u64, 0u64);
        let here = &sites[site as usize];
        for access in &self.accesses {
            let Some(values) = access.iterations(tile) else { continue };
            let common = here.common(&sites[access.site as usize]);
            let count = access.before(&values, common, at, access.site < site);
            all = all.saturating_add(count);
            if access.writes {
                writes = writes.saturating_add(count);
            }
        }
        (all, writes)
    }
}

impl Tiled {
    /// Of the iterations in which the named loops have these values, how many come before iteration `at` of a statement
    /// that shares the `common` outer loops. `is_earlier` tells whether this statement stands before that one.
    fn before(&self, values: &At, common: usize, at: &At, is_earlier: bool) -> u64 {
        let mut count = 0u64;
        for (place, (value, here)) in values.iter().zip(at).take(common).enumerate() {
            let inside = self.free[place + 1];
            if self.named & (1 << place) == 0 {
                count = count.saturating_add(here.saturating_mul(inside));
            } else if value != here {
                return if value < here { count.saturating_add(inside) } else { count };
            }
        }
        // The same iteration of all common loops: what stands before has been generated, and of itself nothing.
        if is_earlier { count.saturating_add(self.free[common]) } else { count }
    }
}
