//! Packages that run on the host: `ascend_host` behind the seam. A program is emitted, built by the host's compiler and run on simulated
//! cores; who builds and runs it is a [`HostRunner`].

use crate::kernels::Chip;
use crate::package::{self, Source, Unit};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wsp_backend::codes::{NO_FILES, OPTION_OF_OTHERS};
use wsp_backend::{
    Absent, Args, ArrayForm, Begin, Bodies, EmitOptions, Emitted, Expand, Expansion, Explanation,
    KernelStats, LaunchTable, Outcome, Package, Prepared, Program, Recording, RunError, RunOptions, Stats,
    UnitOptions, Unwritten, WorkloadRunOptions, unravel,
};
use wsp_core::ParamId;
use wsp_core::policy::Hints;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::Expr;
use wsp_ir::tg::Signatures;
use wsp_memory::Claim;
use wsp_plan::target::DeviceModel;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{
    Arrays, KernelFile, LoweredPlan, ParamValue, PlanSource, ProgramKind, Target, UnitSource, entry,
};

/// Most AICPUs that a package is run with.
const MOST_AICPUS: u16 = 64;

/// A package that was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// Where it is.
    pub folder: PathBuf,
    /// How long it took to build it, or to find it.
    pub took: Duration,
    /// Why one that was there was not taken.
    pub notes: Vec<Diagnostic>,
}

/// What a run of a package gave.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Arrays that its launch wrote, by name.
    pub arrays: Arrays,
    /// What it printed: lines `kernel NAME DESCRIPTORS`, of a graph that AICPUs walk `invocations COUNT`, `parameter NAME VALUE`, where real numbers begin with `f`, and `unwritten NAME COUNT FIRST` for an array of which no task wrote so many
    /// elements, with ` given` where they hold what the launch was given; `read …` for those of them
    /// that tasks have read.
    pub said: String,
    /// How long the run took, with reading and writing of arrays.
    pub took: Duration,
}

/// Builds packages and runs them.
pub trait HostRunner: Send + Sync {
    /// Builds a package for a platform, `a2`, `a3` or `a5`, or finds that it was built before: packages of one key are the same.
    ///
    /// # Errors
    /// There is no compiler, or it fails; files cannot be written.
    fn build(&self, key: &str, platform: &str, package: &Package) -> Result<Built, Diagnostic>;

    /// Whether arrays and values are what a program takes. Nothing of it is run or built.
    ///
    /// # Errors
    /// What is wrong with them, as a run of `cpu_sim` says it.
    fn fits(&self, plan: &PlanSource, args: &Args, options: &RunOptions) -> Result<(), Diagnostics>;

    /// The tasks of a launch.
    ///
    /// # Errors
    /// As [`Program::table`].
    fn table(&self, plan: &PlanSource, args: &Args, options: &RunOptions)
    -> Result<LaunchTable, Diagnostics>;

    /// Runs a package that was built.
    ///
    /// # Errors
    /// It cannot be run, or says what is wrong.
    fn run(&self, built: &Built, inputs: &Arrays, options: &[String]) -> Result<Ran, Diagnostic>;
}

/// A program that runs so.
#[derive(Clone)]
pub(crate) struct HostProgram {
    /// Its kernels, arrays and parameters.
    plan: Arc<LoweredPlan>,
    /// What generates its tasks, if its generators do not.
    workload: Option<Arc<WorkloadPlan>>,
    /// How often kernels of a task graph run, if its package does not say so.
    invocations: Option<u64>,
    /// What both are of.
    source: PlanSource,
    target: &'static Target,
    runner: Arc<dyn HostRunner>,
}

impl HostProgram {
    /// # Errors
    /// Plans that have no packages.
    pub(crate) fn new(source: &PlanSource, runner: Arc<dyn HostRunner>) -> Result<HostProgram, Diagnostics> {
        let target = source.target();
        let (plan, workload, invocations) = match source {
            PlanSource::Spaces(plan) => (plan.clone(), None, None),
            PlanSource::Workload(plan) => (
                Arc::new(Source::workload(plan, &Expansion::Bytecode)?.into_plan()),
                Some(plan.clone()),
                None,
            ),
            PlanSource::Unit(unit) => {
                let made = Unit::new(unit, &signatures(unit), target)?;
                let invocations = made.invocations();
                (Arc::new(made.plan), None, invocations)
            }
        };
        Ok(HostProgram { plan, workload, invocations, source: source.clone(), target, runner })
    }

