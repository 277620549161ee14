//! What each unit knows of the others, as vectors of counts.

use super::Fault;
use crate::{Event, EventId, LoopId, Memories, Sync, UnitId, codes};
use wsp_ordered::OrderedMap;

/// A run of an instruction on a unit: the number of it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) unit: UnitId,
    time: u64,
    pub(super) instruction: u32,
    /// Whether it is complete before any later instruction is handed out: a read by the unit of scalars.
    at_once: bool,
}

/// Runs and waits of each unit that are known to be complete.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Clock {
    runs: Vec<u64>,
    waits: Vec<u64>,
}

impl Clock {
    fn learn(&mut self, more: &Clock) {
        self.runs.iter_mut().zip(&more.runs).for_each(|(a, b)| *a = (*a).max(*b));
        self.waits.iter_mut().zip(&more.waits).for_each(|(a, b)| *a = (*a).max(*b));
    }
}

#[derive(Default)]
struct Flag {
    set: Option<Clock>,
    /// Who waited for it last, and the number of that wait there.
    last_wait: (usize, u64),
}

/// The clocks of all units, and the flags between them.
pub(super) struct Clocks<'m> {
    memories: &'m Memories,
    known: Vec<Clock>,
    runs: Vec<u64>,
    waits: Vec<u64>,
    /// Pairs of units whose events have the same numbers share flags.
    flags: OrderedMap<(UnitId, UnitId, u32), Flag>,
}

impl<'m> Clocks<'m> {
    /// Nothing ran yet.
    pub(super) fn new(memories: &'m Memories) -> Clocks<'m> {
        let units = memories.units.len();
        let clock = Clock { runs: vec![0; units], waits: vec![0; units] };
        Clocks {
            memories,
            known: vec![clock; units],
            runs: vec![0; units],
            waits: vec![0; units],
            flags: OrderedMap::new(),
        }
    }

    /// The name of a unit.
    pub(super) fn unit_name(&self, unit: UnitId) -> &'m str {
        self.memories.unit_name(unit)
    }

    /// A unit begins an instruction; `reads` says whether it only reads.
    pub(super) fn begin(&mut self, unit: UnitId, instruction: u32, reads: bool) -> Stamp {
        self.runs[unit.index()] += 1;
        let at_once = reads && unit == self.memories.scalar;
        Stamp { unit, time: self.runs[unit.index()], instruction, at_once }
    }

    /// Whether a unit knows that an earlier run is complete.
    pub(super) fn knows(&self, unit: UnitId, stamp: &Stamp) -> bool {
        (stamp.at_once && self.memories.same_core(unit, stamp.unit))
            || self.known[unit.index()].runs[stamp.unit.index()] >= stamp.time
    }

    /// A unit has handed on its instruction.
    pub(super) fn end(&mut self, stamp: &Stamp) {
        let at = stamp.unit.index();
        if self.memories.units[at].completes_in_order {
            self.known[at].runs[at] = stamp.time;
        }
    }

    /// One unit begins its part of an instruction when another is done with its own.
    pub(super) fn follow(&mut self, first: UnitId, second: UnitId) {
        let all = self.complete(first);
        self.learn(second, &all);
    }

    /// What holds when all that a unit was given is complete.
    fn complete(&self, unit: UnitId) -> Clock {
        let mut clock = self.known[unit.index()].clone();
        clock.runs[unit.index()] = self.runs[unit.index()];
        clock.waits[unit.index()] = self.waits[unit.index()];
        clock
    }

    fn learn(&mut self, unit: UnitId, more: &Clock) {
        // The unit of scalars hands out the instructions of its core, so all know what it learns. What it wrote itself they do not: it
        // sees that before it is complete.
        let all = unit == self.memories.scalar;
        for (at, known) in self.known.iter_mut().enumerate() {
            if at == unit.index() || (all && self.memories.same_core(unit, UnitId(at as u8))) {
                known.learn(more);
            }
        }
    }

