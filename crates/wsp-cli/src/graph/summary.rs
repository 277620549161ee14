//! What a graph amounts to: sizes, depth, width and fans.

use super::Graph;
use wsp_ir::workload::ExecPool;

/// The statistics of a graph. Levels and paths count tasks; barrier nodes lie on paths and have no length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Tasks, barrier nodes left out.
    pub tasks: u64,
    /// Barrier nodes.
    pub barrier_nodes: u64,
    /// Edges with multiplicity.
    pub edges: u64,
    /// Pairs of tasks, or barrier nodes, with an edge.
    pub distinct_edges: u64,
    /// Tasks and barrier nodes to which no edge leads.
    pub roots: u64,
    /// Tasks and barrier nodes from which no edge leads.
    pub leaves: u64,
    /// Tasks on the longest path.
    pub critical_path: u64,
    /// The level with the most tasks, the first of equals; none without tasks.
    pub widest: Option<Widest>,
    /// The most edges, each pair once, that lead to one task or barrier node; none without edges.
    pub fan_in: Option<Fan>,
    /// The most that lead from one.
    pub fan_out: Option<Fan>,
    /// Tasks of each kernel that has any, in the order of the program.
    pub kernels: Vec<KernelCount>,
}

/// A level: the tasks that as many tasks precede on the longest path to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Widest {
    /// How many precede.
    pub level: u64,
    /// Tasks in it.
    pub tasks: u64,
}

/// A fan, in or out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fan {
    /// Edges.
    pub edges: u64,
    /// The first task that has so many.
    pub task: u32,
    /// Its kernel.
    pub kernel: String,
}

/// Tasks of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelCount {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub unit: ExecPool,
    /// How many.
    pub tasks: u64,
}

/// Hazards of overlapping regions that a graph has no edge for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// How many pairs of tasks.
    pub count: u64,
    /// The first, in words.
    pub first: String,
}

impl Summary {
    /// Of a graph: one pass over its tasks and one over its edges.
    pub fn of(graph: &Graph) -> Summary {
        let order = graph.order_kernels();
        let is_task = |id: usize| !order[graph.tasks()[id] as usize];
        let walk = Walk::over(graph, &is_task);
        let counted = count_kernels(graph);
        let kernels: Vec<KernelCount> = graph
            .kernels()
            .iter()
            .zip(&counted)
            .zip(&order)
            .filter(|((_, tasks), order)| **tasks > 0 && !**order)
            .map(|((k, tasks), _)| KernelCount { name: k.name.clone(), unit: k.unit, tasks: *tasks })
            .collect();
        let tasks: u64 = kernels.iter().map(|k| k.tasks).sum();
        Summary {
            tasks,
            barrier_nodes: graph.tasks().len() as u64 - tasks,
            edges: graph.edges().len() as u64,
            distinct_edges: walk.fan_in.iter().map(|&n| u64::from(n)).sum(),
            roots: zeros(&walk.fan_in),
            leaves: zeros(&walk.fan_out),
            critical_path: walk.end.iter().copied().max().unwrap_or(0).into(),
            widest: widest(&walk.end, &is_task),
            fan_in: fan(graph, &walk.fan_in),
            fan_out: fan(graph, &walk.fan_out),
            kernels,
        }
    }
}

/// What one pass over the edges finds for each node.
struct Walk {
    /// Distinct edges to it.
    fan_in: Vec<u32>,
    /// Distinct edges from it.
    fan_out: Vec<u32>,
    /// Tasks on the longest path that ends with it.
    end: Vec<u32>,
}

impl Walk {
    /// Edges lead forward and stand in order of their sources, so a node's longest path is known before it is used.
    fn over(graph: &Graph, is_task: &impl Fn(usize) -> bool) -> Walk {
        let count = graph.tasks().len();
        let mut walk = Walk {
            fan_in: vec![0; count],
            fan_out: vec![0; count],
            end: (0..count).map(|id| u32::from(is_task(id))).collect(),
        };
        for ((src, dst), _) in graph.distinct_edges() {
            let (src, dst) = (src as usize, dst as usize);
            walk.fan_out[src] += 1;
            walk.fan_in[dst] += 1;
            let through = walk.end[src] + u32::from(is_task(dst));
            walk.end[dst] = walk.end[dst].max(through);
        }
        walk
    }
}

fn count_kernels(graph: &Graph) -> Vec<u64> {
    let mut counts = vec![0u64; graph.kernels().len()];
    for &kernel in graph.tasks() {
        counts[kernel as usize] += 1;
    }
    counts
}

fn zeros(counts: &[u32]) -> u64 {
    counts.iter().filter(|&&n| n == 0).count() as u64
}

fn widest(end: &[u32], is_task: &impl Fn(usize) -> bool) -> Option<Widest> {
    let mut levels = vec![0u64; end.iter().copied().max().unwrap_or(0) as usize];
    for (id, &length) in end.iter().enumerate() {
        if is_task(id) {
            levels[length as usize - 1] += 1;
        }
    }
    let tasks = levels.iter().copied().max()?;
    let level = levels.iter().position(|&n| n == tasks)?;
    Some(Widest { level: level as u64, tasks })
}

