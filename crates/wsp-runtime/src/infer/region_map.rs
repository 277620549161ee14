//! The map as a whole: from accesses to places, and from places to tasks.

use super::gather::Gather;
use super::geometry::Geometry;
use super::index::Side;
use super::list::ListPool;
use super::tasks::{CONFLICTS_KEPT, PINNED, SEEN, Tasks, Users, WRITTEN};
use super::{
    Accesses, Capacity, Conflict, Hazard, MapError, Matching, NIL, Store, TaskHandle, TensorMap, TileRef,
    TiledTensor, TilingError,
};
use wsp_core::{Region, TensorId};

/// Sum of debt and readers at which a map is first swept.
pub(super) const SWEEP_AT_LEAST: usize = 1 << 14;

/// A tensor map: complete or exact matching ([`Matching`]), of fixed or growing size.
#[derive(Debug)]
pub struct RegionMap<H> {
    pub(super) geometry: Geometry,
    pub(super) tasks: Tasks<H>,
    /// Scratch: the places of a task's accesses, and what overlaps a place.
    accessed: Vec<u32>,
    near: Vec<u32>,
    /// Sum of debt and readers that asks for a sweep.
    pub(super) sweep_at: usize,
    limit: Capacity,
}

impl<H: TaskHandle> RegionMap<H> {
    /// A map that grows as needed.
    pub fn growing(matching: Matching) -> RegionMap<H> {
        let limit =
            Capacity { tensors: NIL, regions: NIL, readers: NIL - 1, overlaps: NIL - 1, accesses: NIL };
        RegionMap::sized(matching, Geometry::growing(), limit, [0; 5])
    }

    /// A map that allocates now and never again, except to register tensors. Its capacities are cut to 2²⁹.
    pub fn fixed(matching: Matching, capacity: Capacity) -> RegionMap<H> {
        let cut = |n: u32| n.min(1 << 29);
        let limit = Capacity {
            tensors: cut(capacity.tensors),
            regions: cut(capacity.regions),
            readers: cut(capacity.readers),
            overlaps: cut(capacity.overlaps),
            accesses: cut(capacity.accesses),
        };
        let [regions, readers] = [limit.regions, limit.readers].map(|n| n as usize);
        let sizes = [
            regions,
            readers,
            2 * limit.overlaps as usize,
            limit.accesses as usize,
            2 * (2 * regions + readers) + 2,
        ];
        RegionMap::sized(matching, Geometry::fixed(limit), limit, sizes)
    }

    fn sized(matching: Matching, geometry: Geometry, limit: Capacity, sizes: [usize; 5]) -> RegionMap<H> {
        let [regions, readers, links, accesses, found] = sizes;
        RegionMap {
            geometry,
            tasks: Tasks {
                matching,
                users: Vec::with_capacity(regions),
                readers: ListPool::new(readers, limit.readers as usize),
                links: ListPool::new(links, (2 * limit.overlaps as usize).min(NIL as usize - 1)),
                gather: Gather::new(found),
                conflicts: Vec::with_capacity(CONFLICTS_KEPT),
                conflict_count: 0,
                debt: 0,
            },
            accessed: Vec::with_capacity(accesses),
            near: Vec::with_capacity(2 * regions),
            sweep_at: SWEEP_AT_LEAST,
            limit,
        }
    }

