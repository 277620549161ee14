//! The accesses in flight of all AICPUs: the map in which a task finds those before it that it conflicts with.
//!
//! Each tensor has a grid of its own, whose first region gives the extent of a tile. The tiles are shared out among a few
//! locks; a region is listed under every tile that it touches, or, if these are many, once per lock among the wide regions. So
//! two regions that overlap meet under some lock. Lists are in the order of ordinals, which is nearly that of arrival.
//!
//! A search goes from the youngest to the oldest and stops at a write that covers the region searched for: whatever is older
//! and overlaps the region overlaps that write too, which therefore waits for it.

use super::queue::Producer;
use crate::sync::{Mutex, MutexGuard};
use crossbeam_utils::CachePadded;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock, PoisonError};
use wsp_core::{AccessKind, MAX_RANK, Region, StreamId, TensorId};

/// Most tiles that a region is listed under.
const MOST_CELLS: u64 = 16;
/// Locks that the tiles of a tensor are shared out among.
const SHARDS: usize = 8;

/// What is ordered by regions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Object {
    Tensor(TensorId),
    /// Streams, as cells that each of their tasks writes.
    Streams,
}

impl Object {
    /// The cell of a stream.
    pub(super) fn stream(stream: StreamId) -> Region {
        let mut region = Region { tensor: TensorId(0), lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        (region.lo[0], region.hi[0]) = (stream.0.into(), u32::from(stream.0) + 1);
        region
    }
}

/// An access of a task in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) region: Region,
    pub(super) access: AccessKind,
    pub(super) ordinal: u64,
    pub(super) producer: Producer,
}

impl Entry {
    fn conflicts(&self, region: &Region, access: AccessKind) -> bool {
        (self.access == AccessKind::Write || access == AccessKind::Write) && self.region.overlaps(region)
    }

    fn hides_older(&self, region: &Region) -> bool {
        self.access == AccessKind::Write && self.region.covers(region)
    }
}

type Cell = [u32; MAX_RANK];

/// The lock that a tile falls to. Neighbours fall to different ones.
fn shard_of(cell: &Cell) -> usize {
    let mixed = cell.iter().fold(0u32, |mixed, &at| mixed.wrapping_mul(5).wrapping_add(at));
    mixed as usize % SHARDS
}

/// The accesses of one tensor under one lock. Regions are not empty.
#[derive(Debug, Default)]
pub(super) struct TensorAccesses {
    shard: usize,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    cells: FxHashMap<Cell, Vec<u32>>,
    wide: Vec<u32>,
    /// Emptied lists of cells.
    spare: Vec<Vec<u32>>,
}

/// First and last tile of a region on each dimension.
struct Span {
    first: Cell,
    last: Cell,
}

impl Span {
    fn of(region: &Region, pitch: &[u32; MAX_RANK]) -> Span {
        // Most dimensions have one tile, for which there is nothing to divide.
        let tile = |at: u32, d: usize| if at < pitch[d] { 0 } else { at / pitch[d].max(1) };
        Span {
            first: std::array::from_fn(|d| tile(region.lo[d], d)),
            last: std::array::from_fn(|d| tile(region.hi[d].saturating_sub(1), d)),
        }
    }

    fn is_wide(&self) -> bool {
        let extents = self.first.iter().zip(&self.last).map(|(first, last)| u64::from(last - first) + 1);
        extents.fold(1u64, u64::saturating_mul) > MOST_CELLS
    }

    /// Its tiles, of which there are few.
    fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let Span { first, last } = *self;
        let mut next = Some(first);
        std::iter::from_fn(move || {
            let cell = next?;
            let mut after = cell;
            next = (0..MAX_RANK).rev().find_map(|d| {
                if after[d] < last[d] {
                    after[d] += 1;
                    return Some(after);
                }
                after[d] = first[d];
                None
            });
            Some(cell)
        })
    }
}

