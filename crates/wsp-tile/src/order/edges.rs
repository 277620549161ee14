//! Edges, and where their events stand.
//!
//! Both ends of an edge stand in one block, so an edge is complete whatever loops and conditions inside do. The event of an edge over the back
//! of a loop is set once before that loop, or one around it, and waited for once behind it: it is complete without a round, too.

use crate::check::added::{Added, BlockId, Gap};
use crate::{Event, EventId, LoopId, Node, Sync, TileProgram, UnitId};
use std::cmp::Reverse;
use wsp_ordered::Arrange;

/// Where an instruction is: blocks from the outermost on, the node in each, and the loop whose body the block is.
pub(super) type Path = Vec<(BlockId, usize, Option<LoopId>)>;

/// An edge from the end of one node of a block to the beginning of another, or of the same in the next round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Edge {
    pub(super) block: BlockId,
    pub(super) from: UnitId,
    pub(super) to: UnitId,
    /// The first unit of the core that has `to`.
    pub(super) core: UnitId,
    /// The loop with this body, where the edge goes over its back.
    pub(super) back: Option<LoopId>,
    /// The loop before which such an edge is set and behind which it is waited for: `back`, or a loop around it.
    pub(super) around: Option<LoopId>,
    /// Set behind this node.
    pub(super) after: usize,
    /// Waited for before this node.
    pub(super) before: usize,
    /// Where both ends of an edge over the back of a loop stand in one block inside of its body: that block, and the nodes there.
    pub(super) inner: Option<(BlockId, usize, usize)>,
    /// The loop by whose rounds two events take turns.
    pub(super) turns: Option<LoopId>,
    /// A barrier of all units of the core stands in its place.
    pub(super) barrier: bool,
}

impl Edge {
    /// Of two edges that have these in common, one that lies around the other follows from it.
    fn way(&self) -> (BlockId, UnitId, UnitId, Option<LoopId>, Option<LoopId>) {
        (self.block, self.from, self.to, self.back, self.turns)
    }

    pub(super) fn needs_events(&self) -> bool {
        self.from != self.to && !self.barrier
    }
}

/// The edges that follow from no other of them, in their order; of equal ones the first.
pub(super) fn tightest(edges: &[Edge]) -> Vec<Edge> {
    let mut order: Vec<usize> = (0..edges.len()).collect();
    // Edges that begin later come first; of those that are left, each ends earlier than all before it.
    order.arrange_by_key(|at| (edges[*at].way(), Reverse(edges[*at].after), edges[*at].before));
    let mut kept: Vec<usize> = Vec::new();
    for at in order {
        let within = |last: &Edge| last.way() == edges[at].way() && last.before <= edges[at].before;
        if !kept.last().is_some_and(|last| within(&edges[*last])) {
            kept.push(at);
        }
    }
    kept.arrange();
    kept.into_iter().map(|at| edges[at]).collect()
}

/// Paths of instructions, by number.
pub(super) fn paths(program: &TileProgram) -> Vec<Path> {
    fn walk(nodes: &[Node], of: Option<LoopId>, path: &mut Path, next: &mut BlockId, out: &mut Vec<Path>) {
        let block = *next;
        *next += 1;
        for (at, node) in nodes.iter().enumerate() {
            path.push((block, at, of));
            if let Node::Run(_) = node {
                out.push(path.clone());
            }
            node.blocks().for_each(|nodes| walk(nodes, node.as_loop(), path, next, out));
            path.pop();
        }
    }
    let mut out = Vec::new();
    walk(&program.body, None, &mut Vec::new(), &mut 0, &mut out);
    out
}

/// The numbers of an edge's events: in even and in odd rounds.
pub(super) type Numbers<'a> = &'a dyn Fn(usize) -> (u32, u32);

/// The synchronisations of edges.
pub(super) fn added(edges: &[Edge], numbers: Numbers<'_>) -> Added {
    let mut added = Added::default();
    for (at, edge) in edges.iter().enumerate() {
        add(&mut added, edge, numbers(at));
    }
    added
}

/// Adds those of an edge.
pub(super) fn add(added: &mut Added, edge: &Edge, (even, odd): (u32, u32)) {
    if !edge.needs_events() {
        let barrier = if edge.barrier { Sync::BarrierAll(edge.core) } else { Sync::Barrier(edge.to) };
        return added.insert(edge.block, edge.before, barrier);
    }
    let event = |id| Event { from: edge.from, to: edge.to, id };
    let here = match edge.turns {
        Some(of) => EventId::Parity { of, even, odd },
        None => EventId::One(even),
    };
    added.insert(edge.block, edge.after + 1, Sync::Set(event(here)));
    added.insert(edge.block, edge.before, Sync::Wait(event(here)));
    if let Some(of) = edge.around {
        let ids = [Some(even), edge.turns.map(|_| odd)];
        for id in ids.into_iter().flatten() {
            let event = event(EventId::One(id));
            added.insert_around(of, Sync::Set(event), Sync::Wait(event));
        }
    }
}

/// The program with synchronisations in it.
pub(super) fn with(program: &TileProgram, added: &Added) -> TileProgram {
    let mut out = program.clone();
    fill(added, &mut out.body, &mut 0);
    out
}

fn fill(added: &Added, nodes: &mut Vec<Node>, next: &mut BlockId) {
    let block = *next;
    *next += 1;
    let mut out = Vec::with_capacity(nodes.len());
    let mut behind: Option<LoopId> = None;
    let old = std::mem::take(nodes);
    let end = old.len();
    for (node, mut inner) in old.into_iter().enumerate() {
        let ahead = inner.as_loop();
        added.each(Gap { block, node, behind, ahead }, &mut |sync| out.push(Node::Sync(sync)));
        inner.blocks_mut().for_each(|inner| fill(added, inner, next));
        behind = ahead;
        out.push(inner);
    }
    added.each(Gap { block, node: end, behind, ahead: None }, &mut |sync| out.push(Node::Sync(sync)));
    *nodes = out;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_around_another_follows_from_it() {
        let edge = |to: u8, after, before| Edge {
            block: 0,
            from: UnitId(0),
            to: UnitId(to),
            core: UnitId(0),
            back: None,
            around: None,
            inner: None,
            after,
            before,
            turns: None,
            barrier: false,
        };
        let edges = [
            edge(1, 0, 9),
            edge(1, 4, 6),
            edge(2, 0, 9),
            edge(1, 5, 8),
            edge(1, 4, 6),
            edge(1, 1, 2),
            edge(1, 5, 9),
        ];
        assert_eq!(tightest(&edges), [edges[1], edges[2], edges[3], edges[5]]);
        assert_eq!(tightest(&[]), []);
    }
}
