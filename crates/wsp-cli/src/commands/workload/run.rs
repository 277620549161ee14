//! `wsp run FILE.wsp`.

use super::arrays::{Given, Purpose, read};
use super::source::{Source, library_values, plan};
use super::{check_graph_memory, used_files};
use crate::args::{RunArgs, Setting};
use crate::commands::cached;
use crate::commands::comparison::{compare_arrays, differences, operands_of};
use crate::commands::data::{self, output_names};
use crate::commands::emptiness::{Emptiness, Empty};
use crate::commands::options::{OF_CPU_SIM, OF_SIDES, refuse, refused, unread_value};
use crate::commands::outputs::{Outputs, check_allowed};
use crate::commands::replay;
use crate::commands::run::recording;
use crate::commands::sequential::{compare_bits, compare_close};
use crate::commands::verdict::Ended;
use crate::commands::{NO_KERNEL_OF_A_FILE, Outcome, Session, machine, refuse_machine_options};
use crate::engine::{TasksOutcome, program, run_tasks, simulate_tasks};
use crate::report::{Check, WorkloadReport};
use pto_wsp::cache::CachedPlan;
use pto_wsp::codes;
use pto_wsp::trace::key_of_workload;
use wsp_backend::{Args, Bodies, Expand, KvLayout, Program, Recording, RunOptions, WorkloadRunOptions};
use wsp_check::reference::Against;
use wsp_diag::Diagnostic;
use wsp_ir::workload::{ParamSource, PoolSizes, Ready, SchedulePolicy, Trace};
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{ParamValue, PlanSource, Target};
use wsp_runtime::RunConfig;

/// About what a task takes in virtual time, with a few edges.
pub(in crate::commands) const SIMULATED_TASK_BYTES: u64 = 500;

/// Runs a workload.
pub(in crate::commands) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let source = session.read_workload(&args.file, &args.unit.kernels)?;
    let used = [used_files(&args.file, &source), session.source_files()].concat();
    let outputs = Outputs::of(args, &used)?;
    let (plan, set) = planned(&source, &args.launch.set, args.launch.schedule.as_deref(), args.target)?;
    session.warn(&plan.schedule.notes);
    let runs_code = source.library.is_some() && plan.schedule.policy.trace != Trace::Cycles;
    refuse(
        &[("--cache", args.cache.is_some() && !runs_code)],
        "has no meaning: no kernel of a used file runs",
    )
    .map_err(|fault| vec![fault])?;
    let is_virtual = plan.schedule.policy.trace == Trace::Cycles;
    if is_virtual {
        refuse_in_virtual_time(args).map_err(|fault| vec![fault])?;
    }
    refuse_options(&source, args).map_err(|fault| vec![fault])?;
    let wanted = !is_virtual && args.wants_check(source.library.is_some());
    let recording = recording(args, wanted).map_err(|fault| vec![fault])?;
    check_allowed(&args.allow_unwritten, &written(&source, &plan))?;
    session.refuse_denied()?;
    let (mode, scalar_engine) = machine(&args.launch);
    let cached = cached::find(session, args.cache.as_ref(), scalar_engine, &plan.options)?;
    let Given { args: of_run, begin, sources } = arrays(&source, &plan, args, set)?;
    let replay = replay::order(session, args, key_of_workload(&source.module))?;
    let mut options = RunOptions { replay, ..options(args, begin, recording) };
    // What went through channels is told by when tasks ran.
    let has_channels = source.module.workloads.iter().any(|workload| !workload.channels.is_empty());
    options.trace |= has_channels && !is_virtual && plan.options.target == CPU_SIM;
    let has_sides = plan.options.target != CPU_SIM && source.module.kernels.iter().any(|of| of.on_host);
    refuse(&[("--phases", args.phases && !has_sides)], OF_SIDES).map_err(|fault| vec![fault])?;
    if plan.options.target != CPU_SIM {
        let host = ("--expand host", args.expand == Some(Expand::Host));
        refuse(&[host], OF_CPU_SIM).map_err(|fault| vec![fault])?;
        options.seed = args.data.seed();
        options.workload.expand = args.expand.unwrap_or_default();
        options.workload.aicpus = args.aicpus.unwrap_or(0);
        options.workload.phases = args.phases;
    } else if let Some(expand) = args.expand.filter(|expand| expand.is_of_packages()) {
        let name = if expand == Expand::Table { "--expand table" } else { "--expand loops" };
        refuse(&[(name, true)], "is for packages: `--target ascend_host`").map_err(|fault| vec![fault])?;
    }
    let name = plan.schedule.name.clone();
    // What runs on AICPUs alone tells nothing of the schedule beside its results.
    let lines: Vec<String> = plan.schedule.lines.iter().map(|line| line.on_aicpus().to_string()).collect();
    let of_package = plan.options.target != CPU_SIM;
    let plan = PlanSource::from(plan).with_sources(&session.sources);
    let program = program(&plan, mode, scalar_engine, cached::code(cached.as_ref()))?;
    let mut outcome = match is_virtual {
        true => simulate_tasks(&*program, &of_run, &options, None)?,
        false => run_tasks(&*program, &of_run, &options)?,
    };
    if outcome.schedule_lines.is_empty() {
        outcome.schedule_lines = lines;
    }
    session.warn(&outcome.notes);
    let timeline = args.trace.as_ref().map(|_| outcome.timeline(&args.file, key_of_workload(&source.module)));
    let of_library = outcome.library_params.iter().cloned();
    let own = outcome.params.iter().map(|(name, value)| (name.clone(), ParamValue::Int((*value).into())));
    session.conclude(
        args,
        outputs,
        Ended {
            wanted,
            inputs: &of_run.arrays,
            made: &sources.made,
            params: of_library.chain(own).collect(),
            outputs: &outcome.outputs,
            unwritten: outcome.unwritten.clone(),
            cached: cached.as_ref(),
            trace: timeline,
            empty: outcome.kernels.iter().all(|(_, tasks)| *tasks == 0).then(|| Emptiness {
                what: "the workload has no task",
                empty: empty_params(&source, &outcome.params, &of_run.values),
            }),
            compare: &|| {
                let oracle = of_package.then(|| on_cpu_sim(&source, args)).transpose()?;
                compare(session, (&source, &*program, oracle.as_deref()), (&of_run, &options), &outcome)
            },
            uncompared: "no task writes an element of a tensor",
            differences: &|check| match (check, &source.library) {
                (Check::Close(all), Some(library)) => {
                    differences(library, all, &library_values(&source, &of_run.values))
                }
                (check, _) => check.diagnostics(),
            },
            report: Box::new(|check, findings| WorkloadReport {
                program: args.file.display().to_string(),
                bodies: outcome.bodies,
                sources: sources.clone(),
                params: outcome.params.clone(),
                schedule: name,
                schedule_lines: outcome.schedule_lines.clone(),
                grid: outcome.grid.clone(),
                kernels: outcome.kernels.clone(),
                time: outcome.time.clone(),
                channels: outcome.channels(),
                check,
                findings,
                cache: cached.as_ref().map(CachedPlan::statistics),
            }),
        },
    )
}

