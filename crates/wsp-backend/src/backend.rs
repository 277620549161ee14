//! Backends, and what they make of plans.

use crate::args::Args;
use crate::codes::{NO_FILES, NOT_LISTED, NOT_TAKEN};
use crate::error::RunError;
use crate::graph::{GraphListing, GraphOptions, Simulated};
use crate::growth::{Advance, Growth};
use crate::options::RunOptions;
use crate::outcome::{Explanation, Outcome};
use crate::package::{CheckedKernels, CheckedLaunch, EmitOptions, Emitted, KernelsSource};
use crate::run::Run;
use crate::table::LaunchTable;
use crate::transfer::Transferred;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_diag::{Diagnostic, Diagnostics, Span};
use wsp_ir::tg::TgModule;
use wsp_ir::workload::{StatementKind, WorkloadModule, each_node};
use wsp_ir::{Module, Support};
use wsp_memory::Claim;
use wsp_plan::target::model::Model;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{CompileOptions, ParamValue, PlanSource, Target, UnitSource};
use wsp_tg::LintOptions;

/// What compiles plans for targets.
pub trait Backend: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The targets that it runs.
    fn targets(&self) -> &'static [&'static Target];

    /// Whether it takes this kind of statements of workloads: document 004's `supports(NodeKind)`. Unless a backend says something else, it
    /// takes what the table of statements does not refuse.
    fn supports_statement(&self, kind: StatementKind) -> bool {
        kind.row().host.support != Support::Error
    }

    /// What of a plan for one of its targets it cannot do; empty where it takes all of the plan. Unless a backend says something else, these are
    /// the statements of a workload that it does [not take](Self::supports_statement).
    fn supports(&self, plan: &PlanSource) -> Vec<Diagnostic> {
        match plan {
            PlanSource::Workload(plan) => statements(&plan.module)
                .into_iter()
                .filter(|(kind, _)| !self.supports_statement(*kind))
                .map(|(kind, span)| not_taken(self.name(), kind, span))
                .collect(),
            PlanSource::Spaces(_) | PlanSource::Unit(_) => Vec::new(),
        }
    }

    /// Checks what every launch with the defaults of a `.pto` program refuses, whatever its arrays are. Unless a backend says something
    /// else, this is found at launch.
    ///
    /// # Errors
    /// Values of parameters, requirements, extents and tiles of axes, workspace slots.
    fn check_defaults(&self, module: &Module) -> Result<(), Diagnostics> {
        let _ = module;
        Ok(())
    }

    /// What is wrong with a unit of task graphs, or probably not meant, that its kernels and the layout of a run show without a run.
    /// Unless a backend says something else, this is found when the unit is compiled and run.
    fn check_unit(&self, unit: &UnitSource, options: &LintOptions) -> Vec<Diagnostic> {
        let _ = (unit, options);
        Vec::new()
    }

    /// Compiles a plan for one of its targets.
    ///
    /// # Errors
    /// What it cannot do, kernels without a body, options of the backend that do not fit the plan.
    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics>;

    /// Compiles a workload of declared kernels under one of its schedules, or under the one that it applies. It is document 004's
    /// `compile(workload, schedule)`, and `compile(pipeline, schedule)` where the workload is a pipeline.
    ///
    /// # Errors
    /// A workload that breaks a rule, a schedule that the target cannot keep; as [`compile`](Self::compile).
    fn compile_workload(
        &self,
        workload: WorkloadModule,
        schedule: Option<&str>,
    ) -> Result<Box<dyn Program>, Diagnostics> {
        let options = CompileOptions { schedule: schedule.map(str::to_owned), ..CompileOptions::default() };
        let plan = WorkloadPlan::new(workload, None, &options)?.into();
        match self.supports(&plan) {
            found if found.is_empty() => self.compile(&plan),
            found => Err(found.into()),
        }
    }

    /// The targets for which it writes files.
    fn emits(&self) -> &'static [&'static Target] {
        &[]
    }

    /// Whether its files are of one launch, whose arrays and values are known as they are written ([`EmitOptions::launch`]).
    fn emits_one_launch(&self) -> bool {
        false
    }

    /// Writes a plan as files for one of these targets.
    ///
    /// # Errors
    /// It writes none for the plan's target, or cannot write all of the plan.
    fn emit(&self, plan: &PlanSource, options: &EmitOptions) -> Result<Emitted, Diagnostics> {
        let _ = options;
        Err(no_files(self.name(), plan.target()).into())
    }

    /// Writes the kernels of a file as source text for one of these targets.
    ///
    /// # Errors
    /// It writes none for the target, or cannot write all of them.
    fn emit_kernels(&self, source: &KernelsSource) -> Result<Emitted, Diagnostics> {
        Err(no_files(self.name(), source.target).into())
    }

    /// Looks at the kernels of a file as [`emit_kernels`](Self::emit_kernels) does, all of them, and writes nothing.
    fn check_kernels(&self, source: &KernelsSource) -> CheckedKernels {
        CheckedKernels { kernels: Vec::new(), found: vec![no_files(self.name(), source.target)] }
    }

    /// Looks at a launch as [`emit`](Self::emit) does where files are of [one launch](Self::emits_one_launch), and writes nothing. Arrays that are not given have the extents that
    /// values tell. Unless a backend says something else, nothing depends on a launch.
    fn check_launch(&self, plan: &PlanSource, launch: &Args) -> CheckedLaunch {
        let _ = (plan, launch);
        CheckedLaunch::default()
    }

    /// Looks at a launch before its arrays are made, of which parameters and extents are known by name. Unless a backend says something else, what does not fit is found when it is bound.
    ///
    /// # Errors
    /// The launch is larger than its target takes.
    fn check_values(&self, plan: &PlanSource, values: &[(String, ParamValue)]) -> Result<(), Diagnostics> {
        let _ = (plan, values);
        Ok(())
    }

    /// Whether its runs take copies of arrays, since its targets have memory of their own, or another process runs them. It then takes no views of memory of the caller.
    fn copies_arrays(&self) -> bool {
        false
    }
}

