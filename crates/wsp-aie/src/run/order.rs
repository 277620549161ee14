//! What is ordered after what while a design runs.
//!
//! Each core and each end of a stream has a vector clock. A lock counts units: an engine that acquires some is ordered after what was released in each run (`LockOrder::certain`),
//! whichever units it acquired. This needs that all which release have released what they can: a core that acquires what several release waits until nothing else goes on, or others have had many turns. Units that others take out
//! without a wait count as still there for an engine that is not ordered after this. Objects of fifos are ordered after those who put them in, and their room after those who gave it back. What a stream
//! brings is ordered after what it was taken from, and not the other way.

use super::uses::{Clock, Race, Uses};
use crate::design::Design;
use crate::device::LOCK_MAX;
use std::collections::{BTreeSet, VecDeque};
use wsp_ordered::OrderedMap;

#[derive(Debug, Default)]
struct LockOrder {
    /// Units that are there.
    value: i64,
    /// By who releases it, how much so far, and its clock when it had released so much, of the last ones that the lock holds.
    given: OrderedMap<usize, (i64, VecDeque<(i64, Clock)>)>,
    /// By who takes units out without a wait, when it did by its own clock, and how many in all, the last times.
    removed: OrderedMap<usize, VecDeque<(u64, i64)>>,
    /// Who acquires it.
    taken: BTreeSet<usize>,
    /// Who releases it by what is written.
    releasers: BTreeSet<usize>,
}

/// The clocks of a run.
#[derive(Debug)]
pub(crate) struct Order {
    clocks: Vec<Clock>,
    /// The first engine of each stream, and one behind the last stream, which is the host's.
    ends: Vec<usize>,
    locks: Vec<LockOrder>,
    /// By pool and slot: after what an object is, and after what its room is.
    full: Vec<Vec<Clock>>,
    freed: Vec<Vec<Clock>>,
    /// Of transfers of the host, by number: after what they ended, until they are waited for.
    ended: OrderedMap<usize, Clock>,
    pub(super) uses: Uses,
}

impl LockOrder {
    /// Joins the clock of an engine that has acquired units with what is certain of those that released them.
    ///
    /// Of `T` units that were released in all, `T - v` were there in each run, where `v` are left. How far another engine is known is certain as soon as those units that know less of it, with all
    /// that the engine has released itself, are fewer: one at least that knows as much was there, whichever they were.
    fn certain(&self, engine: usize, clock: &mut Clock) {
        let mut there = self.still_there(engine, clock);
        loop {
            self.certain_of(engine, clock, self.value.saturating_add(there));
            // Who released knows what it took out itself.
            let less = self.still_there(engine, clock);
            if less >= there {
                return;
            }
            there = less;
        }
    }

    fn certain_of(&self, engine: usize, clock: &mut Clock, left: i64) {
        let all = self.given.values().fold(0i64, |all, (total, _)| all.saturating_add(*total));
        let own = self.given.get(&engine).map_or(0, |(total, _)| *total);
        let needed = all.saturating_sub(left).saturating_sub(own);
        // Of what may be there beyond what a lock holds, nothing is kept.
        if left > LOCK_MAX || needed <= 0 {
            return;
        }
        let others = || self.given.iter().filter(|(by, _)| **by != engine).map(|(_, given)| given);
        let at = |clock: &Clock, of: usize| clock.get(of).copied().unwrap_or(0);
        // Units that know of one less than so much.
        let less = |of: usize, than: u64| {
            let before = |(total, last): &(i64, VecDeque<(i64, Clock)>)| {
                let behind = last.partition_point(|(_, clock)| at(clock, of) < than);
                behind.checked_sub(1).map_or((*total - LOCK_MAX).max(0), |unit| last[unit].0)
            };
            others().map(before).fold(0, i64::saturating_add)
        };
        let count = others().filter_map(|(_, last)| Some(last.back()?.1.len())).max().unwrap_or(0);
        if clock.len() < count {
            clock.resize(count, 0);
        }
        for (of, known) in clock.iter_mut().enumerate().take(count) {
            let most = others().filter_map(|(_, last)| Some(at(&last.back()?.1, of))).max().unwrap_or(0);
            let (mut low, mut high) = (*known, most);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                match less(of, middle) < needed {
                    true => low = middle,
                    false => high = middle - 1,
                }
            }
            *known = low.max(*known);
        }
    }

    /// Units that others have taken out without a wait, of which an engine with this clock does not know.
    fn still_there(&self, engine: usize, clock: &Clock) -> i64 {
        let unknown = |(by, removed): (&usize, &VecDeque<(u64, i64)>)| {
            let all = removed.back().map_or(0, |(_, so_far)| *so_far);
            let behind = removed.partition_point(|(at, _)| *at <= clock.get(*by).copied().unwrap_or(0));
            let known = behind.checked_sub(1).map_or(0, |last| removed[last].1);
            all.saturating_sub(known)
        };
        self.removed.iter().filter(|(by, _)| **by != engine).map(unknown).fold(0, i64::saturating_add)
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (have, other) in clock.iter_mut().zip(other) {
        *have = (*have).max(*other);
    }
}

impl Order {
    /// At its start: what engines use, where the engines of each stream begin, the slots of pools, and first values of locks.
    pub(super) fn new(
        uses: Uses,
        ends: Vec<usize>,
        slots: &[usize],
        locks: Vec<(i64, BTreeSet<usize>)>,
    ) -> Order {
        let clock = |engine: usize| {
            let mut clock = vec![0; engine + 1];
            clock[engine] = 1;
            clock
        };
        let slots = || slots.iter().map(|slots| vec![Clock::new(); *slots]).collect();
        let lock = |(value, releasers): (i64, _)| LockOrder { value, releasers, ..LockOrder::default() };
        Order {
            clocks: (0..uses.engines()).map(clock).collect(),
            ended: OrderedMap::new(),
            uses,
            ends,
            locks: locks.into_iter().map(lock).collect(),
            full: slots(),
            freed: slots(),
        }
    }

