//! Where a task is to run, in the terms of the queues.

use crate::{Affinity, PoolSizes, RunConfig};
use std::ops::Range;
use wsp_core::{ExecPool, StreamId, limits};

const INDEX_BITS: u32 = 11;
const TAG_SHIFT: u32 = INDEX_BITS;
const POOL_SHIFT: u32 = 13;
const HAS_STREAM: u32 = 1 << 15;
const STREAM_SHIFT: u32 = 16;
const GROUP: u32 = 1;
const WORKER: u32 = 2;

const _: () = assert!(limits::MAX_THREADS < 1 << INDEX_BITS);

/// Where in a pool a task is to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Route {
    /// Anywhere.
    #[default]
    Any,
    /// On a core group.
    Group(u32),
    /// On a worker.
    Worker(u32),
}

/// All that the queues and gates ask about a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Placement {
    pub(crate) route: Route,
    pub(crate) pool: ExecPool,
    pub(crate) stream: Option<StreamId>,
    pub(crate) priority: i32,
}

impl Placement {
    /// All but the priority as one word.
    pub(crate) fn encode(self) -> u32 {
        let route = match self.route {
            Route::Any => 0,
            Route::Group(group) => GROUP << TAG_SHIFT | group,
            Route::Worker(worker) => WORKER << TAG_SHIFT | worker,
        };
        let pool = match self.pool {
            ExecPool::Any => 0,
            ExecPool::Vector => 1,
            ExecPool::Cube => 2,
        };
        let stream = self.stream.map_or(0, |stream| HAS_STREAM | u32::from(stream.0) << STREAM_SHIFT);
        route | pool << POOL_SHIFT | stream
    }

    /// Inverse of [`encode`](Self::encode).
    #[inline]
    pub(crate) fn decode(word: u32, priority: i32) -> Placement {
        if word == 0 {
            return Placement { priority, ..Placement::default() };
        }
        let index = word & ((1 << INDEX_BITS) - 1);
        let route = match word >> TAG_SHIFT & 3 {
            GROUP => Route::Group(index),
            WORKER => Route::Worker(index),
            _ => Route::Any,
        };
        let pool = match word >> POOL_SHIFT & 3 {
            1 => ExecPool::Vector,
            2 => ExecPool::Cube,
            _ => ExecPool::Any,
        };
        let stream = (word & HAS_STREAM != 0).then_some(StreamId((word >> STREAM_SHIFT) as u16));
        Placement { route, pool, stream, priority }
    }
}

/// The workers of one pool and their groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Topology {
    /// The first worker of the pool among all.
    pub(crate) first: u32,
    pub(crate) threads: u32,
    pub(crate) groups: u32,
    cores_per_group: u32,
}

impl Topology {
    pub(crate) fn new(first: u32, threads: u32, cores_per_group: u32) -> Topology {
        Topology { first, threads, groups: threads.div_ceil(cores_per_group), cores_per_group }
    }

    /// Its workers, among all.
    pub(crate) fn workers(self) -> Range<u32> {
        self.first..self.first + self.threads
    }

    /// The workers of one of its groups, among all.
    pub(crate) fn group(self, group: u32) -> Range<u32> {
        let first = self.first + group * self.cores_per_group;
        first..self.workers().end.min(first + self.cores_per_group)
    }

    /// Group of a worker, which is counted within the pool.
    pub(crate) fn group_of(self, worker: u32) -> u32 {
        worker / self.cores_per_group
    }

    /// The place an affinity names; `turn` counts the tasks to spread.
    fn route(self, affinity: Affinity, turn: &mut u32) -> Route {
        let key_of = |key: u64, n: u32| (key % u64::from(n)) as u32;
        match affinity {
            Affinity::Any => Route::Any,
            Affinity::Group(key) => Route::Group(key_of(key, self.groups)),
            Affinity::Local(key) => Route::Worker(key_of(key, self.threads)),
            Affinity::Spread => {
                let worker = *turn % self.threads;
                *turn = (worker + 1) % self.threads;
                Route::Worker(worker)
            }
        }
    }

    /// The route without a choice of one: those tasks keep the order of the common queue.
    pub(crate) fn plain(self, route: Route) -> Route {
        match route {
            Route::Group(_) if self.groups == 1 => Route::Any,
            Route::Worker(_) if self.threads == 1 => Route::Any,
            route => route,
        }
    }

    /// Whether `worker`, counted within the pool, is where the route points.
    pub(crate) fn is_target(self, route: Route, worker: u32) -> bool {
        match self.plain(route) {
            Route::Any => true,
            Route::Group(group) => group == self.group_of(worker),
            Route::Worker(target) => target == worker,
        }
    }
}

/// How the workers divide into pools.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Division {
    /// One pool.
    Shared(Topology),
    /// Vector workers, then cube workers.
    ByUnit([Topology; 2]),
}

impl Division {
    pub(crate) fn new(config: &RunConfig) -> Division {
        let part = |first, threads| Topology::new(first, threads, config.cores_per_group);
        match config.pools {
            PoolSizes::Shared => Division::Shared(part(0, config.threads)),
            PoolSizes::ByUnit { vector, cube } => Division::ByUnit([part(0, vector), part(vector, cube)]),
        }
    }

    /// The pools.
    pub(crate) fn parts(&self) -> &[Topology] {
        match self {
            Division::Shared(part) => std::slice::from_ref(part),
            Division::ByUnit(parts) => parts,
        }
    }

