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
use wsp_core::{KernelId, TensorId, limits};
use wsp_ir::Span;
use wsp_ir::diag::Diagnostic;
use wsp_kernel::{Env, GeneratorCode, Mode, Trap, Value};
use wsp_plan::{Arrays, LoweredPlan, ReadyOrder};
use wsp_runtime::{ConfigError, Failure, ReadyPolicy, RunConfig, StartError, clock};

/// A lowered plan on `cpu_sim`.
#[derive(Debug)]
pub struct Program {
    plan: LoweredPlan,
}

/// A launch that is bound, compiled and sized.
struct Prepared {
    bound: Bound,
    env: Env,
    slots: SlotLayout,
    kernels: KernelTable,
    generators: Vec<GeneratorCode>,
    sizes: Sizes,
    times: Times,
}

impl Program {
    /// A program from a plan.
    pub fn new(plan: LoweredPlan) -> Program {
        Program { plan }
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
        let Prepared { bound, mut env, slots, kernels, generators, sizes, mut times } = prepared;
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
            let mut host = PlanHost { planner: &mut planner, sink: SubmitSink::new(&kernels, submitter) };
            for (i, (stage, code)) in self.plan.stages.iter().zip(&generators).enumerate() {
                host.enter(i as u32, stage.space);
                code.run(&env, &mut host, limits::MAX_GENERATOR_STEPS)?;
            }
            Ok(())
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
    fn prepare(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
        keep: bool,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let one = |trap: Trap| vec![Diagnostic::from(trap)];
        let mut times = Times::default();
        let started = clock::now();
        let written = |id: TensorId| self.plan.tensors[id.index()].written;
        let bound = bind(&self.plan.module, arrays, options, &written)?;
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
        let sink = SizingSink::new(&planner, &kernels, keep);
        let mut host = PlanHost { planner: &mut planner, sink };
        for (i, (stage, code)) in stages.iter().zip(&generators).enumerate() {
            host.enter(i as u32, stage.space);
            let span = self.plan.module.spaces[stage.space.index()].span;
            code.run(&env, &mut host, limits::MAX_GENERATOR_STEPS).map_err(|trap| one(at(trap, span)))?;
        }
        let sizes = host.sink.finish(&mut planner).map_err(one)?;
        times.sizing = clock::nanos_since(started);
        Ok(Prepared { bound, env, slots, kernels, generators, sizes, times })
    }

    fn config(&self, options: &LaunchOptions) -> Result<RunConfig, Vec<Diagnostic>> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let in_order = self.plan.stages.iter().any(|s| s.schedule.ready == ReadyOrder::Issue);
        let config = RunConfig {
            threads: if options.threads == 0 { cores.min(limits::MAX_THREADS) } else { options.threads },
            window: options.window,
            ready: if in_order { ReadyPolicy::Fifo } else { ReadyPolicy::WorkSteal },
            cores_per_group: options.cores_per_group,
            trace: options.trace,
            cancel: options.cancel.clone(),
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
    fn failed(&self, kernels: &KernelTable, failure: Failure<Trap, Trap>) -> Vec<Diagnostic> {
        let cancelled = || Diagnostic::error(codes::STOPPED, "the run was cancelled");
        vec![match failure {
            Failure::Cancelled => cancelled(),
            Failure::Start(StartError::Config(fault)) => bad_option(&fault),
            Failure::Start(fault @ StartError::Threads { .. }) => {
                Diagnostic::error(codes::BAD_OPTION, fault.to_string())
                    .help("ask for fewer with `--threads N`")
            }
            Failure::Source(trap) if trap.code == codes::STOPPED => cancelled(),
            Failure::Source(trap) => trap.into(),
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

fn kernel_stats(kernels: &KernelTable, runtime: &wsp_runtime::Stats) -> Vec<KernelStats> {
    let named = kernels.all().iter().enumerate();
    named
        .map(|(i, kernel)| {
            let figures = runtime.kernels.get(i);
            KernelStats {
                name: kernel.name.clone(),
                tasks: figures.map_or(0, |k| k.tasks),
                busy_ns: figures.map_or(0, |k| k.busy_ns),
            }
        })
        .collect()
}

fn bad_option(fault: &ConfigError) -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, fault.to_string())
}
