//! Numbers of events: a colouring of those of each pair of units by where others may be in use.

use super::edges::{Edge, added};
use super::{Orderer, own};
use crate::UnitId;
use crate::check::flow::{analyse, analyse_busy};
use crate::check::sites::Flag;
use wsp_ordered::OrderedSet;

/// Two events by their own numbers, the lower one first.
type Pair = (u32, u32);

impl Orderer<'_> {
    /// The numbers of each edge's events, in even and in odd rounds; or the edge for which none is left.
    pub(super) fn numbers(&self) -> Result<Vec<(u32, u32)>, usize> {
        let mut apart = self.in_use_together();
        loop {
            let numbers = self.colour(&apart)?;
            let added = added(&self.edges, &|at| numbers[at]);
            let sites = self.sites.with_events_of(&added, self.memories);
            let found = analyse(self.program, &added, &sites, self.memories);
            // Of a number that two events share less is known than of two: where it is too little, they do not share it.
            let mut changed = false;
            for flag in found.faults.iter().filter_map(|fault| fault.flag()) {
                changed |= self.separate(flag, &numbers, &mut apart);
            }
            if !changed {
                return Ok(numbers);
            }
        }
    }

    /// Events of which one may be in use where the other is set.
    fn in_use_together(&self) -> OrderedSet<Pair> {
        let added = added(&self.edges, &own);
        let sites = self.sites.with_events_of(&added, self.memories);
        let found = analyse_busy(self.program, &added, &sites, self.memories);
        let mut apart = OrderedSet::new();
        for (at, busy) in (0..sites.flags()).flat_map(|at| Some((at, found.busy.as_ref()?))) {
            let pairs = busy.numbers(at).map(|other| (sites.flag(at).2, sites.flag(other).2));
            apart.extend(pairs.map(|(a, b)| (a.min(b), a.max(b))));
        }
        apart
    }

    /// The lowest numbers that keep events apart.
    fn colour(&self, apart: &OrderedSet<Pair>) -> Result<Vec<(u32, u32)>, usize> {
        // Edge, own number and number of those before.
        let mut given: Vec<(&Edge, u32, u32)> = Vec::new();
        let mut out = Vec::with_capacity(self.edges.len());
        for (at, edge) in self.edges.iter().enumerate() {
            let mut numbers = [0; 2];
            for (id, number) in own_numbers(at, edge).into_iter().zip(&mut numbers) {
                let taken = |number: u32| {
                    given.iter().any(|(other, other_id, other_number)| {
                        *other_number == number
                            && self.numbered(other) == self.numbered(edge)
                            && apart.contains(&(id.min(*other_id), id.max(*other_id)))
                    })
                };
                let free = (0..self.memories.events(edge.from, edge.to)).find(|number| !taken(*number));
                *number = free.ok_or(at)?;
                given.push((edge, id, *number));
            }
            out.push((numbers[0], numbers[1]));
        }
        Ok(out)
    }

    fn numbered(&self, edge: &Edge) -> (UnitId, UnitId) {
        self.memories.numbered(edge.from, edge.to)
    }

    /// Keeps apart what has this number; whether that is new.
    fn separate(&self, flag: Flag, numbers: &[(u32, u32)], apart: &mut OrderedSet<Pair>) -> bool {
        let mut sharing = Vec::new();
        let of = self.memories.numbered(flag.0, flag.1);
        for (at, edge) in self.edges.iter().enumerate().filter(|(_, e)| self.numbered(e) == of) {
            let given = own_numbers(at, edge).into_iter().zip([numbers[at].0, numbers[at].1]);
            sharing.extend(given.filter(|(_, number)| *number == flag.2).map(|(id, _)| id));
        }
        let pairs = sharing.iter().enumerate().flat_map(|(i, a)| sharing[..i].iter().map(move |b| (*a, *b)));
        pairs.fold(false, |changed, (a, b)| apart.insert((a.min(b), a.max(b))) || changed)
    }
}

/// The numbers of an edge's events where every edge has its own.
fn own_numbers(at: usize, edge: &Edge) -> Vec<u32> {
    let (even, odd) = own(at);
    match (edge.needs_events(), edge.turns) {
        (false, _) => Vec::new(),
        (true, None) => vec![even],
        (true, Some(_)) => vec![even, odd],
    }
}
