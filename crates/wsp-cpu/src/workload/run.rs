//! Runs a workload.

use super::aicpu::{Generated, ReadyAicpus};
use super::channels;
use super::codes;
use super::declared::Declared;
use super::declared_kernels::DeclaredKernels;
use super::equal::{EqualRegions, NamedTensor};
use super::faults;
use super::inputs::{WorkloadInputs, WorkloadOptions};
use super::kept::KeptGraph;
use super::layouts::Placed;
use super::library::LibraryKernels;
use super::list::Listing;
use super::outcome::WorkloadOutcome;
use super::records::{Numbers, Record};
use super::registry::KernelRegistry;
use super::settings::{self, RunSettings};
use super::submit::{Sequential, SequentialStop, Streaming};
use super::tables::{bound, params};
use super::tensors::{Given, callers, slots};
use super::touch::Stated;
use super::view_kernel::Interruption;
use crate::LaunchOptions;
use crate::prepared::{Launched, Prepared};
use crate::stats::kernel_stats;
use crate::tiles::Tiles;
use std::sync::Arc;
use std::time::Instant;
use wsp_backend::Bodies;
use wsp_backend::claims::{claimed, uses};
use wsp_core::TensorId;
use wsp_diag::Diagnostic;
use wsp_ir::workload::{Deps, Trace, WorkloadModule};
use wsp_kernel::Mode;
use wsp_memory::{Claim, Uses};
use wsp_plan::Arrays;
use wsp_plan::layout::Tensors;
use wsp_plan::workload::{Bindings, LoweredSchedule, ScheduleLine, check_schedule, expand};
use wsp_runtime::{KernelStats, KnownRegions, clock};

/// Runs declared kernels.
pub(crate) fn declared(
    kernels: &Arc<DeclaredKernels>,
    registry: &KernelRegistry,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    let mut launch = Launch::new(kernels, registry, inputs, options)?;
    let mut outcome = launch.outcome(registry, options);
    let claim = claimed(options.claim.as_ref(), &launch.uses).map_err(|fault| vec![fault])?;
    launch.run(options, &mut outcome, &mut None)?;
    drop(claim);
    outcome.outputs = launch.tasks.into_outputs().map_err(|fault| vec![fault])?;
    Ok(outcome)
}

/// A run of declared kernels with everything checked and bound.
pub(crate) struct Launch {
    pub(crate) bindings: Bindings,
    pub(crate) way: Way,
    pub(crate) tasks: Declared,
    /// Where the last run has found the regions of tasks.
    known: KnownRegions,
    /// Arrays of the caller, which each run claims.
    pub(crate) uses: Uses,
    /// Warnings.
    pub(crate) notes: Vec<Diagnostic>,
}