/// The arrays of a run; in virtual time those that tasks depend on.
fn arrays(
    source: &Source,
    plan: &WorkloadPlan,
    args: &RunArgs,
    set: Vec<(String, ParamValue)>,
) -> Result<Given, Vec<Diagnostic>> {
    let policy = &plan.schedule.policy;
    if policy.trace != Trace::Cycles {
        let given = read(source, plan, &args.data, set, Purpose::Run)?;
        args.data.check_seed(&given.sources.made)?;
        return Ok(given);
    }
    check_graph_memory(source, &set, SIMULATED_TASK_BYTES)?;
    let given = read(source, plan, &args.data, set, Purpose::Tasks)?;
    // Which worker an idle one takes a task from is drawn too.
    if args.aicpus.is_some() || !steals(&workers(policy, args)) {
        args.data.check_seed(&given.sources.made)?;
    }
    Ok(given)
}

/// The workers of a run, and what they take next.
fn workers(policy: &SchedulePolicy, args: &RunArgs) -> RunConfig {
    let workers = match policy.pools {
        PoolSizes::ByUnit { vector, cube } => vector.saturating_add(cube),
        PoolSizes::Shared => args.threads.or(policy.workers).unwrap_or_else(wsp_check::cores),
    };
    RunConfig { threads: workers, ready: policy.ready, ..RunConfig::default() }
}

/// Whether idle workers take tasks from others.
pub(in crate::commands) fn steals(config: &RunConfig) -> bool {
    config.ready_policy() == Ready::WorkSteal
}

fn options(args: &RunArgs, begin: WorkloadRunOptions, recording: Recording) -> RunOptions {
    let (aicpus, expand) = aicpus(args);
    RunOptions {
        threads: args.threads.unwrap_or(0),
        seed: if aicpus == 0 { args.data.seed() } else { 0 },
        trace: args.trace.is_some(),
        recording,
        workload: WorkloadRunOptions { aicpus, expand, ..begin },
        ..RunOptions::default()
    }
}

