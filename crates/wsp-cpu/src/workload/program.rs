//! A workload that can be listed and run any number of times.

use super::codes;
use super::declared::{Declared, TaskFault, modes};
use super::graph::{Detail, GraphDeps, GraphFault, GraphListing, GraphSink};
use super::inputs::{WorkloadInputs, WorkloadOptions};
use super::library::{LibraryTasks, LibraryTouch, tables};
use super::link::link;
use super::outcome::{Bodies, WorkloadOutcome};
use super::registry::KernelRegistry;
use super::settings::{self, cancelled, run_config, stopped};
use super::simulated::{Costed, SimulatedWorkload, failed as failed_simulation};
use super::submit::{Sequential, StreamFault, Streaming};
use super::touch::{Stated, Toucher};
use crate::program::Program;
use crate::stats::KernelStats;
use crate::LaunchOptions;
use std::sync::atomic::Ordering;
use wsp_core::{ParamId, Region, SlotId, TensorId, limits};
use wsp_ir::Module;
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::verify::verify;
use wsp_ir::workload::{AccessMode, ArgValue, Block, Dependences, NodeKind, Task, WorkloadModule};
use wsp_plan::workload::{
    Bindings, ExpandError, LoweredSchedule, bind, check_schedule, count, expand, lower_schedule,
};
use wsp_plan::{Arrays, CompileOptions, lower_library};
use wsp_runtime::infer::{Matching, RegionMap};
use wsp_runtime::simulate::{SimGraph, Simulation, Submission, simulate};
use wsp_runtime::{Deps, Failure, clock};

/// A workload with its schedule and with bodies for its kernels.
#[derive(Debug)]
pub struct WorkloadProgram {
    kind: Kind,
    registry: KernelRegistry,
}

#[derive(Debug)]
enum Kind {
    /// Kernels that the workload declares.
    Declared { module: WorkloadModule, schedule: LoweredSchedule },
    /// Kernels of a used file.
    Library(Box<Program>),
}

impl WorkloadProgram {
    /// Links a workload to the kernels of `library`, and applies its schedule.
    ///
    /// # Errors
    /// A module that breaks a rule of [`wsp_ir::workload::verify`], kernels that are not there, tasks that do not fit their descriptors, a schedule that the target cannot keep.
    pub fn new(
        mut module: WorkloadModule,
        library: Option<&Module>,
        options: &CompileOptions,
    ) -> Result<WorkloadProgram, Vec<Diagnostic>> {
        let faults: Vec<Diagnostic> = verify(&module).into_iter().filter(Diagnostic::is_error).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let schedule = lower_schedule(&module, options.schedule.as_deref(), &options.target)?;
        let functions = link(&mut module, library)?;
        let kind = match library {
            None => Kind::Declared { module, schedule },
            Some(library) => {
                let called: Vec<_> = functions.iter().copied().flatten().collect();
                let plan = lower_library(library, &called, options)?;
                Kind::Library(Box::new(Program::with_tasks(plan, LibraryTasks { module, functions, schedule })))
            }
        };
        Ok(WorkloadProgram { kind, registry: KernelRegistry::new() })
    }

    /// Takes bodies for declared kernels.
    ///
    /// # Errors
    /// A body for a kernel that the workload does not declare.
    pub fn with_kernels(mut self, registry: KernelRegistry) -> Result<WorkloadProgram, Vec<Diagnostic>> {
        let module = self.module();
        let known = |name: &str| matches!(self.kind, Kind::Declared { .. }) && module.kernels.iter().any(|k| k.name == name);
        let unknown: Vec<Diagnostic> = registry
            .names()
            .filter(|name| !known(name))
            .map(|name| {
                let fault = Diagnostic::error(codes::UNKNOWN_KERNEL, format!("the workload declares no kernel `{name}`"));
                match wsp_ir::diag::did_you_mean(name, module.kernels.iter().map(|k| k.name.as_str())) {
                    Some(near) => fault.help(format!("did you mean `{near}`?")),
                    None => fault,
                }
            })
            .collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        self.registry = registry;
        Ok(self)
    }

    /// The workload.
    pub fn module(&self) -> &WorkloadModule {
        match &self.kind {
            Kind::Declared { module, .. } => module,
            Kind::Library(program) => &program.tasks().expect("a library program should have tasks").module,
        }
    }

