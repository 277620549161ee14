//! `wsp run`: compile, run, check, summarise.

use super::comparison::{compare, compare_with_plain, differences, number};
use super::emptiness::{Emptiness, Empty};
use super::kind::{ALL_THAT_RUN, Kind, refuse_entries, wrong_kind};
use super::options::{self, refuse_unused};
use super::outputs::{Outputs, check_allowed};
use super::reference::compare_with;
use super::verdict::{RunArrays, Verdict};
use super::{Outcome, Session, Warnings, cached, data, launch_options, refuse_unread, unit, workload};
use crate::args::{DataArgs, RunArgs};
use crate::engine::{self, Executable, Loaded, Options, RunOutcome};
use crate::files::read_source;
use crate::graph::Rows;
use crate::report::{DataSummary, RunReport};
use wsp_backend::Recording;
use wsp_check::reference::{self, Comparison};
use wsp_diag::Diagnostic;
use wsp_ir::ParamSource;
use wsp_plan::ParamValue;
use wsp_plan::target::CPU_SIM;

/// Runs a program, a workload or a task graph.
pub(super) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_unused(args.data.files()).map_err(|fault| vec![fault])?;
    if args.strict {
        session.warnings = Warnings::Errors;
    }
    if let Some(file) = &args.reference {
        read_source(file).map_err(|fault| vec![fault])?;
    }
    let kind = Kind::of(&args.file);
    let outcome = match kind {
        Kind::UnitText | Kind::UnitBytes => unit::run(session, args, kind)?,
        Kind::Arrays => {
            refuse_unit_options(args)?;
            return Err(vec![wrong_kind(&args.file, kind, ALL_THAT_RUN)]);
        }
        // A path without a file, or of a folder, is an error of the read.
        Kind::Unknown if args.file.is_file() => {
            return Err(vec![wrong_kind(&args.file, kind, ALL_THAT_RUN)]);
        }
        Kind::Workload => {
            refuse_unit_options(args)?;
            workload::run(session, args)?
        }
        Kind::GeneratorText | Kind::GeneratorBytes => {
            let given = args.unit.given().map(|(name, given)| (name, given && name != "--kernels"));
            options::refuse(&given, options::OF_UNITS).map_err(|fault| vec![fault])?;
            workload::run(session, args)?
        }
        Kind::Program | Kind::Unknown => {
            refuse_unit_options(args)?;
            program(session, args)?
        }
    };
    Ok(if session.is_denied() { Outcome::Failed } else { outcome })
}

fn refuse_unit_options(args: &RunArgs) -> Result<(), Vec<Diagnostic>> {
    options::refuse(&args.unit.given(), options::OF_UNITS).map_err(|fault| vec![fault])
}

/// Runs a `.pto` program.
fn program(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let compiled = session.compile(&args.file)?;
    refuse_unread(&compiled, &args.launch)?;
    let module = compiled.module;
    refuse_entries(&args.file, &module).map_err(|fault| vec![fault])?;
    options::refuse(&[("--expand", args.expand.is_some())], options::OF_WORKLOADS)
        .map_err(|fault| vec![fault])?;
    let outputs = Outputs::of(args, &session.source_files())?;
    let check = args.asks_check() || (!args.data.reads_files() && !args.no_check);
    let recording = recording(args, check).map_err(|fault| vec![fault])?;
    for reference in &module.references {
        reference::verify(reference)?;
    }
    if !args.allow_unwritten.is_empty() {
        check_allowed(&args.allow_unwritten, &data::output_names(&module, &engine::outputs(&module)?))?;
    }
    session.refuse_denied()?;
    let mut options = launch_options(&args.launch, args.threads.unwrap_or(0));
    options.target = args.target.unwrap_or(CPU_SIM);
    options.recording = recording;
    options.trace = args.trace.is_some();
    options.aicpus = args.aicpus.unwrap_or(0);
    let cached = cached::find(session, args.cache.as_ref(), options.engine, &options.compile())?;
    options.code = cached::code(cached.as_ref());
    let data = data::load(session, &module, &args.data, &args.launch)?;
    options.layout = data.layout;
    let loaded = Loaded { module, arrays: data.arrays };
    let program = Executable::new(&loaded, &options)?;
    let outcome = executed(&program, &loaded, &options)?;
    session.warn(&outcome.warnings);
    let (filled, faults) =
        outputs.fill(&outcome.outputs, &mut |out| outcome.timeline(&args.file).write(&mut Rows::new(out)));
    let mut verdict = Verdict::new(session, args, check, faults);
    let checks = judge(session, &mut verdict, (&program, &loaded), &options, &outcome, args);
    let arrays = RunArrays { inputs: &loaded.arrays, made: &data.made, outputs: &outcome.outputs };
    let mut findings = verdict.findings(outcome.unwritten, arrays, checks.as_deref());
    if options.recording == Recording::On {
        findings.untouched = outcome.untouched;
    }
    cached::keep(session, cached.as_ref());
    let summary = DataSummary::of(&loaded.module, &loaded.arrays, data.layout);
    let all_made = data.made.len() == loaded.arrays.len();
    let shown = |name: &String| summary.is_none() && (all_made || !data.made.contains(name));
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
        checks: checks.unwrap_or_default(),
        findings,
        cache: cached.map(|cached| cached.statistics()),
    };
    let differences = differences(&loaded.module, &report.checks, &options.set);
    verdict.finish(differences, &report.findings, (|| report.text(), || report.json()), filled)
}

