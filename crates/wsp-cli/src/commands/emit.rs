//! `wsp emit`: a program as files for a target that runs elsewhere.

mod earlier;
mod folder;
mod halves;

use super::kind::{Kind, wrong_kind};
use super::options::refused;
use super::workload::{ArraysFor, planned, read_arrays};
use super::{Outcome, Session, data, launch_options, named, refuse, unit};
use crate::args::{DataArgs, EmitArgs, EmitStage, LaunchArgs, Setting};
use crate::engine::{Purpose, table};
use crate::files::read_source;
use pto_wsp::{codes, registry};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use wsp_backend::{
    Args, ArrayForm, EmitOptions, Emitted, Expand, Expansion, KernelsSource, KvLayout, Package, PackagePart,
};
use wsp_core::ParamId;
use wsp_diag::Diagnostic;
use wsp_ir::{Expr, ExprKind, Module, ParamSource};
use wsp_plan::{Array, Arrays, KernelFile, ParamValue, PlanSource};

/// Writes the files of a program into a folder, and lists them.
pub(super) fn emit(session: &mut Session, args: &EmitArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let kind = Kind::of(&args.file);
    let stage = args.stage.unwrap_or(EmitStage::Package);
    let part = match stage {
        EmitStage::Package => Some(PackagePart::Whole),
        EmitStage::Metadata => Some(PackagePart::Metadata),
        EmitStage::Device => Some(PackagePart::Device),
        // Those that tasks call: workloads and task graphs have none of their own.
        EmitStage::Kernels if kind == Kind::Workload || kind.is_unit() => Some(PackagePart::Kernels),
        EmitStage::Graphs | EmitStage::Kernels => None,
    };
    if part.is_none() {
        let data = &args.data;
        let given = [
            ("--schedule", args.schedule.is_some()),
            ("--inputs", data.inputs.is_some()),
            ("--input", !data.input.is_empty()),
            ("--fill", !data.fill.is_empty()),
            ("--generate", data.generate.is_some()),
            ("--seed", data.seed.is_some()),
            ("--allow-unused", data.allow_unused),
            ("--expand", args.expand.is_some()),
            ("--lengths", args.lengths.is_some()),
        ];
        // Only a package takes types of elements from arrays.
        let types =
            "or leave out `--stage`; kernels alone have element types of the host entry: `Tensor<float> x`";
        refuse(&given, "is for packages, of `.pto` and `.wsp` programs")
            .map_err(|fault| vec![if stage == EmitStage::Kernels { fault.help(types) } else { fault }])?;
    }
    let mut emitted = match (part, stage) {
        (Some(part), _) => packaged(session, args, kind, part)?,
        (None, EmitStage::Kernels) => kernels(session, args, kind)?,
        (None, _) => {
            if has_package(kind) {
                let name = args.file.display();
                let fault =
                    wrong_kind(&args.file, kind, "task graphs, and other programs with `--stage package`");
                let how = format!(
                    "`wsp emit {name} --target NAME -o FOLDER` writes a package of it{}",
                    if kind == Kind::Program { ", and with `--stage kernels` its kernels" } else { "" }
                );
                return Err(vec![Diagnostic { help: vec![how], ..fault }]);
            }
            if !kind.is_unit() {
                return Err(vec![wrong_kind(&args.file, kind, "task graphs")]);
            }
            let given = [("--kernel", args.kernel.is_some()), ("--set", !args.set.is_empty())];
            refuse(&given, "is for `--stage kernels`").map_err(|fault| vec![fault])?;
            unit::emit(session, args, kind, PackagePart::Graphs)?
        }
    };
    session.warn(&emitted.notes);
    earlier::seal(&mut emitted.package);
    let listing = written(&args.output, &emitted.package).map_err(|fault| vec![fault])?;
    session.terminal.print(&listing);
    Ok(Outcome::Done)
}

/// Writes the files, all of them or none; their paths, one in a line.
fn written(folder: &Path, package: &Package) -> Result<String, Diagnostic> {
    folder::write(folder, package)?;
    let mut listing = String::new();
    for (path, _) in &package.files {
        // Writing to a string does not fail.
        let _ = writeln!(listing, "{}", folder.join(path).display());
    }
    Ok(listing)
}

