//! An index of boxes that finds those which overlap a given one.

use crate::keys::SortedKeys;
use wsp_core::{MAX_RANK, Region};

/// Indexes smaller than this are never swept.
const SWEEP_AT_LEAST: usize = 64;
/// Boxes looked at when the dimension is chosen.
const SAMPLE: usize = 64;

/// Who accessed a box: a task and the slot it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub(crate) task: u32,
    pub(crate) slot: u32,
}

/// What to do with a box that a visit found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Keep,
    /// Remove it.
    Drop,
    /// Keep this part of it, which is not empty.
    Shrink(Region),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    region: Region,
    access: Access,
}

/// Boxes whose width on the indexed dimension has the same binary logarithm, by first index.
#[derive(Debug)]
struct Class {
    log2: u32,
    /// Largest width since the class was last empty.
    widest: u32,
    /// First index in the high half, entry in the low.
    keys: SortedKeys,
}

/// Boxes of one tensor, indexed on one dimension.
///
/// Boxes are grouped by width, so that those overlapping `[a, b)` start in `(a − widest, b)` of their class: a lookup
/// visits what overlaps on this dimension and little else. The dimension is the one that tells most boxes apart; it is
/// chosen anew when the index has doubled.
#[derive(Debug, Default)]
pub(crate) struct BoxIndex {
    dim: usize,
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    classes: Vec<Class>,
    len: usize,
    sweep_at: usize,
    /// Length at which the dimension is next reconsidered.
    choose_at: usize,
    /// Scratch: entries taken out to be filed anew.
    shrunk: Vec<u32>,
}

fn key(first: u32, entry: u32) -> u64 {
    u64::from(first) << 32 | u64::from(entry)
}

fn entry_of(key: u64) -> usize {
    key as u32 as usize
}

impl BoxIndex {
    /// Boxes in the index.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a box that is not empty.
    pub(crate) fn insert(&mut self, region: Region, access: Access) {
        let entry = Entry { region, access };
        let at = match self.vacant.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.len += 1;
        self.file(at);
    }

    /// Puts the key of an entry into its class.
    fn file(&mut self, at: u32) {
        let region = &self.entries[at as usize].region;
        let (first, width) = (region.lo[self.dim], region.hi[self.dim] - region.lo[self.dim]);
        let log2 = width.ilog2();
        let class = match self.classes.iter_mut().position(|class| class.log2 == log2) {
            Some(found) => &mut self.classes[found],
            None => {
                self.classes.push(Class { log2, widest: width, keys: SortedKeys::default() });
                self.classes.last_mut().expect("a class should have been pushed")
            }
        };
        class.widest = if class.keys.is_empty() { width } else { class.widest.max(width) };
        class.keys.insert(key(first, at));
    }

    /// Shows each box that overlaps `region`, in no particular order, and does with it as told.
    pub(crate) fn visit(&mut self, region: &Region, mut judge: impl FnMut(&Region, Access) -> Verdict) {
        let (from, to) = (region.lo[self.dim], region.hi[self.dim]);
        for class in &mut self.classes {
            if class.keys.is_empty() {
                continue;
            }
            let earliest = from.saturating_sub(class.widest - 1);
            class.keys.scan(key(earliest, 0), key(to, 0), |found| {
                let entry = &mut self.entries[entry_of(found)];
                if !entry.region.overlaps(region) {
                    return true;
                }
                match judge(&entry.region, entry.access) {
                    Verdict::Keep => return true,
                    Verdict::Drop => {
                        self.vacant.push(found as u32);
                        self.len -= 1;
                    }
                    Verdict::Shrink(rest) => {
                        entry.region = rest;
                        self.shrunk.push(found as u32);
                    }
                }
                false
            });
        }
        while let Some(at) = self.shrunk.pop() {
            self.file(at);
        }
    }

    /// Removes the boxes of tasks that are not `live`, once there are enough to make that cheap: so the index holds at
    /// most about twice the boxes of tasks in flight, and a box costs O(log) over its life.
    pub(crate) fn sweep_when_due(&mut self, mut live: impl FnMut(Access) -> bool) {
        if self.len < self.sweep_at.max(SWEEP_AT_LEAST) {
            return;
        }
        for class in &mut self.classes {
            class.keys.retain(|found| {
                let keep = live(self.entries[entry_of(found)].access);
                if !keep {
                    self.vacant.push(found as u32);
                    self.len -= 1;
                }
                keep
            });
        }
        self.sweep_at = 2 * self.len;
        if self.len >= self.choose_at.max(SWEEP_AT_LEAST / 2) {
            self.choose_at = 2 * self.len;
            self.choose_dimension();
        }
    }

