//! Queues of ready tasks.
//!
//! Per pool, one queue for all its workers, one per core group, and an inbox per worker; under work stealing also a
//! deque per worker that only its owner pushes to. One more queue holds the tasks that several pools may run. All but the
//! deques are first in, first out. By priority tasks lie in heaps instead (`ranked.rs`).

use crate::Ready;
use crate::placement::{Division, Placement, Route, Topology};
use crate::places::Places;
use crate::ranked::Ranked;
use crate::replay;
use crate::sleep::Sleep;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Fault, Mutex, MutexGuard, Ordering, has, spin_loop};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use crossbeam_utils::CachePadded;
use std::sync::PoisonError;

/// Nodes taken at once from those ready at the start, where the rest can be stolen back.
const ROOTS_AT_ONCE: u32 = 32;

/// A queue for several workers: those that were ready at the start, which are not copied into a queue, then first in, first
/// out.
pub(crate) struct Common {
    roots: Box<[u32]>,
    /// How many of them have been taken, or more.
    taken: CachePadded<AtomicU32>,
    queue: Injector<u32>,
}

impl Common {
    fn new(roots: Box<[u32]>) -> Common {
        Common { roots, taken: CachePadded::default(), queue: Injector::new() }
    }

    fn push(&self, node: u32) {
        self.queue.push(node);
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a count that only grows; the fences around sleeping order it.
        self.taken.load(Ordering::Relaxed) as usize >= self.roots.len() && self.queue.is_empty()
    }

    /// About how many nodes it holds.
    pub(crate) fn len(&self) -> usize {
        // Relaxed: as in `is_empty`.
        self.roots.len().saturating_sub(self.taken.load(Ordering::Relaxed) as usize) + self.queue.len()
    }

    /// Takes the next node; with a deque, others may move into it. The last is whether any did.
    pub(crate) fn take(&self, deque: Option<&Worker<u32>>) -> Option<(u32, bool)> {
        if self.is_empty() {
            // Spares an empty queue the fence in `steal`.
            return None;
        }
        let found = take_root(&self.roots, &self.taken, deque);
        found.or_else(|| match deque {
            None => retry(|| self.queue.steal()).map(|node| (node, false)),
            Some(deque) => {
                let node = retry(|| self.queue.steal_batch_and_pop(deque))?;
                Some((node, !deque.is_empty()))
            }
        })
    }
}

/// Takes one of the nodes ready at the start, and with a deque those that follow it.
fn take_root(roots: &[u32], taken: &AtomicU32, deque: Option<&Worker<u32>>) -> Option<(u32, bool)> {
    // Relaxed: the list was there before the workers.
    if taken.load(Ordering::Relaxed) as usize >= roots.len() {
        return None;
    }
    let at_once = if deque.is_some() { ROOTS_AT_ONCE } else { 1 };
    let begin = taken.fetch_add(at_once, Ordering::Relaxed) as usize;
    let end = roots.len().min(begin + at_once as usize);
    let (&first, later) = roots.get(begin..end)?.split_first()?;
    if let Some(deque) = deque {
        // The owner pops what was pushed last.
        later.iter().rev().for_each(|&node| deque.push(node));
    }
    Some((first, !later.is_empty()))
}

/// The shared ends of the queues of one pool, and its sleepers.
pub(crate) struct Pool {
    pub(crate) topology: Topology,
    pub(crate) common: Common,
    /// Empty when there is one group.
    pub(crate) groups: Box<[CachePadded<Injector<u32>>]>,
    /// Empty when there is one worker.
    pub(crate) inboxes: Box<[CachePadded<Injector<u32>>]>,
    /// Empty unless work is stolen.
    pub(crate) stealers: Box<[Stealer<u32>]>,
    pub(crate) sleep: Sleep,
    pub(crate) turns: Turns,
}

/// Taking several tasks at once: one worker after the other, so that each finds neighbours side by side.
#[derive(Default)]
pub(crate) struct Turns {
    /// Whether some worker takes several at once.
    taken: AtomicBool,
    turn: Mutex<()>,
    /// The node that was found after the last of some, plus 1; 0 for none. It comes before all that are queued.
    aside: AtomicU64,
}