    /// The schedule.
    pub fn schedule(&self) -> &LoweredSchedule {
        match &self.kind {
            Kind::Declared { schedule, .. } => schedule,
            Kind::Library(program) => &program.tasks().expect("a library program should have tasks").schedule,
        }
    }

    /// Warnings of linking and scheduling.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.schedule().notes
    }

    /// The tasks and their edges, without running anything.
    ///
    /// # Errors
    /// Wrong values, faults of the workload, a graph that depends on computed values or is too large.
    pub fn graph(
        &self,
        inputs: &WorkloadInputs,
        deps: GraphDeps,
        detail: Detail,
        options: &WorkloadOptions,
    ) -> Result<GraphListing, Vec<Diagnostic>> {
        let deps = match deps {
            GraphDeps::Schedule => settings::listed(self.schedule().dependences),
            GraphDeps::Exact => Deps::Exact,
            GraphDeps::Overlap => Deps::Overlap,
            GraphDeps::Explicit => Deps::Explicit,
        };
        self.listed(inputs, deps, detail, options, Purpose::List).map(|simulated| simulated.listing)
    }

    /// Simulates the workload: no kernel runs, every task takes the cycles that its kernel's `cost` says, and the schedule
    /// decides the rest as in a run. What it shows is the same in every run.
    ///
    /// # Errors
    /// As [`graph`](Self::graph), and what would fail a run: an overflowing window, tasks that wait for each other.
    pub fn simulate(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        let deps = settings::deps(self.schedule().dependences);
        self.listed(inputs, deps, Detail::default(), options, Purpose::Simulate)
    }

    fn listed(
        &self,
        inputs: &WorkloadInputs,
        deps: Deps,
        detail: Detail,
        options: &WorkloadOptions,
        purpose: Purpose,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        match &self.kind {
            Kind::Declared { module, schedule } => {
                let bindings = bind(module, &inputs.set, &tables(module, &inputs.arrays)?)?;
                let names = module.tensors.iter().map(|t| t.name.clone()).collect();
                let cx = Listing { module, schedule, bindings: &bindings, deps, detail, options };
                cx.done(Stated, names, purpose)
            }
            Kind::Library(program) => {
                let prepared = program.prepare(&inputs.arrays, &launch_options(inputs, options), false)?;
                let tasks = program.tasks().expect("a library program should have tasks");
                let bindings = tasks.bind(program.plan(), &prepared.bound, &inputs.set, &inputs.arrays)?;
                let callees = tasks.callees(program.plan(), &prepared.kernels);
                let touch = LibraryTouch::new(&tasks.module, callees, &prepared.kernels, &prepared.env);
                let names = program.plan().module.tensors.iter().map(|t| t.name.clone()).collect();
                let (module, schedule) = (&tasks.module, &tasks.schedule);
                let cx = Listing { module, schedule, bindings: &bindings, deps, detail, options };
                cx.done(touch, names, purpose)
            }
        }
    }

    /// Runs the workload.
    ///
    /// # Errors
    /// Wrong values or arrays, faults of the workload, the first fault of a task. The program stays usable.
    pub fn execute(
        &self,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        match &self.kind {
            Kind::Declared { module, schedule } => self.execute_declared(module, schedule, inputs, options),
            Kind::Library(program) => execute_library(program, inputs, options),
        }
    }

    fn bodies(&self, module: &WorkloadModule) -> Bodies {
        let registered = module.kernels.iter().filter(|k| self.registry.has(&k.name)).count();
        match registered {
            0 => Bodies::Mixing,
            n if n == module.kernels.len() => Bodies::Registered,
            _ => Bodies::Mixed,
        }
    }

    fn execute_declared(
        &self,
        module: &WorkloadModule,
        schedule: &LoweredSchedule,
        inputs: &WorkloadInputs,
        options: &WorkloadOptions,
    ) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        let bindings = bind(module, &inputs.set, &tables(module, &inputs.arrays)?)?;
        let (faults, mut notes): (Vec<_>, Vec<_>) =
            check_schedule(module, &bindings, schedule).into_iter().partition(Diagnostic::is_error);
        if !faults.is_empty() {
            return Err(faults);
        }
        notes.extend(unused(module, &inputs.arrays));
        let config = run_config(schedule, options).map_err(|fault| vec![fault])?;
        if schedule.dependences == Dependences::Explicit && !options.sequential {
            let detail = Detail { missed: true, ..Detail::default() };
            let cx = Listing { module, schedule, bindings: &bindings, deps: Deps::Explicit, detail, options };
            refuse_missed(module, &cx.list(Stated, Vec::new())?)?;
        }
        let declared = Declared::new(module, &self.registry, &bindings, inputs, config.threads as usize)?;
        let is_cancelled = || options.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        let started = clock::now();
        let runtime = if options.sequential {
            let mut sink = Sequential { declared: &declared, cancelled: &is_cancelled };
            let stats = expand(module, &bindings, schedule, &mut sink).map_err(|error| {
                vec![fault_of(error, |fault| task_fault(module, fault))]
            })?;
            wsp_runtime::Stats { tasks: stats.tasks, ..wsp_runtime::Stats::default() }
        } else {
            let explicit = config.deps.takes_edges();
            let exact = schedule.dependences == Dependences::Exact;
            let run = wsp_runtime::run(&config, &declared, |submitter| {
                let equal = exact.then(|| RegionMap::growing(Matching::Equal));
                let workers = config.threads;
                let mut sink = Streaming { declared: &declared, submitter, workers, explicit, equal };
                expand(module, &bindings, schedule, &mut sink).map(|_| ())
            });
            run.map_err(|failure| vec![failed(module, failure)])?
        };
        let run_ns = clock::nanos_since(started);
        let written = written(module);
        let mut outputs = declared.into_arrays();
        outputs.retain(|name, _| written.contains(&name.as_str()));
        Ok(WorkloadOutcome {
            outputs,
            bodies: self.bodies(module),
            threads: if options.sequential { 0 } else { config.threads },
            kernels: kernel_stats(module, &runtime),
            params: params(module, &bindings),
            library_params: Vec::new(),
            schedule: schedule.lines.clone(),
            run_ns,
            runtime,
            notes,
        })
    }
}

