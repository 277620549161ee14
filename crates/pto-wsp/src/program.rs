//! Compiled programs, with arguments and while they run.

use crate::{Error, Source};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wsp_backend::{
    Advance, Args, Explanation, GraphListing, GraphOptions, Growth, Outcome, Registry, RunError, RunOptions,
    Simulated,
};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::tg::TgModule;
use wsp_plan::target::model::Model;
use wsp_plan::{PlanSource, ProgramKind};

/// A compiled program of any kind. It may be used from several threads at once; each run is separate.
///
/// ```
/// use pto_wsp::{Args, Array, Program, RunOptions};
///
/// let program = Program::from_source("scale.wsp", "
///     tensor x: f32[4]; kernel scale(inout x); workload main { scale(x); }
/// ");
/// // The kernel is declared and has no body: `Source::kernel` gives it one.
/// let error = program?.execute(Args::new().with("x", vec![1.0f32; 4]), RunOptions::default()).unwrap_err();
/// assert!(error.to_string().contains("scale"));
/// # Ok::<(), pto_wsp::Error>(())
/// ```
pub struct Program {
    program: Box<dyn wsp_backend::Program>,
    kind: ProgramKind,
    notes: Vec<Diagnostic>,
    sources: Arc<SourceMap>,
}

/// A program with its arguments. Each run begins as the first: only arrays of the caller keep what earlier ones wrote.
pub struct Prepared {
    prepared: Box<dyn wsp_backend::Prepared>,
    notes: Vec<Diagnostic>,
    sources: Arc<SourceMap>,
}

/// A run that goes on while its caller does other things. One that is dropped is waited for, and cancelled before if its options had no flag
/// for that.
#[must_use = "a run that is dropped is waited for"]
#[derive(Debug)]
pub struct Run {
    run: wsp_backend::Run,
    sources: Arc<SourceMap>,
}

impl Program {
    /// Compiles a file that uses no others: [`Source`] has what can be given with it.
    ///
    /// # Errors
    /// As [`Source::compile`].
    pub fn from_source(name: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Result<Program, Error> {
        Source::text(name, content).compile()
    }

    /// Reads and compiles the file at a path, with those that it uses.
    ///
    /// # Errors
    /// As [`Source::open`] and [`Source::compile`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Program, Error> {
        Source::open(path)?.compile()
    }

    /// Compiles a plan, by the backend of a registry that takes it: [`registry`](crate::backend::registry) has those that there are.
    ///
    /// # Errors
    /// No backend runs its target or takes all of it, kernels without a body.
    pub fn from_plan(plan: impl Into<PlanSource>, registry: &Registry) -> Result<Program, Error> {
        Program::of(&plan.into(), registry, Vec::new(), SourceMap::default())
    }

    pub(crate) fn of(
        plan: &PlanSource,
        registry: &Registry,
        notes: Vec<Diagnostic>,
        sources: SourceMap,
    ) -> Result<Program, Error> {
        let compiled = registry.select(plan).and_then(|selection| selection.backend().compile(plan));
        let program = compiled.map_err(|found| Error::in_sources(found, &sources))?;
        Ok(Program { program, kind: plan.kind(), notes: in_rust(notes), sources: Arc::new(sources) })
    }

    /// What kind of program it is.
    pub fn kind(&self) -> ProgramKind {
        self.kind
    }

    /// Warnings and notes of its compilation.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// The text of its files, into which findings point.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Runs it once.
    ///
    /// # Errors
    /// Arguments or options that do not fit; the first failure.
    pub fn execute(&self, args: Args, options: RunOptions) -> Result<Outcome, Error> {
        self.program.execute(args, options).map(told).map_err(|error| self.error(error))
    }

    /// Starts a run on a thread of its own.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); the system makes no thread.
    pub fn start(&self, args: Args, options: RunOptions) -> Result<Run, Error> {
        let run = self.program.execute_async(args, options).map_err(|error| self.error(error))?;
        Ok(Run { run, sources: self.sources.clone() })
    }

    /// Checks and binds what runs take, so that further runs do not.
    ///
    /// # Errors
    /// Arguments or options that do not fit.
    pub fn prepare(&self, args: Args, options: RunOptions) -> Result<Prepared, Error> {
        let prepared = self.program.prepare(args, options).map_err(|error| self.error(error))?;
        let notes = in_rust(prepared.notes().to_vec());
        Ok(Prepared { prepared, notes, sources: self.sources.clone() })
    }

    /// What a run would do, without running anything.
    ///
    /// # Errors
    /// Arguments or options that do not fit, or that have no effect on a list of tasks.
    pub fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, Error> {
        let mut explained = self.program.explain(args, options).map_err(|error| self.error(error))?;
        explained.notes = in_rust(explained.notes);
        Ok(explained)
    }

    /// What runs the tasks under these options, part by part, for people: the ready policy that holds, the types of ready queue and window,
    /// what runs kernels of files.
    ///
    /// # Errors
    /// Options that this program does not take, or that its schedule contradicts.
    pub fn implementation(&self, options: &RunOptions) -> Result<Vec<(&'static str, String)>, Error> {
        self.program.implementation(options).map_err(|error| self.error(error))
    }

