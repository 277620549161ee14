//! What is compiled: shared by programs, runs and bound programs.

use crate::errors;
use crate::inputs::{self, Arguments, Need};
use crate::kept::Kept;
use crate::kernels::Function;
use crate::options;
use crate::outcome::Ran;
use crate::own::{LaunchOptions, Plan, PlanProgram};
use crate::pages;
use crate::signature::Signature;
use crate::sources::Sources;
use pto_wsp::cache::CachedPlan;
use pto_wsp::codes::OPTION_OF_OTHERS;
use pto_wsp::trace::key_of_workload;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wsp_backend::{Absent, Args, Expand, KvLayout, Outcome, Program, RunOptions, StartOrder};
use wsp_diag::Diagnostic;
use wsp_ir::workload::{PoolSizes, Trace, WorkloadModule};
use wsp_kernel::{CodeCache, Mode};
use wsp_memory::PerProcess;
use wsp_ordered::OrderedMap;
use wsp_plan::workload::{WorkloadPlan, bind, count};
use wsp_plan::{LoweredPlan, ParamValue, ProgramKind};
use wsp_runtime::timeline::Timeline;

/// Tasks in flight, of a program all of whose kernels are functions of Python. One of them takes microseconds, so that generation runs ahead until the window is full:
/// so many are enough for all threads, and what is kept of them stays in the caches.
const WINDOW_OF_FUNCTIONS: u32 = 1024;

