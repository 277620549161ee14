//! Backends, and what they make of plans.

use crate::args::Args;
use crate::error::RunError;
use crate::options::RunOptions;
use crate::outcome::{Explanation, Outcome};
use crate::run::Run;
use wsp_ir::diag::{Diagnostic, Diagnostics};
use wsp_plan::{PlanSource, Target};

/// What compiles plans for targets.
pub trait Backend: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The targets that it runs.
    fn targets(&self) -> &'static [&'static Target];

    /// What of a plan for one of its targets it cannot do; empty where it takes all of the plan.
    fn supports(&self, plan: &PlanSource) -> Vec<Diagnostic>;

    /// Compiles a plan for one of its targets.
    ///
    /// # Errors
    /// What it cannot do, kernels without a body, options of the backend that do not fit the plan.
    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics>;
}

/// A compiled plan. It may be used from several threads at once; each run is separate.
pub trait Program: Send + Sync {
    /// What a run would do, without running anything.
    ///
    /// # Errors
    /// Arguments and options that do not fit; what only a run tells.
    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError>;

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

    /// Runs the program.
    ///
    /// # Errors
    /// Another run uses arrays of the caller and one of both writes them; the first failure. It can be run again.
    fn run(&mut self) -> Result<Outcome, RunError>;

    /// Takes arguments in place of those of the same names, for the runs to come.
    ///
    /// # Errors
    /// As [`Program::prepare`]. Then the arguments stay as they were.
    fn rebind(&mut self, args: Args) -> Result<(), RunError>;
}