    fn kind(&self) -> ProgramKind {
        self.source.kind()
    }

    /// What of the options a package has no part of.
    fn refuse(&self, options: &RunOptions, args: &Args) -> Result<(), RunError> {
        options.check(self.kind())?;
        let WorkloadRunOptions { aicpus, expand, made_up, absent, data_seed, mixing, whole_outs, phases } =
            &options.workload;
        let UnitOptions { devices, cores, hints, events, memory, checkpoints, begin, .. } = &options.unit;
        let given = [
            ("devices", *devices != 1),
            ("cores", cores.as_ref().is_some_and(|cores| *cores != DeviceModel::default())),
            ("hints", *hints != Hints::Ignore),
            ("events", !events.is_empty()),
            ("memory", memory.is_some()),
            ("checkpoints", checkpoints.is_some()),
            ("begin", *begin != Begin::Start),
            ("expand", *aicpus != 0 && *expand == Expand::Host),
            ("made_up", !made_up.is_empty()),
            ("absent", *absent != Absent::default()),
            ("data_seed", *data_seed != 0),
            ("mixing", *mixing),
            ("whole_outs", *whole_outs),
            ("payload", options.payload.is_some()),
            ("replay", options.replay.is_some()),
            ("trace", options.trace),
            ("plain", options.plain),
            ("views", !args.views.is_empty()),
        ];
        let kernels = self.workload.as_ref().map_or(&[][..], |plan| &plan.module.kernels);
        if *phases && (options.sequential || !kernels.iter().any(|kernel| kernel.on_host)) {
            let why = match options.sequential {
                true => "a sequential run has no sides that take turns",
                false => "no kernel of the workload runs on the host",
            };
            let fault = Diagnostic::error(OPTION_OF_OTHERS, format!("option `phases` has no meaning: {why}"));
            return Err(RunError::Refused(fault.help("leave it out").into()));
        }
        if options.workload.aicpus > MOST_AICPUS {
            let message = format!(
                "{} AICPUs on target `ascend_host`, which has {MOST_AICPUS} at most",
                options.workload.aicpus
            );
            return Err(RunError::Refused(
                Diagnostic::error(OPTION_OF_OTHERS, message).help("ask for fewer").into(),
            ));
        }
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("option `{name}` has no meaning on target `ascend_host`");
                let fault = Diagnostic::error(OPTION_OF_OTHERS, message);
                Err(RunError::Refused(fault.help("leave it out, or run the program on `cpu_sim`").into()))
            }
        }
    }

    fn build(&self, package: &Package) -> Result<(String, Built), RunError> {
        let key = package::key(package);
        let platform = Chip::of(self.target.platform).map_or("", Chip::name);
        let built = self.runner.build(&key, platform, package);
        Ok((key, built.map_err(|fault| RunError::Refused(fault.into()))?))
    }

    /// Values that kernels may be made for: those of the workload alone are a launch's.
    fn of_kernels(&self, args: &Args) -> Vec<(String, ParamValue)> {
        let module = &self.plan.module;
        let ids = || (0..module.params.len() as u32).map(ParamId);
        let named = |name: &str| ids().any(|id| module.user_names(id).any(|known| known == name));
        let is_own = |name: &str| {
            let own = self.workload.as_ref().is_some_and(|plan| plan.module.param_named(name).is_some());
            own && !named(name)
        };
        args.values.iter().filter(|(name, _)| !is_own(name)).cloned().collect()
    }

    /// What generates the tasks.
    fn expansion(&self, args: &Args, options: &RunOptions) -> Result<Expansion, Diagnostics> {
        Ok(match options.workload.expand {
            Expand::Usual | Expand::Loops | Expand::Host => Expansion::Loops,
            Expand::Bytecode => Expansion::Bytecode,
            Expand::Table => Expansion::Table(self.runner.table(&self.source, args, &of_arrays(options))?),
        })
    }

    fn emitted(&self, args: &Args, options: &RunOptions) -> Result<Emitted, Diagnostics> {
        let form = |(name, array): (&String, &wsp_plan::Array)| ArrayForm {
            name: name.clone(),
            elem: array.dtype(),
            shape: array.shape().to_vec(),
        };
        let emit = EmitOptions {
            set: self.of_kernels(args),
            arrays: args.arrays.iter().map(form).collect(),
            layout: options.spaces.kv_layout,
            expansion: self.expansion(args, options)?,
            ..EmitOptions::default()
        };
        let source = match (&self.workload, &self.source) {
            (Some(plan), _) => Source::workload(plan, &emit.expansion)?,
            (None, PlanSource::Unit(unit)) => {
                let made = Unit::new(unit, &signatures(unit), self.target)?;
                let own = EmitOptions { expansion: made.expansion.clone(), ..emit };
                return package::emit(&Source::of_unit(made), self.target, &own);
            }
            (None, _) => Source::spaces(&self.plan)?,
        };
        package::emit(&source, self.target, &emit)
    }
}