impl Launch {
    /// Checks and binds what is given.
    ///
    /// # Errors
    /// Wrong values, arrays and options, dependences that miss a hazard.
    pub(crate) fn new(
        kernels: &Arc<DeclaredKernels>,
        registry: &KernelRegistry,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<Launch, Vec<Diagnostic>> {
        let DeclaredKernels { module, schedule, .. } = &**kernels;
        settings::refuse_for_declared(options).map_err(|fault| vec![fault])?;
        refuse_without_body(module, registry, inputs)?;
        let bindings = bound(module, inputs)?;
        let mut notes = check(module, &bindings, schedule, options)?;
        let tiles = tiles_of(module, &bindings, schedule)?;
        if let Some(tiles) = &tiles {
            let cancel = options.cancel.as_deref();
            let placed = Placed { module, schedule, bindings: &bindings, registry, tiles, cancel };
            notes.extend(placed.follow(&slots(module, &bindings, inputs, options.claim.as_ref())?)?);
        }
        if checks_order(schedule, options) {
            let slots = slots(module, &bindings, inputs, options.claim.as_ref())?;
            let cancel = options.cancel.as_deref();
            Listing { module, schedule, bindings: &bindings, slots, cancel }
                .check_order(&mut Stated::default())?;
        }
        let names: Vec<&str> = module.kernels.iter().map(|kernel| &*kernel.name).collect();
        let mut way = Way::new(module, schedule, &bindings, options, &names)?;
        if let Way::Workers(settings) = &mut way {
            settings.config = settings.config.of_kernels(names.into_iter()).into_owned();
            settings.tiles.clone_from(&tiles);
        }
        let tensors = Given { kernels, bindings: &bindings, inputs }.tensors()?;
        let uses = uses(callers(kernels, &tensors));
        let poll = if matches!(way, Way::OneByOne(_)) { options.poll.clone() } else { None };
        let interruption = Interruption { cancel: options.cancel.clone(), poll };
        let threads = way.threads() as usize;
        let mut tasks = Declared::new(Arc::clone(kernels), registry, tensors, interruption, threads);
        tasks.progress.clone_from(&options.progress);
        tasks.whole_outs = options.whole_outs;
        tasks.record(inputs, options.recording);
        let has_channels = module.workloads.iter().any(|workload| !workload.channels.is_empty());
        if has_channels && (options.trace || schedule.policy.trace == Trace::Measured) {
            tasks.note_slots();
        }
        Ok(Launch { bindings, way, tasks, known: KnownRegions::default(), uses, notes })
    }

    /// What is known of the outcome before the run.
    pub(crate) fn outcome(&self, registry: &KernelRegistry, options: &WorkloadOptions) -> WorkloadOutcome {
        let DeclaredKernels { module, schedule, .. } = &*self.tasks.kernels;
        let counts = vec![wsp_runtime::KernelStats::default(); module.kernels.len()];
        let runtime = wsp_runtime::Stats { kernels: counts, ..wsp_runtime::Stats::default() };
        WorkloadOutcome {
            outputs: Arrays::new(),
            unwritten: Vec::new(),
            bodies: bodies(module, registry),
            threads: if options.sequential { 0 } else { self.way.threads() },
            kernels: kernel_stats(module.kernels.iter().map(|k| k.name.as_str()), &runtime),
            params: params(module, &self.bindings),
            library_params: Vec::new(),
            schedule: lines(schedule, options),
            run_ns: 0,
            runtime,
            aicpus: None,
            channels: Vec::new(),
            grid: None,
            notes: self.notes.clone(),
        }
    }

    /// Runs all tasks, on arrays that are claimed, and puts the statistics of the run into `outcome`. A list in `kept` gets the tasks of a sequential run, and
    /// goes away when they are too many or depend on what tasks compute.
    ///
    /// # Errors
    /// Faults of the workload, the first fault of a task.
    pub(crate) fn run(
        &mut self,
        options: &WorkloadOptions,
        outcome: &mut WorkloadOutcome,
        kept: &mut Option<Vec<Record>>,
    ) -> Result<(), Vec<Diagnostic>> {
        let kernels = &*self.tasks.kernels;
        self.tasks.forget_stored();
        let started = clock::now();
        match &mut self.way {
            Way::OneByOne(_) => self.one_by_one(options, &mut outcome.runtime, kept)?,
            Way::Workers(settings) => {
                let known = &mut self.known;
                outcome.runtime = in_parallel(&self.bindings, &self.tasks, known, settings, options)?;
                outcome.grid = settings.tiles.as_ref().map(|tiles| tiles.stats());
            }
            Way::Aicpus(ready) => {
                let tensors = &NamedTensor::of_workload(&kernels.module);
                let DeclaredKernels { module, schedule, .. } = kernels;
                let generated = Generated { module, schedule, bindings: &self.bindings, options, tensors };
                let ran = generated.declared(ready, &self.tasks)?;
                outcome.notes.clone_from(&self.notes);
                outcome.notes.extend(ran.notes);
                (outcome.runtime, outcome.aicpus) = (ran.stats, Some(ran.aicpus));
            }
        }
        outcome.unwritten = self.tasks.unwritten();
        self.finish(outcome, started);
        Ok(())
    }

    /// Runs every task on this thread when it is generated.
    fn one_by_one(
        &self,
        options: &WorkloadOptions,
        runtime: &mut wsp_runtime::Stats,
        kept: &mut Option<Vec<Record>>,
    ) -> Result<(), Vec<Diagnostic>> {
        let DeclaredKernels { module, schedule, .. } = &*self.tasks.kernels;
        let mut sink = self.sequential(options, &mut runtime.kernels);
        sink.kept = kept.take();
        let expanded = expand(module, &self.bindings, schedule, &mut sink);
        *kept = sink.kept.take();
        drop(sink);
        let fault = |stop: SequentialStop| faults::sequential(module, stop, options.payload.as_ref());
        runtime.tasks = expanded.map_err(|error| vec![faults::generation(error, fault)])?.tasks;
        Ok(())
    }

    /// Runs tasks that an earlier run has kept.
    ///
    /// # Errors
    /// The first fault of a task.
    pub(crate) fn run_kept(
        &self,
        kept: &[Record],
        options: &WorkloadOptions,
        outcome: &mut WorkloadOutcome,
    ) -> Result<(), Vec<Diagnostic>> {
        self.tasks.forget_stored();
        let started = clock::now();
        let mut sequential = self.sequential(options, &mut outcome.runtime.kernels);
        let ran = kept.iter().try_for_each(|record| sequential.run(record.arguments()));
        let module = &self.tasks.kernels.module;
        ran.map_err(|stop| vec![faults::sequential(module, stop, options.payload.as_ref())])?;
        drop(sequential);
        outcome.unwritten = self.tasks.unwritten();
        outcome.runtime.tasks = kept.len() as u64;
        self.finish(outcome, started);
        Ok(())
    }

    /// The tasks of runs on threads, if they can be kept.
    pub(crate) fn kept(&self, options: &WorkloadOptions) -> Option<KeptGraph> {
        match &self.way {
            // Threads that run a kept graph ask no poll.
            Way::Workers(settings) if options.poll.is_none() => {
                KeptGraph::of(&self.tasks.kernels, &self.bindings, settings)
            }
            _ => None,
        }
    }

    /// Runs tasks that are kept with their order.
    ///
    /// # Errors
    /// The first fault of a task.
    pub(crate) fn run_graph(
        &self,
        kept: &mut KeptGraph,
        options: &WorkloadOptions,
        outcome: &mut WorkloadOutcome,
    ) -> Result<(), Vec<Diagnostic>> {
        self.tasks.forget_stored();
        let started = clock::now();
        let module = &self.tasks.kernels.module;
        let ran = kept.run(&self.tasks);
        let source = |never| match never {};
        outcome.runtime =
            ran.map_err(|failure| vec![faults::failed(module, failure, options.payload.as_ref(), source)])?;
        outcome.grid = kept.grid();
        outcome.unwritten = self.tasks.unwritten();
        self.finish(outcome, started);
        Ok(())
    }

    /// Puts what the runtime has counted where users look.
    fn finish(&self, outcome: &mut WorkloadOutcome, started: Instant) {
        outcome.run_ns = clock::nanos_since(started);
        for (kernel, stats) in outcome.kernels.iter_mut().zip(&outcome.runtime.kernels) {
            kernel.tasks = stats.tasks;
            kernel.busy_ns = stats.busy_ns.unwrap_or(0);
        }
        let workload = (&self.tasks.kernels.module, &self.bindings);
        outcome.channels = channels::of_run(workload, &outcome.runtime, &self.tasks.slots_read());
    }

    fn sequential<'a>(
        &'a self,
        options: &'a WorkloadOptions,
        counts: &'a mut [KernelStats],
    ) -> Sequential<'a> {
        counts.fill(KernelStats::default());
        Sequential::new(&self.tasks, options.cancel.as_deref(), options.poll.as_deref(), counts)
    }
}

