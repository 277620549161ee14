//! The rules of scheduling as plain data: machine, places, victims. Those of gates are the ones of a run on threads.
//!
//! Nothing here knows time, threads or tasks' contents.

use crate::{Affinity, PoolSizes, RunConfig};
use std::ops::Range;
use wsp_core::ExecPool;

/// Kinds of execution unit that a task may ask for: vector, cube, any.
pub(super) const KINDS: usize = 3;

/// The kind that a pool is, below [`KINDS`].
pub(super) fn kind(pool: ExecPool) -> usize {
    match pool {
        ExecPool::Vector => 0,
        ExecPool::Cube => 1,
        ExecPool::Any => 2,
    }
}

/// Where a ready task queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    Any,
    Group(u32),
    Worker(u32),
}

/// Workers, their units and their groups.
///
/// Ready tasks fall into *classes*: with shared pools one, which all workers serve; else one per kind, where the class of
/// a unit is served by its workers, and that of tasks for any unit by all workers after their own.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) workers: u32,
    cores_per_group: u32,
    /// With pools by unit, the vector workers, which come first.
    vector: Option<u32>,
}

impl Machine {
    pub(super) fn new(config: &RunConfig) -> Machine {
        let vector = match config.pools {
            PoolSizes::Shared => None,
            PoolSizes::ByUnit { vector, .. } => Some(vector),
        };
        Machine { workers: config.threads, cores_per_group: config.cores_per_group, vector }
    }

    pub(super) fn classes(&self) -> usize {
        if self.vector.is_none() { 1 } else { KINDS }
    }

    pub(super) fn class_of(&self, kind: usize) -> usize {
        if self.vector.is_none() { 0 } else { kind }
    }

    /// The workers that serve a class.
    pub(super) fn members(&self, class: usize) -> Range<u32> {
        match (self.vector, class) {
            (Some(vector), 0) => 0..vector,
            (Some(vector), 1) => vector..self.workers,
            _ => 0..self.workers,
        }
    }

    /// Core groups; those of the units are apart.
    pub(super) fn groups(&self) -> u32 {
        let vector = self.vector.unwrap_or(0);
        vector.div_ceil(self.cores_per_group) + (self.workers - vector).div_ceil(self.cores_per_group)
    }

    pub(super) fn group_of(&self, worker: u32) -> u32 {
        let vector = self.vector.unwrap_or(0);
        if worker < vector {
            worker / self.cores_per_group
        } else {
            vector.div_ceil(self.cores_per_group) + (worker - vector) / self.cores_per_group
        }
    }

    /// The workers of a group.
    pub(super) fn group(&self, group: u32) -> Range<u32> {
        let vector = self.vector.unwrap_or(0);
        let before = vector.div_ceil(self.cores_per_group);
        let (first, end) = if group < before {
            (group * self.cores_per_group, vector)
        } else {
            (vector + (group - before) * self.cores_per_group, self.workers)
        };
        first..end.min(first + self.cores_per_group)
    }

    /// Numbers the places of all classes.
    pub(super) fn place(&self, class: usize, route: Route) -> u32 {
        let first = class as u32 * self.places();
        first
            + match route {
                Route::Any => 0,
                Route::Group(group) => 1 + group,
                Route::Worker(worker) => 1 + self.groups() + worker,
            }
    }

    /// The class and the route of a place.
    pub(super) fn route_of(&self, place: u32) -> (usize, Route) {
        let (class, place) = ((place / self.places()) as usize, place % self.places());
        let route = match place.checked_sub(1) {
            None => Route::Any,
            Some(group) if group < self.groups() => Route::Group(group),
            Some(worker) => Route::Worker(worker - self.groups()),
        };
        (class, route)
    }

    fn places(&self) -> u32 {
        1 + self.groups() + self.workers
    }

    /// The place that an affinity names; `turn` counts the tasks of the class to spread.
    ///
    /// Keys count the workers of the class; with pools by unit a task for any unit is open to all workers alike. A place
    /// that is the only one is none.
    pub(super) fn route(&self, affinity: Affinity, class: usize, turn: &mut u32) -> Route {
        let members = self.members(class);
        if affinity == Affinity::Any || class == kind(ExecPool::Any) || members.len() == 1 {
            return Route::Any;
        }
        let workers = members.end - members.start;
        let key_of = |key: u64, n: u32| (key % u64::from(n)) as u32;
        match affinity {
            Affinity::Any => Route::Any,
            Affinity::Group(key) => match workers.div_ceil(self.cores_per_group) {
                1 => Route::Any,
                groups => Route::Group(self.group_of(members.start) + key_of(key, groups)),
            },
            Affinity::Local(key) => Route::Worker(members.start + key_of(key, workers)),
            Affinity::Spread => {
                let worker = members.start + *turn;
                *turn = (*turn + 1) % workers;
                Route::Worker(worker)
            }
        }
    }
}

/// Picks victims of thieves: a fixed sequence for each seed (the splitmix64 generator).
#[derive(Clone, Debug)]
pub(super) struct Victims(u64);

impl Victims {
    pub(super) fn new(seed: u64) -> Victims {
        Victims(seed)
    }

    /// The first victim to try, of a non-empty range.
    pub(super) fn first(&mut self, of: &Range<u32>) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        of.start + (bits % u64::from((of.end - of.start).max(1))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(threads: u32, cores_per_group: u32, pools: PoolSizes) -> Machine {
        Machine::new(&RunConfig { threads, cores_per_group, pools, ..RunConfig::default() })
    }

    #[test]
    fn groups_of_units_are_apart() {
        let machine = machine(8, 2, PoolSizes::ByUnit { vector: 3, cube: 5 });
        let groups: Vec<u32> = (0..8).map(|worker| machine.group_of(worker)).collect();
        assert_eq!(groups, [0, 0, 1, 2, 2, 3, 3, 4]);
        assert_eq!(machine.groups(), 5);
        let ranges: Vec<Range<u32>> = (0..5).map(|group| machine.group(group)).collect();
        assert_eq!(ranges, [0..2, 2..3, 3..5, 5..7, 7..8]);
    }

    #[test]
    fn places_of_all_classes_have_numbers_of_their_own() {
        let machine = machine(5, 2, PoolSizes::ByUnit { vector: 2, cube: 3 });
        let routes = (0..3).map(Route::Group).chain((0..5).map(Route::Worker)).chain([Route::Any]);
        let all: Vec<(usize, Route)> =
            routes.flat_map(|route| (0..KINDS).map(move |class| (class, route))).collect();
        let back = all.iter().map(|&(class, route)| machine.route_of(machine.place(class, route)));
        assert!(back.eq(all.iter().copied()));
    }

    #[test]
    fn keys_count_the_workers_of_the_unit() {
        let machine = machine(5, 2, PoolSizes::ByUnit { vector: 2, cube: 3 });
        let mut turn = 0;
        assert_eq!(machine.route(Affinity::Local(4), 1, &mut turn), Route::Worker(3));
        assert_eq!(machine.route(Affinity::Group(3), 1, &mut turn), Route::Group(2));
        assert_eq!(machine.route(Affinity::Group(3), 0, &mut turn), Route::Any);
        assert_eq!(machine.route(Affinity::Local(4), 2, &mut turn), Route::Any);
        let spread: Vec<Route> = (0..4).map(|_| machine.route(Affinity::Spread, 1, &mut turn)).collect();
        assert_eq!(spread, [2, 3, 4, 2].map(Route::Worker));
    }
}