/// Parameters of a workload that are 0 or less.
fn empty_params<'a>(
    source: &Source,
    params: &'a [(String, i64)],
    set: &[(String, ParamValue)],
) -> Vec<Empty<'a>> {
    let follows = |name: &str| source.library.as_ref().is_some_and(|library| data::is_extent(library, name));
    let option = |name: &str| (is_settable(source, name) && !follows(name)).then_some("--set");
    let is_chosen = |name: &str| set.iter().any(|(set, _)| set == name);
    let empty = params.iter().filter(|(_, value)| *value <= 0).map(|(name, value)| Empty {
        name,
        value: i128::from(*value),
        option: option(name),
        is_chosen: is_chosen(name),
    });
    empty.collect()
}

/// Names of the outputs.
fn written(source: &Source, plan: &WorkloadPlan) -> Vec<String> {
    let of_library = source.library.as_ref().map(|library| output_names(library, &plan.library_outputs()));
    plan.written().into_iter().chain(of_library.into_iter().flatten()).collect()
}

/// What a package is compared with.
fn on_cpu_sim(source: &Source, args: &RunArgs) -> Result<Box<dyn Program>, Vec<Diagnostic>> {
    let (plan, _) = planned(source, &args.launch.set, args.launch.schedule.as_deref(), None)?;
    let (mode, scalar_engine) = machine(&args.launch);
    program(&plan.into(), mode, scalar_engine, None)
}

/// Compares with the references of the used file or, where it names none, with a sequential run, of another program where one is given.
fn compare(
    session: &Session,
    (source, program, other): (&Source, &dyn Program, Option<&dyn Program>),
    (args, options): (&Args, &RunOptions),
    outcome: &TasksOutcome,
) -> Result<Check, Vec<Diagnostic>> {
    if let Some(library) = source.library.as_ref().filter(|library| !library.references.is_empty()) {
        session.terminal.progress("computing the reference");
        let (outputs, params) = (&outcome.outputs, &outcome.library_params);
        return Ok(Check::Close(compare_arrays(
            library,
            &args.arrays,
            outputs,
            params,
            &library_values(source, &args.values),
            (KvLayout::default(), None),
        )?));
    }
    session.terminal.progress("running once more, one task after another");
    let recording = Recording::Off;
    let mut sequential =
        RunOptions { sequential: true, trace: false, replay: None, recording, ..options.clone() };
    if other.is_some() {
        (sequential.workload.expand, sequential.workload.aicpus) = (Expand::default(), 0);
        sequential.workload.phases = false;
    }
    let expected = run_tasks(other.unwrap_or(program), args, &sequential)?.outputs;
    let against = if other.is_some() { Against::CpuSim } else { Against::Itself };
    let operands = other.and_then(|_| operands_of(&args.arrays));
    match outcome.bodies {
        Some(Bodies::Library) => {
            Ok(Check::Close(compare_close(&outcome.outputs, &expected, operands, &against)?))
        }
        _ => Ok(compare_bits(&outcome.outputs, &expected)),
    }
}

/// AICPUs that generate the tasks, 0 where the host hands them over, and who makes them.
fn aicpus(args: &RunArgs) -> (u16, Expand) {
    match (args.aicpus, args.expand) {
        (None, None | Some(Expand::Host)) => (0, Expand::Host),
        (Some(aicpus), Some(Expand::Host)) => (aicpus, Expand::Host),
        (aicpus, _) => (aicpus.unwrap_or(1), Expand::Bytecode),
    }
}

/// Whether a workload has a parameter of this name.
fn is_settable(source: &Source, name: &str) -> bool {
    source.module.params.iter().any(|p| p.name == name && matches!(p.source, ParamSource::Set(_)))
}

/// A plan, and values of parameters.
type Planned = (WorkloadPlan, Vec<(String, ParamValue)>);

/// The plan of a workload under a schedule, and the values of its parameters.
///
/// # Errors
/// What cannot be planned; settings that it does not take.
pub(in crate::commands) fn planned(
    source: &Source,
    set: &[Setting],
    schedule: Option<&str>,
    target: Option<&'static Target>,
) -> Result<Planned, Vec<Diagnostic>> {
    refuse_layout(set)?;
    let (set, max_blocks) = settings(source, set);
    let plan = plan(source, schedule, max_blocks, target.unwrap_or(CPU_SIM))?;
    if max_blocks.is_some() && !plan.reads_max_blocks() {
        return Err(vec![unread_max_blocks()]);
    }
    Ok((plan, set))
}

