//! The boundary to compiler and backend: everything the commands ask of them goes through these functions.

mod listing;
mod outcome;
mod own;
mod tasks;

pub use listing::{Listed, graph, placement, recorded};
pub(crate) use outcome::RunOutcome as TasksOutcome;
pub(crate) use own::run_of_unit;
pub(crate) use tasks::{execute as run_tasks, simulate as simulate_tasks};

use crate::files::{files_in, read_source};
use crate::report::{DescriptorType, PlanReport, RunStats, TaskGroup};
use pto_wsp::registry;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wsp_backend::{
    Args, Detail, Expand, GraphOptions, GridStats, KernelStats, KvLayout, LaunchTable, Program, Recording,
    RunOptions, SpaceOptions, StartOrder, Unwritten, WorkloadRunOptions,
};
use wsp_core::{FuncId, TensorId};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::workload::Deps;
use wsp_ir::{BindingSource, Consumer, EntryTy, FuncKind, LaunchTarget, Module, StructDef};
use wsp_kernel::{CodeCache, Engine, Mode};
pub use wsp_lang::Purpose;
use wsp_ordered::Arrange;
use wsp_plan::target::CPU_SIM;
use wsp_plan::target::model::Model;
use wsp_plan::{Arrays, CompileOptions, LoweredPlan, ParamValue, PlanSource, Target};
use wsp_runtime::clock;
use wsp_runtime::timeline::Timeline;

/// A compiled source file.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it says.
    pub module: Module,
    /// Warnings and notes.
    pub warnings: Vec<Diagnostic>,
}

/// A program and its data.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program.
    pub module: Module,
    /// Arrays by the names of the host entry's parameters.
    pub arrays: Arrays,
}

/// What a user may choose at launch.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it runs.
    pub target: &'static Target,
    /// Worker threads; 0 takes one per core.
    pub threads: u32,
    /// Order of heads and tokens in the pages of every cache.
    pub layout: KvLayout,
    /// Name of the schedule to use instead of those the source applies.
    pub schedule: Option<String>,
    /// Cores of the machine model, when not the default.
    pub max_blocks: Option<u32>,
    /// Values of parameters, in the order given.
    pub set: Vec<(String, ParamValue)>,
    /// How tile operations are computed.
    pub mode: Mode,
    /// What runs scalar code.
    pub engine: Engine,
    /// Whether to record what tasks store.
    pub recording: Recording,
    /// Whether to record when and where each task ran.
    pub trace: bool,
    /// The order of starts that tasks keep to, if any.
    pub replay: Option<StartOrder>,
    /// AICPUs that generate the tasks; 0 leaves that to the host.
    pub aicpus: u16,
    /// What generates the tasks of a package.
    pub expand: Expand,
    /// Where machine code is kept, if anywhere.
    pub code: Option<CodeCache>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            target: CPU_SIM,
            threads: 0,
            layout: KvLayout::default(),
            schedule: None,
            max_blocks: None,
            set: Vec::new(),
            mode: Mode::default(),
            engine: Engine::default(),
            recording: Recording::Off,
            trace: false,
            replay: None,
            aicpus: 0,
            expand: Expand::default(),
            code: None,
        }
    }
}

impl Options {
    /// What a plan depends on.
    pub fn compile(&self) -> CompileOptions {
        let (schedule, target) = (self.schedule.clone(), self.target);
        let usual = CompileOptions { schedule, target, ..CompileOptions::default() };
        CompileOptions { max_blocks: self.max_blocks.unwrap_or(usual.max_blocks), ..usual }
    }
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Arrays that kernels wrote, by the names of the host entry's parameters.
    pub outputs: Arrays,
    /// Elements of them that no task stored, where that is recorded.
    pub unwritten: Vec<Unwritten>,
    /// Arrays of the launch that no kernel loads from or stores to.
    pub untouched: Vec<String>,
    /// Every parameter with the value it had.
    pub params: Vec<(String, ParamValue)>,
    /// Counts and times.
    pub stats: RunStats,
    /// Warnings and notes.
    pub warnings: Vec<Diagnostic>,
    /// When and where each task ran, if that was asked for.
    timeline: Timeline,
}

