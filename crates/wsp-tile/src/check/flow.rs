//! What each unit surely knows to be complete, at every step, for any number of rounds and either way of every condition.
//!
//! A site stands for its latest run: a unit that knows it to be complete knows the earlier ones, as a flag is set when all
//! earlier instructions of its setter are. The state is a bit per unit and site; states that meet keep what both know.

use super::added::{Added, BlockId, Gap};
use super::bits::Rows;
use super::known::Known;
use super::sites::{Flag, Sites};
use crate::{Event, EventId, Instruction, Loop, LoopId, Memories, Node, Sync, TileProgram, UnitId};
use wsp_ordered::OrderedSet;

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
    /// For each flag, the flags that share its numbers and were not surely clear, and done with, at some setting of it.
    pub(crate) busy: Option<Rows>,
}

/// By unit, what it knows: sites, whose latest run, if there was one, is complete; behind them flags, of which the waiter is past its last
/// wait. Then by flag that is set, what the waiter will know; nothing of one that is clear. The last row has the flags that are set.
type State = Rows;

struct Flow<'a> {
    /// What stands between the nodes of the program.
    added: &'a Added,
    /// The number of the next block.
    next: BlockId,
    sites: &'a Sites,
    memories: &'a Memories,
    /// By unit: the sites that it runs.
    own: Rows,
    /// The units of the core that has the unit of scalars.
    core: Vec<UnitId>,
    asked: Asked,
    /// By loop with two addresses, whether it is in an odd round.
    odd: Vec<bool>,
    /// The same of those around, a bit each behind a first 1: the sites of an instruction are as many.
    turn: u64,
    /// What earlier rounds came to; nothing where the program has synchronisations of its own, which may be set on one way only.
    known: Option<Known>,
    /// States that are not in use, whose memory others take.
    spare: Vec<State>,
    found: Found,
}

/// What is asked of an analysis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Faults,
    FirstFault,
    /// All faults, and which flags are busy.
    Busy,
}

/// Runs the analysis. `sites` are those of the program, or of one with the same instructions.
pub(crate) fn analyse(program: &TileProgram, added: &Added, sites: &Sites, memories: &Memories) -> Found {
    found((program, added), sites, memories, Asked::Faults, &Known::default()).0
}

/// The same, with the flags that are busy where others are set.
pub(crate) fn analyse_busy(
    program: &TileProgram,
    added: &Added,
    sites: &Sites,
    memories: &Memories,
) -> Found {
    found((program, added), sites, memories, Asked::Busy, &Known::default()).0
}

/// The first fault that the analysis comes to; of several at one step, any. `before` is what one with these and more synchronisations came to, for
/// the same `sites`, or nothing; without a fault this one's is given.
pub(crate) fn first_fault(
    program: &TileProgram,
    added: &Added,
    sites: &Sites,
    memories: &Memories,
    before: &Known,
) -> Result<Known, Fault> {
    let (mut found, known) = found((program, added), sites, memories, Asked::FirstFault, before);
    found.faults.pop_first().map_or(Ok(known), Err)
}

fn found(
    (program, added): (&TileProgram, &Added),
    sites: &Sites,
    memories: &Memories,
    asked: Asked,
    before: &Known,
) -> (Found, Known) {
    let (flags, units) = (sites.flags(), memories.units.len());
    let end = sites.all().len() + flags;
    let mut own = Rows::none(units, end);
    sites.all().iter().enumerate().for_each(|(at, site)| own.insert(site.unit.index(), at));
    let core = memories.core_of(memories.scalar).collect();
    let busy = (asked == Asked::Busy).then(|| Rows::none(flags, flags));
    let (odd, found) = (vec![false; program.loops as usize], Found { busy, ..Found::default() });
    let known = (!sites.has_syncs()).then(|| before.clone());
    let (turn, spare) = (1, Vec::new());
    let mut flow = Flow { added, next: 0, sites, memories, own, core, asked, odd, turn, known, spare, found };
    let mut state = Rows::none(units + flags + 1, end);
    (0..units).for_each(|unit| state.fill(unit, end));
    flow.block(&program.body, &mut state);
    for at in state.numbers(flow.set_row()) {
        flow.found.faults.insert(Fault::LeftSet(sites.flag(at)));
    }
    (flow.found, flow.known.unwrap_or_default())
}

