//! `wsp check`: diagnostics only.

use super::kind::{ALL_THAT_RUN, Kind, wrong_kind};
use super::workload::{Checked, LAYOUTS, layouts_undecided};
use super::{Outcome, Session, Warnings, data, design, empty, kernels, named, options, unit, workload};
use crate::args::{CheckArgs, Setting};
use crate::engine::{self, Loaded, Options};
use pto_wsp::registry;
use std::path::Path;
use std::sync::Arc;
use wsp_backend::{Args, CheckedLaunch};
use wsp_check::reference;
use wsp_diag::{Diagnostic, Label, Severity};
use wsp_ir::Module;
use wsp_plan::target::CPU_SIM;
use wsp_plan::{CompileOptions, PlanSource, Target};

/// Compiles programs and prints what is wrong with them.
pub(super) fn check(session: &mut Session, args: &CheckArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let files: Vec<(&Path, Kind)> = args.files.iter().map(|path| (path.as_path(), Kind::of(path))).collect();
    if !files.iter().any(|(_, kind)| kind.is_unit()) {
        refuse_options(args, files.iter().any(|(_, kind)| kind.is_generator()))
            .map_err(|fault| vec![fault])?;
    }
    let of_kernels = |kind: &Kind| matches!(kind, Kind::Program | Kind::Unknown);
    let has_kernels = args.target.is_some_and(|target| registry().has_kernels(target))
        && files.iter().any(|(_, kind)| of_kernels(kind));
    if !has_kernels && !files.iter().all(|(_, kind)| kind.is_tasks()) {
        options::refuse(&[("--set", !args.set.is_empty())], kernels::TAKE_SET)
            .map_err(|fault| vec![fault])?;
    }
    let mut outcome = Outcome::Done;
    let mut idle = args.kernels.clone();
    session.warnings = if args.strict { Warnings::Errors } else { Warnings::Shown };
    for (path, kind) in files {
        session.denied.take();
        let target = args.target.unwrap_or(CPU_SIM);
        let checked = empty::refuse(path).and_then(|()| match kind {
            Kind::Workload => workload::check(session, path, &[], target, args.cache.as_deref(), &args.set),
            Kind::GeneratorText | Kind::GeneratorBytes => {
                idle.clear();
                workload::check(session, path, &args.kernels, target, args.cache.as_deref(), &args.set)
            }
            _ if args.cache.is_some() && path.is_file() => Err(vec![not_kept()]),
            Kind::UnitText | Kind::UnitBytes => {
                unit::check(session, path, kind, args, &mut idle).map(|()| Checked::default())
            }
            Kind::Design => design::check(session, path, args),
            Kind::Unknown if path.is_file() => Err(vec![wrong_kind(path, kind, ALL_THAT_RUN)]),
            Kind::Program | Kind::Unknown => program(session, path, args).map(|()| Checked::default()),
            Kind::Arrays | Kind::Pending => Err(vec![wrong_kind(path, kind, ALL_THAT_RUN)]),
        });
        match checked {
            Ok(_) if session.is_denied() => outcome = Outcome::Failed,
            Ok(Checked { cache, lines }) => {
                let found = cache.map_or(String::new(), |found| format!(", cache {found}"));
                session.terminal.print(&format!("{}: ok{found}\n", path.display()));
                lines.iter().for_each(|line| session.terminal.print(&format!("  {line}\n")));
            }
            Err(diagnostics) => {
                session.terminal.report(&diagnostics, &session.sources);
                outcome = Outcome::Failed;
            }
        }
    }
    if outcome == Outcome::Done && !idle.is_empty() {
        return Err(idle.iter().map(|path| unit::idle(path)).collect());
    }
    Ok(outcome)
}

/// `--cache` for a file whose check looks at no tasks.
fn not_kept() -> Diagnostic {
    options::refused("--cache", options::OF_WORKLOADS).note("other files are checked in a few milliseconds")
}

/// Options that only task graphs have a use for.
fn refuse_options(args: &CheckArgs, takes_kernels: bool) -> Result<(), Diagnostic> {
    let kernels = !args.kernels.is_empty() && !takes_kernels;
    let given = [("--devices", args.devices.is_some()), ("--kernels", kernels)];
    options::refuse(&given, options::OF_UNITS)
}

