//! Ready tasks by priority: a heap for each place that tasks ask for.
//!
//! [`RankedTasks`] is plain state: one thread and virtual time have one where they choose by priority, and each AICPU has one, and workers share one
//! under a lock, [`Ranked`].

use crate::bit_set::BitSet;
use crate::placement::Placement;
use crate::places::{Places, Seen};
use crate::replay::Turns;
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

/// Ready tasks by place, of each place the greatest rank first.
#[derive(Debug)]
pub(crate) struct RankedTasks {
    heaps: Vec<BinaryHeap<(Rank, u32)>>,
    /// Places that have a task.
    filled: BitSet,
    pushed: u64,
}

impl RankedTasks {
    /// None yet, for places below `places`.
    pub(crate) fn new(places: u32) -> RankedTasks {
        let heaps = (0..places).map(|_| BinaryHeap::new()).collect();
        RankedTasks { heaps, filled: BitSet::new(places), pushed: 0 }
    }

    /// Queues a task at a place, behind those of its priority.
    #[inline]
    pub(crate) fn push(&mut self, task: u32, place: u32, priority: i32) {
        let rank = (priority, Reverse(self.pushed));
        self.pushed += 1;
        self.put_back(task, place, rank);
    }

    /// Queues a task that was taken and could not start; it keeps its turn.
    #[inline]
    pub(crate) fn put_back(&mut self, task: u32, place: u32, rank: Rank) {
        self.heaps[place as usize].push((rank, task));
        self.filled.insert(place);
    }

    /// The rank of the first task of a place.
    #[inline]
    pub(crate) fn first(&self, place: u32) -> Option<Rank> {
        self.heaps[place as usize].peek().map(|(rank, _)| *rank)
    }

    /// Places that have a task, with the rank of the first.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = (u32, Rank)> {
        let places = self.heaps.len() as u32;
        let next = move |place: &u32| self.filled.first_in(*place + 1..places);
        std::iter::successors(self.filled.first_in(0..places), next)
            .filter_map(|place| Some((place, self.first(place)?)))
    }

    /// Takes the first task of a place.
    #[inline]
    pub(crate) fn pop(&mut self, place: u32) -> Option<(Rank, u32)> {
        let heap = &mut self.heaps[place as usize];
        let first = heap.pop();
        if heap.is_empty() {
            self.filled.remove(place);
        }
        first
    }

    /// The tasks of a place.
    pub(crate) fn len(&self, place: u32) -> usize {
        self.heaps[place as usize].len()
    }

    /// Whether no place has a task.
    pub(crate) fn is_empty(&self) -> bool {
        self.filled.first_in(0..self.heaps.len() as u32).is_none()
    }

    /// All tasks, in no order.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = u32> {
        self.heaps.iter().flatten().map(|(_, task)| *task)
    }
}

/// The ready tasks of a run, for its workers.
pub(crate) struct Ranked {
    places: Places,
    tasks: CachePadded<Mutex<RankedTasks>>,
    /// Tasks of each pool, and of several. Changed under the lock.
    lens: [CachePadded<AtomicU32>; POOLS + 1],
    /// Whose turn it is, where tasks start in a given order: priorities are turns then.
    turns: Option<Turns>,
}

/// Most pools.
const POOLS: usize = 2;

/// A task taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub(crate) node: u32,
    pub(crate) rank: Rank,
    /// Where it lay.
    pub(crate) seen: Seen<Key>,
}

impl Ranked {
    pub(crate) fn new(places: Places, turns: Option<Turns>) -> Ranked {
        Ranked {
            turns,
            places,
            tasks: CachePadded::new(Mutex::new(RankedTasks::new(places.len()))),
            lens: std::array::from_fn(|_| CachePadded::default()),
        }
    }

    /// Queues tasks that are ready at once: no worker takes one of them before all are there.
    pub(crate) fn push(&self, tasks: impl IntoIterator<Item = (u32, Placement)>) {
        let mut queued = self.lock();
        for (node, placement) in tasks {
            let place = self.places.of(placement);
            queued.push(node, place, placement.priority);
            // Release: a worker that reads the length finds the node under the lock.
            self.len(place).fetch_add(1, Ordering::Release);
        }
    }

    /// The best task that a worker may take in a round, and where it lies.
    pub(crate) fn first(&self, seat: (usize, u32), round: u32) -> Option<Seen<Key>> {
        if !self.has_for(seat.0) {
            return None;
        }
        self.best(&self.lock(), seat, round)
    }

