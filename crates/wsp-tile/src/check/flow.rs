//! What each unit surely knows to be complete, at every step, for any number of rounds and either way of every condition.
//!
//! A site stands for its latest run: a unit that knows it to be complete knows the earlier ones, as a flag is set when all
//! earlier instructions of its setter are. The state is a bit per unit and site; states that meet keep what both know.

use super::bits::Bits;
use super::sites::{Flag, Sites};
use crate::{Event, EventId, Instruction, Loop, LoopId, Memories, Node, Sync, TileProgram, UnitId};
use wsp_ordered::{OrderedMap, OrderedSet};

/// A fault of order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    /// The second site does not wait for the first.
    Race(usize, usize),
    /// Set while it is set.
    SetTwice(Flag),
    /// Set again although the setter does not know that the waiter is past its last wait.
    SetEarly(Flag),
    /// Waited for by a unit that does not know that another unit is past its wait: it may take what was set for that one.
    WaitEarly(Flag),
    /// Waited for while it is clear.
    WaitUnset(Flag),
    /// Set at the end.
    LeftSet(Flag),
    /// Set on one of two ways that meet.
    Paths(Flag),
    /// The table has no such event.
    NoEvent(Flag),
}

impl Fault {
    /// The event that it is about.
    pub(crate) fn flag(&self) -> Option<Flag> {
        match self {
            Fault::Race(..) => None,
            Fault::SetTwice(flag)
            | Fault::SetEarly(flag)
            | Fault::WaitEarly(flag)
            | Fault::WaitUnset(flag)
            | Fault::LeftSet(flag)
            | Fault::Paths(flag)
            | Fault::NoEvent(flag) => Some(*flag),
        }
    }
}

/// What an analysis found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) faults: OrderedSet<Fault>,
    /// For each flag that is set, the flags that share its numbers and were not surely clear, and done with, at some setting.
    pub(crate) busy: OrderedMap<usize, OrderedSet<usize>>,
}

#[derive(Clone, PartialEq, Eq)]
struct State {
    /// By unit, what it knows: sites, whose latest run, if there was one, is complete; behind them flags, of which the waiter is past its
    /// last wait.
    known: Vec<Bits>,
    /// Of flags that are set: what the waiter will know.
    set: OrderedMap<usize, Bits>,
}

struct Flow<'a> {
    sites: &'a Sites,
    memories: &'a Memories,
    /// By unit: the sites that it runs.
    own: Vec<Bits>,
    /// Whether the first fault is enough.
    first: bool,
    parity: OrderedMap<LoopId, bool>,
    found: Found,
}

/// Runs the analysis. `sites` are those of the program, or of one with the same instructions.
pub(crate) fn analyse(program: &TileProgram, sites: &Sites, memories: &Memories) -> Found {
    found(program, sites, memories, false)
}

/// The first fault that the analysis comes to; of several at one step, any.
pub(crate) fn first_fault(program: &TileProgram, sites: &Sites, memories: &Memories) -> Option<Fault> {
    found(program, sites, memories, true).faults.pop_first()
}

fn found(program: &TileProgram, sites: &Sites, memories: &Memories, first: bool) -> Found {
    let (flags, units) = (sites.flags(), memories.units.len());
    let end = sites.all().len() + flags;
    let mut own = vec![Bits::none(end); units];
    sites.all().iter().enumerate().for_each(|(at, site)| own[site.unit.index()].insert(at));
    let mut flow = Flow { sites, memories, own, first, parity: OrderedMap::new(), found: Found::default() };
    let mut state = State { known: vec![Bits::all(end); units], set: OrderedMap::new() };
    flow.block(&program.body, &mut state);
    for at in state.set.keys() {
        flow.found.faults.insert(Fault::LeftSet(sites.flag(*at)));
    }
    flow.found
}

