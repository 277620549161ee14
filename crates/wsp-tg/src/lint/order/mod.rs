//! The order in which kernels and copies of a unit complete, as far as edges, events, gangs and control flow say so.
//!
//! Nodes are kernels and copies, and points between them: the joins of barriers and checkpoints, events, the start of
//! gangs, decisions on data, the begin and the end of loops that run round by round. An edge that crosses the border of such a loop
//! holds for the whole loop. Loops of few rounds are unrolled, so their borders hold nothing back, and some edges hold in some of their rounds only (`rounds`):
//! what these order is looked up in the graph as a run lays it out (`launches::laid_pairs`).

mod build;
mod rounds;

use super::Cx;
use super::pairs::CopyOrder;
use super::reach::Ordered;
use build::Built;
pub(super) use rounds::Rounds;
use std::collections::HashMap;
use wsp_core::tg::{EventNo, TensorNo};
use wsp_ir::tg::outline::{BlockId, Outline};
use wsp_ordered::Arrange;

/// A node of the order: kernels first, then copies, then points.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Node(pub(super) u32);

/// Why one node comes after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// A `TG_DEPEND` that makes nothing visible.
    After,
    /// A `TG_DEPEND` that makes this tensor visible, or everything.
    Data(TensorNo),
    /// A join of a barrier or a checkpoint.
    Join,
    /// From a kernel to an event, or from an event to a kernel.
    Event,
    /// From the start of a gang to its members.
    Gang,
    /// A copy and who else uses its bytes.
    Copy,
    /// A decision on data, or the border of a loop.
    Control,
}

impl Why {
    /// Whether what the first wrote to a tensor is visible to the second and after it.
    pub(super) fn shows(self, tensor: TensorNo) -> bool {
        match self {
            Why::Data(shown) => shown == TensorNo::NONE || shown == tensor,
            Why::Join | Why::Event | Why::Copy => true,
            Why::After | Why::Gang | Why::Control => false,
        }
    }
}

/// An edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) why: Why,
    /// The instruction that says so.
    pub(super) origin: u32,
    /// Whether it holds in all rounds.
    pub(super) always: bool,
}

/// A point between kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Point {
    /// The join of a barrier or a checkpoint: its instruction.
    Join(u32),
    /// An event.
    Event(EventNo),
    /// The start of the gang of this instruction.
    Gang(u32),
    /// A decision on data: its instruction.
    Decision(u32),
    /// The begin of the loop of this instruction.
    LoopBegin(u32),
    /// The end of the loop of this instruction.
    LoopEnd(u32),
}

/// The order of a unit.
pub(super) struct Order {
    kernels: u32,
    copies: u32,
    pub(super) points: Vec<Point>,
    point_block: Vec<BlockId>,
    /// Edges, by the node they come from.
    pub(super) edges: Vec<Edge>,
    /// Where the edges of each node begin, and one past the last.
    pub(super) first: Vec<u32>,
    /// Each node's place in an order in which every edge leads forward; empty if there is none.
    pub(super) rank: Vec<u32>,
    ranked_first: Vec<u32>,
    ranked_to: Vec<u32>,
    /// Whether all edges are there: of edges that hold in some rounds only, those are left out that lead in a cycle if all hold at once.
    pub(super) is_whole: bool,
    /// Whether all edges hold in all rounds.
    pub(super) holds_always: bool,
}

impl Order {
    /// The point of a node.
    pub(super) fn point(&self, node: u32) -> Option<Point> {
        self.points.get(node.checked_sub(self.kernels + self.copies)? as usize).copied()
    }

    /// The nodes at which conditions and counts are looked at, by instruction.
    pub(super) fn decisions(&self) -> HashMap<u32, u32> {
        let points = (self.kernels + self.copies..).zip(&self.points);
        let decisions = points.filter_map(|(node, point)| match *point {
            Point::Decision(at) | Point::LoopBegin(at) => Some((at, node)),
            _ => None,
        });
        decisions.collect()
    }

    /// The block of a node.
    fn block(&self, outline: &Outline, node: u32) -> BlockId {
        let copy = node.checked_sub(self.kernels);
        match (copy, copy.and_then(|copy| copy.checked_sub(self.copies))) {
            (_, Some(point)) => self.point_block[point as usize],
            (Some(copy), None) => outline.copies[copy as usize].block,
            (None, None) => outline.kernels[node as usize].block,
        }
    }

    /// Edges from a node.
    pub(super) fn from(&self, node: Node) -> &[Edge] {
        &self.edges[self.first[node.0 as usize] as usize..self.first[node.0 as usize + 1] as usize]
    }