impl Turns {
    /// Workers take turns from now on.
    pub(crate) fn begin(&self) {
        // Relaxed, here and below: whoever sees it late takes a task that was another's neighbour, and runs it as well.
        self.taken.store(true, Ordering::Relaxed);
    }

    /// Whether workers take turns.
    #[inline]
    pub(crate) fn are_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// Waits for this worker's turn.
    pub(crate) fn wait(&self) -> MutexGuard<'_, ()> {
        // Nothing is guarded but the order of workers.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a node back that goes with none of those before it; in one's turn, when none is there.
    pub(crate) fn put_aside(&self, node: u32) {
        self.aside.store(u64::from(node) + 1, Ordering::Release);
    }

    /// Takes the node that was put aside; in one's turn.
    pub(crate) fn take_aside(&self) -> Option<u32> {
        // What is stored is a node plus 1, or 0.
        self.aside.swap(0, Ordering::AcqRel).checked_sub(1).map(|node| node as u32)
    }

    /// Whether a node was put aside.
    pub(crate) fn holds_one(&self) -> bool {
        self.aside.load(Ordering::Acquire) != 0
    }
}

impl Pool {
    fn new(topology: Topology, policy: Ready, roots: Box<[u32]>) -> (Pool, Vec<Option<Worker<u32>>>) {
        let some = |n: u32| {
            let queues = if n > 1 { n } else { 0 };
            (0..queues).map(|_| CachePadded::new(Injector::new())).collect()
        };
        let deques: Vec<Option<Worker<u32>>> =
            (0..topology.threads).map(|_| (policy == Ready::WorkSteal).then(Worker::new_lifo)).collect();
        let pool = Pool {
            topology,
            common: Common::new(roots),
            groups: some(topology.groups),
            inboxes: some(topology.threads),
            stealers: deques.iter().flatten().map(Worker::stealer).collect(),
            sleep: Sleep::new(topology),
            turns: Turns::default(),
        };
        (pool, deques)
    }

    /// Queues a task. `own` is the pushing worker's deque, if it is of this pool.
    fn push(&self, node: u32, placement: Placement, own: Option<&Worker<u32>>) {
        match (self.topology.plain(placement.route), own) {
            (Route::Any, Some(deque)) => deque.push(node),
            (Route::Group(group), _) if !self.groups.is_empty() => self.groups[group as usize].push(node),
            (Route::Worker(worker), _) if !self.inboxes.is_empty() => {
                self.inboxes[worker as usize].push(node);
            }
            _ => self.common.push(node),
        }
    }

    /// Whether any queue of the pool holds a task.
    pub(crate) fn any(&self) -> bool {
        !self.common.is_empty()
            || self.groups.iter().any(|queue| !queue.is_empty())
            || self.inboxes.iter().any(|queue| !queue.is_empty())
            || self.stealers.iter().any(|deque| !deque.is_empty())
            || self.turns.holds_one()
    }

    /// About how many tasks its queues hold for any of its workers.
    pub(crate) fn len(&self) -> usize {
        let deques: usize = self.stealers.iter().map(Stealer::len).sum();
        let groups: usize = self.groups.iter().map(|queue| queue.len()).sum();
        self.common.len() + deques + groups
    }
}

/// All queues of a run.
pub(crate) struct Queues {
    pub(crate) division: Division,
    pub(crate) policy: Ready,
    pub(crate) pools: Box<[Pool]>,
    /// Tasks for any pool; nothing is pushed when there is one.
    pub(crate) any: Common,
    /// All ready tasks instead, by priority.
    pub(crate) ranked: Option<Ranked>,
}

impl Queues {
    /// The queues and, under work stealing, each worker's own deque. `roots` are ready and may run anywhere.
    pub(crate) fn new(
        division: Division,
        policy: Ready,
        turns: Option<replay::Turns>,
        roots: Box<[u32]>,
    ) -> (Queues, Vec<Option<Worker<u32>>>) {
        let (mut pools, mut deques) = (Vec::new(), Vec::new());
        let (mut pool_roots, mut any_roots) = match division {
            Division::Shared(_) => (roots, Box::default()),
            Division::ByUnit(_) => (Box::default(), roots),
        };
        for &part in division.parts() {
            let (pool, mut own) = Pool::new(part, policy, std::mem::take(&mut pool_roots));
            pools.push(pool);
            deques.append(&mut own);
        }
        let any = Common::new(std::mem::take(&mut any_roots));
        let ranked = (policy == Ready::Priority).then(|| Ranked::new(Places::new(division), turns));
        (Queues { division, policy, pools: pools.into(), any, ranked }, deques)
    }

