//! What a picture of a graph shows beside its edges: bodies hang in their loops, arms on their decisions, and edges name their tensors.

use super::{UnitEdge, UnitGraph};
use wsp_core::tg::image::{GuardRecord, NONE, NodeKind, WHEN_NONZERO};
use wsp_core::tg::{Direction, ExprOp};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};
use wsp_tg::plan::EdgeKind;
use wsp_tg::{GraphPlan, UnitPlan};

/// An edge of a picture.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DrawnEdge {
    /// The node that comes first.
    pub src: u32,
    /// The node that comes behind it.
    pub dst: u32,
    /// The kind of the edge and its tensors; `round`, `next round`, `then` or `else` for what control flow starts.
    pub label: String,
    /// Whether nothing waits for it: a hint, or the way back to the begin of a loop.
    pub is_loose: bool,
}

/// What a node does with a tensor.
#[derive(Clone, Copy, Default, Debug)]
struct Touch {
    reads: bool,
    writes: bool,
}

/// A graph as it is drawn.
#[derive(Debug)]
struct Picture<'g> {
    graph: &'g UnitGraph,
    /// Of each node the tensors that it touches, by name; a loop touches what its body touches.
    touches: Vec<OrderedMap<String, Touch>>,
    /// Of each node the arms in which it stands, the innermost first: the node that decides, and the outcomes for which the arm runs.
    arms: Vec<Vec<(u32, u32)>>,
}

/// The edges of a picture of the graph at a place of the plan.
pub fn drawn_edges(plan: &UnitPlan, at: usize, graph: &UnitGraph) -> Vec<DrawnEdge> {
    let source = &plan.graphs[at];
    let picture = Picture { graph, touches: touches(plan, source), arms: arms(source) };
    let mut drawn = picture.nested(source);
    let nested: OrderedSet<(u32, u32)> = drawn.iter().map(|edge| (edge.src, edge.dst)).collect();
    for edge in picture.edges() {
        // The edge of its arm says what a decision decides.
        if edge.kind != Some(EdgeKind::Control) || !nested.contains(&(edge.src, edge.dst)) {
            drawn.push(picture.drawn(&edge));
        }
    }
    drawn.arrange();
    drawn
}

impl Picture<'_> {
    /// Tensors that both ends of an edge touch and one of them writes; of an edge for data those that it carries.
    fn tensors_of(&self, edge: &UnitEdge) -> Vec<&str> {
        let (src, dst) = (&self.touches[edge.src as usize], &self.touches[edge.dst as usize]);
        let is_common = |(name, from): &(&String, &Touch)| {
            dst.get(*name).is_some_and(|to| match edge.kind {
                Some(EdgeKind::Data) => from.writes && to.reads,
                _ => from.writes || to.writes,
            })
        };
        src.iter().filter(is_common).map(|(name, _)| name.as_str()).collect()
    }

    fn drawn(&self, edge: &UnitEdge) -> DrawnEdge {
        let names = !matches!(edge.kind, Some(EdgeKind::Control | EdgeKind::Checkpoint));
        let mut label = edge.kind_name().to_owned();
        let tensors = self.tensors_of(edge);
        if names && !tensors.is_empty() {
            label = format!("{label} {}", tensors.join(", "));
        }
        DrawnEdge { src: edge.src, dst: edge.dst, label, is_loose: edge.kind.is_none() }
    }

    /// Whether at most one of two nodes runs.
    fn exclude(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.arms[a as usize], &self.arms[b as usize]);
        a.iter().any(|(decision, when)| b.iter().any(|(other, also)| decision == other && when & also == 0))
    }

    /// The edges of the graph without those between the two arms of a decision, of which at most one end runs. The second end comes behind what
    /// the first comes behind and shares tensors with it.
    fn edges(&self) -> Vec<UnitEdge> {
        let is_shown = |edge: &UnitEdge| edge.kind.is_none() || !self.exclude(edge.src, edge.dst);
        let (mut shown, hidden): (Vec<UnitEdge>, Vec<UnitEdge>) =
            self.graph.edges.iter().copied().partition(is_shown);
        let mut before: OrderedMap<u32, Vec<UnitEdge>> = OrderedMap::new();
        if !hidden.is_empty() {
            let waited = self.graph.edges.iter().filter(|edge| edge.kind.is_some());
            waited.for_each(|edge| before.entry(edge.dst).or_default().push(*edge));
        }
        for hidden in &hidden {
            let (mut open, mut seen) = (vec![hidden.src], OrderedSet::from([hidden.src]));
            while let Some(node) = open.pop() {
                for edge in before.get(&node).into_iter().flatten() {
                    let over = UnitEdge { dst: hidden.dst, ..*edge };
                    if self.exclude(edge.src, hidden.dst) {
                        if seen.insert(edge.src) {
                            open.push(edge.src);
                        }
                    } else if !self.tensors_of(&over).is_empty() {
                        shown.push(over);
                    }
                }
            }
        }
        shown.arrange();
        shown.dedup_by_key(|edge| (edge.src, edge.dst));
        shown
    }

    /// What loops and decisions start.
    fn nested(&self, source: &GraphPlan) -> Vec<DrawnEdge> {
        let records = &source.records;
        let edge = |src: u32, dst: u32, label: &str| DrawnEdge {
            src,
            dst,
            label: label.to_owned(),
            is_loose: label == "next round",
        };
        let mut nested = Vec::new();
        for record in &records.loops {
            let end = (record.body.first + record.body.len).saturating_sub(1);
            let body = record.body.first..record.body.first + record.body.len;
            let first = body.filter(|&node| records.needs[node as usize] == 0);
            nested.extend(first.map(|dst| edge(record.node, dst, "round")));
            nested.push(edge(end, record.node, "next round"));
        }
        let mut behind = vec![false; self.graph.nodes.len()];
        for edge in self.graph.edges.iter().filter(|edge| edge.kind.is_some()) {
            let arm = self.arms[edge.dst as usize].first();
            behind[edge.dst as usize] |= arm.is_some_and(|arm| self.arms[edge.src as usize].contains(arm));
        }
        // The first nodes of an arm hang on the decision: those behind no other of it.
        for (node, arms) in (0u32..).zip(&self.arms).filter(|(node, _)| !behind[*node as usize]) {
            let Some(&(decision, when)) = arms.first() else { continue };
            if self.graph.nodes[decision as usize].kind == NodeKind::Decide {
                nested.push(edge(decision, node, if when & WHEN_NONZERO != 0 { "then" } else { "else" }));
            }
        }
        nested
    }
}

