//! How a worker looks for a task.

use crate::ready::{ReadyQueues, Route, retry, take};
use crossbeam_deque::Worker;

/// Rounds of looking in vain before a worker takes what is meant for another group.
const GROUP_PATIENCE: u32 = 2;
/// Rounds before it takes what is meant for another worker: moving a task away from its data costs more than a wait of
/// some microseconds.
const WORKER_PATIENCE: u32 = 16;
/// The round from which on a worker takes anything.
pub(crate) const TAKES_ANYTHING: u32 = WORKER_PATIENCE;

/// A task found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) slot: u32,
    /// It was meant for someone else.
    pub(crate) stolen: bool,
    /// More tasks came into the worker's own deque with it.
    pub(crate) brought_more: bool,
}

/// A worker's end of the queues.
pub(crate) struct Finder {
    worker: u32,
    group: u32,
    deque: Option<Worker<u32>>,
    /// State of the generator that picks victims.
    random: u32,
}

impl Finder {
    pub(crate) fn new(queues: &ReadyQueues, worker: u32, deque: Option<Worker<u32>>) -> Finder {
        Finder {
            worker,
            group: queues.topology.group_of(worker),
            deque,
            random: worker.wrapping_mul(0x9E37_79B9) | 1,
        }
    }

    pub(crate) fn deque(&self) -> Option<&Worker<u32>> {
        self.deque.as_ref()
    }

    /// Looks once. Round 0 sees what is meant for this worker or for all; later rounds also what others could do.
    pub(crate) fn look(&mut self, queues: &ReadyQueues, round: u32) -> Option<Found> {
        if let Some(slot) = self.own(queues) {
            return Some(Found { slot, stolen: false, brought_more: false });
        }
        if let Some(found) = self.common(queues) {
            return Some(found);
        }
        if round == 0 {
            return None;
        }
        let far = round >= GROUP_PATIENCE;
        let slot = self
            .steal_from_deques(queues, far)
            .or_else(|| if far { self.elsewhere(&queues.groups, self.group) } else { None })
            .or_else(|| {
                if round >= WORKER_PATIENCE { self.elsewhere(&queues.inboxes, self.worker) } else { None }
            })?;
        Some(Found {
            slot,
            stolen: true,
            brought_more: self.deque.as_ref().is_some_and(|deque| !deque.is_empty()),
        })
    }

    /// Inbox first, so that a deque that keeps filling itself does not starve it.
    fn own(&self, queues: &ReadyQueues) -> Option<u32> {
        let inbox = queues.inboxes.get(self.worker as usize).and_then(|queue| take(queue));
        inbox
            .or_else(|| self.deque.as_ref().and_then(Worker::pop))
            .or_else(|| queues.groups.get(self.group as usize).and_then(|queue| take(queue)))
    }

    fn common(&self, queues: &ReadyQueues) -> Option<Found> {
        match &self.deque {
            None => take(&queues.common).map(|slot| Found { slot, stolen: false, brought_more: false }),
            Some(_) if queues.common.is_empty() => None,
            Some(deque) => {
                let slot = retry(|| queues.common.steal_batch_and_pop(deque))?;
                Some(Found { slot, stolen: false, brought_more: !deque.is_empty() })
            }
        }
    }

    fn steal_from_deques(&mut self, queues: &ReadyQueues, far: bool) -> Option<u32> {
        let own = self.deque.as_ref()?;
        let n = queues.stealers.len() as u32;
        let start = next_random(&mut self.random) % n;
        let victims = || (0..n).map(|i| (start + i) % n).filter(|&victim| victim != self.worker);
        let near = |victim: &u32| queues.topology.group_of(*victim) == self.group;
        let mut steal = |victim: u32| retry(|| queues.stealers[victim as usize].steal_batch_and_pop(own));
        let found = victims().filter(near).find_map(&mut steal);
        found.or_else(|| if far { victims().filter(|victim| !near(victim)).find_map(steal) } else { None })
    }