    /// Queues a task that `pool`'s worker with the deque `own`, or nobody of the workers, made ready. Whether that worker
    /// will find it without being told; others must be told with [`notify`](Self::notify).
    pub(crate) fn push(&self, node: u32, placement: Placement, own: Option<(usize, Option<&Worker<u32>>)>) {
        if let Some(ranked) = &self.ranked {
            return ranked.push([(node, placement)]);
        }
        match self.division.pool_of(placement.pool) {
            None => self.any.push(node),
            Some(pool) => {
                let deque = own.filter(|&(mine, _)| mine == pool).and_then(|(_, deque)| deque);
                self.pools[pool].push(node, placement, deque);
            }
        }
    }

    /// Queues tasks that become ready at once, and of which none was made ready by a worker.
    pub(crate) fn push_all(&self, tasks: &[(u32, Placement)]) {
        match &self.ranked {
            Some(ranked) => ranked.push(tasks.iter().copied()),
            None => tasks.iter().for_each(|&(node, placement)| self.push(node, placement, None)),
        }
    }

    /// Tells of a task that has been queued.
    pub(crate) fn notify(&self, placement: Placement) {
        match self.division.pool_of(placement.pool) {
            None => self.pools.iter().for_each(|pool| pool.sleep.notify(Route::Any)),
            Some(pool) => self.pools[pool].sleep.notify(placement.route),
        }
    }

    /// Where tasks start in a given order, passes the turn on from a task that starts or is dropped, if it has it, and wakes the worker whose turn it is.
    #[inline]
    pub(crate) fn pass(&self, placement: Placement) {
        if let Some(ranked) = &self.ranked
            && ranked.pass(placement.priority)
        {
            self.tell_next();
        }
    }

    /// Where tasks start in a given order, wakes the worker whose turn it is.
    pub(crate) fn tell_next(&self) {
        if let Some((worker, _)) = self.turns().and_then(replay::Turns::next)
            && !has(Fault::TurnUntold)
        {
            let pool = &self.pools[self.division.pool_of_worker(worker)];
            pool.sleep.notify(Route::Worker(worker - pool.topology.first));
        }
    }

    /// Whose turn it is, where tasks start in a given order.
    pub(crate) fn turns(&self) -> Option<&replay::Turns> {
        self.ranked.as_ref().and_then(Ranked::turns)
    }

    /// Whether a worker of the pool could take a task.
    pub(crate) fn any_for(&self, (pool, worker): (usize, u32)) -> bool {
        let ranked = self.ranked.as_ref().is_some_and(|ranked| ranked.any_for((pool, worker)));
        ranked || self.pools[pool].any() || !self.any.is_empty()
    }

    /// Whether every worker sleeps and no queue holds a task. As long as nothing is pushed from outside, it stays so.
    pub(crate) fn all_quiet(&self) -> bool {
        if !self.pools.iter().all(|pool| pool.sleep.looks_quiet()) {
            return false;
        }
        // A sleeper takes a task only after it left its list, which needs the lock.
        let lists: Vec<_> = self.pools.iter().map(|pool| pool.sleep.sleepers()).collect();
        let asleep =
            lists.iter().zip(&self.pools).all(|(list, pool)| list.len() as u32 == pool.topology.threads);
        let ranked = self.ranked.as_ref().is_some_and(|ranked| !ranked.is_empty());
        asleep && !ranked && self.any.is_empty() && !self.pools.iter().any(Pool::any)
    }

    /// Sends all workers home once they find no task.
    pub(crate) fn close(&self) {
        self.pools.iter().for_each(|pool| pool.sleep.close());
    }
}

/// Takes the first task of a queue.
pub(crate) fn take(queue: &Injector<u32>) -> Option<u32> {
    if queue.is_empty() { None } else { retry(|| queue.steal()) }
}