    /// Sets, waits and barriers; `odd` says whether a loop is in an odd round.
    pub(super) fn sync(&mut self, sync: Sync, odd: &dyn Fn(LoopId) -> bool) -> Result<(), Fault> {
        match sync {
            Sync::Set(event) => self.set(event, odd),
            Sync::Wait(event) => self.wait(event, odd),
            Sync::Barrier(unit) => {
                let at = unit.index();
                self.known[at].runs[at] = self.runs[at];
                Ok(())
            }
            Sync::BarrierAll(of) => {
                let core: Vec<UnitId> = self.memories.core_of(of).collect();
                let each: Vec<Clock> = core.iter().map(|unit| self.complete(*unit)).collect();
                core.iter().for_each(|unit| each.iter().for_each(|all| self.known[unit.index()].learn(all)));
                Ok(())
            }
        }
    }

    fn key(&self, event: Event, odd: &dyn Fn(LoopId) -> bool) -> Result<(UnitId, UnitId, u32), Fault> {
        let id = match event.id {
            EventId::One(id) => id,
            EventId::Parity { of, even, odd: other } => {
                if odd(of) {
                    other
                } else {
                    even
                }
            }
        };
        let [from, to] = [event.from, event.to].map(|unit| self.memories.unit_name(unit));
        if id >= self.memories.events(event.from, event.to) {
            return Err(Fault::new(codes::EVENT, format!("event {from}->{to} {id} does not exist")));
        }
        let (from, to) = self.memories.numbered(event.from, event.to);
        Ok((from, to, id))
    }

    fn fault(&self, (from, to, id): (UnitId, UnitId, u32), what: &str) -> Fault {
        let [from, to] = [from, to].map(|unit| self.memories.unit_name(unit));
        Fault::new(codes::EVENT, format!("event {from}->{to} {id} {what}"))
    }

    fn set(&mut self, event: Event, odd: &dyn Fn(LoopId) -> bool) -> Result<(), Fault> {
        let key = self.key(event, odd)?;
        let named = (event.from, event.to, key.2);
        let now = self.complete(event.from);
        let flag = self.flags.entry(key).or_default();
        let (set, (waiter, last)) = (flag.set.is_some(), flag.last_wait);
        let waits = self.known[event.from.index()].waits[waiter];
        if set {
            return Err(self.fault(named, "is set while it is set"));
        }
        if waits < last {
            return Err(self.fault(named, "is set again before the wait for it"));
        }
        self.flags.entry(key).or_default().set = Some(now);
        Ok(())
    }

    fn wait(&mut self, event: Event, odd: &dyn Fn(LoopId) -> bool) -> Result<(), Fault> {
        let key = self.key(event, odd)?;
        let named = (event.from, event.to, key.2);
        let flag = self.flags.entry(key).or_default();
        let (set, (waiter, last)) = (flag.set.take(), flag.last_wait);
        let Some(snapshot) = set else {
            return Err(self.fault(named, "is waited for and not set"));
        };
        let at = event.to.index();
        // Of two units that wait for one event, both may be held back when it is set.
        if self.known[at].waits[waiter] < last {
            return Err(self.fault(named, "may be taken by a unit while another still waits for it"));
        }
        self.waits[at] += 1;
        self.flags.entry(key).or_default().last_wait = (at, self.waits[at]);
        self.known[at].waits[at] = self.waits[at];
        self.learn(event.to, &snapshot);
        if event.to == self.memories.scalar {
            let past = self.waits[at];
            self.memories.core_of(event.to).for_each(|unit| self.known[unit.index()].waits[at] = past);
        }
        Ok(())
    }

    /// No flag is set at the end.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        match self.flags.iter().find(|(_, flag)| flag.set.is_some()) {
            Some((key, _)) => Err(self.fault(*key, "is left set at the end")),
            None => Ok(()),
        }
    }
}
