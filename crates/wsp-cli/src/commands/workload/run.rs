//! `wsp run FILE.wsp`.

use super::arrays::{Given, read, read_graph_arrays};
use super::{check_graph_memory, used_files};
use crate::args::{LaunchArgs, RunArgs, Setting};
use crate::codes;
use crate::commands::data::output_names;
use crate::commands::options::{refuse, refused};
use crate::commands::outputs::{Outputs, check_allowed};
use crate::commands::run::{
    compare_arrays, differences, given_arrays, nothing_compared, nothing_ran, recording,
};
use crate::commands::{Outcome, Session, refuse_machine_options};
use crate::engine::workload::{self as engine, RunOutcome, Source};
use crate::graph::Rows;
use crate::report::{Check, Findings, Sources, WorkloadReport};
use wsp_cpu::KvLayout;
use wsp_cpu::Recording;
use wsp_cpu::workload::{Expand, WorkloadInputs, WorkloadOptions, WorkloadProgram};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::{ParamSource, Trace};
use wsp_plan::ParamValue;

/// About what a task takes in virtual time, with a few edges.
const SIMULATED_TASK_BYTES: u64 = 500;

/// Runs a workload.
pub(in crate::commands) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let source = session.read_workload(&args.file)?;
    let used = [used_files(&args.file, &source), session.source_files()].concat();
    let outputs = Outputs::of(args, &used)?;
    let (set, max_blocks) = settings(&source, &args.launch);
    let program = engine::link(&source, args.launch.schedule.as_deref(), max_blocks)?;
    session.warn(program.notes());
    let is_virtual = program.schedule().policy.trace == Trace::Cycles;
    if is_virtual {
        refuse_in_virtual_time(args).map_err(|fault| vec![fault])?;
    }
    refuse_options(&source, args).map_err(|fault| vec![fault])?;
    let wanted = !is_virtual && wants_check(args, source.library.is_some());
    let recording = recording(args, wanted).map_err(|fault| vec![fault])?;
    check_allowed(&args.allow_unwritten, &written(&source, &program))?;
    let (aicpus, expand) = aicpus(args);
    let Given { inputs, shown, made } = if is_virtual {
        check_graph_memory(&source, &set, SIMULATED_TASK_BYTES)?;
        let arrays = read_graph_arrays(&source, args.data.files(), &set)?;
        let shown = arrays.iter().map(|(name, array)| format!("{name} {array:?}")).collect();
        let inputs = WorkloadInputs { set, arrays, ..WorkloadInputs::default() };
        Given { inputs, shown, made: Vec::new() }
    } else {
        read(&source, &program, &args.data, set)?
    };
    let seed = args.data.seed();
    let options = WorkloadOptions {
        threads: args.threads.unwrap_or(0),
        seed: if aicpus == 0 { seed } else { 0 },
        trace: args.trace.is_some(),
        aicpus,
        expand,
        recording,
        ..WorkloadOptions::default()
    };
    let run = if is_virtual { engine::simulate } else { engine::execute };
    let mut outcome = run(&program, &inputs, &options)?;
    session.warn(&outcome.notes);
    let timeline = args.trace.as_ref().map(|_| outcome.timeline(&args.file));
    let (filled, mut faults) = outputs.fill(&outcome.outputs, &mut |out| match &timeline {
        Some(timeline) => timeline.write(&mut Rows::new(out)),
        None => Ok(()),
    });
    let ran = outcome.kernels.iter().any(|(_, tasks)| *tasks > 0);
    let checked = match (ran, wanted) {
        (true, true) => check(session, &source, &program, &inputs, &options, &outcome),
        (true, false) => Ok(Check::NotDone),
        (false, _) => {
            let params = outcome.params.iter().map(|(name, n)| (name.as_str(), ParamValue::Int((*n).into())));
            let nothing = nothing_ran("the workload has no task", params, wanted);
            if wanted {
                faults.push(nothing)
            } else {
                session.warn(&[nothing])
            }
            Ok(Check::NothingRan)
        }
    };
    let check = checked.unwrap_or_else(|found| {
        // What was computed is worth keeping when it cannot be checked.
        faults.extend(found);
        Check::NotDone
    });
    if check.compares_nothing() {
        faults.push(nothing_compared("no task writes an element of a tensor"));
    }
    let unstored = std::mem::take(&mut outcome.unwritten);
    let given = given_arrays(&inputs.arrays, &made);
    let mut findings = Findings::of(unstored, &outcome.outputs, &given, args.strict);
    findings.allow(&args.allow_unwritten, &args.data.fill);
    if let Some(checks) = check.comparisons() {
        findings = findings.judged(checks);
    }
    session.warn(&findings.warnings());
    let report = WorkloadReport {
        program: args.file.display().to_string(),
        bodies: outcome.bodies,
        sources: Sources { given: shown, made, seed },
        params: outcome.params,
        schedule: program.schedule().name.clone(),
        schedule_lines: outcome.schedule_lines,
        kernels: outcome.kernels,
        time: outcome.time,
        check,
        findings,
    };
    faults.extend(match (&report.check, &source.library) {
        (Check::Close(all), Some(library)) => {
            differences(library, all, &engine::library_values(&source, &inputs.set))
        }
        (check, _) => check.diagnostics(),
    });
    faults.extend(report.findings.diagnostics());
    session.print_run(args.stats, || report.text(), || report.json(), &faults);
    session.keep_after(&faults, filled)
}