    /// Which accesses depend on each other.
    pub fn matching(&self) -> Matching {
        self.tasks.matching
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> usize {
        self.geometry.bytes()
            + self.tasks.bytes()
            + (self.accessed.capacity() + self.near.capacity()) * size_of::<u32>()
    }

    /// Pairs of regions for which [`Matching::Equal`] has made no edge though tasks conflict; see [`TensorMap::conflicts`]
    /// for the first of them.
    pub fn conflict_count(&self) -> u64 {
        self.tasks.conflict_count
    }

    /// Registers a tensor of this shape (in elements) with tiles of these extents, before its first access. Its tiles are
    /// then named without a region, and are never forgotten. Of a fixed map it takes a region per tile, and it allocates.
    ///
    /// # Errors
    ///
    /// See [`TilingError`].
    pub fn register(
        &mut self,
        tensor: TensorId,
        shape: &[u32],
        tile: &[u32],
    ) -> Result<TiledTensor, TilingError> {
        let mut tiled = TiledTensor::new(tensor, shape, tile)?;
        let regions = Sized { regions: tiled.regions(), left: tiled.total() };
        let first = self.geometry.register(tensor, tiled.tiling(), tiled.bits(), regions);
        tiled.first = first.map_err(TilingError::Map)?.ok_or(TilingError::InUse(tensor))?;
        self.tasks.users.resize(self.geometry.len(), Users { flags: PINNED, ..Users::NOBODY });
        Ok(tiled)
    }

    /// Whether there is nothing to prepare for accesses to tiles.
    #[inline(always)]
    fn tiles_are_ready(&self, accesses: &Accesses<'_>) -> bool {
        // Without a branch per tile.
        let common = |tiles: &[TileRef], flags: u8| {
            let each = |tile: &TileRef| self.tasks.users.get(tile.0 as usize).map_or(0, |users| users.flags);
            tiles.iter().fold(flags, |common, tile| common & each(tile)) == flags
        };
        common(accesses.tile_reads, PINNED | SEEN)
            && common(accesses.tile_writes, PINNED | WRITTEN)
            && self.tasks.readers.available() >= accesses.tile_reads.len()
            && self.tasks.matching != Matching::EqualRaw
    }

    /// Puts the places of accesses to regions into `accessed`, reads first, if there is nothing to prepare. Returns how many
    /// are read.
    #[inline(always)]
    fn find_regions(&mut self, accesses: &Accesses<'_>) -> Option<usize> {
        let Accesses { reads, writes, tile_reads: [], tile_writes: [] } = accesses else { return None };
        if reads.len() + writes.len() > self.limit.accesses as usize
            || self.tasks.readers.available() < reads.len()
        {
            return None;
        }
        let all = reads.len() + writes.len();
        if self.accessed.len() != all {
            self.accessed.resize(all, NIL);
        }
        let (read_places, written_places) = self.accessed.split_at_mut_checked(reads.len())?;
        for (region, at) in reads.iter().zip(read_places) {
            let (place, Some(_)) = self.geometry.find(region)? else { return None };
            *at = place;
        }
        for (region, at) in writes.iter().zip(written_places) {
            let (place, Some(Side::Written)) = self.geometry.find(region)? else { return None };
            *at = place;
        }
        Some(reads.len())
    }

    /// Finds or makes the places of all accesses and links those that are new; makes room if that is needed. Returns how
    /// many are read.
    #[inline(never)]
    fn prepare_or_sweep(
        &mut self,
        accesses: &Accesses<'_>,
        live: &impl Fn(H) -> bool,
    ) -> Result<usize, MapError> {
        match self.prepare(accesses) {
            Err(MapError::Full { store, .. }) if store != Store::Accesses => {
                self.sweep(|task| !live(task));
                self.prepare(accesses)
            }
            done => done,
        }
    }

    /// As [`prepare_or_sweep`](Self::prepare_or_sweep), but only once. Only this can fail; what it leaves behind then is
    /// places that nobody uses.
    fn prepare(&mut self, accesses: &Accesses<'_>) -> Result<usize, MapError> {
        if accesses.len() > self.limit.accesses as usize {
            return Err(MapError::Full { store: Store::Accesses, capacity: self.limit.accesses });
        }
        if self.tasks.readers.available() < accesses.read_count() && self.tasks.matching != Matching::EqualRaw
        {
            return Err(MapError::Full { store: Store::Readers, capacity: self.limit.readers });
        }
        self.accessed.clear();
        self.prepare_regions(accesses.reads, SEEN)?;
        self.prepare_tiles(accesses.tile_reads, SEEN)?;
        let reads = self.accessed.len();
        self.prepare_regions(accesses.writes, WRITTEN)?;
        self.prepare_tiles(accesses.tile_writes, WRITTEN)?;
        Ok(reads)
    }

    fn prepare_regions(&mut self, regions: &[Region], kind: u8) -> Result<(), MapError> {
        for region in regions.iter().filter(|region| !region.is_empty()) {
            let place = match self.geometry.find(region) {
                Some((place, _)) => place,
                None => self.create(region)?,
            };
            if self.tasks.users[place as usize].flags & kind == 0 {
                self.publish(place, kind)?;
            }
            self.accessed.push(place);
        }
        Ok(())
    }

    fn prepare_tiles(&mut self, tiles: &[TileRef], kind: u8) -> Result<(), MapError> {
        for &tile in tiles {
            match self.tasks.users.get(tile.0 as usize) {
                Some(users) if users.flags & (PINNED | kind) == PINNED | kind => (),
                Some(users) if users.flags & PINNED != 0 => self.publish(tile.0, kind)?,
                _ => return Err(MapError::UnknownTile(tile)),
            }
            self.accessed.push(tile.0);
        }
        Ok(())
    }

    fn create(&mut self, region: &Region) -> Result<u32, MapError> {
        let place = self.geometry.create(region)?;
        self.tasks.users.resize(self.geometry.len(), Users::NOBODY);
        self.tasks.users[place as usize] = Users::NOBODY;
        self.tasks.debt += 1;
        Ok(place)
    }

    /// Links a place that is read, or written, for the first time: with the written ones, and if it is now written with
    /// the others too.
    #[inline(never)]
    fn publish(&mut self, place: u32, kind: u8) -> Result<(), MapError> {
        let seen = self.tasks.users[place as usize].flags & SEEN != 0;
        self.near.clear();
        if self.tasks.matching != Matching::EqualRaw {
            let near = &mut self.near;
            if !seen {
                self.geometry.overlapping(place, Side::Written, |other| near.push(other));
            }
            if kind == WRITTEN {
                self.geometry.overlapping(place, Side::ReadOnly, |other| near.push(other));
            }
            near.sort_unstable();
            near.dedup();
        }
        if self.tasks.links.available() < 2 * self.near.len() {
            return Err(MapError::Full { store: Store::Overlaps, capacity: self.limit.overlaps });
        }
        for i in 0..self.near.len() {
            let other = self.near[i];
            self.tasks.link(&self.geometry, place, other);
            self.tasks.link(&self.geometry, other, place);
        }
        self.tasks.debt += 2 * self.near.len();
        self.tasks.users[place as usize].flags |= kind | SEEN;
        self.geometry.publish(place, if kind == WRITTEN { Side::Written } else { Side::ReadOnly });
        Ok(())
    }
}

impl<H: TaskHandle> TensorMap<H> for RegionMap<H> {
    #[inline(always)]
    fn infer(
        &mut self,
        task: H,
        accesses: Accesses<'_>,
        live: impl Fn(H) -> bool,
        found: impl FnMut(H, Hazard),
    ) -> Result<(), MapError> {
        if task.to_bits().is_none() {
            return Err(MapError::ReservedHandle);
        }
        if self.tasks.debt + self.tasks.readers.used() >= self.sweep_at {
            self.sweep(|task| !live(task));
        }
        if accesses.reads.is_empty() && accesses.writes.is_empty() && self.tiles_are_ready(&accesses) {
            let [reads, writes] =
                [accesses.tile_reads, accesses.tile_writes].map(|tiles| tiles.iter().map(|tile| tile.0));
            self.tasks.record(&self.geometry, task, reads, writes, &live);
            self.tasks.gather.finish(found);
            return Ok(());
        }
        let reads = match self.find_regions(&accesses) {
            Some(reads) => reads,
            None => self.prepare_or_sweep(&accesses, &live)?,
        };
        let (reads, writes) = self.accessed.split_at(reads);
        if self.tasks.matching == Matching::EqualRaw {
            self.tasks.record_newest(task, reads, writes, live, found);
        } else {
            self.tasks.record(&self.geometry, task, reads.iter().copied(), writes.iter().copied(), &live);
            self.tasks.gather.finish(found);
        }
        Ok(())
    }

