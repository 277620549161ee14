//! How a worker comes to its next task: it looks, for a while in vain, and then sleeps.

use super::Worker;
use crate::finder::{Found, TAKES_ANYTHING};
use crate::gates::{Book, Gates};
use crate::placement::Route;
use crate::places::Reach;
use crate::shared::Store;
use crate::sync::spin_loop;
use crate::yields::give_way;
use crate::{Ready, TaskRunner, TracePolicy};

/// Rounds of looking before a worker sleeps: some ten microseconds, about what a wake-up costs.
pub(crate) const ROUNDS: u32 = 40;
/// Rounds with growing pauses; after these a worker yields its core between looks.
const PAUSING_ROUNDS: u32 = 7;

impl<R: TaskRunner, S: Store> Worker<'_, '_, R, S> {
    /// The next node, with its permits where there are gates; waits for one. `None` when the run is closed and nothing is left.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u32> {
        if let Some(found) = self.take_at_once() { Some(found) } else { self.search() }
    }

    /// The next node, if there is one at the first look.
    #[inline]
    fn take_at_once(&mut self) -> Option<u32> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        if let Some(found) = self.look(0) {
            return Some(found);
        }
        if !self.gathered.is_empty() {
            self.flush();
            return self.take_at_once();
        }
        None
    }

    /// The next node; none if there was none for as long as a worker looks that does not sleep yet, or `goes_on` says no.
    pub(super) fn take_soon(&mut self, goes_on: &mut impl FnMut() -> bool) -> Option<u32> {
        let found = self.take_at_once();
        if found.is_some() || !goes_on() {
            return found;
        }
        let shared = self.shared;
        self.ended_ns = None;
        let sleep = &shared.queues.pools[self.finder.pool].sleep;
        let seat = self.finder.seat();
        let (_, worker) = seat;
        sleep.start_search(worker);
        let mut found = None;
        for round in 1..ROUNDS {
            found = self.look(round);
            if found.is_some() || !goes_on() {
                break;
            }
            pause(round);
        }
        // Also if it found nothing: what is queued from here on counts on another.
        sleep.leave(worker, || shared.any_for(seat));
        found
    }

    #[cold]
    fn search(&mut self) -> Option<u32> {
        let shared = self.shared;
        self.ended_ns = None;
        let sleep = &shared.queues.pools[self.finder.pool].sleep;
        let seat = self.finder.seat();
        let (_, worker) = seat;
        sleep.start_search(worker);
        if shared.store.idle(self.index, std::mem::take(&mut self.completed)) {
            shared.queues.close();
        }
        let mut round = 1;
        loop {
            if let Some(found) = self.look(round) {
                sleep.leave(worker, || shared.any_for(seat));
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
                let any = shared.any_for(seat);
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

    /// Looks once.
    fn look(&mut self, round: u32) -> Option<u32> {
        if let Some(gates) = &self.shared.gates {
            return gates.with(|book| self.look_behind(gates, book, round));
        }
        if self.shared.queues.pools[self.finder.pool].turns.are_taken() {
            return self.find_in_turn(round);
        }
        self.find(round).map(|found| found.node)
    }

    /// Looks once, also among the tasks that wait at gates. What is found has its permits.
    #[cold]
    fn look_behind(&mut self, gates: &Gates, book: &mut Book, round: u32) -> Option<u32> {
        let shared = self.shared;
        // In a given order no worker takes what is meant for another.
        let round = if shared.queues.turns().is_some() { 0 } else { round };
        loop {
            let waited = gates.first(book, self.finder.seat(), round);
            let goes_first = waited.is_some_and(|waited| match shared.policy() {
                Ready::Priority => self
                    .finder
                    .first_ranked(&shared.queues, round)
                    .is_none_or(|ready| (waited.reach, waited.best) > (ready.reach, ready.best)),
                // What waited was ready before what is queued.
                _ => waited.reach == Reach::Own,
            });
            let found = if goes_first { None } else { self.find(round) };
            let Some(found) = found else {
                let node = waited.and_then(|waited| book.take(waited.place))?;
                if shared.trace == TracePolicy::Measured
                    && let Some(opener) = book.last_opener(shared.store.placement(node))
                {
                    shared.store.notes(node).open(opener);
                }
                return Some(node);
            };
            let node = found.node;
            let is_task = shared.store.task(node).is_some();
            if !is_task || gates.enter(book, node, shared.store.placement(node), found.rank) {
                return Some(node);
            }
        }
    }

    /// Looks into the queues once.
    #[inline]
    pub(super) fn find(&mut self, round: u32) -> Option<Found> {
        let shared = self.shared;
        let found = self.finder.look(&shared.queues, round)?;
        if found.brought_more {
            // They were out of sight while they moved.
            shared.queues.pools[self.finder.pool].sleep.notify(Route::Any);
        }
        self.report.stats.steals += u64::from(found.stolen);
        Some(found)
    }
}

/// Waits a little, after a look in vain.
pub(crate) fn pause(round: u32) {
    if round <= PAUSING_ROUNDS {
        (0..1 << round).for_each(|_| spin_loop());
    } else {
        give_way();
    }
}