/// Names of the outputs.
fn written(source: &Source, program: &WorkloadProgram) -> Vec<String> {
    let of_library = source.library.as_ref().map(|library| output_names(library, &program.library_outputs()));
    program.written().map(str::to_owned).chain(of_library.into_iter().flatten()).collect()
}

/// Compares with the references of the used file or, where it names none, with a sequential run.
fn check(
    session: &Session,
    source: &Source,
    program: &WorkloadProgram,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
    outcome: &RunOutcome,
) -> Result<Check, Vec<Diagnostic>> {
    if let Some(library) = source.library.as_ref().filter(|library| !library.references.is_empty()) {
        session.terminal.progress("computing the reference");
        let (outputs, params) = (&outcome.outputs, &outcome.library_params);
        return Ok(Check::Close(compare_arrays(
            library,
            &inputs.arrays,
            outputs,
            params,
            &engine::library_values(source, &inputs.set),
            KvLayout::default(),
        )?));
    }
    session.terminal.progress("running once more, one task after another");
    let recording = Recording::Off;
    let sequential = WorkloadOptions { sequential: true, trace: false, recording, ..options.clone() };
    let expected = engine::execute(program, inputs, &sequential)?;
    engine::compare(outcome, &expected).map_err(|fault| vec![fault])
}

/// AICPUs that generate the tasks, 0 where the host hands them over, and who makes them.
fn aicpus(args: &RunArgs) -> (u16, Expand) {
    match (args.aicpus, args.expand) {
        (None, None | Some(Expand::Host)) => (0, Expand::Host),
        (aicpus, Some(Expand::Bytecode) | None) => (aicpus.unwrap_or(1), Expand::Bytecode),
        (Some(aicpus), Some(Expand::Host)) => (aicpus, Expand::Host),
    }
}

/// Whether to compare, and so to record: as asked, and else whenever kernels only mix, as all do but those of a used file, or data are made up.
fn wants_check(args: &RunArgs, has_bodies: bool) -> bool {
    args.check || !(args.no_check || has_bodies && args.data.reads_files())
}

/// Values of parameters, and the cores of the machine model that kernels of a used file see.
fn settings(source: &Source, launch: &LaunchArgs) -> (Vec<(String, ParamValue)>, Option<u32>) {
    let settable = |name: &str| {
        source.module.params.iter().any(|p| p.name == name && matches!(p.source, ParamSource::Set(_)))
    };
    let mut values = Vec::new();
    let mut max_blocks = None;
    for setting in &launch.set {
        match setting {
            Setting::Param(name, value) => values.push((name.clone(), *value)),
            Setting::MaxBlocks(n) if source.library.is_some() && !settable("max_blocks") => {
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
    refuse_machine_options(&args.launch)?;
    if args.data.generate.as_ref().is_some_and(|pairs| !pairs.is_empty()) && source.library.is_none() {
        let message = "keys of `--generate` are for kernels of a used file";
        return Err(Diagnostic::error(codes::OPTION_OF_OTHERS, message)
            .note("extents of a workload follow from its parameters")
            .help("write `--generate` alone, and `--set NAME=VALUE`"));
    }
    if crate::commands::asked_layout(&args.launch).is_some() {
        return Err(refused("--set kv_layout=…", "is for `.pto` programs"));
    }
    Ok(())
}

/// Options that need kernels to run. `--no-check` is what virtual time does anyway.
fn refuse_in_virtual_time(args: &RunArgs) -> Result<(), Diagnostic> {
    let given = [
        ("--aicpus", args.aicpus.is_some()),
        ("--expand", args.expand.is_some()),
        ("--outputs", args.outputs.is_some()),
        ("--check", args.check),
        ("--strict", args.strict),
        ("--allow-unwritten", !args.allow_unwritten.is_empty()),
        ("--fill", !args.data.fill.is_empty()),
        ("--generate", args.data.generate.is_some()),
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
            assert_eq!(wants_check(&run(args), has_bodies), wanted, "{args:?}");
        }
    }
}
