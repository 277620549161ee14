//! A plan that can be launched any number of times.

use crate::bind::{Bound, bind};
use crate::codes;
use crate::host::PlanHost;
use crate::kernels::KernelTable;
use crate::memory::{self, SlotLayout};
use crate::options::LaunchOptions;
use crate::planner::{self, Planner, at};
use crate::runner::KernelRunner;
use crate::sizing::{Sizes, SizingSink};
use crate::stats::{DescriptorStats, KernelStats, Outcome, PlanReport, RunStats, TileStats, Times};
use crate::submit::SubmitSink;
use crate::workload::{LibraryTasks, SubmitFault, settings};
use wsp_core::{KernelId, TensorId, limits};
use wsp_ir::Span;
use wsp_ir::diag::Diagnostic;
use wsp_kernel::{Env, GeneratorCode, Mode, Trap, Value};
use wsp_plan::workload::{Bindings, ExpandError};
use wsp_plan::{Arrays, LoweredPlan, ReadyOrder};
use wsp_runtime::{ConfigError, Failure, ReadyPolicy, RunConfig, StartError, TracePolicy, Window, clock};

/// A lowered plan on `cpu_sim`.
#[derive(Debug)]
pub struct Program {
    plan: LoweredPlan,
    /// Generates the tasks when the plan has no generators.
    tasks: Option<LibraryTasks>,
}

/// A launch that is bound, compiled and sized.
pub(crate) struct Prepared {
    pub(crate) bound: Bound,
    pub(crate) env: Env,
    slots: SlotLayout,
    pub(crate) kernels: KernelTable,
    source: Source,
    sizes: Sizes,
    times: Times,
}

/// Where the tasks of a launch come from.
enum Source {
    /// The plan's generators, one per stage.
    Generators(Vec<GeneratorCode>),
    /// A workload with these values.
    Workload(Box<Bindings>),
}

impl Program {
    /// A program from a plan.
    pub fn new(plan: LoweredPlan) -> Program {
        Program { plan, tasks: None }
    }

    /// A program whose tasks a workload generates.
    pub(crate) fn with_tasks(plan: LoweredPlan, tasks: LibraryTasks) -> Program {
        Program { plan, tasks: Some(tasks) }
    }

    /// The workload that generates the tasks.
    pub(crate) fn tasks(&self) -> Option<&LibraryTasks> {
        self.tasks.as_ref()
    }

    /// The plan it runs.
    pub fn plan(&self) -> &LoweredPlan {
        &self.plan
    }

    /// What a launch with these arrays would do: every descriptor, and the sizes. Nothing runs.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the plan.
    pub fn explain(&self, arrays: &Arrays, options: &LaunchOptions) -> Result<PlanReport, Vec<Diagnostic>> {
        let prepared = self.prepare(arrays, options, true)?;
        Ok(PlanReport {
            stages: self.plan.stages.iter().map(|s| s.name.clone()).collect(),
            descriptors: self.descriptor_stats(&prepared.sizes),
            tiles: self.tile_stats(&prepared.sizes),
            workspace_bytes: prepared.sizes.workspace_bytes,
            workspace_slots: prepared.sizes.workspace_slots,
            sizing_ns: prepared.times.sizing,
            notes: prepared.bound.notes,
            list: prepared.sizes.list,
        })
    }

    /// Runs the program.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the plan; the first fault of a kernel. The program stays usable.
    pub fn execute(&self, arrays: &Arrays, options: &LaunchOptions) -> Result<Outcome, Vec<Diagnostic>> {
        let prepared = self.prepare(arrays, options, false)?;
        let Prepared { bound, mut env, slots, kernels, source, sizes, mut times } = prepared;
        let started = clock::now();
        let owned = memory::attach(&self.plan, &bound, &sizes, &slots, arrays, &mut env)?;
        times.allocate = clock::nanos_since(started);
        let started = clock::now();
        let config = self.config(options)?;
        let runner = KernelRunner::new(&self.plan.module, &kernels, &env, config.threads as usize)?;
        runner.check_tiles(&self.plan.module, &sizes.changed_tiles).map_err(|fault| vec![fault])?;
        times.compile += clock::nanos_since(started);

        let started = clock::now();
        let outcome = wsp_runtime::run(&config, &runner, |submitter| {
            let mut planner = Planner::new(&self.plan, &bound, &env);
            match (&source, &self.tasks) {
                (Source::Workload(bindings), Some(tasks)) => {
                    tasks.submit(bindings, &planner, &kernels, submitter, config.threads).map_err(SourceFault::from)
                }
                (Source::Generators(generators), _) => {
                    let mut host = PlanHost { planner: &mut planner, sink: SubmitSink::new(&kernels, submitter) };
                    for (i, (stage, code)) in self.plan.stages.iter().zip(generators).enumerate() {
                        host.enter(i as u32, stage.space);
                        code.run(&env, &mut host, limits::MAX_GENERATOR_STEPS).map_err(SourceFault::Generator)?;
                    }
                    Ok(())
                }
                (Source::Workload(_), None) => Ok(()),
            }
        });
        times.run = clock::nanos_since(started);
        let runtime = outcome.map_err(|failure| self.failed(&kernels, failure))?;
        drop(runner);
        let stats = RunStats {
            threads: config.threads,
            kernels: kernel_stats(&kernels, &runtime),
            descriptors: self.descriptor_stats(&sizes),
            tiles: self.tile_stats(&sizes),
            workspace_bytes: sizes.workspace_bytes,
            workspace_slots: sizes.workspace_slots,
            params: self.params(&bound),
            times,
            runtime,
        };
        drop(kernels);
        drop(env);
        Ok(Outcome { outputs: owned.outputs.into_iter().collect(), stats, notes: bound.notes })
    }