/// Of options those that say how arrays are taken.
fn of_arrays(options: &RunOptions) -> RunOptions {
    RunOptions { spaces: options.spaces.clone(), ..RunOptions::default() }
}

/// What generates the tasks of a package, for people.
fn orchestration(expand: Expand) -> &'static str {
    match expand {
        Expand::Usual | Expand::Loops | Expand::Host => "generated loops",
        Expand::Bytecode => "bytecode, which every AICPU interprets",
        Expand::Table => "a table of the tasks of the launch",
    }
}

/// The options of a run, as its program takes them.
fn arguments(plan: &LoweredPlan, args: &Args, options: &RunOptions) -> Vec<String> {
    let mut all = vec!["--report".to_owned()];
    let mut add = |name: &str, value: String| all.extend([name.to_owned(), value]);
    for (name, value) in &args.values {
        add("--set", format!("{name}={}", text(*value)));
    }
    if !plan.module.caches.is_empty() {
        add("--set", format!("kv_layout={}", options.spaces.kv_layout));
    }
    if options.sequential {
        all.push("--serial".to_owned());
        return all;
    }
    add("--seed", options.seed.to_string());
    // On one thread the order of steps follows from the seed.
    if options.threads > 1 {
        add("--threads", options.threads.min(256).to_string());
    }
    add("--aicpus", options.workload.aicpus.max(1).to_string());
    if let Some(window) = options.window {
        add("--window", window.to_string());
    }
    if options.workload.phases {
        all.push("--phases".to_owned());
    }
    all
}

fn text(value: ParamValue) -> String {
    match value {
        ParamValue::Bool(value) => value.to_string(),
        ParamValue::Int(value) => value.to_string(),
        ParamValue::Float(value) => format!("{value:?}"),
    }
}

impl Program for HostProgram {
    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        self.refuse(options, args)?;
        let emitted = self.emitted(args, options).map_err(RunError::Refused)?;
        let mut explained = Explanation::new(Vec::new());
        let orchestration = match (&self.source, emitted.package.links_device) {
            (PlanSource::Unit(_), true) => "a graph, which every AICPU walks",
            (PlanSource::Unit(_), false) => orchestration(Expand::Table),
            _ => orchestration(options.workload.expand),
        };
        explained.implementation = vec![
            ("orchestration", orchestration.to_owned()),
            ("kernels", "C++ of the package, by the compiler of the host".to_owned()),
        ];
        explained.notes = emitted.notes;
        Ok(explained)
    }

    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        self.refuse(&options, &args)?;
        self.runner.fits(&self.source, &args, &of_arrays(&options)).map_err(RunError::Refused)?;
        let emitted = self.emitted(&args, &options).map_err(RunError::Refused)?;
        let (key, built) = self.build(&emitted.package)?;
        Ok(Box::new(Ready {
            program: self.clone(),
            notes: [&emitted.notes[..], &built.notes].concat(),
            built,
            key,
            args,
            options,
            outcome: None,
        }))
    }
}

/// A package with arguments.
struct Ready {
    program: HostProgram,
    built: Built,
    key: String,
    notes: Vec<Diagnostic>,
    args: Args,
    options: RunOptions,
    outcome: Option<Outcome>,
}