    /// The edges that hold in all rounds by rank, for questions of reach.
    pub(super) fn ordered(&self) -> Ordered<'_> {
        Ordered { first: &self.ranked_first, to: &self.ranked_to }
    }

    /// Reads the order of a unit; there is none where something goes in cycles.
    pub(super) fn new(cx: &mut Cx<'_>) -> Order {
        let copies = CopyOrder::new(cx.module, cx.outline, cx.accesses);
        if let Some(tensor) = copies.left_out {
            cx.not_all_users(tensor);
        }
        let mut built = build::build(cx.rounds(), cx.accesses, copies);
        let mut order = Order::of(cx.outline, &built);
        order.rank();
        if order.rank.is_empty() {
            // Of two gangs in both arms of one condition one starts: a member of the other is skipped, and waits for no gang.
            let is_apart = |edge: &Edge| order.starts_other_arm(cx.outline, edge);
            built.edges.retain(|edge| !is_apart(edge));
            order = Order::of(cx.outline, &built);
            order.rank();
        }
        // A cycle of edges that do not hold in one round is none, if a run lays the graph out without one.
        if order.rank.is_empty() && cx.plan().is_some() {
            built.edges = order.without_cycles();
            order = Order::of(cx.outline, &built);
            (order.is_whole, order.holds_always) = (false, false);
            order.rank();
        }
        order
    }

    /// The edges without those, of edges that hold in some rounds only, that are on a cycle or between two.
    fn without_cycles(&self) -> Vec<Edge> {
        let [behind, before] = [false, true].map(|backwards| self.waiting(backwards));
        let is_on = |node: u32| behind[node as usize] && before[node as usize];
        let stays = |edge: &&Edge| edge.always || !is_on(edge.from) || !is_on(edge.to);
        self.edges.iter().filter(stays).copied().collect()
    }

    /// Of each node, whether it is on a cycle or comes behind one; backwards, before one.
    fn waiting(&self, backwards: bool) -> Vec<bool> {
        let nodes = self.first.len() - 1;
        let mut edges: Vec<(u32, u32)> = self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        if backwards {
            edges.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
            edges.arrange();
        }
        let mut open = vec![0u32; nodes];
        edges.iter().for_each(|edge| open[edge.1 as usize] += 1);
        let mut ready: Vec<u32> = (0..nodes as u32).filter(|node| open[*node as usize] == 0).collect();
        while let Some(node) = ready.pop() {
            let first = edges.partition_point(|edge| edge.0 < node);
            for &(_, to) in edges[first..].iter().take_while(|edge| edge.0 == node) {
                open[to as usize] -= 1;
                if open[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
        open.into_iter().map(|open| open > 0).collect()
    }

    /// Whether an edge leads to the start of a gang all of whose members stand in the other arm of a condition.
    fn starts_other_arm(&self, outline: &Outline, edge: &Edge) -> bool {
        let from = self.block(outline, edge.from);
        matches!(self.point(edge.to), Some(Point::Gang(_)))
            && self.from(Node(edge.to)).iter().all(|member| {
                member.why == Why::Gang && outline.blocks.exclude(from, self.block(outline, member.to))
            })
    }

    fn of(outline: &Outline, built: &Built) -> Order {
        let Built { points, point_block, edges } = built;
        let (kernels, copies) = (outline.kernels.len() as u32, outline.copies.len() as u32);
        let nodes = (kernels + copies) as usize + points.len();
        let mut first = vec![0u32; nodes + 1];
        for edge in edges {
            first[edge.from as usize + 1] += 1;
        }
        for at in 0..nodes {
            first[at + 1] += first[at];
        }
        let mut next = first.clone();
        let mut sorted = edges.clone();
        for edge in edges {
            let at = &mut next[edge.from as usize];
            sorted[*at as usize] = *edge;
            *at += 1;
        }
        Order {
            kernels,
            copies,
            points: points.clone(),
            point_block: point_block.clone(),
            edges: sorted,
            first,
            rank: Vec::new(),
            ranked_first: Vec::new(),
            ranked_to: Vec::new(),
            is_whole: true,
            holds_always: edges.iter().all(|edge| edge.always),
        }
    }

    /// Ranks the nodes, those first that come first in the program.
    fn rank(&mut self) {
        let nodes = self.first.len() - 1;
        let mut waiting = vec![0u32; nodes];
        for edge in &self.edges {
            waiting[edge.to as usize] += 1;
        }
        let mut rank = vec![0; nodes];
        let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<u32>> =
            (0..nodes as u32).filter(|node| waiting[*node as usize] == 0).map(std::cmp::Reverse).collect();
        let mut order = Vec::with_capacity(nodes);
        while let Some(std::cmp::Reverse(node)) = ready.pop() {
            rank[node as usize] = order.len() as u32;
            order.push(node);
            for edge in
                &self.edges[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
            {
                waiting[edge.to as usize] -= 1;
                if waiting[edge.to as usize] == 0 {
                    ready.push(std::cmp::Reverse(edge.to));
                }
            }
        }
        if order.len() < nodes {
            return;
        }
        self.ranked_first = Vec::with_capacity(nodes + 1);
        self.ranked_to = Vec::with_capacity(self.edges.len());
        for &node in &order {
            self.ranked_first.push(self.ranked_to.len() as u32);
            let edges = self.first[node as usize] as usize..self.first[node as usize + 1] as usize;
            let always = self.edges[edges].iter().filter(|edge| edge.always);
            self.ranked_to.extend(always.map(|edge| rank[edge.to as usize]));
        }
        self.ranked_first.push(self.ranked_to.len() as u32);
        self.rank = rank;
    }
}
