//! A plan that can be launched any number of times.

use crate::aicpus::{self, EndsGeneration, Share};
use crate::bind::{Bound, Demand, bind};
use crate::codes;
use crate::derived;
use crate::host::PlanHost;
use crate::in_place;
use crate::kernels::KernelTable;
use crate::memory::{self, Recorded, SlotLayout};
use crate::metadata::Metadata;
use crate::options::LaunchOptions;
use crate::planner::{self, Planner, at};
use crate::prepared::{Launched, Prepared, ReadyLaunch, RunTasks, Way};
use crate::runner::{self, KernelRunner};
use crate::sizes::Sizes;
use crate::sizing::SizingSink;
use crate::stats::{DescriptorStats, Outcome, PlanReport, RunStats, TileStats, Times, kernel_stats};
use crate::submit::SubmitSink;
use crate::traps::{generator_fault, one};
use crate::workload::LibraryTasks;
use crate::workload::aicpu::{AnyGenerator, Ran, settings::config as aicpu_config};
use crate::workload::settings::{self, Asked};
use std::sync::Arc;
use wsp_backend::Recording;
use wsp_backend::claims::{claimed, uses};
use wsp_core::policy::LaunchPolicy;
use wsp_core::{KernelId, TensorId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::Storage;
use wsp_ir::workload::SchedulePolicy;
use wsp_kernel::{CodeCache, Env, GeneratorCode, Trap, Value};
use wsp_plan::workload::{Bindings, stated_tables};
use wsp_plan::{Arrays, LoweredPlan};
use wsp_runtime::aicpu::{AicpuConfig, Aicpus, NoSlots};
use wsp_runtime::{
    ConfigError, FailedTask, Failure, KnownRegions, RunConfig, StartError, Submitter, TracePolicy, clock,
};

/// A lowered plan on `cpu_sim`.
#[derive(Debug)]
pub struct Program {
    plan: Arc<LoweredPlan>,
    /// Machine code of earlier launches.
    code: CodeCache,
}

impl Program {
    /// A program from a plan, which others may have too.
    pub fn new(plan: impl Into<Arc<LoweredPlan>>) -> Program {
        Program { plan: plan.into(), code: CodeCache::default() }
    }

    /// Keeps machine code there, where a place is given.
    pub fn with_code(self, code: Option<&CodeCache>) -> Program {
        Program { code: code.cloned().unwrap_or(self.code), ..self }
    }

    /// What it runs: the module with lowered generators.
    pub fn lowered(&self) -> &LoweredPlan {
        &self.plan
    }

    /// What it runs, to be shared.
    pub(crate) fn shared(&self) -> &Arc<LoweredPlan> {
        &self.plan
    }

    /// What a launch with these arrays would do: every descriptor, and the sizes. Nothing runs.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the plan.
    pub fn explain(&self, arrays: &Arrays, options: &LaunchOptions) -> Result<PlanReport, Vec<Diagnostic>> {
        let (prepared, _) = self.prepare(arrays, options, true)?;
        Ok(PlanReport {
            stages: self.plan.stages.iter().map(|s| s.name.clone()).collect(),
            descriptors: self.descriptor_stats(&prepared.sizes),
            tiles: self.tile_stats(&prepared.sizes),
            workspace_bytes: prepared.sizes.workspace_bytes,
            workspace_slots: prepared.sizes.workspace_slots,
            sizing_ns: prepared.times.sizing,
            grid: prepared.kernels.tiles.as_ref().map(|tiles| tiles.stats()),
            notes: prepared.bound.notes,
            list: prepared.sizes.list,
        })
    }

    /// Runs the program.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the plan; the first fault of a kernel. The program stays usable.
    pub fn execute(&self, arrays: &Arrays, options: &LaunchOptions) -> Result<Outcome, Vec<Diagnostic>> {
        self.run(&mut self.ready(arrays, options)?, arrays)
    }

    /// Everything up to the point where tasks could start.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the plan; faults of generators.
    pub(crate) fn ready(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
    ) -> Result<ReadyLaunch, Vec<Diagnostic>> {
        let (mut prepared, generators) = self.prepare(arrays, options, false)?;
        self.compile_kernels(&mut prepared, arrays)?;
        let way = match options.aicpus {
            aicpus if aicpus != 0 && !options.sequential => {
                let names = prepared.kernels.all().iter().map(|kernel| &*kernel.name);
                let made = self.aicpus(aicpus, options, names);
                Way::Aicpus(Box::new(made.map_err(|fault| vec![fault])?))
            }
            _ => Way::Planner(self.config(options)?),
        };
        Ok(ReadyLaunch { prepared, generators, way })
    }

    /// Compiles the kernels for a launch with these arrays: of tensors they need the types, and no memory. So no run compiles any.
    ///
    /// # Errors
    /// What is wrong with kernels.
    pub(crate) fn compile_kernels(
        &self,
        prepared: &mut Prepared,
        arrays: &Arrays,
    ) -> Result<(), Vec<Diagnostic>> {
        let Prepared { bound, env, kernels, recording, views, codes, times, .. } = prepared;
        let started = clock::now();
        let given = memory::Given { arrays, views, recording: *recording };
        memory::outline(&self.plan, bound, given, env);
        let compiled = runner::kernel_codes(&self.plan.module, kernels, env);
        memory::detach(env);
        *codes = compiled?;
        times.compile += clock::nanos_since(started);
        Ok(())
    }

    /// Runs the tasks of a launch, which was made ready for these arrays. One that failed is not run again.
    ///
    /// # Errors
    /// There is no memory, arrays of the caller are in use; the first fault of a generator or kernel.
    pub(crate) fn run(&self, ready: &mut ReadyLaunch, arrays: &Arrays) -> Result<Outcome, Vec<Diagnostic>> {
        let ReadyLaunch { prepared, generators, way } = ready;
        let config = match way {
            Way::Planner(config) => config,
            Way::Aicpus(aicpus) => return self.run_on_aicpus(prepared, arrays, generators, aicpus),
        };
        self.launch(prepared, arrays, config, |planner, kernels, submitter| {
            let env = planner.env;
            let mut host = PlanHost { planner, sink: SubmitSink::new(kernels, submitter) };
            for (i, (stage, code)) in self.plan.stages.iter().zip(&*generators).enumerate() {
                host.enter(i as u32, stage.space);
                code.run(env, &mut host, limits::MAX_GENERATOR_STEPS).map_err(generator_fault)?;
            }
            Ok(())
        })
    }

    /// Runs the tasks that AICPUs generate, each its own.
    ///
    /// # Errors
    /// There is no memory; the first fault of a generator or kernel.
    fn run_on_aicpus(
        &self,
        prepared: &mut Prepared,
        arrays: &Arrays,
        generators: &[GeneratorCode],
        aicpus: &mut Aicpus,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        let (threads, fences) = (aicpus.config().threads, prepared.sizes.fences);
        let notes = self.plan.notes_on_aicpus();
        let mut told = None;
        let run = Box::new(|Launched { runner, kernels, planner }: Launched<'_, '_>| {
            let Planner { plan, bound, env, .. } = planner;
            let count = aicpus.count() as u16;
            let own = (0..count).map(|_| aicpus::surroundings(plan, bound, env));
            let own: Vec<Env> = own.collect::<Result<_, _>>()?;
            let shares = own.iter().zip(0..).map(|(own, me)| {
                let planner = Planner::new(plan, bound, own);
                let share = Share::new(generators, (kernels, env), planner, (me, count), fences);
                Box::new(share) as AnyGenerator<'_>
            });
            let stats = aicpus.run(shares.collect(), runner, &NoSlots);
            let ran = Ran::new(stats.map_err(|failure| vec![self.failed(kernels, failure)])?, None, notes);
            let Ran { stats, aicpus, notes } = ran;
            told = Some((aicpus, notes));
            Ok(stats)
        });
        let outcome = self.launch_with(prepared, arrays, threads, run);
        let (aicpus, more) = told.map_or((None, Vec::new()), |(aicpus, notes)| (Some(aicpus), notes));
        outcome.map(|outcome| Outcome { aicpus, notes: [outcome.notes, more].concat(), ..outcome })
    }

    /// AICPUs that wait for runs of these kernels.
    ///
    /// # Errors
    /// Options that are out of range or contradict the schedule; too few threads.
    fn aicpus<'n>(
        &self,
        aicpus: u16,
        options: &LaunchOptions,
        kernels: impl Iterator<Item = &'n str>,
    ) -> Result<Aicpus, Diagnostic> {
        let config = self.aicpu_config_of(&self.plan.policy, options)?.of_kernels(kernels);
        Aicpus::new(&config, aicpus.into()).map_err(|fault| settings::not_started(&fault))
    }

    /// Runs the tasks that `source` submits.
    ///
    /// # Errors
    /// There is no memory, the configuration cannot be; the fault of the source or the first of a kernel.
    pub(crate) fn launch(
        &self,
        prepared: &mut Prepared,
        arrays: &Arrays,
        config: &RunConfig,
        source: impl for<'k> FnOnce(
            &mut Planner<'k>,
            &'k KernelTable,
            &mut Submitter<'_, KernelRunner<'k>>,
        ) -> Result<(), Diagnostic>,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        let config = &*config.of_kernels(prepared.kernels.all().iter().map(|kernel| &*kernel.name));
        let mut known = std::mem::take(&mut prepared.known);
        let run = Box::new(|Launched { runner, kernels, mut planner }: Launched<'_, '_>| {
            let source = |submitter: &mut Submitter<'_, _>| source(&mut planner, kernels, submitter);
            let outcome = wsp_runtime::run_again(config, runner, &mut known, source);
            outcome.map_err(|failure| vec![self.failed(kernels, failure)])
        });
        let outcome = self.launch_with(prepared, arrays, config.threads, run);
        prepared.known = known;
        outcome
    }

    /// Runs kernels on `threads` threads as `run` has it, and collects what they wrote. What was prepared can be run again, unless this fails: then tiles of
    /// axes are as generators left them.
    ///
    /// # Errors
    /// Arrays or kernels that cannot be, and those of `run`.
    pub(crate) fn launch_with(
        &self,
        prepared: &mut Prepared,
        arrays: &Arrays,
        threads: u32,
        run: Box<RunTasks<'_>>,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        let Prepared {
            bound,
            env,
            slots,
            kernels,
            sizes,
            recording,
            views,
            claim,
            progress,
            codes,
            times,
            ..
        } = prepared;
        let callers = in_place::callers(&self.plan, bound, views);
        // Dropped after everything that has addresses of the caller's arrays.
        let _claim = claimed(claim.as_ref(), &uses(callers)).map_err(|fault| vec![fault])?;
        let started = clock::now();
        let given = memory::Given { arrays, views, recording: *recording };
        let owned = memory::attach(&self.plan, bound, sizes, slots, given, env)?;
        times.allocate = clock::nanos_since(started);
        let mut runner = KernelRunner::new(kernels, codes, env, threads as usize);
        if let Some(progress) = progress {
            if sizes.total() > 0 {
                progress.expect(sizes.total());
            }
            progress.begin(threads as usize, kernels.all().iter().map(|kernel| kernel.name.as_str()));
            runner.progress = Some(progress);
        }
        runner.check_tiles(&self.plan.module, &sizes.changed_tiles).map_err(|fault| vec![fault])?;

        kernels.tiles.iter().for_each(|tiles| tiles.forget());
        let (started, computed) = (clock::now(), clock::computed_nanos());
        let planner = Planner::new(&self.plan, bound, env);
        let runtime = run(Launched { runner: &runner, kernels, planner })?;
        times.run = clock::nanos_since(started);
        times.run_computed = clock::computed_nanos().saturating_sub(computed);
        drop(runner);
        let stats = RunStats {
            threads,
            kernels: kernel_stats(kernels.all().iter().map(|k| k.name.as_str()), &runtime),
            descriptors: self.descriptor_stats(sizes),
            tiles: self.tile_stats(sizes),
            grid: kernels.tiles.as_ref().map(|tiles| tiles.stats()),
            workspace_bytes: sizes.workspace_bytes,
            workspace_slots: sizes.workspace_slots,
            params: self.params(bound),
            times: *times,
            runtime,
        };
        memory::detach(env);
        let unwritten = owned.unwritten();
        Ok(Outcome {
            outputs: owned.into_outputs(),
            unwritten,
            stats,
            aicpus: None,
            notes: bound.notes.clone(),
        })
    }

    /// Everything up to the point where tasks could start, and the generators of the stages.
    pub(crate) fn prepare(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
        keep: bool,
    ) -> Result<(Prepared, Vec<GeneratorCode>), Vec<Diagnostic>> {
        let arrays = &Metadata::from(arrays);
        let mut prepared = self.bind(arrays, options, self.demand(&|id| self.may_be_absent(id)))?;
        let Prepared { bound, env, kernels, sizes, times, .. } = &mut prepared;
        let started = clock::now();
        let stages = self.plan.stages.iter();
        let generators = stages
            .map(|stage| GeneratorCode::compile(&self.plan.module, stage.generator, env))
            .collect::<Result<Vec<_>, _>>()
            .map_err(one)?;
        times.compile += clock::nanos_since(started);
        let started = clock::now();
        let mut planner = Planner::new(&self.plan, bound, env);
        *sizes = self.size(&generators, &mut planner, kernels, keep).map_err(|fault| vec![fault])?;
        times.sizing = clock::nanos_since(started);
        Ok((prepared, generators))
    }

    /// What the tasks of a workload begin with, and the workload's values.
    ///
    /// # Errors
    /// What is wrong with the arrays and the options.
    pub(crate) fn bind_tasks(
        &self,
        tasks: &LibraryTasks,
        arrays: &Arrays,
        options: &LaunchOptions,
    ) -> Result<(Prepared, Bindings), Vec<Diagnostic>> {
        let set = tasks.library_values(&self.plan, &options.set);
        let tables: Vec<&str> = tasks.module.tables.iter().map(|t| t.name.as_str()).collect();
        // Of a library a workload may use a part: what none of its kernels touches need not be there.
        let absent = |id: TensorId| match self.plan.module.tensors[id.index()].storage {
            Storage::CacheValues(_) => !self.is_used(id),
            _ => self.plan.tensors[id.index()].written || !self.is_used(id),
        };
        let needs = tasks.needs(&self.plan);
        let demand = Demand {
            absent: &absent,
            needed: &|id| needs.params.contains(&id),
            others: &tables,
            settings: &tasks.settable(&self.plan, &needs),
        };
        let stated = stated_tables(&tasks.module, arrays);
        let metadata = stated
            .iter()
            .fold(Metadata::from(arrays), |all, (name, array)| all.with_array(name.as_str(), array));
        let prepared = self.bind(&metadata, &LaunchOptions { set, ..options.clone() }, demand)?;
        let bindings = tasks.bind(&self.plan, &prepared.bound, &options.set, arrays)?;
        Ok((prepared, bindings))
    }

    /// Everything up to the point where the tasks of a workload could start, and the workload's values.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the plan; faults of the workload.
    pub(crate) fn prepare_tasks(
        &self,
        tasks: &LibraryTasks,
        arrays: &Arrays,
        options: &LaunchOptions,
    ) -> Result<(Prepared, Bindings), Vec<Diagnostic>> {
        let (mut prepared, bindings) = self.bind_tasks(tasks, arrays, options)?;
        prepared.recording.steps = Recording::On;
        let Prepared { bound, env, kernels, sizes, times, .. } = &mut prepared;
        let started = clock::now();
        kernels.place(&tasks.schedule.policy, &self.plan, bound)?;
        *sizes = tasks.size(&bindings, &mut Planner::new(&self.plan, bound, env), kernels)?;
        times.sizing = clock::nanos_since(started);
        Ok((prepared, bindings))
    }

    /// Whether some kernel loads from a tensor or stores to it.
    pub(crate) fn is_used(&self, id: TensorId) -> bool {
        let tensor = &self.plan.tensors[id.index()];
        tensor.read || tensor.written
    }

    /// Binds the arrays and prepares the kernels.
    pub(crate) fn bind(
        &self,
        arrays: &Metadata<'_>,
        options: &LaunchOptions,
        demand: Demand<'_>,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let mut times = Times::default();
        let started = clock::now();
        let (bound, env, slots) = self.bind_values(arrays, options, demand)?;
        times.bind = clock::nanos_since(started);
        let started = clock::now();
        let mut kernels = KernelTable::new(&self.plan, &bound, &env)?;
        kernels.place(&self.plan.policy, &self.plan, &bound)?;
        times.compile = clock::nanos_since(started);
        let recording = Recorded { outputs: options.recording, steps: options.recording };
        let sizes = Sizes::default();
        let (views, claim, progress) =
            (options.views.clone(), options.claim.clone(), options.progress.clone());
        let (codes, known) = (Vec::new(), KnownRegions::default());
        Ok(Prepared {
            bound,
            env,
            slots,
            kernels,
            sizes,
            recording,
            views,
            claim,
            progress,
            codes,
            times,
            known,
        })
    }

    /// What generators see of arrays: shapes, integers, page tables.
    ///
    /// # Errors
    /// What is wrong with the arrays or the options.
    pub(crate) fn bind_metadata(
        &self,
        arrays: &Metadata<'_>,
        options: &LaunchOptions,
    ) -> Result<(Bound, Env, SlotLayout), Vec<Diagnostic>> {
        self.bind_values(arrays, options, self.demand(&|id| self.may_be_absent(id)))
    }

    /// What a launch of everything in the file asks for.
    pub(crate) fn demand<'a>(&self, absent: &'a dyn Fn(TensorId) -> bool) -> Demand<'a> {
        let settings: &[&str] = match self.plan.module.caches.is_empty() {
            true => &["max_blocks"],
            false => &["max_blocks", "kv_layout"],
        };
        Demand { absent, needed: &|_| true, others: &[], settings }
    }

    /// Whether a tensor needs no array: it is written first of all, or holds values of a cache that no kernel touches.
    pub(crate) fn may_be_absent(&self, id: TensorId) -> bool {
        match self.plan.module.tensors[id.index()].storage {
            Storage::CacheValues(_) => !self.is_used(id),
            _ => self.plan.tensors[id.index()].written,
        }
    }

    fn bind_values(
        &self,
        arrays: &Metadata<'_>,
        options: &LaunchOptions,
        demand: Demand<'_>,
    ) -> Result<(Bound, Env, SlotLayout), Vec<Diagnostic>> {
        let arrays = in_place::with_views(arrays, &options.views)?;
        let mut bound = bind(&self.plan.module, &arrays, options, demand)?;
        in_place::check(&self.plan, &bound, &options.views)?;
        bound.last = planner::last_elements(&self.plan, &bound).map_err(one)?;
        let extents = planner::axis_extents(&self.plan.module, &bound).map_err(one)?;
        let slots = SlotLayout::new(&self.plan.module, &bound).map_err(|fault| vec![fault])?;
        let mut env = memory::metadata(&self.plan, &bound, extents);
        planner::settle_fixed_tiles(&self.plan, &bound, &env).map_err(one)?;
        derived::derive(&self.plan, &bound, &mut env).map_err(one)?;
        env.cancel = options.cancel.clone();
        (env.mode, env.engine) = (options.mode, options.engine);
        env.code = self.code.clone();
        Ok((bound, env, slots))
    }

    /// Runs the generators without running tasks.
    fn size(
        &self,
        generators: &[GeneratorCode],
        planner: &mut Planner<'_>,
        kernels: &KernelTable,
        keep: bool,
    ) -> Result<Sizes, Diagnostic> {
        let env = planner.env;
        let sink = SizingSink::new(planner, kernels, keep);
        let mut host = PlanHost { planner: &mut *planner, sink };
        for (i, (stage, code)) in self.plan.stages.iter().zip(generators).enumerate() {
            host.enter(i as u32, stage.space);
            let span = self.plan.module.spaces[stage.space.index()].span;
            code.run(env, &mut host, limits::MAX_GENERATOR_STEPS)
                .map_err(|trap| Diagnostic::from(at(trap, span)))?;
        }
        let sink = host.sink;
        sink.finish(planner)
    }

    /// What runs the tasks under these options, part by part, for people.
    ///
    /// # Errors
    /// Options that are out of range or contradict the schedule.
    pub(crate) fn implementation(
        &self,
        options: &LaunchOptions,
    ) -> Result<Vec<(&'static str, String)>, Vec<Diagnostic>> {
        if options.aicpus != 0 && !options.sequential {
            let config = self.aicpu_config_of(&self.plan.policy, options);
            return Ok(config.map_err(|fault| vec![fault])?.implementation());
        }
        Ok(self.config(options)?.implementation())
    }

    pub(crate) fn config(&self, options: &LaunchOptions) -> Result<RunConfig, Vec<Diagnostic>> {
        self.config_of(&self.plan.policy, options)
    }

    /// The configuration under a policy.
    pub(crate) fn config_of(
        &self,
        policy: &SchedulePolicy,
        options: &LaunchOptions,
    ) -> Result<RunConfig, Vec<Diagnostic>> {
        if options.sequential {
            return Ok(settings::one_by_one(options.cancel.as_ref()));
        }
        if options.aicpus != 0 {
            return Err(vec![of_the_host()]);
        }
        let core_groups = Some(options.cores_per_group);
        let policy = SchedulePolicy { core_groups, ..policy.clone() };
        let config = settings::config(&policy, &asked(options)).map_err(|fault| vec![fault])?;
        Ok(config.settled().map_err(|fault| vec![bad_option(&fault)])?.into_owned())
    }

    /// The configuration of AICPUs under a policy.
    pub(crate) fn aicpu_config_of(
        &self,
        policy: &SchedulePolicy,
        options: &LaunchOptions,
    ) -> Result<AicpuConfig, Diagnostic> {
        aicpu_config(policy, options.aicpus, &asked(options)).map_err(|fault| self.at_grid(policy, fault))
    }

    /// A fault that has no place, at the statement of the grid, if there is one: it is the only one of a policy.
    fn at_grid(&self, policy: &SchedulePolicy, fault: Diagnostic) -> Diagnostic {
        let mut statements = self.plan.module.schedules.iter().flat_map(|schedule| &schedule.launch);
        let grid = policy.grid.filter(|_| fault.primary.is_none()).map(LaunchPolicy::Grid);
        match grid.and_then(|grid| statements.find(|said| said.policy == grid)) {
            Some(said) => fault.at(said.span, "there are no tiles"),
            None => fault,
        }
    }

    fn params(&self, bound: &Bound) -> Vec<(String, Value)> {
        let params = self.plan.module.params.iter().zip(&bound.params);
        params.filter_map(|(param, value)| Some((param.name.clone(), (*value)?))).collect()
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

    /// A failed run as a diagnostic: the fault, and the task it struck.
    fn failed<S: EndsGeneration, T>(
        &self,
        kernels: &KernelTable,
        failure: Failure<Trap, S, FailedTask<T>>,
    ) -> Diagnostic {
        match failure {
            Failure::Cancelled => settings::cancelled(),
            Failure::Start(StartError::Config(fault)) => bad_option(&fault),
            Failure::Start(fault) => Diagnostic::error(codes::BAD_OPTION, fault.to_string())
                .help("ask for fewer with `--threads N`"),
            Failure::Stuck(report) => settings::stuck(&report),
            Failure::Source(fault) => fault.diagnostic(),
            Failure::Task { task: FailedTask { kernel, payload, .. }, failure } => {
                Diagnostic::from(failure).note(self.describe(kernels, kernel, &payload))
            }
            Failure::Panic { task: FailedTask { kernel, payload, .. }, message } => {
                Diagnostic::from(Trap::internal(format!("a kernel panicked: {message}"), Span::default()))
                    .note(self.describe(kernels, kernel, &payload))
            }
        }
    }

    /// A task as the user knows it: kernel and descriptor.
    pub(crate) fn describe(&self, kernels: &KernelTable, kernel: KernelId, payload: &[u32]) -> String {
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

/// AICPUs generate tasks, and these are the host's.
pub(crate) fn of_the_host() -> Diagnostic {
    let message = "the host issues tasks that are kept or simulated, and `aicpus` says otherwise";
    Diagnostic::error(codes::BAD_OPTION, message).help("leave it out")
}

/// What is asked of a run beside its schedule.
fn asked(options: &LaunchOptions) -> Asked<'_> {
    Asked {
        threads: options.threads,
        window: options.window,
        seed: options.seed,
        replay: options.replay.as_ref(),
        trace: if options.trace { TracePolicy::Measured } else { TracePolicy::Totals },
        cancel: options.cancel.as_ref(),
    }
}

fn bad_option(fault: &ConfigError) -> Diagnostic {
    if fault.is_of_other_tasks() {
        return settings::not_replayed(fault.to_string());
    }
    Diagnostic::error(codes::BAD_OPTION, fault.to_string())
}