/// Runs a program; of one with tiers, also what its tasks are estimated to cost.
fn executed(program: &Executable, loaded: &Loaded, options: &Options) -> Result<RunOutcome, Vec<Diagnostic>> {
    let mut outcome = program.execute(loaded, options)?;
    if outcome.stats.chunks() > 0 {
        let plan = program.plan(loaded, options)?;
        outcome.stats.costs = plan.descriptors.iter().filter(|d| d.tier.is_some()).map(|d| d.cost).collect();
    }
    Ok(outcome)
}

/// Compares the outputs of a run that is to be checked; nothing where that is not done.
fn judge(
    session: &Session,
    verdict: &mut Verdict<'_>,
    (program, loaded): (&Executable, &Loaded),
    options: &Options,
    outcome: &RunOutcome,
    args: &RunArgs,
) -> Option<Vec<Comparison>> {
    if outcome.stats.tasks.iter().all(|group| group.tasks == 0) {
        verdict.nothing_ran(&Emptiness {
            what: "the program issued no task",
            empty: empty_params(&loaded.module, &outcome.params, &options.set, &args.data),
        });
        return None;
    }
    if !verdict.is_wanted() {
        return None;
    }
    session.terminal.progress("computing the reference");
    let compared = if let Some(file) = &args.reference {
        let params = outcome.params.iter().map(|(name, value)| (name.clone(), number(*value)));
        compare_with(file, &loaded.arrays, &outcome.outputs, &params.collect())
    } else if loaded.module.references.is_empty() {
        compare_with_plain(program, loaded, outcome, options)
    } else {
        compare(loaded, outcome, options)
    };
    let checks = verdict.compared(compared)?;
    if checks.iter().all(|one| one.elements == 0) {
        verdict.nothing_compared("no kernel that ran stores to an array of the launch");
    }
    Some(checks)
}

/// Parameters of a program that are 0 or less.
fn empty_params<'a>(
    module: &'a wsp_ir::Module,
    params: &'a [(String, ParamValue)],
    set: &[(String, ParamValue)],
    data: &DataArgs,
) -> Vec<Empty<'a>> {
    // Beside arrays that are given nothing has an extent of its own, and references say which keys there are.
    let generates = !data.names_arrays() && module.references.is_empty();
    let option = |name: &str| {
        Some(match module.params[module.param_named(name)?.index()].source {
            ParamSource::Set { .. } | ParamSource::Entry => "--set",
            ParamSource::Shape { .. } if generates => "--generate",
            ParamSource::Shape { .. } | ParamSource::Derived(_) => return None,
        })
    };
    let is_chosen = |name: &str| {
        let mut keys = data.generate.iter().flat_map(|pairs| pairs.iter());
        set.iter().any(|(set, _)| set == name) || keys.any(|(key, _)| key == name)
    };
    let empty = params.iter().filter_map(|(name, value)| match *value {
        ParamValue::Int(value) if value <= 0 => {
            Some(Empty { name, value, option: option(name), is_chosen: is_chosen(name) })
        }
        _ => None,
    });
    empty.collect()
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
