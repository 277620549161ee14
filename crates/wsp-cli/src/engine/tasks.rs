//! Runs of workloads, on threads and in virtual time.

use super::outcome::RunOutcome;
use super::own;
use crate::graph::BARRIER_NODE;
use crate::report::{GraphStats, RunTime};
use wsp_backend::{Args, Outcome, Program, RunOptions, SimulatedTask};
use wsp_core::KernelId;
use wsp_diag::Diagnostic;
use wsp_plan::Arrays;
use wsp_plan::cost::Work;
use wsp_plan::target::model::Model;
use wsp_plan::workload::ChannelUse;
use wsp_runtime::timeline::{About, Channel, Heading, Machine, Simulated, Timeline, Work as WorkOfKernel};

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
    let channels = workload.channels;
    let common = RunOutcome {
        outputs,
        unwritten,
        bodies: workload.bodies,
        params: Vec::new(),
        library_params: Vec::new(),
        schedule_lines: Vec::new(),
        grid: Vec::new(),
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
        timeline: Timeline::default(),
    };
    let mut told = own::run_of_workload(own, stats.params, common);
    told.timeline.channels = shown(channels);
    Ok(told)
}

/// Runs a program in virtual time: no kernel runs, every task takes what its kernel costs, on the units of a machine if there is one.
///
/// # Errors
/// Wrong values, faults of the workload, what would fail a run.
pub(crate) fn simulate(
    program: &dyn Program,
    args: &Args,
    options: &RunOptions,
    machine: Option<&Model>,
) -> Result<RunOutcome, Vec<Diagnostic>> {
    let wsp_backend::Simulated { listing, makespan, tasks, busy, schedule, aicpus, channels, notes, .. } =
        program.simulate_on(args, options, machine)?;
    let mut counts = vec![0u64; listing.kernels.len()];
    for &kernel in &listing.tasks {
        counts[kernel as usize] += 1;
    }
    let node = |(task, &kernel): (&SimulatedTask, &u32)| Simulated {
        kernel: KernelId(u16::try_from(kernel).unwrap_or(u16::MAX)),
        worker: task.worker,
        times: [task.submitted, task.ready, task.start, task.end],
        cause: task.cause,
    };
    let nodes: Vec<Simulated> = tasks.iter().zip(&listing.tasks).map(node).collect();
    let kernels: Vec<String> = listing.kernels.into_iter().map(|k| k.name).collect();
    let heading = Heading { program: String::new(), workers: busy.len() as u32, kernels: kernels.clone() };
    let mut timeline = Timeline::simulated(heading, &nodes, &listing.edges);
    timeline.about = about(&listing.work, machine);
    timeline.channels = shown(channels);
    if let Some(aicpus) = &aicpus {
        for (name, spans) in aicpus.rows() {
            timeline.add_row(name, &spans);
        }
    }
    Ok(RunOutcome {
        outputs: Arrays::new(),
        unwritten: Vec::new(),
        bodies: None,
        params: Vec::new(),
        library_params: Vec::new(),
        schedule_lines: schedule,
        grid: Vec::new(),
        timeline,
        kernels: kernels.into_iter().zip(counts).filter(|(name, _)| name != BARRIER_NODE).collect(),
        time: RunTime::Cycles { makespan, busy, aicpus: aicpus.map(Box::new) },
        notes,
    })
}

/// Channels, as timelines have them.
fn shown(channels: Vec<ChannelUse>) -> Vec<Channel> {
    let of = |ChannelUse { name, ends, figures, levels }| Channel { name, ends, figures, levels };
    channels.into_iter().map(of).collect()
}

/// What a trace says of a machine, and of the work of kernels on it.
fn about(work: &[Option<Work>], machine: Option<&Model>) -> About {
    let of = |work: &Option<Work>| work.map(|Work { operations, bytes }| WorkOfKernel { operations, bytes });
    let machine = machine.map(|model| {
        let [operations, bytes] = model.peak().map(|peak| peak as u64);
        Machine { name: model.name.clone(), hz: model.clock as u64, operations, bytes }
    });
    About { key: None, workers: None, machine, work: work.iter().map(of).collect() }
}
