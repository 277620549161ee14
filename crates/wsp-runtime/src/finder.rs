//! How a worker looks for a task.

use crate::places::{GROUP_PATIENCE, Reach, Seen, WORKER_PATIENCE};
use crate::ranked::{Key, Rank};
use crate::ready::{Common, Pool, Queues, retry, take};
use crossbeam_deque::{Injector, Worker};
use crossbeam_utils::CachePadded;

/// The round from which on a worker takes anything.
pub(crate) const TAKES_ANYTHING: u32 = WORKER_PATIENCE;

/// A task found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) node: u32,
    /// It was meant for someone else.
    pub(crate) stolen: bool,
    /// More tasks came into the worker's own deque with it.
    pub(crate) brought_more: bool,
    /// Its place in the order of priorities, where tasks go by them.
    pub(crate) rank: Option<Rank>,
}

/// A worker's end of the queues.
pub(crate) struct Finder {
    /// Its pool, and its number within.
    pub(crate) pool: usize,
    pub(crate) worker: u32,
    group: u32,
    deque: Option<Worker<u32>>,
    /// State of the generator that picks victims.
    random: u32,
}

impl Finder {
    pub(crate) fn new(queues: &Queues, worker: u32, deque: Option<Worker<u32>>, seed: u64) -> Finder {
        let pool = queues.division.pool_of_worker(worker);
        let topology = queues.pools[pool].topology;
        let worker = worker - topology.first;
        let folded = (seed ^ seed >> 32) as u32;
        Finder {
            pool,
            worker,
            group: topology.group_of(worker),
            deque,
            random: folded.wrapping_add(worker + 1).wrapping_mul(0x9E37_79B9) | 1,
        }
    }

    pub(crate) fn deque(&self) -> Option<&Worker<u32>> {
        self.deque.as_ref()
    }

    /// Looks once. Round 0 sees what is meant for this worker or for all; later rounds also what others could do.
    pub(crate) fn look(&mut self, queues: &Queues, round: u32) -> Option<Found> {
        if let Some(ranked) = &queues.ranked {
            let taken = ranked.take(self.seat(), round)?;
            let stolen = taken.seen.reach != Reach::Own;
            return Some(Found { node: taken.node, stolen, brought_more: false, rank: Some(taken.rank) });
        }
        let pool = &queues.pools[self.pool];
        if let Some(node) = self.own(pool) {
            return Some(Found { node, stolen: false, brought_more: false, rank: None });
        }
        if let Some(found) = self.common(&pool.common).or_else(|| self.any(&queues.any)) {
            return Some(found);
        }
        if round == 0 {
            return None;
        }
        let far = round >= GROUP_PATIENCE;
        let node = self
            .steal_from_deques(pool, far)
            .or_else(|| if far { elsewhere(&pool.groups, self.group) } else { None })
            .or_else(
                || if round >= WORKER_PATIENCE { elsewhere(&pool.inboxes, self.worker) } else { None },
            )?;
        Some(Found {
            node,
            stolen: true,
            brought_more: self.deque.as_ref().is_some_and(|deque| !deque.is_empty()),
            rank: None,
        })
    }

    /// Where the best of the tasks by priority lies that this worker may take in a round.
    pub(crate) fn first_ranked(&self, queues: &Queues, round: u32) -> Option<Seen<Key>> {
        queues.ranked.as_ref().and_then(|ranked| ranked.first(self.seat(), round))
    }

    /// Its pool, and its number within.
    pub(crate) fn seat(&self) -> (usize, u32) {
        (self.pool, self.worker)
    }

    /// Inbox first, so that a deque that keeps filling itself does not starve it.
    fn own(&self, pool: &Pool) -> Option<u32> {
        let inbox = pool.inboxes.get(self.worker as usize).and_then(|queue| take(queue));
        inbox
            .or_else(|| self.deque.as_ref().and_then(Worker::pop))
            .or_else(|| pool.groups.get(self.group as usize).and_then(|queue| take(queue)))
    }

    fn common(&self, common: &Common) -> Option<Found> {
        let (node, brought_more) = common.take(self.deque.as_ref())?;
        Some(Found { node, stolen: false, brought_more, rank: None })
    }

    /// Takes one that other pools could take as well; so none of them may disappear into the deque.
    fn any(&self, any: &Common) -> Option<Found> {
        let (node, brought_more) = any.take(None)?;
        Some(Found { node, stolen: false, brought_more, rank: None })
    }

