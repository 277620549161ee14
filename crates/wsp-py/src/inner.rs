//! What is compiled: shared by programs, runs and bound programs.

use crate::errors;
use crate::inputs::{self, Arguments, Need};
use crate::options;
use crate::pages;
use crate::signature::Signature;
use crate::timeline::Timeline;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};
use wsp_backend::KvLayout;
use wsp_cpu::workload::{Bodies, Mode, WorkloadOptions, WorkloadOutcome, WorkloadProgram};
use wsp_cpu::{LaunchOptions, Outcome, Plan};
use wsp_ir::SourceMap;
use wsp_ir::diag::{Code, Diagnostic};
use wsp_ir::workload::WorkloadModule;

const OF_OTHERS: Code = Code(882);

/// What runs.
pub(crate) enum Body {
    /// A workload with bodies for its kernels.
    Workload(Box<WorkloadProgram>),
    /// The host entry of a `.pto` file.
    Launch {
        /// The program of the entry.
        program: Box<wsp_cpu::Program>,
        /// A workload without anything, for what looks at one.
        module: Box<WorkloadModule>,
        /// Order of heads and tokens in pages.
        kv_layout: KvLayout,
        /// How tile operations are implemented.
        mode: Mode,
    },
}

/// A compiled workload, shared by its program and what runs of it.
pub(crate) struct Inner {
    /// What runs.
    pub(crate) body: Body,
    /// What it takes by name.
    pub(crate) signature: Signature,
    /// The user's files.
    pub(crate) sources: SourceMap,
    /// The first kernel that is only declared, as a fault of running it.
    pub(crate) declared_only: Option<Diagnostic>,
    /// What the compilation warns of.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Kernels as the user named them, with what runs for their tasks.
    pub(crate) bodies: Vec<(String, &'static str)>,
    pub(crate) compile_ns: u64,
    /// When and where tasks ran, of the last run that recorded it.
    pub(crate) timeline: Mutex<Option<Timeline>>,
}

impl Inner {
    /// Whether a run with these options stays on the thread of its caller. Kernels of files have threads of their own.
    pub(crate) fn on_caller(&self, options: &WorkloadOptions) -> bool {
        options.sequential
            && matches!(&self.body, Body::Workload(program) if program.module().uses.is_empty())
    }

    /// The workload's module.
    pub(crate) fn module(&self) -> &WorkloadModule {
        match &self.body {
            Body::Workload(program) => program.module(),
            Body::Launch { module, .. } => module,
        }
    }

    /// The workload, for what only workloads can do; `what` says it.
    pub(crate) fn workload(&self, py: Python<'_>, what: &str) -> PyResult<&WorkloadProgram> {
        match &self.body {
            Body::Workload(program) => Ok(program),
            Body::Launch { .. } => {
                let message = format!("the host entry of a `.pto` file {what}");
                Err(errors::fault(
                    py,
                    Diagnostic::error(OF_OTHERS, message).help("call its kernels in a workload"),
                ))
            }
        }
    }

    /// Runs the program.
    ///
    /// # Errors
    /// What failed the run.
    pub(crate) fn execute(
        &self,
        arguments: &Arguments,
        options: &WorkloadOptions,
    ) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        let mut outcome = match &self.body {
            Body::Workload(program) => program.execute(&arguments.inputs, options)?,
            Body::Launch { program, .. } => {
                let launch = self.launch_options(arguments, options)?;
                of_launch(program.execute(&arguments.inputs.arrays, &launch)?)
            }
        };
        self.tell(&mut outcome, arguments);
        Ok(outcome)
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// What failed the run.
    pub(crate) fn execute_plan(
        &self,
        plan: &Plan,
        arguments: &Arguments,
        options: &WorkloadOptions,
    ) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
        let Body::Launch { program, .. } = &self.body else { return Err(vec![of_workload("no plans")]) };
        let launch = self.launch_options(arguments, options)?;
        let mut outcome = of_launch(program.execute_plan(plan, &arguments.inputs.arrays, &launch)?);
        self.tell(&mut outcome, arguments);
        Ok(outcome)
    }

    /// Adds what there is to say of the arrays of a run.
    fn tell(&self, outcome: &mut WorkloadOutcome, arguments: &Arguments) {
        let caches = self.signature.library.arrays.iter().filter(|array| array.is_cache);
        let caches: Vec<&str> = caches.map(|array| array.name.as_str()).collect();
        outcome.notes.extend(pages::notes(&caches, arguments, &outcome.outputs));
    }

