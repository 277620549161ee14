//! Runs of a stored graph.

use super::TaskGraph;
use super::core::Core;
use super::solo::{ByPriority, Fifo, Lifo, Ran, Solo};
use super::stored::{Stored, shared};
use super::stuck;
use crate::merge::{failure, merge};
use crate::placement::Division;
use crate::replay::Turns;
use crate::shared::Shared;
use crate::team::Team;
use crate::timeline::{RunFacts, set_ready};
use crate::worker::{Worker, WorkerReport};
use crate::{
    Affinity, AffinityStats, ConfigError, Failure, Gate, Outcome, Ready, RunConfig, StartError, Stats,
    TaskRunner, TracePolicy, WorkerStats, clock,
};
use std::borrow::Cow;
use std::convert::Infallible;
use std::iter::once;
use wsp_core::TaskId;

impl TaskGraph {
    /// Runs all tasks, each once all that it waits for is complete. Can be called again, whatever the outcome.
    ///
    /// The calling thread is the first worker; the others sleep between runs. [`RunConfig::window`], [`RunConfig::start`] and [`RunConfig::deps`] are
    /// about tasks on their way into a run; here all of them are there when it starts.
    ///
    /// # Errors
    /// See [`Failure`]; of several failing tasks the one with the smallest id is reported, unless some edge leads to an
    /// earlier task: then the first that was noticed.
    pub fn run<R: TaskRunner>(&mut self, config: &RunConfig, runner: &R) -> Outcome<R::Failure, Infallible> {
        let config = &*self.settle(config)?;
        if self.may_run_alone(config) {
            self.run_alone(config, runner)
        } else {
            self.with_workers(config, runner)
        }
    }