/// A package, or a part of one.
fn packaged(
    session: &mut Session,
    args: &EmitArgs,
    kind: Kind,
    part: PackagePart,
) -> Result<Emitted, Vec<Diagnostic>> {
    match kind {
        Kind::Workload => workload(session, args, part),
        kind if kind.is_unit() => {
            let data = &args.data;
            let given = [
                ("--graph", args.graph.is_some()),
                ("--kernel", args.kernel.is_some()),
                ("--schedule", args.schedule.is_some()),
                ("--expand", args.expand.is_some()),
                ("--generate", data.generate.is_some()),
                ("--inputs", data.inputs.is_some()),
                ("--input", !data.input.is_empty()),
                ("--fill", !data.fill.is_empty()),
                ("--seed", data.seed.is_some()),
                ("--allow-unused", data.allow_unused),
                ("--lengths", args.lengths.is_some()),
            ];
            refuse(&given, "has no meaning for the package of a task graph").map_err(|fault| vec![fault])?;
            unit::emit(session, args, kind, part)
        }
        _ => package(session, args, part),
    }
}

/// Whether programs of a kind have packages.
fn has_package(kind: Kind) -> bool {
    matches!(kind, Kind::Program | Kind::Workload)
}

/// Refuses what packages have no part of.
fn refuse_of_others(args: &EmitArgs) -> Result<(), Vec<Diagnostic>> {
    let given = [
        ("--graph", args.graph.is_some()),
        ("--kernels", !args.kernels.is_empty()),
        ("--kernel", args.kernel.is_some()),
    ];
    refuse(&given, "is not for packages").map_err(|fault| vec![fault])?;
    if registry().emits_one_launch(args.target) {
        let why = format!(
            "has no meaning on target `{}`: a design is one file, with the tasks of its launches",
            args.target.name
        );
        let part = !matches!(args.stage, None | Some(EmitStage::Package));
        refuse(&[("--stage", part), ("--expand", args.expand.is_some())], &why)
            .map_err(|fault| vec![fault])?;
    }
    if matches!(args.stage, Some(EmitStage::Kernels | EmitStage::Metadata)) {
        let why =
            "has no effect on kernels and on what is known of them: they are the same for all expansions";
        refuse(&[("--expand", args.expand.is_some())], why).map_err(|fault| vec![fault])?;
    }
    let set = args.set.iter().map(Setting::name);
    let twice = args.lengths.as_ref().filter(|(name, _)| set.clone().any(|known| known == name));
    match twice {
        Some((name, _)) => {
            Err(vec![refused(&format!("--set {name}=…"), "gives a value to what `--lengths` gives several")])
        }
        None => Ok(()),
    }
}

/// The arrays of a launch: their forms alone, where the package does not hold its tasks.
fn of_launch(args: &EmitArgs) -> DataArgs {
    DataArgs { forms: args.expand != Some(Expand::Table), ..args.data.clone() }
}

/// What a package depends on of arrays.
fn forms(arrays: &Arrays) -> Vec<ArrayForm> {
    let form = |(name, array): (&String, &Array)| ArrayForm {
        name: name.clone(),
        elem: array.dtype(),
        shape: array.shape().to_vec(),
    };
    arrays.iter().map(form).collect()
}

/// What generates the tasks; `given` are the arguments of a launch, where there are some, and how pages lie in them.
fn expansion(
    args: &EmitArgs,
    plan: &PlanSource,
    given: Option<(&Args, KvLayout)>,
) -> Result<Expansion, Vec<Diagnostic>> {
    Ok(match (args.expand, given) {
        (None | Some(Expand::Usual | Expand::Host | Expand::Loops), _) => Expansion::Loops,
        (Some(Expand::Bytecode), _) => Expansion::Bytecode,
        (Some(Expand::Table), Some((given, layout))) => Expansion::Table(table(plan, given, layout)?),
        (Some(Expand::Table), None) => {
            let message = "`--expand table` needs the launch whose tasks the package holds";
            return Err(vec![
                Diagnostic::error(codes::OPTION_OF_OTHERS, message)
                    .help("give its arrays, `--inputs FILE.npz`, or make some up: `--generate`"),
            ]);
        }
    })
}

