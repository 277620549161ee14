//! Workloads behind the seam.

use super::spaces::param_value;
use super::{CpuSimBackend, failed, in_virtual_time, ordered, refuse, refused, runs_kernels};
use crate::machine;
use crate::workload::{
    PreparedRun, SimulatedWorkload, WorkloadInputs, WorkloadOptions, WorkloadOutcome, WorkloadProgram,
    check_aicpus, implementation,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wsp_backend::{
    Absent, Args, BARRIER_NODE, Detail, Expand, Explanation, GraphListing, GraphOptions, LaunchTable,
    Outcome, Prepared, Recording, RunError, RunOptions, Simulated, StartOrder, Stats, Transferred,
    WorkloadRunOptions,
};
use wsp_diag::Diagnostic;
use wsp_ir::tg::TgModule;
use wsp_kernel::{Engine, Mode};
use wsp_memory::Claim;
use wsp_plan::target::model::Model;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{ParamValue, ProgramKind};
use wsp_runtime::clock;

/// A workload.
pub(super) struct TaskProgram {
    program: Arc<WorkloadProgram>,
    mode: Mode,
    engine: Engine,
    compiled: Duration,
}

impl TaskProgram {
    pub(super) fn new(plan: &WorkloadPlan, backend: &CpuSimBackend) -> Result<TaskProgram, Vec<Diagnostic>> {
        let started = clock::now();
        let CpuSimBackend { mode, engine, code, .. } = backend;
        let program = WorkloadProgram::of(plan.clone(), *mode, *engine, code.as_ref());
        let program = program.with_kernels(backend.kernels.clone())?;
        let compiled = Duration::from_nanos(clock::nanos_since(started));
        Ok(TaskProgram { program: Arc::new(program), mode: *mode, engine: *engine, compiled })
    }

    /// Refuses options that this workload does not take.
    ///
    /// # Errors
    /// One for each, by its name.
    fn check_kind(&self, options: &RunOptions) -> Result<(), RunError> {
        options.check(ProgramKind::Workload)?;
        let WorkloadRunOptions { made_up, absent, data_seed, .. } = &options.workload;
        let makes_none = made_up.is_empty() && *absent != Absent::MadeUp;
        refuse("a run for which nothing is made up", &[("data_seed", *data_seed != 0 && makes_none)])?;
        refuse("`cpu_sim`, which has no packages", &[("expand", options.workload.expand.is_of_packages())])?;
        if self.program.library().is_none() {
            return Ok(());
        }
        refuse("kernels of a used file", &of_declared(&options.workload))
    }

    /// Checks and binds what a run takes.
    fn bound(&self, args: &Args, options: &RunOptions) -> Result<PreparedRun, RunError> {
        self.check_kind(options)?;
        let options = &*ordered(self, args, options)?;
        let inputs = inputs(args, &options.workload);
        PreparedRun::new(&self.program, inputs, self.options(options)).map_err(refused)
    }

    pub(super) fn fits(&self, args: &Args, options: &RunOptions) -> Result<(), RunError> {
        self.check_kind(options)?;
        self.program.fits(&inputs(args, &options.workload)).map_err(refused)
    }

    /// Streams that the schedule asks for.
    fn streams(&self) -> u32 {
        self.program.schedule().policy.streams.unwrap_or(1)
    }

    /// What the target does with each statement of the schedule.
    fn lines(&self) -> Vec<String> {
        self.program.schedule().lines.iter().map(ToString::to_string).collect()
    }

    /// The same of AICPUs.
    fn lines_on_aicpus(&self) -> Vec<String> {
        self.program.schedule().lines.iter().map(|line| line.on_aicpus().to_string()).collect()
    }

    fn options(&self, options: &RunOptions) -> WorkloadOptions {
        let WorkloadRunOptions { aicpus, expand, whole_outs, .. } = options.workload;
        WorkloadOptions {
            threads: options.threads,
            window: options.window,
            seed: options.seed,
            replay: options.replay.as_ref().and_then(StartOrder::starts).cloned(),
            trace: options.trace,
            recording: options.recording,
            sequential: options.sequential,
            // Declared kernels have no tile operations: a run refuses to have plain ones.
            plain: options.plain || (self.mode == Mode::Plain && self.program.library().is_none()),
            aicpus,
            expand,
            whole_outs,
            claim: options.claim.clone(),
            cancel: options.cancel.clone(),
            progress: options.progress.clone(),
            poll: options.poll.clone(),
            payload: options.payload.clone(),
        }
    }
}

/// Options of runs of declared kernels, and whether they are given.
fn of_declared(options: &WorkloadRunOptions) -> [(&'static str, bool); 5] {
    let WorkloadRunOptions { made_up, absent, data_seed, mixing, whole_outs, .. } = options;
    [
        ("made_up", !made_up.is_empty()),
        ("absent", *absent != Absent::default()),
        ("data_seed", *data_seed != 0),
        ("mixing", *mixing),
        ("whole_outs", *whole_outs),
    ]
}

/// Options of runs, and whether they are given.
fn of_runs(options: &WorkloadRunOptions) -> Vec<(&'static str, bool)> {
    let mut all = of_declared(options).to_vec();
    all.push(("expand", options.expand != Expand::default()));
    all.push(("phases", options.phases));
    all
}

/// What a run is given, as the workload takes it.
fn inputs(args: &Args, options: &WorkloadRunOptions) -> WorkloadInputs {
    WorkloadInputs {
        set: args.values.clone(),
        arrays: args.arrays.clone(),
        views: args.views.clone(),
        made_up: options.made_up.clone(),
        absent: options.absent,
        seed: options.data_seed,
        mixing: options.mixing,
    }
}

impl wsp_backend::Program for TaskProgram {
    fn implementation(&self, options: &RunOptions) -> Result<Vec<(&'static str, String)>, RunError> {
        self.check_kind(options)?;
        let mut parts = implementation(self.program.schedule(), &self.options(options)).map_err(refused)?;
        if self.program.library().is_some() {
            let is_plain = options.plain || options.sequential;
            parts.extend(runs_kernels(if is_plain { Mode::Plain } else { self.mode }, self.engine));
        }
        Ok(parts)
    }

    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        self.check_kind(options)?;
        refuse("what is listed: no kernel runs", &of_runs(&options.workload))?;
        let inputs = inputs(args, &options.workload);
        let listing = self.program.graph(&inputs, None, Detail::default(), &self.options(options));
        let listing = listing.map_err(refused)?;
        let mut kernels: Vec<(String, u64)> =
            listing.kernels.iter().map(|kernel| (kernel.name.clone(), 0)).collect();
        listing.tasks.iter().for_each(|kernel| kernels[*kernel as usize].1 += 1);
        kernels.retain(|(name, _)| name != BARRIER_NODE);
        let mut explained = Explanation::new(kernels);
        explained.schedule = self.lines();
        explained.grid.clone_from(&listing.grid);
        explained.implementation = self.implementation(options)?;
        explained.own = Box::new(listing);
        Ok(explained)
    }

    fn graph(&self, args: &Args, options: &GraphOptions) -> Result<GraphListing, RunError> {
        let GraphOptions { deps, detail, spaces, cancel } = options;
        self.check_kind(&RunOptions { spaces: spaces.clone(), ..RunOptions::default() })?;
        let inputs = inputs(args, &WorkloadRunOptions::default());
        let cancel = WorkloadOptions { cancel: cancel.clone(), ..WorkloadOptions::default() };
        self.program.graph(&inputs, *deps, *detail, &cancel).map_err(refused)
    }

    fn unit(&self, args: &Args, options: &GraphOptions) -> Result<TgModule, RunError> {
        let GraphOptions { deps, detail, spaces, cancel } = options;
        self.check_kind(&RunOptions { spaces: spaces.clone(), ..RunOptions::default() })?;
        let given = [("deps", deps.is_some()), ("detail", *detail != Detail::default())];
        refuse("a unit, which has the edges of the schedule", &given)?;
        let inputs = inputs(args, &WorkloadRunOptions::default());
        let cancel = WorkloadOptions { cancel: cancel.clone(), ..WorkloadOptions::default() };
        self.program.unit(&inputs, &cancel).map_err(refused)
    }

    fn simulate_on(
        &self,
        args: &Args,
        options: &RunOptions,
        machine: Option<&Model>,
    ) -> Result<Simulated, RunError> {
        self.check_kind(options)?;
        refuse("virtual time: no kernel runs", &of_declared(&options.workload))?;
        let given =
            [("recording", options.recording != Recording::Off), ("replay", options.replay.is_some())];
        refuse("virtual time: no kernel runs", &given)?;
        let inputs = inputs(args, &options.workload);
        machine::refuse_threads(options, machine)?;
        let simulated =
            self.program.simulate_on(&inputs, &self.options(options), machine).map_err(refused)?;
        let SimulatedWorkload { listing, simulation, threads: _, aicpus, channels, notes } = simulated;
        let lines = if aicpus.is_some() { self.lines_on_aicpus() } else { self.lines() };
        let mut told = in_virtual_time(listing, &simulation, aicpus, lines, notes);
        told.channels = channels;
        Ok(told)
    }

    fn check(&self, options: &RunOptions) -> Result<(), RunError> {
        self.check_kind(options)?;
        match options.workload.aicpus {
            0 => Ok(()),
            aicpus => check_aicpus(self.program.schedule(), aicpus).map_err(refused),
        }
    }

    fn check_order(&self, args: &Args, most: u32) -> Result<(), RunError> {
        let inputs = inputs(args, &WorkloadRunOptions::default());
        self.program.check_order(&inputs, most).map_err(refused)
    }

    fn transfer(
        &self,
        args: &Args,
        aicpus: u16,
        cancel: Option<&Arc<AtomicBool>>,
    ) -> Result<Transferred, RunError> {
        let inputs = inputs(args, &WorkloadRunOptions::default());
        self.program.transfer(&inputs, aicpus, cancel.map(|flag| &**flag)).map_err(refused)
    }

    fn table(&self, args: &Args, options: &RunOptions) -> Result<LaunchTable, RunError> {
        self.check_kind(options)?;
        self.program.table(&inputs(args, &options.workload), options.cancel.as_deref()).map_err(refused)
    }

    fn execute(&self, args: Args, options: RunOptions) -> Result<Outcome, RunError> {
        let outcome = self.bound(&args, &options)?.run_once().map_err(failed)?;
        Ok(told(outcome, self.streams(), self.compiled))
    }

    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        let prepared = self.bound(&args, &options)?;
        let notes = prepared.notes();
        let (streams, compiled) = (self.streams(), self.compiled);
        Ok(Box::new(PreparedTasks { prepared, notes, streams, compiled }))
    }
}