/// Of each node the arms in which it stands, the innermost first.
fn arms(graph: &GraphPlan) -> Vec<Vec<(u32, u32)>> {
    let records = &graph.records;
    let mut decider = vec![NONE; records.guards.len()];
    for (node, record) in (0u32..).zip(&records.nodes) {
        if matches!(NodeKind::from_code(record.kind), Some(NodeKind::Decide | NodeKind::Break)) {
            let decision = records.decisions[record.item as usize];
            decider[decision.first as usize..(decision.first + decision.len) as usize].fill(node);
        }
    }
    let of = |mut guard: u32| {
        let mut arms = Vec::new();
        while guard != NONE {
            let GuardRecord { parent, when } = records.guards[guard as usize];
            arms.push((decider[guard as usize], when));
            guard = parent;
        }
        arms
    };
    records.nodes.iter().map(|node| of(node.guard)).collect()
}

/// Of each node the tensors that it touches.
fn touches(plan: &UnitPlan, graph: &GraphPlan) -> Vec<OrderedMap<String, Touch>> {
    let records = &graph.records;
    let mut touches: Vec<OrderedMap<String, Touch>> = vec![OrderedMap::new(); records.nodes.len()];
    let mut touch = |node: u32, tensor: u32, direction: Direction| {
        let name = plan.tensors[tensor as usize].name.clone();
        let touch = touches[node as usize].entry(name).or_default();
        touch.reads |= direction != Direction::Out;
        touch.writes |= direction != Direction::In;
    };
    for kernel in &graph.kernels {
        for bind in graph.binds_of(kernel) {
            let tensors = graph.tensors_of(&bind.tensor).iter();
            tensors.for_each(|&tensor| touch(kernel.node, tensor, bind.direction));
        }
    }
    for copy in &graph.copies {
        touch(copy.node, copy.src, Direction::In);
        touch(copy.node, copy.dst, Direction::Out);
    }
    graph.frees.iter().for_each(|free| touch(free.node, free.tensor, Direction::InOut));
    for (node, record) in (0u32..).zip(&records.nodes) {
        let condition = match NodeKind::from_code(record.kind) {
            Some(NodeKind::Decide | NodeKind::Break) => records.decisions[record.item as usize].condition,
            Some(NodeKind::Loop) => records.loops[record.item as usize].condition,
            _ => continue,
        };
        let value = graph.conditions[condition as usize].value;
        for op in graph.expr(value).iter().take_while(|op| **op != ExprOp::End) {
            if let ExprOp::Load(tensor, _) = op {
                touch(node, tensor.0, Direction::In);
            }
        }
    }
    // Bodies of inner loops come behind those of the loops around them.
    for record in records.loops.iter().rev() {
        let body = record.body.first as usize..(record.body.first + record.body.len) as usize;
        for node in body {
            for (name, Touch { reads, writes }) in touches[node].clone() {
                let touch = touches[record.node as usize].entry(name).or_default();
                touch.reads |= reads;
                touch.writes |= writes;
            }
        }
    }
    touches
}