impl TensorAccesses {
    /// Adds an access, one of whose tiles falls to this lock, and returns its place.
    fn insert(&mut self, pitch: &[u32; MAX_RANK], entry: Entry) -> u32 {
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = Some(entry);
                at
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() as u32 - 1
            }
        };
        let span = Span::of(&entry.region, pitch);
        if span.is_wide() {
            insert_in_order(&mut self.wide, &self.entries, at, entry.ordinal);
        } else {
            for cell in span.cells().filter(|cell| shard_of(cell) == self.shard) {
                let list = self.cells.entry(cell).or_insert_with(|| self.spare.pop().unwrap_or_default());
                insert_in_order(list, &self.entries, at, entry.ordinal);
            }
        }
        at
    }

    /// Takes an access out.
    fn remove(&mut self, pitch: &[u32; MAX_RANK], at: u32) {
        let Some(entry) = self.entries[at as usize].take() else {
            debug_assert!(false, "the access at {at} is taken out twice");
            return;
        };
        self.free.push(at);
        let span = Span::of(&entry.region, pitch);
        if span.is_wide() {
            self.wide.retain(|&other| other != at);
            return;
        }
        for cell in span.cells().filter(|cell| shard_of(cell) == self.shard) {
            if let Some(list) = self.cells.get_mut(&cell) {
                list.retain(|&other| other != at);
                if list.is_empty() {
                    self.spare.extend(self.cells.remove(&cell));
                }
            }
        }
    }

    /// Adds the tasks with smaller ordinals that an access conflicts with here, save those that one of them waits for.
    fn conflicts(
        &self,
        pitch: &[u32; MAX_RANK],
        (region, access): (&Region, AccessKind),
        before: u64,
        found: &mut Vec<Producer>,
    ) {
        let span = Span::of(region, pitch);
        if span.is_wide() {
            let mut all: Vec<&Entry> = self.entries.iter().flatten().collect();
            all.sort_unstable_by_key(|entry| entry.ordinal);
            search(all.into_iter().rev(), region, access, before, found);
            return;
        }
        let listed = |list: &[u32], found: &mut Vec<Producer>| {
            let entries = list.iter().rev().filter_map(|&at| self.entries[at as usize].as_ref());
            search(entries, region, access, before, found);
        };
        for cell in span.cells().filter(|cell| shard_of(cell) == self.shard) {
            if let Some(list) = self.cells.get(&cell) {
                listed(list, found);
            }
        }
        listed(&self.wide, found);
    }
}

fn insert_in_order(list: &mut Vec<u32>, entries: &[Option<Entry>], at: u32, ordinal: u64) {
    let older = |&other: &u32| entries[other as usize].as_ref().is_none_or(|entry| entry.ordinal <= ordinal);
    let place = list.iter().rposition(older).map_or(0, |place| place + 1);
    list.insert(place, at);
}

/// `entries` go from the youngest to the oldest.
fn search<'e>(
    entries: impl Iterator<Item = &'e Entry>,
    region: &Region,
    access: AccessKind,
    before: u64,
    found: &mut Vec<Producer>,
) {
    for entry in entries.filter(|entry| entry.ordinal < before) {
        if entry.conflicts(region, access) {
            found.push(entry.producer);
            if entry.hides_older(region) {
                return;
            }
        }
    }
}

/// One tensor's accesses, shared.
#[derive(Debug)]
pub(super) struct SharedAccesses {
    /// The extent of a tile: that of the tensor's first region.
    pitch: OnceLock<[u32; MAX_RANK]>,
    shards: [CachePadded<Mutex<TensorAccesses>>; SHARDS],
}

impl SharedAccesses {
    fn new() -> SharedAccesses {
        let shard =
            |shard| CachePadded::new(Mutex::new(TensorAccesses { shard, ..TensorAccesses::default() }));
        SharedAccesses { pitch: OnceLock::new(), shards: std::array::from_fn(shard) }
    }

    fn pitch(&self, region: &Region) -> &[u32; MAX_RANK] {
        self.pitch.get_or_init(|| std::array::from_fn(|d| region.hi[d].saturating_sub(region.lo[d]).max(1)))
    }

