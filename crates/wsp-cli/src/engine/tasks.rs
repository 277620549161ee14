//! Runs of workloads, on threads and in virtual time.

use super::own;
use crate::graph::BARRIER_NODE;
use crate::report::{GraphStats, RunTime, TimedTask, Timeline};
use std::path::Path;
use wsp_backend::{Args, Bodies, Outcome, Program, RunOptions, Simulated, Unwritten};
use wsp_diag::Diagnostic;
use wsp_plan::{Arrays, ParamValue};
use wsp_runtime::clock::Clock;

/// What a run gave.
#[derive(Clone, Debug)]
pub(crate) struct RunOutcome {
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
    pub(crate) fn timeline(&self, file: &Path) -> Timeline {
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
pub(crate) fn execute(
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
pub(crate) fn simulate(
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