impl RunOutcome {
    /// When and where tasks ran, of a program in this file, whose key is `key`.
    pub fn timeline(&self, file: &Path, key: u64) -> Timeline {
        self.timeline.clone().of(file.display().to_string(), key)
    }
}

/// Compiles a source file and those that it includes, with all warnings.
///
/// # Errors
/// What is wrong with the source.
pub fn compile(sources: &mut SourceMap, name: &str, text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    compile_for(sources, name, text, Purpose::Program)
}

/// Compiles as [`compile`]; warnings of what is unused follow from what the file is for.
///
/// # Errors
/// What is wrong with the source.
pub fn compile_for(
    sources: &mut SourceMap,
    name: &str,
    text: &str,
    purpose: Purpose,
) -> Result<Compiled, Vec<Diagnostic>> {
    match wsp_lang::check_with(name, text, purpose, sources, &mut read_source) {
        (Some(module), warnings) => Ok(Compiled { module, warnings }),
        (None, faults) => {
            let part = wsp_lang::part_of_programs(name, text, &faults, files_in, &mut read_source);
            Err(part.map_or(faults, |one| vec![one]))
        }
    }
}

/// What every launch with the defaults of a program refuses, whatever its arrays are.
///
/// # Errors
/// Values of parameters, requirements, extents and tiles of axes, workspace slots.
pub fn check_defaults(module: &Module) -> Result<(), Vec<Diagnostic>> {
    Ok(registry().check_defaults(module, CompileOptions::default().target)?)
}

/// Tensors of the launch that some kernel loads from.
///
/// # Errors
/// When the program cannot be lowered.
pub fn inputs(module: &Module) -> Result<Vec<TensorId>, Vec<Diagnostic>> {
    let plan = lowered(module, &CompileOptions::default())?;
    let read = |i: &usize| plan.tensors[*i].read || !plan.tensors[*i].written;
    Ok((0..plan.tensors.len()).filter(read).map(|i| TensorId(i as u32)).collect())
}

/// What a target does with a program in another way than it says: notes.
///
/// # Errors
/// What the target cannot do.
pub fn lowered_for(module: &Module, target: &'static Target) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let options = CompileOptions { target, ..CompileOptions::default() };
    let plan = match module.entry {
        None => wsp_plan::lower_library(module, &kernels(module), &options),
        Some(_) => lowered(module, &options),
    };
    Ok(plan?.notes)
}

/// The plan of a program, or of the kernels of a file that launches nothing.
fn lowered(module: &Module, options: &CompileOptions) -> Result<LoweredPlan, Vec<Diagnostic>> {
    match module.entry.as_ref().map(|entry| entry.launch.target) {
        Some(LaunchTarget::Kernels) => wsp_plan::lower_library(module, &kernels(module), options),
        _ => wsp_plan::lower(module, options),
    }
}

fn kernels(module: &Module) -> Vec<FuncId> {
    let of_kind =
        |(_, function): &(usize, &wsp_ir::Function)| matches!(function.kind, FuncKind::Kernel { .. });
    module.functions.iter().enumerate().filter(of_kind).map(|(i, _)| FuncId(i as u32)).collect()
}

/// Tensors of the launch that some kernel stores to.
///
/// # Errors
/// When the program cannot be lowered.
pub fn outputs(module: &Module) -> Result<Vec<TensorId>, Vec<Diagnostic>> {
    let plan = wsp_plan::lower(module, &CompileOptions::default())?;
    Ok((0..plan.tensors.len()).filter(|i| plan.tensors[*i].written).map(|i| TensorId(i as u32)).collect())
}