    /// The pool a task belongs to; `None` when it may run in any of several.
    pub(crate) fn pool_of(&self, pool: ExecPool) -> Option<usize> {
        match (self, pool) {
            (Division::Shared(_), _) | (_, ExecPool::Vector) => Some(0),
            (_, ExecPool::Cube) => Some(1),
            (_, ExecPool::Any) => None,
        }
    }

    /// The workers that take from a pool, among all; `None` is what may run in any of several.
    pub(crate) fn workers(&self, pool: Option<usize>) -> Range<u32> {
        let parts = self.parts();
        pool.map_or(0..parts[parts.len() - 1].workers().end, |pool| parts[pool].workers())
    }

    /// The group of a worker within its pool.
    pub(crate) fn group_of(&self, worker: u32) -> u32 {
        let part = self.parts()[self.pool_of_worker(worker)];
        part.group_of(worker - part.first)
    }

    /// The workers of a worker's group, among all.
    pub(crate) fn neighbours(&self, worker: u32) -> Range<u32> {
        self.parts()[self.pool_of_worker(worker)].group(self.group_of(worker))
    }

    /// The pool a worker belongs to.
    pub(crate) fn pool_of_worker(&self, worker: u32) -> usize {
        self.parts().iter().rposition(|part| part.first <= worker).unwrap_or(0)
    }

    /// Whether a worker, counted among all, runs tasks of a pool.
    pub(crate) fn runs(&self, worker: u32, pool: ExecPool) -> bool {
        self.pool_of(pool).is_none_or(|pool| pool == self.pool_of_worker(worker))
    }

    /// A place on one worker, counted among all.
    pub(crate) fn on(&self, worker: u32, stream: Option<StreamId>, priority: i32) -> Placement {
        let at = self.pool_of_worker(worker);
        let pool = match (self, at) {
            (Division::Shared(_), _) => ExecPool::Any,
            (Division::ByUnit(_), 0) => ExecPool::Vector,
            (Division::ByUnit(_), _) => ExecPool::Cube,
        };
        Placement { route: Route::Worker(worker - self.parts()[at].first), pool, stream, priority }
    }

    /// The place an affinity names; a task for several pools is open to all their workers.
    pub(crate) fn route(&self, affinity: Affinity, pool: ExecPool, turn: &mut u32) -> Route {
        match self.pool_of(pool) {
            Some(pool) => self.parts()[pool].route(affinity, turn),
            None => Route::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_survive_encoding() {
        let routes = [Route::Any, Route::Group(0), Route::Group(255), Route::Worker(0), Route::Worker(1023)];
        for route in routes {
            for pool in [ExecPool::Any, ExecPool::Vector, ExecPool::Cube] {
                for stream in [None, Some(StreamId(0)), Some(StreamId(u16::MAX))] {
                    let placement = Placement { route, pool, stream, priority: -3 };
                    assert_eq!(Placement::decode(placement.encode(), -3), placement);
                }
            }
        }
    }

    #[test]
    fn keys_wrap_around_groups_and_workers_and_spread_takes_turns() {
        let (topology, mut turn) = (Topology::new(0, 6, 4), 0);
        assert_eq!(topology.route(Affinity::Group(u64::MAX), &mut turn), Route::Group(1));
        assert_eq!(topology.route(Affinity::Local(13), &mut turn), Route::Worker(1));
        let spread: Vec<Route> = (0..7).map(|_| topology.route(Affinity::Spread, &mut turn)).collect();
        assert_eq!(spread[5..], [Route::Worker(5), Route::Worker(0)]);
        assert!(Topology::new(0, 1, 4).is_target(Route::Worker(0), 0));
    }

    #[test]
    fn pools_by_unit_count_their_own_workers() {
        let config =
            RunConfig { threads: 5, pools: PoolSizes::ByUnit { vector: 2, cube: 3 }, ..RunConfig::default() };
        let (division, mut turn) = (Division::new(&config), 0);
        let pools: Vec<usize> = (0..5).map(|worker| division.pool_of_worker(worker)).collect();
        assert_eq!(pools, [0, 0, 1, 1, 1]);
        assert_eq!(division.route(Affinity::Local(5), ExecPool::Cube, &mut turn), Route::Worker(2));
        assert_eq!(division.route(Affinity::Local(5), ExecPool::Any, &mut turn), Route::Any);
        assert_eq!(division.pool_of(ExecPool::Any), None);
        assert_eq!([Some(0), Some(1), None].map(|pool| division.workers(pool)), [0..2, 2..5, 0..5]);
    }

    #[test]
    fn groups_of_units_are_apart() {
        let pools = PoolSizes::ByUnit { vector: 3, cube: 5 };
        let division =
            Division::new(&RunConfig { threads: 8, cores_per_group: 2, pools, ..RunConfig::default() });
        let groups: Vec<u32> = (0..8).map(|worker| division.group_of(worker)).collect();
        assert_eq!(groups, [0, 0, 1, 0, 0, 1, 1, 2]);
        let neighbours: Vec<Range<u32>> = (0..8).map(|worker| division.neighbours(worker)).collect();
        assert_eq!(neighbours, [0..2, 0..2, 2..3, 3..5, 3..5, 5..7, 5..7, 7..8]);
    }
}
