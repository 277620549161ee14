//! Programs of spaces behind the seam.

use super::{CpuSimBackend, failed, in_virtual_time, ordered, refuse, refused, runs_kernels};
use crate::codes::BAD_OPTION;
use crate::in_place;
use crate::machine;
use crate::metadata::Metadata;
use crate::options::LaunchOptions;
use crate::plan::{Capacity, Plan};
use crate::prepared::ReadyLaunch;
use crate::program::Program;
use crate::stats::{Outcome, RunStats};
use std::sync::Arc;
use std::time::Duration;
use wsp_backend::{
    Advance, Args, Expand, Explanation, GraphListing, GraphOptions, Growth, LaunchTable, Prepared, Recording,
    RunError, RunOptions, Simulated, SpaceOptions, StartOrder, Stats,
};
use wsp_diag::Diagnostic;
use wsp_kernel::{Engine, Mode, Value};
use wsp_memory::{Claim, View};
use wsp_plan::target::model::Model;
use wsp_plan::{LoweredPlan, ParamValue, ProgramKind};

/// A program of spaces.
pub(super) struct SpaceProgram {
    program: Arc<Program>,
    mode: Mode,
    engine: Engine,
}

impl SpaceProgram {
    pub(super) fn new(plan: Arc<LoweredPlan>, backend: &CpuSimBackend) -> SpaceProgram {
        let program = Program::new(plan).with_code(backend.code.as_ref());
        SpaceProgram { program: Arc::new(program), mode: backend.mode, engine: backend.engine }
    }

    /// What the target does with each statement of the schedules.
    fn lines(&self) -> Vec<String> {
        let stages = self.program.lowered().stages.iter();
        stages.flat_map(|stage| stage.schedule.lines.iter().cloned()).collect()
    }

    /// Options as a launch takes them.
    ///
    /// # Errors
    /// Options that have no effect on this program.
    fn launch_options(&self, args: &Args, options: &RunOptions) -> Result<LaunchOptions, RunError> {
        options.check(ProgramKind::Spaces)?;
        refuse("a program of spaces", &[("expand", options.workload.expand != Expand::Usual)])?;
        if options.spaces != SpaceOptions::default() && self.program.lowered().module.caches.is_empty() {
            let fault = Diagnostic::error(BAD_OPTION, "option `kv_layout` has no meaning: there is no cache");
            return Err(RunError::Refused(fault.help("leave it out").into()));
        }
        let common = LaunchOptions {
            kv_layout: options.spaces.kv_layout,
            set: args.values.clone(),
            recording: options.recording,
            engine: self.engine,
            views: args.views.clone(),
            claim: options.claim.clone(),
            cancel: options.cancel.clone(),
            progress: options.progress.clone(),
            ..LaunchOptions::default()
        };
        if options.sequential {
            return Ok(LaunchOptions { threads: 1, sequential: true, mode: Mode::Plain, ..common });
        }
        let RunOptions { threads, window, seed, trace, .. } = *options;
        let replay = options.replay.as_ref().and_then(StartOrder::starts).cloned();
        let aicpus = options.workload.aicpus;
        let mode = if options.plain { Mode::Plain } else { self.mode };
        Ok(LaunchOptions { threads, window, aicpus, seed, replay, trace, mode, ..common })
    }
}

impl SpaceProgram {
    pub(super) fn fits(&self, args: &Args, options: &RunOptions) -> Result<(), RunError> {
        let launch = self.launch_options(args, options)?;
        self.program.bind_metadata(&Metadata::from(&args.arrays), &launch).map(drop).map_err(refused)
    }
}