/// Compiles a plan by the backend that takes it, with these tile operations, this engine and this machine code on `cpu_sim`.
///
/// # Errors
/// Nothing runs its target, or what runs it cannot do all of it.
pub(crate) fn program(
    plan: &PlanSource,
    mode: Mode,
    engine: Engine,
    code: Option<CodeCache>,
) -> Result<Box<dyn Program>, Vec<Diagnostic>> {
    let selection = own::registry(mode, engine, code).select(plan).map_err(|found| found.0)?;
    selection.backend().compile(plan).map_err(|found| found.0)
}

/// The tasks of a launch, for a package.
///
/// # Errors
/// What is wrong with data or parameters, or a fault of a generator.
pub(crate) fn table(
    plan: &PlanSource,
    args: &Args,
    layout: KvLayout,
) -> Result<LaunchTable, Vec<Diagnostic>> {
    let options = RunOptions { spaces: SpaceOptions { kv_layout: layout }, ..RunOptions::default() };
    Ok(program(plan, Mode::default(), Engine::default(), None)?.table(args, &options)?)
}

/// Runs a program in virtual time on the units of a machine.
///
/// # Errors
/// What is wrong with the schedule, data or parameters; kernels that the machine has no figures for.
pub(crate) fn simulate_program(
    loaded: &Loaded,
    options: &Options,
    machine: &Model,
) -> Result<TasksOutcome, Vec<Diagnostic>> {
    Executable::new(loaded, options)?.simulate(loaded, options, machine)
}

/// A program that is compiled for its target, to be planned and run any number of times.
pub struct Executable {
    lowered: Arc<LoweredPlan>,
    program: Box<dyn Program>,
    /// Nanoseconds that the compilation took.
    lowering: u64,
}

impl Executable {
    /// Compiles a program.
    ///
    /// # Errors
    /// What is wrong with the schedule, what the target cannot do, nothing that runs it.
    pub fn new(loaded: &Loaded, options: &Options) -> Result<Executable, Vec<Diagnostic>> {
        let started = clock::now();
        Executable::of(lower(loaded, options)?, options, started)
    }