    /// The tasks and their edges, without running anything. Of a task graph these are nodes as its file has them, those of all graphs in order;
    /// how often each runs, a run or [`simulate`](Self::simulate) tells.
    ///
    /// # Errors
    /// Arguments that do not fit, tasks that depend on what others compute.
    pub fn graph(&self, args: &Args, options: &GraphOptions) -> Result<GraphListing, Error> {
        self.program.graph(args, options).map_err(|error| self.error(error))
    }

    /// The tasks and their edges, as they are for these arguments, as a unit of task graphs, which runs by [`Source::unit`] with functions of the same
    /// names ([`Source::unit_kernels`]). Of the arguments only values and tables count.
    ///
    /// # Errors
    /// As [`graph`](Self::graph); no workload; what a unit has no form for: kernels of a used file, integers and slots as arguments, regions
    /// whose elements do not lie together.
    pub fn unit(&self, args: &Args) -> Result<TgModule, Error> {
        self.program.unit(args, &GraphOptions::default()).map_err(|error| self.error(error))
    }

    /// Runs it in virtual time: no kernel runs, and every task takes the cycles that its kernel costs.
    ///
    /// # Errors
    /// As [`graph`](Self::graph), and what would fail a run.
    pub fn simulate(&self, args: &Args, options: &RunOptions) -> Result<Simulated, Error> {
        self.in_virtual_time(args, options, None)
    }

    /// Runs it in virtual time on the units of a machine; a task whose kernel is not said to cost takes what the machine takes for what the
    /// kernel does, in cycles of its clock.
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate), and what the machine cannot run or has no figures for: kernels without operations, AICPUs of a machine that has none.
    pub fn simulate_on(
        &self,
        args: &Args,
        options: &RunOptions,
        machine: &Model,
    ) -> Result<Simulated, Error> {
        self.in_virtual_time(args, options, Some(machine))
    }

    fn in_virtual_time(
        &self,
        args: &Args,
        options: &RunOptions,
        machine: Option<&Model>,
    ) -> Result<Simulated, Error> {
        let simulated = self.program.simulate_on(args, options, machine);
        let mut simulated = simulated.map_err(|error| self.error(error))?;
        simulated.notes = in_rust(simulated.notes);
        Ok(simulated)
    }

    fn error(&self, error: RunError) -> Error {
        Error::of_run(error, &self.sources)
    }
}

impl Prepared {
    /// Warnings and notes that are known before a run.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// Runs it.
    ///
    /// # Errors
    /// The first failure. It can be run again.
    pub fn run(&mut self) -> Result<Outcome, Error> {
        self.prepared.run().map(told).map_err(|error| Error::of_run(error, &self.sources))
    }

    /// Takes arguments in place of those of the same names, for the runs to come.
    ///
    /// # Errors
    /// Arguments that do not fit. Then the arguments stay as they were.
    pub fn rebind(&mut self, args: Args) -> Result<(), Error> {
        self.prepared.rebind(args).map_err(|error| Error::of_run(error, &self.sources))?;
        self.notes = in_rust(self.prepared.notes().to_vec());
        Ok(())
    }

    /// Brings the tasks up to date when requests grow, and keeps them from then on: runs generate none. Arrays of the new lengths are to be
    /// [given](Self::rebind) before the next run.
    ///
    /// # Errors
    /// No program of spaces over a paged cache; lengths that cannot be. A fault of a generator: then runs are refused until it is advanced to
    /// lengths that fit ([`Growth::To`]).
    pub fn advance(&mut self, growth: Growth<'_>) -> Result<Advance, Error> {
        self.prepared.advance(growth).map_err(|error| Error::of_run(error, &self.sources))
    }
}

impl Run {
    /// Whether it has ended, well or not.
    pub fn is_complete(&self) -> bool {
        self.run.is_complete()
    }

    /// Asks it to stop; what is running ends first.
    pub fn cancel(&self) {
        self.run.cancel();
    }

    /// Waits for its end, at most so long; whether it has ended, well or not. [`wait`](Self::wait) gives the outcome.
    pub fn wait_for(&self, timeout: Duration) -> bool {
        self.run.wait_for(timeout)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What failed it; [`RunError::Cancelled`] when it was cancelled.
    ///
    /// # Panics
    /// When the run did.
    pub fn wait(self) -> Result<Outcome, Error> {
        self.run.synchronize().map(told).map_err(|error| Error::of_run(error, &self.sources))
    }
}

/// Notes in the words of Rust.
fn in_rust(notes: Vec<Diagnostic>) -> Vec<Diagnostic> {
    notes.into_iter().map(Diagnostic::in_rust).collect()
}

/// An outcome whose notes are in the words of Rust.
fn told(mut outcome: Outcome) -> Outcome {
    outcome.notes = in_rust(outcome.notes);
    outcome
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}", self.kind, self.sources.names().collect::<Vec<_>>())
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "prepared program of {:?}", self.sources.names().collect::<Vec<_>>())
    }
}
