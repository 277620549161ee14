//! A stored graph as one to simulate.

use super::graph::{Node, Point, SimGraph, SimGraphBuilder, SimTaskSpec, Submission};
use crate::graph::all_but;
use crate::{Stopped, TaskGraph};
use wsp_core::{EventId, ExecPool, KernelId, TaskId};

impl SimGraph {
    /// The tasks, barrier nodes and edges of a stored graph, under the same ids. `cost` tells the cycles of a task from its
    /// kernel and its payload.
    ///
    /// # Errors
    /// [`Stopped::TooManyTasks`], which no stored graph comes to.
    pub fn from_task_graph(
        graph: &TaskGraph,
        submission: Submission,
        mut cost: impl FnMut(TaskId, KernelId, &[u32]) -> u64,
    ) -> Result<SimGraph, Stopped> {
        let mut events = graph.event_points().zip((0..).map(EventId)).peekable();
        let mut builder = SimGraphBuilder::new();
        builder.submission(submission);
        for id in (0..graph.len() as u32).map(TaskId) {
            let node = if graph.is_barrier_node(id) {
                // Events are numbered in the order of their points.
                match events.next_if(|&((point, _), _)| point == id) {
                    Some(((_, true), event)) => Node::Point(Point::Event(event)),
                    Some(((_, false), event)) => Node::Point(Point::UnsignalledEvent(event)),
                    None => Node::Point(Point::Order),
                }
            } else {
                let kernel = graph.kernel(id);
                let attributes = graph.attributes(id);
                Node::Task(SimTaskSpec {
                    cost: cost(id, kernel, graph.payload(id)),
                    kernel,
                    pool: attributes.pool,
                    stream: attributes.stream,
                    priority: attributes.priority,
                    affinity: attributes.affinity,
                })
            };
            builder.add(node)?;
        }
        let mut keeps = all_but(graph.stream_edges());
        graph.stream_edges().iter().for_each(|&(before, after)| builder.stream_edge(before, after));
        for (before, after) in graph.edges().filter(|(before, after)| keeps((before.0, after.0))) {
            builder.depend(before, after)?;
        }
        Ok(builder.build())
    }

    /// Sends tasks to the execution units that `pool` tells for their kernel and the units that they have.
    pub fn send(&mut self, mut pool: impl FnMut(KernelId, ExecPool) -> ExecPool) {
        for node in &mut self.nodes {
            if let Node::Task(spec) = node {
                spec.pool = pool(spec.kernel, spec.pool);
            }
        }
    }
}