    /// Compiles a program that has its texts with it: packages name places of the source.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_sources(
        loaded: &Loaded,
        options: &Options,
        sources: &SourceMap,
    ) -> Result<Executable, Vec<Diagnostic>> {
        let started = clock::now();
        let sources = Some(Arc::new(sources.clone()));
        Executable::of(LoweredPlan { sources, ..lower(loaded, options)? }, options, started)
    }

    fn of(lowered: LoweredPlan, options: &Options, started: Instant) -> Result<Executable, Vec<Diagnostic>> {
        let lowered = Arc::new(lowered);
        let program = program(
            &PlanSource::Spaces(lowered.clone()),
            options.mode,
            options.engine,
            options.code.clone(),
        )?;
        Ok(Executable { lowered, program, lowering: clock::nanos_since(started) })
    }

    /// Runs the generators only.
    ///
    /// # Errors
    /// What is wrong with data or parameters, or a fault of a generator.
    pub fn plan(&self, loaded: &Loaded, options: &Options) -> Result<PlanReport, Vec<Diagnostic>> {
        let explained = self.program.explain(&args(loaded, options), &run_options(options))?;
        let lowered = &self.lowered;
        let module = &lowered.module;
        let (schedule, mut schedule_lines) = schedule(lowered);
        schedule_lines.extend(explained.grid.iter().flat_map(GridStats::lines));
        let report = PlanReport {
            types: module.structs.iter().map(descriptor_type).collect(),
            max_blocks: lowered.options.max_blocks,
            schedule,
            schedule_lines,
            implementation: explained.implementation,
            warnings: warnings(lowered, explained.notes),
            ..PlanReport::default()
        };
        Ok(own::plan_report(explained.own, module, report))
    }

    /// Runs the program.
    ///
    /// # Errors
    /// What is wrong with data or parameters, or a fault of a generator or kernel.
    pub fn execute(&self, loaded: &Loaded, options: &Options) -> Result<RunOutcome, Vec<Diagnostic>> {
        self.run(args(loaded, options), run_options(options))
    }

    /// Runs the program in virtual time on the units of a machine.
    ///
    /// # Errors
    /// What is wrong with data or parameters; kernels that the machine has no figures for.
    pub(crate) fn simulate(
        &self,
        loaded: &Loaded,
        options: &Options,
        machine: &Model,
    ) -> Result<TasksOutcome, Vec<Diagnostic>> {
        let (args, options) = (args(loaded, options), run_options(options));
        let mut outcome = simulate_tasks(&*self.program, &args, &options, Some(machine))?;
        outcome.notes = warnings(&self.lowered, std::mem::take(&mut outcome.notes));
        Ok(outcome)
    }

    /// Runs the program one task after another with plain tile operations, and records nothing; on `cpu_sim`, whatever its target is.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub fn oracle(&self, loaded: &Loaded, options: &Options) -> Result<RunOutcome, Vec<Diagnostic>> {
        if options.target != CPU_SIM {
            let options = Options { target: CPU_SIM, expand: Expand::default(), ..options.clone() };
            return Executable::new(loaded, &options)?.oracle(loaded, &options);
        }
        let (recording, trace) = (Recording::Off, false);
        let alone = RunOptions { sequential: true, recording, trace, replay: None, ..run_options(options) };
        self.run(args(loaded, options), alone)
    }

    fn run(&self, args: Args, options: RunOptions) -> Result<RunOutcome, Vec<Diagnostic>> {
        let (lowered, lowering) = (&self.lowered, self.lowering);
        let outcome = self.program.execute(args, options)?;
        let stats = &outcome.stats;
        let (schedule, schedule_lines) = schedule(lowered);
        let common = RunStats {
            threads: stats.executors,
            max_blocks: lowered.options.max_blocks,
            schedule,
            schedule_lines,
            grid: stats.grid.iter().flat_map(GridStats::lines).collect(),
            tasks: task_groups(&lowered.module, &stats.kernels),
            compile: Duration::from_nanos(lowering) + stats.compile,
            run: stats.run,
            aicpus: outcome.workload.aicpus.map(Box::new),
            ..RunStats::default()
        };
        let kernels = stats.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        let (stats, timeline) = own::run_stats(outcome.own, common, kernels, lowering);
        Ok(RunOutcome {
            timeline,
            params: outcome.stats.params,
            stats,
            outputs: outcome.outputs,
            unwritten: outcome.unwritten,
            untouched: untouched(lowered),
            warnings: warnings(lowered, outcome.notes),
        })
    }
}

/// Lists the tasks of a program and their dependences, in the detail that is asked for.
///
/// # Errors
/// What is wrong with data or parameters, a fault of a generator, too many tasks.
pub fn listed(loaded: &Loaded, options: &Options, detail: Detail) -> Result<Listed, Vec<Diagnostic>> {
    let plan = PlanSource::Spaces(Arc::new(lower(loaded, options)?));
    let spaces = SpaceOptions { kv_layout: options.layout };
    let asked = GraphOptions { detail, spaces, ..GraphOptions::default() };
    graph(&plan, &args(loaded, options), &asked, Deps::Overlap)
}

/// A picture of where a launch of a program is on an array.
///
/// # Errors
/// As [`Executable::new`]; a target without tiles.
pub fn placed(loaded: &Loaded, options: &Options) -> Result<String, Vec<Diagnostic>> {
    placement(&PlanSource::Spaces(Arc::new(lower(loaded, options)?)), &args(loaded, options))
}

/// Compiles a program, and runs its generators only.
///
/// # Errors
/// As [`Executable::new`] and [`Executable::plan`].
pub fn plan(loaded: &Loaded, options: &Options) -> Result<PlanReport, Vec<Diagnostic>> {
    Executable::new(loaded, options)?.plan(loaded, options)
}

