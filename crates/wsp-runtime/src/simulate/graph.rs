//! What is simulated: tasks with their costs, and who comes before whom.

use crate::graph::all_but;
use crate::{Affinity, Stopped};
use wsp_core::{EventId, ExecPool, KernelId, StreamId, TaskId, limits};

/// A task to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SimTaskSpec {
    /// Cycles that it keeps its worker; 0 is allowed.
    pub cost: u64,
    /// Its kernel, for reports and traces.
    pub kernel: KernelId,
    /// The execution units that may run it.
    pub pool: ExecPool,
    /// Starts only when the task before it on the same stream is complete, or as [`TaskSpec::stream`](crate::TaskSpec::stream)
    /// says.
    pub stream: Option<StreamId>,
    /// Under [`Ready::Priority`](crate::Ready::Priority) the larger goes first.
    pub priority: i32,
    /// Where it would best run.
    pub affinity: Affinity,
}

/// A node: a task, or a point that orders tasks and takes neither time, a worker, a gate nor a place of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Task(SimTaskSpec),
    Point(Point),
}

/// What a barrier node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Point {
    /// A fence, or a step of an ordered scope.
    Order,
    Event(EventId),
    /// An event that no task signals. It is never complete.
    UnsignalledEvent(EventId),
}

/// How tasks come to the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submission {
    /// A source submits them while others run: window and start policy hold.
    Streamed {
        /// Cycles that the source takes to generate each task, before it submits it. Barrier nodes take none.
        generation_cycles: u64,
    },
    /// All are there from the start, as in a stored graph: there is no window, and they start at once.
    Stored,
}

impl Default for Submission {
    /// Streamed, and generated in no time.
    fn default() -> Submission {
        Submission::Streamed { generation_cycles: 0 }
    }
}

/// Makes a [`SimGraph`]. Tasks and barrier nodes get consecutive ids in the order in which they are added, which is the
/// order of elaboration.
#[derive(Clone, Debug, Default)]
pub struct SimGraphBuilder {
    nodes: Vec<Node>,
    edges: Vec<(u32, u32)>,
    /// The newest task of each stream.
    streams: Vec<Option<u32>>,
    /// Edges that streams made.
    stream_edges: Vec<(u32, u32)>,
    submission: Submission,
}

/// Tasks with costs and edges. Immutable, so that one graph can be simulated under many configurations.
#[derive(Clone, Debug)]
pub struct SimGraph {
    pub(super) nodes: Vec<Node>,
    /// Edges from node `i` lead to `successors[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    successors: Vec<u32>,
    /// Edges to each node; one more for an event that no task signals.
    pub(super) predecessors: Vec<u32>,
    /// The edges that streams made.
    stream_edges: Vec<(u32, u32)>,
    pub(super) submission: Submission,
}

impl SimGraphBuilder {
    /// A graph without tasks.
    pub fn new() -> SimGraphBuilder {
        SimGraphBuilder::default()
    }

    /// Says how tasks come to the run.
    pub fn submission(&mut self, submission: Submission) -> &mut SimGraphBuilder {
        self.submission = submission;
        self
    }

    /// Adds a task, with an edge from the task before it on its stream.
    ///
    /// # Errors
    /// [`Stopped::TooManyTasks`].
    pub fn task(&mut self, spec: SimTaskSpec) -> Result<TaskId, Stopped> {
        let id = self.add(Node::Task(spec))?;
        if let Some(stream) = spec.stream {
            if self.streams.len() <= stream.index() {
                self.streams.resize(stream.index() + 1, None);
            }
            if let Some(before) = self.streams[stream.index()].replace(id.0) {
                self.stream_edges.push((before, id.0));
            }
        }
        Ok(id)
    }

    /// Adds a point that is complete as soon as the source has passed it and all nodes before it are complete: a fence, or
    /// a step of an ordered scope, once the edges are given.
    ///
    /// # Errors
    /// [`Stopped::TooManyTasks`].
    pub fn barrier_node(&mut self) -> Result<TaskId, Stopped> {
        self.add(Node::Point(Point::Order))
    }

    /// Makes `after` wait for `before`. The two may have any order, and close a cycle: the simulation reports it.
    ///
    /// # Errors
    /// [`Stopped::UnknownTask`] for an id that was not given out.
    pub fn depend(&mut self, before: TaskId, after: TaskId) -> Result<(), Stopped> {
        let tasks = self.nodes.len() as u32;
        if let Some(&task) = [before, after].iter().find(|task| task.0 >= tasks) {
            return Err(Stopped::UnknownTask(task));
        }
        self.edges.push((before.0, after.0));
        Ok(())
    }

    /// Adds a node, without the edges that it has of itself.
    pub(super) fn add(&mut self, node: Node) -> Result<TaskId, Stopped> {
        let id = u32::try_from(self.nodes.len()).ok().filter(|&id| id < limits::MAX_TASKS);
        let id = id.ok_or(Stopped::TooManyTasks)?;
        self.nodes.push(node);
        Ok(TaskId(id))
    }

    /// Says of an edge that a stream makes it.
    pub(super) fn stream_edge(&mut self, before: u32, after: u32) {
        self.stream_edges.push((before, after));
    }