/// What a graph is built for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    List,
    Simulate,
}

/// What a listing is made of.
struct Listing<'a> {
    module: &'a WorkloadModule,
    schedule: &'a LoweredSchedule,
    bindings: &'a Bindings,
    deps: Deps,
    detail: Detail,
    options: &'a WorkloadOptions,
}

impl Listing<'_> {
    fn done(
        &self,
        toucher: impl Toucher,
        tensors: Vec<String>,
        purpose: Purpose,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        match purpose {
            Purpose::Simulate => self.simulate(toucher, tensors),
            Purpose::List => Ok(SimulatedWorkload {
                listing: self.list(toucher, tensors)?,
                simulation: Simulation::default(),
                threads: 0,
            }),
        }
    }

    fn list(&self, toucher: impl Toucher, tensors: Vec<String>) -> Result<GraphListing, Vec<Diagnostic>> {
        let sink = self.build(toucher)?;
        sink.into_listing(tensors).map_err(|fault| vec![fault.diagnostic(self.module)])
    }

    /// Simulates the graph under a configuration.
    fn simulate(&self, toucher: impl Toucher, tensors: Vec<String>) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        let config = run_config(self.schedule, self.options).map_err(|fault| vec![fault])?;
        let costed = Costed { module: self.module, bindings: self.bindings, inner: toucher, costs: Vec::new() };
        let sink = self.build(costed)?;
        let mut costs = sink.toucher.costs.iter().copied();
        let cost = |_, _, _: &[u32]| costs.next().unwrap_or(1);
        let graph = SimGraph::from_task_graph(&sink.graph, Submission::default(), cost);
        let simulation = graph.and_then(|graph| simulate(&graph, &config)).map_err(|error| vec![failed_simulation(&error)])?;
        let listing = sink.into_listing(tensors).map_err(|fault| vec![fault.diagnostic(self.module)])?;
        Ok(SimulatedWorkload { listing, simulation, threads: config.threads })
    }

    fn build<T: Toucher>(&self, toucher: T) -> Result<GraphSink<'_, T>, Vec<Diagnostic>> {
        let Listing { module, schedule, bindings, deps, detail, options } = *self;
        if let Some(tasks) = count(module, bindings).filter(|&tasks| tasks > limits::MAX_GRAPH_TASKS.into()) {
            let message = format!("the graph has {tasks} tasks, but at most {} can be listed", limits::MAX_GRAPH_TASKS);
            return Err(vec![Diagnostic::error(codes::TOO_MANY_TASKS, message).help("set smaller parameters")]);
        }
        let slots = (0..module.slots.len()).map(|i| bindings.slot(SlotId(i as u32))).collect();
        let mut sink = GraphSink::new(module, slots, toucher, deps, detail, options);
        let expanded = expand(module, bindings, schedule, &mut sink);
        expanded.map_err(|error| vec![fault_of(error, |fault: GraphFault| fault.diagnostic(module))])?;
        Ok(sink)
    }
}