    /// The first task of any queue but `except`, starting after it so that thieves spread.
    fn elsewhere(
        &self,
        queues: &[crossbeam_utils::CachePadded<crossbeam_deque::Injector<u32>>],
        except: u32,
    ) -> Option<u32> {
        let n = queues.len();
        (1..n).find_map(|i| take(&queues[(except as usize + i) % n]))
    }

    /// Whether this worker itself would take a task with this route at once.
    pub(crate) fn takes(&self, queues: &ReadyQueues, route: Route) -> bool {
        queues.topology.is_target(route, self.worker)
    }
}

/// Xorshift; the state is never 0.
fn next_random(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadyPolicy, RunConfig};

    /// The queues and a finder for each of four workers in two groups.
    fn machine(ready: ReadyPolicy) -> (ReadyQueues, Vec<Finder>) {
        let config = RunConfig { threads: 4, cores_per_group: 2, ready, ..RunConfig::default() };
        let (queues, deques) = ReadyQueues::new(&config);
        let finders = deques.into_iter().zip(0..).map(|(deque, i)| Finder::new(&queues, i, deque)).collect();
        (queues, finders)
    }

    fn look(queues: &ReadyQueues, finder: &mut Finder, round: u32) -> Option<(u32, bool)> {
        finder.look(queues, round).map(|found| (found.slot, found.stolen))
    }

    #[test]
    fn a_worker_prefers_its_inbox_then_its_group_then_the_common_queue() {
        let (queues, mut finders) = machine(ReadyPolicy::Fifo);
        queues.push(1, Route::Any, None);
        queues.push(2, Route::Group(1), None);
        queues.push(3, Route::Worker(2), None);
        queues.push(4, Route::Group(0), None);
        let order: Vec<u32> =
            std::iter::from_fn(|| finders[2].look(&queues, 0)).map(|found| found.slot).collect();
        assert_eq!(order, [3, 2, 1]);
    }

    #[test]
    fn a_task_of_another_group_is_taken_after_little_patience_and_one_of_another_worker_after_more() {
        let (queues, mut finders) = machine(ReadyPolicy::Fifo);
        queues.push(1, Route::Worker(0), None);
        queues.push(2, Route::Group(0), None);
        assert_eq!(look(&queues, &mut finders[3], GROUP_PATIENCE - 1), None);
        assert_eq!(look(&queues, &mut finders[3], GROUP_PATIENCE), Some((2, true)));
        assert_eq!(look(&queues, &mut finders[3], WORKER_PATIENCE - 1), None);
        assert_eq!(look(&queues, &mut finders[3], WORKER_PATIENCE), Some((1, true)));
        assert!(!queues.any());
    }

    #[test]
    fn a_worker_pops_what_it_pushed_last_and_thieves_of_its_group_come_first() {
        let (queues, mut finders) = machine(ReadyPolicy::WorkSteal);
        for slot in 1..=3 {
            queues.push(slot, Route::Any, finders[0].deque());
        }
        assert_eq!(look(&queues, &mut finders[0], 0), Some((3, false)));
        assert_eq!(look(&queues, &mut finders[2], 1), None);
        assert_eq!(look(&queues, &mut finders[1], 1), Some((1, true)));
        assert_eq!(look(&queues, &mut finders[2], GROUP_PATIENCE), Some((2, true)));
    }

    #[test]
    fn every_task_of_the_common_queue_is_found_by_someone_under_work_stealing() {
        let (queues, mut finders) = machine(ReadyPolicy::WorkSteal);
        (0..100).for_each(|slot| queues.push(slot, Route::Any, None));
        let mut found: Vec<u32> = (0..100)
            .filter_map(|i| look(&queues, &mut finders[i % 4], TAKES_ANYTHING))
            .map(|f| f.0)
            .collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..100));
    }
}
