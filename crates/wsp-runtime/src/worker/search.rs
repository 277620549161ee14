//! How a worker comes to its next task: it looks, for a while in vain, and then sleeps.

use super::Worker;
use crate::TaskRunner;
use crate::finder::{Found, TAKES_ANYTHING};
use crate::placement::{Placement, Route};
use crate::shared::Store;
use crate::sync::{spin_loop, thread};

/// Rounds of looking before a worker sleeps: some ten microseconds, about what a wake-up costs.
const ROUNDS: u32 = 40;
/// Rounds with growing pauses; after these a worker yields its core between looks.
const PAUSING_ROUNDS: u32 = 7;

impl<R: TaskRunner, S: Store> Worker<'_, '_, R, S> {
    /// The next node; waits for one. `None` when the run is closed and nothing is left.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u32, bool)> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        if let Some(found) = self.look(0) {
            return Some(found);
        }
        if !self.gathered.is_empty() {
            self.flush();
            return self.take();
        }
        self.search()
    }

    #[cold]
    fn search(&mut self) -> Option<(u32, bool)> {
        let shared = self.shared;
        let sleep = &shared.queues.pools[self.finder.pool].sleep;
        let (pool, worker) = (self.finder.pool, self.finder.worker);
        sleep.start_search(worker);
        if shared.store.idle(self.index, std::mem::take(&mut self.completed)) {
            shared.queues.close();
        }
        let mut round = 1;
        loop {
            if let Some(found) = self.look(round) {
                sleep.leave(worker, || shared.any_for(pool));
                return Some(found);
            }
            if sleep.is_closed() {
                return None;
            }
            if round < ROUNDS {
                pause(round);
                round += 1;
                continue;
            }
            let more = || {
                let any = shared.any_for(pool);
                if !any {
                    shared.check_quiet();
                }
                any
            };
            if sleep.sleep(worker, more) {
                self.report.stats.parks += 1;
                round = 1;
            } else {
                round = TAKES_ANYTHING;
            }
        }
    }

    /// Looks once; the second is whether the task holds its permits.
    fn look(&mut self, round: u32) -> Option<(u32, bool)> {
        let shared = self.shared;
        if let Some(gates) = &shared.gates {
            let division = &shared.queues.division;
            let fits = |placement: Placement| {
                division.pool_of(placement.pool).is_none_or(|pool| pool == self.finder.pool)
            };
            if let Some(node) = gates.take_granted(fits) {
                return Some((node, true));
            }
        }
        let in_turns = shared.queues.pools[self.finder.pool].turns.are_taken();
        let node = if in_turns { self.find_in_turn(round) } else { self.find(round) };
        node.map(|node| (node, false))
    }

    /// Looks into the queues once.
    #[inline]
    pub(super) fn find(&mut self, round: u32) -> Option<u32> {
        let shared = self.shared;
        let Found { node, stolen, brought_more } = self.finder.look(&shared.queues, round)?;
        if brought_more {
            // They were out of sight while they moved.
            shared.queues.pools[self.finder.pool].sleep.notify(Route::Any);
        }
        self.report.stats.steals += u64::from(stolen);
        Some(node)
    }
}

fn pause(round: u32) {
    if round <= PAUSING_ROUNDS {
        (0..1 << round).for_each(|_| spin_loop());
    } else {
        thread::yield_now();
    }
}