/// A run whose tasks are not all ordered has no one result.
fn refuse_missed(module: &WorkloadModule, listing: &GraphListing) -> Result<(), Vec<Diagnostic>> {
    let Some(first) = listing.missed.first() else { return Ok(()) };
    let task = |id: u32| format!("task {id} of kernel `{}`", listing.kernels[listing.tasks[id as usize] as usize].name);
    let message = format!("{} and {} conflict, and nothing orders them", task(first.earlier), task(first.later));
    let mut fault = Diagnostic::error(codes::MISSED_HAZARD, message);
    if listing.missed_count > 1 {
        fault = fault.note(format!("{} such pairs in all", listing.missed_count));
    }
    let entry = module.entry.and_then(|entry| module.workloads.get(entry.index()));
    if let Some(entry) = entry {
        fault = fault.at(entry.span, "its tasks are ordered by `after` only");
    }
    Err(vec![fault.help("add `after`, or write `task_graph(deps = hybrid)`")])
}

fn execute_library(
    program: &Program,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    let tasks = program.tasks().expect("a library program should have tasks");
    let outcome = program.execute(&inputs.arrays, &launch_options(inputs, options))?;
    let stats = outcome.stats;
    let integers = stats.params.iter().filter_map(|(name, value)| Some((name.clone(), i64::try_from(value.as_int()?).ok()?)));
    Ok(WorkloadOutcome {
        outputs: outcome.outputs,
        bodies: Bodies::Library,
        threads: stats.threads,
        kernels: stats.kernels,
        params: integers.collect(),
        library_params: stats.params,
        schedule: tasks.schedule.lines.clone(),
        run_ns: stats.times.run,
        runtime: stats.runtime,
        notes: outcome.notes,
    })
}

/// Options of a launch of library kernels. A sequential run is one with one worker on the plain tile operations, whose
/// tasks start in elaboration order.
fn launch_options(inputs: &WorkloadInputs, options: &WorkloadOptions) -> LaunchOptions {
    LaunchOptions {
        threads: if options.sequential { 1 } else { options.threads },
        set: inputs.set.clone(),
        window: options.window,
        seed: options.seed,
        trace: options.trace,
        plain: options.plain || options.sequential,
        cancel: options.cancel.clone(),
        ..LaunchOptions::default()
    }
}

fn fault_of<E>(error: ExpandError<E>, of_sink: impl FnOnce(E) -> Diagnostic) -> Diagnostic {
    match error {
        ExpandError::Fault(fault) => *fault,
        ExpandError::Sink(fault) => of_sink(fault),
        ExpandError::Cancelled => cancelled(),
    }
}

fn failed(module: &WorkloadModule, failure: Failure<TaskFault, ExpandError<StreamFault>>) -> Diagnostic {
    match failure {
        Failure::Task { failure, .. } => task_fault(module, failure),
        Failure::Panic { message, .. } => Diagnostic::error(codes::TASK_PANICKED, format!("a task panicked: {message}")),
        Failure::Source(error) => fault_of(error, |fault| stream_fault(module, fault)),
        Failure::Cancelled => cancelled(),
        Failure::Start(fault) => settings::not_started(&fault),
        Failure::Stuck(report) => settings::stuck(&report),
    }
}

fn stream_fault(module: &WorkloadModule, fault: StreamFault) -> Diagnostic {
    let conflict = match fault {
        StreamFault::Stopped(reason) => return stopped(&reason),
        StreamFault::Unchecked(reason) => return Diagnostic::error(codes::TOO_MANY_TASKS, reason.to_string()),
        StreamFault::Missed(conflict) => conflict,
    };
    let tensor = &module.tensors[conflict.region.tensor.index()];
    let rank = tensor.dims.len();
    let bounds = |region: &Region| {
        let dims: Vec<String> = (0..rank).map(|d| format!("{}..{}", region.lo[d], region.hi[d])).collect();
        format!("{}[{}]", tensor.name, dims.join(", "))
    };
    let message = format!("`{}` and `{}` overlap and are not equal", bounds(&conflict.other_region), bounds(&conflict.region));
    Diagnostic::error(codes::MISSED_HAZARD, message)
        .at(tensor.span, "of this tensor")
        .note(format!("tasks {} and {}: `exact` dependences would not order them", conflict.other, conflict.task))
        .help("write `task_graph(deps = overlap)`")
}

