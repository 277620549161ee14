//! Runs of workloads, on threads and in virtual time.

use super::outcome::RunOutcome;
use super::own;
use crate::graph::BARRIER_NODE;
use crate::report::{GraphStats, RunTime, TimedTask};
use wsp_backend::{Args, Outcome, Program, RunOptions, Simulated};
use wsp_diag::Diagnostic;
use wsp_plan::Arrays;

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
