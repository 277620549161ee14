//! The simulated run: time, completions, releases.

use super::graph::{Node, SimGraph};
use super::outcome::{SimTask, SimWorker, Simulation};
use super::ready::ReadyTasks;
use super::source::Source;
use crate::bit_set::BitSet;
use crate::gates::Book;
use crate::placement::{Division, Placement};
use crate::places::Places;
use crate::ranked::RankedTasks;
use crate::{Failure, Gate, Ready, RunConfig, StartError, Stopped};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use wsp_core::{TaskId, WhyLate};

/// Instead of a worker: nobody's.
pub(super) const NOBODY: u32 = u32::MAX;
/// Instead of a number of open edges: the node has started.
pub(super) const STARTED: u32 = u32::MAX;

/// Runs a graph in virtual time; the module says by which rules.
///
/// Takes a fraction of a microsecond per task.
///
/// # Errors
/// A configuration that [`RunConfig::settled`] refuses; a window that overflows when its mode is to abort; tasks that wait
/// for each other; cancellation; times beyond 64 bits.
pub fn simulate(graph: &SimGraph, config: &RunConfig) -> Result<Simulation, Failure<Infallible, Stopped>> {
    let config = config.settled().map_err(|fault| Failure::Start(StartError::Config(fault)))?;
    Engine::new(graph, &config).run()
}

/// A run in progress.
pub(super) struct Engine<'g> {
    pub(super) graph: &'g SimGraph,
    /// The graph without the edges of streams, where gates keep their order.
    reduced: Option<SimGraph>,
    pub(super) config: &'g RunConfig,
    pub(super) policy: Ready,
    pub(super) division: Division,
    pub(super) places: Places,
    pub(super) now: u64,
    /// Since when tasks may start.
    pub(super) open_since: Option<u64>,
    pub(super) source: Source,
    /// Open edges of each node.
    pub(super) open_edges: Vec<u32>,
    /// What has become ready in this cycle and is not queued yet, and the worker that released it.
    pub(super) released: Vec<(u32, u32)>,
    /// Ready tasks of each pool, and last those that several pools may run, where there are several.
    pub(super) ready: Vec<ReadyTasks>,
    /// Ready tasks by priority instead.
    pub(super) ranked: RankedTasks,
    /// The place that each queued task asks for.
    pub(super) asked: Vec<u32>,
    /// Tasks to spread so far, by pool.
    pub(super) turns: Vec<u32>,
    /// State of the generator that picks victims of thieves.
    pub(super) random: u64,
    /// The gates, and the tasks that they refused.
    pub(super) gates: Book,
    /// The task before on its stream of each task, where gates keep the order of streams.
    pub(super) before_on_stream: Vec<Option<u32>>,
    pub(super) idle: BitSet,
    /// Ends of running tasks.
    pub(super) ends: BinaryHeap<Reverse<(u64, u32)>>,
    /// The newest task of each worker.
    pub(super) newest: Vec<u32>,
    /// Completions that each worker has not released.
    batches: Vec<Vec<u32>>,
    holding: BitSet,
    pub(super) out: Simulation,
}

