//! `wsp run` of a unit.

use super::data;
use super::{Kind, NOT_OF_UNITS, references, settings};
use crate::args::{Cores, RunArgs, UnitArgs};
use crate::commands::comparison::operands_on;
use crate::commands::emptiness::Emptiness;
use crate::commands::options::refuse;
use crate::commands::outputs::{Outputs, check_allowed};
use crate::commands::replay;
use crate::commands::run::recording;
use crate::commands::sequential::{against, compare_bits, compare_close};
use crate::commands::verdict::Ended;
use crate::commands::{NO_KERNEL_OF_A_FILE, Outcome, Session, machine, named, refuse_machine_options};
use crate::engine::{program, program as program_of, run_of_unit};
use crate::files::CheckpointFolder;
use crate::report::{Check, Sources, UnitReport, UnitStats};
use crate::unit::tensors;
use pto_wsp::codes;
use pto_wsp::trace::key_of_unit;
use std::sync::Arc;
use std::time::Duration;
use wsp_backend::codes::CANNOT_RESUME;
use wsp_backend::{
    Args, Begin, CheckpointStore, MemoryStore, Prepared, Program, Recording, RunOptions, UnitOptions,
};
use wsp_check::reference::Comparison;
use wsp_core::policy::Hints;
use wsp_core::tg::{GraphNo, Instr};
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Severity, did_you_mean};
use wsp_ir::tg::{Namespace, TgModule, verify};
use wsp_kernel::{Engine, Mode};
use wsp_plan::target::CPU_SIM;
use wsp_plan::target::DeviceModel;
use wsp_plan::{ParamValue, PlanSource, UnitSource};
use wsp_runtime::clock;
use wsp_runtime::timeline::Timeline;
use wsp_tg::matrix;

/// A unit with all that its run needs.
pub(super) struct Ready {
    pub(super) unit: Arc<UnitSource>,
    pub(super) args: Args,
    /// Declared scalars.
    scalars: Vec<(String, i64)>,
    pub(super) options: RunOptions,
    /// How tile operations are computed, and what runs scalar code.
    pub(super) machine: (Mode, Engine),
    pub(super) sources: Sources,
}

/// Runs a unit.
pub(in crate::commands) fn run(
    session: &mut Session,
    args: &RunArgs,
    kind: Kind,
) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_options(args).map_err(|fault| vec![fault])?;
    let wanted = args.wants_check(true);
    let recording = recording(args, wanted).map_err(|fault| vec![fault])?;
    let (mut ready, outputs) = prepare(session, args, kind)?;
    ready.options.recording = recording;
    ready.options.replay = replay::order(session, args, key_of_unit(&ready.unit.module))?;
    let (unit, start) = (PlanSource::Unit(ready.unit.clone()), clock::now());
    let program = program(&unit, ready.machine.0, ready.machine.1, None)?;
    let prepared = program.prepare(ready.args.clone(), ready.options.clone())?;
    let prepare = Duration::from_nanos(clock::nanos_since(start));
    refuse_warnings(session, args, &*prepared)?;
    let mut ran = ran(session, args, &ready, prepared)?;
    let (counts, copies, trace) = run_of_unit(std::mem::replace(&mut ran.own, Box::new(())), &ran.stats);
    let Ready { args: given, options, unit, scalars, .. } = &ready;
    let made: Vec<String> = options
        .unit
        .origins
        .iter()
        .filter(|(_, origin)| *origin != data::READ)
        .map(|(name, _)| name.clone())
        .collect();
    let begin = if ran.unit.resumed.is_some() { Begin::Resume } else { Begin::Start };
    let is_empty = begin == Begin::Start && counts.blocks == 0 && copies == Some(0);
    session.conclude(
        args,
        outputs,
        Ended {
            wanted,
            inputs: &given.arrays,
            made: &made,
            params: references::params(unit, scalars),
            outputs: &ran.outputs,
            unwritten: ran.unwritten.clone(),
            cached: None,
            trace: args.trace.as_ref().map(|_| {
                let mut timeline = Timeline::of_launches(&trace);
                timeline.about.key = Some(key_of_unit(&unit.module));
                timeline
            }),
            empty: is_empty.then(|| Emptiness {
                what: "the unit invoked no kernel and copied nothing",
                empty: settings::empty(&unit.module, scalars),
            }),
            compare: &|| compare(session, &ready, &ran, &*program),
            uncompared: "no kernel that ran writes an element of an external tensor",
            differences: &differences,
            report: Box::new(|check, findings| UnitReport {
                program: args.file.display().to_string(),
                threads: if options.replay.is_some() { ran.stats.executors } else { options.threads.max(1) },
                devices: options.unit.devices,
                sources: ready.sources.clone(),
                scalars: scalars.clone(),
                keeps: args.unit.checkpoints.is_some(),
                begin,
                stats: UnitStats { counts, copies, prepare, run: ran.stats.run, peak: ran.unit.peak.clone() },
                check,
                findings,
            }),
        },
    )
}

