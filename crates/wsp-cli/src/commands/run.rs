//! `wsp run`: compile, run, check, summarise.

use super::kind::{Kind, refuse_entries, wrong_kind};
use super::options::{self, refuse_unused};
use super::outputs::{Outputs, check_allowed};
use super::{Outcome, Session, data, launch_options, unit, workload};
use crate::args::RunArgs;
use crate::codes;
use crate::engine::{self, Loaded, Options, RunOutcome};
use crate::machine;
use crate::reference::{self, Comparison, Context, SM_SCALE, Tolerance, compare as compare_values};
use crate::report::{DataSummary, Findings, RunReport};
use std::collections::BTreeMap;
use wsp_cpu::KvLayout;
use wsp_cpu::Recording;
use wsp_ir::diag::Diagnostic;
use wsp_ir::{ExprKind, ParamSource};
use wsp_kernel::Mode;
use wsp_plan::{Array, Arrays, ParamValue};

/// Runs a program.
pub(super) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_unused(args.data.files()).map_err(|fault| vec![fault])?;
    let kind = Kind::of(&args.file);
    if kind.is_unit() {
        return unit::run(session, args, kind);
    }
    options::refuse(&args.unit.given(), options::OF_UNITS).map_err(|fault| vec![fault])?;
    if matches!(kind, Kind::GeneratorText | Kind::GeneratorBytes | Kind::Arrays) {
        return Err(vec![wrong_kind(&args.file, kind, "`.pto` programs, workloads and task graphs")]);
    }
    if kind == Kind::Workload {
        return workload::run(session, args);
    }
    let module = session.compile(&args.file)?;
    refuse_entries(&args.file, &module).map_err(|fault| vec![fault])?;
    let trace = [("--trace", args.trace.is_some())];
    options::refuse(&trace, "is for workloads (`.wsp`) and task graphs (`.tg`, `.ptog`)")
        .map_err(|fault| vec![fault])?;
    let given = [("--aicpus", args.aicpus.is_some()), ("--expand", args.expand.is_some())];
    options::refuse(&given, options::OF_WORKLOADS).map_err(|fault| vec![fault])?;
    let outputs = Outputs::of(args, &session.source_files())?;
    let check = args.check || (!args.data.reads_files() && !args.no_check);
    let recording = recording(args, check).map_err(|fault| vec![fault])?;
    for reference in &module.references {
        reference::verify(reference)?;
    }
    if !args.allow_unwritten.is_empty() {
        check_allowed(&args.allow_unwritten, &data::output_names(&module, &engine::outputs(&module)?))?;
    }
    let data = data::load(session, &module, &args.data, &args.launch)?;
    let mut options = launch_options(&args.launch, args.threads.unwrap_or(0));
    options.layout = data.layout;
    options.recording = recording;
    let loaded = Loaded { module, arrays: data.arrays };
    let user = given_arrays(&loaded.arrays, &data.made);
    let mut outcome = engine::execute(&loaded, &options)?;
    if outcome.stats.chunks() > 0 {
        let plan = engine::plan(&loaded, &options)?;
        outcome.stats.costs = plan.descriptors.iter().filter(|d| d.tier.is_some()).map(|d| d.cost).collect();
    }
    session.warn(&outcome.warnings);
    let (filled, mut faults) = outputs.fill(&outcome.outputs, &mut |_| Ok(()));
    let ran = outcome.stats.tasks.iter().any(|group| group.tasks > 0);
    if !ran {
        let params = outcome.params.iter().map(|(name, value)| (name.as_str(), *value));
        let nothing = nothing_ran("the program issued no task", params, check);
        if check { faults.push(nothing) } else { session.warn(&[nothing]) }
    }
    let checked = if check && ran {
        session.terminal.progress("computing the reference");
        if loaded.module.references.is_empty() {
            compare_with_plain(&loaded, &outcome, &options)
        } else {
            compare(&loaded, &outcome, &options)
        }
    } else {
        Ok(Vec::new())
    };
    let compared = check && ran && checked.is_ok();
    let checks = match checked {
        Ok(checks) => {
            if check && ran && checks.iter().all(|one| one.elements == 0) {
                faults.push(nothing_compared("no kernel that ran stores to an array of the launch"));
            }
            checks
        }
        Err(found) => {
            // What was computed is worth keeping when it cannot be checked.
            faults.extend(found);
            Vec::new()
        }
    };
    let mut findings =
        Findings::of(std::mem::take(&mut outcome.unwritten), &outcome.outputs, &user, args.strict);
    findings.allow(&args.allow_unwritten, &args.data.fill);
    if options.recording == Recording::On {
        findings.untouched = std::mem::take(&mut outcome.untouched);
    }
    if compared {
        findings = findings.judged(&checks);
    }
    session.warn(&findings.warnings());
    let summary = DataSummary::of(&loaded.module, &loaded.arrays, data.layout);
    let all_made = user.is_empty();
    let shown = |name: &str| summary.is_none() && (all_made || user.contains_key(name));
    let inputs = loaded.arrays.iter().filter(|(name, _)| shown(name));
    let inputs = inputs.map(|(name, array)| format!("{name} {array:?}")).collect();
    let report = RunReport {
        inputs,
        program: args.file.display().to_string(),
        made: data.made,
        all_made,
        seed: data.seed,
        data: summary,
        stats: outcome.stats,
        checks,
        findings,
    };
    faults.extend(differences(&loaded.module, &report.checks, &options.set));
    faults.extend(report.findings.diagnostics());
    session.print_run(args.stats, || report.text(), || report.json(), &faults);
    session.keep_after(&faults, filled)
}