fn task_fault(module: &WorkloadModule, fault: TaskFault) -> Diagnostic {
    let kernel = &module.kernels[fault.record.kernel.index()];
    let (code, what) = if fault.panicked { (codes::TASK_PANICKED, "panicked") } else { (codes::TASK_FAILED, "failed") };
    let tensors = fault.record.boxes.iter().map(|region| {
        let tensor = &module.tensors[region.tensor.index()];
        let dims: Vec<String> = (0..tensor.dims.len()).map(|d| format!("{}..{}", region.lo[d], region.hi[d])).collect();
        format!("{}[{}]", tensor.name, dims.join(", "))
    });
    let args: Vec<String> = fault.record.scalars.iter().map(i64::to_string).chain(tensors).collect();
    Diagnostic::error(code, format!("kernel `{}` {what}: {}", kernel.name, fault.message))
        .at(kernel.span, "this kernel")
        .note(format!("in the task with the indices {:?}", fault.record.indices.as_slice()))
        .note(format!("its arguments: {}", args.join(", ")))
}

/// Names of the tensors that some kernel may write.
fn written(module: &WorkloadModule) -> Vec<&str> {
    let mut tensors: Vec<TensorId> = Vec::new();
    for workload in &module.workloads {
        visit_tasks(&workload.body, &mut |task| {
            let accesses = task.args.iter().filter_map(|arg| match &arg.value {
                ArgValue::Access(access) => Some(access.tensor),
                ArgValue::Scalar(_) => None,
            });
            let modes = modes(&module.kernels[task.kernel.index()]);
            let stored = accesses.zip(modes).filter(|(_, mode)| *mode != AccessMode::In);
            tensors.extend(stored.map(|(tensor, _)| tensor));
        });
    }
    tensors.iter().map(|t| module.tensors[t.index()].name.as_str()).collect()
}

fn visit_tasks(block: &Block, f: &mut impl FnMut(&Task)) {
    for node in block {
        match &node.kind {
            NodeKind::Task(task) => f(task),
            NodeKind::ParallelFor { body, .. }
            | NodeKind::ForEach { body, .. }
            | NodeKind::Select { body, .. }
            | NodeKind::While { body, .. } => visit_tasks(body, f),
            NodeKind::Cond { then, otherwise, .. } => {
                visit_tasks(then, f);
                visit_tasks(otherwise, f);
            }
            NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
                blocks.iter().for_each(|block| visit_tasks(block, f));
            }
            NodeKind::Call { .. } => {}
        }
    }
}

fn kernel_stats(module: &WorkloadModule, runtime: &wsp_runtime::Stats) -> Vec<KernelStats> {
    let named = module.kernels.iter().enumerate();
    named
        .map(|(i, kernel)| {
            let figures = runtime.kernels.get(i);
            KernelStats {
                name: kernel.name.clone(),
                tasks: figures.map_or(0, |k| k.tasks),
                busy_ns: figures.map_or(0, |k| k.busy_ns.unwrap_or(0)),
            }
        })
        .collect()
}

fn params(module: &WorkloadModule, bindings: &Bindings) -> Vec<(String, i64)> {
    let ids = (0..module.params.len()).map(|i| ParamId(i as u32));
    module.params.iter().map(|p| p.name.clone()).zip(ids.map(|id| bindings.param(id))).collect()
}

/// Warnings about arrays that the workload does not name.
fn unused(module: &WorkloadModule, arrays: &Arrays) -> Vec<Diagnostic> {
    let tables = module.tables.iter().map(|t| t.name.as_str());
    let known: Vec<&str> = tables.chain(module.tensors.iter().map(|t| t.name.as_str())).collect();
    let unused = arrays.keys().filter(|name| !known.contains(&name.as_str()));
    unused
        .map(|name| {
            let warning = Diagnostic::warning(codes::WRONG_ARRAY, format!("array `{name}` is not used"));
            match wsp_ir::diag::did_you_mean(name, known.iter().copied()) {
                Some(near) => warning.help(format!("did you mean `{near}`?")),
                None => warning,
            }
        })
        .collect()
}
