//! What a graph of a unit amounts to.

use super::UnitGraph;
use wsp_core::tg::image::NodeKind;
use wsp_ordered::OrderedMap;

/// The statistics of a graph. Levels and paths count kernels; of a loop that runs at run time one iteration counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphStats {
    /// Its name.
    pub name: String,
    /// Kernels; those of unrolled loops once for each iteration.
    pub kernels: u64,
    /// Their blocks.
    pub blocks: u64,
    /// Copies.
    pub copies: u64,
    /// Loops that run at run time.
    pub loops: u64,
    /// Edges by kind, in the order of their names.
    pub edges: OrderedMap<&'static str, u64>,
    /// Kernels on the longest path; none of a graph with a cycle, whose nodes wait for each other.
    pub critical_path: Option<u64>,
    /// Kernels of the level that has most: those that as many kernels precede on the longest path to them.
    pub widest: u64,
    /// Bytes that it allocates for each launch.
    pub allocated: u64,
    /// Bytes of workspace of all its kernels.
    pub workspace: u64,
}

impl GraphStats {
    /// Of a graph: linear in its nodes and edges.
    pub fn of(graph: &UnitGraph) -> GraphStats {
        let count = |kind: NodeKind| graph.nodes.iter().filter(|node| node.kind == kind).count() as u64;
        let mut edges = OrderedMap::new();
        for edge in &graph.edges {
            *edges.entry(edge.kind_name()).or_insert(0) += 1;
        }
        let blocks = graph.nodes.iter().filter_map(|node| node.kernel.as_ref());
        let paths = Paths::of(graph);
        GraphStats {
            name: graph.name.clone(),
            kernels: count(NodeKind::Kernel),
            blocks: blocks.map(|(_, _, blocks)| u64::from(*blocks)).sum(),
            copies: count(NodeKind::Copy),
            loops: graph.loops.len() as u64,
            edges,
            critical_path: paths.complete.then(|| paths.longest(None)),
            widest: paths.widest(),
            allocated: graph.allocated,
            workspace: graph.workspace,
        }
    }
}

/// Longest paths.
struct Paths<'g> {
    graph: &'g UnitGraph,
    /// Kernels on the longest path that ends with each node, counted within its body.
    end: Vec<u64>,
    /// Whether there is no cycle.
    complete: bool,
}

