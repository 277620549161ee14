//! Workloads behind the seam.

use super::spaces::param_value;
use super::{CpuSimBackend, failed, refused};
use crate::codes::BAD_OPTION;
use crate::workload::{Detail, ORDER_POINT, PreparedRun, WorkloadInputs, WorkloadOptions, WorkloadProgram};
use std::sync::Arc;
use std::time::Duration;
use wsp_backend::{
    Absent, Args, Explanation, Outcome, Prepared, RunError, RunOptions, Stats, WorkloadRunOptions,
};
use wsp_ir::diag::Diagnostic;
use wsp_kernel::Mode;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{ParamValue, ProgramKind};
use wsp_runtime::clock;

/// A workload.
pub(super) struct TaskProgram {
    program: Arc<WorkloadProgram>,
    mode: Mode,
    compiled: Duration,
}

impl TaskProgram {
    pub(super) fn new(plan: &WorkloadPlan, backend: &CpuSimBackend) -> Result<TaskProgram, Vec<Diagnostic>> {
        let started = clock::now();
        let program = WorkloadProgram::of(plan.clone()).with_kernels(backend.kernels.clone())?;
        let compiled = Duration::from_nanos(clock::nanos_since(started));
        Ok(TaskProgram { program: Arc::new(program), mode: backend.mode, compiled })
    }

    /// Refuses options that this workload does not take.
    ///
    /// # Errors
    /// One for each, by its name.
    fn check(&self, options: &RunOptions) -> Result<(), RunError> {
        options.check(ProgramKind::Workload)?;
        if self.program.library().is_none() {
            return Ok(());
        }
        let WorkloadRunOptions { made_up, absent, data_seed, mixing, whole_outs, aicpus: _, expand: _ } =
            &options.workload;
        let given = [
            ("made_up", !made_up.is_empty()),
            ("absent", *absent != Absent::default()),
            ("data_seed", *data_seed != 0),
            ("mixing", *mixing),
            ("whole_outs", *whole_outs),
        ];
        let refused = given.into_iter().filter(|(_, given)| *given).map(|(name, _)| {
            let message = format!("option `{name}` has no meaning for kernels of a used file");
            Diagnostic::error(BAD_OPTION, message).help("leave it out")
        });
        let refused: Vec<Diagnostic> = refused.collect();
        if refused.is_empty() { Ok(()) } else { Err(RunError::Refused(refused.into())) }
    }

    fn options(&self, options: &RunOptions) -> WorkloadOptions {
        let WorkloadRunOptions { aicpus, expand, whole_outs, .. } = options.workload;
        WorkloadOptions {
            threads: options.threads,
            window: options.window,
            seed: options.seed,
            trace: options.trace,
            recording: options.recording,
            sequential: options.sequential,
            plain: self.mode == Mode::Plain,
            aicpus,
            expand,
            whole_outs,
            cancel: options.cancel.clone(),
            ..WorkloadOptions::default()
        }
    }
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
    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        self.check(options)?;
        let cancel = WorkloadOptions { cancel: options.cancel.clone(), ..WorkloadOptions::default() };
        let inputs = inputs(args, &options.workload);
        let listing = self.program.graph(&inputs, None, Detail::default(), &cancel).map_err(refused)?;
        let mut kernels: Vec<(String, u64)> =
            listing.kernels.iter().map(|kernel| (kernel.name.clone(), 0)).collect();
        listing.tasks.iter().for_each(|kernel| kernels[*kernel as usize].1 += 1);
        kernels.retain(|(name, _)| name != ORDER_POINT);
        Ok(Explanation {
            kernels,
            schedule: self.program.schedule().lines.iter().map(ToString::to_string).collect(),
            notes: Vec::new(),
            own: Box::new(listing),
        })
    }

    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        self.check(&options)?;
        let inputs = inputs(&args, &options.workload);
        let prepared = PreparedRun::new(&self.program, inputs, self.options(&options));
        let prepared = prepared.map_err(refused)?;
        let notes = prepared.notes();
        let streams = self.program.schedule().policy.streams.unwrap_or(1);
        Ok(Box::new(PreparedTasks { prepared, notes, streams, compiled: self.compiled }))
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

    fn run(&mut self) -> Result<Outcome, RunError> {
        let mut outcome = self.prepared.run().map_err(failed)?;
        let own = &mut outcome;
        let library = own.library_params.iter().map(|(name, value)| (name.clone(), param_value(*value)));
        let params = own.params.iter().map(|(name, value)| (name.clone(), ParamValue::Int((*value).into())));
        let shadowed = |name: &str| own.library_params.iter().any(|(other, _)| other == name);
        let stats = Stats {
            tasks: own.runtime.tasks,
            streams: self.streams,
            executors: own.threads.max(1),
            compile: self.compiled,
            run: Duration::from_nanos(own.run_ns),
            kernels: own.kernels.clone(),
            params: params.filter(|(name, _)| !shadowed(name)).chain(library).collect(),
        };
        let outputs = std::mem::take(&mut own.outputs);
        let unwritten = std::mem::take(&mut own.unwritten);
        let notes = std::mem::take(&mut own.notes);
        Ok(Outcome { outputs, unwritten, stats, notes, own: Box::new(outcome) })
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        self.prepared.rebind(args).map_err(refused)?;
        self.notes = self.prepared.notes();
        Ok(())
    }
}
