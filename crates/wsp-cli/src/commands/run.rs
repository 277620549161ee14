//! `wsp run`: compile, run, check, summarise.

use super::comparison::{compare, differences, operands};
use super::emptiness::{Emptiness, Empty};
use super::kind::{ALL_THAT_RUN, Kind, wrong_kind};
use super::outputs::{Outputs, check_allowed};
use super::sequential::{against, compare_close};
use super::verdict::Ended;
use super::{Outcome, Session, Warnings, cached, data, design, launch_options, unit, workload};
use super::{options, replay};
use crate::args::{DataArgs, RunArgs};
use crate::engine::{self, Executable, Loaded, Options, RunOutcome};
use crate::files::read_source;
use crate::report::{Check, DataSummary, Findings, RunReport};
use pto_wsp::cache::CachedPlan;
use pto_wsp::trace::key_of_program;
use wsp_backend::{Expand, Recording};
use wsp_check::reference;
use wsp_core::tg::Platform;
use wsp_diag::Diagnostic;
use wsp_ir::ParamSource;
use wsp_plan::ParamValue;
use wsp_plan::target::CPU_SIM;

/// Runs a program, a workload or a task graph.
pub(super) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    args.data.check_unused()?;
    if args.strict {
        session.warnings = Warnings::Errors;
    }
    if let Some(file) = &args.reference {
        read_source(file).map_err(|fault| vec![fault])?;
    }
    options::refuse_on_arrays(args).map_err(|fault| vec![fault])?;
    let kind = Kind::of(&args.file);
    let outcome = match kind {
        Kind::UnitText | Kind::UnitBytes => unit::run(session, args, kind)?,
        Kind::Design => design::run(session, args)?,
        Kind::Arrays | Kind::Pending => {
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
            refuse_phases(args)?;
            program(session, args)?
        }
    };
    Ok(if session.is_denied() { Outcome::Failed } else { outcome })
}

fn refuse_phases(args: &RunArgs) -> Result<(), Vec<Diagnostic>> {
    options::refuse(&[("--phases", args.phases)], options::OF_SIDES).map_err(|fault| vec![fault])
}

fn refuse_unit_options(args: &RunArgs) -> Result<(), Vec<Diagnostic>> {
    options::refuse(&args.unit.given(), options::OF_UNITS).map_err(|fault| vec![fault])
}

/// Runs a `.pto` program.
fn program(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let module = session.launched(&args.file, &args.launch)?;
    let is_package = args.target.is_some_and(|target| target.platform != Platform::Cpu);
    let expand = ("--expand", args.expand.is_some() && !is_package);
    options::refuse(&[expand], "is for workloads (`.wsp`), and for packages (`--target ascend_host`)")
        .map_err(|fault| vec![fault])?;
    let host = ("--expand host", is_package && args.expand == Some(Expand::Host));
    options::refuse(&[host], options::OF_CPU_SIM).map_err(|fault| vec![fault])?;
    let outputs = Outputs::of(args, &session.source_files())?;
    let check = args.wants_check(true);
    let recording = recording(args, check).map_err(|fault| vec![fault])?;
    for reference in &module.references {
        reference::verify(reference)?;
    }
    if !args.allow_unwritten.is_empty() {
        check_allowed(&args.allow_unwritten, &data::output_names(&module, &engine::outputs(&module)?))?;
    }
    session.refuse_denied()?;
    if is_package {
        let why = "has no meaning there: kernels of a package are C++";
        super::refuse_machine_options(&args.launch, why).map_err(|fault| vec![fault])?;
    }
    let mut options = launch_options(&args.launch, args.threads.unwrap_or(0));
    options.target = args.target.unwrap_or(CPU_SIM);
    options.recording = recording;
    options.trace = args.trace.is_some();
    options.aicpus = args.aicpus.unwrap_or(0);
    options.expand = args.expand.unwrap_or_default();
    options.replay = replay::order(session, args, key_of_program(&module))?;
    let cached = cached::find(session, args.cache.as_ref(), options.engine, &options.compile())?;
    options.code = cached::code(cached.as_ref());
    let data = data::load(session, &module, &args.data, &args.launch)?;
    options.layout = data.layout;
    let loaded = Loaded { module, arrays: data.arrays };
    let program = Executable::with_sources(&loaded, &options, &session.sources)?;
    let outcome = executed(&program, &loaded, &options)?;
    session.warn(&outcome.warnings);
    let Loaded { module, arrays } = &loaded;
    let summary = DataSummary::of(module, arrays, data.layout);
    let all_made = data.made.len() == arrays.len();
    let shown = |name: &String| summary.is_none() && (all_made || !data.made.contains(name));
    let inputs = arrays.iter().filter(|(name, _)| shown(name));
    let timeline = args.trace.as_ref().map(|_| outcome.timeline(&args.file, key_of_program(module)));
    session.conclude(
        args,
        outputs,
        Ended {
            wanted: check,
            inputs: arrays,
            made: &data.made,
            params: outcome.params.iter().cloned().collect(),
            outputs: &outcome.outputs,
            unwritten: outcome.unwritten.clone(),
            cached: cached.as_ref(),
            trace: timeline,
            empty: outcome.stats.tasks.iter().all(|group| group.tasks == 0).then(|| Emptiness {
                what: "the program issued no task",
                empty: empty_params(module, &outcome.params, &options.set, &args.data),
            }),
            compare: &|| {
                session.terminal.progress("computing the reference");
                Ok(Check::Close(match module.references.as_slice() {
                    // Schedule, threads and fast operations must not change what it computes.
                    [] => {
                        let expected = program.oracle(&loaded, &options)?.outputs;
                        let operands = operands(&options, &loaded.arrays);
                        compare_close(&outcome.outputs, &expected, operands, &against(options.target))?
                    }
                    _ => compare(&loaded, &outcome, &options)?,
                }))
            },
            uncompared: "no kernel that ran stores to an array of the launch",
            differences: &|check| differences(module, check.comparisons().unwrap_or_default(), &options.set),
            report: Box::new(|check, findings| RunReport {
                inputs: inputs.map(|(name, array)| format!("{name} {array:?}")).collect(),
                program: args.file.display().to_string(),
                made: data.made.clone(),
                all_made,
                seed: data.seed,
                data: summary,
                stats: outcome.stats.clone(),
                // Without an output there is nothing that a line could name.
                check: if check.comparisons() == Some(&[]) { Check::NotDone } else { check },
                findings: match recording {
                    Recording::On => Findings { untouched: outcome.untouched.clone(), ..findings },
                    Recording::Off => findings,
                },
                cache: cached.as_ref().map(CachedPlan::statistics),
            }),
        },
    )
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
