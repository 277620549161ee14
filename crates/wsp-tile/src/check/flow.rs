//! What each unit surely knows to be complete, at every step, for any number of rounds and either way of every condition.
//!
//! A site stands for its latest run: a unit that knows it to be complete knows the earlier ones, as a flag is set when all
//! earlier instructions of its setter are. The state is a bit per site and unit; states that meet keep what both know.

use super::sites::{Flag, Sites, UnitFacts};
use crate::{Event, EventId, Instruction, Loop, LoopId, Memories, Node, Sync, TileProgram, UnitId};
use std::collections::{BTreeMap, BTreeSet};

/// A fault of order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    /// The second site does not wait for the first.
    Race(usize, usize),
    /// Set while it is set.
    SetTwice(Flag),
    /// Set again although the setter does not know that the waiter is past its last wait.
    SetEarly(Flag),
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
    pub(crate) faults: BTreeSet<Fault>,
    /// For each flag that is set, the flags of its pair that were not surely clear, and done with, at some setting.
    pub(crate) busy: BTreeMap<usize, BTreeSet<usize>>,
}

#[derive(Clone, PartialEq, Eq)]
struct State {
    /// By site: the units that know its latest run, if there was one, to be complete.
    known: Vec<u32>,
    /// By flag: the units that know that the waiter is past its last wait.
    waited: Vec<u32>,
    /// By flag: what the waiter will know, of sites and then of flags; none while it is clear.
    set: Vec<Option<Vec<bool>>>,
}

struct Flow<'a> {
    sites: &'a Sites,
    memories: &'a Memories,
    parity: BTreeMap<LoopId, bool>,
    found: Found,
}

/// Runs the analysis. `sites` are those of the program, or of one with the same instructions.
pub(crate) fn analyse(program: &TileProgram, sites: &Sites, memories: &Memories) -> Found {
    let mut flow = Flow { sites, memories, parity: BTreeMap::new(), found: Found::default() };
    let all = UnitFacts(memories).all();
    let flags = sites.flags.len();
    let mut state =
        State { known: vec![all; sites.sites.len()], waited: vec![all; flags], set: vec![None; flags] };
    flow.block(&program.body, &mut state);
    for (flag, at) in &sites.flags {
        if state.set[*at].is_some() {
            flow.found.faults.insert(Fault::LeftSet(*flag));
        }
    }
    flow.found
}