    /// Everything up to the point where tasks could start.
    pub(crate) fn prepare(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
        keep: bool,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let one = |trap: Trap| vec![Diagnostic::from(trap)];
        let mut times = Times::default();
        let started = clock::now();
        let written = |id: TensorId| self.plan.tensors[id.index()].written;
        let bound = match &self.tasks {
            Some(tasks) => {
                let set = tasks.library_values(&self.plan, &options.set);
                bind(&self.plan.module, arrays, &LaunchOptions { set, ..options.clone() }, &written)?
            }
            None => bind(&self.plan.module, arrays, options, &written)?,
        };
        let extents = planner::axis_extents(&self.plan, &bound).map_err(one)?;
        let slots = SlotLayout::new(&self.plan, &bound).map_err(|fault| vec![fault])?;
        planner::check_tier_workspaces(&self.plan, &bound, slots.bytes).map_err(one)?;
        let mut env = memory::metadata(&self.plan, &bound, extents);
        planner::settle_fixed_tiles(&self.plan, &bound, &env).map_err(one)?;
        env.cancel = options.cancel.clone();
        if options.plain {
            env.mode = Mode::Plain;
        }
        times.bind = clock::nanos_since(started);

        let started = clock::now();
        let stages = &self.plan.stages;
        let generators = stages
            .iter()
            .map(|stage| GeneratorCode::compile(&self.plan.module, stage.generator, &env))
            .collect::<Result<Vec<_>, _>>()
            .map_err(one)?;
        let kernels = KernelTable::new(&self.plan, &bound, &env)?;
        times.compile = clock::nanos_since(started);

        let started = clock::now();
        let mut planner = Planner::new(&self.plan, &bound, &env);
        let (source, sizes) = match &self.tasks {
            Some(tasks) => {
                let bindings = tasks.bind(&self.plan, &bound, &options.set, arrays)?;
                let sizes = tasks.size(&bindings, &mut planner, &kernels, keep)?;
                (Source::Workload(Box::new(bindings)), sizes)
            }
            None => {
                let sizes = self.size(&generators, &mut planner, &kernels, keep).map_err(one)?;
                (Source::Generators(generators), sizes)
            }
        };
        times.sizing = clock::nanos_since(started);
        Ok(Prepared { bound, env, slots, kernels, source, sizes, times })
    }

    /// Runs the generators without running tasks.
    fn size(
        &self,
        generators: &[GeneratorCode],
        planner: &mut Planner<'_>,
        kernels: &KernelTable,
        keep: bool,
    ) -> Result<Sizes, Trap> {
        let env = planner.env;
        let sink = SizingSink::new(planner, kernels, keep);
        let mut host = PlanHost { planner: &mut *planner, sink };
        for (i, (stage, code)) in self.plan.stages.iter().zip(generators).enumerate() {
            host.enter(i as u32, stage.space);
            let span = self.plan.module.spaces[stage.space.index()].span;
            code.run(env, &mut host, limits::MAX_GENERATOR_STEPS).map_err(|trap| at(trap, span))?;
        }
        let sink = host.sink;
        sink.finish(planner)
    }