    /// Takes the best task that a worker may take in a round.
    pub(crate) fn take(&self, seat: (usize, u32), round: u32) -> Option<Taken> {
        if !self.has_for(seat.0) {
            return None;
        }
        let mut queued = self.lock();
        let seen = self.best(&queued, seat, round)?;
        let (rank, node) = queued.pop(seen.place)?;
        self.len(seen.place).fetch_sub(1, Ordering::Release);
        Some(Taken { node, rank, seen })
    }

    /// Whether there is a task that a worker may take.
    pub(crate) fn any_for(&self, seat: (usize, u32)) -> bool {
        let in_turn = || self.turns.is_none() || self.best(&self.lock(), seat, 0).is_some();
        self.has_for(seat.0) && in_turn()
    }

    /// Whether there is a task for workers of a pool.
    fn has_for(&self, pool: usize) -> bool {
        [pool, POOLS].iter().any(|&pool| self.lens[pool].load(Ordering::Acquire) > 0)
    }

    /// Whether no worker may take a task.
    pub(crate) fn is_empty(&self) -> bool {
        let empty = self.lens.iter().all(|len| len.load(Ordering::Acquire) == 0);
        let out_of_turn = |turns: &Turns| !self.lock().firsts().any(|(_, rank)| turns.lets(rank.0));
        empty || self.turns.as_ref().is_some_and(out_of_turn)
    }

    /// Where tasks start in a given order, passes the turn on from a task of this priority if it has it; whether it had.
    pub(crate) fn pass(&self, priority: i32) -> bool {
        self.turns.as_ref().is_some_and(|turns| {
            let _queued = self.lock();
            turns.pass(priority)
        })
    }

    /// Whose turn it is, where tasks start in a given order.
    pub(crate) fn turns(&self) -> Option<&Turns> {
        self.turns.as_ref()
    }

    /// The best task that a worker may take in a round, and where it lies. In a given order no worker takes what is meant for another.
    fn best(&self, tasks: &RankedTasks, seat: (usize, u32), round: u32) -> Option<Seen<Key>> {
        let round = if self.turns.is_some() { 0 } else { round };
        let best =
            self.places.best(seat, round, |place| Some(key(tasks.first(place)?, place == self.places.any())));
        best.filter(|seen| self.turns.as_ref().is_none_or(|turns| turns.lets(seen.best.0)))
    }

    fn len(&self, place: u32) -> &AtomicU32 {
        &self.lens[self.places.pool(place).unwrap_or(POOLS)]
    }

    fn lock(&self) -> MutexGuard<'_, RankedTasks> {
        // Nothing inside the lock panics half way.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::placement::{Division, Route};
    use crate::{PoolSizes, RunConfig};
    use wsp_core::ExecPool;

    fn ranked(config: &RunConfig) -> Ranked {
        Ranked::new(Places::new(Division::new(config)), None)
    }

    fn taken(ranked: &Ranked, seat: (usize, u32), round: u32) -> Vec<u32> {
        std::iter::from_fn(|| ranked.take(seat, round).map(|taken| taken.node)).collect()
    }

    #[test]
    fn places_that_have_tasks_are_told_with_the_first_of_each() {
        let mut tasks = RankedTasks::new(100);
        for (task, place) in [(0, 1), (1, 0), (2, 99), (3, 64), (4, 63), (5, 1)] {
            tasks.push(task, place, 0);
        }
        let firsts = |tasks: &RankedTasks| {
            tasks.firsts().map(|(place, (_, turn))| (place, turn.0)).collect::<Vec<_>>()
        };
        assert_eq!(firsts(&tasks), [(0, 1), (1, 0), (63, 4), (64, 3), (99, 2)]);
        let taken: Vec<u32> =
            [0, 1, 99].into_iter().filter_map(|place| tasks.pop(place)).map(|(_, task)| task).collect();
        assert_eq!((taken, firsts(&tasks)), (vec![1, 0, 2], vec![(1, 5), (63, 4), (64, 3)]));
    }

    #[test]
    fn the_largest_priority_comes_first_and_equals_in_order() {
        let ranked = ranked(&RunConfig::default());
        for (node, priority) in [(0, 1), (1, -5), (2, 9), (3, 1), (4, i32::MAX)] {
            ranked.push([(node, Placement { priority, ..Placement::default() })]);
        }
        assert_eq!(taken(&ranked, (0, 0), 0), [4, 2, 0, 3, 1]);
        assert!(ranked.is_empty() && !ranked.any_for((0, 0)));
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
        assert_eq!((ranked.any_for((0, 0)), ranked.any_for((1, 0))), (false, true));
    }
}
