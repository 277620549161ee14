//! `wsp run FILE.wsp`.

use super::arrays::{read, read_graph_arrays};
use super::{check_graph_memory, is_workload, used_files};
use crate::args::{ExpandArg, LaunchArgs, RunArgs, Setting, StatsFormat};
use crate::codes;
use crate::commands::run::{compare_arrays, refuse_to_overwrite};
use crate::commands::{Outcome, Session, refuse_machine_options};
use crate::engine::workload::{self as engine, RunOutcome, Source};
use crate::files::{write_npz, write_stream};
use crate::graph::Rows;
use crate::layout::Layout;
use crate::report::{Check, WorkloadReport};
use wsp_cpu::workload::{Bodies, Expand, WorkloadInputs, WorkloadOptions};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::{ParamSource, Trace};
use wsp_plan::ParamValue;

/// About what a task takes in virtual time, with a few edges.
const SIMULATED_TASK_BYTES: u64 = 500;

/// Runs a workload.
pub(in crate::commands) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let source = session.read_workload(&args.file)?;
    refuse_to_overwrite(args, &used_files(&args.file, &source))?;
    refuse_options(&source, args).map_err(|fault| vec![fault])?;
    let (set, max_blocks) = settings(&source, &args.launch);
    let program = engine::link(&source, args.launch.schedule.as_deref(), max_blocks)?;
    session.warn(program.notes());
    let is_virtual = program.schedule().trace == Trace::Cycles;
    if is_virtual {
        refuse_in_virtual_time(args).map_err(|fault| vec![fault])?;
    }
    let (aicpus, expand) = aicpus(args);
    let arrays = if is_virtual {
        check_graph_memory(&source, &set, SIMULATED_TASK_BYTES)?;
        read_graph_arrays(&source, args.data.inputs.as_deref(), &args.data.input, &set)?
    } else {
        read(&source, &args.data, &set)?
    };
    let given = args.data.inputs.is_some() || !args.data.input.is_empty();
    let shown = arrays.iter().filter(|_| given).map(|(name, array)| format!("{name} {array:?}")).collect();
    let inputs = WorkloadInputs { set, arrays, seed: args.data.seed, ..WorkloadInputs::default() };
    let options = WorkloadOptions {
        threads: args.threads.unwrap_or(0),
        seed: if aicpus == 0 { args.data.seed } else { 0 },
        trace: args.trace.is_some(),
        aicpus,
        expand,
        cancel: Some(session.interrupt.flag()),
        ..WorkloadOptions::default()
    };
    let run = if is_virtual { engine::simulate } else { engine::execute };
    let outcome = session.interrupt.while_running(|| run(&program, &inputs, &options))?;
    session.warn(&outcome.notes);
    // Before the check: what was computed is worth keeping also when the check is interrupted.
    let unwritten = write_outputs(session, args, &outcome);
    let library = source.library.as_ref().filter(|library| !library.references.is_empty());
    let check = if !checked(args, &outcome, given) {
        Check::NotDone
    } else if let Some(library) = library {
        session.terminal.progress("computing the reference");
        let (outputs, params) = (&outcome.outputs, &outcome.library_params);
        Check::Close(compare_arrays(library, &inputs.arrays, outputs, params, Layout::default())?)
    } else {
        session.terminal.progress("running once more, one task after another");
        let sequential = WorkloadOptions { sequential: true, trace: false, ..options };
        let expected = session.interrupt.while_running(|| engine::execute(&program, &inputs, &sequential))?;
        engine::compare(&outcome, &expected).map_err(|fault| vec![fault])?
    };
    let report = WorkloadReport {
        program: args.file.display().to_string(),
        bodies: outcome.bodies,
        inputs: shown,
        seed: args.data.seed,
        params: outcome.params,
        schedule: program.schedule().name.clone(),
        schedule_lines: outcome.schedule_lines,
        kernels: outcome.kernels,
        time: outcome.time,
        check,
    };
    match args.stats {
        StatsFormat::Text => session.terminal.print(&report.text()),
        StatsFormat::Json => session.terminal.print_json(&report.json()),
    }
    let faults: Vec<Diagnostic> = unwritten.into_iter().chain(report.check.diagnostics()).collect();
    if faults.is_empty() { Ok(Outcome::Done) } else { Err(faults) }
}

