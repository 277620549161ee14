//! Own tasks that wait for tasks of other AICPUs, by those.
//!
//! Notices of one sender arrive in the order in which it sent them, one for each task that this AICPU registered with. So
//! when a slot was taken again before the notice of its earlier task was read, waiters of both tasks stand here, those of
//! the earlier first, and a notice releases those of one task only.

use super::queue::Producer;
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Waiter {
    slot: u16,
    generation: u32,
    next: u32,
}

/// First and last of a list.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

#[derive(Debug, Default)]
pub(super) struct RemoteWaits {
    lists: FxHashMap<(u16, u16), Ends>,
    waiters: Vec<Waiter>,
    spare: Vec<u32>,
}

impl RemoteWaits {
    /// The task in an own slot waits for another AICPU's task, which will be told once.
    pub(super) fn add(&mut self, on: Producer, slot: u16) {
        let waiter = Waiter { slot, generation: on.generation, next: NONE };
        let at = match self.spare.pop() {
            Some(at) => {
                self.waiters[at as usize] = waiter;
                at
            }
            None => {
                self.waiters.push(waiter);
                self.waiters.len() as u32 - 1
            }
        };
        let waiters = &mut self.waiters;
        self.lists
            .entry((on.aicpu, on.slot))
            .and_modify(|ends| {
                waiters[ends.last as usize].next = at;
                ends.last = at;
            })
            .or_insert(Ends { first: at, last: at });
    }

    /// A notice came: takes those that wait for the oldest task of the slot that some wait for.
    pub(super) fn take(&mut self, aicpu: u16, slot: u16, taken: &mut Vec<u16>) {
        let Some(ends) = self.lists.get_mut(&(aicpu, slot)) else { return };
        let generation = self.waiters[ends.first as usize].generation;
        while ends.first != NONE {
            let waiter = self.waiters[ends.first as usize];
            if waiter.generation != generation {
                return;
            }
            taken.push(waiter.slot);
            self.spare.push(ends.first);
            ends.first = waiter.next;
        }
        self.lists.remove(&(aicpu, slot));
    }

    /// Every wait: an own slot and the task that it waits for, in order.
    pub(super) fn all(&self) -> Vec<(u16, Producer)> {
        let mut heads: Vec<_> = self.lists.iter().map(|(&key, ends)| (key, ends.first)).collect();
        heads.sort_unstable();
        let mut found = Vec::new();
        for ((aicpu, producer), mut at) in heads {
            while at != NONE {
                let Waiter { slot, generation, next } = self.waiters[at as usize];
                found.push((slot, Producer { aicpu, slot: producer, generation }));
                at = next;
            }
        }
        found
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn take(waits: &mut RemoteWaits, aicpu: u16, slot: u16) -> Vec<u16> {
        let mut taken = Vec::new();
        waits.take(aicpu, slot, &mut taken);
        taken
    }

    #[test]
    fn a_notice_releases_those_of_the_oldest_task_of_the_slot() {
        let mut waits = RemoteWaits::default();
        let task = |generation| Producer { aicpu: 1, slot: 7, generation };
        for (generation, slot) in [(4, 10), (4, 11), (5, 12)] {
            waits.add(task(generation), slot);
        }
        waits.add(Producer { aicpu: 2, slot: 7, generation: 4 }, 13);
        assert_eq!(waits.all().len(), 4);
        assert_eq!(take(&mut waits, 1, 7), [10, 11]);
        assert_eq!(take(&mut waits, 1, 7), [12]);
        assert_eq!(take(&mut waits, 1, 7), []);
        assert_eq!(take(&mut waits, 2, 7), [13]);
        assert_eq!((waits.lists.len(), waits.spare.len()), (0, 4));
    }
}