    /// [`run`](Self::run) for a runner whose tasks are timed: it has no code for runs that read no clock, which one thread does alone.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_timed<R: TaskRunner>(
        &mut self,
        config: &RunConfig,
        runner: &R,
    ) -> Outcome<R::Failure, Infallible> {
        let config = &*self.settle(config)?;
        self.with_workers(config, runner)
    }

    /// The configuration, settled, with an order of starts that is one of these tasks if it has one.
    fn settle<'c, F>(&self, config: &'c RunConfig) -> Result<Cow<'c, RunConfig>, Failure<F, Infallible>> {
        let refuse = |error| Failure::Start(StartError::Config(error));
        let config = config.settled().map_err(refuse)?;
        if let Some(replay) = &config.replay {
            let (recorded, tasks) = (replay.len() as u64, self.tasks());
            if recorded != tasks {
                return Err(refuse(ConfigError::ReplayTasks { recorded, tasks }));
            }
            let nodes = (0..self.core.len()).filter(|&node| !self.core.is_barrier_node(node));
            let division = Division::new(&config);
            let other = |(task, node): (u32, u32)| {
                let pool = self.core.attributes(node).pool;
                let (worker, _) = replay.place(task, config.threads);
                replay.check(task, self.core.kernel(node)).is_err() || !division.runs(worker, pool)
            };
            if let Some((task, _)) = (0..).zip(nodes).find(|&both| other(both)) {
                return Err(refuse(ConfigError::ReplayKernel { task }));
            }
        }
        Ok(config)
    }

    /// Runs all tasks on workers, of a configuration that is settled.
    fn with_workers<R: TaskRunner>(
        &mut self,
        config: &RunConfig,
        runner: &R,
    ) -> Outcome<R::Failure, Infallible> {
        // Before the records are exchanged: without threads they stay as they are.
        let team = Team::take(config.threads, 1).map_err(Failure::Start)?;
        // Gates keep the order of such streams.
        let overlapping = self.streams_overlap(config).then(|| self.core.without(&self.stream_edges));
        let kept = overlapping.map(|core| std::mem::replace(&mut self.core, core));
        let store = Stored::new(std::mem::take(&mut self.core), config);
        let (shared, deques) = shared(store, config, runner);
        let worker = |(deque, index)| Worker::new(&shared, index, deque);
        let mut workers = deques.into_iter().zip(0..).map(worker);
        let first = workers.next().expect("a run should have a worker");
        let worked = team.each(workers.collect(), Worker::work, || first.work());
        self.conclude(shared, worked, kept, config)
    }

    /// Whether several tasks of one stream may be in flight.
    fn streams_overlap(&self, config: &RunConfig) -> bool {
        !self.stream_edges.is_empty() && Gate::stream_depth(&config.gates) > 1
    }

    /// Whether one thread runs it without anything shared.
    fn may_run_alone(&self, config: &RunConfig) -> bool {
        let in_order = config.replay.is_some();
        let counts_alone =
            config.threads == 1 && config.batch == 1 && !in_order && config.trace == TracePolicy::None;
        counts_alone && !self.streams_overlap(config)
    }

    /// The outcome of a run by several workers, with whether others than the first worked; takes the records back, or those that were `kept` while others ran.
    fn conclude<R: TaskRunner>(
        &mut self,
        shared: Shared<'_, R, Stored>,
        worked: Result<(WorkerReport, Vec<WorkerReport>), StartError>,
        kept: Option<Core>,
        config: &RunConfig,
    ) -> Outcome<R::Failure, Infallible> {
        let scale = shared.scale();
        let wall_ns = shared.now();
        let stopped = shared.stop.was_cancelled();
        let deferred = shared.gates.as_ref().map_or(0, |gates| gates.refused());
        let turn = shared.queues.turns().and_then(Turns::next).map(|(_, task)| task);
        let (store, failed) = shared.into_parts();
        let all = store.completed() == u64::from(store.core.len());
        let (roots, overlap) = (u64::from(store.core.roots()), kept.is_some());
        self.core = kept.unwrap_or(store.core);
        if !all {
            self.core.rearm_all();
        }
        let (first, others) = worked.map_err(Failure::Start)?;
        let reports: Vec<WorkerReport> = once(first).chain(others).collect();
        let cancelled = reports.iter().map(|report| report.cancelled).sum();
        if let Some(failed) = failed {
            return Err(failure(failed, cancelled));
        }
        if stopped {
            return Err(Failure::Cancelled);
        }
        if let (false, Some(task)) = (all, turn) {
            return Err(Failure::Start(StartError::Config(ConfigError::ReplayOrder { task })));
        }
        if !all {
            return Err(Failure::Stuck(stuck::explain(&self.core, &self.events)));
        }
        let facts = RunFacts { in_order: config.replay.is_some(), ..RunFacts::default() };
        let mut stats = Stats { facts, wall_ns, deferred, roots, ..self.known_stats() };
        if overlap {
            stats.edges.stream = 0;
        }
        let mut stats = merge(stats, reports, scale);
        self.add_predecessors(&mut stats, &config.gates);
        Ok(stats)
    }

    fn run_alone<R: TaskRunner>(
        &mut self,
        config: &RunConfig,
        runner: &R,
    ) -> Outcome<R::Failure, Infallible> {
        let cancel = config.cancel.as_deref();
        self.run_on_caller(|core| match config.ready_policy() {
            Ready::WorkSteal => Solo::new(core, runner, cancel, Lifo::default()).run(false),
            Ready::Priority => Solo::new(core, runner, cancel, ByPriority::default()).run(true),
            _ if core.is_regular() => Solo::new(core, runner, cancel, Fifo::<true>::default()).run(false),
            _ => Solo::new(core, runner, cancel, Fifo::<false>::default()).run(false),
        })
    }

    /// The outcome of a run by the calling thread alone.
    pub(super) fn run_on_caller<F>(&mut self, run: impl FnOnce(&Core) -> Ran<F>) -> Outcome<F, Infallible> {
        let start = clock::now();
        let core = &self.core;
        let Ran { completed, dropped, failed, cancelled } = run(core);
        let all = completed == core.len();
        if !all {
            core.rearm_all();
        }
        if let Some(failed) = failed {
            return Err(failure(failed, dropped));
        }
        if cancelled {
            return Err(Failure::Cancelled);
        }
        if !all {
            return Err(Failure::Stuck(stuck::explain(core, &self.events)));
        }
        let placed = if core.has_attributes() {
            (0..core.len()).filter(|&node| core.attributes(node).affinity != Affinity::Any).count() as u64
        } else {
            0
        };
        let worker = WorkerStats { tasks: self.tasks(), ..WorkerStats::default() };
        Ok(Stats {
            workers: vec![worker],
            affinity: AffinityStats { hits: placed, misses: 0 },
            wall_ns: clock::nanos_since(start),
            ..self.known_stats()
        })
    }

    /// What is known without a run.
    fn known_stats(&self) -> Stats {
        Stats {
            tasks: self.tasks(),
            edges: self.edges,
            roots: u64::from(self.core.roots()),
            ..Stats::default()
        }
    }

    /// Adds to each task's trace the tasks it waited for.
    fn add_predecessors(&self, stats: &mut Stats, gates: &[Gate]) {
        if stats.trace.is_empty() {
            return;
        }
        let mut preds: Vec<Vec<TaskId>> = vec![Vec::new(); self.len()];
        for (from, to) in self.edges_under(gates) {
            if !self.is_barrier_node(from) {
                preds[to.index()].push(from);
            }
        }
        for entry in &mut stats.trace {
            entry.preds = std::mem::take(&mut preds[entry.task.index()]);
            entry.preds.sort_unstable();
            entry.preds.dedup();
        }
        set_ready(&mut stats.trace);
    }
}