/// AICPUs that generate the tasks, 0 where the host hands them over, and who makes them.
fn aicpus(args: &RunArgs) -> (u16, Expand) {
    match (args.aicpus, args.expand) {
        (None, None | Some(ExpandArg::Host)) => (0, Expand::Host),
        (aicpus, Some(ExpandArg::Bytecode) | None) => (aicpus.unwrap_or(1), Expand::Bytecode),
        (Some(aicpus), Some(ExpandArg::Host)) => (aicpus, Expand::Host),
    }
}

/// Whether to compare with a sequential run: where nothing runs, never; else as asked, and where nobody asked, whenever
/// kernels only mix or data are made up.
fn checked(args: &RunArgs, outcome: &RunOutcome, given: bool) -> bool {
    let by_itself = |bodies| bodies == Bodies::Mixing || !given;
    outcome.bodies.is_some_and(|bodies| args.check || (!args.no_check && by_itself(bodies)))
}

/// Writes outputs and trace, as far as they were asked for; what could not be written otherwise.
fn write_outputs(session: &Session, args: &RunArgs, outcome: &RunOutcome) -> Vec<Diagnostic> {
    let mut faults: Vec<Diagnostic> =
        args.outputs.iter().filter_map(|path| write_npz(path, &outcome.outputs).err()).collect();
    if let Some(path) = &args.trace {
        let timeline = outcome.timeline(&args.file);
        let cancel = session.interrupt.flag();
        let written = session
            .interrupt
            .while_running(|| write_stream(path, &mut |out| timeline.write(&mut Rows::new(out, &cancel))));
        faults.extend(written.err());
    }
    faults
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
    if args.data.generate.is_some() && source.library.is_none() {
        return Err(Diagnostic::error(codes::OPTION_OF_OTHERS, "`--generate` is for kernels of a used file")
            .note("extents of a workload follow from its parameters; tensors that no array is given for are made up")
            .help("write `--set NAME=VALUE`"));
    }
    if crate::commands::asked_layout(&args.launch).is_some() {
        return Err(Diagnostic::error(codes::OPTION_OF_OTHERS, "`kv_layout` is for `.pto` programs")
            .help("leave out `--set kv_layout=…`"));
    }
    let trace = args.trace.as_deref();
    if let Some(path) = trace.filter(|path| is_workload(path) || path.extension().is_some_and(|e| e == "pto"))
    {
        return Err(Diagnostic::error(
            codes::OUTPUTS_COLLIDE,
            format!("`{}` is a source and would be overwritten", path.display()),
        )
        .help("write `--trace FILE.json`"));
    }
    Ok(())
}

/// Options that need kernels to run.
fn refuse_in_virtual_time(args: &RunArgs) -> Result<(), Diagnostic> {
    if let Some(option) = [("--aicpus", args.aicpus.is_some()), ("--expand", args.expand.is_some())]
        .iter()
        .find_map(|(option, given)| given.then_some(option))
    {
        let message = format!(
            "`{option}` has no meaning in virtual time, which the schedule asks for (`trace = cycles`)"
        );
        return Err(Diagnostic::error(codes::OPTION_OF_OTHERS, message)
            .help(format!("leave out `{option}`, or choose another schedule with `--schedule NAME`")));
    }
    let refused = [("--outputs", args.outputs.is_some()), ("--check", args.check)];
    match refused.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Diagnostic::error(
            codes::OPTION_OF_OTHERS,
            format!(
                "`{option}` needs kernels that run, and the schedule asks for virtual time (`trace = cycles`)"
            ),
        )
        .help(format!("leave out `{option}`, or choose another schedule with `--schedule NAME`"))),
    }
}