    fn config(&self, options: &LaunchOptions) -> Result<RunConfig, Vec<Diagnostic>> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        if let Some(tasks) = &self.tasks {
            return settings::run_config(&tasks.schedule, &options.into()).map_err(|fault| vec![fault]);
        }
        let in_order = self.plan.stages.iter().any(|s| s.schedule.ready == ReadyOrder::Issue);
        let config = RunConfig {
            threads: if options.threads == 0 { cores.min(limits::MAX_THREADS) } else { options.threads },
            window: Window::stall(options.window.unwrap_or(limits::TASK_WINDOW)),
            seed: options.seed,
            ready: if in_order { ReadyPolicy::Fifo } else { ReadyPolicy::WorkSteal },
            cores_per_group: options.cores_per_group,
            trace: if options.trace { TracePolicy::Measured } else { TracePolicy::Totals },
            cancel: options.cancel.clone(),
            ..RunConfig::default()
        };
        config.validate().map_err(|fault| vec![bad_option(&fault)])?;
        Ok(config)
    }

    fn params(&self, bound: &Bound) -> Vec<(String, Value)> {
        self.plan.module.params.iter().map(|p| p.name.clone()).zip(bound.params.iter().copied()).collect()
    }

    fn descriptor_stats(&self, sizes: &Sizes) -> Vec<DescriptorStats> {
        let structs = self.plan.module.structs.iter().zip(&sizes.descriptors);
        structs
            .filter(|(_, count)| **count > 0)
            .map(|(def, &count)| DescriptorStats {
                name: def.name.clone(),
                count,
                bytes: 4 * def.fields.len() as u32,
            })
            .collect()
    }

    fn tile_stats(&self, sizes: &Sizes) -> Vec<TileStats> {
        let name = |axis: wsp_core::AxisId| self.plan.module.axes[axis.index()].name.clone();
        sizes.tiles.iter().map(|&(axis, size)| TileStats { axis: name(axis), size }).collect()
    }

    /// A failed run as diagnostics: the fault, and the task it struck.
    fn failed(&self, kernels: &KernelTable, failure: Failure<Trap, SourceFault>) -> Vec<Diagnostic> {
        let cancelled = || Diagnostic::error(codes::STOPPED, "the run was cancelled");
        vec![match failure {
            Failure::Cancelled => cancelled(),
            Failure::Start(StartError::Config(fault)) => bad_option(&fault),
            Failure::Start(fault @ StartError::Threads { .. }) => {
                Diagnostic::error(codes::BAD_OPTION, fault.to_string())
                    .help("ask for fewer with `--threads N`")
            }
            Failure::Stuck(report) => settings::stuck(&report),
            Failure::Source(SourceFault::Generator(trap)) if trap.code == codes::STOPPED => cancelled(),
            Failure::Source(SourceFault::Generator(trap)) => trap.into(),
            Failure::Source(SourceFault::Workload(fault)) => fault,
            Failure::Task { kernel, payload, failure, .. } => {
                Diagnostic::from(failure).note(self.describe(kernels, kernel, &payload))
            }
            Failure::Panic { kernel, payload, message, .. } => {
                Diagnostic::from(Trap::internal(format!("a kernel panicked: {message}"), Span::default()))
                    .note(self.describe(kernels, kernel, &payload))
            }
        }]
    }

    /// A task as the user knows it: kernel and descriptor.
    fn describe(&self, kernels: &KernelTable, kernel: KernelId, payload: &[u32]) -> String {
        let kernel = kernels.get(kernel);
        let function = &self.plan.module.functions[kernel.func.index()];
        let fields = match function.kind {
            wsp_ir::FuncKind::Kernel { descriptor: Some(id) } => {
                &self.plan.module.structs[id.index()].fields[..]
            }
            _ => &[],
        };
        let values: Vec<String> =
            fields.iter().zip(payload).map(|(f, v)| format!(".{} = {v}", f.name)).collect();
        format!("in a task of kernel `{}` with {{ {} }}", kernel.name, values.join(", "))
    }
}

/// Why generation ended early.
#[derive(Debug)]
enum SourceFault {
    /// A generator's fault.
    Generator(Trap),
    /// A workload's.
    Workload(Diagnostic),
}

impl From<ExpandError<SubmitFault>> for SourceFault {
    fn from(error: ExpandError<SubmitFault>) -> SourceFault {
        SourceFault::Workload(match error {
            ExpandError::Fault(fault) => *fault,
            ExpandError::Sink(SubmitFault::Task(fault)) => fault,
            ExpandError::Sink(SubmitFault::Stopped(reason)) => settings::stopped(&reason),
            ExpandError::Cancelled => settings::cancelled(),
        })
    }
}

fn kernel_stats(kernels: &KernelTable, runtime: &wsp_runtime::Stats) -> Vec<KernelStats> {
    let named = kernels.all().iter().enumerate();
    named
        .map(|(i, kernel)| {
            let figures = runtime.kernels.get(i);
            KernelStats {
                name: kernel.name.clone(),
                tasks: figures.map_or(0, |k| k.tasks),
                busy_ns: figures.and_then(|k| k.busy_ns).unwrap_or(0),
            }
        })
        .collect()
}

fn bad_option(fault: &ConfigError) -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, fault.to_string())
}