impl Flow<'_> {
    fn block(&mut self, nodes: &[Node], state: &mut State) {
        let block = self.next;
        self.next += 1;
        let mut behind: Option<LoopId> = None;
        for (at, node) in nodes.iter().enumerate() {
            let ahead = node.as_loop();
            self.gap(Gap { block, node: at, behind, ahead }, state);
            behind = ahead;
            if self.is_done() {
                return;
            }
            match node {
                Node::Set { .. } | Node::Name { .. } => {}
                Node::Run(instruction) => self.run(instruction, state),
                Node::Sync(sync) => self.sync(*sync, state),
                Node::If { then, otherwise, .. } => {
                    let mut other = self.copy(state);
                    self.block(then, state);
                    self.block(otherwise, &mut other);
                    let _ = self.join(state, &other);
                    self.spare.push(other);
                }
                Node::Loop(inner) => self.rounds(inner, state),
            }
        }
        self.gap(Gap { block, node: nodes.len(), behind, ahead: None }, state);
    }

    fn gap(&mut self, gap: Gap, state: &mut State) {
        self.added.each(gap, &mut |sync| {
            if !self.is_done() {
                self.sync(sync, state);
            }
        });
    }

    fn is_done(&self) -> bool {
        self.asked == Asked::FirstFault && !self.found.faults.is_empty()
    }

    /// Any number of rounds. The state only loses knowledge from one pass to the next, so this ends.
    fn rounds(&mut self, inner: &Loop, state: &mut State) {
        let first = self.next;
        let key = (first, self.turn);
        let (units, set_row) = (self.memories.units.len(), self.set_row());
        if let Some(before) = self.known.as_ref().and_then(|known| known.get(key)) {
            let _ = state.keep(before, units, set_row);
        }
        let mut after = self.copy(state);
        let mut odd = self.sites.turns(inner.id).then(|| self.copy(state));
        loop {
            self.half(inner, (first, false), odd.is_some(), &mut after);
            if let Some(odd) = &mut odd {
                // With no less in even rounds there is no less here.
                odd.clone_from(&after);
                self.half(inner, (first, true), true, &mut after);
            }
            if !self.join(state, &after) || self.is_done() {
                break;
            }
            after.clone_from(state);
        }
        self.spare.push(after);
        if let Some(known) = &mut self.known {
            known.put(key, state);
        }
        if let Some(odd) = odd {
            let _ = self.join(state, &odd);
            self.spare.push(odd);
        }
    }

    /// A round of a loop whose body is the block of this number, where this is an odd one or not if it has two addresses.
    fn half(&mut self, inner: &Loop, (first, odd): (BlockId, bool), turns: bool, state: &mut State) {
        let around = self.turn;
        if turns {
            self.turn = 2 * around + u64::from(odd);
            self.odd[inner.id.index()] = odd;
        }
        self.next = first;
        self.block(&inner.body, state);
        self.turn = around;
        self.odd[inner.id.index()] = false;
    }

    /// A state like another one.
    fn copy(&mut self, state: &State) -> State {
        let Some(mut copy) = self.spare.pop() else { return state.clone() };
        copy.clone_from(state);
        copy
    }

    /// Takes a site, or what stands for the waiter of a flag, from what all know. Of a flag that is clear the row is empty.
    fn forget(&self, at: usize, state: &mut State) {
        state.remove_from(self.memories.units.len(), self.set_row(), at);
    }

    /// The row of a state with what the waiter of a flag will know.
    fn row_of(&self, flag: usize) -> usize {
        self.memories.units.len() + flag
    }

    /// The row of a state with the flags that are set.
    fn set_row(&self) -> usize {
        self.row_of(self.sites.flags())
    }

    /// Whether the first of two states that meet knows less then.
    fn join(&mut self, state: &mut State, other: &State) -> bool {
        for at in state.apart(self.set_row(), other) {
            self.found.faults.insert(Fault::Paths(self.sites.flag(at)));
        }
        // Of a flag that is clear the row is empty.
        state.keep(other, self.memories.units.len(), self.set_row())
    }

    fn run(&mut self, instruction: &Instruction, state: &mut State) {
        let odd = |of: LoopId| self.odd[of.index()];
        let mut before: Option<UnitId> = None;
        for (part, unit) in instruction.units().enumerate() {
            if let Some(first) = before {
                // The second unit begins when the first is done with its part.
                state.add_row(unit.index(), first.index());
                self.learn(unit, self.own.row(first.index()), state);
            }
            before = Some(unit);
            let at = self.sites.site(instruction.id, part, &odd);
            let site = &self.sites.all()[at];
            for other in state.lacking(unit.index(), self.sites.conflicts(at)) {
                self.found.faults.insert(Fault::Race(other, at));
            }
            // What the unit of scalars has read, it has read before it hands out the next instruction.
            let at_once = unit == self.memories.scalar && site.reads_only;
            self.forget(at, state);
            if at_once {
                self.core.iter().for_each(|unit| state.insert(unit.index(), at));
            }
            if self.memories.units[unit.index()].completes_in_order {
                state.insert(unit.index(), at);
            }
        }
        if before == Some(self.memories.scalar) {
            self.hand_out(state);
        }
    }

    fn learn(&self, unit: UnitId, what: &[u64], state: &mut State) {
        state.add(unit.index(), what);
        if unit == self.memories.scalar {
            self.hand_out(state);
        }
    }

    /// What the unit of scalars knows of others, all of its core know: it hands out their instructions. What it wrote itself others wait for.
    fn hand_out(&self, state: &mut State) {
        let scalar = self.memories.scalar.index();
        self.core.iter().for_each(|unit| state.add_row_without(unit.index(), scalar, self.own.row(scalar)));
    }

    fn sync(&mut self, sync: Sync, state: &mut State) {
        match sync {
            Sync::Set(event) => self.set(event, state),
            Sync::Wait(event) => self.wait(event, state),
            Sync::Barrier(unit) => state.add(unit.index(), self.own.row(unit.index())),
            Sync::BarrierAll(of) => {
                let core = || self.memories.core_of(of).map(UnitId::index);
                core().for_each(|unit| {
                    state.add_row(of.index(), unit);
                    state.add(of.index(), self.own.row(unit));
                });
                for flag in 0..self.sites.flags() {
                    if self.memories.same_core(self.sites.flag(flag).1, of) {
                        state.insert(of.index(), self.sites.all().len() + flag);
                    }
                }
                let all = state.row(of.index()).to_vec();
                core().for_each(|unit| state.add(unit, &all));
            }
        }
    }

    /// Whether a unit knows that the waiter of a flag is past its last wait.
    fn knows_of_wait(&self, unit: UnitId, flag: usize, state: &State) -> bool {
        state.has(unit.index(), self.sites.all().len() + flag)
    }

    fn flag(&mut self, event: Event) -> Option<(Flag, usize)> {
        let id = match event.id {
            EventId::One(id) => id,
            EventId::Parity { of, even, odd } => {
                if self.odd[of.index()] {
                    odd
                } else {
                    even
                }
            }
        };
        let flag = (event.from, event.to, id);
        let found = self.sites.number(flag)?;
        if !found.exists {
            self.found.faults.insert(Fault::NoEvent(flag));
        }
        Some((flag, found.number))
    }

    fn set(&mut self, event: Event, state: &mut State) {
        let Some((flag, at)) = self.flag(event) else { return };
        let set_row = self.set_row();
        if state.has(set_row, at) {
            self.found.faults.insert(Fault::SetTwice(flag));
        } else if !self.knows_of_wait(event.from, at, state) {
            self.found.faults.insert(Fault::SetEarly(flag));
        }
        if let Some(mut busy) = self.found.busy.take() {
            let of = |flag: Flag| self.memories.numbered(flag.0, flag.1);
            let own = of(flag);
            let may_be =
                |other: &usize| state.has(set_row, *other) || !self.knows_of_wait(event.from, *other, state);
            let others = (0..self.sites.flags()).filter(may_be);
            others
                .filter(|other| of(self.sites.flag(*other)) == own)
                .for_each(|other| busy.insert(at, other));
            self.found.busy = Some(busy);
        }
        state.put(self.row_of(at), event.from.index(), self.own.row(event.from.index()));
        state.insert(set_row, at);
    }

    fn wait(&mut self, event: Event, state: &mut State) {
        let Some((flag, at)) = self.flag(event) else { return };
        if !state.has(self.set_row(), at) {
            self.found.faults.insert(Fault::WaitUnset(flag));
            return;
        }
        // Waits of one unit stand in its queue. Of two units both may be held back when the event is set.
        if !self.knows_of_wait(event.to, at, state) {
            self.found.faults.insert(Fault::WaitEarly(flag));
        }
        state.remove(self.set_row(), at);
        state.pour(self.row_of(at), event.to.index());
        // The waiter is past this wait; no other unit knows yet.
        let past = self.sites.all().len() + at;
        self.forget(past, state);
        state.insert(event.to.index(), past);
        if event.to == self.memories.scalar {
            self.hand_out(state);
        }
    }
}
