//! Dependence inference: which earlier tasks a task must wait for.
//!
//! Per tensor, the boxes that tasks in flight write and those they read. A read waits for the writers it overlaps (RAW);
//! a write waits for the writers (WAW) and the readers (WAR) it overlaps. What a write covers of an earlier box is taken
//! off that box if the rest is a box: whoever overlaps the part overlaps the write, and waits for the old task through the
//! new. So every conflicting pair is ordered by a path of edges, and a place that is written again and again has one entry.

use crate::interval::{Access, BoxIndex, Verdict};
use rustc_hash::FxHashMap;
use wsp_core::{MAX_RANK, Region, TensorId};

/// The hazard behind an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Hazard {
    /// Read after write.
    Raw,
    /// Write after write.
    Waw,
    /// Write after read.
    War,
}

#[derive(Debug, Default)]
struct TensorAccesses {
    writes: BoxIndex,
    reads: BoxIndex,
}

/// Tensors with smaller ids, which are all of most programs, are found without hashing.
const DENSE: usize = 4096;

/// The accesses of tasks in flight.
#[derive(Debug, Default)]
pub(crate) struct AccessMap {
    dense: Vec<TensorAccesses>,
    sparse: FxHashMap<TensorId, TensorAccesses>,
}

impl AccessMap {
    /// Shows who must complete before a task with these accesses, possibly several times, and only those that are
    /// `live`: RAW first, then WAW, then WAR.
    pub(crate) fn infer(
        &mut self,
        reads: &[Region],
        writes: &[Region],
        live: impl Fn(Access) -> bool,
        mut found: impl FnMut(Access, Hazard),
    ) {
        for read in reads.iter().filter(|region| !region.is_empty()) {
            if let Some(tensor) = self.existing(read.tensor) {
                tensor.writes.visit(read, |_, access| {
                    if !live(access) {
                        return Verdict::Drop;
                    }
                    found(access, Hazard::Raw);
                    Verdict::Keep
                });
            }
        }
        for write in writes.iter().filter(|region| !region.is_empty()) {
            if let Some(tensor) = self.existing(write.tensor) {
                for (index, hazard) in [(&mut tensor.writes, Hazard::Waw), (&mut tensor.reads, Hazard::War)] {
                    index.visit(write, |earlier, access| {
                        if !live(access) {
                            return Verdict::Drop;
                        }
                        found(access, hazard);
                        uncovered(earlier, write)
                    });
                }
            }
        }
    }

    /// Records a task's accesses, after [`infer`](Self::infer).
    pub(crate) fn insert(
        &mut self,
        reads: &[Region],
        writes: &[Region],
        access: Access,
        live: impl Fn(Access) -> bool,
    ) {
        for read in reads.iter().filter(|region| !region.is_empty()) {
            let index = &mut self.tensor(read.tensor).reads;
            index.sweep_when_due(&live);
            index.insert(*read, access);
        }
        for write in writes.iter().filter(|region| !region.is_empty()) {
            let index = &mut self.tensor(write.tensor).writes;
            index.sweep_when_due(&live);
            index.insert(*write, access);
        }
    }

    /// Forgets all accesses: whatever comes later is ordered by other means.
    pub(crate) fn clear(&mut self) {
        for tensor in &mut self.dense {
            tensor.writes.clear();
            tensor.reads.clear();
        }
        self.sparse.clear();
    }

    fn existing(&mut self, tensor: TensorId) -> Option<&mut TensorAccesses> {
        if tensor.index() < DENSE { self.dense.get_mut(tensor.index()) } else { self.sparse.get_mut(&tensor) }
    }

    fn tensor(&mut self, tensor: TensorId) -> &mut TensorAccesses {
        if tensor.index() >= DENSE {
            return self.sparse.entry(tensor).or_default();
        }
        if tensor.index() >= self.dense.len() {
            self.dense.resize_with(tensor.index() + 1, TensorAccesses::default);
        }
        &mut self.dense[tensor.index()]
    }
}