/// A workload with arrays.
struct PreparedTasks {
    prepared: PreparedRun,
    notes: Vec<Diagnostic>,
    streams: u32,
    compiled: Duration,
}

impl Prepared for PreparedTasks {
    fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    fn launch(&mut self, claim: Option<&Arc<Claim>>) -> Result<(), RunError> {
        self.prepared.launch(claim).map_err(failed)
    }

    fn outcome(&mut self) -> Result<Outcome, RunError> {
        let outcome = self.prepared.outcome().map_err(failed)?.ok_or_else(RunError::no_outcome)?;
        Ok(told(outcome, self.streams, self.compiled))
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        self.prepared.rebind(args).map_err(refused)?;
        self.notes = self.prepared.notes();
        Ok(())
    }

    fn release(&mut self) -> bool {
        self.prepared.release()
    }
}

/// What a run gave, as the seam has it.
fn told(mut outcome: WorkloadOutcome, streams: u32, compile: Duration) -> Outcome {
    let own = &mut outcome;
    let library = own.library_params.iter().map(|(name, value)| (name.clone(), param_value(*value)));
    let params = own.params.iter().map(|(name, value)| (name.clone(), ParamValue::Int((*value).into())));
    let shadowed = |name: &str| own.library_params.iter().any(|(other, _)| other == name);
    let mut stats = Stats::default();
    stats.tasks = own.runtime.tasks;
    stats.streams = streams;
    stats.executors = own.threads.max(1);
    stats.compile = compile;
    stats.run = Duration::from_nanos(own.run_ns);
    stats.kernels.clone_from(&own.kernels);
    stats.grid.clone_from(&own.grid);
    stats.params = params.filter(|(name, _)| !shadowed(name)).chain(library).collect();
    let mut told = Outcome::new(std::mem::take(&mut own.outputs), stats);
    told.unwritten = std::mem::take(&mut own.unwritten);
    told.notes = std::mem::take(&mut own.notes);
    (told.workload.bodies, told.workload.aicpus) = (Some(own.bodies), own.aicpus.take());
    told.workload.channels = std::mem::take(&mut own.channels);
    told.own = Box::new(outcome);
    told
}
