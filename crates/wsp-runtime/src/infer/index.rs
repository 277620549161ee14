//! Finds the regions off the grid that overlap a given one.
//!
//! Regions whose extents have the same binary logarithms, dimension by dimension, form a *class*. Each class has a grid of
//! its own with cells of these extents, and a region is filed under the cell of its first index, so a lookup visits in each
//! class the few cells in which an overlapping region can begin, or the whole class where that is less.

use super::NIL;
use super::grid::{Bounds, advance};
use wsp_core::MAX_RANK;

/// Which places of a tensor: a read looks for written ones only, so that regions which are only read cost nothing to each
/// other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// Never written.
    ReadOnly,
    /// Written at least once.
    Written,
}

#[derive(Debug)]
struct Class {
    /// `⌈log2⌉` of the extents.
    log2: [u8; MAX_RANK],
    side: Side,
    /// First entry of the class, and how many there are.
    first: u32,
    count: u32,
    /// The tensor's next class.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: u32,
    class: u32,
    next_of_class: u32,
    next_of_bucket: u32,
    lo: [u32; MAX_RANK],
}

/// The index of all tensors. A tensor is the `u32` of its first class, or [`NIL`].
#[derive(Debug)]
pub(super) struct RegionIndex {
    classes: Vec<Class>,
    entries: Vec<Entry>,
    buckets: Vec<u32>,
}

fn ceil_log2(extent: u32) -> u8 {
    (32 - (extent - 1).leading_zeros()) as u8
}

fn cell(lo: u32, log2: u8) -> u32 {
    lo.checked_shr(u32::from(log2)).unwrap_or(0)
}