/// A compiled plan. It may be used from several threads at once; each run is separate.
pub trait Program: Send + Sync {
    /// What a run would do, without running anything.
    ///
    /// # Errors
    /// Arguments and options that do not fit; what only a run tells.
    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError>;

    /// What runs the tasks, part by part, for people: the ready policy that holds, the types of ready queue and window, what runs kernels.
    /// By default nothing.
    ///
    /// # Errors
    /// Options that this program does not take, or that its schedule contradicts.
    fn implementation(&self, options: &RunOptions) -> Result<Vec<(&'static str, String)>, RunError> {
        let _ = options;
        Ok(Vec::new())
    }

    /// The tasks and their edges, without running anything.
    ///
    /// # Errors
    /// Arguments that do not fit, tasks that depend on what others compute, more tasks than a graph can have, a program whose tasks only
    /// a run tells.
    fn graph(&self, args: &Args, options: &GraphOptions) -> Result<GraphListing, RunError> {
        let _ = (args, options);
        Err(unlisted("graph of its tasks"))
    }

    /// Where the parts of a launch are on an array of tiles, and what flows between them, as a picture (SVG).
    ///
    /// # Errors
    /// As [`graph`](Self::graph); a program that has no such places.
    fn placement(&self, args: &Args) -> Result<String, RunError> {
        let _ = args;
        Err(unlisted("places on tiles; targets `xdna1` and `xdna2` have"))
    }

    /// The tasks and their edges, as they are for these arguments, as a unit of task graphs. Of the arguments only values and tables count.
    ///
    /// # Errors
    /// As [`graph`](Self::graph), and tasks that a unit has no form for.
    fn unit(&self, args: &Args, options: &GraphOptions) -> Result<TgModule, RunError> {
        let _ = (args, options);
        Err(unlisted("form as a task graph"))
    }

    /// Runs the program in virtual time: every task takes the cycles that its kernel costs. No kernel runs, but those of task graphs, on
    /// copies of the arguments. What it shows is the same each time.
    ///
    /// # Errors
    /// As [`graph`](Self::graph), and what would fail a run; options that have no meaning where no kernel runs.
    fn simulate(&self, args: &Args, options: &RunOptions) -> Result<Simulated, RunError> {
        self.simulate_on(args, options, None)
    }

    /// Runs the program in virtual time on a machine: where the schedule says no number of workers, they are the machine's units, in the order
    /// of their numbers, and a task whose kernel is not said to cost takes what the machine takes for what the kernel does. Without a
    /// machine it is [`simulate`](Self::simulate).
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate); a schedule that asks for more units than there are, a number of threads beside a machine, a kernel
    /// that the machine has no figures for.
    fn simulate_on(
        &self,
        args: &Args,
        options: &RunOptions,
        machine: Option<&Model>,
    ) -> Result<Simulated, RunError> {
        let _ = (args, options, machine);
        Err(unlisted("virtual time"))
    }

    /// Checks options before there are arguments. Unless a program says something else, they are checked when a run is prepared.
    ///
    /// # Errors
    /// Options that this program does not take, or that its schedule contradicts.
    fn check(&self, options: &RunOptions) -> Result<(), RunError> {
        let _ = options;
        Ok(())
    }

    /// Checks what a run refuses for the order and the costs of its tasks, without running anything: of tasks up to the first that others
    /// decide on, and nothing of more than `most` tasks.
    ///
    /// # Errors
    /// Conflicts that nothing orders, costs that cannot be, arguments that do not fit; a program whose tasks only a run tells.
    fn check_order(&self, args: &Args, most: u32) -> Result<(), RunError> {
        let _ = (args, most);
        Err(unlisted("order of its tasks that is known before a run"))
    }

    /// The bytes that a launch on this many AICPUs transfers. Of the arguments only values and tables count.
    ///
    /// # Errors
    /// Arguments that do not fit, a program that AICPUs do not take.
    fn transfer(
        &self,
        args: &Args,
        aicpus: u16,
        cancel: Option<&Arc<AtomicBool>>,
    ) -> Result<Transferred, RunError> {
        let _ = (args, aicpus, cancel);
        Err(unlisted("program for AICPUs"))
    }

    /// The tasks of a launch with these arguments, as a package has them as constants. No kernel runs.
    ///
    /// # Errors
    /// Arguments that do not fit, tasks that depend on what others compute, a program whose tasks only a run tells.
    fn table(&self, args: &Args, options: &RunOptions) -> Result<LaunchTable, RunError> {
        let _ = (args, options);
        Err(unlisted("table of its tasks"))
    }

    /// Checks and binds what a run takes. A program that writes arrays of the caller may hold its claim on them from here on.
    ///
    /// # Errors
    /// Arguments that do not fit, options that this kind of program does not take.
    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError>;

    /// Runs once.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare) and [`Prepared::run`].
    fn execute(&self, args: Args, options: RunOptions) -> Result<Outcome, RunError> {
        self.prepare(args, options)?.run()
    }

    /// Starts a run on a thread of its own.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); the system makes no thread.
    fn execute_async(&self, args: Args, mut options: RunOptions) -> Result<Run, RunError> {
        let own = options.cancel.is_none();
        let cancel = options.cancel.get_or_insert_default().clone();
        Run::start(self.prepare(args, options)?, cancel, own)
    }
}

