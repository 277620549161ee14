//! Which fences a node needs before it starts.
//!
//! `DATA` edges carry what was written (document 000, section 9.3), and so do edges that stand for data: barriers, events, ranges that
//! overlap. `AFTER` only orders, unless a fence stands between its two ends in program order. Edges of one node take one fence
//! together, the strongest.

use wsp_core::tg::image::{NONE, NodeKind, NodeRecord};
use wsp_core::tg::{FenceScope, Instr};
use wsp_ir::tg::TgModule;
use wsp_plan::tg::GraphPlan;
use wsp_plan::tg::plan::EdgeKind;

/// A fence before a node, and the edges for which it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fence {
    pub(super) scope: FenceScope,
    /// Kinds of those edges.
    pub(super) reasons: Vec<&'static str>,
}

/// The fence before each node of a graph.
pub(super) fn fences(module: &TgModule, graph: &GraphPlan) -> Vec<Option<Fence>> {
    let explicit = explicit(module);
    let instrs = instrs(graph);
    let nodes = &graph.records.nodes;
    let mut found: Vec<Option<Fence>> = vec![None; nodes.len()];
    for node in in_order(graph) {
        // What a node that may do nothing would have made visible is made visible after it.
        let passed = found[node].clone().filter(|_| passes_on(&nodes[node]));
        let edges = nodes[node].first as usize..nodes[node].end as usize;
        for edge in edges {
            let to = graph.records.succs[edge] as usize;
            let kind = graph.edges.get(edge).copied().unwrap_or(EdgeKind::Data);
            let crossed = match (instrs[node], instrs[to]) {
                (Some(from), Some(to)) => {
                    explicit.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, scope)| *scope).max()
                }
                _ => None,
            };
            if let Some(scope) = crossed.filter(|scope| Some(*scope) > implied(kind)) {
                add(&mut found[to], scope, "MC_FENCE");
            }
            if let Some(scope) = implied(kind) {
                add(&mut found[to], scope, kind.name());
            }
            for (scope, reason) in
                passed.iter().flat_map(|f| f.reasons.iter().map(|reason| (f.scope, *reason)))
            {
                add(&mut found[to], scope, reason);
            }
        }
    }
    found
}

fn add(place: &mut Option<Fence>, scope: FenceScope, reason: &'static str) {
    let fence = place.get_or_insert(Fence { scope, reasons: Vec::new() });
    fence.scope = fence.scope.max(scope);
    if !fence.reasons.contains(&reason) {
        fence.reasons.push(reason);
        fence.reasons.sort_unstable();
    }
}

/// How far an edge makes visible what was written before it.
fn implied(kind: EdgeKind) -> Option<FenceScope> {
    match kind {
        EdgeKind::Data | EdgeKind::Barrier | EdgeKind::Event | EdgeKind::Carried | EdgeKind::Range => {
            Some(FenceScope::Device)
        }
        EdgeKind::Notify => Some(FenceScope::Gm),
        EdgeKind::After | EdgeKind::Control | EdgeKind::Checkpoint => None,
    }
}

/// Whether a node never starts anything, or may be skipped.
fn passes_on(node: &NodeRecord) -> bool {
    node.guard != NONE || !NodeKind::from_code(node.kind).is_some_and(NodeKind::is_handed_out)
}

/// Fences and where they stand.
fn explicit(module: &TgModule) -> Vec<(u32, FenceScope)> {
    let fence = |(at, instr): (usize, &Instr)| match *instr {
        Instr::McFence { scope } => Some((at as u32, scope)),
        _ => None,
    };
    module.instrs.iter().enumerate().filter_map(fence).collect()
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

/// Nodes, each behind its predecessors; those on a circle last.
fn in_order(graph: &GraphPlan) -> Vec<usize> {
    let nodes = &graph.records.nodes;
    let mut open = graph.records.needs.clone();
    let mut order: Vec<usize> = (0..nodes.len()).filter(|at| open.get(*at) == Some(&0)).collect();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        for edge in nodes[node].first as usize..nodes[node].end as usize {
            let to = graph.records.succs[edge] as usize;
            open[to] -= 1;
            if open[to] == 0 {
                order.push(to);
            }
        }
    }
    order
}