/// Refuses a unit with warnings where `--strict` takes them for errors.
fn refuse_warnings(
    session: &Session,
    args: &RunArgs,
    prepared: &dyn Prepared,
) -> Result<(), Vec<Diagnostic>> {
    if args.strict {
        let is_warning = |found: &&Diagnostic| found.severity == Severity::Warning;
        session.warn(&prepared.notes().iter().filter(is_warning).cloned().collect::<Vec<_>>());
    }
    session.refuse_denied()
}

/// Runs a unit that is ready; prints notes.
fn ran(
    session: &Session,
    args: &RunArgs,
    ready: &Ready,
    mut prepared: Box<dyn Prepared>,
) -> Result<wsp_backend::Outcome, Vec<Diagnostic>> {
    // Without a folder no run is resumed from checkpoints, and what they would be good for does not matter.
    let matters = |note: &Diagnostic| args.unit.checkpoints.is_some() || note.code != CANNOT_RESUME;
    let ran = prepared.run().map_err(Vec::from);
    let ran = ran.map_err(|faults| faults.into_iter().filter(matters).collect::<Vec<_>>())?;
    let notes: Vec<Diagnostic> = ran.notes.iter().filter(|note| matters(note)).cloned().collect();
    session.warn(&[platform_notes(ready), notes].concat());
    Ok(ran)
}

/// What the simulation makes less of than the unit says, as the platform matrix has it.
fn platform_notes(ready: &Ready) -> Vec<Diagnostic> {
    if ready.unit.target != CPU_SIM {
        return Vec::new();
    }
    let UnitOptions { hints, devices, .. } = ready.options.unit;
    let target = matrix::UnitTarget { platform: ready.unit.target.platform, hints, devices };
    matrix::diagnose(&ready.unit.module, &target)
}

/// Reads a unit, its kernels and its tensors, and makes up what is not given.
pub(super) fn prepare(
    session: &mut Session,
    args: &RunArgs,
    kind: Kind,
) -> Result<(Ready, Outputs), Vec<Diagnostic>> {
    let set = named(&args.launch.set, NOT_OF_UNITS).map_err(|fault| vec![fault])?;
    let module = session.read_unit(&args.file, kind)?;
    // What is no error is told with everything else that is found before the run.
    let mut found = verify(&module);
    if !found.iter().any(Diagnostic::is_error) {
        found = references::verify(&module);
    }
    if found.iter().any(Diagnostic::is_error) {
        return Err(found);
    }
    let kernels = session.read_kernels(&args.file, &module, &args.unit.kernels, &set)?;
    kernels.refuse_idle()?;
    if kernels.files.is_empty() {
        refuse_machine_options(&args.launch, NO_KERNEL_OF_A_FILE).map_err(|fault| vec![fault])?;
    }
    refuse_without_effect(&module, &args.unit).map_err(|fault| vec![fault])?;
    let outputs = Outputs::of(args, &[kernels.files.clone(), session.source_files()].concat())?;
    let scalars = settings::scalars(&module, &kernels, &set)?;
    check_events(&module, &args.unit)?;
    let tensors = tensors(&module, &kernels.signatures());
    let written = tensors.iter().filter(|tensor| tensor.is_written).map(|tensor| tensor.name.clone());
    check_allowed(&args.allow_unwritten, &written.collect::<Vec<_>>())?;
    session.terminal.progress("making up data");
    let data = data::load(&tensors, &references::normalised(&module), &args.data)?;
    let store = store(&module, &args.unit).map_err(|fault| vec![fault])?;
    if args.unit.resume && store.as_ref().is_some_and(|store| store.keys().is_ok_and(|keys| keys.is_empty()))
    {
        let message = format!("`{}` has no checkpoint: the run begins anew", folder(&args.unit));
        session.warn(&[Diagnostic::warning(codes::NO_CHECKPOINTS, message)
            .help("give the folder of the run that is to go on, or leave out `--resume`")]);
    }
    let target = args.target.unwrap_or(CPU_SIM);
    let is_package = target != CPU_SIM;
    // A trace says how many threads there are.
    let is_traced = args.replay.as_ref().is_some_and(|of| of.trace().is_some());
    let begin = if args.unit.resume && store.is_some() { Begin::Resume } else { Begin::Start };
    let options = RunOptions {
        threads: args.threads.unwrap_or_else(|| if is_package || is_traced { 0 } else { wsp_check::cores() }),
        trace: args.trace.is_some(),
        unit: UnitOptions {
            devices: args.unit.devices.unwrap_or(1),
            cores: Some(cores(args.unit.cores.unwrap_or_default())),
            hints: if args.unit.hints { Hints::Honour } else { Hints::Ignore },
            events: args.unit.event.clone(),
            memory: args.unit.memory,
            checkpoints: store,
            begin,
            origins: data.origins,
            ..UnitOptions::default()
        },
        ..RunOptions::default()
    };
    let values = scalars.iter().map(|(name, value)| (name.clone(), ParamValue::Int((*value).into())));
    let of_run = Args { arrays: data.arrays, values: values.collect(), ..Args::default() };
    let unit = Arc::new(UnitSource { module, files: kernels.modules, target });
    let machine = machine(&args.launch);
    Ok((Ready { unit, args: of_run, scalars, options, machine, sources: data.sources }, outputs))
}