    /// Forgets everything but the dimension.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.vacant.clear();
        self.classes.clear();
        self.len = 0;
    }

    fn choose_dimension(&mut self) {
        let step = (self.len / SAMPLE).max(1);
        let keys = self.classes.iter().flat_map(|class| class.keys.iter()).step_by(step);
        let sample: Vec<usize> = keys.map(entry_of).collect();
        let mut firsts = Vec::with_capacity(sample.len());
        let mut distinct = [0; MAX_RANK];
        for (dim, count) in distinct.iter_mut().enumerate() {
            firsts.clear();
            firsts.extend(sample.iter().map(|&at| self.entries[at].region.lo[dim]));
            firsts.sort_unstable();
            firsts.dedup();
            *count = firsts.len();
        }
        let best = (0..MAX_RANK).rev().max_by_key(|&dim| distinct[dim]).unwrap_or(0);
        // A little better is not worth the rebuild.
        if distinct[best] > 2 * distinct[self.dim] {
            self.rebuild(best);
        }
    }

    fn rebuild(&mut self, dim: usize) {
        self.dim = dim;
        for class in std::mem::take(&mut self.classes) {
            for found in class.keys.iter() {
                self.file(found as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wsp_core::TensorId;

    fn boxed(lo: [u32; 3], size: [u32; 3]) -> Region {
        let hi = [lo[0] + size[0], lo[1] + size[1], lo[2] + size[2]];
        Region::new(TensorId(0), &lo, &hi).expect("ranks agree")
    }

    fn region() -> impl Strategy<Value = Region> {
        let lo = prop_oneof![0..20u32, Just(0), Just(u32::MAX - 40)];
        let size = prop_oneof![1..3u32, 1..20u32];
        ([lo.clone(), lo.clone(), lo], [size.clone(), size.clone(), size])
            .prop_map(|(lo, size)| boxed(lo, size))
    }

    fn overlapping(index: &mut BoxIndex, region: &Region) -> Vec<u32> {
        let mut found = Vec::new();
        index.visit(region, |_, access| {
            found.push(access.task);
            Verdict::Keep
        });
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn a_visit_finds_what_a_scan_finds(
            boxes in proptest::collection::vec(region(), 0..200),
            queries in proptest::collection::vec((region(), 0..5u32), 1..40),
        ) {
            let mut index = BoxIndex::default();
            let mut all: Vec<(u32, Region)> = Vec::new();
            for (task, region) in boxes.into_iter().enumerate() {
                index.insert(region, Access { task: task as u32, slot: 0 });
                all.push((task as u32, region));
                // Every seventh task completes.
                let before = index.len();
                index.sweep_when_due(|access| access.task % 7 != 0);
                if index.len() < before {
                    all.retain(|(task, _)| task % 7 != 0);
                }
            }
            for (query, drop) in queries {
                let expected: Vec<u32> =
                    all.iter().filter(|(_, r)| r.overlaps(&query)).map(|(task, _)| *task).collect();
                prop_assert_eq!(overlapping(&mut index, &query), expected);
                // Of those found a fifth is dropped and a fifth cut to its first cell.
                let cut = |region: &Region| boxed([region.lo[0], region.lo[1], region.lo[2]], [1, 1, 1]);
                index.visit(&query, |region, access| match (access.task + drop) % 5 {
                    0 => Verdict::Drop,
                    1 => Verdict::Shrink(cut(region)),
                    _ => Verdict::Keep,
                });
                all.retain(|(task, r)| (task + drop) % 5 != 0 || !r.overlaps(&query));
                for (_, r) in all.iter_mut().filter(|(task, _)| (task + drop) % 5 == 1) {
                    if r.overlaps(&query) {
                        *r = cut(r);
                    }
                }
                prop_assert_eq!(index.len(), all.len());
            }
        }
    }

    #[test]
    fn the_dimension_that_tells_boxes_apart_is_indexed() {
        let mut index = BoxIndex::default();
        for i in 0..200 {
            index.insert(boxed([0, i, 0], [1, 1, 4]), Access { task: i, slot: i });
            index.sweep_when_due(|_| true);
        }
        assert_eq!(index.dim, 1);
        let mut visits = 0;
        index.visit(&boxed([0, 50, 0], [1, 1, 1]), |_, _| {
            visits += 1;
            Verdict::Keep
        });
        assert_eq!(visits, 1);
    }

    #[test]
    fn completed_tasks_do_not_pile_up() {
        let mut index = BoxIndex::default();
        for i in 0..10_000 {
            index.insert(boxed([i, 0, 0], [1, 1, 1]), Access { task: i, slot: 0 });
            index.sweep_when_due(|access| access.task + 10 > i);
            assert!(index.len() <= SWEEP_AT_LEAST);
        }
        assert!(index.entries.len() <= SWEEP_AT_LEAST);
    }
}