/// What was compiled.
pub(crate) enum Body {
    /// A workload.
    Workload(Arc<WorkloadPlan>),
    /// The host entry of a `.pto` file.
    Launch {
        /// Its plan.
        plan: Arc<LoweredPlan>,
        /// What keeps descriptors of its generators, as soon as that is asked for.
        kept: OnceLock<PlanProgram>,
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
    /// What runs it.
    pub(crate) program: Box<dyn Program>,
    /// The backend that runs it, and why it is that one.
    pub(crate) backend: String,
    /// What was compiled.
    pub(crate) body: Body,
    /// What it takes by name.
    pub(crate) signature: Signature,
    /// The user's files.
    pub(crate) sources: Sources,
    /// The first kernel that is only declared, as a fault of running it.
    pub(crate) declared_only: Option<Diagnostic>,
    /// What the compilation warns of.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Functions that its kernels call.
    pub(crate) functions: Vec<Arc<Function>>,
    /// Kernels as the user named them, with what runs for their tasks.
    pub(crate) bodies: Vec<(String, &'static str)>,
    pub(crate) compile_ns: u64,
    /// What a cache has of it, if one was asked for.
    pub(crate) cached: Option<CachedPlan>,
    /// When and where tasks ran, of the last run that recorded it.
    pub(crate) timeline: Mutex<Option<Arc<Timeline>>>,
    /// Values of sizes, and the number of tasks that the last run had with them, where there are no tables.
    pub(crate) counted: PerProcess<Option<Counted>>,
    /// What the last run of few tasks on the thread of its caller has bound.
    pub(crate) again: PerProcess<Option<Kept>>,
}

/// Values of sizes, and the number of tasks that follow from them.
pub(crate) type Counted = (Vec<(String, ParamValue)>, Option<u64>);

impl Inner {
    /// Whether a run with these options stays on the thread of its caller.
    pub(crate) fn on_caller(&self, options: &RunOptions) -> bool {
        options.sequential && matches!(&self.body, Body::Workload(plan) if plan.library.is_none())
    }

    /// Whether functions of the caller may run for its tasks.
    pub(crate) fn has_functions(&self) -> bool {
        matches!(self.body, Body::Workload(_))
    }

    /// Whether functions of the caller run for its tasks.
    pub(crate) fn calls_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Streams of the schedule, where it has some.
    pub(crate) fn streams(&self) -> Option<u32> {
        match &self.body {
            Body::Workload(plan) => plan.schedule.policy.streams,
            Body::Launch { .. } => None,
        }
    }

    /// Sets the window of runs on threads, where the schedule leaves it open and all kernels are functions. A recorded order of starts may need the window
    /// that it was recorded with.
    pub(crate) fn set_window(&self, options: &mut RunOptions) {
        let Body::Workload(plan) = &self.body else { return };
        let all = self.calls_functions() && self.functions.len() == self.bodies.len();
        let open = plan.schedule.policy.window.is_none() && options.window.is_none();
        if all && open && options.workload.aicpus == 0 && options.replay.is_none() {
            options.window = Some(WINDOW_OF_FUNCTIONS);
        }
    }

    /// Whether the schedule asks for times of tasks.
    pub(crate) fn measures(&self) -> bool {
        matches!(&self.body, Body::Workload(plan) if plan.schedule.policy.trace != Trace::None)
    }

    /// Whether no two tasks could run at once, so that a run need not leave the thread of its caller: there is one task at most, or
    /// one worker and no schedule that tells it more than what tasks say themselves.
    pub(crate) fn alone(&self, args: &Args, options: &RunOptions) -> bool {
        let Body::Workload(plan) = &self.body else { return false };
        let schedule = &plan.schedule;
        if plan.library.is_some()
            || options.trace
            || options.replay.is_some()
            || options.workload.aicpus != 0
            || options.plain
            || schedule.policy.grid.is_some()
            || self.measures()
        {
            return false;
        }
        if options.threads == 1 && schedule.lines.is_empty() {
            return true;
        }
        schedule.policy.pools == PoolSizes::Shared && self.tasks(args).is_some_and(|tasks| tasks <= 1)
    }

    /// The number of tasks, where it is known before they are generated.
    pub(crate) fn tasks(&self, args: &Args) -> Option<u64> {
        let Body::Workload(plan) = &self.body else { return None };
        let mut counted = self.counted.lock();
        if let Some((_, tasks)) =
            counted.as_ref().filter(|(of, _)| args.arrays.is_empty() && *of == args.values)
        {
            return *tasks;
        }
        let table = |name: &String| Some((name.clone(), args.arrays.get(name)?.as_slice::<i64>()?.to_vec()));
        let tables: OrderedMap<String, Vec<i64>> = args.arrays.keys().filter_map(table).collect();
        let tasks = count(&plan.module, &bind(&plan.module, &args.values, &tables).ok()?);
        *counted = args.arrays.is_empty().then(|| (args.values.clone(), tasks));
        tasks
    }

    /// The workload's module.
    pub(crate) fn module(&self) -> &WorkloadModule {
        match &self.body {
            Body::Workload(plan) => &plan.module,
            Body::Launch { module, .. } => module,
        }
    }

    /// The workload, for what only workloads can do: `what` says it, and `help` what a host entry can do.
    pub(crate) fn workload(&self, py: Python<'_>, what: &str, help: &str) -> PyResult<&WorkloadPlan> {
        match &self.body {
            Body::Workload(plan) => Ok(plan),
            Body::Launch { .. } => {
                let message = format!("the host entry of a `.pto` file {what}");
                Err(errors::fault(py, Diagnostic::error(OPTION_OF_OTHERS, message).help(help)))
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
        options: &RunOptions,
    ) -> Result<Ran, Vec<Diagnostic>> {
        let ran = self.program.execute(arguments.args.clone(), options.clone())?;
        Ok(self.told(ran, arguments))
    }

    /// What a run gave, with what there is to say of its arrays and of machine code.
    pub(crate) fn told(&self, outcome: Outcome, arguments: &Arguments) -> Ran {
        let mut ran = Ran::from(outcome);
        self.tell(&mut ran, arguments);
        ran.notes.extend(self.keep_code());
        ran
    }

    /// Keeps machine code that runs have made since the last one; a note where that cannot be.
    pub(crate) fn keep_code(&self) -> Option<Diagnostic> {
        self.cached.as_ref()?.keep().err()
    }

    /// Where machine code goes.
    fn code(&self) -> Option<CodeCache> {
        self.cached.as_ref().map(CachedPlan::code)
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// What failed the run.
    pub(crate) fn execute_plan(
        &self,
        plan: &Plan,
        arguments: &Arguments,
        options: &RunOptions,
    ) -> Result<Ran, Vec<Diagnostic>> {
        let program = self.planner().ok_or_else(|| vec![of_workload("no plans")])?;
        let launch = self.launch_options(arguments, options)?;
        let mut ran = Ran::from(program.execute_plan(plan, &arguments.args.arrays, &launch)?);
        self.tell(&mut ran, arguments);
        ran.notes.extend(self.keep_code());
        Ok(ran)
    }

    /// Adds what there is to say of the arrays of a run.
    fn tell(&self, outcome: &mut Ran, arguments: &Arguments) {
        let caches = self.signature.library.arrays.iter().filter(|array| array.is_cache);
        let caches: Vec<&str> = caches.map(|array| array.name.as_str()).collect();
        outcome.notes.extend(pages::notes(&caches, arguments, &outcome.outputs));
    }

    /// What keeps descriptors of a host entry.
    fn planner(&self) -> Option<&PlanProgram> {
        let Body::Launch { plan, kept, .. } = &self.body else { return None };
        Some(kept.get_or_init(|| PlanProgram::new(plan.clone()).with_code(self.code().as_ref())))
    }

    /// What keeps descriptors of a host entry, for what only these can do.
    pub(crate) fn launch_program(&self, py: Python<'_>, lacks: &str) -> PyResult<&PlanProgram> {
        self.planner().ok_or_else(|| errors::fault(py, of_workload(lacks)))
    }

    /// The options of a run as those of a kept plan.
    ///
    /// # Errors
    /// Options that do not apply.
    pub(crate) fn launch_options(
        &self,
        arguments: &Arguments,
        options: &RunOptions,
    ) -> Result<LaunchOptions, Vec<Diagnostic>> {
        options.check(ProgramKind::Spaces)?;
        if let Some(StartOrder::Seed(_)) = options.replay {
            let fault = Diagnostic::error(
                OPTION_OF_OTHERS,
                "runs of a plan take the order of starts of a trace, not of a seed",
            );
            return Err(vec![fault.help("run the program with `replay=SEED` and `enable_profiling=True`, write its trace, and give that: `replay=\"t.pftrace\"`")]);
        }
        let mode = match &self.body {
            Body::Launch { mode, .. } => *mode,
            Body::Workload(_) => Mode::default(),
        };
        Ok(LaunchOptions {
            threads: if options.sequential { 1 } else { options.threads },
            sequential: options.sequential,
            aicpus: options.workload.aicpus,
            kv_layout: options.spaces.kv_layout,
            set: arguments.args.values.clone(),
            window: options.window,
            seed: options.seed,
            replay: options.replay.as_ref().and_then(StartOrder::starts).cloned(),
            trace: options.trace,
            recording: options.recording,
            mode: if options.plain || options.sequential { Mode::Plain } else { mode },
            cancel: options.cancel.clone(),
            views: arguments.args.views.clone(),
            claim: options.claim.clone(),
            ..LaunchOptions::default()
        })
    }

    /// Keeps when and where tasks ran, if it was recorded.
    pub(crate) fn keep(&self, timeline: Option<Timeline>) {
        if let Some(mut timeline) = timeline {
            timeline.about.key = Some(key_of_workload(self.module()));
            *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(timeline));
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

    /// The arguments of a run, which claims its arrays.
    pub(crate) fn claimed(&self, py: Python<'_>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Arguments> {
        self.bound(py, named, Need::Everything, Arguments::claim)
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
        let taken = bound.and_then(|mut arguments| {
            take(&mut arguments)?;
            Ok(arguments)
        });
        taken.map_err(|refusal| refusal.error(py, &self.sources))
    }

    /// The options of a run.
    ///
    /// # Errors
    /// A kernel has no body; an option that does not exist or has a wrong value.
    pub(crate) fn run_options(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<RunOptions> {
        match &self.declared_only {
            Some(fault) => Err(errors::exception(py, std::slice::from_ref(fault), &self.sources)),
            None => {
                let mut found = self.own_options(py, options)?;
                if matches!(&self.body, Body::Workload(plan) if plan.library.is_none()) {
                    found.workload.absent = Absent::Zeros;
                }
                self.set_window(&mut found);
                Ok(found)
            }
        }
    }

    /// Options of a run or a simulation, with those that the program was compiled with.
    pub(crate) fn own_options(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<RunOptions> {
        let mut found = options::run(py, options)?;
        // Without AICPUs it has no meaning, and the package names it in each run.
        if found.workload.aicpus == 0 {
            found.workload.expand = Expand::default();
        }
        match &self.body {
            Body::Workload(plan) if plan.library.is_none() => {}
            // Kernels of a file have no `out` regions: a run records what they store.
            Body::Workload(_) => found.workload.whole_outs = false,
            Body::Launch { kv_layout, .. } => {
                found.workload.whole_outs = false;
                // The package names it in each run.
                found.workload.expand = Expand::default();
                found.spaces.kv_layout = *kv_layout;
            }
        }
        Ok(found)
    }

    /// The arguments and options of a run.
    pub(crate) fn launch(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Arguments, RunOptions)> {
        let mut options = self.run_options(py, options)?;
        let arguments = self.claimed(py, named)?;
        options.claim.clone_from(&arguments.claim);
        Ok((arguments, options))
    }
}

/// A workload lacks something that host entries have.
fn of_workload(lacks: &str) -> Diagnostic {
    Diagnostic::error(OPTION_OF_OTHERS, format!("a workload has {lacks}"))
        .help("plans are of host entries of `.pto` files: `load(\"file.pto\").program()`")
}
