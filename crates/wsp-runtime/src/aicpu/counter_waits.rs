//! Tasks of one AICPU that wait for counters.
//!
//! A task is listed under one counter that it waits for, with the number that this must reach; when that is reached, under
//! the next. So a look at a counter is worth all tasks that wait for it.

use super::counters::Counters;
use super::generator::Need;
use super::queue::LocalTaskQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_core::AccessKind;
use wsp_ordered::OrderedMap;

/// A counter: the tile, and whether all accesses count or writes only.
type Key = (u32, bool);

/// Who waits for which counter.
#[derive(Debug, Default)]
pub(super) struct CounterWaits {
    /// By number to be reached.
    tasks: OrderedMap<Key, BinaryHeap<Reverse<(u64, u16)>>>,
    /// The counter that is looked at next.
    next: Key,
}

impl CounterWaits {
    /// Lists a task under the first of its counters that has not been reached; whether there is one.
    pub(super) fn add(&mut self, slot: u16, needs: &[Need], counters: &Counters) -> bool {
        let Some(need) = needs.iter().find(|need| !counters.is_met(need)) else { return false };
        let key = (need.counter, need.access == AccessKind::Write);
        self.tasks.entry(key).or_default().push(Reverse((need.reached, slot)));
        true
    }

    /// Looks at most at so many counters, each in turn, and appends tasks that wait for none any more.
    pub(super) fn poll(
        &mut self,
        most: usize,
        queue: &LocalTaskQueue,
        counters: &Counters,
        released: &mut Vec<u16>,
    ) {
        let looked_at: Vec<Key> = self
            .tasks
            .range(self.next..)
            .chain(self.tasks.range(..self.next))
            .map(|(key, _)| *key)
            .take(most)
            .collect();
        for key in looked_at {
            self.next = (key.0, key.1);
            self.poll_one(key, queue, counters, released);
        }
        // The next look begins behind the last.
        self.next = if self.next.1 { (self.next.0.wrapping_add(1), false) } else { (self.next.0, true) };
    }

    /// Looks at both counters of a tile.
    pub(super) fn look_at(
        &mut self,
        tile: u32,
        queue: &LocalTaskQueue,
        counters: &Counters,
        released: &mut Vec<u16>,
    ) {
        for key in [(tile, false), (tile, true)] {
            if self.tasks.contains_key(&key) {
                self.poll_one(key, queue, counters, released);
            }
        }
    }

    fn poll_one(&mut self, key: Key, queue: &LocalTaskQueue, counters: &Counters, released: &mut Vec<u16>) {
        let access = if key.1 { AccessKind::Write } else { AccessKind::Read };
        let now = counters.reached(&Need { counter: key.0, access, reached: 0 });
        let Some(tasks) = self.tasks.get_mut(&key) else { return };
        let mut reached = Vec::new();
        while let Some(Reverse((_, slot))) =
            tasks.peek().filter(|Reverse((number, _))| *number <= now).copied()
        {
            tasks.pop();
            reached.push(slot);
        }
        if tasks.is_empty() {
            self.tasks.remove(&key);
        }
        for slot in reached {
            if !self.add(slot, &queue.task(slot).needs, counters) {
                released.push(slot);
            }
        }
    }

    /// Slots of all tasks that wait, ascending.
    pub(super) fn slots(&self) -> Vec<u16> {
        let tasks = self.tasks.values().flat_map(|tasks| tasks.iter().map(|Reverse((_, slot))| *slot));
        let mut slots: Vec<u16> = tasks.collect();
        slots.sort_unstable();
        slots
    }
}
