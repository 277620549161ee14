//! The graphs of a unit as they run: nodes and the edges between them.

use crate::plan::EdgeKind;
use crate::{GraphPlan, UnitPlan};
use wsp_core::tg::CoreType;
use wsp_core::tg::image::{NONE, NodeKind};
use wsp_ordered::Arrange;

/// A node of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitNode {
    /// What it is.
    pub kind: NodeKind,
    /// Its name: that of the kernel with the numbers of unrolled loops around it, `copy.0`, …
    pub name: String,
    /// Entry symbol, cores and blocks of a kernel.
    pub kernel: Option<(String, CoreType, u32)>,
    /// The loop that runs at run time in whose body it stands.
    pub body: Option<u32>,
}

/// An edge of a graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnitEdge {
    /// The node that comes first.
    pub src: u32,
    /// The node that waits.
    pub dst: u32,
    /// Why; none of a hint, which nobody waits for.
    pub kind: Option<EdgeKind>,
}

impl UnitEdge {
    /// The name of its kind.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or("soft", EdgeKind::name)
    }
}

/// A graph of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitGraph {
    /// Its name.
    pub name: String,
    /// Its nodes: those outside of loops that run at run time first.
    pub nodes: Vec<UnitNode>,
    /// Its edges, by source, then destination. An edge joins nodes of one body.
    pub edges: Vec<UnitEdge>,
    /// Of each loop that runs at run time, its node; bodies stand in the order of their loops.
    pub loops: Vec<u32>,
    /// Bytes that it allocates for each launch.
    pub allocated: u64,
    /// Bytes of workspace of all its kernels.
    pub workspace: u64,
}

impl UnitGraph {
    /// The graphs of a plan.
    pub fn all(plan: &UnitPlan) -> Vec<UnitGraph> {
        (0u32..).zip(&plan.graphs).map(|(at, graph)| UnitGraph::of(plan, at, graph)).collect()
    }

    fn of(plan: &UnitPlan, at: u32, graph: &GraphPlan) -> UnitGraph {
        let records = &graph.records;
        let mut nodes: Vec<UnitNode> = records
            .nodes
            .iter()
            .map(|node| {
                let kind = NodeKind::from_code(node.kind).unwrap_or(NodeKind::Join);
                let (name, kernel) = describe(plan, graph, kind, node.item);
                UnitNode { kind, name, kernel, body: None }
            })
            .collect();
        for (body, record) in (0u32..).zip(&records.loops) {
            let first = record.body.first as usize;
            for node in &mut nodes[first..first + record.body.len as usize] {
                node.body = Some(body);
            }
        }
        let mut edges = Vec::with_capacity(records.succs.len());
        for (src, node) in (0u32..).zip(&records.nodes) {
            for succ in node.first..node.end {
                let kind = graph.edges.get(succ as usize).copied();
                edges.push(UnitEdge { src, dst: records.succs[succ as usize], kind });
            }
        }
        edges.extend(graph.soft.iter().map(|&(src, dst)| UnitEdge { src, dst, kind: None }));
        edges.arrange();
        let own = plan.tensors.iter().filter(|tensor| tensor.graph == Some(at));
        UnitGraph {
            name: graph.name.clone(),
            nodes,
            edges,
            loops: records.loops.iter().map(|l| l.node).collect(),
            allocated: own.filter_map(|tensor| tensor.bytes).fold(0, u64::saturating_add),
            workspace: graph.defs.iter().fold(0, |sum: u64, def| sum.saturating_add(def.workspace)),
        }
    }
}

/// The name of a node, and what is particular to a kernel.
fn describe(
    plan: &UnitPlan,
    graph: &GraphPlan,
    kind: NodeKind,
    item: u32,
) -> (String, Option<(String, CoreType, u32)>) {
    let at = item as usize;
    let event = |no| match plan.events.iter().find(|event| event.no == no) {
        Some(event) => event.name.clone(),
        None => String::new(),
    };
    let name = match kind {
        NodeKind::Kernel => {
            let kernel = &graph.kernels[at];
            let def = &graph.defs[kernel.def as usize];
            let blocks =
                kernel.batch.iter().map(|&k| graph.defs[graph.kernels[k as usize].def as usize].block_dim);
            let blocks = blocks.fold(def.block_dim, u32::saturating_add);
            return (graph.kernel_name(item), Some((def.entry.clone(), def.core_type, blocks)));
        }
        NodeKind::Copy => format!("copy.{}", graph.copies[at].copy),
        NodeKind::Free => format!("free {}", plan.tensors[graph.frees[at].tensor as usize].name),
        NodeKind::Notify => format!("notify {}", graph.notifies[at].notify.0),
        NodeKind::WaitNotify => format!("wait for notification {}", graph.notify_waits[at].notify.0),
        NodeKind::WaitEvent => format!("wait for {}", event(graph.event_waits[at].event)),
        NodeKind::Signal => format!("signal {}", event(graph.signals[at].event)),
        NodeKind::Checkpoint => format!("checkpoint {}", graph.checkpoints[at].checkpoint.0),
        NodeKind::Join => "join".to_owned(),
        NodeKind::Decide => "if".to_owned(),
        NodeKind::Break => "break".to_owned(),
        NodeKind::Loop => format!("loop {item}"),
        NodeKind::LoopEnd => format!("end of loop {item}"),
    };
    debug_assert!(item != NONE || kind == NodeKind::Join, "only joins have no item");
    (name, None)
}
