//! Finds regions off the grid by equality: open addressing over place numbers.
//!
//! The hash keeps neighbours together: tiles next to each other hash to slots at a small fixed distance. Folding the high
//! bits in keeps regions at regular strides apart, and scattering by the low bits regions that overlap.

use super::NIL;
use super::grid::Bounds;
use wsp_core::MAX_RANK;

/// Odd, so that tiles that differ on one dimension alone hash apart.
const WEIGHTS: [u32; MAX_RANK] =
    [0x0002_0005, 0x0000_1003, 0x0008_0021, 0x0010_0007, 0x0040_000B, 0x0080_0011];

/// Hash table from regions to places. Removing is rebuilding.
#[derive(Debug)]
pub(super) struct RegionTable {
    slots: Vec<u32>,
    used: usize,
}

fn hash(tensor: u32, bounds: &Bounds) -> u32 {
    let mut hash = tensor.wrapping_mul(0x9E37_79B1);
    for (d, weight) in WEIGHTS.into_iter().enumerate() {
        let (lo, extent) = (bounds.lo[d], bounds.extent(d));
        let log2 = extent.ilog2();
        let low = lo ^ lo >> log2 << log2;
        hash = hash.wrapping_add((lo >> log2).wrapping_mul(weight));
        hash =
            hash.wrapping_add((extent.wrapping_mul(0x0101) ^ low).wrapping_mul(0x85EB_CA6B + (weight << 3)));
    }
    hash ^ hash >> 9 ^ hash >> 18
}

impl RegionTable {
    /// Room for `regions` regions.
    pub(super) fn new(regions: usize) -> RegionTable {
        RegionTable { slots: vec![NIL; (2 * regions).max(16).next_power_of_two()], used: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }

    /// The place of a region, told by `is_it`.
    #[inline]
    pub(super) fn find(&self, tensor: u32, bounds: &Bounds, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash(tensor, bounds) as usize & mask;
        loop {
            let place = self.slots[at];
            if place == NIL {
                return None;
            }
            if is_it(place) {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a region that is not there; `region_of` tells the regions of those that are, should they have to move.
    pub(super) fn insert(
        &mut self,
        tensor: u32,
        bounds: &Bounds,
        place: u32,
        region_of: impl Fn(u32) -> (u32, Bounds),
    ) {
        if 2 * (self.used + 1) > self.slots.len() {
            let larger = vec![NIL; 2 * self.slots.len()];
            for moved in std::mem::replace(&mut self.slots, larger) {
                if moved != NIL {
                    let (tensor, bounds) = region_of(moved);
                    self.put(hash(tensor, &bounds), moved);
                }
            }
        }
        self.used += 1;
        self.put(hash(tensor, bounds), place);
    }

    fn put(&mut self, hash: u32, place: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != NIL {
            at = (at + 1) & mask;
        }
        self.slots[at] = place;
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.slots.fill(NIL);
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::{Region, TensorId};

    fn bounds(lo: [u32; 2], size: [u32; 2]) -> Bounds {
        Bounds::of(&Region::new(TensorId(0), &lo, &[lo[0] + size[0], lo[1] + size[1]]).expect("ranks agree"))
    }

    /// Slots looked at when every region is looked up once.
    fn probes(regions: &[Bounds]) -> usize {
        let mut table = RegionTable::new(regions.len());
        for (place, bounds) in regions.iter().enumerate() {
            table.insert(0, bounds, place as u32, |_| unreachable!("there is room"));
        }
        let probes = std::cell::Cell::new(0);
        for (place, bounds) in regions.iter().enumerate() {
            let found = table.find(0, bounds, |other| {
                probes.set(probes.get() + 1);
                other as usize == place
            });
            assert_eq!(found, Some(place as u32));
        }
        probes.get()
    }

    #[test]
    fn regular_strides_do_not_pile_up() {
        for stride in [1, 2, 3, 32, 64, 100, 4096, 16 << 10, 1 << 20] {
            for size in [1, 32, 100] {
                let rows: Vec<Bounds> = (0..1000).map(|i| bounds([i * stride, 0], [size, 128])).collect();
                let columns: Vec<Bounds> = (0..1000).map(|i| bounds([0, i * stride], [32, size])).collect();
                let tiles: Vec<Bounds> =
                    (0..1000).map(|i| bounds([i / 32 * stride, i % 32 * 64], [32, 64])).collect();
                let windows: Vec<Bounds> = (0..1000).map(|i| bounds([i, 0], [size, 128])).collect();
                for regions in [rows, columns, tiles, windows] {
                    let probes = probes(&regions);
                    assert!(probes < 8 * regions.len(), "stride {stride} size {size}: {probes}");
                }
            }
        }
    }
}