/// What is wrong with a program and with its defaults, and what the target that is asked for cannot do of it. Of a target for which kernels
/// are written and no plans are made, the plan is that of `cpu_sim`, which a note says.
fn program(session: &mut Session, path: &Path, args: &CheckArgs) -> Result<(), Vec<Diagnostic>> {
    let module = Arc::new(session.compile(path)?.module);
    let Some(target) = args.target.filter(|target| registry().has_kernels(target)) else {
        return planned(session, &module, args.target);
    };
    let of_plan = kernels::with_values(&module, &args.set);
    let mut faults = match target.check_plans() {
        Ok(()) => planned(session, &of_plan, Some(target)),
        Err(why) => {
            let message = format!("{}: what is not a kernel is checked for `{}`", why.message, CPU_SIM.name);
            session.warn(&[Diagnostic::new(why.code, Severity::Note, message)]);
            planned(session, &of_plan, Some(CPU_SIM))
        }
    }
    .err()
    .unwrap_or_default();
    let of_launch = of_plan.entry.is_some() && registry().emits_one_launch(target);
    if faults.is_empty() && of_launch {
        // What has no form there is said alone: no values of its kernels are asked for.
        registry().select(&of_target(&of_plan, target)?)?;
    }
    // What is said of a place for the plan is not said of it once more.
    let said: Vec<Label> = faults.iter().filter_map(|fault| fault.primary.clone()).collect();
    let of_kernels = kernels::check(session, path, module, target, &args.set).into_iter();
    faults.extend(of_kernels.filter(|fault| {
        fault.primary.as_ref().is_none_or(|at| !said.iter().any(|label| label.span == at.span))
    }));
    if faults.is_empty() && of_launch {
        faults = launched(session, path, (&of_plan, target), &args.set)?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The plan of a program for a target.
fn of_target(module: &Module, target: &'static Target) -> Result<PlanSource, Vec<Diagnostic>> {
    let options = CompileOptions { target, ..CompileOptions::default() };
    Ok(wsp_plan::lower(module, &options)?.into())
}

/// Looks at the launch of a program with the values that there are; prints what becomes of it.
fn launched(
    session: &Session,
    path: &Path,
    (module, target): (&Module, &'static Target),
    set: &[Setting],
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let plan = of_target(module, target)?;
    let values = named(set, "is for programs that run").map_err(|fault| vec![fault])?;
    let CheckedLaunch { lines, found } = registry().check_launch(&plan, &Args { values, ..Args::default() });
    let (faults, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        found.into_iter().partition(Diagnostic::is_error);
    session.warn(&others);
    lines.iter().for_each(|line| session.terminal.print(&format!("{}: {line}\n", path.display())));
    Ok(faults)
}

/// What is wrong with a program and with its defaults, and what the target that is asked for cannot do of its plan.
fn planned(
    session: &Session,
    module: &Module,
    target: Option<&'static Target>,
) -> Result<(), Vec<Diagnostic>> {
    let faults: Vec<Diagnostic> =
        module.references.iter().filter_map(|r| reference::verify(r).err()).flatten().collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    // A program with an entry is lowered as a run lowers it, for `cpu_sim` unless another target is asked for.
    if module.entry.is_some() || target.is_some() {
        session.warn(&engine::lowered_for(module, target.unwrap_or(CPU_SIM))?);
    }
    if module.entry.is_some() {
        engine::check_defaults(module)?;
        layouts(session, module)?;
    }
    Ok(())
}

/// What tasks make of the layouts of their schedules, with the sizes that parameters have by default.
fn layouts(session: &Session, module: &Module) -> Result<(), Vec<Diagnostic>> {
    if module.schedules.iter().all(|schedule| schedule.layouts.is_empty()) {
        return Ok(());
    }
    let Some(arrays) = data::made_up(module) else {
        session.warn(&[layouts_undecided()]);
        return Ok(());
    };
    let loaded = Loaded { module: module.clone(), arrays };
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut plan = |schedule: Option<String>| {
        let planned = engine::plan(&loaded, &Options { schedule, ..Options::default() });
        let (applied, faults) = match planned {
            Ok(report) => (report.schedule.unwrap_or_default(), Vec::new()),
            Err(faults) => (String::new(), faults),
        };
        for fault in faults {
            if LAYOUTS.contains(&fault.code) && !found.contains(&fault) {
                found.push(fault);
            }
        }
        applied
    };
    let applied = plan(None);
    for schedule in module.schedules.iter().filter(|schedule| !schedule.layouts.is_empty()) {
        if applied.split(", ").all(|name| name != schedule.name) {
            plan(Some(schedule.name.clone()));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}