    /// The engine of an end of a stream.
    pub(super) fn engine(&self, stream: usize, end: usize) -> usize {
        self.ends[stream] + end
    }

    /// The stream and the end that an engine is; the place of no stream is the host's.
    pub(super) fn end(&self, engine: usize) -> (usize, usize) {
        let stream = self.ends.partition_point(|first| *first <= engine).saturating_sub(1);
        (stream, engine.saturating_sub(self.ends[stream]))
    }

    /// What an engine does is behind what another one has done.
    pub(super) fn brings(&mut self, from: usize, to: usize) {
        let clock = self.clocks[from].clone();
        join(&mut self.clocks[to], &clock);
    }

    /// What an engine does is behind what a clock knows.
    pub(super) fn behind(&mut self, engine: usize, clock: &Clock) {
        join(&mut self.clocks[engine], clock);
    }

    /// The engine of the host.
    pub(super) fn host(&self) -> usize {
        self.ends[self.ends.len() - 1]
    }

    /// The clock of the host.
    pub(super) fn of_host(&self) -> Clock {
        self.clocks[self.host()].clone()
    }

    /// A transfer of the host ends at an engine, and tells it.
    pub(super) fn ends(&mut self, engine: usize, transfer: usize) {
        self.ended.insert(transfer, self.clocks[engine].clone());
    }

    /// The host goes on behind the end of a transfer.
    pub(super) fn waited(&mut self, transfer: usize) {
        let host = self.host();
        if let Some(ended) = self.ended.remove(&transfer) {
            join(&mut self.clocks[host], &ended);
        }
    }

    /// What an engine does next is not known by those who knew all that it did.
    pub(super) fn tick(&mut self, engine: usize) {
        self.clocks[engine][engine] += 1;
    }

    /// Whether an engine that acquires a lock does so only where nothing else goes on: several others release it.
    pub(super) fn is_patient(&self, engine: usize, lock: usize) -> bool {
        self.locks[lock].releasers.iter().filter(|by| **by != engine).count() > 1
    }

    /// Whether there is such a lock.
    pub(super) fn any_patient(&self) -> bool {
        self.locks.iter().any(|lock| lock.releasers.len() > 1)
    }

    /// An engine acquires so many units of a lock.
    pub(super) fn take(&mut self, engine: usize, lock: usize, value: i64) {
        let (clock, of) = (&mut self.clocks[engine], &mut self.locks[lock]);
        of.value = of.value.saturating_sub(value);
        of.certain(engine, clock);
        of.taken.insert(engine);
        self.tick(engine);
    }

    /// An engine releases so many units of a lock, or takes them out without a wait where there are less than none.
    pub(super) fn give(&mut self, engine: usize, lock: usize, value: i64) {
        let (clock, of) = (&self.clocks[engine], &mut self.locks[lock]);
        if value == 0 {
            return;
        }
        of.value = of.value.saturating_add(value);
        if value < 0 {
            let removed = of.removed.entry(engine).or_default();
            let so_far = removed.back().map_or(0, |(_, so_far)| *so_far);
            removed.push_back((clock[engine], so_far.saturating_sub(value)));
            // Who knows of none of these has no certain unit of the lock.
            if removed.len() > LOCK_MAX as usize + 1 {
                removed.pop_front();
            }
            return self.tick(engine);
        }
        let (total, last) = of.given.entry(engine).or_default();
        *total = total.saturating_add(value);
        last.push_back((*total, clock.clone()));
        // No lock holds more, so that these are certain in any case.
        while last.get(1).is_some_and(|(so_far, _)| *so_far <= *total - LOCK_MAX) {
            last.pop_front();
        }
        self.tick(engine);
    }

    /// An engine begins to use an object, or its room.
    pub(super) fn acquire(&mut self, engine: usize, (pool, reads): (usize, bool), object: u64) {
        let of = if reads { &self.full[pool] } else { &self.freed[pool] };
        join(&mut self.clocks[engine], &of[(object % of.len() as u64) as usize]);
    }

    /// An engine gives on an object, or its room.
    pub(super) fn release(&mut self, engine: usize, (pool, reads): (usize, bool), object: u64) {
        let of = if reads { &mut self.freed[pool] } else { &mut self.full[pool] };
        let slot = (object % of.len() as u64) as usize;
        join(&mut of[slot], &self.clocks[engine]);
        self.tick(engine);
    }

    /// An engine uses a buffer, `by` bytes further than it is written.
    pub(super) fn touch(&mut self, engine: usize, touch: usize, by: i64) {
        self.uses.add((engine, &self.clocks[engine]), touch, by);
    }

    /// Locks that begin with units, which one of the two acquires and another one releases.
    pub(super) fn begun(&self, design: &Design, race: &Race) -> Vec<usize> {
        let goes_to = |engine: usize, lock: &LockOrder| {
            lock.taken.contains(&engine) && lock.releasers.iter().any(|by| *by != engine)
        };
        let begins = |(at, lock): (usize, &LockOrder)| {
            let is_between = race.sites.iter().any(|(engine, _)| goes_to(*engine, lock));
            (design.locks[at].init > 0 && is_between).then_some(at)
        };
        self.locks.iter().enumerate().filter_map(begins).collect()
    }
}
