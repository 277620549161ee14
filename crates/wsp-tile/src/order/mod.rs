//! Events and barriers between units.
//!
//! 1. The [analysis](crate::check) says which instructions are not ordered; each such pair gets an edge: forward where the first
//!    stands before the second in the text, else over the back of the innermost loop around both. This repeats until nothing is left.
//! 2. Every edge that the others imply is removed.
//! 3. Edges get event numbers; two share one where the setter surely knows that the waiter is done.
//!
//! Programs of one form have one order, which is found once; the result is checked each time.
//!
//! An edge that may be set again before its wait is changed: where both ends stand under one condition, so do its set and its wait; over the
//! back of a loop in a loop, its event is set before the outer loop and
//! stays set between runs of the inner one; in a loop whose buffers have two addresses it takes turns with two events; else it becomes a barrier
//! of all units. So does one for which no number is left. Between cores the second unit answers with an event of its own, and there are no
//! barriers: where that does not help, or numbers run out, the program has no order.

mod again;
mod alone;
mod edges;
mod numbers;

use crate::check::added::Added;
use crate::check::flow::{Fault, Found, analyse, first_fault};
use crate::check::known::Known;
use crate::check::sites::Sites;
use crate::{LoopId, Memories, TileProgram, check, codes};
use again::Orders;
use alone::Text;
use edges::{Edge, Path, added, paths, with};
use wsp_diag::{Diagnostic, Severity};
use wsp_ordered::{Arrange, OrderedSet};

/// A program with events and barriers.
#[derive(Clone, PartialEq, Debug)]
pub struct Ordered {
    /// The program.
    pub program: TileProgram,
    /// Where a barrier stands in place of an event, and why.
    pub notes: Vec<Diagnostic>,
}

/// Orders the instructions of a placed program by the bytes that they touch.
///
/// # Errors
/// Units of two cores have no event for what is to be ordered, or what [`check()`] finds in the result: the program has no addresses, or those
/// are wrong.
pub fn order(program: &TileProgram, memories: &Memories) -> Result<Ordered, Vec<Diagnostic>> {
    let wrong = crate::verify::verify(program, memories);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let sites = Sites::of(program, memories);
    let find = || find(program, memories, &sites);
    // Those of the program itself are not part of its form.
    let orders = if sites.has_syncs() { find() } else { again::orders(program, memories, &sites, find) };
    let Orders { edges, numbers, notes } = orders?;
    let program = with(program, &added(&edges, &|at| numbers[at]));
    let found = check(&program, memories);
    if found.is_empty() { Ok(Ordered { program, notes }) } else { Err(found) }
}

fn find(program: &TileProgram, memories: &Memories, sites: &Sites) -> Result<Orders, Vec<Diagnostic>> {
    let mut cx = Orderer {
        program,
        memories,
        paths: paths(program),
        text: Text::of(program),
        sites,
        edges: Vec::new(),
        notes: Vec::new(),
        apart: Vec::new(),
        implied: Vec::new(),
    };
    loop {
        cx.cover();
        if !cx.apart.is_empty() {
            return Err(cx.apart);
        }
        cx.prune();
        match cx.numbers() {
            Ok(numbers) => return Ok(Orders { edges: cx.edges, numbers, notes: cx.notes }),
            Err(edge) => cx.make_barrier(edge, "all events of the two units are in use"),
        }
    }
}

struct Orderer<'a> {
    program: &'a TileProgram,
    memories: &'a Memories,
    paths: Vec<Path>,
    text: Text,
    sites: &'a Sites,
    edges: Vec<Edge>,
    notes: Vec<Diagnostic>,
    /// Edges between cores that have no events.
    apart: Vec<Diagnostic>,
    /// Edges between cores that were left out, as others imply them.
    implied: Vec<Edge>,
}

/// Every edge has events of its own.
fn own(at: usize) -> (u32, u32) {
    (2 * at as u32, 2 * at as u32 + 1)
}

