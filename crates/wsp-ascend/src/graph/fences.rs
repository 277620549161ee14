//! Which fences a node needs before it starts.
//!
//! `DATA` edges carry what was written (document 000, section 9.3), and so do edges that stand for data: barriers, events, ranges that
//! overlap. `AFTER` only orders, unless a fence stands between its two ends in program order. Edges of one node take one fence
//! together, the strongest.
//!
//! An edge to a loop that runs at run time is one to nodes of its body: which of them, the plan says ([`Flow`]), and also what they must see of
//! earlier rounds. What a node that may do nothing would have made visible is made visible behind it; such a node is an arm's, or a loop that may
//! have no round.

use std::collections::HashMap;
use std::ops::Range;
use wsp_core::tg::image::{LoopKind, LoopRecord, NONE, NodeKind};
use wsp_core::tg::{FenceScope, Instr};
use wsp_ir::tg::TgModule;
use wsp_ordered::OrderedMap;
use wsp_tg::GraphPlan;
use wsp_tg::plan::{EdgeKind, Flow, FlowFrom};

/// A fence before a node, and the edges for which it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    pub(super) scope: FenceScope,
    /// Kinds of those edges.
    pub(super) reasons: Vec<(FenceScope, &'static str)>,
}

impl Fence {
    /// What it is for, for a comment.
    pub(super) fn why(&self) -> String {
        let mut names: Vec<&str> = self.reasons.iter().map(|(_, name)| *name).collect();
        names.dedup();
        names.join(", ")
    }
}

/// The fence before each node of a graph.
pub(super) fn fences(module: &TgModule, graph: &GraphPlan, flows: &[Flow]) -> Vec<Option<Fence>> {
    let places = Places::new(module);
    let nodes = graph.records.nodes.len();
    let mut walk =
        Walk { graph, instrs: instrs(graph), found: vec![None; nodes], passed: vec![None; nodes], places };
    for flow in flows {
        walk.flow(flow);
    }
    for node in in_order(graph) {
        walk.node(node);
    }
    walk.found
}

struct Walk<'g> {
    graph: &'g GraphPlan,
    /// The instruction of each node that has one.
    instrs: Vec<Option<u32>>,
    /// The fence before each node. Before a loop: what the edges to it make visible to nodes of its body.
    found: Vec<Option<Fence>>,
    /// Before a loop: what is made visible to whatever begins in it.
    passed: Vec<Option<Fence>>,
    places: Places,
}

impl Walk<'_> {
    fn flow(&mut self, flow: &Flow) {
        let place = &mut self.found[flow.dst as usize];
        let implied = implied(flow.kind);
        if let Some(scope) = implied {
            add(place, scope, flow.kind.name());
        }
        let crossed = self.instrs[flow.dst as usize].and_then(|to| self.places.crossed(flow.from, to));
        if let Some(scope) = crossed.filter(|scope| Some(*scope) > implied) {
            add(place, scope, "MC_FENCE");
        }
    }

    /// Passes on what a node has seen to those behind it.
    fn node(&mut self, node: usize) {
        let record = &self.graph.records.nodes[node];
        match NodeKind::from_code(record.kind) {
            Some(NodeKind::Loop) => self.enter(record.item as usize),
            Some(NodeKind::LoopEnd) => self.leave(node, record.item as usize),
            kind => {
                let passes = record.guard != NONE || !kind.is_some_and(NodeKind::is_handed_out);
                let passed = self.found[node].clone().filter(|_| passes);
                let is_point = kind == Some(NodeKind::Join);
                self.edges(node, passed.as_ref(), is_point);
            }
        }
    }

    fn enter(&mut self, at: usize) {
        let record = self.graph.records.loops[at];
        let Some(passed) = self.passed[record.node as usize].clone() else { return };
        for node in first_of(self.graph, &record) {
            match self.graph.records.nodes[node].kind == NodeKind::Loop as u32 {
                true => merge(&mut self.passed[node], &passed),
                false => merge(&mut self.found[node], &passed),
            }
        }
    }

    fn leave(&mut self, end: usize, at: usize) {
        let record = self.graph.records.loops[at];
        let mut passed = self.found[end].clone();
        if may_have_no_round(self.graph, &record) {
            let node = record.node as usize;
            for fence in [self.found[node].clone(), self.passed[node].clone()].into_iter().flatten() {
                merge(&mut passed, &fence);
            }
        }
        self.edges(record.node as usize, passed.as_ref(), false);
    }

    /// Goes through the edges from a node.
    fn edges(&mut self, node: usize, passed: Option<&Fence>, is_point: bool) {
        let record = &self.graph.records.nodes[node];
        for edge in record.first as usize..record.end as usize {
            let to = self.graph.records.succs[edge] as usize;
            let kind = self.graph.edges.get(edge).copied().unwrap_or(EdgeKind::Data);
            let implied = implied(kind);
            if let Some(scope) = implied {
                add(&mut self.found[to], scope, kind.name());
            }
            if let (Some(from), Some(at)) = (self.instrs[node], self.instrs[to])
                && kind != EdgeKind::Carried
                && let Some(scope) = self.places.crossed(FlowFrom::Before(from), at)
                && Some(scope) > implied
            {
                add(&mut self.found[to], scope, "MC_FENCE");
            }
            if self.graph.records.nodes[to].kind != NodeKind::Loop as u32 {
                passed.into_iter().for_each(|fence| merge(&mut self.found[to], fence));
                continue;
            }
            // Which nodes of the body an edge is for, flows say; what nodes before it would have seen, all that begins in it must see.
            if kind == EdgeKind::Notify {
                add(&mut self.passed[to], FenceScope::Gm, kind.name());
            }
            for &(scope, reason) in passed.iter().flat_map(|fence| &fence.reasons) {
                if !(is_point && reason == kind.name()) {
                    add(&mut self.passed[to], scope, reason);
                }
            }
        }
    }
}