    /// The program of a host entry, for what only these can do.
    pub(crate) fn launch_program(&self, py: Python<'_>, lacks: &str) -> PyResult<&wsp_cpu::Program> {
        match &self.body {
            Body::Launch { program, .. } => Ok(program),
            Body::Workload(_) => Err(errors::fault(py, of_workload(lacks))),
        }
    }

    /// The options of a run as those of a launch.
    ///
    /// # Errors
    /// Options that do not apply.
    pub(crate) fn launch_options(
        &self,
        arguments: &Arguments,
        options: &WorkloadOptions,
    ) -> Result<LaunchOptions, Vec<Diagnostic>> {
        if options.aicpus != 0 {
            let message = "option `aicpus` does not apply to the host entry of a `.pto` file";
            return Err(vec![Diagnostic::error(OF_OTHERS, message).help("leave it out")]);
        }
        let (kv_layout, mode) = match &self.body {
            Body::Launch { kv_layout, mode, .. } => (*kv_layout, *mode),
            Body::Workload(_) => Default::default(),
        };
        Ok(LaunchOptions {
            threads: if options.sequential { 1 } else { options.threads },
            kv_layout,
            set: arguments.inputs.set.clone(),
            window: options.window,
            seed: options.seed,
            trace: options.trace,
            recording: options.recording,
            mode: if options.plain || options.sequential { Mode::Plain } else { mode },
            cancel: options.cancel.clone(),
            views: arguments.inputs.views.clone(),
            claim: options.claim.clone(),
            ..LaunchOptions::default()
        })
    }

    /// Keeps when and where tasks ran, if it was recorded.
    pub(crate) fn keep(&self, timeline: Option<Timeline>) {
        if timeline.is_some() {
            *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) = timeline;
        }
    }

    /// The arguments of a call that runs no task, or claims its arrays later.
    pub(crate) fn bind(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        need: Need,
    ) -> PyResult<Arguments> {
        self.bound(py, named, need, Arguments::read)
    }

    /// The arguments of a call, with copies of the arrays that need one: `take` makes them.
    fn bound(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        need: Need,
        take: impl FnOnce(&mut Arguments) -> Result<(), Diagnostic>,
    ) -> PyResult<Arguments> {
        let bound = inputs::bind(&self.signature, self.module(), named, need);
        let taken = bound.and_then(|mut arguments| match take(&mut arguments) {
            Ok(()) => Ok(arguments),
            Err(fault) => Err(vec![fault]),
        });
        taken.map_err(|faults| errors::exception(py, &faults, &self.sources))
    }

    /// The options of a run.
    ///
    /// # Errors
    /// A kernel has no body; an option that does not exist or has a wrong value.
    pub(crate) fn run_options(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<WorkloadOptions> {
        match &self.declared_only {
            Some(fault) => Err(errors::exception(py, std::slice::from_ref(fault), &self.sources)),
            None => options::run(py, options),
        }
    }

    /// The arguments and options of a run.
    pub(crate) fn launch(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Arguments, WorkloadOptions)> {
        let mut options = self.run_options(py, options)?;
        let arguments = self.bound(py, named, Need::Everything, Arguments::claim)?;
        options.claim.clone_from(&arguments.claim);
        Ok((arguments, options))
    }
}

/// A workload lacks something that host entries have.
fn of_workload(lacks: &str) -> Diagnostic {
    Diagnostic::error(OF_OTHERS, format!("a workload has {lacks}"))
        .help("plans are of host entries of `.pto` files: `load(\"file.pto\").program()`")
}

/// What a launch gives in the form of what workloads give.
fn of_launch(outcome: Outcome) -> WorkloadOutcome {
    let Outcome { outputs, unwritten, stats, notes } = outcome;
    WorkloadOutcome {
        outputs,
        unwritten,
        bodies: Bodies::Library,
        threads: stats.threads,
        kernels: stats.kernels,
        params: Vec::new(),
        library_params: stats.params,
        schedule: Vec::new(),
        run_ns: stats.times.run,
        runtime: stats.runtime,
        aicpus: None,
        notes,
    }
}