impl<'g> Paths<'g> {
    fn of(graph: &'g UnitGraph) -> Paths<'g> {
        let mut paths = Paths { graph, end: vec![0; graph.nodes.len()], complete: true };
        let (first, after, mut waiting) = successors(graph);
        let mut members: OrderedMap<Option<u32>, Vec<u32>> = OrderedMap::new();
        for (id, node) in (0u32..).zip(&graph.nodes) {
            members.entry(node.body).or_default().push(id);
        }
        // Bodies stand behind the levels around them, so the innermost come last; outside of loops is the first.
        for members in members.values().rev() {
            let mut ready: Vec<u32> = members.iter().copied().filter(|&n| waiting[n as usize] == 0).collect();
            let mut done = 0;
            while let Some(node) = ready.pop() {
                done += 1;
                paths.end[node as usize] += paths.length(node);
                let range = first[node as usize] as usize..first[node as usize + 1] as usize;
                for &next in &after[range] {
                    let at = next as usize;
                    paths.end[at] = paths.end[at].max(paths.end[node as usize]);
                    waiting[at] -= 1;
                    if waiting[at] == 0 {
                        ready.push(next);
                    }
                }
            }
            paths.complete &= done == members.len();
        }
        paths
    }

    /// What a node adds to a path: a kernel 1, a loop what one iteration of its body has.
    fn length(&self, node: u32) -> u64 {
        match self.graph.nodes[node as usize].kind {
            NodeKind::Kernel => 1,
            NodeKind::Loop => {
                let body = self.graph.loops.iter().position(|&own| own == node);
                body.map_or(0, |body| self.longest(Some(body as u32)))
            }
            _ => 0,
        }
    }

    /// The longest path of a body, or of the graph outside of loops.
    fn longest(&self, body: Option<u32>) -> u64 {
        let nodes = self.graph.nodes.iter().zip(&self.end);
        nodes.filter(|(node, _)| node.body == body).map(|(_, end)| *end).max().unwrap_or(0)
    }

    fn widest(&self) -> u64 {
        let mut levels: OrderedMap<(Option<u32>, u64), u64> = OrderedMap::new();
        for (node, end) in self.graph.nodes.iter().zip(&self.end) {
            if node.kind == NodeKind::Kernel {
                *levels.entry((node.body, *end)).or_insert(0) += 1;
            }
        }
        levels.into_values().max().unwrap_or(0)
    }
}

/// Successors of each node as ranges of a list, and how many edges lead to each. Hints order nothing.
fn successors(graph: &UnitGraph) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; graph.nodes.len() + 1];
    let mut needs = vec![0u32; graph.nodes.len()];
    let ordering = || graph.edges.iter().filter(|edge| edge.kind.is_some());
    for edge in ordering() {
        first[edge.src as usize + 1] += 1;
        needs[edge.dst as usize] += 1;
    }
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    // Edges stand by source.
    (first, ordering().map(|edge| edge.dst).collect(), needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{UnitEdge, UnitNode};
    use wsp_core::tg::CoreType;
    use wsp_tg::plan::EdgeKind;

    fn graph(kinds: &[(NodeKind, Option<u32>)], edges: &[(u32, u32)], loops: &[u32]) -> UnitGraph {
        let node = |&(kind, body): &(NodeKind, Option<u32>)| UnitNode {
            kind,
            name: String::new(),
            kernel: (kind == NodeKind::Kernel).then(|| (String::new(), CoreType::Aic, 3)),
            body,
        };
        let edge = |&(src, dst): &(u32, u32)| UnitEdge { src, dst, kind: Some(EdgeKind::After) };
        UnitGraph {
            name: "G".to_owned(),
            nodes: kinds.iter().map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            loops: loops.to_vec(),
            allocated: 0,
            workspace: 0,
        }
    }

    #[test]
    fn a_diamond_is_two_wide_and_three_long() {
        let kernel = (NodeKind::Kernel, None);
        let mut diamond = graph(&[kernel; 4], &[(0, 1), (0, 2), (1, 3), (2, 3)], &[]);
        diamond.edges.push(UnitEdge { src: 3, dst: 0, kind: None });
        let stats = GraphStats::of(&diamond);
        assert_eq!((stats.kernels, stats.blocks, stats.widest), (4, 12, 2));
        assert_eq!((stats.critical_path, stats.edges["after"], stats.edges["soft"]), (Some(3), 4, 1));
    }

    #[test]
    fn of_a_loop_one_iteration_counts() {
        let (top, body, inner) = (None, Some(0), Some(1));
        let nested = graph(
            &[
                (NodeKind::Kernel, top),
                (NodeKind::Loop, top),
                (NodeKind::Kernel, body),
                (NodeKind::Loop, body),
                (NodeKind::LoopEnd, body),
                (NodeKind::Kernel, inner),
                (NodeKind::Kernel, inner),
                (NodeKind::LoopEnd, inner),
            ],
            &[(0, 1), (2, 3), (3, 4), (5, 6), (6, 7)],
            &[1, 3],
        );
        let stats = GraphStats::of(&nested);
        assert_eq!((stats.critical_path, stats.widest, stats.loops), (Some(1 + 1 + 2), 1, 2));
    }

    #[test]
    fn a_cycle_has_no_longest_path() {
        let kernel = (NodeKind::Kernel, None);
        assert_eq!(GraphStats::of(&graph(&[kernel; 2], &[(0, 1), (1, 0)], &[])).critical_path, None);
        assert_eq!(GraphStats::of(&graph(&[], &[], &[])).critical_path, Some(0));
    }
}