/// Where explicit fences stand, and where loops end.
struct Places {
    /// Instructions, in order, by scope.
    fences: OrderedMap<FenceScope, Vec<u32>>,
    /// The instruction that ends each loop, by the one that begins it.
    ends: HashMap<u32, u32>,
}

impl Places {
    fn new(module: &TgModule) -> Places {
        let mut places = Places { fences: OrderedMap::new(), ends: HashMap::new() };
        let mut open = Vec::new();
        for (at, instr) in (0..).zip(&module.instrs) {
            match instr {
                Instr::McFence { scope } => places.fences.entry(*scope).or_default().push(at),
                Instr::CfLoop { .. } | Instr::CfWhile { .. } => open.push(at),
                Instr::CfEndloop {} | Instr::CfEndwhile {} => {
                    places.ends.extend(open.pop().map(|begin| (begin, at)));
                }
                _ => {}
            }
        }
        places
    }

    /// The strongest fence between two ends.
    fn crossed(&self, from: FlowFrom, to: u32) -> Option<FenceScope> {
        match from {
            FlowFrom::Before(from) => self.strongest(from..to),
            FlowFrom::Round { instr: u32::MAX, .. } => None,
            FlowFrom::Round { instr, from } => {
                let end = self.ends.get(&instr).copied().unwrap_or(u32::MAX);
                match from {
                    u32::MAX => self.strongest(instr..end),
                    // From the first end to the end of its round, and from the begin of the later one to the second end.
                    from => self.strongest(from.max(instr)..end).max(self.strongest(instr..to.min(end))),
                }
            }
        }
    }

    /// The strongest fence among some instructions.
    fn strongest(&self, instrs: Range<u32>) -> Option<FenceScope> {
        let stands_there = |fences: &[u32]| {
            let next = fences.partition_point(|at| *at < instrs.start);
            fences.get(next).is_some_and(|at| *at < instrs.end)
        };
        let found = self.fences.iter().rev().find(|(_, fences)| stands_there(fences));
        found.map(|(scope, _)| *scope)
    }
}

fn add(place: &mut Option<Fence>, scope: FenceScope, reason: &'static str) {
    let fence = place.get_or_insert(Fence { scope, reasons: Vec::new() });
    fence.scope = fence.scope.max(scope);
    if !fence.reasons.contains(&(scope, reason)) {
        fence.reasons.push((scope, reason));
        fence.reasons.sort_unstable_by_key(|&(scope, reason)| (reason, scope));
    }
}

fn merge(place: &mut Option<Fence>, other: &Fence) {
    other.reasons.iter().for_each(|&(scope, reason)| add(place, scope, reason));
}

/// How far an edge makes visible what was written before it.
fn implied(kind: EdgeKind) -> Option<FenceScope> {
    match kind {
        EdgeKind::Notify => Some(FenceScope::Gm),
        kind => kind.shows().then_some(FenceScope::Device),
    }
}

/// The instruction of each node that has one.
fn instrs(graph: &GraphPlan) -> Vec<Option<u32>> {
    let mut instrs = vec![None; graph.records.nodes.len()];
    let mut set = |node: u32, instr: u32| {
        if let Some(place) = instrs.get_mut(node as usize) {
            *place = Some(instr);
        }
    };
    for kernel in &graph.kernels {
        if let Some(def) = graph.defs.get(kernel.def as usize) {
            set(kernel.node, def.instr);
        }
    }
    graph.copies.iter().for_each(|copy| set(copy.node, copy.instr));
    graph.frees.iter().for_each(|free| set(free.node, free.instr));
    graph.notifies.iter().chain(&graph.notify_waits).for_each(|notify| set(notify.node, notify.instr));
    instrs
}

/// Whether the body of a loop may not run at all.
fn may_have_no_round(graph: &GraphPlan, record: &LoopRecord) -> bool {
    let is_guarded = graph.records.nodes[record.node as usize].guard != NONE;
    let count =
        graph.conditions.get(record.condition as usize).and_then(|condition| condition.value.as_const());
    is_guarded || record.kind == LoopKind::While as u32 || count.is_none_or(|count| count <= 0)
}

/// Nodes of a loop's body that come behind no other of it.
fn first_of<'g>(graph: &'g GraphPlan, record: &LoopRecord) -> impl Iterator<Item = usize> + 'g {
    let body = record.body.first as usize..(record.body.first + record.body.len) as usize;
    body.filter(|&node| graph.records.needs.get(node) == Some(&0))
}

/// Nodes, each behind its predecessors, a body behind the node of its loop, and what is behind a loop behind the end of its body; those on a cycle
/// last.
fn in_order(graph: &GraphPlan) -> Vec<usize> {
    let records = &graph.records;
    let mut open = records.needs.clone();
    for record in &records.loops {
        first_of(graph, record).for_each(|node| open[node] += 1);
    }
    let mut order: Vec<usize> = (0..records.nodes.len()).filter(|at| open.get(*at) == Some(&0)).collect();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        let record = &records.nodes[node];
        let next: Vec<usize> = match NodeKind::from_code(record.kind) {
            Some(NodeKind::Loop) => first_of(graph, &records.loops[record.item as usize]).collect(),
            kind => {
                let from = match kind {
                    Some(NodeKind::LoopEnd) => {
                        &records.nodes[records.loops[record.item as usize].node as usize]
                    }
                    _ => record,
                };
                let succs = &records.succs[from.first as usize..from.end as usize];
                succs.iter().map(|&to| to as usize).collect()
            }
        };
        for to in next {
            open[to] -= 1;
            if open[to] == 0 {
                order.push(to);
            }
        }
    }
    order
}
