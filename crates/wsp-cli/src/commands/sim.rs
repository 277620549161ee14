//! `wsp sim`: a program in virtual time, on the units of a machine model.

use super::kind::{Kind, WITH_TASKS, wrong_kind};
use super::outputs::{Outputs, Written};
use super::workload::{ArraysFor, Given, SIMULATED_TASK_BYTES, check_graph_memory, planned, read_arrays};
use super::{Outcome, Session, data, fit, launch_options, options, unit, workload};
use crate::args::{LaunchArgs, Setting, SimArgs};
use crate::engine::{self, Loaded, TasksOutcome};
use crate::report::{SimReport, Sources};
use pto_wsp::trace::{key_of_program, key_of_workload};
use wsp_backend::{Expand, RunOptions, WorkloadRunOptions};
use wsp_core::ExecPool;
use wsp_diag::Diagnostic;
use wsp_kernel::{Engine, Mode};
use wsp_plan::target::model::Model;
use wsp_runtime::RunConfig;
use wsp_runtime::timeline::Timeline;

/// Simulates a program or a workload.
pub(super) fn sim(session: &mut Session, args: &SimArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if let Some(to) = &args.fit {
        return fit::fit(session, args, to);
    }
    args.data.check_unused()?;
    let machine = session.model(&args.model)?;
    let kind = Kind::of(&args.file);
    match kind {
        Kind::Program => program(session, args, &machine),
        kind if kind.is_tasks() => tasks(session, args, kind, &machine),
        Kind::UnitText | Kind::UnitBytes => {
            let given = [
                ("--schedule", args.schedule.is_some()),
                ("--aicpus", args.aicpus.is_some()),
                ("--expand", args.expand.is_some()),
            ];
            options::refuse(&given, unit::NOT_OF_UNITS).map_err(|fault| vec![fault])?;
            let (outcome, key, sources, outputs) = unit::sim(session, args, kind, &machine)?;
            tell(session, outputs, &outcome, &outcome.timeline(&args.file, key), sources, &machine)
        }
        kind => Err(vec![wrong_kind(&args.file, kind, WITH_TASKS)]),
    }
}

/// A `.pto` program.
fn program(session: &mut Session, args: &SimArgs, machine: &Model) -> Result<Outcome, Vec<Diagnostic>> {
    let given = [("--kernels", !args.kernels.is_empty())];
    options::refuse(&given, options::OF_UNITS).map_err(|fault| vec![fault])?;
    options::refuse(&[("--expand", args.expand.is_some())], options::OF_WORKLOADS)
        .map_err(|fault| vec![fault])?;
    let launch =
        LaunchArgs { set: args.set.clone(), schedule: args.schedule.clone(), isa: None, engine: None };
    let module = session.launched(&args.file, &launch)?;
    let outputs = outputs(session, args)?;
    let mut options = launch_options(&launch, 0);
    options.aicpus = args.aicpus.unwrap_or(0);
    let data = data::load(session, &module, &args.data, &launch)?;
    options.layout = data.layout;
    // Schedules split for the machine that runs them.
    options.max_blocks = Some(options.max_blocks.unwrap_or_else(|| machine.count(ExecPool::Any)));
    let sources = data.sources();
    let loaded = Loaded { module, arrays: data.arrays };
    session.terminal.progress("simulating");
    let outcome = engine::simulate_program(&loaded, &options, machine)?;
    let timeline = outcome.timeline(&args.file, key_of_program(&loaded.module));
    tell(session, outputs, &outcome, &timeline, sources, machine)
}

/// A workload.
fn tasks(
    session: &mut Session,
    args: &SimArgs,
    kind: Kind,
    machine: &Model,
) -> Result<Outcome, Vec<Diagnostic>> {
    let kernels = !args.kernels.is_empty() && kind == Kind::Workload;
    options::refuse(&[("--kernels", kernels)], options::OF_UNITS).map_err(|fault| vec![fault])?;
    if args.aicpus.is_none() {
        let expand = ("--expand", args.expand.is_some());
        options::refuse(&[expand], "needs `--aicpus N`").map_err(|fault| vec![fault])?;
    }
    let source = session.read_workload(&args.file, &args.kernels)?;
    let outputs = outputs(session, args)?;
    let of = |set: &[Setting]| planned(&source, set, args.schedule.as_deref(), None);
    let (mut plan, mut set) = of(&args.set)?;
    if plan.reads_max_blocks() && !args.set.iter().any(|setting| matches!(setting, Setting::MaxBlocks(_))) {
        let units = Setting::MaxBlocks(machine.count(ExecPool::Any));
        (plan, set) = of(&[&args.set[..], &[units]].concat())?;
    }
    session.warn(&plan.schedule.notes);
    check_graph_memory(&source, &set, SIMULATED_TASK_BYTES)?;
    let Given { args: of_run, sources, .. } = read_arrays(&source, &plan, &args.data, set, ArraysFor::Tasks)?;
    // Idle units take tasks from others, which ones is drawn.
    let policy = &plan.schedule.policy;
    let workers = policy.workers.unwrap_or_else(|| machine.count(ExecPool::Any));
    let config = RunConfig { threads: workers, ready: policy.ready, ..RunConfig::default() };
    if args.aicpus.is_some() || !workload::steals(&config) {
        args.data.check_seed(&sources.made)?;
    }
    let program = engine::program(&plan.into(), Mode::default(), Engine::default(), None)?;
    let (seed, aicpus) = (args.data.seed(), args.aicpus.unwrap_or(0));
    let of_tasks = WorkloadRunOptions {
        aicpus,
        expand: args.expand.unwrap_or(Expand::Bytecode),
        ..WorkloadRunOptions::default()
    };
    let options =
        RunOptions { seed: if aicpus == 0 { seed } else { 0 }, workload: of_tasks, ..RunOptions::default() };
    session.terminal.progress("simulating");
    let outcome = engine::simulate_tasks(&*program, &of_run, &options, Some(machine))?;
    let timeline = outcome.timeline(&args.file, key_of_workload(&source.module));
    tell(session, outputs, &outcome, &timeline, sources, machine)
}

fn outputs(session: &Session, args: &SimArgs) -> Result<Outputs, Vec<Diagnostic>> {
    let data = &args.data;
    let read = data.inputs.iter().chain(data.input.iter().map(|(_, path)| path)).chain([&args.file]);
    let written = Written { arrays: None, trace: args.trace.as_ref(), edges: args.trace_edges };
    Outputs::new(&written, read.cloned().chain(session.source_files()))
}

/// Prints what a simulation came to, and writes its trace.
fn tell(
    session: &Session,
    outputs: Outputs,
    outcome: &TasksOutcome,
    timeline: &Timeline,
    sources: Sources,
    machine: &Model,
) -> Result<Outcome, Vec<Diagnostic>> {
    session.warn(&outcome.notes);
    let (filled, faults) = outputs.fill(&outcome.outputs, Some(timeline));
    let report = SimReport { outcome, timeline, sources, machine };
    session.print(|| report.text(), || report.json(), &faults);
    session.keep_after(&faults, filled)
}