/// How tasks come to run.
pub(crate) enum Way {
    OneByOne(RunSettings),
    Workers(RunSettings),
    Aicpus(Box<ReadyAicpus>),
}

impl Way {
    fn new(
        module: &WorkloadModule,
        schedule: &LoweredSchedule,
        bindings: &Bindings,
        options: &WorkloadOptions,
        kernels: &[&str],
    ) -> Result<Way, Vec<Diagnostic>> {
        if options.aicpus != 0 && !options.sequential {
            return Ok(Way::Aicpus(Box::new(ReadyAicpus::new(
                module, schedule, bindings, options, kernels,
            )?)));
        }
        let settings = settings::run_settings(schedule, options).map_err(|fault| vec![fault])?;
        Ok(if options.sequential { Way::OneByOne(settings) } else { Way::Workers(settings) })
    }

    /// Makes ready what a run has used up.
    pub(crate) fn arm(&mut self) {
        if let Way::Aicpus(ready) = self {
            ready.arm();
        }
    }

    fn threads(&self) -> u32 {
        match self {
            Way::OneByOne(settings) | Way::Workers(settings) => settings.config.threads,
            Way::Aicpus(ready) => ready.threads(),
        }
    }
}

/// What becomes of the schedule's directives.
fn lines(schedule: &LoweredSchedule, options: &WorkloadOptions) -> Vec<ScheduleLine> {
    let on_aicpus = options.aicpus != 0 && !options.sequential;
    let line = |line: &ScheduleLine| if on_aicpus { line.on_aicpus() } else { *line };
    schedule.lines.iter().map(line).collect()
}