/// Gives parameters of a workload these values by default; the cores of the machine model that kernels of a used file see.
///
/// # Errors
/// Settings that it does not take.
pub(super) fn set_defaults(source: &mut Source, set: &[Setting]) -> Result<Option<u32>, Vec<Diagnostic>> {
    refuse_layout(set)?;
    let (set, max_blocks) = settings(source, set);
    wsp_plan::workload::set_defaults(&mut source.module, &set)?;
    Ok(max_blocks)
}

/// A number of cores that no kernel asks for.
pub(super) fn unread_max_blocks() -> Diagnostic {
    unread_value("max_blocks").note("no kernel that tasks call asks for the number of cores")
}

fn refuse_layout(set: &[Setting]) -> Result<(), Vec<Diagnostic>> {
    if !set.iter().any(|setting| matches!(setting, Setting::Layout(_))) {
        return Ok(());
    }
    Err(vec![
        refused("--set kv_layout=…", "is for `.pto` programs")
            .note("the pages of a workload's caches lie as NHD: page, token, head, element"),
    ])
}

/// Values of parameters, and the cores of the machine model that kernels of a used file see.
fn settings(source: &Source, set: &[Setting]) -> (Vec<(String, ParamValue)>, Option<u32>) {
    let mut values = Vec::new();
    let mut max_blocks = None;
    for setting in set {
        match setting {
            Setting::Param(name, value) => values.push((name.clone(), *value)),
            Setting::MaxBlocks(n) if source.library.is_some() && !is_settable(source, "max_blocks") => {
                max_blocks = Some(*n)
            }
            Setting::MaxBlocks(n) => values.push(("max_blocks".to_owned(), ParamValue::Int((*n).into()))),
            Setting::Layout(_) => {}
        }
    }
    (values, max_blocks)
}

/// Options of `wsp run` that workloads have no use for.
fn refuse_options(source: &Source, args: &RunArgs) -> Result<(), Diagnostic> {
    if source.library.is_none() {
        refuse_machine_options(&args.launch, NO_KERNEL_OF_A_FILE)?;
        refuse(&[("--reference", args.reference.is_some())], NO_KERNEL_OF_A_FILE)?;
    }
    if args.data.generate.as_ref().is_some_and(|pairs| !pairs.is_empty()) && source.library.is_none() {
        let message = "keys of `--generate` are for kernels of a used file";
        return Err(Diagnostic::error(codes::OPTION_OF_OTHERS, message)
            .note("extents of a workload follow from its parameters")
            .help("write `--generate` alone, and `--set NAME=VALUE`"));
    }
    Ok(())
}

/// Options that need kernels to run. `--no-check` is what virtual time does anyway.
fn refuse_in_virtual_time(args: &RunArgs) -> Result<(), Diagnostic> {
    let given = [
        ("--isa", args.launch.isa.is_some()),
        ("--engine", args.launch.engine.is_some()),
        ("--expand", args.expand.is_some()),
        ("--outputs", args.outputs.is_some()),
        ("--check", args.check),
        ("--reference", args.reference.is_some()),
        ("--strict", args.strict),
        ("--replay", args.replay.is_some()),
        ("--allow-unwritten", !args.allow_unwritten.is_empty()),
    ];
    let why = "needs kernels that run, and the schedule asks for virtual time (`trace = cycles`)";
    refuse(&given, why).map_err(|fault| fault.help("or choose another schedule with `--schedule NAME`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser as _;

    fn run(args: &[&str]) -> Box<RunArgs> {
        let cli = Cli::parse_from([&["wsp", "run", "a.wsp"], args].concat());
        let Some(Command::Run(args)) = cli.command else { panic!("it should be a run") };
        args
    }

    #[test]
    fn runs_of_bodies_over_given_arrays_neither_compare_nor_record() {
        let given = ["--input", "x=x.npy"];
        for (args, has_bodies, wanted) in [
            (&[][..], true, true),
            (&given, true, false),
            (&given, false, true),
            (&["--input", "x=x.npy", "--check"], true, true),
            (&["--no-check"], false, false),
            (&["--fill", "x"], true, true),
        ] {
            assert_eq!(run(args).wants_check(has_bodies), wanted, "{args:?}");
        }
    }
}