/// Compiles a program, and runs it.
///
/// # Errors
/// As [`Executable::new`] and [`Executable::execute`].
pub fn execute(loaded: &Loaded, options: &Options) -> Result<RunOutcome, Vec<Diagnostic>> {
    Executable::new(loaded, options)?.execute(loaded, options)
}

/// Tensors of the host entry that no kernel loads from or stores to, where their names do not say that it is meant. Arrays of integers are for generators too.
fn untouched(plan: &LoweredPlan) -> Vec<String> {
    let Some(entry) = &plan.module.entry else { return Vec::new() };
    let unused = entry.launch.bindings.iter().filter_map(|binding| {
        let BindingSource::Tensor(id) = binding.source else { return None };
        let (of, param) = (plan.tensors[id.index()], &entry.params[binding.param as usize]);
        let is_meant = param.name.starts_with('_');
        let is_unused = matches!(param.ty, EntryTy::Tensor(_)) && !of.read && !of.written && !is_meant;
        is_unused.then(|| param.name.clone())
    });
    unused.collect()
}

fn lower(loaded: &Loaded, options: &Options) -> Result<LoweredPlan, Vec<Diagnostic>> {
    wsp_plan::lower(&loaded.module, &options.compile())
}

fn args(loaded: &Loaded, options: &Options) -> Args {
    Args { arrays: loaded.arrays.clone(), values: options.set.clone(), ..Args::default() }
}

fn run_options(options: &Options) -> RunOptions {
    RunOptions {
        threads: options.threads,
        recording: options.recording,
        trace: options.trace,
        replay: options.replay.clone(),
        spaces: SpaceOptions { kv_layout: options.layout },
        workload: WorkloadRunOptions {
            aicpus: options.aicpus,
            expand: options.expand,
            ..WorkloadRunOptions::default()
        },
        ..RunOptions::default()
    }
}

/// Names of the schedules and what the target does with each of their statements.
fn schedule(plan: &LoweredPlan) -> (Option<String>, Vec<String>) {
    let mut names: Vec<&str> = plan.stages.iter().filter_map(|s| s.schedule.name.as_deref()).collect();
    names.dedup();
    // Stages of one schedule have the same lines.
    let mut lines: Vec<String> = Vec::new();
    for line in plan.stages.iter().flat_map(|stage| &stage.schedule.lines) {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    ((!names.is_empty()).then(|| names.join(", ")), lines)
}

fn warnings(plan: &LoweredPlan, launch: Vec<Diagnostic>) -> Vec<Diagnostic> {
    plan.notes.iter().cloned().chain(launch).collect()
}

fn descriptor_type(def: &StructDef) -> DescriptorType {
    DescriptorType { name: def.name.clone(), fields: def.fields.iter().map(|f| f.name.clone()).collect() }
}

/// Tasks by kernel: those of tiers in the order of their sets, then the others.
fn task_groups(module: &Module, kernels: &[KernelStats]) -> Vec<TaskGroup> {
    let mut groups = Vec::new();
    for def in &module.structs {
        let takers: Vec<(Option<u32>, &str)> = match def.consumer {
            Consumer::None => Vec::new(),
            Consumer::Kernel(func) => vec![(None, module.functions[func.index()].name.as_str())],
            Consumer::Tiers { set, .. } => {
                let tiers = module.tier_sets[set.index()].tiers.iter().enumerate();
                tiers
                    .map(|(i, t)| (Some(i as u32), module.functions[t.kernel.index()].name.as_str()))
                    .collect()
            }
        };
        for (tier, kernel) in takers {
            let tasks = kernels.iter().find(|k| k.name == kernel).map_or(0, |k| k.tasks);
            groups.push(TaskGroup { descriptor: def.name.clone(), kernel: kernel.to_owned(), tier, tasks });
        }
    }
    groups.arrange_by_key(|g| g.tier.is_none());
    groups
}
