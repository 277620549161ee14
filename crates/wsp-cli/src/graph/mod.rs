//! Task graphs as lists: what `wsp graph` writes and summarises. Linear in tasks and edges.

mod csv;
mod dot;
mod edges;
mod output;
mod rows;
mod summary;

pub use csv::{write_accesses, write_edges, write_tasks};
pub(crate) use dot::escaped;
pub use dot::write_dot;
pub use output::Destination;
pub(crate) use output::write;
pub use rows::Rows;
pub use summary::{Fan, KernelCount, Missed, Summary, Widest};

pub use wsp_backend::{BARRIER_NODE, GraphAccess, GraphKernel};

use wsp_backend::{GraphListing, MissedHazard};

/// Tasks and the edges between them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    kernels: Vec<GraphKernel>,
    tasks: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    /// A graph of `tasks`, each an index into `kernels`, in the order of their ids, and of `edges` (earlier, later) in
    /// any order; an edge may stand there several times.
    ///
    /// # Panics
    /// When an edge names a task that there is not, or tasks wait for each other.
    pub fn new(kernels: Vec<GraphKernel>, tasks: Vec<u32>, edges: Vec<(u32, u32)>) -> Graph {
        let forward = |&(src, dst): &(u32, u32)| src < dst && (dst as usize) < tasks.len();
        assert!(edges.iter().all(forward), "edges should lead from earlier to later tasks");
        assert!(tasks.iter().all(|&k| (k as usize) < kernels.len()), "tasks should be of listed kernels");
        let edges = edges::sorted(edges, tasks.len());
        Graph { kernels, tasks, edges }
    }

    /// The graph of a listing, and its accesses and missed hazards.
    ///
    /// # Panics
    /// As [`Graph::new`].
    pub fn of(listing: GraphListing) -> (Graph, Vec<GraphAccess>, Vec<MissedHazard>) {
        (Graph::new(listing.kernels, listing.tasks, listing.edges), listing.accesses, listing.missed)
    }

    /// The kernels.
    pub fn kernels(&self) -> &[GraphKernel] {
        &self.kernels
    }

    /// The kernel of each task.
    pub fn tasks(&self) -> &[u32] {
        &self.tasks
    }

    /// The edges by source, then destination, with multiplicity.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// Each edge once, with how many times it stands there, in order.
    pub fn distinct_edges(&self) -> impl Iterator<Item = ((u32, u32), usize)> + '_ {
        self.edges.chunk_by(|a, b| a == b).map(|run| (run[0], run.len()))
    }

    /// The kernel of a task.
    pub fn kernel_of(&self, task: u32) -> &GraphKernel {
        &self.kernels[self.tasks[task as usize] as usize]
    }

    /// For each kernel, whether its tasks are barrier nodes.
    fn order_kernels(&self) -> Vec<bool> {
        self.kernels.iter().map(|k| k.name == BARRIER_NODE).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wsp_ir::workload::ExecPool;

    /// A generator of numbers for tests: a 64-bit linear congruence, high bits.
    pub(crate) struct Random(pub(crate) u64);

    impl Random {
        pub(crate) fn below(&mut self, n: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % u64::from(n)) as u32
        }
    }

    pub(crate) fn kernel(name: &str, unit: ExecPool) -> GraphKernel {
        GraphKernel { name: name.to_owned(), unit }
    }

    /// A graph of up to 12 tasks, some of them barrier nodes, with repeated edges in random order.
    pub(crate) fn random_graph(seed: u64) -> Graph {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let kernels = vec![
            kernel("a", ExecPool::Vector),
            kernel("b", ExecPool::Cube),
            kernel("c", ExecPool::Any),
            kernel(BARRIER_NODE, ExecPool::Any),
        ];
        let count = 1 + random.below(12);
        let tasks: Vec<u32> = (0..count).map(|_| random.below(4)).collect();
        let mut edges = Vec::new();
        if count > 1 {
            for _ in 0..random.below(30) {
                let dst = 1 + random.below(count - 1);
                edges.push((random.below(dst), dst));
            }
        }
        Graph::new(kernels, tasks, edges)
    }

    #[test]
    fn edges_are_in_order_with_their_multiplicity() {
        let graph = Graph::new(
            vec![kernel("a", ExecPool::Any)],
            vec![0; 4],
            vec![(1, 3), (0, 2), (1, 2), (0, 2), (0, 1)],
        );
        assert_eq!(graph.edges(), [(0, 1), (0, 2), (0, 2), (1, 2), (1, 3)]);
        let distinct: Vec<_> = graph.distinct_edges().collect();
        assert_eq!(distinct, [((0, 1), 1), ((0, 2), 2), ((1, 2), 1), ((1, 3), 1)]);
    }
}