    fn lock(&self, shard: u8) -> MutexGuard<'_, TensorAccesses> {
        // Nothing inside the lock panics half way.
        self.shards[usize::from(shard)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The locks under which a region is listed and searched for, ascending. The region is not empty.
    pub(super) fn shards(&self, region: &Region) -> impl Iterator<Item = u8> + use<> {
        let span = Span::of(region, self.pitch(region));
        let mask = if span.is_wide() {
            u32::MAX
        } else {
            span.cells().fold(0, |mask, cell| mask | 1 << shard_of(&cell))
        };
        (0..SHARDS as u8).filter(move |shard| mask >> shard & 1 == 1)
    }

    /// Adds an access under one of its locks and returns its place there.
    pub(super) fn insert(&self, shard: u8, entry: Entry) -> u32 {
        let pitch = self.pitch(&entry.region);
        self.lock(shard).insert(pitch, entry)
    }

    /// Takes an access out.
    pub(super) fn remove(&self, shard: u8, place: u32, region: &Region) {
        let pitch = self.pitch(region);
        self.lock(shard).remove(pitch, place);
    }

    /// Adds the tasks with smaller ordinals that an access conflicts with under one of its locks, save those that one of
    /// them waits for.
    pub(super) fn conflicts(
        &self,
        shard: u8,
        access: (&Region, AccessKind),
        before: u64,
        found: &mut Vec<Producer>,
    ) {
        let pitch = self.pitch(access.0);
        self.lock(shard).conflicts(pitch, access, before, found);
    }
}

/// The accesses in flight of all AICPUs.
#[derive(Debug, Default)]
pub(super) struct GlobalTensorMap {
    objects: Mutex<FxHashMap<Object, Arc<SharedAccesses>>>,
}

impl GlobalTensorMap {
    fn object(&self, object: Object) -> Arc<SharedAccesses> {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.entry(object).or_insert_with(|| Arc::new(SharedAccesses::new())).clone()
    }
}

/// What one AICPU has looked up in the map: spares the common lock.
#[derive(Debug, Default)]
pub(super) struct MapCache {
    index: FxHashMap<Object, u32>,
    objects: Vec<Arc<SharedAccesses>>,
}

impl MapCache {
    /// The number of an object in this cache.
    pub(super) fn number(&mut self, map: &GlobalTensorMap, object: Object) -> u32 {
        *self.index.entry(object).or_insert_with(|| {
            self.objects.push(map.object(object));
            self.objects.len() as u32 - 1
        })
    }