impl RegionIndex {
    /// Room for `entries` entries, of which a place takes one per side.
    pub(super) fn new(entries: usize) -> RegionIndex {
        RegionIndex {
            classes: Vec::with_capacity(entries),
            entries: Vec::with_capacity(entries),
            buckets: vec![NIL; entries.max(16).next_power_of_two()],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.classes.capacity() * size_of::<Class>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.buckets.capacity() * size_of::<u32>()
    }

    /// Adds a place to the tensor whose classes begin at `head`; returns the head.
    pub(super) fn insert(&mut self, head: u32, side: Side, place: u32, bounds: &Bounds) -> u32 {
        let log2 = std::array::from_fn(|d| ceil_log2(bounds.extent(d)));
        let mut head = head;
        let mut class = head;
        while let Some(found) = self.classes.get(class as usize).filter(|c| c.log2 != log2 || c.side != side)
        {
            class = found.next;
        }
        if class == NIL {
            class = self.classes.len() as u32;
            self.classes.push(Class { log2, side, first: NIL, count: 0, next: head });
            head = class;
        }
        if self.entries.len() >= self.buckets.len() {
            self.grow();
        }
        let entry = self.entries.len() as u32;
        let found = &mut self.classes[class as usize];
        self.entries.push(Entry {
            place,
            class,
            next_of_class: found.first,
            next_of_bucket: NIL,
            lo: bounds.lo,
        });
        found.first = entry;
        found.count += 1;
        self.file(entry);
        head
    }

    fn grow(&mut self) {
        self.buckets = vec![NIL; 2 * self.buckets.len()];
        (0..self.entries.len() as u32).for_each(|entry| self.file(entry));
    }

    fn file(&mut self, entry: u32) {
        let Entry { class, lo, .. } = self.entries[entry as usize];
        let log2 = &self.classes[class as usize].log2;
        let bucket = self.bucket(class, &std::array::from_fn(|d| cell(lo[d], log2[d])));
        self.entries[entry as usize].next_of_bucket = std::mem::replace(&mut self.buckets[bucket], entry);
    }

    fn bucket(&self, class: u32, cell: &[u32; MAX_RANK]) -> usize {
        let mut hash = u64::from(class).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for &x in cell {
            hash = (hash.rotate_left(5) ^ u64::from(x)).wrapping_mul(0x517C_C1B7_2722_0A95);
        }
        (hash >> 32) as usize & (self.buckets.len() - 1)
    }

    /// Shows the places of one side of a tensor that begin near enough to overlap the region. Not all of them do, and a
    /// read-only place may since have been written.
    pub(super) fn near(&self, head: u32, side: Side, bounds: &Bounds, mut show: impl FnMut(u32)) {
        let mut at = head;
        while let Some(class) = self.classes.get(at as usize) {
            if class.side == side {
                self.near_in_class(at, class, bounds, &mut show);
            }
            at = class.next;
        }
    }

    fn near_in_class(&self, number: u32, class: &Class, bounds: &Bounds, show: &mut impl FnMut(u32)) {
        let mut first = [0; MAX_RANK];
        let mut count = [1; MAX_RANK];
        for d in 0..MAX_RANK {
            let widest = 1u64 << class.log2[d];
            let earliest = (u64::from(bounds.lo[d]) + 1).saturating_sub(widest) as u32;
            first[d] = cell(earliest, class.log2[d]);
            count[d] = u64::from(cell(bounds.hi[d] - 1, class.log2[d]) - first[d]) + 1;
        }
        let cells = count.iter().fold(1u64, |product, &n| product.saturating_mul(n));
        if cells >= u64::from(class.count) {
            let mut at = class.first;
            while let Some(entry) = self.entries.get(at as usize) {
                show(entry.place);
                at = entry.next_of_class;
            }
            return;
        }
        let mut at = [0u64; MAX_RANK];
        loop {
            let wanted: [u32; MAX_RANK] = std::array::from_fn(|d| first[d] + at[d] as u32);
            let mut next = self.buckets[self.bucket(number, &wanted)];
            while let Some(entry) = self.entries.get(next as usize) {
                if entry.class == number
                    && (0..MAX_RANK).all(|d| cell(entry.lo[d], class.log2[d]) == wanted[d])
                {
                    show(entry.place);
                }
                next = entry.next_of_bucket;
            }
            if !advance(&mut at, &count) {
                return;
            }
        }
    }

    /// Removes everything. The caller forgets its heads.
    pub(super) fn clear(&mut self) {
        self.classes.clear();
        self.entries.clear();
        self.buckets.fill(NIL);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wsp_core::{Region, TensorId};

    fn bounds() -> impl Strategy<Value = Bounds> {
        let lo = prop_oneof![0..20u32, Just(0), Just(u32::MAX - 40)];
        let size = prop_oneof![1..3u32, 1..20u32, Just(39)];
        ([lo.clone(), lo.clone(), lo], [size.clone(), size.clone(), size]).prop_map(|(lo, size)| {
            let hi: [u32; 3] = std::array::from_fn(|d| lo[d] + size[d]);
            Bounds::of(&Region::new(TensorId(0), &lo, &hi).expect("ranks agree"))
        })
    }

    proptest! {
        #[test]
        fn what_is_near_includes_what_a_scan_finds_and_nothing_twice(
            regions in proptest::collection::vec((bounds(), any::<bool>(), any::<bool>()), 0..150),
            queries in proptest::collection::vec((bounds(), any::<bool>(), any::<bool>()), 1..30),
        ) {
            let side = |written| if written { Side::Written } else { Side::ReadOnly };
            let mut index = RegionIndex::new(0);
            let mut heads = [NIL; 2];
            for (place, (bounds, written, tensor)) in regions.iter().enumerate() {
                let head = &mut heads[usize::from(*tensor)];
                *head = index.insert(*head, side(*written), place as u32, bounds);
            }
            for (query, written, tensor) in queries {
                let mut found = Vec::new();
                index.near(heads[usize::from(tensor)], side(written), &query, |place| found.push(place as usize));
                let shown = found.len();
                found.sort_unstable();
                found.dedup();
                prop_assert_eq!(shown, found.len());
                prop_assert!(found.iter().all(|&place| (regions[place].1, regions[place].2) == (written, tensor)));
                found.retain(|&place| regions[place].0.overlaps(&query));
                let expected: Vec<usize> = (0..regions.len())
                    .filter(|&i| regions[i].0.overlaps(&query) && (regions[i].1, regions[i].2) == (written, tensor))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