    /// The graph.
    pub fn build(&self) -> SimGraph {
        let edges = self.edges.iter().chain(&self.stream_edges).copied().collect::<Vec<_>>();
        let tasks = self.nodes.len();
        let unsignalled = |node: &Node| matches!(node, Node::Point(Point::UnsignalledEvent(_)));
        let mut predecessors: Vec<u32> = self.nodes.iter().map(|node| u32::from(unsignalled(node))).collect();
        let mut offsets = vec![0_usize; tasks + 1];
        for &(before, after) in &edges {
            offsets[before as usize + 1] += 1;
            predecessors[after as usize] += 1;
        }
        for i in 0..tasks {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut successors = vec![0_u32; edges.len()];
        for &(before, after) in &edges {
            successors[next[before as usize]] = after;
            next[before as usize] += 1;
        }
        let (nodes, submission) = (self.nodes.clone(), self.submission);
        let stream_edges = self.stream_edges.clone();
        SimGraph { nodes, offsets, successors, predecessors, stream_edges, submission }
    }
}

impl SimGraph {
    /// A graph of tasks alone, which get the ids 0, 1, and so on, and edges from the first of a pair to the second.
    ///
    /// # Errors
    /// As those of [`SimGraphBuilder::task`] and [`SimGraphBuilder::depend`].
    pub fn new(
        tasks: impl IntoIterator<Item = SimTaskSpec>,
        edges: impl IntoIterator<Item = (TaskId, TaskId)>,
    ) -> Result<SimGraph, Stopped> {
        let mut builder = SimGraphBuilder::new();
        for task in tasks {
            builder.task(task)?;
        }
        for (before, after) in edges {
            builder.depend(before, after)?;
        }
        Ok(builder.build())
    }

    /// Tasks and barrier nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Edges, those of streams included.
    pub fn edge_count(&self) -> usize {
        self.successors.len()
    }

    /// Pairs of nodes of which the second waits for the first, once per edge.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        let of = |node| self.successors(node).iter().map(move |&after| (node, after));
        (0..self.len() as u32).flat_map(of)
    }

    /// The task, or `None` for a barrier node and for an id that is not of this graph.
    pub fn task(&self, id: TaskId) -> Option<&SimTaskSpec> {
        match self.nodes.get(id.index()) {
            Some(Node::Task(spec)) => Some(spec),
            _ => None,
        }
    }

    /// Cycles of all tasks together; saturates.
    pub fn work(&self) -> u64 {
        self.nodes.iter().fold(0, |sum: u64, node| sum.saturating_add(node.cost()))
    }

    /// Cycles along the most expensive path, which no number of workers can undercut; saturates. `None` when edges close a
    /// cycle, or an event is never signalled.
    pub fn span(&self) -> Option<u64> {
        let mut open = self.predecessors.clone();
        let mut starts = vec![0_u64; self.len()];
        let mut ready: Vec<u32> = (0..self.len() as u32).filter(|&i| open[i as usize] == 0).collect();
        let (mut span, mut done) = (0, 0);
        while let Some(node) = ready.pop() {
            let end = starts[node as usize].saturating_add(self.nodes[node as usize].cost());
            span = span.max(end);
            done += 1;
            for &after in self.successors(node) {
                let at = after as usize;
                starts[at] = starts[at].max(end);
                open[at] -= 1;
                if open[at] == 0 {
                    ready.push(after);
                }
            }
        }
        (done == self.len()).then_some(span)
    }

    /// The graph without the edges that streams made.
    pub(crate) fn without_streams(&self) -> SimGraph {
        let mut keeps = all_but(&self.stream_edges);
        let of = |node| self.successors(node).iter().map(move |&after| (node, after));
        let edges = (0..self.len() as u32).flat_map(of).filter(|edge| keeps(*edge));
        let builder = SimGraphBuilder {
            edges: edges.collect(),
            nodes: self.nodes.clone(),
            submission: self.submission,
            ..SimGraphBuilder::default()
        };
        builder.build()
    }

    /// The task before each on its stream.
    pub(super) fn before_on_streams(&self) -> Vec<Option<u32>> {
        let mut before = vec![None; self.len()];
        self.stream_edges.iter().for_each(|&(first, then)| before[then as usize] = Some(first));
        before
    }

    /// Nodes that wait for `node`, once per edge.
    pub(super) fn successors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.successors[self.offsets[node]..self.offsets[node + 1]]
    }
}

impl Node {
    fn cost(&self) -> u64 {
        match self {
            Node::Task(spec) => spec.cost,
            Node::Point(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(cost: u64) -> SimTaskSpec {
        SimTaskSpec { cost, ..SimTaskSpec::default() }
    }

    #[test]
    fn work_is_the_sum_and_span_the_longest_path() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| (TaskId(a), TaskId(b)));
        let graph = SimGraph::new([1, 10, 20, 5].map(cost), edges).unwrap();
        assert_eq!((graph.work(), graph.span(), graph.edge_count()), (36, Some(26), 4));
        assert_eq!(graph.successors(0), [1, 2]);
    }

    #[test]
    fn a_cycle_has_no_span() {
        let edges = [(0, 1), (1, 0)].map(|(a, b)| (TaskId(a), TaskId(b)));
        assert_eq!(SimGraph::new([cost(1); 2], edges).unwrap().span(), None);
    }

    #[test]
    fn tasks_of_one_stream_are_linked_in_their_order() {
        let on = |stream| SimTaskSpec { stream: Some(StreamId(stream)), ..cost(1) };
        let graph = SimGraph::new([on(7), on(0), on(7), on(7)], []).unwrap();
        assert_eq!((graph.successors(0), graph.successors(2)), (&[2][..], &[3][..]));
        assert_eq!(graph.edge_count(), 2);
    }

    #[test]
    fn an_edge_of_an_unknown_task_is_refused() {
        let error = SimGraph::new([cost(1)], [(TaskId(0), TaskId(1))]).unwrap_err();
        assert_eq!(error, Stopped::UnknownTask(TaskId(1)));
    }
}