impl Flow<'_> {
    fn block(&mut self, nodes: &[Node], state: &mut State) {
        for node in nodes {
            if self.is_done() {
                return;
            }
            match node {
                Node::Set { .. } | Node::Name { .. } => {}
                Node::Run(instruction) => self.run(instruction, state),
                Node::Sync(sync) => self.sync(*sync, state),
                Node::If { then, otherwise, .. } => {
                    let mut other = state.clone();
                    self.block(then, state);
                    self.block(otherwise, &mut other);
                    self.join(state, &other);
                }
                Node::Loop(inner) => self.rounds(inner, state),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.first && !self.found.faults.is_empty()
    }

    /// Any number of rounds. The state only loses knowledge from one pass to the next, so this ends.
    fn rounds(&mut self, inner: &Loop, state: &mut State) {
        if !self.sites.turns(inner.id) {
            loop {
                let mut after = state.clone();
                self.block(&inner.body, &mut after);
                let before = state.clone();
                self.join(state, &after);
                if *state == before || self.is_done() {
                    return;
                }
            }
        }
        let mut odd: Option<State> = None;
        loop {
            let before = (state.clone(), odd.clone());
            for parity in [false, true] {
                let mut after = match (parity, &odd) {
                    (true, Some(odd)) => odd.clone(),
                    _ => state.clone(),
                };
                self.parity.insert(inner.id, parity);
                self.block(&inner.body, &mut after);
                match (parity, &mut odd) {
                    (true, _) => self.join(state, &after),
                    (false, Some(odd)) => self.join(odd, &after),
                    (false, None) => odd = Some(after),
                }
            }
            if (&before.0, &before.1) == (&*state, &odd) || self.is_done() {
                break;
            }
        }
        self.parity.remove(&inner.id);
        if let Some(odd) = odd {
            self.join(state, &odd);
        }
    }

    fn join(&mut self, state: &mut State, other: &State) {
        state.known.iter_mut().zip(&other.known).for_each(|(a, b)| a.keep(b));
        let one_way = |a: &State, b: &State| {
            a.set.keys().copied().filter(|at| !b.set.contains_key(at)).collect::<Vec<_>>()
        };
        let left = one_way(state, other);
        for at in left.iter().copied().chain(one_way(other, state)) {
            self.found.faults.insert(Fault::Paths(self.sites.flag(at)));
        }
        left.iter().for_each(|at| drop(state.set.remove(at)));
        for (at, known) in &mut state.set {
            known.keep(&other.set[at]);
        }
    }

    fn run(&mut self, instruction: &Instruction, state: &mut State) {
        let odd = |of: LoopId| self.parity.get(&of).copied().unwrap_or(false);
        let mut before: Option<UnitId> = None;
        for (part, unit) in instruction.units().enumerate() {
            if let Some(first) = before {
                // The second unit begins when the first is done with its part.
                let snapshot = self.snapshot(first, state);
                self.learn(unit, &snapshot, state);
            }
            before = Some(unit);
            let at = self.sites.site(instruction.id, part, &odd);
            let site = &self.sites.all()[at];
            for other in &site.conflicts {
                if !state.known[unit.index()].has(*other) {
                    self.found.faults.insert(Fault::Race(*other, at));
                }
            }
            // What the unit of scalars has read, it has read before it hands out the next instruction.
            let at_once = unit == self.memories.scalar && site.reads_only;
            let in_order = self.memories.units[unit.index()].completes_in_order;
            for (other, known) in state.known.iter_mut().enumerate() {
                let handed = at_once && self.memories.same_core(unit, UnitId(other as u8));
                if handed || (in_order && other == unit.index()) {
                    known.insert(at);
                } else {
                    known.remove(at);
                }
            }
            state.set.values_mut().for_each(|known| known.remove(at));
        }
        if before == Some(self.memories.scalar) {
            self.hand_out(state);
        }
    }

    /// What a unit knows, with all that it was handed out itself.
    fn snapshot(&self, unit: UnitId, state: &State) -> Bits {
        let mut knows = state.known[unit.index()].clone();
        knows.add(&self.own[unit.index()]);
        knows
    }

    fn learn(&self, unit: UnitId, snapshot: &Bits, state: &mut State) {
        state.known[unit.index()].add(snapshot);
        if unit == self.memories.scalar {
            self.hand_out(state);
        }
    }

    /// What the unit of scalars knows of others, all of its core know: it hands out their instructions. What it wrote itself others wait for.
    fn hand_out(&self, state: &mut State) {
        let scalar = self.memories.scalar.index();
        let mut of_others = state.known[scalar].clone();
        of_others.take(&self.own[scalar]);
        self.memories
            .core_of(self.memories.scalar)
            .for_each(|unit| state.known[unit.index()].add(&of_others));
    }

    fn sync(&mut self, sync: Sync, state: &mut State) {
        match sync {
            Sync::Set(event) => self.set(event, state),
            Sync::Wait(event) => self.wait(event, state),
            Sync::Barrier(unit) => state.known[unit.index()].add(&self.own[unit.index()]),
            Sync::BarrierAll(of) => {
                let core = || self.memories.core_of(of).map(UnitId::index);
                let mut all = state.known[of.index()].clone();
                core().for_each(|unit| {
                    all.add(&state.known[unit]);
                    all.add(&self.own[unit]);
                });
                for flag in 0..self.sites.flags() {
                    if self.memories.same_core(self.sites.flag(flag).1, of) {
                        all.insert(self.sites.all().len() + flag);
                    }
                }
                core().for_each(|unit| state.known[unit] = all.clone());
            }
        }
    }

    /// Whether a unit knows that the waiter of a flag is past its last wait.
    fn knows_of_wait(&self, unit: UnitId, flag: usize, state: &State) -> bool {
        state.known[unit.index()].has(self.sites.all().len() + flag)
    }

    fn flag(&mut self, event: Event) -> Option<(Flag, usize)> {
        let id = match event.id {
            EventId::One(id) => id,
            EventId::Parity { of, even, odd } => {
                if self.parity.get(&of).copied().unwrap_or(false) {
                    odd
                } else {
                    even
                }
            }
        };
        let flag = (event.from, event.to, id);
        if self.memories.events(event.from, event.to) == 0 {
            self.found.faults.insert(Fault::NoEvent(flag));
        }
        Some((flag, *self.sites.flags.get(&flag)?))
    }

    fn set(&mut self, event: Event, state: &mut State) {
        let Some((flag, at)) = self.flag(event) else { return };
        if state.set.contains_key(&at) {
            self.found.faults.insert(Fault::SetTwice(flag));
        } else if !self.knows_of_wait(event.from, at, state) {
            self.found.faults.insert(Fault::SetEarly(flag));
        }
        if !self.first {
            let of = |flag: Flag| self.memories.numbered(flag.0, flag.1);
            let in_use = (0..self.sites.flags()).filter(|other| {
                of(self.sites.flag(*other)) == of(flag)
                    && (state.set.contains_key(other) || !self.knows_of_wait(event.from, *other, state))
            });
            let in_use: Vec<usize> = in_use.collect();
            self.found.busy.entry(at).or_default().extend(in_use);
        }
        let snapshot = self.snapshot(event.from, state);
        state.set.insert(at, snapshot);
    }

    fn wait(&mut self, event: Event, state: &mut State) {
        let Some((flag, at)) = self.flag(event) else { return };
        let Some(snapshot) = state.set.remove(&at) else {
            self.found.faults.insert(Fault::WaitUnset(flag));
            return;
        };
        // Waits of one unit stand in its queue. Of two units both may be held back when the event is set.
        if !self.knows_of_wait(event.to, at, state) {
            self.found.faults.insert(Fault::WaitEarly(flag));
        }
        self.learn(event.to, &snapshot, state);
        // The waiter is past this wait; no other unit knows yet.
        let past = self.sites.all().len() + at;
        state.known.iter_mut().chain(state.set.values_mut()).for_each(|known| known.remove(past));
        state.known[event.to.index()].insert(past);
        if event.to == self.memories.scalar {
            self.hand_out(state);
        }
    }
}
