//! The rules of scheduling as plain data: machine, gates, window, order of priority, victims.
//!
//! Nothing here knows time, threads or tasks' contents.

use crate::{Affinity, Gate, GateScope, Pools, RunConfig};
use std::cmp::Reverse;
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
            Pools::Shared => None,
            Pools::ByUnit { vector, .. } => Some(vector),
        };
        Machine { workers: config.threads, cores_per_group: config.cores_per_group, vector }
    }

    pub(super) fn classes(&self) -> usize {
        if self.vector.is_none() { 1 } else { KINDS }
    }

    pub(super) fn class_of(&self, kind: usize) -> usize {
        if self.vector.is_none() { 0 } else { kind }
    }

    /// The kinds of task in a class.
    pub(super) fn kinds(&self, class: usize) -> Range<usize> {
        if self.vector.is_none() { 0..KINDS } else { class..class + 1 }
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

/// Counts of running tasks against the gates.
///
/// A gate per stream never shuts: the tasks of a stream run one after another, so at most one of them runs, and a
/// capacity is at least 1. So what a task asks of the gates depends on its kind alone.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    total: Count,
    kinds: [Count; KINDS],
}

#[derive(Clone, Copy, Debug)]
struct Count {
    running: u32,
    capacity: u32,
}

impl Gates {
    pub(super) fn new(gates: &[Gate]) -> Gates {
        let least = |scope| {
            let capacities = gates.iter().filter(|gate| gate.scope == scope).map(|gate| gate.capacity);
            Count { running: 0, capacity: capacities.min().unwrap_or(u32::MAX) }
        };
        Gates { total: least(GateScope::Global), kinds: [least(GateScope::PerPool); KINDS] }
    }

    /// Whether a task of this kind may start.
    pub(super) fn is_open(&self, kind: usize) -> bool {
        self.total.has_room() && self.kinds[kind].has_room()
    }

    /// Counts a task that starts.
    pub(super) fn enter(&mut self, kind: usize) {
        self.total.running += 1;
        self.kinds[kind].running += 1;
    }

    /// Uncounts a task that is complete.
    pub(super) fn leave(&mut self, kind: usize) {
        self.total.running -= 1;
        self.kinds[kind].running -= 1;
    }
}

impl Count {
    fn has_room(self) -> bool {
        self.running < self.capacity
    }
}

/// The place of a ready task in the order of priorities: the larger priority first, then who came first. As numbers, the
/// smaller rank goes first.
pub(super) type Rank = (Reverse<i32>, u64);

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

    fn machine(threads: u32, cores_per_group: u32, pools: Pools) -> Machine {
        Machine::new(&RunConfig { threads, cores_per_group, pools, ..RunConfig::default() })
    }

    #[test]
    fn groups_of_units_are_apart() {
        let machine = machine(8, 2, Pools::ByUnit { vector: 3, cube: 5 });
        let groups: Vec<u32> = (0..8).map(|worker| machine.group_of(worker)).collect();
        assert_eq!(groups, [0, 0, 1, 2, 2, 3, 3, 4]);
        assert_eq!(machine.groups(), 5);
        let ranges: Vec<Range<u32>> = (0..5).map(|group| machine.group(group)).collect();
        assert_eq!(ranges, [0..2, 2..3, 3..5, 5..7, 7..8]);
    }

    #[test]
    fn keys_count_the_workers_of_the_unit() {
        let machine = machine(5, 2, Pools::ByUnit { vector: 2, cube: 3 });
        let mut turn = 0;
        assert_eq!(machine.route(Affinity::Local(4), 1, &mut turn), Route::Worker(3));
        assert_eq!(machine.route(Affinity::Group(3), 1, &mut turn), Route::Group(2));
        assert_eq!(machine.route(Affinity::Group(3), 0, &mut turn), Route::Any);
        assert_eq!(machine.route(Affinity::Local(4), 2, &mut turn), Route::Any);
        let spread: Vec<Route> = (0..4).map(|_| machine.route(Affinity::Spread, 1, &mut turn)).collect();
        assert_eq!(spread, [2, 3, 4, 2].map(Route::Worker));
    }

    #[test]
    fn the_smallest_gate_of_a_scope_counts() {
        let gate = |scope, capacity| Gate { scope, capacity };
        let mut gates = Gates::new(&[
            gate(GateScope::Global, 3),
            gate(GateScope::PerPool, 5),
            gate(GateScope::PerPool, 2),
            gate(GateScope::PerStream, 1),
        ]);
        gates.enter(0);
        gates.enter(0);
        assert_eq!([0, 1, 2].map(|kind| gates.is_open(kind)), [false, true, true]);
        gates.enter(1);
        assert_eq!([0, 1, 2].map(|kind| gates.is_open(kind)), [false; 3]);
        gates.leave(0);
        assert_eq!([0, 1, 2].map(|kind| gates.is_open(kind)), [true; 3]);
    }
}
