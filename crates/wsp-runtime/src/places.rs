//! The places that ready tasks ask for, as numbers.

use crate::placement::{Division, Placement, Route, Topology};

/// Rounds of looking in vain before a worker takes what is meant for another group.
pub(crate) const GROUP_PATIENCE: u32 = 2;
/// Rounds before it takes what is meant for another worker: moving a task away from its data costs more than a wait of
/// some microseconds.
pub(crate) const WORKER_PATIENCE: u32 = 16;

/// Numbers the places of a run: for each pool that of all its workers, of each core group, of each worker; the last is that of
/// tasks that several pools may run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places(Division);

/// How near a place is to a worker; the nearer is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reach {
    /// It is another worker's.
    Worker,
    /// It is another group's.
    Group,
    /// It is the worker's, its group's, its pool's, or anyone's.
    Own,
}

/// The best that a worker sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen<T> {
    pub(crate) reach: Reach,
    pub(crate) best: T,
    pub(crate) place: u32,
}

impl Places {
    pub(crate) fn new(division: Division) -> Places {
        Places(division)
    }

    pub(crate) fn len(self) -> u32 {
        self.any() + 1
    }

    /// The place of tasks that several pools may run.
    pub(crate) fn any(self) -> u32 {
        self.0.parts().iter().map(|&part| size(part)).sum()
    }

    /// The place that a task asks for.
    pub(crate) fn of(self, placement: Placement) -> u32 {
        let Some(pool) = self.0.pool_of(placement.pool) else { return self.any() };
        let part = self.0.parts()[pool];
        self.first(pool)
            + match part.plain(placement.route) {
                Route::Any => 0,
                Route::Group(group) => 1 + group,
                Route::Worker(worker) => 1 + part.groups + worker,
            }
    }

    /// The pool of a place; none for that of several.
    pub(crate) fn pool(self, place: u32) -> Option<usize> {
        let pools = 0..self.0.parts().len();
        pools.rev().find(|&pool| self.first(pool) <= place).filter(|_| place < self.any())
    }

    /// The pool of a place, and where in it.
    pub(crate) fn route(self, place: u32) -> (Option<usize>, Route) {
        let Some(pool) = self.pool(place) else { return (None, Route::Any) };
        let groups = self.0.parts()[pool].groups;
        let route = match (place - self.first(pool)).checked_sub(1) {
            None => Route::Any,
            Some(group) if group < groups => Route::Group(group),
            Some(worker) => Route::Worker(worker - groups),
        };
        (Some(pool), route)
    }

    /// The greatest of what the places that a worker may take from in a round have; only places of the greatest reach that have
    /// something count. `worker` is counted within its pool.
    pub(crate) fn best<T: Ord>(
        self,
        (pool, worker): (usize, u32),
        round: u32,
        mut first: impl FnMut(u32) -> Option<T>,
    ) -> Option<Seen<T>> {
        let part = self.0.parts()[pool];
        let groups = self.first(pool) + 1..self.first(pool) + 1 + part.groups;
        let workers = groups.end..groups.end + part.threads;
        let own =
            [workers.start + worker, groups.start + part.group_of(worker), self.first(pool), self.any()];
        let mut greatest = |reach, places: &mut dyn Iterator<Item = u32>| {
            let found = places.filter_map(|place| first(place).map(|best| Seen { reach, best, place }));
            found.max_by(|one, other| one.best.cmp(&other.best))
        };
        let mut found = greatest(Reach::Own, &mut own.into_iter());
        if found.is_none() && round >= GROUP_PATIENCE {
            found = greatest(Reach::Group, &mut groups.clone());
        }
        if found.is_none() && round >= WORKER_PATIENCE {
            found = greatest(Reach::Worker, &mut workers.clone());
        }
        found
    }

    fn first(self, pool: usize) -> u32 {
        self.0.parts()[..pool].iter().map(|&part| size(part)).sum()
    }
}

fn size(part: Topology) -> u32 {
    1 + part.groups + part.threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PoolSizes, RunConfig};
    use wsp_core::ExecPool;

    fn places() -> Places {
        let pools = PoolSizes::ByUnit { vector: 2, cube: 3 };
        Places::new(Division::new(&RunConfig {
            threads: 5,
            cores_per_group: 2,
            pools,
            ..RunConfig::default()
        }))
    }

    #[test]
    fn every_place_has_a_number_of_its_own_and_its_pool() {
        let of = |pool, route| places().of(Placement { pool, route, ..Placement::default() });
        let vector =
            [Route::Any, Route::Worker(0), Route::Worker(1)].map(|route| of(ExecPool::Vector, route));
        assert_eq!(vector, [0, 2, 3]);
        let cube = [Route::Any, Route::Group(0), Route::Group(1), Route::Worker(0), Route::Worker(2)];
        assert_eq!(cube.map(|route| of(ExecPool::Cube, route)), [4, 5, 6, 7, 9]);
        assert_eq!((of(ExecPool::Any, Route::Any), places().len()), (10, 11));
        let routes = [
            (0, (Some(0), Route::Any)),
            (3, (Some(0), Route::Worker(1))),
            (4, (Some(1), Route::Any)),
            (6, (Some(1), Route::Group(1))),
            (9, (Some(1), Route::Worker(2))),
            (10, (None, Route::Any)),
        ];
        assert_eq!(routes.map(|(place, _)| places().route(place)), routes.map(|(_, route)| route));
    }

    #[test]
    fn a_worker_sees_its_own_places_and_after_some_rounds_those_of_others() {
        let best = |worker, round, held: &[(u32, i32)]| {
            let first = |place| held.iter().find(|(at, _)| *at == place).map(|(_, value)| *value);
            places().best((1, worker), round, first).map(|seen| (seen.reach, seen.place))
        };
        assert_eq!(best(2, 0, &[(4, 1), (6, 3), (9, 2)]), Some((Reach::Own, 6)));
        assert_eq!(best(2, 0, &[(10, 5), (9, 2)]), Some((Reach::Own, 10)));
        assert_eq!(best(2, 99, &[(5, 9), (4, 1)]), Some((Reach::Own, 4)));
        assert_eq!([1, 2].map(|round| best(2, round, &[(5, 9)])), [None, Some((Reach::Group, 5))]);
        assert_eq!([15, 16].map(|round| best(2, round, &[(7, 9)])), [None, Some((Reach::Worker, 7))]);
        assert_eq!(best(2, 99, &[(0, 9), (3, 9)]), None);
    }
}