impl Flow<'_> {
    fn block(&mut self, nodes: &[Node], state: &mut State) {
        for node in nodes {
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

    /// Any number of rounds. The state only loses knowledge from one pass to the next, so this ends.
    fn rounds(&mut self, inner: &Loop, state: &mut State) {
        if !self.sites.turning.contains(&inner.id) {
            loop {
                let mut after = state.clone();
                self.block(&inner.body, &mut after);
                let before = state.clone();
                self.join(state, &after);
                if *state == before {
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
            if (&before.0, &before.1) == (&*state, &odd) {
                break;
            }
        }
        self.parity.remove(&inner.id);
        if let Some(odd) = odd {
            self.join(state, &odd);
        }
    }

    fn join(&mut self, state: &mut State, other: &State) {
        let meet = |a: &mut Vec<u32>, b: &[u32]| a.iter_mut().zip(b).for_each(|(a, b)| *a &= b);
        meet(&mut state.known, &other.known);
        meet(&mut state.waited, &other.waited);
        for (flag, at) in &self.sites.flags {
            match (&mut state.set[*at], &other.set[*at]) {
                (Some(a), Some(b)) => a.iter_mut().zip(b).for_each(|(a, b)| *a &= b),
                (None, None) => {}
                _ => {
                    self.found.faults.insert(Fault::Paths(*flag));
                    state.set[*at] = None;
                }
            }
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
            let site = &self.sites.sites[at];
            for other in &site.conflicts {
                if state.known[*other] >> unit.0 & 1 == 0 {
                    self.found.faults.insert(Fault::Race(*other, at));
                }
            }
            let facts = UnitFacts(self.memories);
            // What the unit of scalars has read, it has read before it hands out the next instruction.
            let at_once = unit == self.memories.scalar && site.reads_only;
            state.known[at] = if at_once { facts.all() } else { facts.own(unit) };
            state.set.iter_mut().flatten().for_each(|known| known[at] = false);
        }
        if before == Some(self.memories.scalar) {
            self.hand_out(state);
        }
    }

    /// What a unit knows, with all that it was handed out itself.
    fn snapshot(&self, unit: UnitId, state: &State) -> Vec<bool> {
        let knows = |mask: &u32| mask >> unit.0 & 1 == 1;
        let sites =
            self.sites.sites.iter().zip(&state.known).map(|(site, mask)| site.unit == unit || knows(mask));
        sites.chain(state.waited.iter().map(knows)).collect()
    }

    fn learn(&self, unit: UnitId, snapshot: &[bool], state: &mut State) {
        for (mask, known) in state.known.iter_mut().chain(&mut state.waited).zip(snapshot) {
            *mask |= u32::from(*known) << unit.0;
        }
        if unit == self.memories.scalar {
            self.hand_out(state);
        }
    }

    /// What the unit of scalars knows of others, all know: it hands out their instructions. What it wrote itself others wait for.
    fn hand_out(&self, state: &mut State) {
        let (scalar, all) = (self.memories.scalar, UnitFacts(self.memories).all());
        let others = self.sites.sites.iter().zip(&mut state.known).filter(|(site, _)| site.unit != scalar);
        for mask in others.map(|(_, mask)| mask).chain(&mut state.waited) {
            if *mask >> scalar.0 & 1 == 1 {
                *mask = all;
            }
        }
    }

    fn sync(&mut self, sync: Sync, state: &mut State) {
        match sync {
            Sync::Set(event) => self.set(event, state),
            Sync::Wait(event) => self.wait(event, state),
            Sync::Barrier(unit) => {
                for (site, mask) in self.sites.sites.iter().zip(&mut state.known) {
                    if site.unit == unit {
                        *mask |= 1 << unit.0;
                    }
                }
            }
            Sync::BarrierAll => {
                let all = UnitFacts(self.memories).all();
                state.known.fill(all);
                state.waited.fill(all);
                state.set.iter_mut().flatten().for_each(|known| known.fill(true));
            }
        }
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
        if !self.memories.has_events(event.from, event.to) {
            self.found.faults.insert(Fault::NoEvent(flag));
        }
        Some((flag, *self.sites.flags.get(&flag)?))
    }

    fn set(&mut self, event: Event, state: &mut State) {
        let Some((flag, at)) = self.flag(event) else { return };
        if state.set[at].is_some() {
            self.found.faults.insert(Fault::SetTwice(flag));
        } else if state.waited[at] >> event.from.0 & 1 == 0 {
            self.found.faults.insert(Fault::SetEarly(flag));
        }
        let busy = self.found.busy.entry(at).or_default();
        for (other, i) in &self.sites.flags {
            if (other.0, other.1) == (flag.0, flag.1)
                && (state.set[*i].is_some() || state.waited[*i] >> event.from.0 & 1 == 0)
            {
                busy.insert(*i);
            }
        }
        state.set[at] = Some(self.snapshot(event.from, state));
    }

    fn wait(&mut self, event: Event, state: &mut State) {
        let Some((flag, at)) = self.flag(event) else { return };
        let Some(snapshot) = state.set[at].take() else {
            self.found.faults.insert(Fault::WaitUnset(flag));
            return;
        };
        self.learn(event.to, &snapshot, state);
        // The waiter is past this wait; no other unit knows yet.
        state.waited[at] = 1 << event.to.0;
        let sites = self.sites.sites.len();
        state.set.iter_mut().flatten().for_each(|known| known[sites + at] = false);
        if event.to == self.memories.scalar {
            self.hand_out(state);
        }
    }
}