impl wsp_backend::Program for SpaceProgram {
    fn implementation(&self, options: &RunOptions) -> Result<Vec<(&'static str, String)>, RunError> {
        let launch = self.launch_options(&Args::new(), options)?;
        let mut parts = self.program.implementation(&launch).map_err(refused)?;
        parts.extend(runs_kernels(launch.mode, launch.engine));
        Ok(parts)
    }

    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        let launch = self.launch_options(args, options)?;
        let report = self.program.explain(&args.arrays, &launch).map_err(refused)?;
        let mut kernels: Vec<(String, u64)> = Vec::new();
        for descriptor in &report.list {
            match kernels.iter_mut().find(|(name, _)| *name == descriptor.kernel) {
                Some((_, tasks)) => *tasks += 1,
                None => kernels.push((descriptor.kernel.clone(), 1)),
            }
        }
        let mut explained = Explanation::new(kernels);
        explained.schedule = self.lines();
        explained.grid.clone_from(&report.grid);
        explained.implementation = self.implementation(options)?;
        explained.notes.clone_from(&report.notes);
        explained.own = Box::new(report);
        Ok(explained)
    }

    fn graph(&self, args: &Args, options: &GraphOptions) -> Result<GraphListing, RunError> {
        let GraphOptions { deps, detail, spaces, cancel } = options;
        if deps.is_some() {
            let fault = Diagnostic::error(BAD_OPTION, "option `deps` has no meaning for a program of spaces")
                .note("its tasks wait for those that touch overlapping regions, one of the two writing");
            return Err(RunError::Refused(fault.help("leave it out").into()));
        }
        let launch =
            self.launch_options(args, &RunOptions { spaces: spaces.clone(), ..RunOptions::default() })?;
        let launch = LaunchOptions { cancel: cancel.clone(), ..launch };
        self.program.graph(&args.arrays, &launch, detail.accesses).map_err(refused)
    }

    fn simulate_on(
        &self,
        args: &Args,
        options: &RunOptions,
        machine: Option<&Model>,
    ) -> Result<Simulated, RunError> {
        let given = [
            ("sequential", options.sequential),
            ("plain", options.plain),
            ("recording", options.recording != Recording::Off),
            ("replay", options.replay.is_some()),
        ];
        refuse("virtual time: no kernel runs", &given)?;
        machine::refuse_threads(options, machine)?;
        let launch = self.launch_options(args, options)?;
        let simulated = self.program.simulate(&args.arrays, &launch, machine);
        let (listing, simulation, aicpus, notes) = simulated.map_err(refused)?;
        Ok(in_virtual_time(listing, &simulation, aicpus, self.lines(), notes))
    }

    fn table(&self, args: &Args, options: &RunOptions) -> Result<LaunchTable, RunError> {
        let launch = self.launch_options(args, options)?;
        let plan = self.program.plan(&args.arrays, &launch, Capacity::Exact).map_err(refused)?;
        Ok(plan.table())
    }

    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        let launch = self.launch_options(&args, &*ordered(self, &args, &options)?)?;
        let ready = self.program.ready(&args.arrays, &launch).map_err(refused)?;
        let notes = ready.notes().to_vec();
        let program = self.program.clone();
        Ok(Box::new(PreparedSpaces {
            program,
            args,
            launch,
            notes,
            ready: Some(ready),
            kept: None,
            last: None,
        }))
    }
}

/// A program of spaces with arrays.
struct PreparedSpaces {
    program: Arc<Program>,
    args: Args,
    launch: LaunchOptions,
    notes: Vec<Diagnostic>,
    /// What the next run begins with; none after a run that failed.
    ready: Option<ReadyLaunch>,
    /// What the generators emitted, since the first advance: runs replay it.
    kept: Option<Plan>,
    /// What the last run gave, until it is taken.
    last: Option<Outcome>,
}

impl PreparedSpaces {
    /// What runs with these arguments begin with.
    fn made_ready(&self, args: &Args, launch: &LaunchOptions) -> Result<ReadyLaunch, RunError> {
        let ready = match &self.kept {
            Some(plan) => self.program.ready_plan(plan, &args.arrays, launch),
            None => self.program.ready(&args.arrays, launch),
        };
        ready.map_err(refused)
    }