/// What a write leaves of an earlier box that it overlaps. A rest that is not a box counts as all of it.
fn uncovered(earlier: &Region, write: &Region) -> Verdict {
    let mut rest = *earlier;
    let mut cut = false;
    for d in 0..MAX_RANK {
        let (below, above) = (earlier.lo[d] < write.lo[d], write.hi[d] < earlier.hi[d]);
        match (below, above) {
            (false, false) => continue,
            _ if cut => return Verdict::Keep,
            (true, true) => return Verdict::Keep,
            (true, false) => rest.hi[d] = write.lo[d],
            (false, true) => rest.lo[d] = write.hi[d],
        }
        cut = true;
    }
    if cut { Verdict::Shrink(rest) } else { Verdict::Drop }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn boxed(tensor: u32, lo: u32, hi: u32) -> Region {
        Region::new(TensorId(tensor), &[lo], &[hi]).expect("ranks agree")
    }

    /// Submits a task and returns its predecessors.
    fn submit(map: &mut AccessMap, task: u32, reads: &[Region], writes: &[Region]) -> Vec<(u32, Hazard)> {
        let mut preds = Vec::new();
        map.infer(reads, writes, |_| true, |access, hazard| preds.push((access.task, hazard)));
        map.insert(reads, writes, Access { task, slot: task }, |_| true);
        preds.sort_unstable_by_key(|(task, _)| *task);
        preds
    }

    #[test]
    fn each_hazard_is_found() {
        let mut map = AccessMap::default();
        let cell = [boxed(0, 3, 4)];
        assert_eq!(submit(&mut map, 0, &[], &cell), []);
        assert_eq!(submit(&mut map, 1, &cell, &[]), [(0, Hazard::Raw)]);
        assert_eq!(submit(&mut map, 2, &[], &cell), [(0, Hazard::Waw), (1, Hazard::War)]);
        assert_eq!(submit(&mut map, 3, &[boxed(0, 0, 3)], &[boxed(1, 3, 4)]), []);
    }

    #[test]
    fn a_reader_of_many_keys_waits_for_all_their_writers() {
        let mut map = AccessMap::default();
        for i in 0..10 {
            submit(&mut map, i, &[], &[boxed(0, i, i + 1)]);
        }
        let preds = submit(&mut map, 10, &[boxed(0, 2, 5)], &[]);
        assert_eq!(preds, [(2, Hazard::Raw), (3, Hazard::Raw), (4, Hazard::Raw)]);
    }

    #[test]
    fn a_write_replaces_what_it_covers() {
        let mut map = AccessMap::default();
        submit(&mut map, 0, &[], &[boxed(0, 0, 2)]);
        submit(&mut map, 1, &[boxed(0, 1, 2)], &[]);
        submit(&mut map, 2, &[], &[boxed(0, 0, 4)]);
        assert_eq!(submit(&mut map, 3, &[boxed(0, 0, 4)], &[]), [(2, Hazard::Raw)]);
    }

    #[test]
    fn writes_that_cover_a_box_together_replace_it() {
        let mut map = AccessMap::default();
        submit(&mut map, 0, &[boxed(0, 0, 6)], &[]);
        for (task, (lo, hi)) in [(1, (0, 2)), (2, (4, 6)), (3, (2, 4))] {
            submit(&mut map, task, &[], &[boxed(0, lo, hi)]);
        }
        let preds = submit(&mut map, 4, &[], &[boxed(0, 0, 6)]);
        assert_eq!(preds, [(1, Hazard::Waw), (2, Hazard::Waw), (3, Hazard::Waw)]);
    }

    #[test]
    fn a_box_is_cut_only_where_its_rest_is_a_box() {
        let tile = |lo: [u32; 2], hi: [u32; 2]| Region::new(TensorId(0), &lo, &hi).expect("ranks agree");
        let whole = tile([0, 0], [4, 4]);
        let left = Verdict::Shrink(tile([0, 2], [4, 4]));
        assert_eq!(uncovered(&whole, &tile([0, 0], [9, 2])), left);
        assert_eq!(uncovered(&whole, &tile([0, 0], [3, 2])), Verdict::Keep);
        assert_eq!(uncovered(&whole, &tile([1, 0], [2, 4])), Verdict::Keep);
        assert_eq!(uncovered(&whole, &whole), Verdict::Drop);
    }

    #[test]
    fn completed_tasks_are_not_waited_for() {
        let mut map = AccessMap::default();
        submit(&mut map, 0, &[], &[boxed(0, 0, 2)]);
        let mut preds = 0;
        map.infer(&[boxed(0, 0, 1)], &[], |_| false, |_, _| preds += 1);
        assert_eq!(preds, 0);
        assert_eq!(submit(&mut map, 1, &[boxed(0, 0, 1)], &[]), []);
    }

    #[test]
    fn a_task_does_not_wait_for_itself() {
        let mut map = AccessMap::default();
        let cell = [boxed(0, 0, 4), boxed(0, 2, 6)];
        assert_eq!(submit(&mut map, 0, &cell, &cell), []);
    }

    fn accesses() -> impl Strategy<Value = Vec<Region>> {
        let region = (0..2u32, 0..8u32, 0..5u32).prop_map(|(tensor, lo, len)| boxed(tensor, lo, lo + len));
        proptest::collection::vec(region, 0..3)
    }

    proptest! {
        #[test]
        fn every_conflict_is_ordered_by_a_path_and_no_edge_lacks_a_conflict(
            tasks in proptest::collection::vec((accesses(), accesses()), 1..40),
        ) {
            let mut map = AccessMap::default();
            let conflict = |i: usize, j: usize| {
                let overlap = |a: &[Region], b: &[Region]| a.iter().any(|x| b.iter().any(|y| x.overlaps(y)));
                let ((ri, wi), (rj, wj)): (&(_, _), &(Vec<Region>, Vec<Region>)) = (&tasks[i], &tasks[j]);
                overlap(wi, rj) || overlap(wi, wj) || overlap(ri, wj)
            };
            // Bit i of before[j]: task i is complete when task j starts.
            let mut before: Vec<u64> = Vec::new();
            for (j, (reads, writes)) in tasks.iter().enumerate() {
                let mut bits = 0;
                for (i, _) in submit(&mut map, j as u32, reads, writes) {
                    prop_assert!(conflict(i as usize, j));
                    bits |= 1 << i | before[i as usize];
                }
                before.push(bits);
                for i in 0..j {
                    prop_assert!(!conflict(i, j) || before[j] >> i & 1 == 1, "{} and {} are not ordered", i, j);
                }
            }
        }
    }
}
