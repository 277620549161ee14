//! Ready tasks by priority: a heap for each place that tasks ask for.

use crate::placement::Placement;
use crate::places::{Places, Seen};
use crate::sync::{AtomicU32, Mutex, MutexGuard, Ordering};
use crossbeam_utils::CachePadded;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::PoisonError;

/// The order of a task among those of its place, the greatest first: its priority, then how many tasks came before it.
pub(crate) type Rank = (i32, Reverse<u64>);

/// The order of tasks of different places: of equal priorities, those for one pool come before those for several.
pub(crate) type Key = (i32, bool, Reverse<u64>);

/// The key of a task in a place.
pub(crate) fn key((priority, turn): Rank, for_several: bool) -> Key {
    (priority, !for_several, turn)
}

/// The ready tasks of a run.
pub(crate) struct Ranked {
    places: Places,
    heaps: CachePadded<Mutex<Heaps>>,
    /// Tasks of each pool, and of several. Changed under the lock.
    lens: [CachePadded<AtomicU32>; POOLS + 1],
}

/// Most pools.
const POOLS: usize = 2;

struct Heaps {
    /// By place.
    heaps: Vec<BinaryHeap<(Rank, u32)>>,
    pushed: u64,
}

/// A task taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub(crate) node: u32,
    pub(crate) rank: Rank,
    /// Where it lay.
    pub(crate) seen: Seen<Key>,
}

impl Ranked {
    pub(crate) fn new(places: Places) -> Ranked {
        let heaps = (0..places.len()).map(|_| BinaryHeap::new()).collect();
        Ranked {
            places,
            heaps: CachePadded::new(Mutex::new(Heaps { heaps, pushed: 0 })),
            lens: std::array::from_fn(|_| CachePadded::default()),
        }
    }

    /// Queues tasks that are ready at once: no worker takes one of them before all are there.
    pub(crate) fn push(&self, tasks: impl IntoIterator<Item = (u32, Placement)>) {
        let mut heaps = self.lock();
        for (node, placement) in tasks {
            let place = self.places.of(placement);
            let rank = (placement.priority, Reverse(heaps.pushed));
            heaps.pushed += 1;
            heaps.heaps[place as usize].push((rank, node));
            // Release: a worker that reads the length finds the node under the lock.
            self.len(place).fetch_add(1, Ordering::Release);
        }
    }

    /// The best task that a worker may take in a round, and where it lies.
    pub(crate) fn first(&self, seat: (usize, u32), round: u32) -> Option<Seen<Key>> {
        if !self.any_for(seat.0) {
            return None;
        }
        self.lock().first(self.places, seat, round)
    }

    /// Takes the best task that a worker may take in a round.
    pub(crate) fn take(&self, seat: (usize, u32), round: u32) -> Option<Taken> {
        if !self.any_for(seat.0) {
            return None;
        }
        let mut heaps = self.lock();
        let seen = heaps.first(self.places, seat, round)?;
        let (rank, node) = heaps.heaps[seen.place as usize].pop()?;
        self.len(seen.place).fetch_sub(1, Ordering::Release);
        Some(Taken { node, rank, seen })
    }

    /// Whether there is a task that workers of a pool may take.
    pub(crate) fn any_for(&self, pool: usize) -> bool {
        [pool, POOLS].iter().any(|&pool| self.lens[pool].load(Ordering::Acquire) > 0)
    }

    /// Whether there is no task.
    pub(crate) fn is_empty(&self) -> bool {
        self.lens.iter().all(|len| len.load(Ordering::Acquire) == 0)
    }

    fn len(&self, place: u32) -> &AtomicU32 {
        &self.lens[self.places.pool(place).unwrap_or(POOLS)]
    }

    fn lock(&self) -> MutexGuard<'_, Heaps> {
        // Nothing inside the lock panics half way.
        self.heaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heaps {
    fn first(&self, places: Places, seat: (usize, u32), round: u32) -> Option<Seen<Key>> {
        let first = |place: u32| {
            let (rank, _) = self.heaps[place as usize].peek()?;
            Some(key(*rank, place == places.any()))
        };
        places.best(seat, round, first)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::placement::{Division, Route};
    use crate::{PoolSizes, RunConfig};
    use wsp_core::ExecPool;

    fn ranked(config: &RunConfig) -> Ranked {
        Ranked::new(Places::new(Division::new(config)))
    }

    fn taken(ranked: &Ranked, seat: (usize, u32), round: u32) -> Vec<u32> {
        std::iter::from_fn(|| ranked.take(seat, round).map(|taken| taken.node)).collect()
    }

    #[test]
    fn the_largest_priority_comes_first_and_equals_in_order() {
        let ranked = ranked(&RunConfig::default());
        for (node, priority) in [(0, 1), (1, -5), (2, 9), (3, 1), (4, i32::MAX)] {
            ranked.push([(node, Placement { priority, ..Placement::default() })]);
        }
        assert_eq!(taken(&ranked, (0, 0), 0), [4, 2, 0, 3, 1]);
        assert!(ranked.is_empty() && !ranked.any_for(0));
    }

    #[test]
    fn a_worker_takes_what_is_meant_for_it_and_for_all_by_priority_and_what_is_meant_for_others_last() {
        let ranked = ranked(&RunConfig { threads: 2, ..RunConfig::default() });
        for (node, priority, route) in [
            (0, 1, Route::Worker(0)),
            (1, 5, Route::Any),
            (2, 9, Route::Worker(1)),
            (3, 7, Route::Worker(0)),
            (4, 8, Route::Worker(1)),
        ] {
            ranked.push([(node, Placement { priority, route, ..Placement::default() })]);
        }
        assert_eq!(taken(&ranked, (0, 0), 0), [3, 1, 0]);
        assert_eq!(taken(&ranked, (0, 0), u32::MAX), [2, 4]);
    }

    #[test]
    fn priorities_compare_across_pools_and_of_equals_those_of_the_pool_come_first() {
        let pools = PoolSizes::ByUnit { vector: 1, cube: 1 };
        let ranked = ranked(&RunConfig { threads: 2, pools, ..RunConfig::default() });
        for (node, priority, pool) in
            [(0, 3, ExecPool::Any), (1, 3, ExecPool::Vector), (2, 4, ExecPool::Any), (3, 9, ExecPool::Cube)]
        {
            ranked.push([(node, Placement { priority, pool, ..Placement::default() })]);
        }
        assert_eq!(taken(&ranked, (0, 0), u32::MAX), [2, 1, 0]);
        assert_eq!((ranked.any_for(0), ranked.any_for(1)), (false, true));
    }
}
