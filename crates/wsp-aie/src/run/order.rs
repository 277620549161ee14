//! What is ordered after what while a design runs, and uses of a buffer that are not.
//!
//! Each core and each end of a stream has a vector clock. A lock counts units: who acquires some and leaves `v` is ordered after all but the last `v` units that each other one has released, which
//! is what counting tells whichever of them were acquired, as long as those who release have gone as far as they can: a core that acquires what several release waits until nothing else goes on. Objects
//! of fifos are ordered after those who put them in, and their room after those who gave it back. What a stream brings is ordered after what it was taken from, and not the other way.

use super::bytes::Touch;
use super::touch::{EITHER, WRITES};
use crate::design::Design;
use crate::device::LOCK_MAX;
use std::collections::{BTreeSet, VecDeque};
use wsp_ordered::OrderedMap;

/// How far each engine is known to be.
pub(super) type Clock = Vec<u64>;

/// Most uses by place that are compared with each other.
const MOST_SITES: usize = 1 << 14;
/// Most ranges of bytes that are compared for them.
const MOST_COMPARED: u64 = 1 << 25;

/// A use at the place that it has in a run, by one engine, which others conflict with.
#[derive(Debug)]
struct Site {
    engine: usize,
    touch: Touch,
    /// The clock of the engine when it was last done; 0 before.
    last: u64,
    others: Vec<usize>,
}

#[derive(Debug, Default)]
struct LockOrder {
    /// Units that are there.
    value: i64,
    /// By who releases it, how much so far, and its clock when it had released so much, of the last ones that the lock holds.
    given: OrderedMap<usize, (i64, VecDeque<(i64, Clock)>)>,
    /// Who acquires it.
    taken: BTreeSet<usize>,
    /// Who releases it by what is written.
    releasers: BTreeSet<usize>,
}

/// Two uses that nothing orders: the later of the run and the other one.
#[derive(Clone, Debug)]
pub(super) struct Race {
    pub(super) sites: [(usize, Touch); 2],
}

/// The clocks of a run.
#[derive(Debug)]
pub(crate) struct Order {
    clocks: Vec<Clock>,
    touches: Vec<Vec<Touch>>,
    /// The first engine of each stream, and one behind the last stream, which is the host's.
    ends: Vec<usize>,
    locks: Vec<LockOrder>,
    /// By pool and slot: after what an object is, and after what its room is.
    full: Vec<Vec<Clock>>,
    freed: Vec<Vec<Clock>>,
    sites: Vec<Site>,
    known: OrderedMap<(usize, usize, i64), usize>,
    /// Ranges of bytes that were compared.
    compared: u64,
    /// There were more uses than are compared: those behind them were not looked at.
    pub(super) is_cut: bool,
    pub(super) race: Option<Race>,
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
        touches: Vec<Vec<Touch>>,
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
            clocks: (0..touches.len()).map(clock).collect(),
            touches,
            ends,
            locks: locks.into_iter().map(lock).collect(),
            full: slots(),
            freed: slots(),
            sites: Vec::new(),
            known: OrderedMap::new(),
            compared: 0,
            is_cut: false,
            race: None,
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

    /// Whether several use a buffer.
    pub(super) fn any(&self) -> bool {
        let used =
            |touches: &Vec<Touch>| touches.iter().map(|touch| touch.buffer).collect::<BTreeSet<usize>>();
        let all: Vec<usize> = self.touches.iter().flat_map(used).collect();
        all.len() > all.iter().collect::<BTreeSet<_>>().len()
    }

    /// The engine of the host.
    pub(super) fn host(&self) -> usize {
        self.ends[self.ends.len() - 1]
    }

    /// The clock of the host.
    pub(super) fn of_host(&self) -> Clock {
        self.clocks[self.host()].clone()
    }

    /// The host goes on when a transfer has come to it.
    pub(super) fn waited(&mut self, (stream, end): (usize, usize)) {
        self.brings(self.engine(stream, end), self.host());
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
        for (by, (total, last)) in &of.given {
            let certain = total.saturating_sub(of.value);
            let known = last.iter().find(|(so_far, _)| *so_far >= certain);
            if let Some((_, known)) = known.filter(|_| certain > 0 && *by != engine) {
                join(clock, known);
            }
        }
        of.taken.insert(engine);
        self.tick(engine);
    }

    /// An engine releases so many units of a lock, or acquires them without a wait where there are less than none.
    pub(super) fn give(&mut self, engine: usize, lock: usize, value: i64) {
        if value <= 0 {
            return self.take(engine, lock, value.saturating_neg());
        }
        let (clock, of) = (&self.clocks[engine], &mut self.locks[lock]);
        of.value = of.value.saturating_add(value);
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
        let known = self.known.get(&(engine, touch, by)).copied();
        let Some(site) = known.or_else(|| self.site(engine, touch, by)) else { return };
        let clock = &self.clocks[engine];
        let is_ordered = |other: &&usize| {
            let Site { engine, last, .. } = self.sites[**other];
            last <= clock.get(engine).copied().unwrap_or(0)
        };
        let of = |at: usize| (self.sites[at].engine, self.sites[at].touch.clone());
        if self.race.is_none()
            && let Some(other) = self.sites[site].others.iter().find(|other| !is_ordered(other))
        {
            self.race = Some(Race { sites: [of(site), of(*other)] });
        }
        self.sites[site].last = clock[engine];
    }

    /// A use at a place that is new; none beyond the buffer, which is a fault of its own, or where there are too many to compare it with.
    fn site(&mut self, engine: usize, touch: usize, by: i64) -> Option<usize> {
        let site = self.sites.len();
        self.is_cut |= site >= MOST_SITES || self.compared > MOST_COMPARED;
        if self.is_cut {
            return None;
        }
        let of = self.touches[engine][touch].moved(by)?;
        let writes = self.writes(&of);
        let mut others = Vec::new();
        self.compared += of.parts() as u64;
        for at in 0..site {
            let other = &self.sites[at];
            let is_apart = other.engine == engine || other.touch.buffer != of.buffer;
            if is_apart || !writes && !self.writes(&other.touch) {
                continue;
            }
            self.compared += (of.parts() + other.touch.parts()) as u64;
            if of.meets(&self.sites[at].touch) {
                others.push(at);
            }
        }
        others.iter().for_each(|other| self.sites[*other].others.push(site));
        self.sites.push(Site { engine, touch: of, last: 0, others });
        self.known.insert((engine, touch, by), site);
        Some(site)
    }

    /// Whether a use writes: a kernel does so where nothing else writes the buffer.
    pub(super) fn writes(&self, touch: &Touch) -> bool {
        let all = || self.touches.iter().flatten().filter(|other| other.buffer == touch.buffer);
        touch.writes == WRITES || touch.writes == EITHER && all().all(|other| other.writes != WRITES)
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