impl Orderer<'_> {
    fn analyse(&self, edges: &[Edge]) -> (Found, Sites) {
        let added = added(edges, &own);
        let sites = self.sites.with_events_of(&added, self.memories);
        (analyse(self.program, &added, &sites, self.memories), sites)
    }

    /// What is left without order by the edges of these numbers, or an event that they use wrongly; else what the analysis came to.
    /// `added` lends its memory.
    fn fault(
        &self,
        kept: &[usize],
        sites: &Sites,
        before: &Known,
        added: &mut Added,
    ) -> Result<Known, Fault> {
        added.clear();
        kept.iter().for_each(|at| edges::add(added, &self.edges[*at], own(*at)));
        first_fault(self.program, added, sites, self.memories, before)
    }

    fn some(&self, kept: &[usize]) -> Vec<Edge> {
        kept.iter().map(|at| self.edges[*at]).collect()
    }

    /// Adds edges until all is ordered.
    fn cover(&mut self) {
        loop {
            if !self.apart.is_empty() {
                return;
            }
            let (found, sites) = self.analyse(&self.edges);
            let mut fresh: Vec<Edge> = Vec::new();
            let mut early = Vec::new();
            for fault in &found.faults {
                match fault {
                    Fault::Race(before, after) => fresh.extend(self.edge(&sites, *before, *after)),
                    Fault::SetEarly(flag) | Fault::SetTwice(flag) => early.push(flag.2 as usize / 2),
                    _ => {}
                }
            }
            fresh.retain(|edge| !self.edges.contains(edge));
            let kept = edges::tightest(&fresh);
            if !kept.is_empty() {
                self.edges.extend(kept);
                continue;
            }
            early.arrange();
            early.dedup();
            if early.is_empty() {
                return;
            }
            for at in early {
                let edge = self.edges[at];
                self.take_turns(at);
                // Where it is gone, those behind it have other numbers now.
                if self.implied.contains(&edge) {
                    break;
                }
            }
        }
    }

    /// Whether the others order all that an edge does, which was not left out before.
    fn is_implied(&self, at: usize) -> bool {
        if self.implied.contains(&self.edges[at]) {
            return false;
        }
        let mut fewer = self.edges.clone();
        fewer.remove(at);
        !self.analyse(&fewer).0.faults.iter().any(|fault| matches!(fault, Fault::Race(..)))
    }

    /// The edge that orders two sites.
    fn edge(&mut self, sites: &Sites, before: usize, after: usize) -> Option<Edge> {
        let (a, b) = (&sites.all()[before], &sites.all()[after]);
        let (x, y) = (&self.paths[a.instruction as usize], &self.paths[b.instruction as usize]);
        let common = x.iter().zip(y).take_while(|(p, q)| p == q).count();
        let mut edge = Edge {
            block: 0,
            from: a.unit,
            to: b.unit,
            core: self.memories.core_of(b.unit).next()?,
            back: None,
            around: None,
            inner: None,
            after: 0,
            before: 0,
            turns: None,
            barrier: a.unit != b.unit && self.memories.events(a.unit, b.unit) == 0,
        };
        match (x.get(common), y.get(common)) {
            (Some(p), Some(q)) if p.0 == q.0 && p.1 < q.1 => {
                (edge.block, edge.after, edge.before) = (p.0, p.1, q.1);
            }
            _ => {
                // The innermost block around both that is the body of a loop; both may stand in one node of it.
                let around = || x.iter().zip(y).take_while(|(p, q)| p.0 == q.0);
                let (p, q) = around().filter(|(p, _)| p.2.is_some()).last()?;
                let inner = around().last().map(|(p, q)| (p.0, p.1, q.1));
                edge.inner = inner.filter(|inner| inner.0 != p.0);
                (edge.block, edge.after, edge.before) = (p.0, p.1, q.1);
                (edge.back, edge.around) = (p.2, p.2);
                let parity = |site: &crate::check::sites::Site| {
                    site.parity.iter().find(|(of, _)| Some(*of) == p.2).copied()
                };
                if a.unit != b.unit && parity(a).is_some() && parity(a) == parity(b) {
                    edge.turns = p.2;
                }
            }
        }
        if edge.barrier {
            self.note(edge, "the two units have no events for each other");
        }
        Some(edge)
    }

    /// The loop around a loop, where there is one.
    fn outer(&self, of: LoopId) -> Option<LoopId> {
        let loops = |path: &Path| path.iter().filter_map(|step| step.2).collect::<Vec<_>>();
        let found = self.paths.iter().map(loops).find_map(|loops| {
            let at = loops.iter().position(|inner| *inner == of)?;
            Some(at.checked_sub(1).map(|at| loops[at]))
        });
        found.flatten()
    }

    /// Changes an edge that may be set again before its wait.
    fn take_turns(&mut self, at: usize) {
        let edge = self.edges[at];
        if let Some((block, after, before)) = edge.inner {
            self.edges[at] = Edge { block, after, before, inner: None, ..edge };
            return;
        }
        if let Some(outer) = edge.around.and_then(|of| self.outer(of)) {
            self.edges[at].around = Some(outer);
            return;
        }
        let has_block = |path: &&Path| path.iter().any(|step| step.0 == edge.block);
        let around = self.paths.iter().find(has_block).and_then(|path| {
            let end = path.iter().position(|step| step.0 == edge.block)?;
            path[..=end].iter().rev().find_map(|step| step.2)
        });
        match around.filter(|of| edge.turns.is_none() && self.sites.turns(*of)) {
            Some(of) => self.edges[at].turns = Some(of),
            None if around.is_some_and(|of| self.answer(edge, of)) => {}
            None if !self.memories.same_core(edge.from, edge.to) && self.is_implied(at) => {
                self.implied.push(edge);
                self.edges.remove(at);
            }
            None => self.make_barrier(at, "the first may be set again before the second waits"),
        }
    }

    /// An edge back from the second of two units of different cores to the first, which tells of its wait in each round of a loop; whether there
    /// can be one, and is none yet.
    fn answer(&mut self, edge: Edge, of: LoopId) -> bool {
        let Some(core) = self.memories.core_of(edge.from).next() else { return false };
        let back = if edge.back.is_none() { Some(of) } else { None };
        let answer = Edge {
            from: edge.to,
            to: edge.from,
            core,
            back,
            around: back,
            inner: None,
            after: edge.before,
            before: edge.after,
            turns: None,
            ..edge
        };
        let fits = back.is_some() || answer.after < answer.before;
        let adds = fits && !self.memories.same_core(edge.from, edge.to) && !self.edges.contains(&answer);
        if adds {
            self.edges.push(answer);
        }
        adds
    }

    fn make_barrier(&mut self, at: usize, why: &str) {
        self.edges[at].barrier = true;
        self.note(self.edges[at], why);
    }

    fn note(&mut self, edge: Edge, why: &str) {
        let [from, to] = [edge.from, edge.to].map(|unit| self.memories.unit_name(unit));
        if !self.memories.same_core(edge.from, edge.to) {
            let message = format!("there is no event from {from} to {to}, which are units of two cores");
            self.apart.push(Diagnostic::error(codes::EVENT, message).note(why.to_owned()));
            return;
        }
        let message = format!("a barrier of all units stands in place of an event from {from} to {to}");
        let note = Diagnostic::new(codes::BARRIER_NOTE, Severity::Note, message).note(why.to_owned());
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Removes what the others imply: edges over the backs of loops first, then those that reach furthest.
    fn prune(&mut self) {
        self.edges.arrange_by_key(|edge| {
            let reach = edge.before.abs_diff(edge.after);
            (edge.barrier, edge.back.is_none(), usize::MAX - reach, *edge)
        });
        // Events keep their numbers when others are gone.
        let sites = self.sites.with_events_of(&added(&self.edges, &own), self.memories);
        let mut kept: Vec<usize> = (0..self.edges.len()).collect();
        let mut added = Added::default();
        let mut known = self.fault(&kept, &sites, &Known::default(), &mut added).unwrap_or_default();
        // What tells only of the wait of another edge is not needed when that one is gone. What orders two instructions without the help of
        // others stays needed.
        let mut needed = OrderedSet::new();
        loop {
            let before = kept.len();
            for edge in kept.clone() {
                if kept.contains(&edge)
                    && let Some(fewer) =
                        self.without(edge, (&kept, &sites), (&mut known, &mut added), &mut needed)
                {
                    kept = fewer;
                }
            }
            if kept.len() == before {
                break;
            }
        }
        self.edges = self.some(&kept);
    }

    /// The edges without one, and without those that are used wrongly then, if they order as much. Two edges may be there only to tell of each
    /// other's waits: one of them alone cannot go. `known` is what the analysis came to with those that are kept.
    fn without(
        &self,
        edge: usize,
        (kept, sites): (&[usize], &Sites),
        (known, added): (&mut Known, &mut Added),
        needed: &mut OrderedSet<usize>,
    ) -> Option<Vec<usize>> {
        let of = (self.sites, &self.paths[..], self.memories);
        if !needed.contains(&edge) && self.text.stands_alone(&self.edges[edge], &self.some(kept), of) {
            needed.insert(edge);
        }
        let mut fewer = kept.to_vec();
        let mut gone = edge;
        loop {
            if needed.contains(&gone) {
                return None;
            }
            fewer.retain(|other| *other != gone);
            match self.fault(&fewer, sites, known, added) {
                Ok(less) => {
                    *known = less;
                    return Some(fewer);
                }
                Err(Fault::Race(..)) => {
                    if gone == edge {
                        needed.insert(edge);
                    }
                    return None;
                }
                Err(fault) => gone = fault.flag()?.2 as usize / 2,
            }
        }
    }
}
