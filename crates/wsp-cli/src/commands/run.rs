//! `wsp run`: compile, run, check, summarise.

use super::kind::{Kind, refuse_entries, wrong_kind};
use super::{Outcome, Session, data, options, unit, workload};
use crate::args::{RunArgs, StatsFormat};
use crate::codes;
use crate::engine::{self, Loaded, Options, RunOutcome};
use crate::files::{place, write_npz};
use crate::layout::Layout;
use crate::machine;
use crate::reference::{self, Comparison, Context, Tolerance, compare as compare_values};
use crate::report::{DataSummary, RunReport};
use std::path::PathBuf;
use wsp_ir::diag::Diagnostic;
use wsp_kernel::Mode;
use wsp_plan::{Arrays, ParamValue};

/// Runs a program.
pub(super) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let kind = Kind::of(&args.file);
    if kind.is_unit() {
        return unit::run(session, args, kind);
    }
    if let Some(option) = args.unit.given() {
        let message = format!("`{option}` is for task graphs (`.tg`, `.ptog`)");
        let fault = Diagnostic::error(codes::OPTION_OF_OTHERS, message);
        return Err(vec![fault.help(format!("leave out `{option}`"))]);
    }
    if matches!(kind, Kind::GeneratorText | Kind::GeneratorBytes | Kind::Arrays) {
        return Err(vec![wrong_kind(&args.file, kind, "`.pto` programs, workloads and task graphs")]);
    }
    if kind == Kind::Workload {
        return workload::run(session, args);
    }
    let module = session.compile(&args.file)?;
    refuse_entries(&args.file, &module).map_err(|fault| vec![fault])?;
    let given = [
        ("--trace", args.trace.is_some()),
        ("--aicpus", args.aicpus.is_some()),
        ("--expand", args.expand.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let message = format!("`{option}` is for workloads (`.wsp`)");
        let fault = Diagnostic::error(codes::OPTION_OF_OTHERS, message);
        return Err(vec![fault.help(format!("leave out `{option}`"))]);
    }
    refuse_to_overwrite(args, &[])?;
    let made_up = args.data.inputs.is_none() && args.data.input.is_empty();
    let check = args.check || (made_up && !args.no_check);
    for reference in &module.references {
        reference::verify(reference)?;
    }
    let data = data::load(session, &module, &args.data, &args.launch)?;
    let mut options = options(&args.launch, args.threads.unwrap_or(0), session.interrupt.flag());
    options.layout = data.layout;
    let loaded = Loaded { module, arrays: data.arrays };
    let mut outcome = session.interrupt.while_running(|| engine::execute(&loaded, &options))?;
    if outcome.stats.chunks() > 0 {
        let plan = session.interrupt.while_running(|| engine::plan(&loaded, &options))?;
        outcome.stats.costs = plan.descriptors.iter().filter(|d| d.tier.is_some()).map(|d| d.cost).collect();
    }
    session.warn(&outcome.warnings);
    // Before the checks: what was computed is worth keeping also when a check cannot be done or is interrupted.
    let unwritten = args.outputs.as_ref().and_then(|path| write_npz(path, &outcome.outputs).err());
    let checks = if check {
        session.terminal.progress("computing the reference");
        if loaded.module.references.is_empty() {
            session.interrupt.while_running(|| compare_with_plain(&loaded, &outcome, &options))?
        } else {
            compare(&loaded, &outcome, data.layout)?
        }
    } else {
        Vec::new()
    };
    let summary = DataSummary::of(&loaded.module, &loaded.arrays, data.layout);
    let inputs = match summary {
        Some(_) => Vec::new(),
        None => loaded.arrays.iter().map(|(name, array)| format!("{name} {array:?}")).collect(),
    };
    let report = RunReport {
        inputs,
        program: args.file.display().to_string(),
        seed: data.seed,
        data: summary,
        stats: outcome.stats,
        checks,
    };
    match args.stats {
        StatsFormat::Text => session.terminal.print(&report.text()),
        StatsFormat::Json => session.terminal.print_json(&report.json()),
    }
    let failed = report.checks.iter().filter_map(Comparison::diagnostic);
    let faults: Vec<Diagnostic> = unwritten.into_iter().chain(failed).collect();
    if faults.is_empty() { Ok(Outcome::Done) } else { Err(faults) }
}

/// What is written must not replace what is read, nor each other.
pub(super) fn refuse_to_overwrite(args: &RunArgs, used: &[PathBuf]) -> Result<(), Vec<Diagnostic>> {
    let inputs = args.data.inputs.iter().chain(args.data.input.iter().map(|(_, path)| path));
    let read: Vec<PathBuf> = inputs.chain([&args.file]).chain(used).map(|path| place(path)).collect();
    let mut written: Vec<PathBuf> = Vec::new();
    for (option, path) in [("--outputs", &args.outputs), ("--trace", &args.trace)] {
        let Some(path) = path else { continue };
        let at = place(path);
        let name = path.display();
        let (code, what) = if read.contains(&at) {
            (codes::CANNOT_WRITE, format!("`{name}` is an input and would be overwritten"))
        } else if written.contains(&at) {
            (codes::OUTPUTS_COLLIDE, format!("`--outputs` and `{option}` both go to `{name}`"))
        } else {
            written.push(at);
            continue;
        };
        return Err(vec![Diagnostic::error(code, what).help(format!("give `{option}` another name"))]);
    }
    Ok(())
}

/// Compares the outputs of a run with every reference of its program.
pub(super) fn compare(
    loaded: &Loaded,
    outcome: &RunOutcome,
    layout: Layout,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    compare_arrays(&loaded.module, &loaded.arrays, &outcome.outputs, &outcome.params, layout)
}

/// Compares the outputs of a program that names no reference with those of a sequential run on the plain tile
/// operations: schedule, threads and fast operations must not change what it computes.
fn compare_with_plain(
    loaded: &Loaded,
    outcome: &RunOutcome,
    options: &Options,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let plain = engine::execute(loaded, &Options { mode: Mode::Plain, threads: 1, ..options.clone() })?;
    let mut all = Vec::new();
    for (name, expected) in &plain.outputs {
        let Some(values) = reference::to_f64(expected) else { continue };
        let tolerance = Tolerance::of_output(expected.dtype());
        let compared = compare_values(name, &outcome.outputs[name], &values, tolerance);
        all.push(compared.map_err(|fault| vec![fault])?);
    }
    Ok(all)
}

/// Compares arrays with every reference of a program.
pub(super) fn compare_arrays(
    module: &wsp_ir::Module,
    inputs: &Arrays,
    outputs: &Arrays,
    params: &[(String, ParamValue)],
    layout: Layout,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let value = |name: &str| {
        params.iter().find(|(n, _)| n == name).map(|(_, value)| match *value {
            ParamValue::Int(n) => n as f64,
            ParamValue::Float(x) => x,
            ParamValue::Bool(b) => f64::from(u8::from(b)),
        })
    };
    let cx = Context { inputs, outputs, params: &value, layout, threads: machine::cores() as usize };
    let mut all = Vec::new();
    for reference in &module.references {
        all.extend(reference::check(reference, &cx)?);
    }
    Ok(all)
}
