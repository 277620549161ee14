//! Queues of ready tasks.
//!
//! One queue for all, one per core group, and an inbox per worker; under work stealing also a deque per worker that
//! only its owner pushes to. All but the deques are first in, first out.

use crate::{Affinity, ReadyPolicy, RunConfig};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use crossbeam_utils::CachePadded;
use std::hint;

const TAG_SHIFT: u32 = 30;
const GROUP: u32 = 1;
const WORKER: u32 = 2;

/// Where a task is to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// Anywhere.
    Any,
    /// On a core group.
    Group(u32),
    /// On a worker.
    Worker(u32),
}

impl Route {
    /// As one word.
    pub(crate) fn encode(self) -> u32 {
        match self {
            Route::Any => 0,
            Route::Group(group) => GROUP << TAG_SHIFT | group,
            Route::Worker(worker) => WORKER << TAG_SHIFT | worker,
        }
    }

    /// Inverse of [`encode`](Self::encode).
    pub(crate) fn decode(word: u32) -> Route {
        let index = word & ((1 << TAG_SHIFT) - 1);
        match word >> TAG_SHIFT {
            GROUP => Route::Group(index),
            WORKER => Route::Worker(index),
            _ => Route::Any,
        }
    }
}

/// Workers and their groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Topology {
    pub(crate) threads: u32,
    pub(crate) groups: u32,
    cores_per_group: u32,
}

impl Topology {
    pub(crate) fn new(config: &RunConfig) -> Topology {
        Topology { threads: config.threads, groups: config.groups(), cores_per_group: config.cores_per_group }
    }

    pub(crate) fn group_of(self, worker: u32) -> u32 {
        worker / self.cores_per_group
    }

    /// The place an affinity names; `turn` counts the tasks to spread.
    pub(crate) fn route(self, affinity: Affinity, turn: &mut u32) -> Route {
        let key_of = |key: u64, n: u32| (key % u64::from(n)) as u32;
        match affinity {
            Affinity::Any => Route::Any,
            Affinity::Group(key) => Route::Group(key_of(key, self.groups)),
            Affinity::Local(key) => Route::Worker(key_of(key, self.threads)),
            Affinity::Spread => {
                let worker = *turn;
                *turn = (worker + 1) % self.threads;
                Route::Worker(worker)
            }
        }
    }

    /// The route without a choice of one: those tasks keep the order of the common queue.
    fn plain(self, route: Route) -> Route {
        match route {
            Route::Group(_) if self.groups == 1 => Route::Any,
            Route::Worker(_) if self.threads == 1 => Route::Any,
            route => route,
        }
    }

    /// Whether `worker` is where the route points.
    pub(crate) fn is_target(self, route: Route, worker: u32) -> bool {
        match self.plain(route) {
            Route::Any => true,
            Route::Group(group) => group == self.group_of(worker),
            Route::Worker(target) => target == worker,
        }
    }
}

/// The shared ends of all queues.
pub(crate) struct ReadyQueues {
    pub(crate) topology: Topology,
    pub(crate) common: Injector<u32>,
    /// Empty when there is one group.
    pub(crate) groups: Box<[CachePadded<Injector<u32>>]>,
    /// Empty when there is one worker.
    pub(crate) inboxes: Box<[CachePadded<Injector<u32>>]>,
    /// Empty unless work is stolen.
    pub(crate) stealers: Box<[Stealer<u32>]>,
}

impl ReadyQueues {
    /// The queues and, under work stealing, each worker's own deque.
    pub(crate) fn new(config: &RunConfig) -> (ReadyQueues, Vec<Option<Worker<u32>>>) {
        let topology = Topology::new(config);
        let some =
            |n: u32| (0..if n > 1 { n } else { 0 }).map(|_| CachePadded::new(Injector::new())).collect();
        let deques: Vec<Option<Worker<u32>>> = (0..config.threads)
            .map(|_| (config.ready == ReadyPolicy::WorkSteal).then(Worker::new_lifo))
            .collect();
        let stealers = deques.iter().flatten().map(Worker::stealer).collect();
        let queues = ReadyQueues {
            topology,
            common: Injector::new(),
            groups: some(topology.groups),
            inboxes: some(topology.threads),
            stealers,
        };
        (queues, deques)
    }

    /// Queues a task. `own` is the pushing worker's deque. The caller then tells the sleepers.
    pub(crate) fn push(&self, slot: u32, route: Route, own: Option<&Worker<u32>>) {
        match (self.topology.plain(route), own) {
            (Route::Any, None) => self.common.push(slot),
            (Route::Any, Some(deque)) => deque.push(slot),
            (Route::Group(group), _) => self.groups[group as usize].push(slot),
            (Route::Worker(worker), _) => self.inboxes[worker as usize].push(slot),
        }
    }

    /// Whether any queue holds a task.
    pub(crate) fn any(&self) -> bool {
        !self.common.is_empty()
            || self.groups.iter().any(|queue| !queue.is_empty())
            || self.inboxes.iter().any(|queue| !queue.is_empty())
            || self.stealers.iter().any(|deque| !deque.is_empty())
    }
}

/// Takes the first task of a queue.
pub(crate) fn take(queue: &Injector<u32>) -> Option<u32> {
    // The check spares an empty queue the fence in `steal`.
    if queue.is_empty() { None } else { retry(|| queue.steal()) }
}

/// Repeats a steal that lost a race.
pub(crate) fn retry(mut steal: impl FnMut() -> Steal<u32>) -> Option<u32> {
    loop {
        match steal() {
            Steal::Success(slot) => return Some(slot),
            Steal::Empty => return None,
            Steal::Retry => hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(threads: u32, cores_per_group: u32) -> Topology {
        Topology::new(&RunConfig { threads, cores_per_group, ..RunConfig::default() })
    }

    #[test]
    fn routes_survive_encoding() {
        for route in [Route::Any, Route::Group(0), Route::Group(255), Route::Worker(0), Route::Worker(1023)] {
            assert_eq!(Route::decode(route.encode()), route);
        }
    }

    #[test]
    fn keys_wrap_around_groups_and_workers_and_spread_takes_turns() {
        let (topology, mut turn) = (topology(6, 4), 0);
        assert_eq!(topology.route(Affinity::Group(u64::MAX), &mut turn), Route::Group(1));
        assert_eq!(topology.route(Affinity::Local(13), &mut turn), Route::Worker(1));
        let spread: Vec<Route> = (0..7).map(|_| topology.route(Affinity::Spread, &mut turn)).collect();
        assert_eq!(spread[5..], [Route::Worker(5), Route::Worker(0)]);
    }

    #[test]
    fn with_one_place_to_go_every_task_takes_the_common_queue() {
        let (queues, _) = ReadyQueues::new(&RunConfig::default());
        for (slot, route) in [(0, Route::Worker(0)), (1, Route::Any), (2, Route::Group(0))] {
            queues.push(slot, route, None);
        }
        let order: Vec<u32> = std::iter::from_fn(|| take(&queues.common)).collect();
        assert_eq!(order, [0, 1, 2]);
        assert!(topology(1, 4).is_target(Route::Worker(0), 0));
    }
}
