//! Edges that no others can stand in for, found without the analysis.
//!
//! An edge orders an instruction in its node `after` and one in its node `before`, of the same round of a block or of two rounds in turn. What the
//! first unit did there the second can learn by other edges only if units pass it on, one after the other, in the stretch of text that runs
//! between the two. Where no such way of units leads there, the analysis would find the two apart.

use super::edges::{Edge, Path};
use crate::check::sites::{Site, Sites};
use crate::{LoopId, Memories, Node, TileProgram, UnitId};
use std::ops::Range;

/// Where nodes and loops stand in the text: numbers that count nodes.
pub(super) struct Text {
    /// By block and node.
    nodes: Vec<Vec<Range<usize>>>,
    /// By loop: its body's block.
    bodies: Vec<Option<usize>>,
    /// Units that work one after the other in one instruction.
    pairs: Vec<(UnitId, UnitId)>,
}

impl Text {
    pub(super) fn of(program: &TileProgram) -> Text {
        let mut text =
            Text { nodes: Vec::new(), bodies: vec![None; program.loops as usize], pairs: Vec::new() };
        text.block(&program.body, &mut 0);
        text
    }

    fn block(&mut self, nodes: &[Node], next: &mut usize) {
        let block = self.nodes.len();
        self.nodes.push(Vec::with_capacity(nodes.len()));
        for node in nodes {
            let start = *next;
            *next += 1;
            if let Node::Run(instruction) = node {
                self.pairs.extend(instruction.then.map(|then| (instruction.unit, then)));
            }
            if let Some(body) = node.as_loop().and_then(|of| self.bodies.get_mut(of.index())) {
                *body = Some(self.nodes.len());
            }
            node.blocks().for_each(|inner| self.block(inner, next));
            self.nodes[block].push(start..*next);
        }
    }

    /// Whether the others cannot order what an edge of one core does.
    pub(super) fn stands_alone(
        &self,
        edge: &Edge,
        edges: &[Edge],
        (sites, paths, memories): (&Sites, &[Path], &Memories),
    ) -> bool {
        if sites.has_syncs()
            || !memories.same_core(edge.from, edge.to)
            || !meets(edge, sites, paths, memories)
        {
            return false;
        }
        let Some(stretch) = self.stretch(edge, sites) else { return false };
        let others = edges.iter().filter(|other| *other != edge && self.lies_in(other, &stretch));
        !self.tells(edge, &others.collect::<Vec<_>>(), memories)
    }

    /// The text between what an edge orders, and how far backs of loops may reach that help there.
    fn stretch(&self, edge: &Edge, sites: &Sites) -> Option<Stretch> {
        let nodes = self.nodes.get(edge.block)?;
        let [first, last] = [nodes.get(edge.after)?.start, nodes.get(edge.before)?.end];
        let Some(of) = edge.back else {
            return Some(Stretch { parts: [first..last, last..last], all: first..last });
        };
        // Both ends in one node, or in a block of the loop's body: rounds of other loops may be between them.
        if self.body(of) != Some(edge.block) || edge.inner.is_some() {
            return None;
        }
        let all = nodes.first()?.start..nodes.last()?.end;
        // Of a buffer with two addresses the next round but one is the one that meets this one.
        let parts =
            if sites.turns(of) { [all.clone(), last..last] } else { [first..all.end, all.start..last] };
        Some(Stretch { parts, all })
    }

    fn body(&self, of: LoopId) -> Option<usize> {
        *self.bodies.get(of.index())?
    }

    /// Whether an edge tells something within a stretch.
    fn lies_in(&self, edge: &Edge, stretch: &Stretch) -> bool {
        let nodes = &self.nodes[edge.block];
        let (set, wait) = (nodes[edge.after].end, nodes[edge.before].start);
        let is_set = stretch.parts.iter().any(|part| part.start < set && set <= part.end);
        let is_awaited = stretch.parts.iter().any(|part| part.contains(&wait));
        let turns_within = |of: LoopId| {
            let body = self.body(of).and_then(|block| self.nodes.get(block));
            body.and_then(|nodes| nodes.first()).is_none_or(|node| stretch.all.contains(&node.start))
        };
        is_awaited && (!edge.needs_events() || (is_set && edge.back.is_none_or(turns_within)))
    }

    /// Whether others may tell the second unit of an edge what the first one did.
    fn tells(&self, edge: &Edge, others: &[&Edge], memories: &Memories) -> bool {
        let mut told = vec![false; memories.units.len()];
        loop {
            let knows = |told: &[bool], unit: UnitId| unit == edge.from || told[unit.index()];
            let mut fresh: Vec<UnitId> = Vec::new();
            let mut hear = |told: &[bool], unit: UnitId| {
                if !told[unit.index()] {
                    fresh.push(unit);
                }
            };
            let all_of = |unit: UnitId| memories.core_of(unit);
            for other in others {
                if other.barrier && all_of(other.core).any(|unit| knows(&told, unit)) {
                    all_of(other.core).for_each(|unit| hear(&told, unit));
                } else if knows(&told, other.from) {
                    hear(&told, other.to);
                }
            }
            self.pairs.iter().filter(|(from, _)| knows(&told, *from)).for_each(|(_, to)| hear(&told, *to));
            // It hands out the instructions of its core.
            if knows(&told, memories.scalar) {
                all_of(memories.scalar).for_each(|unit| hear(&told, unit));
            }
            if fresh.is_empty() {
                return told[edge.to.index()];
            }
            fresh.into_iter().for_each(|unit| told[unit.index()] = true);
        }
    }
}

/// Whether an edge orders two parts of instructions that touch the same bytes, in the same rounds of loops but of its own one.
fn meets(edge: &Edge, sites: &Sites, paths: &[Path], memories: &Memories) -> bool {
    let of = |unit: UnitId, node: usize| {
        let stands = move |path: &Path| path.iter().any(|step| (step.0, step.1) == (edge.block, node));
        let all = sites.all().iter().enumerate();
        all.filter(move |(_, site)| site.unit == unit && stands(&paths[site.instruction as usize]))
    };
    of(edge.from, edge.after).any(|(at, first)| {
        // What the unit of scalars has read, it has read before it hands out the next instruction.
        let at_once = first.unit == memories.scalar && first.reads_only;
        let same_rounds = |second: &Site| {
            let pairs = first.parity.iter().flat_map(|a| second.parity.iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| a.0 == b.0 && Some(a.0) != edge.back).all(|(a, b)| a.1 == b.1)
        };
        let meets = |other: usize| sites.conflicts(at)[other / 64] >> (other % 64) & 1 == 1;
        !at_once && of(edge.to, edge.before).any(|(other, second)| meets(other) && same_rounds(second))
    })
}

/// Text that runs between two instructions.
struct Stretch {
    parts: [Range<usize>; 2],
    /// Loops whose rounds may be between the two, too.
    all: Range<usize>,
}
