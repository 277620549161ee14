//! Runs of a stored graph.

use super::TaskGraph;
use super::core::Core;
use super::solo::{ByPriority, Fifo, Lifo, Ran, Solo};
use super::stuck;
use super::team::{Stored, TeamRun};
use crate::merge::{failure, merge};
use crate::team::{Workers, with_workers};
use crate::{
    Affinity, AffinityStats, ConfigError, Failure, Gate, Outcome, Ready, RunConfig, StartError, Stats,
    TaskRunner, TracePolicy, WorkerStats, clock,
};
use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use wsp_core::TaskId;

impl TaskGraph {
    /// Runs all tasks, each once all that it waits for is complete. Can be called again, whatever the outcome.
    ///
    /// With one thread they run on the calling thread. With more, those are started for this run: see
    /// [`run_on`](Self::run_on) for many runs. [`RunConfig::window`], [`RunConfig::start`] and [`RunConfig::deps`] are
    /// about tasks on their way into a run; here all of them are there when it starts.
    ///
    /// # Errors
    /// See [`Failure`]; of several failing tasks the one with the smallest id is reported, unless some edge leads to an
    /// earlier task: then the first that was noticed.
    pub fn run<R: TaskRunner>(&mut self, config: &RunConfig, runner: &R) -> Outcome<R::Failure, Infallible> {
        config.validate().map_err(|error| Failure::Start(StartError::Config(error)))?;
        if self.may_run_alone(config) {
            return self.run_alone(config, runner);
        }
        with_workers(config.threads, |workers| self.run_on(workers, config, runner))
            .unwrap_or_else(|error| Err(Failure::Start(error)))
    }

    /// As [`run`](Self::run), on workers that have been started before.
    ///
    /// # Errors
    /// As [`run`](Self::run); also when the configuration asks for another number of workers than the team has.
    pub fn run_on<'j, R: TaskRunner>(
        &mut self,
        workers: &Workers<'j>,
        config: &RunConfig,
        runner: &'j R,
    ) -> Outcome<R::Failure, Infallible> {
        config.validate().map_err(|error| Failure::Start(StartError::Config(error)))?;
        if config.threads != workers.threads() {
            let error = ConfigError::TeamSize { team: workers.threads(), threads: config.threads };
            return Err(Failure::Start(StartError::Config(error)));
        }
        if self.may_run_alone(config) {
            return self.run_alone(config, runner);
        }
        // Gates keep the order of such streams.
        let overlapping = self.streams_overlap(config).then(|| self.core.without(&self.stream_edges));
        let kept = overlapping.map(|core| std::mem::replace(&mut self.core, core));
        let store = Stored::new(std::mem::take(&mut self.core), config);
        let run = Arc::new(TeamRun::new(store, config, runner));
        workers.run(run.clone());
        let run = Arc::into_inner(run).expect("the team should have dropped the job");
        self.conclude(run, kept, config)
    }

    /// Whether several tasks of one stream may be in flight.
    fn streams_overlap(&self, config: &RunConfig) -> bool {
        !self.stream_edges.is_empty() && Gate::stream_depth(&config.gates) > 1
    }

    /// Whether one thread runs it without anything shared.
    fn may_run_alone(&self, config: &RunConfig) -> bool {
        let counts_alone = config.threads == 1 && config.batch == 1 && config.trace == TracePolicy::None;
        counts_alone && !self.streams_overlap(config)
    }

    /// The outcome of a run by several workers; takes the records back, or those that were `kept` while others ran.
    fn conclude<R: TaskRunner>(
        &mut self,
        run: TeamRun<'_, R>,
        kept: Option<Core>,
        config: &RunConfig,
    ) -> Outcome<R::Failure, Infallible> {
        let TeamRun { shared, reports, .. } = run;
        let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        reports.sort_unstable_by_key(|(worker, _)| *worker);
        let wall_ns = shared.now();
        let stopped = shared.stop.was_cancelled();
        let deferred = shared.gates.as_ref().map_or(0, |gates| gates.refused());
        let (store, failed) = shared.into_parts();
        let all = store.completed() == u64::from(store.core.len());
        self.core = kept.unwrap_or(store.core);
        if !all {
            self.core.rearm_all();
        }
        let cancelled = reports.iter().map(|(_, report)| report.cancelled).sum();
        if let Some(failed) = failed {
            return Err(failure(failed, cancelled));
        }
        if stopped {
            return Err(Failure::Cancelled);
        }
        if !all {
            return Err(Failure::Stuck(stuck::explain(&self.core, &self.events)));
        }
        let stats = Stats { wall_ns, deferred, ..self.known_stats() };
        let mut stats = merge(stats, reports.into_iter().map(|(_, report)| report));
        self.add_predecessors(&mut stats, &config.gates);
        Ok(stats)
    }

    fn run_alone<R: TaskRunner>(
        &mut self,
        config: &RunConfig,
        runner: &R,
    ) -> Outcome<R::Failure, Infallible> {
        let start = clock::now();
        let cancel = config.cancel.as_deref();
        let core = &self.core;
        let Ran { completed, dropped, failed, cancelled } = match config.ready_policy() {
            Ready::WorkSteal => Solo::<R, Lifo>::new(core, runner, cancel).run(false),
            Ready::Priority => Solo::<R, ByPriority>::new(core, runner, cancel).run(true),
            _ if core.is_regular() => Solo::<R, Fifo<true>>::new(core, runner, cancel).run(false),
            _ => Solo::<R, Fifo<false>>::new(core, runner, cancel).run(false),
        };
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
    }
}