fn fan(graph: &Graph, counts: &[u32]) -> Option<Fan> {
    let edges = counts.iter().copied().max().filter(|&n| n > 0)?;
    let task = counts.iter().position(|&n| n == edges)? as u32;
    Some(Fan { edges: edges.into(), task, kernel: graph.kernel_of(task).name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::{kernel, random_graph};
    use crate::graph::{BARRIER_NODE, GraphKernel};

    fn of(tasks: &[u32], edges: &[(u32, u32)]) -> Summary {
        let kernels: Vec<GraphKernel> = vec![
            kernel("a", ExecPool::Vector),
            kernel("b", ExecPool::Cube),
            kernel(BARRIER_NODE, ExecPool::Any),
        ];
        Summary::of(&Graph::new(kernels, tasks.to_vec(), edges.to_vec()))
    }

    #[test]
    fn no_tasks_have_no_width() {
        let s = of(&[], &[]);
        assert_eq!((s.tasks, s.edges, s.roots, s.leaves, s.critical_path), (0, 0, 0, 0, 0));
        assert_eq!((s.widest, s.fan_in, s.fan_out, s.kernels), (None, None, None, vec![]));
    }

    #[test]
    fn a_diamond_with_a_double_edge() {
        let s = of(&[0, 1, 1, 0], &[(0, 1), (0, 2), (1, 3), (2, 3), (1, 3)]);
        assert_eq!((s.tasks, s.barrier_nodes, s.edges, s.distinct_edges), (4, 0, 5, 4));
        assert_eq!((s.roots, s.leaves, s.critical_path), (1, 1, 3));
        assert_eq!(s.widest, Some(Widest { level: 1, tasks: 2 }));
        assert_eq!(s.fan_in, Some(Fan { edges: 2, task: 3, kernel: "a".to_owned() }));
        assert_eq!(s.fan_out, Some(Fan { edges: 2, task: 0, kernel: "a".to_owned() }));
        let counts: Vec<_> = s.kernels.iter().map(|k| (k.name.as_str(), k.tasks)).collect();
        assert_eq!(counts, [("a", 2), ("b", 2)]);
    }

    #[test]
    fn barrier_nodes_lie_on_paths_and_have_no_length() {
        // Two steps of two tasks with a barrier node between them.
        let s = of(&[0, 0, 2, 0, 0], &[(0, 2), (1, 2), (2, 3), (2, 4)]);
        assert_eq!((s.tasks, s.barrier_nodes, s.critical_path), (4, 1, 2));
        assert_eq!(s.widest, Some(Widest { level: 0, tasks: 2 }));
        assert_eq!(s.kernels.len(), 1);
    }

    /// The longest path that ends with a node, by trying every edge to it.
    fn longest(graph: &Graph, id: u32) -> u64 {
        let own = u64::from(graph.kernel_of(id).name != BARRIER_NODE);
        let to = graph.edges().iter().filter(|e| e.1 == id);
        own + to.map(|e| longest(graph, e.0)).max().unwrap_or(0)
    }

    #[test]
    fn random_graphs_agree_with_brute_force() {
        for seed in 0..300 {
            let graph = random_graph(seed);
            let summary = Summary::of(&graph);
            let ids: Vec<u32> = (0..graph.tasks().len() as u32).collect();
            let mut pairs = graph.edges().to_vec();
            pairs.dedup();
            let into = |id: u32| pairs.iter().filter(|e| e.1 == id).count() as u64;
            let from = |id: u32| pairs.iter().filter(|e| e.0 == id).count() as u64;
            let real: Vec<u32> =
                ids.iter().copied().filter(|&id| graph.kernel_of(id).name != BARRIER_NODE).collect();
            assert_eq!(summary.tasks, real.len() as u64);
            assert_eq!(summary.distinct_edges, pairs.len() as u64);
            assert_eq!(summary.roots, ids.iter().filter(|&&id| into(id) == 0).count() as u64);
            assert_eq!(summary.leaves, ids.iter().filter(|&&id| from(id) == 0).count() as u64);
            let most = |count: &dyn Fn(u32) -> u64| ids.iter().map(|&id| count(id)).max().unwrap_or(0);
            assert_eq!(summary.fan_in.map_or(0, |f| f.edges), most(&into));
            assert_eq!(summary.fan_out.map_or(0, |f| f.edges), most(&from));
            assert_eq!(summary.critical_path, most(&|id| longest(&graph, id)));
            let width =
                |level: u64| real.iter().filter(|&&id| longest(&graph, id) == level + 1).count() as u64;
            let widths: Vec<u64> = (0..12).map(width).collect();
            let widest = widths.iter().copied().max().filter(|&n| n > 0);
            let first = widest.map(|tasks| (widths.iter().position(|&n| n == tasks).unwrap() as u64, tasks));
            assert_eq!(summary.widest.map(|w| (w.level, w.tasks)), first, "seed {seed}");
        }
    }
}