impl Prepared for Ready {
    fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    fn launch(&mut self, _: Option<&Arc<Claim>>) -> Result<(), RunError> {
        self.outcome = None;
        let options = arguments(&self.program.plan, &self.args, &self.options);
        let ran = self.program.runner.run(&self.built, &self.args.arrays, &options);
        let of_build =
            |fault: Diagnostic| self.built.notes.iter().fold(fault, |fault, note| fault.note(&note.message));
        let Ran { arrays, said, took } = ran.map_err(|fault| RunError::Failed(of_build(fault).into()))?;
        let mut stats = Stats::default();
        (stats.compile, stats.run) = (self.built.took, took);
        let streams = self.program.workload.as_ref().and_then(|plan| plan.schedule.policy.streams);
        (stats.streams, stats.executors) = (streams.unwrap_or(1), 1);
        stats.params = said.lines().filter_map(parameter).collect();
        stats.kernels = said.lines().filter_map(kernel).collect();
        let invocations = said.lines().find_map(invocations).or(self.program.invocations);
        let descriptors = || stats.kernels.iter().map(|kernel| kernel.tasks).sum();
        stats.tasks = invocations.unwrap_or_else(descriptors);
        let outputs = package::with_types(&self.program.plan, &self.args.arrays, arrays);
        let unwritten = said.lines().filter_map(|line| unwritten(line, &outputs)).collect();
        let mut outcome = Outcome::new(outputs, stats);
        if self.options.recording != Recording::Off {
            outcome.unwritten = unwritten;
        }
        outcome.notes.clone_from(&self.notes);
        outcome.workload.bodies = self.program.workload.as_ref().map(|_| Bodies::Library);
        self.outcome = Some(outcome);
        Ok(())
    }

    fn outcome(&mut self) -> Result<Outcome, RunError> {
        self.outcome.take().ok_or_else(RunError::no_outcome)
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        let mut all = self.args.clone();
        all.replace(args);
        let program = self.program.clone();
        program.refuse(&self.options, &all)?;
        program.runner.fits(&program.source, &all, &of_arrays(&self.options)).map_err(RunError::Refused)?;
        let emitted = program.emitted(&all, &self.options).map_err(RunError::Refused)?;
        if package::key(&emitted.package) != self.key {
            (self.key, self.built) = program.build(&emitted.package)?;
        }
        self.notes = [&emitted.notes[..], &self.built.notes].concat();
        self.args = all;
        Ok(())
    }
}

/// Descriptors of a kernel.
fn kernel(line: &str) -> Option<KernelStats> {
    let (name, tasks) = line.strip_prefix("kernel ")?.rsplit_once(' ')?;
    Some(KernelStats { name: name.to_owned(), tasks: tasks.parse().ok()?, busy_ns: 0 })
}

/// How often kernels of a graph that AICPUs walk were launched.
fn invocations(line: &str) -> Option<u64> {
    line.strip_prefix("invocations ")?.parse().ok()
}

/// The value of a parameter.
fn parameter(line: &str) -> Option<(String, ParamValue)> {
    let (name, value) = line.strip_prefix("parameter ")?.rsplit_once(' ')?;
    let value = match value {
        "true" | "false" => ParamValue::Bool(value == "true"),
        _ => match value.strip_prefix('f') {
            Some(value) => ParamValue::Float(value.parse().ok()?),
            None => ParamValue::Int(value.parse().ok()?),
        },
    };
    Some((name.to_owned(), value))
}

/// Elements of an output that no task wrote.
fn unwritten(line: &str, outputs: &Arrays) -> Option<Unwritten> {
    let (kind, rest) = line.split_once(' ').filter(|(kind, _)| ["unwritten", "read"].contains(kind))?;
    let mut words = rest.split(' ');
    let tensor = words.next()?.to_owned();
    let (elements, first) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let array = outputs.get(&tensor)?;
    let (first, given) = (unravel(first, array.shape()), words.next() == Some("given"));
    let loaded = kind == "read";
    Some(Unwritten { tensor, loaded, elements, of: array.len() as u64, first, given })
}

/// What the kernels of a unit say of their arguments.
pub(crate) fn signatures(unit: &UnitSource) -> Signatures {
    let extent = |e: &Expr| e.as_const_int().and_then(|n| u64::try_from(n).ok());
    let of = |file: &KernelFile| {
        let entries = file.module.kernel_entries.iter();
        entries.map(|own| entry::signature(&file.module, own, &extent)).collect::<Vec<_>>()
    };
    unit.files.iter().flat_map(of).collect()
}

/// Why a plan of another kind has no package.
pub(crate) fn not_a_package(kind: ProgramKind) -> Diagnostic {
    Diagnostic::error(NO_FILES, format!("backend `ascend` has no packages of a {kind}"))
        .help("run it on `cpu_sim`")
}
