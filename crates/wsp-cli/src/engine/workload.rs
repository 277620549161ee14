//! The boundary to workloads: linking, listing, running, and comparing runs.

mod check;
mod dry;
mod transfer;

pub use check::{compare, compare_bits};
pub use dry::{asks_order, check_defaults, check_order, known_tasks};
pub use transfer::{Transferred, transfer};

use super::own;
use crate::graph::{BARRIER_NODE, Graph, GraphAccess, Missed};
use crate::report::{GraphStats, RunTime, TimedTask, Timeline};
use std::path::Path;
use std::sync::Arc;
use wsp_backend::{
    Args, Bodies, Detail, GraphListing, GraphOptions, Outcome, Program, RunOptions, Simulated, Unwritten,
};
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_ir::workload::{Deps, ParamSource, WorkloadModule};
use wsp_kernel::{Engine, Mode};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{Arrays, CompileOptions, ParamValue, PlanSource, Target};
use wsp_runtime::clock::Clock;

/// A workload as read, with the kernels that it uses.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it says.
    pub module: WorkloadModule,
    /// The used file; none when all kernels are only declared.
    pub library: Option<Module>,
}

/// Ties a workload to its kernels and applies a schedule: the one named, else the source's.
///
/// # Errors
/// What does not fit, and what the target cannot do.
pub fn plan(
    source: &Source,
    schedule: Option<&str>,
    max_blocks: Option<u32>,
    target: &'static Target,
) -> Result<WorkloadPlan, Vec<Diagnostic>> {
    let schedule = schedule.map(str::to_owned);
    let mut options = CompileOptions { schedule, target, ..CompileOptions::default() };
    if let Some(max_blocks) = max_blocks {
        options.max_blocks = max_blocks;
    }
    WorkloadPlan::new(source.module.clone(), source.library.as_ref(), &options).map_err(|found| found.0)
}

/// A graph with what `wsp graph` says of it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Tasks and edges.
    pub graph: Graph,
    /// Accesses of all tasks in order, if they were asked for.
    pub accesses: Vec<GraphAccess>,
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// How dependences were found.
    pub deps: &'static str,
    /// Hazards that the edges do not order, if they were asked for.
    pub missed: Option<Missed>,
}

/// Lists the tasks of a workload and their dependences, in the detail that is asked for.
///
/// # Errors
/// Wrong values, faults of the workload, a graph that depends on computed values or is too large.
pub fn graph(
    plan: &Arc<WorkloadPlan>,
    args: &Args,
    deps: Option<Deps>,
    detail: Detail,
) -> Result<Listed, Vec<Diagnostic>> {
    let program =
        super::program(&PlanSource::Workload(plan.clone()), Mode::default(), Engine::default(), None)?;
    let listing = program.graph(args, &GraphOptions { deps, detail, ..GraphOptions::default() })?;
    Ok(listed(listing, deps.unwrap_or(plan.schedule.policy.deps), detail))
}

/// What `wsp graph` says of a listing with these dependences.
pub(super) fn listed(mut listing: GraphListing, deps: Deps, detail: Detail) -> Listed {
    let tensors = std::mem::take(&mut listing.tensors);
    let count = listing.missed_count;
    let (graph, accesses, missed) = Graph::of(listing);
    let task = |id: u32| format!("task {id} ({})", graph.kernel_of(id).name);
    let first = missed.first();
    let first = first.map_or(String::new(), |m| format!("{} before {}", task(m.earlier), task(m.later)));
    let missed = detail.missed.then_some(Missed { count, first });
    Listed { missed, graph, accesses, tensors, deps: deps.word() }
}

