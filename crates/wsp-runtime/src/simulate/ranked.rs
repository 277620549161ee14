//! Ready tasks by priority, in a heap for each place that they ask for.

use crate::ranked::Rank;
use std::collections::BinaryHeap;
use wsp_ordered::OrderedMap;

/// Ready tasks of all classes under the priority policy.
#[derive(Default)]
pub(super) struct RankedTasks {
    /// No heap is empty.
    heaps: OrderedMap<u32, BinaryHeap<(Rank, u32)>>,
}

impl RankedTasks {
    /// Queues a task at a place.
    pub(super) fn push(&mut self, task: u32, place: u32, rank: Rank) {
        self.heaps.entry(place).or_default().push((rank, task));
    }

    /// Places that have a task, with the rank of the first.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (u32, Rank)> {
        self.heaps.iter().filter_map(|(place, heap)| heap.peek().map(|(rank, _)| (*place, *rank)))
    }

    /// Takes the first task of a place.
    pub(super) fn pop(&mut self, place: u32) -> Option<(Rank, u32)> {
        let heap = self.heaps.get_mut(&place)?;
        let first = heap.pop();
        if heap.is_empty() {
            self.heaps.remove(&place);
        }
        first
    }
}
