//! The tasks of a workload of declared kernels and their order, kept for the runs to come.

use super::declared::{Declared, TaskFault};
use super::declared_kernels::DeclaredKernels;
use super::graph::GraphSink;
use super::records::Record;
use super::settings::RunSettings;
use super::touch::{Touched, Toucher, stated_tile};
use crate::tiles::Tiles;
use std::convert::Infallible;
use std::sync::Arc;
use wsp_backend::{Detail, GridStats};
use wsp_core::{KernelId, TaskId};
use wsp_diag::Diagnostic;
use wsp_plan::workload::{Bindings, TaskRecord, expand};
use wsp_runtime::{EdgeStats, Outcome, RunConfig, TaskGraph, TaskRunner};

/// Most tasks that are kept; each takes half a kilobyte.
pub(crate) const MOST_KEPT: usize = 4096;

/// All tasks of a run on threads, and what each waits for.
#[derive(Debug)]
pub(crate) struct KeptGraph {
    graph: TaskGraph,
    config: RunConfig,
    /// By ordinal.
    tasks: Vec<Record>,
    /// What the tiles of the schedule's grid have.
    grid: Option<GridStats>,
}

impl KeptGraph {
    /// What the tiles of the schedule's grid have in each run.
    pub(crate) fn grid(&self) -> Option<GridStats> {
        self.grid.clone()
    }

    /// The tasks of these bindings, of which a run that generated them has found no fault. None where another run may have others, as slots decide which there are; where there are too many, or more than
    /// the window lets in at once; and where there is a fault, which a run that generates tasks reports.
    pub(crate) fn of(
        kernels: &DeclaredKernels,
        bindings: &Bindings,
        settings: &RunSettings,
    ) -> Option<KeptGraph> {
        let DeclaredKernels { module, schedule, .. } = kernels;
        let config = &settings.config;
        settings.tiles.iter().for_each(|tiles| tiles.forget());
        let mut keeping = Keeping(Vec::new(), settings.tiles.clone());
        let detail = Detail::default();
        let mut sink = GraphSink::new(
            module,
            &[],
            &mut keeping,
            config.deps,
            detail,
            config.threads,
            config.cancel.as_deref(),
        );
        sink.slots_decide();
        sink.most = config.window.capacity.min(MOST_KEPT as u32);
        expand(module, bindings, schedule, &mut sink).ok()?;
        let graph = sink.into_graph().graph;
        let Keeping(tasks, tiles) = keeping;
        let grid = tiles.map(|tiles| tiles.stats());
        // Whether a run is cancelled is asked with each task that is generated or run: here would be none.
        (!tasks.is_empty()).then(|| KeptGraph { graph, config: config.clone(), tasks, grid })
    }

    /// Runs all tasks. Of the statistics those of edges count all that there are, as all tasks are there when the first starts.
    ///
    /// # Errors
    /// As a run of the graph.
    pub(crate) fn run(&mut self, declared: &Declared) -> Outcome<Box<TaskFault>, Infallible> {
        let KeptGraph { graph, config, tasks, .. } = self;
        let mut stats = graph.run_timed(config, &Runner { declared, tasks })?;
        let EdgeStats { raw, waw, war, .. } = graph.edge_stats();
        stats.edges = EdgeStats { raw, waw, war, ..stats.edges };
        stats.max_in_flight = stats.tasks as u32;
        let ordinal = |task: &mut TaskId| *task = TaskId(graph.payload(*task)[0]);
        for entry in &mut stats.trace {
            ordinal(&mut entry.task);
            entry.preds.iter_mut().for_each(ordinal);
        }
        Ok(stats)
    }
}

/// Keeps tasks on their way into a graph.
struct Keeping(Vec<Record>, Option<Arc<Tiles>>);

impl Toucher for Keeping {
    fn touch<'t>(&'t mut self, task: &'t TaskRecord<'_>) -> Result<Touched<'t>, Diagnostic> {
        self.0.push(Record::of(task.into()));
        Ok(self.touched(task))
    }

    fn touched<'t>(&'t self, task: &'t TaskRecord<'_>) -> Touched<'t> {
        Touched { reads: task.reads, writes: task.writes }
    }

    fn tile(&mut self, task: &TaskRecord<'_>) -> Option<u32> {
        self.1.as_ref().map(|tiles| stated_tile(tiles, task))
    }
}

/// Runs kept tasks, which are known by their ordinals.
struct Runner<'a> {
    declared: &'a Declared,
    tasks: &'a [Record],
}

impl TaskRunner for Runner<'_> {
    type Failure = Box<TaskFault>;

    fn run(&self, worker: usize, _: TaskId, _: KernelId, payload: &[u32]) -> Result<(), Box<TaskFault>> {
        let task = self.tasks[payload[0] as usize].arguments();
        self.declared.run_seen(worker, &mut self.declared.worker(worker), task)
    }
}
