//! Runs a workload.

use super::aicpu::{self, Generated};
use super::declared::{Declared, TaskFault, slots};
use super::equal::{EqualBoxes, NamedTensor};
use super::faults;
use super::inputs::{WorkloadInputs, WorkloadOptions};
use super::list::Listing;
use super::outcome::{Bodies, WorkloadOutcome};
use super::program::{DeclaredKernels, LibraryKernels, params};
use super::registry::KernelRegistry;
use super::settings::{self, RunSettings};
use super::submit::{Sequential, Streaming};
use super::tables::tables;
use super::touch::Stated;
use crate::LaunchOptions;
use crate::stats::kernel_stats;
use wsp_ir::diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::{Dependences, Trace, WorkloadModule};
use wsp_plan::Arrays;
use wsp_plan::workload::{Bindings, LoweredSchedule, ScheduleLine, bind, check_schedule, expand};
use wsp_runtime::aicpu::AicpuConfig;
use wsp_runtime::clock;

/// Runs declared kernels.
pub(crate) fn declared(
    kernels: &DeclaredKernels,
    registry: &KernelRegistry,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    let DeclaredKernels { module, schedule, written } = kernels;
    if options.plain {
        return Err(vec![
            settings::bad_option("`plain` chooses tile operations, but no kernel comes from a used file")
                .help("leave it out"),
        ]);
    }
    let bindings = bind(module, &inputs.set, &tables(module, &inputs.arrays)?)?;
    let mut notes = check(module, &bindings, schedule, options)?;
    notes.extend(unused(module, &inputs.arrays));
    if checks_order(schedule, options) {
        let slots = slots(module, &bindings, &inputs.arrays)?;
        let cancel = options.cancel.as_deref();
        Listing { module, schedule, bindings: &bindings, slots, cancel }.check_order(&mut Stated)?;
    }
    let way = Way::new(schedule, options)?;
    let workers = way.threads();
    let tasks = Declared::new(module, registry, &bindings, inputs, workers as usize)?;
    let started = clock::now();
    let (runtime, aicpus) = match way {
        Way::OneByOne(settings) => (one_by_one(kernels, &bindings, &tasks, &settings)?, None),
        Way::Workers(settings) => (in_parallel(kernels, &bindings, &tasks, &settings)?, None),
        Way::Aicpus(config) => {
            let tensors = NamedTensor::of_workload(module);
            let generated =
                Generated { module, schedule, bindings: &bindings, options, config, tensors: &tensors };
            let ran = generated.declared(&tasks)?;
            notes.extend(ran.notes);
            (ran.stats, Some(ran.figures))
        }
    };
    let run_ns = clock::nanos_since(started);
    let mut outputs = tasks.into_arrays();
    outputs.retain(|name, _| written.contains(name));
    Ok(WorkloadOutcome {
        outputs,
        bodies: bodies(module, registry),
        threads: if options.sequential { 0 } else { workers },
        kernels: kernel_stats(module.kernels.iter().map(|k| k.name.as_str()), &runtime),
        params: params(module, &bindings),
        library_params: Vec::new(),
        schedule: lines(schedule, options),
        run_ns,
        runtime,
        aicpus,
        notes,
    })
}

/// How tasks come to run.
enum Way {
    OneByOne(RunSettings),
    Workers(RunSettings),
    Aicpus(AicpuConfig),
}

impl Way {
    fn new(schedule: &LoweredSchedule, options: &WorkloadOptions) -> Result<Way, Vec<Diagnostic>> {
        if options.aicpus != 0 && !options.sequential {
            return Ok(Way::Aicpus(aicpu::settings(schedule, options)?));
        }
        let settings = settings::run_settings(schedule, options).map_err(|fault| vec![fault])?;
        Ok(if options.sequential { Way::OneByOne(settings) } else { Way::Workers(settings) })
    }

    fn threads(&self) -> u32 {
        match self {
            Way::OneByOne(settings) | Way::Workers(settings) => settings.config.threads,
            Way::Aicpus(config) => config.threads,
        }
    }
}

/// What becomes of the schedule's directives.
fn lines(schedule: &LoweredSchedule, options: &WorkloadOptions) -> Vec<ScheduleLine> {
    let on_aicpus = options.aicpus != 0 && !options.sequential;
    let line = |line: &ScheduleLine| if on_aicpus { line.on_aicpus() } else { *line };
    schedule.lines.iter().map(line).collect()
}

/// Runs every task on this thread when it is generated.
fn one_by_one(
    kernels: &DeclaredKernels,
    bindings: &Bindings,
    tasks: &Declared<'_>,
    settings: &RunSettings,
) -> Result<wsp_runtime::Stats, Vec<Diagnostic>> {
    let DeclaredKernels { module, schedule, .. } = kernels;
    let counts = vec![wsp_runtime::KernelStats::default(); module.kernels.len()];
    let mut sink = Sequential { declared: tasks, cancel: settings.config.cancel.as_deref(), counts };
    let expanded = expand(module, bindings, schedule, &mut sink);
    let fault = |fault: TaskFault| faults::task(module, fault);
    let stats = expanded.map_err(|error| vec![faults::generation(error, fault)])?;
    Ok(wsp_runtime::Stats { tasks: stats.tasks, kernels: sink.counts, ..wsp_runtime::Stats::default() })
}