/// Whether a run, which compares or not, records what it stores.
///
/// # Errors
/// When an option says what to make of the record, and there is none.
pub(super) fn recording(args: &RunArgs, check: bool) -> Result<Recording, Diagnostic> {
    if check || args.strict {
        return Ok(Recording::On);
    }
    let given = [("--allow-unwritten", !args.allow_unwritten.is_empty())];
    let refused = options::refuse(&given, "has no meaning: this run does not record what tasks store");
    refused.map_err(|fault| fault.help("or have it recorded: `--strict`"))?;
    Ok(Recording::Off)
}

/// The arrays that the user gives: those that are not made up.
pub(super) fn given_arrays<'a>(arrays: &'a Arrays, made: &[String]) -> BTreeMap<&'a str, &'a Array> {
    let of_user = arrays.iter().filter(|(name, _)| !made.contains(name));
    of_user.map(|(name, array)| (name.as_str(), array)).collect()
}

/// What to say of a run of no task: an error where it was to be checked, since nothing was, else a warning.
pub(super) fn nothing_ran<'a>(
    what: &str,
    params: impl Iterator<Item = (&'a str, ParamValue)>,
    check: bool,
) -> Diagnostic {
    let new = if check { Diagnostic::error } else { Diagnostic::warning };
    let empty = params.filter(|(_, value)| matches!(value, ParamValue::Int(n) if *n <= 0));
    let empty: Vec<String> = empty
        .map(|(name, value)| match value {
            ParamValue::Int(n) => format!("`{name}` is {n}"),
            _ => String::new(),
        })
        .collect();
    let fault = new(codes::NOTHING_RAN, format!("nothing ran: {what}"));
    let fault = if empty.is_empty() { fault } else { fault.note(empty.join(", ")) };
    fault.help(
        "choose values and arrays for which the loops have rounds: `--set NAME=VALUE`, `--generate NAME=N`",
    )
}

/// What to say of a run that was to be checked, and of which no element was compared.
pub(super) fn nothing_compared(why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOTHING_TO_CHECK, format!("nothing was compared: {why}")).help(
        "store what the program computes to an output of at least one element, or run with `--no-check`",
    )
}

/// Compares the outputs of a run with every reference of its program.
pub(super) fn compare(
    loaded: &Loaded,
    outcome: &RunOutcome,
    options: &Options,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let Options { layout, set, .. } = options;
    compare_arrays(&loaded.module, &loaded.arrays, &outcome.outputs, &outcome.params, set, *layout)
}

/// Compares the outputs of a program that names no reference with those of a sequential run on the plain tile
/// operations: schedule, threads and fast operations must not change what it computes.
fn compare_with_plain(
    loaded: &Loaded,
    outcome: &RunOutcome,
    options: &Options,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let recording = Recording::Off;
    let plain = Options { mode: Mode::Plain, threads: 1, recording, ..options.clone() };
    let plain = engine::execute(loaded, &plain)?;
    let mut all = Vec::new();
    for (name, expected) in &plain.outputs {
        let Some(values) = reference::to_f64(expected) else { continue };
        let tolerance = Tolerance::of_itself(expected.dtype(), &values);
        let compared = compare_values(name, &outcome.outputs[name], &values, tolerance);
        all.push(compared.map_err(|fault| vec![fault])?);
    }
    Ok(all)
}

/// Compares arrays with every reference of a program; `set` are the parameters that the user sets.
pub(super) fn compare_arrays(
    module: &wsp_ir::Module,
    inputs: &Arrays,
    outputs: &Arrays,
    params: &[(String, ParamValue)],
    set: &[(String, ParamValue)],
    layout: KvLayout,
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
    for mut reference in module.references.iter().cloned() {
        reference.roles.retain(|(role, name)| role != SM_SCALE || is_stated(module, name, set));
        all.extend(reference::check(&reference, &cx)?);
    }
    Ok(all)
}

/// Whether the reference takes a parameter from the program: what the program computes from sizes, the reference computes too.
fn is_stated(module: &wsp_ir::Module, name: &str, set: &[(String, ParamValue)]) -> bool {
    set.iter().any(|(n, _)| n == name) || !has_computed_default(module, name)
}

/// What is wrong with outputs that were compared. Where the reference computes the scale itself, that is said.
pub(super) fn differences(
    module: &wsp_ir::Module,
    checks: &[Comparison],
    set: &[(String, ParamValue)],
) -> Vec<Diagnostic> {
    let roles = module.references.iter().flat_map(|reference| &reference.roles);
    let own = roles.into_iter().find(|(role, name)| role == SM_SCALE && !is_stated(module, name, set));
    let faults = checks.iter().filter_map(Comparison::diagnostic);
    faults
        .map(|fault| match own {
            None => fault,
            Some((_, name)) => fault
                .note(format!("the reference does not take `{name}` from the program, whose default is computed: it has 1 / sqrt(lanes) of its own"))
                .help(format!("`--set {name}=…` gives both the same")),
        })
        .collect()
}

/// Whether a parameter has a default that is more than a number.
fn has_computed_default(module: &wsp_ir::Module, name: &str) -> bool {
    module.params.iter().find(|param| param.name == name).is_some_and(|param| match &param.source {
        ParamSource::Set { default } => !matches!(default.kind, ExprKind::Const(_)),
        _ => false,
    })
}