/// A workload as a package.
fn workload(session: &mut Session, args: &EmitArgs, part: PackagePart) -> Result<Emitted, Vec<Diagnostic>> {
    refuse_of_others(args)?;
    let mut source = session.read_workload(&args.file, &[])?;
    let own = args.set.iter().filter_map(|setting| match setting {
        Setting::Param(name, value) => Some((name.clone(), *value)),
        Setting::MaxBlocks(_) | Setting::Layout(_) => None,
    });
    // Of files of one launch: what the used file declares too is an extent of its arrays, from which the workload has it.
    let is_one = registry().emits_one_launch(args.target);
    let is_shared =
        |name: &str| is_one && source.library.as_ref().is_some_and(|of| of.param_named(name).is_some());
    let is_own = |name: &str| source.module.param_named(name).is_some() && !is_shared(name);
    let own: Vec<_> = own.filter(|(name, _)| is_own(name)).collect();
    wsp_plan::workload::set_defaults(&mut source.module, &own)?;
    let (plan, set) = planned(&source, &args.set, args.schedule.as_deref(), None)?;
    let lengths = args.lengths.clone();
    let mut emit = EmitOptions { target: Some(args.target), set, part, lengths, ..EmitOptions::default() };
    let (data, mut given) = (of_launch(args), None);
    if data.names_arrays() || data.generate.is_some() {
        let read = read_arrays(&source, &plan, &data, emit.set.clone(), ArraysFor::Run)?;
        emit.arrays = forms(&read.args.arrays);
        given = Some(read.args);
    }
    if registry().emits_one_launch(args.target) {
        let values = Args { values: emit.set.clone(), ..Args::default() };
        emit.launch = given.unwrap_or(values);
        return Ok(registry().emit(&PlanSource::from(plan), &emit)?);
    }
    let is_own = |name: &str| {
        let library = plan.library.as_ref().map(|of| &of.plan.module);
        source.module.param_named(name).is_some() && library.is_none_or(|of| of.param_named(name).is_none())
    };
    if emit.arrays.is_empty()
        && let Some((name, _)) = emit.set.iter().find(|(name, _)| is_own(name))
    {
        let fault = refused(&format!("--set {name}=…"), "is for launches: kernels do not depend on it");
        return Err(vec![
            fault.help(format!("give it to the program of the package: `run … --set {name}=VALUE`")),
        ]);
    }
    emit.set.retain(|(name, _)| !is_own(name));
    let plan = PlanSource::from(plan).with_sources(&session.sources);
    let given = given.as_ref().map(|given| (given, KvLayout::default()));
    emit.expansion = expansion(args, &plan, given)?;
    Ok(registry().emit(&plan, &emit)?)
}

/// A program of spaces as a package.
fn package(session: &mut Session, args: &EmitArgs, part: PackagePart) -> Result<Emitted, Vec<Diagnostic>> {
    refuse_of_others(args)?;
    let launch =
        LaunchArgs { set: args.set.clone(), schedule: args.schedule.clone(), isa: None, engine: None };
    let module = session.launched(&args.file, &launch)?;
    let options = launch_options(&launch, 0);
    let data = of_launch(args);
    let (mut given, mut layout) = (None, options.layout);
    if data.names_arrays() || data.generate.is_some() {
        let data = data::load(session, &module, &data, &launch)?;
        layout = data.layout;
        given = Some(Args { arrays: data.arrays, values: options.set.clone(), ..Args::default() });
    }
    let mut plan = wsp_plan::lower(&module, &options.compile())?;
    set_defaults(&mut plan.module, &options.set);
    let plan = PlanSource::from(plan).with_sources(&session.sources);
    let emit = EmitOptions {
        target: Some(args.target),
        part,
        set: options.set.clone(),
        lengths: args.lengths.clone(),
        arrays: given.as_ref().map(|given| forms(&given.arrays)).unwrap_or_default(),
        layout,
        expansion: expansion(args, &plan, given.as_ref().map(|given| (given, layout)))?,
        launch: given.unwrap_or_else(|| Args { values: options.set.clone(), ..Args::default() }),
        ..EmitOptions::default()
    };
    Ok(registry().emit(&plan, &emit)?)
}

/// Gives parameters the values that are set as their defaults: a launch of the package has them unless it is given others.
fn set_defaults(module: &mut Module, set: &[(String, ParamValue)]) {
    for (name, value) in set {
        let ids = (0..module.params.len() as u32).map(ParamId);
        let found = ids.into_iter().find(|id| module.user_names(*id).any(|known| known == name));
        let Some(param) = found.map(|id| &mut module.params[id.index()]) else { continue };
        if let ParamSource::Set { default } = &mut param.source {
            *default = Expr::new(ExprKind::Const(*value), param.ty, default.span);
        }
    }
}

/// The kernels of a `.pto` file.
fn kernels(session: &mut Session, args: &EmitArgs, kind: Kind) -> Result<Emitted, Vec<Diagnostic>> {
    if kind != Kind::Program && (kind != Kind::Unknown || args.file.is_file()) {
        return Err(vec![wrong_kind(&args.file, kind, "files of kernels (`.pto`)")]);
    }
    let given = [("--graph", args.graph.is_some()), ("--kernels", !args.kernels.is_empty())];
    refuse(&given, "is for `--stage graph`").map_err(|fault| vec![fault])?;
    let set = named(&args.set, "is for programs that run").map_err(|fault| vec![fault])?;
    let text = read_source(&args.file).map_err(|fault| vec![fault])?;
    let compiled = session.compile_text(&args.file.display().to_string(), text, Purpose::Library)?;
    let file = KernelFile { module: Arc::new(compiled.module), set };
    let source = KernelsSource { file, kernel: args.kernel.clone(), target: args.target };
    Ok(registry().emit_kernels(&source)?)
}