    /// The accesses of an object with a number of this cache.
    pub(super) fn object(&self, number: u32) -> &SharedAccesses {
        &self.objects[number as usize]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(lo: [u32; 2], hi: [u32; 2]) -> Region {
        Region::new(TensorId(0), &lo, &hi).expect("ranks agree")
    }

    fn entry(ordinal: u64, access: AccessKind, region: Region) -> Entry {
        Entry {
            region,
            access,
            ordinal,
            producer: Producer { aicpu: 0, slot: ordinal as u16, generation: 0 },
        }
    }

    fn insert(map: &SharedAccesses, entry: Entry) -> Vec<(u8, u32)> {
        map.shards(&entry.region).map(|shard| (shard, map.insert(shard, entry))).collect()
    }

    fn remove(map: &SharedAccesses, region: &Region, places: &[(u8, u32)]) {
        places.iter().for_each(|&(shard, place)| map.remove(shard, place, region));
    }

    fn found(map: &SharedAccesses, region: &Region, access: AccessKind, before: u64) -> Vec<u16> {
        let mut found = Vec::new();
        map.shards(region).for_each(|shard| map.conflicts(shard, (region, access), before, &mut found));
        let mut slots: Vec<u16> = found.into_iter().map(|producer| producer.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    #[test]
    fn a_covering_write_hides_what_it_waits_for() {
        let map = SharedAccesses::new();
        let cell = region([0, 0], [1, 1]);
        for ordinal in 0..1000 {
            insert(&map, entry(ordinal, AccessKind::Write, cell));
        }
        let mut producers = Vec::new();
        let shards: Vec<u8> = map.shards(&cell).collect();
        map.conflicts(shards[0], (&cell, AccessKind::Write), 1000, &mut producers);
        assert_eq!(shards.len(), 1);
        assert_eq!(producers.len(), 1);
        assert_eq!(found(&map, &cell, AccessKind::Read, 500), [499]);
    }

    #[test]
    fn later_accesses_that_arrived_earlier_are_not_found() {
        let map = SharedAccesses::new();
        let cell = region([0, 0], [4, 4]);
        insert(&map, entry(9, AccessKind::Write, cell));
        insert(&map, entry(3, AccessKind::Read, cell));
        insert(&map, entry(5, AccessKind::Read, cell));
        assert_eq!(found(&map, &cell, AccessKind::Write, 7), [3, 5]);
        assert_eq!(found(&map, &cell, AccessKind::Write, 5), [3]);
        assert_eq!(found(&map, &cell, AccessKind::Write, 3), []);
    }

    #[test]
    fn cells_are_forgotten_with_their_last_access() {
        let map = SharedAccesses::new();
        for row in 0..1000 {
            let cell = region([row, 0], [row + 1, 1]);
            let places = insert(&map, entry(row.into(), AccessKind::Write, cell));
            remove(&map, &cell, &places);
        }
        let left: Vec<(usize, usize)> = (0..SHARDS as u8)
            .map(|shard| {
                let shard = map.lock(shard);
                (shard.cells.len(), shard.entries.len())
            })
            .collect();
        assert_eq!(left, [(0, 1); SHARDS]);
    }

    /// What must be found, over all accesses: with what is found, every conflict is reached through conflicts among them.
    fn reaches_all(
        accesses: &[Entry],
        found: &[u16],
        region: &Region,
        access: AccessKind,
        before: u64,
    ) -> bool {
        let mut reached: Vec<u64> = found.iter().map(|&slot| slot.into()).collect();
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            let Some(from) = accesses.iter().find(|entry| entry.ordinal == at) else { return false };
            for entry in accesses {
                let before = entry.ordinal < at && entry.conflicts(&from.region, from.access);
                if before && !reached.contains(&entry.ordinal) {
                    reached.push(entry.ordinal);
                }
            }
            next += 1;
        }
        accesses
            .iter()
            .filter(|entry| entry.ordinal < before && entry.conflicts(region, access))
            .all(|entry| reached.contains(&entry.ordinal))
    }

    fn regions() -> impl Strategy<Value = (Region, AccessKind)> {
        let side = prop_oneof![4 => 1..4u32, 1 => 4..40u32];
        (0..20u32, 0..20u32, side.clone(), side, prop::bool::ANY).prop_map(
            |(row, column, rows, columns, write)| {
                let access = if write { AccessKind::Write } else { AccessKind::Read };
                (region([row, column], [row + rows, column + columns]), access)
            },
        )
    }

    proptest! {
        #[test]
        fn every_conflict_is_found_or_waited_for_by_one_that_is(
            list in proptest::collection::vec((regions(), prop::bool::weighted(0.2)), 1..40),
            order in any::<u64>(),
            (probe, access) in regions(),
        ) {
            let map = SharedAccesses::new();
            let mut all: Vec<Entry> =
                list.iter().zip(0..).map(|(((region, access), _), at)| entry(at, *access, *region)).collect();
            all.sort_by_key(|entry| entry.ordinal.wrapping_mul(order | 1).rotate_left(17));
            let places: Vec<_> = all.iter().map(|entry| insert(&map, *entry)).collect();
            // Accesses leave when all before them that they conflict with have left: here, a prefix.
            let gone = list.iter().take_while(|(_, gone)| *gone).count() as u64;
            for (entry, place) in all.iter().zip(places) {
                if entry.ordinal < gone {
                    remove(&map, &entry.region, &place);
                }
            }
            all.retain(|entry| entry.ordinal >= gone);
            for before in [0, list.len() as u64 / 2, list.len() as u64] {
                let found = found(&map, &probe, access, before);
                for &slot in &found {
                    let hit = all.iter().find(|entry| entry.ordinal == u64::from(slot));
                    prop_assert!(hit.is_some_and(|hit| hit.ordinal < before && hit.conflicts(&probe, access)));
                }
                prop_assert!(reaches_all(&all, &found, &probe, access, before));
            }
        }
    }
}