/// A program with arguments. Each run begins as the first: only arrays of the caller keep what earlier ones wrote.
pub trait Prepared: Send {
    /// Warnings and notes that are known before a run; those of the outcome have them too.
    fn notes(&self) -> &[Diagnostic];

    /// Runs the program for what it writes to arrays of the caller; `claim` is what the caller has claimed of them for this run, without
    /// which the run claims them itself.
    ///
    /// # Errors
    /// Another run uses arrays of the caller and one of both writes them; the first failure. It can be run again.
    fn launch(&mut self, claim: Option<&Arc<Claim>>) -> Result<(), RunError>;

    /// What the last run gave. Where tasks do not keep what they wrote, it is given once.
    ///
    /// # Errors
    /// The outcome was taken, or nothing has run; there is no memory for a copy of the outputs.
    fn outcome(&mut self) -> Result<Outcome, RunError>;

    /// Runs the program and gives the outcome.
    ///
    /// # Errors
    /// As [`launch`](Self::launch) and [`outcome`](Self::outcome).
    fn run(&mut self) -> Result<Outcome, RunError> {
        self.launch(None)?;
        self.outcome()
    }

    /// Takes arguments in place of those of the same names, for the runs to come.
    ///
    /// # Errors
    /// As [`Program::prepare`]. Then the arguments stay as they were.
    fn rebind(&mut self, args: Args) -> Result<(), RunError>;

    /// Lets go of the arrays of the caller, where the program can do without them until a [`rebind`](Self::rebind) that names all of them; whether it
    /// could. A run before that is refused.
    fn release(&mut self) -> bool {
        false
    }

    /// Brings the tasks of a program that keeps them up to date when requests grow. Runs to come take arrays of the lengths that it was
    /// advanced to ([`rebind`](Self::rebind)), and generate no tasks.
    ///
    /// # Errors
    /// A program whose tasks are not kept; lengths that cannot be.
    fn advance(&mut self, growth: Growth<'_>) -> Result<Advance, RunError> {
        let _ = growth;
        Err(unlisted("tasks that it keeps from run to run"))
    }
}

/// The statements of the workloads that the entry of a module reaches, each kind once, in the order of the text.
fn statements(module: &WorkloadModule) -> Vec<(StatementKind, Span)> {
    let reached = module.entry.map(|entry| module.reached(entry)).unwrap_or_default();
    let mut found: Vec<(StatementKind, Span)> = Vec::new();
    for (workload, _) in module.workloads.iter().zip(reached).filter(|(_, reached)| *reached) {
        each_node(&workload.body, &mut |node| {
            let kind = node.kind.statement();
            if found.iter().all(|(other, _)| *other != kind) {
                found.push((kind, node.span));
            }
        });
    }
    found
}

/// A statement that a backend does not take.
fn not_taken(backend: &str, kind: StatementKind, span: Span) -> Diagnostic {
    let primitive = kind.row().host.primitive;
    Diagnostic::error(NOT_TAKEN, format!("backend `{backend}` takes no `{primitive}`"))
        .at(span, "the first of them")
        .help("choose another target, or another backend")
}

/// A backend writes nothing for a target.
fn no_files(backend: &str, target: &Target) -> Diagnostic {
    let message = format!("backend `{backend}` writes no files for target `{}`", target.name);
    Diagnostic::error(NO_FILES, message).help("choose another target, or another backend")
}

/// A program has none of this.
fn unlisted(what: &str) -> RunError {
    RunError::Refused(Diagnostic::error(NOT_LISTED, format!("the program has no {what}")).into())
}