/// Options of `wsp run` that task graphs have no use for.
pub(super) fn refuse_options(args: &RunArgs) -> Result<(), Diagnostic> {
    if args.data.generate.as_ref().is_some_and(|pairs| !pairs.is_empty()) {
        let message = "keys of `--generate` have no meaning for task graphs";
        return Err(Diagnostic::error(codes::OPTION_OF_OTHERS, message).help("write `--generate` alone"));
    }
    let given = [
        ("--schedule", args.launch.schedule.is_some()),
        ("--aicpus", args.aicpus.is_some()),
        ("--expand", args.expand.is_some()),
        ("--phases", args.phases),
        ("--cache", args.cache.is_some()),
    ];
    refuse(&given, NOT_OF_UNITS)?;
    if args.unit.resume && args.replay.is_some() {
        let message = "`--replay` has no meaning for a run that goes on from a checkpoint";
        return Err(Diagnostic::error(codes::OPTIONS_CONTRADICT, message)
            .help("leave out one of `--replay` and `--resume`"));
    }
    if args.unit.resume && args.unit.checkpoints.is_none() {
        return Err(Diagnostic::error(codes::OPTIONS_CONTRADICT, "`--resume` needs `--checkpoints`")
            .help("add the folder of the run that is to go on: `--checkpoints FOLDER`"));
    }
    Ok(())
}