    fn steal_from_deques(&mut self, pool: &Pool, far: bool) -> Option<u32> {
        let own = self.deque.as_ref()?;
        let n = pool.stealers.len() as u32;
        let start = next_random(&mut self.random) % n;
        let victims = || (0..n).map(|i| (start + i) % n).filter(|&victim| victim != self.worker);
        let near = |victim: &u32| pool.topology.group_of(*victim) == self.group;
        let mut steal = |victim: u32| retry(|| pool.stealers[victim as usize].steal_batch_and_pop(own));
        let found = victims().filter(near).find_map(&mut steal);
        found.or_else(|| if far { victims().filter(|victim| !near(victim)).find_map(steal) } else { None })
    }
}

/// The first task of any queue but `except`, starting after it so that thieves spread.
fn elsewhere(queues: &[CachePadded<Injector<u32>>], except: u32) -> Option<u32> {
    let n = queues.len();
    (1..n).find_map(|i| take(&queues[(except as usize + i) % n]))
}

/// Xorshift; the state is never 0.
fn next_random(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::placement::{Division, Placement, Route};
    use crate::{Ready, RunConfig};

    /// The queues and a finder for each of four workers in two groups.
    fn machine(ready: Ready) -> (Queues, Vec<Finder>) {
        let config = RunConfig { threads: 4, cores_per_group: 2, ready, ..RunConfig::default() };
        let (queues, deques) = Queues::new(Division::new(&config), ready, None, Box::default());
        let finders =
            deques.into_iter().zip(0..).map(|(deque, i)| Finder::new(&queues, i, deque, 0)).collect();
        (queues, finders)
    }

    fn push(queues: &Queues, node: u32, route: Route, own: Option<&Worker<u32>>) {
        queues.push(node, Placement { route, ..Placement::default() }, Some((0, own)));
    }

    fn look(queues: &Queues, finder: &mut Finder, round: u32) -> Option<(u32, bool)> {
        finder.look(queues, round).map(|found| (found.node, found.stolen))
    }

    #[test]
    fn a_worker_prefers_its_inbox_then_its_group_then_the_common_queue() {
        let (queues, mut finders) = machine(Ready::Fifo);
        push(&queues, 1, Route::Any, None);
        push(&queues, 2, Route::Group(1), None);
        push(&queues, 3, Route::Worker(2), None);
        push(&queues, 4, Route::Group(0), None);
        let order: Vec<u32> =
            std::iter::from_fn(|| finders[2].look(&queues, 0)).map(|found| found.node).collect();
        assert_eq!(order, [3, 2, 1]);
    }

    #[test]
    fn a_task_of_another_group_is_taken_after_little_patience_and_one_of_another_worker_after_more() {
        let (queues, mut finders) = machine(Ready::Fifo);
        push(&queues, 1, Route::Worker(0), None);
        push(&queues, 2, Route::Group(0), None);
        assert_eq!(look(&queues, &mut finders[3], GROUP_PATIENCE - 1), None);
        assert_eq!(look(&queues, &mut finders[3], GROUP_PATIENCE), Some((2, true)));
        assert_eq!(look(&queues, &mut finders[3], WORKER_PATIENCE - 1), None);
        assert_eq!(look(&queues, &mut finders[3], WORKER_PATIENCE), Some((1, true)));
        assert!(!queues.any_for((0, 0)));
    }

    #[test]
    fn a_worker_pops_what_it_pushed_last_and_thieves_of_its_group_come_first() {
        let (queues, mut finders) = machine(Ready::WorkSteal);
        for slot in 1..=3 {
            push(&queues, slot, Route::Any, finders[0].deque());
        }
        assert_eq!(look(&queues, &mut finders[0], 0), Some((3, false)));
        assert_eq!(look(&queues, &mut finders[2], 1), None);
        assert_eq!(look(&queues, &mut finders[1], 1), Some((1, true)));
        assert_eq!(look(&queues, &mut finders[2], GROUP_PATIENCE), Some((2, true)));
    }

    #[test]
    fn every_task_of_the_common_queue_is_found_by_someone_under_work_stealing() {
        let (queues, mut finders) = machine(Ready::WorkSteal);
        (0..100).for_each(|slot| push(&queues, slot, Route::Any, None));
        let mut found: Vec<u32> = (0..100)
            .filter_map(|i| look(&queues, &mut finders[i % 4], TAKES_ANYTHING))
            .map(|f| f.0)
            .collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..100));
    }
}