/// Hands every task to the runtime.
fn in_parallel(
    bindings: &Bindings,
    tasks: &Declared,
    known: &mut KnownRegions,
    settings: &RunSettings,
    options: &WorkloadOptions,
) -> Result<wsp_runtime::Stats, Vec<Diagnostic>> {
    let DeclaredKernels { module, schedule, .. } = &*tasks.kernels;
    let RunSettings { config, regions, tiles } = settings;
    tiles.iter().for_each(|tiles| tiles.forget());
    let run = wsp_runtime::run_again(config, tasks, known, |submitter| {
        let mut sink = Streaming {
            declared: tasks,
            submitter,
            numbers: Numbers::default(),
            poll: options.poll.as_deref(),
            workers: config.threads,
            explicit: config.deps.takes_edges(),
            equal: EqualRegions::new(*regions),
            tasks: 0,
            tiles: tiles.as_deref(),
        };
        expand(module, bindings, schedule, &mut sink).map(|_| ())
    });
    let source = |error| faults::streaming(module, error);
    run.map_err(|failure| vec![faults::failed(module, failure, options.payload.as_ref(), source)])
}

/// Runs kernels of a used file.
pub(crate) fn library(
    kernels: &LibraryKernels,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    LibraryLaunch::new(kernels, inputs, options)?.run(kernels, &inputs.arrays, options, None)
}

/// Runs of kernels of a used file with everything checked and bound. After one that failed there is no other.
pub(crate) struct LibraryLaunch {
    prepared: Prepared,
    bindings: Bindings,
    way: Way,
    /// Warnings.
    notes: Vec<Diagnostic>,
    /// Whether there was a run.
    has_run: bool,
}

impl LibraryLaunch {
    /// Checks and binds what is given.
    ///
    /// # Errors
    /// Wrong values, arrays and options, dependences that miss a hazard.
    pub(crate) fn new(
        kernels: &LibraryKernels,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<LibraryLaunch, Vec<Diagnostic>> {
        let LibraryKernels { program, tasks, .. } = kernels;
        refuse_for_library(options).map_err(|fault| vec![fault])?;
        let (mut prepared, bindings) =
            program.prepare_tasks(tasks, &inputs.arrays, &launch_options(kernels, inputs, options))?;
        program.compile_kernels(&mut prepared, &inputs.arrays)?;
        let (module, schedule) = (&tasks.module, &tasks.schedule);
        let notes = check(module, &bindings, schedule, options)?;
        if checks_order(schedule, options) {
            let slots = slots(module, &bindings, inputs, options.claim.as_ref())?;
            let cancel = options.cancel.as_deref();
            let mut touch = tasks.touch(program.lowered(), &prepared);
            Listing { module, schedule, bindings: &bindings, slots, cancel }.check_order(&mut touch)?;
        }
        let names: Vec<&str> = prepared.kernels.all().iter().map(|kernel| &*kernel.name).collect();
        let way = Way::new(module, schedule, &bindings, options, &names)?;
        Ok(LibraryLaunch { prepared, bindings, way, notes, has_run: false })
    }

    /// Warnings.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &Diagnostic> {
        self.notes.iter().chain(&self.prepared.bound.notes)
    }

    /// Runs all tasks on the arrays that this was made for. `claim` is that of the caller on its arrays for this run, in place of that of the options.
    ///
    /// # Errors
    /// Faults of the workload, the first fault of a task.
    pub(crate) fn run(
        &mut self,
        kernels: &LibraryKernels,
        arrays: &Arrays,
        options: &WorkloadOptions,
        claim: Option<&Arc<Claim>>,
    ) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        let LibraryKernels { program, tasks, .. } = kernels;
        if std::mem::replace(&mut self.has_run, true) {
            self.way.arm();
        }
        let LibraryLaunch { prepared, bindings, way, notes, .. } = self;
        prepared.claim = claim.or(options.claim.as_ref()).cloned();
        let mut notes = notes.clone();
        let (module, schedule) = (&tasks.module, &tasks.schedule);
        let (outcome, aicpus) = match way {
            Way::OneByOne(settings) | Way::Workers(settings) => {
                let ran =
                    program.launch(prepared, arrays, &settings.config, |planner, kernels, submitter| {
                        tasks.submit(bindings, planner, kernels, submitter, settings)
                    })?;
                (ran, None)
            }
            Way::Aicpus(ready) => {
                let tensors = NamedTensor::of_library(&program.lowered().module);
                let generated = Generated { module, schedule, bindings, options, tensors: &tensors };
                let mut aicpus = None;
                let threads = ready.threads();
                let run = Box::new(|launched: Launched<'_, '_>| {
                    let ran = generated.library(ready, program, tasks, &launched)?;
                    notes.extend(ran.notes);
                    aicpus = Some(ran.aicpus);
                    Ok(ran.stats)
                });
                let outcome = program.launch_with(prepared, arrays, threads, run)?;
                (outcome, aicpus)
            }
        };
        let stats = outcome.stats;
        notes.extend(outcome.notes);
        Ok(WorkloadOutcome {
            outputs: outcome.outputs,
            unwritten: outcome.unwritten,
            bodies: Bodies::Library,
            threads: stats.threads,
            kernels: stats.kernels,
            params: params(module, bindings),
            library_params: stats.params,
            schedule: lines(schedule, options),
            run_ns: stats.times.run,
            channels: channels::of_run((module, bindings), &stats.runtime, &[]),
            runtime: stats.runtime,
            aicpus,
            grid: stats.grid,
            notes,
        })
    }
}