/// Hands every task to the runtime.
fn in_parallel(
    kernels: &DeclaredKernels,
    bindings: &Bindings,
    tasks: &Declared<'_>,
    settings: &RunSettings,
) -> Result<wsp_runtime::Stats, Vec<Diagnostic>> {
    let DeclaredKernels { module, schedule, .. } = kernels;
    let RunSettings { config, boxes } = settings;
    let run = wsp_runtime::run(config, tasks, |submitter| {
        let mut sink = Streaming {
            declared: tasks,
            submitter,
            workers: config.threads,
            explicit: config.deps.takes_edges(),
            equal: EqualBoxes::new(*boxes),
        };
        expand(module, bindings, schedule, &mut sink).map(|_| ())
    });
    run.map_err(|failure| vec![faults::failed(module, failure)])
}

/// Runs kernels of a used file.
pub(crate) fn library(
    kernels: &LibraryKernels,
    inputs: &WorkloadInputs,
    options: &WorkloadOptions,
) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    let LibraryKernels { program, tasks } = kernels;
    let (prepared, bindings) =
        program.prepare_tasks(tasks, &inputs.arrays, &launch_options(inputs, options))?;
    let (module, schedule) = (&tasks.module, &tasks.schedule);
    let mut notes = check(module, &bindings, schedule, options)?;
    if checks_order(schedule, options) {
        let (slots, cancel) = (slots(module, &bindings, &inputs.arrays)?, options.cancel.as_deref());
        let mut touch = tasks.touch(program.plan(), &prepared);
        Listing { module, schedule, bindings: &bindings, slots, cancel }.check_order(&mut touch)?;
    }
    let arrays = &inputs.arrays;
    let (outcome, aicpus) = match Way::new(schedule, options)? {
        Way::OneByOne(settings) | Way::Workers(settings) => {
            let ran = program.launch(prepared, arrays, &settings.config, |planner, kernels, submitter| {
                tasks.submit(&bindings, planner, kernels, submitter, &settings)
            })?;
            (ran, None)
        }
        Way::Aicpus(config) => {
            let tensors = NamedTensor::of_library(&program.plan().module);
            let generated =
                Generated { module, schedule, bindings: &bindings, options, config, tensors: &tensors };
            let mut figures = None;
            let threads = generated.config.threads;
            let outcome = program.launch_with(prepared, arrays, threads, |launched| {
                let ran = generated.library(program, tasks, &launched)?;
                notes.extend(ran.notes);
                figures = Some(ran.figures);
                Ok(ran.stats)
            })?;
            (outcome, figures)
        }
    };
    let stats = outcome.stats;
    notes.extend(outcome.notes);
    Ok(WorkloadOutcome {
        outputs: outcome.outputs,
        bodies: Bodies::Library,
        threads: stats.threads,
        kernels: stats.kernels,
        params: params(module, &bindings),
        library_params: stats.params,
        schedule: lines(schedule, options),
        run_ns: stats.times.run,
        runtime: stats.runtime,
        aicpus,
        notes,
    })
}

/// Options of a launch of library kernels. A sequential one runs the plain tile operations.
pub(crate) fn launch_options(inputs: &WorkloadInputs, options: &WorkloadOptions) -> LaunchOptions {
    LaunchOptions {
        set: inputs.set.clone(),
        plain: options.plain || options.sequential,
        cancel: options.cancel.clone(),
        ..LaunchOptions::default()
    }
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
    if schedule.trace == Trace::Cycles {
        return Err(vec![
            settings::bad_option("the schedule asks for virtual time, in which no kernel runs")
                .help("simulate the workload, or write `trace = measured`"),
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

/// Whether the program itself says what its tasks wait for, so that it may have forgotten something.
fn checks_order(schedule: &LoweredSchedule, options: &WorkloadOptions) -> bool {
    schedule.dependences == Dependences::Explicit && !options.sequential
}

fn bodies(module: &WorkloadModule, registry: &KernelRegistry) -> Bodies {
    let registered = module.kernels.iter().filter(|k| registry.has(&k.name)).count();
    match registered {
        0 => Bodies::Mixing,
        n if n == module.kernels.len() => Bodies::Registered,
        _ => Bodies::Mixed,
    }
}

/// Warnings about arrays that the workload does not name.
fn unused(module: &WorkloadModule, arrays: &Arrays) -> Vec<Diagnostic> {
    let tables = module.tables.iter().map(|t| t.name.as_str());
    let known: Vec<&str> = tables.chain(module.tensors.iter().map(|t| t.name.as_str())).collect();
    let unused = arrays.keys().filter(|name| !known.contains(&name.as_str()));
    unused
        .map(|name| {
            let message = format!("array `{name}` is not used: no table or tensor has this name");
            let warning = Diagnostic::warning(crate::codes::UNUSED_ARRAY, message);
            match did_you_mean(name, known.iter().copied()) {
                Some(near) => warning.help(format!("did you mean `{near}`?")),
                None => warning,
            }
        })
        .collect()
}