/// Values of the used file's parameters: those that the user sets, before them the workload's own defaults.
pub fn library_values(source: &Source, set: &[(String, ParamValue)]) -> Vec<(String, ParamValue)> {
    let Some(library) = &source.library else { return Vec::new() };
    let shared = source.module.params.iter().filter(|p| library.param_named(&p.name).is_some());
    let defaults = shared.filter_map(|param| match &param.source {
        ParamSource::Set(Some(default)) => {
            Some((param.name.clone(), ParamValue::Int(default.as_const()?.into())))
        }
        ParamSource::Set(None) | ParamSource::Derived(_) => None,
    });
    let known = set.iter().filter(|(name, _)| library.param_named(name).is_some());
    defaults.chain(known.cloned()).collect()
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Tensors that tasks may write, by name.
    pub outputs: Arrays,
    /// Elements of them that no task stored, where that is recorded.
    pub unwritten: Vec<Unwritten>,
    /// What ran in the tasks; nothing in virtual time.
    pub bodies: Option<Bodies>,
    /// Every parameter with the value it had; in virtual time none.
    pub params: Vec<(String, i64)>,
    /// Every parameter of the used file with its value.
    pub library_params: Vec<(String, ParamValue)>,
    /// What was done with each directive of the schedule.
    pub schedule_lines: Vec<String>,
    /// Tasks by kernel, in the order of the program.
    pub kernels: Vec<(String, u64)>,
    /// How long it took.
    pub time: RunTime,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
    /// When and where each task ran, if that was asked for.
    pub(super) trace: Vec<TimedTask>,
}

impl RunOutcome {
    /// When and where tasks ran, of a workload in this file.
    pub fn timeline(&self, file: &Path) -> Timeline {
        let (clock, workers) = match &self.time {
            RunTime::Measured { threads, .. } => (Clock::Nanoseconds, *threads),
            RunTime::Cycles { busy, .. } => (Clock::Cycles, busy.len() as u32),
        };
        Timeline {
            program: file.display().to_string(),
            clock,
            workers,
            kernels: self.kernels.iter().map(|(name, _)| name.clone()).collect(),
            tasks: self.trace.clone(),
        }
    }
}

/// Runs a workload.
///
/// # Errors
/// Wrong values or arrays, faults of the workload, the first fault of a task.
pub fn execute(
    program: &dyn Program,
    args: &Args,
    options: &RunOptions,
) -> Result<RunOutcome, Vec<Diagnostic>> {
    let Outcome { outputs, unwritten, stats, notes, workload, own, .. } =
        program.execute(args.clone(), options.clone())?;
    let common = RunOutcome {
        outputs,
        unwritten,
        bodies: workload.bodies,
        params: Vec::new(),
        library_params: Vec::new(),
        schedule_lines: Vec::new(),
        kernels: stats.kernels.into_iter().map(|k| (k.name, k.tasks)).collect(),
        time: RunTime::Measured {
            threads: stats.executors,
            run: stats.run,
            first_task: None,
            busy: Vec::new(),
            graph: GraphStats::default(),
            aicpus: workload.aicpus.map(Box::new),
        },
        notes,
        trace: Vec::new(),
    };
    Ok(own::run_of_workload(own, stats.params, common))
}

/// Runs a workload in virtual time: no kernel runs, every task takes what its kernel costs.
///
/// # Errors
/// Wrong values, faults of the workload, what would fail a run.
pub fn simulate(
    program: &dyn Program,
    args: &Args,
    options: &RunOptions,
) -> Result<RunOutcome, Vec<Diagnostic>> {
    let Simulated { listing, makespan, tasks, busy, schedule, notes, .. } =
        program.simulate(args, options)?;
    let mut counts = vec![0u64; listing.kernels.len()];
    for &kernel in &listing.tasks {
        counts[kernel as usize] += 1;
    }
    let names = listing.kernels.into_iter().map(|k| k.name);
    // Barrier nodes run nowhere and are no tasks: as in a run, these are numbered without them.
    let lived = listing.tasks.iter().zip(&tasks);
    let lived = lived.filter_map(|(&kernel, life)| Some((kernel, life.worker?, life)));
    let trace = (0u32..).zip(lived).map(|(task, (kernel, worker, life))| TimedTask {
        task,
        kernel,
        worker,
        ready: life.ready,
        start: life.start,
        end: life.end,
    });
    Ok(RunOutcome {
        outputs: Arrays::new(),
        unwritten: Vec::new(),
        bodies: None,
        params: Vec::new(),
        library_params: Vec::new(),
        schedule_lines: schedule,
        trace: trace.collect(),
        kernels: names.zip(counts).filter(|(name, _)| name != BARRIER_NODE).collect(),
        time: RunTime::Cycles { makespan, busy },
        notes,
    })
}