/// Repeats a steal that lost a race.
pub(crate) fn retry(mut steal: impl FnMut() -> Steal<u32>) -> Option<u32> {
    loop {
        match steal() {
            Steal::Success(node) => return Some(node),
            Steal::Empty => return None,
            Steal::Retry => spin_loop(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::RunConfig;
    use wsp_core::ExecPool;

    fn queues(config: &RunConfig, roots: &[u32]) -> Queues {
        Queues::new(Division::new(config), config.ready_policy(), None, roots.into()).0
    }

    #[test]
    fn with_one_place_to_go_every_task_takes_the_common_queue() {
        let queues = queues(&RunConfig::default(), &[7, 8]);
        for (node, route) in [(0, Route::Worker(0)), (1, Route::Any), (2, Route::Group(0))] {
            queues.push(node, Placement { route, ..Placement::default() }, None);
        }
        let common = &queues.pools[0].common;
        let order: Vec<u32> = std::iter::from_fn(|| common.take(None).map(|(node, _)| node)).collect();
        assert_eq!(order, [7, 8, 0, 1, 2]);
    }

    /// Idle workers take what is queued for others, so that runs do not show it.
    #[test]
    fn a_task_waits_in_the_queue_of_its_place() {
        let queues = queues(&RunConfig { threads: 4, cores_per_group: 2, ..RunConfig::default() }, &[]);
        let routes = [Route::Worker(3), Route::Group(1), Route::Any, Route::Worker(0), Route::Group(0)];
        for (node, route) in (0..).zip(routes) {
            queues.push(node, Placement { route, ..Placement::default() }, None);
        }
        let Pool { common, groups, inboxes, .. } = &queues.pools[0];
        let all = |queues: &[CachePadded<Injector<u32>>]| queues.iter().map(|queue| take(queue)).collect();
        let (groups, inboxes): (Vec<_>, Vec<_>) = (all(groups), all(inboxes));
        assert_eq!(groups, [Some(4), Some(1)]);
        assert_eq!(inboxes, [Some(3), None, None, Some(0)]);
        assert_eq!(common.take(None), Some((2, false)));
        assert!(!queues.any_for((0, 0)));
    }

    /// Runs do not show it: a worker that does not take turns runs the same tasks, but not side by side.
    #[test]
    fn workers_take_turns_once_one_takes_several_at_once() {
        let queues = queues(&RunConfig::default(), &[]);
        let turns = &queues.pools[0].turns;
        assert!(!turns.are_taken());
        turns.begin();
        assert!(turns.are_taken());
        turns.put_aside(0);
        assert!(queues.any_for((0, 0)), "a worker would sleep beside it");
        assert_eq!((turns.take_aside(), queues.any_for((0, 0))), (Some(0), false));
    }

    #[test]
    fn roots_taken_with_a_deque_come_in_order_and_can_be_stolen() {
        let config = RunConfig { ready: Ready::WorkSteal, ..RunConfig::default() };
        let roots: Vec<u32> = (0..50).collect();
        let (queues, deques) = Queues::new(Division::new(&config), Ready::WorkSteal, None, roots.into());
        let deque = deques[0].as_ref();
        assert_eq!(queues.pools[0].common.take(deque), Some((0, true)));
        assert_eq!(deque.and_then(Worker::pop), Some(1));
        assert_eq!(queues.pools[0].stealers[0].steal(), Steal::Success(31));
        assert_eq!(queues.pools[0].common.take(deque), Some((32, true)));
        assert!(queues.pools[0].common.is_empty());
    }

    #[test]
    fn a_task_for_any_unit_is_seen_by_both_pools() {
        let pools = crate::PoolSizes::ByUnit { vector: 1, cube: 1 };
        let queues = queues(&RunConfig { threads: 2, pools, ..RunConfig::default() }, &[]);
        queues.push(1, Placement { pool: ExecPool::Cube, ..Placement::default() }, None);
        assert_eq!((queues.any_for((0, 0)), queues.any_for((1, 0))), (false, true));
        queues.push(2, Placement::default(), None);
        assert_eq!((queues.any_for((0, 0)), queues.any_for((1, 0))), (true, true));
    }
}