/// Options of a launch of library kernels. A sequential one runs the plain tile operations.
pub(crate) fn launch_options(
    kernels: &LibraryKernels,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
) -> LaunchOptions {
    LaunchOptions {
        set: inputs.set.clone(),
        recording: options.recording,
        views: inputs.views.clone(),
        claim: options.claim.clone(),
        mode: if options.plain || options.sequential { Mode::Plain } else { kernels.mode },
        engine: kernels.engine,
        cancel: options.cancel.clone(),
        progress: options.progress.clone(),
        ..LaunchOptions::default()
    }
}

/// Refuses what only declared kernels can have.
pub(crate) fn refuse_for_library(options: &WorkloadOptions) -> Result<(), Diagnostic> {
    if options.poll.is_some() {
        return Err(settings::bad_option(
            "kernels of a used file run on threads of their own, where no poll is asked",
        )
        .help("set `cancel` from another thread"));
    }
    Ok(())
}

/// What the schedule comes to with the tasks of this launch: warnings.
///
/// # Errors
/// The schedule cannot be kept, or asks for something else than a run.
fn check(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
    options: &WorkloadOptions,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    if schedule.policy.trace == Trace::Cycles {
        return Err(vec![
            settings::bad_option("the schedule asks for virtual time, in which no kernel runs")
                .help("simulate the workload, or write `trace = measured`")
                .python("call `program.simulate(…)`, or write `.task_graph(trace=TracePolicy.measured())`"),
        ]);
    }
    if options.sequential && options.trace {
        return Err(vec![
            settings::bad_option("a sequential run records no times of tasks")
                .help("leave out one of the two"),
        ]);
    }
    settings::checked(check_schedule(module, bindings, schedule))
}

/// The grid of a schedule with the layouts of declared tensors.
///
/// # Errors
/// A layout that a tensor cannot have.
pub(crate) fn tiles_of(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
) -> Result<Option<Arc<Tiles>>, Vec<Diagnostic>> {
    Tiles::new(&schedule.policy, &DeclaredTensors(module, bindings))
}

/// Declared tensors by name.
struct DeclaredTensors<'a>(&'a WorkloadModule, &'a Bindings);

impl Tensors for DeclaredTensors<'_> {
    fn find(&self, name: &str) -> Option<(TensorId, Vec<Option<u32>>)> {
        let tensor = TensorId(self.0.tensors.iter().position(|tensor| tensor.name == name)? as u32);
        Some((tensor, self.1.shape(tensor).iter().copied().map(Some).collect()))
    }
}

/// Whether the program itself says what its tasks wait for, so that it may have forgotten something.
fn checks_order(schedule: &LoweredSchedule, options: &WorkloadOptions) -> bool {
    schedule.policy.deps == Deps::Explicit && !options.sequential
}

fn bodies(module: &WorkloadModule, registry: &KernelRegistry) -> Bodies {
    let registered = module.kernels.iter().filter(|k| registry.has(&k.name)).count();
    match registered {
        0 => Bodies::Mixing,
        n if n == module.kernels.len() => Bodies::Registered,
        _ => Bodies::Mixed,
    }
}

/// Kernels that cannot run, unless mixing is asked for.
fn refuse_without_body(
    module: &WorkloadModule,
    registry: &KernelRegistry,
    inputs: &WorkloadInputs,
) -> Result<(), Vec<Diagnostic>> {
    if inputs.mixing {
        return Ok(());
    }
    let without = module.kernels.iter().filter(|kernel| !registry.has(&kernel.name));
    let fault = without.map(|kernel| {
        Diagnostic::error(codes::NO_BODY, format!("kernel `{}` has no body", kernel.name))
            .at(kernel.span, "declared here")
            .help(format!("register a function for `{}`, or set `WorkloadRunOptions::mixing`", kernel.name))
            .python("give the kernel a body; `graph` and `simulate` do without")
    });
    let faults: Vec<Diagnostic> = fault.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