impl<'g> Engine<'g> {
    fn new(graph: &'g SimGraph, config: &'g RunConfig) -> Engine<'g> {
        let division = Division::new(config);
        let places = Places::new(division);
        let pools = division.parts().len();
        let kinds = (0..pools).map(Some).chain((pools > 1).then_some(None));
        let workers = config.threads;
        let mut idle = BitSet::new(workers);
        (0..workers).for_each(|worker| idle.insert(worker));
        let reduced = (Gate::stream_depth(&config.gates) > 1).then(|| graph.without_streams());
        let unborn =
            SimTask { submitted: 0, ready: 0, start: 0, end: 0, worker: None, cause: WhyLate::Start };
        Engine {
            policy: config.ready_policy(),
            now: 0,
            open_since: None,
            source: Source::new(graph.submission, config),
            open_edges: reduced.as_ref().unwrap_or(graph).predecessors.clone(),
            before_on_stream: reduced.as_ref().map_or_else(Vec::new, |_| graph.before_on_streams()),
            reduced,
            released: Vec::new(),
            ready: kinds.map(|pool| ReadyTasks::new(&division, pool)).collect(),
            ranked: RankedTasks::new(places.len()),
            asked: vec![0; graph.len()],
            turns: vec![0; pools + 1],
            random: config.seed,
            gates: Book::new(&config.gates),
            idle,
            ends: BinaryHeap::new(),
            newest: vec![0; workers as usize],
            batches: vec![Vec::new(); workers as usize],
            holding: BitSet::new(workers),
            out: Simulation {
                tasks: vec![unborn; graph.len()],
                workers: vec![SimWorker::default(); workers as usize],
                ..Simulation::default()
            },
            graph,
            config,
            places,
            division,
        }
    }

    fn run(mut self) -> Result<Simulation, Failure<Infallible, Stopped>> {
        loop {
            self.complete_ended();
            loop {
                self.generate().map_err(Failure::Source)?;
                self.queue_released();
                self.dispatch().map_err(Failure::Source)?;
                if !self.release_of_idle() {
                    break;
                }
            }
            let end = self.ends.peek().map(|&Reverse((end, _))| end);
            let Some(next) = [end, self.source.due].into_iter().flatten().min() else { break };
            if self.config.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(Failure::Cancelled);
            }
            self.now = next;
        }
        if self.open_edges.iter().any(|&edges| edges != STARTED) {
            return Err(Failure::Stuck(self.report()));
        }
        self.out.makespan = self.out.tasks.iter().map(|task| task.end).max().unwrap_or(0);
        Ok(self.out)
    }

    /// Completes every task that ends now.
    fn complete_ended(&mut self) {
        while let Some(&Reverse((end, task))) = self.ends.peek()
            && end == self.now
        {
            self.ends.pop();
            self.complete(task);
        }
    }

    fn complete(&mut self, task: u32) {
        let (Node::Task(spec), Some(worker)) =
            (&self.graph.nodes[task as usize], self.out.tasks[task as usize].worker)
        else {
            return;
        };
        let placement = Placement { pool: spec.pool, stream: spec.stream, ..Placement::default() };
        self.gates.leave(task, placement);
        self.idle.insert(worker);
        let batch = &mut self.batches[worker as usize];
        batch.push(task);
        if batch.len() >= self.config.batch as usize {
            self.release_batch(worker);
        } else {
            self.holding.insert(worker);
        }
    }

    /// Releases the batches of idle workers; whether there were any.
    fn release_of_idle(&mut self) -> bool {
        let mut any = false;
        while let Some(worker) = self.idle.first_common(&self.holding, 0..self.config.threads) {
            self.release_batch(worker);
            any = true;
        }
        any
    }

    /// Releases what waits for the completions that a worker holds. The newest of them is complete in this cycle.
    fn release_batch(&mut self, worker: u32) {
        self.holding.remove(worker);
        let mut batch = std::mem::take(&mut self.batches[worker as usize]);
        let with = self.newest[worker as usize];
        for task in batch.drain(..) {
            self.source.leave(with);
            let cause = if task == with {
                WhyLate::Predecessor(TaskId(task))
            } else {
                WhyLate::Batch { predecessor: TaskId(task), released_with: TaskId(with) }
            };
            self.release(task, worker, cause);
        }
        self.batches[worker as usize] = batch;
    }

    /// Closes the edges from a node, and from the barrier nodes that this completes.
    fn release(&mut self, node: u32, worker: u32, cause: WhyLate) {
        let mut points = Vec::new();
        let (mut node, mut cause) = (node, cause);
        loop {
            for at in 0.. {
                let successors = self.reduced.as_ref().unwrap_or(self.graph).successors(node);
                let Some(&after) = successors.get(at) else { break };
                let open = &mut self.open_edges[after as usize];
                *open -= 1;
                if *open == 0 && self.source.has_submitted(after) && self.make_ready(after, worker, cause) {
                    points.push(after);
                }
            }
            let Some(point) = points.pop() else { break };
            node = point;
            cause = WhyLate::Predecessor(TaskId(point));
        }
    }

    /// Notes that a node is ready. A barrier node is complete at once: then it is the caller's to release.
    fn make_ready(&mut self, node: u32, worker: u32, cause: WhyLate) -> bool {
        let life = &mut self.out.tasks[node as usize];
        (life.ready, life.cause) = (self.now, cause);
        let is_point = matches!(self.graph.nodes[node as usize], Node::Point(_));
        if is_point {
            (life.start, life.end) = (self.now, self.now);
            self.open_edges[node as usize] = STARTED;
        } else {
            self.released.push((node, worker));
        }
        is_point
    }

    /// Notes that a node is submitted.
    pub(super) fn submit(&mut self, node: u32, cause: WhyLate) {
        self.out.tasks[node as usize].submitted = self.now;
        if let (Some(_), Node::Task(spec)) = (&self.reduced, &self.graph.nodes[node as usize])
            && let Some(stream) = spec.stream
        {
            self.gates.announce(stream, node);
        }
        if self.open_edges[node as usize] == 0 && self.make_ready(node, NOBODY, cause) {
            self.release(node, NOBODY, WhyLate::Predecessor(TaskId(node)));
        }
    }
}
