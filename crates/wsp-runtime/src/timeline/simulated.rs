//! Timelines of runs in virtual time.

use super::{Heading, Lists, Row, Span, TaskRecord, Timeline};
use crate::clock::Clock;
use crate::simulate::{SimGraph, Simulation};
use wsp_core::{KernelId, TaskId, WhyLate};

/// The number of the first row that is no worker.
const OTHER_ROWS: u32 = 2_000_000;

/// A task or a barrier node in virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Simulated {
    /// Its kernel.
    pub kernel: KernelId,
    /// The worker that ran it; none of a barrier node.
    pub worker: Option<u32>,
    /// The cycles in which it was submitted, ready, started and complete.
    pub times: [u64; 4],
    /// What it waited for last.
    pub cause: WhyLate,
}

/// Nodes, and the numbers that tasks have when barrier nodes are left out.
struct Nodes<'n> {
    nodes: &'n [Simulated],
    numbers: Vec<Option<TaskId>>,
}

impl Nodes<'_> {
    /// The number of a task; of a barrier node that of the task that completed it, if one did.
    fn task(&self, mut node: TaskId) -> Option<TaskId> {
        // A barrier node may wait for another, but not for itself.
        for _ in 0..self.nodes.len() {
            if let Some(number) = *self.numbers.get(node.index())? {
                return Some(number);
            }
            node = self.nodes[node.index()].cause.held_by()?;
        }
        None
    }

    /// A cause in the new numbers.
    fn cause(&self, cause: WhyLate) -> WhyLate {
        let generated = WhyLate::Generation { resumed_by: None };
        match cause {
            WhyLate::Predecessor(node) => self.task(node).map_or(generated, WhyLate::Predecessor),
            WhyLate::Batch { predecessor, released_with } => {
                match (self.task(predecessor), self.task(released_with)) {
                    (Some(predecessor), Some(released_with)) => WhyLate::Batch { predecessor, released_with },
                    _ => generated,
                }
            }
            WhyLate::Generation { resumed_by } => {
                WhyLate::Generation { resumed_by: resumed_by.and_then(|node| self.task(node)) }
            }
            WhyLate::Worker { busy_with } => {
                self.task(busy_with).map_or(generated, |busy_with| WhyLate::Worker { busy_with })
            }
            WhyLate::Gate { held_by } => {
                self.task(held_by).map_or(generated, |held_by| WhyLate::Gate { held_by })
            }
            WhyLate::Window { held_by } => {
                self.task(held_by).map_or(generated, |held_by| WhyLate::Window { held_by })
            }
            other => other,
        }
    }
}

impl Timeline {
    /// The timeline of a run in virtual time: tasks and barrier nodes by id, and the edges between them.
    ///
    /// Tasks are numbered without barrier nodes: what waited for a barrier node waited for the task that completed it.
    pub fn simulated(heading: Heading, nodes: &[Simulated], edges: &[(u32, u32)]) -> Timeline {
        let mut count = 0;
        let number = |node: &Simulated| {
            node.worker.map(|_| {
                count += 1;
                TaskId(count - 1)
            })
        };
        let nodes = Nodes { nodes, numbers: nodes.iter().map(number).collect() };
        let mut pairs: Vec<(TaskId, TaskId)> = Vec::with_capacity(edges.len());
        for &(from, to) in edges {
            let to = nodes.numbers.get(to as usize).copied().flatten();
            pairs.extend(to.zip(nodes.task(TaskId(from))));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut tasks: Vec<TaskRecord> = Vec::with_capacity(count as usize);
        for (node, number) in nodes.nodes.iter().zip(&nodes.numbers) {
            let Some(number) = *number else { continue };
            let mut record = TaskRecord::new(number, node.kernel, node.worker);
            [record.submitted, record.ready, record.started, record.ended] = node.times;
            tasks.push(record);
        }
        let mut before = Lists::default();
        let mut rest = pairs.as_slice();
        for at in 0..tasks.len() {
            let (own, others) = rest.split_at(rest.partition_point(|(to, _)| to.index() <= at));
            before.push(own.iter().map(|(_, from)| *from));
            rest = others;
        }
        let causes =
            nodes.nodes.iter().filter(|node| node.worker.is_some()).map(|node| nodes.cause(node.cause));
        for (at, cause) in causes.enumerate() {
            let ends = before.list(at).iter().map(|&task: &TaskId| (tasks[task.index()].ended, task));
            let last = ends.max().map(|(_, task)| task);
            tasks[at].set_cause(cause, last);
        }
        Timeline { before, ..heading.timeline(Clock::Cycles, tasks) }
    }

    /// Adds a row of something else than a worker, with what took time there, from when to when: what AICPUs did, say. Such rows have numbers from
    /// 2,000,000 on, in their order.
    pub fn add_row(&mut self, name: String, spans: &[(&str, u64, u64)]) {
        let row = self.rows.len() as u32;
        let others = self.rows.iter().filter(|row| row.number >= OTHER_ROWS).count() as u32;
        self.rows.push(Row { process: 0, number: OTHER_ROWS + others, name });
        let span = |&(name, begin, end): &(&str, u64, u64)| Span {
            row,
            name: name.to_owned(),
            begin,
            end,
            details: Vec::new(),
        };
        self.spans.extend(spans.iter().filter(|(_, begin, end)| begin < end).map(span));
    }

    /// The timeline of a simulated graph.
    pub fn of_simulation(heading: Heading, graph: &SimGraph, simulation: &Simulation) -> Timeline {
        let ids = (0..).map(TaskId);
        let nodes: Vec<Simulated> = ids
            .zip(&simulation.tasks)
            .map(|(id, task)| Simulated {
                kernel: graph.task(id).map_or(KernelId(0), |spec| spec.kernel),
                worker: task.worker,
                times: [task.submitted, task.ready, task.start, task.end],
                cause: task.cause,
            })
            .collect();
        let edges: Vec<(u32, u32)> = graph.edges().collect();
        Timeline::simulated(heading, &nodes, &edges)
    }
}