    fn writers_of(&mut self, region: &Region, mut found: impl FnMut(H)) {
        if region.is_empty() {
            return;
        }
        let (users, gather) = (&self.tasks.users, &mut self.tasks.gather);
        self.geometry.overlapping_region(region, Side::Written, |place| {
            let writer = users[place as usize].writer;
            if writer != H::NONE {
                gather.push(writer, Hazard::Raw);
            }
        });
        self.tasks.gather.finish(|writer, _| found(writer));
    }

    fn find_producer(&mut self, region: &Region) -> Option<H> {
        let own = self.geometry.find(region).map(|(place, _)| self.tasks.users[place as usize].writer);
        if let Some(writer) = own.filter(|&writer| writer != H::NONE) {
            return Some(writer);
        }
        let mut latest = None;
        self.writers_of(region, |writer| latest = Some(writer));
        latest
    }

    fn retire(&mut self, live: impl Fn(H) -> bool) {
        self.sweep(|task| !live(task));
    }

    fn gc_before(&mut self, oldest: u32, live: impl Fn(H) -> bool) {
        self.sweep(|task| task.task() < oldest && !live(task));
    }

    /// Forgets all tasks and keeps the memory and, until they are in the way, the places: a program that is inferred
    /// again finds them linked.
    fn clear(&mut self) {
        self.tasks.clear();
    }

    fn conflicts(&self) -> &[Conflict<H>] {
        &self.tasks.conflicts
    }
}

/// The regions of tiles with their number.
struct Sized<I> {
    regions: I,
    left: usize,
}

impl<I: Iterator> Iterator for Sized<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.regions.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Sized<I> {}