    /// Exchanges arrays of the caller for others that lie in the same way; whether that was all there was to do.
    ///
    /// # Errors
    /// Arrays that share memory which kernels store to.
    fn exchange(&mut self, args: &Args) -> Result<bool, RunError> {
        let Some(ready) = self.ready.as_mut().filter(|_| args.values.is_empty() && args.arrays.is_empty())
        else {
            return Ok(false);
        };
        let fits = |(name, view): (&String, &View)| {
            self.args.views.get(name).is_some_and(|own| {
                own.dtype() == view.dtype() && own.shape() == view.shape() && own.strides() == view.strides()
            })
        };
        if !args.views.iter().all(fits) {
            return Ok(false);
        }
        let mut views = self.args.views.clone();
        views.extend(args.views.iter().map(|(name, view)| (name.clone(), view.clone())));
        in_place::check(self.program.lowered(), &ready.prepared.bound, &views).map_err(refused)?;
        ready.prepared.views.clone_from(&views);
        self.launch.views.clone_from(&views);
        self.args.views = views;
        Ok(true)
    }
}

impl Prepared for PreparedSpaces {
    fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    fn launch(&mut self, claim: Option<&Arc<Claim>>) -> Result<(), RunError> {
        self.last = None;
        let mut ready = match self.ready.take() {
            Some(ready) => ready,
            None => self.made_ready(&self.args, &self.launch)?,
        };
        ready.claim(claim.or(self.launch.claim.as_ref()));
        let ran = match &self.kept {
            Some(plan) => self.program.run_plan(plan, &mut ready, &self.args.arrays),
            None => self.program.run(&mut ready, &self.args.arrays),
        };
        // The claim is one of this run alone.
        ready.claim(self.launch.claim.as_ref());
        self.last = Some(ran.map_err(failed)?);
        self.ready = Some(ready);
        Ok(())
    }

    fn outcome(&mut self) -> Result<wsp_backend::Outcome, RunError> {
        let last = self.last.take().ok_or_else(RunError::no_outcome)?;
        Ok(told(last))
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        if self.exchange(&args)? {
            return Ok(());
        }
        let mut all = self.args.clone();
        all.replace(args);
        let launch =
            LaunchOptions { set: all.values.clone(), views: all.views.clone(), ..self.launch.clone() };
        let ready = self.made_ready(&all, &launch)?;
        self.notes = ready.notes().to_vec();
        (self.args, self.launch, self.ready) = (all, launch, Some(ready));
        Ok(())
    }

    fn advance(&mut self, growth: Growth<'_>) -> Result<Advance, RunError> {
        let plan = match &mut self.kept {
            Some(plan) => plan,
            None => {
                // Runs of what is kept take fewer options.
                self.program.config(&self.launch).map_err(refused)?;
                let plan = self.program.plan(&self.args.arrays, &self.launch, Capacity::Exact);
                self.kept.insert(plan.map_err(refused)?)
            }
        };
        self.ready = None;
        plan.advance(growth).map_err(refused)
    }
}

fn told(outcome: Outcome) -> wsp_backend::Outcome {
    let Outcome { outputs, unwritten, stats, aicpus, notes } = outcome;
    let RunStats { threads, kernels, params, times, runtime, .. } = &stats;
    let mut counts = Stats::default();
    counts.tasks = runtime.tasks;
    counts.streams = 1;
    counts.executors = *threads;
    counts.compile = Duration::from_nanos(times.compile);
    counts.run = Duration::from_nanos(times.run);
    counts.kernels.clone_from(kernels);
    counts.grid.clone_from(&stats.grid);
    counts.params = params.iter().map(|(name, value)| (name.clone(), param_value(*value))).collect();
    let mut told = wsp_backend::Outcome::new(outputs, counts);
    (told.unwritten, told.notes) = (unwritten, notes);
    told.workload.aicpus = aicpus;
    told.own = Box::new(stats);
    told
}

/// The value of a parameter as the seam has it.
pub(crate) fn param_value(value: Value) -> ParamValue {
    match value {
        Value::Bool(b) => ParamValue::Bool(b),
        Value::F32(x) => ParamValue::Float(f64::from(x)),
        Value::F64(x) => ParamValue::Float(x),
        Value::I32(_) | Value::U32(_) | Value::I64(_) | Value::U64(_) => {
            ParamValue::Int(value.as_int().expect("integer values should have an integer form"))
        }
    }
}