/// Events that are signalled must be external ones of the unit.
fn check_events(module: &TgModule, args: &UnitArgs) -> Result<(), Vec<Diagnostic>> {
    let name = |event: u32| module.name(Namespace::Event, GraphNo(0), event);
    let known: Vec<String> = module.extern_events.iter().map(|(event, _)| name(event.0)).collect();
    let unknown = args.event.iter().filter(|name| !known.contains(name));
    let faults: Vec<Diagnostic> = unknown
        .map(|name| {
            let message = format!("the unit has no external event `{name}`");
            let fault = Diagnostic::error(codes::UNKNOWN_NAME, message);
            match did_you_mean(name, known.iter().map(String::as_str)) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None if known.is_empty() => {
                    fault.note("it has none").help(format!("declare it: `extern event {name}`"))
                }
                None => fault.note(format!("it has {}", known.join(", "))),
            }
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Cores of a device: those that are given, else those of the usual one. There are no more parts of the L2 cache than cores.
fn cores(given: Cores) -> DeviceModel {
    let usual = DeviceModel::default();
    let (aic, aiv) = (given.aic.unwrap_or(usual.aic), given.aiv.unwrap_or(usual.aiv));
    DeviceModel {
        aic,
        aiv,
        aicpu: given.aicpu.unwrap_or(usual.aicpu),
        l2_domains: usual.l2_domains.min(aic.min(aiv).max(1)),
        ..usual
    }
}

/// Refuses options for what the unit does not do.
fn refuse_without_effect(module: &TgModule, args: &UnitArgs) -> Result<(), Diagnostic> {
    let has = |name: &str| module.instrs.iter().any(|instr| instr.op().info().mnemonic.starts_with(name));
    refuse(&[("--hints", args.hints && !has("CA_"))], "has no meaning: the unit has no `CA_` instruction")?;
    if args.checkpoints.is_none() || has("TG_CHECKPOINT") {
        return Ok(());
    }
    let message = format!("the unit has no `TG_CHECKPOINT`: nothing is kept in `{}`", folder(args));
    Err(Diagnostic::error(codes::NOTHING_TO_KEEP, message)
        .note("a run cannot be resumed")
        .help("add `TG_CHECKPOINT(GRAPH, NAME)`, or leave out `--checkpoints`"))
}

/// The folder of `--checkpoints`, as it is shown.
fn folder(args: &UnitArgs) -> String {
    args.checkpoints.as_ref().map_or(String::new(), |folder| folder.display().to_string())
}

/// Where checkpoints are kept: in the folder that is given, else in memory. A unit without checkpoints needs no place.
fn store(module: &TgModule, args: &UnitArgs) -> Result<Option<Arc<dyn CheckpointStore>>, Diagnostic> {
    let asks = |instr: &Instr| matches!(instr, Instr::TgCheckpoint { .. } | Instr::TgRestore { .. });
    Ok(match &args.checkpoints {
        _ if !module.instrs.iter().any(asks) => None,
        Some(folder) => Some(Arc::new(CheckpointFolder::open(folder)?)),
        None => Some(Arc::new(MemoryStore::new())),
    })
}

/// Compares what a run wrote with the references of its unit or, where it names none, with what one thread writes.
fn compare(
    session: &Session,
    ready: &Ready,
    ran: &wsp_backend::Outcome,
    program: &dyn Program,
) -> Result<Check, Vec<Diagnostic>> {
    let Ready { unit, args, scalars, options, .. } = ready;
    if !unit.module.references.is_empty() {
        session.terminal.progress("computing the reference");
        let all = references::compare(unit, &args.arrays, &ran.outputs, scalars)?;
        return Ok(Check::Close(all));
    }
    if unit.target != CPU_SIM {
        session.terminal.progress("running on `cpu_sim`");
        let own = PlanSource::from(UnitSource { target: CPU_SIM, ..UnitSource::clone(unit) });
        let program = program_of(&own, Mode::default(), Engine::default(), None)?;
        let options =
            RunOptions { sequential: true, replay: None, recording: Recording::Off, ..options.clone() };
        let expected = program.execute(args.clone(), options)?.outputs;
        return Ok(Check::Close(compare_close(
            &ran.outputs,
            &expected,
            operands_on(unit.target, &args.arrays),
            &against(unit.target),
        )?));
    }
    session.terminal.progress("running once more, on one thread");
    let kept = options.unit.checkpoints.as_ref();
    // What reads released memory is to differ: a sequential run fills it.
    let alone = RunOptions {
        sequential: true,
        trace: false,
        replay: None,
        recording: Recording::Off,
        unit: UnitOptions {
            checkpoints: kept.map(|_| Arc::new(MemoryStore::new()) as Arc<_>),
            // Also those that were signalled before the checkpoint was saved that the run went on from.
            events: ran.unit.signalled.clone(),
            begin: Begin::Start,
            ..options.unit.clone()
        },
        ..options.clone()
    };
    let expected = program.execute(args.clone(), alone)?;
    Ok(compare_bits(&ran.outputs, &expected.outputs))
}

/// What is wrong with the outputs, one for each.
fn differences(check: &Check) -> Vec<Diagnostic> {
    match check {
        Check::NotDone | Check::NothingRan | Check::Same { .. } => Vec::new(),
        Check::Close(all) => all.iter().filter_map(Comparison::diagnostic).collect(),
        Check::Differs(all) => all
            .iter()
            .map(|d| {
                let message = format!("`{}` differs from what a run on one thread writes", d.name);
                Diagnostic::error(codes::NOT_ALONE, message)
                    .note(format!(
                        "{} of {}, the first at {:?}",
                        d.differing,
                        counted(d.elements, "element"),
                        d.first
                    ))
                    .help("order kernels that touch the same bytes: `wsp check` names those of a device (WSP1501, WSP1521), and what it does not compare between devices (WSP1519)")
            })
            .collect(),
    }
}
