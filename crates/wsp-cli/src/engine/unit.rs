//! Units of task graphs at the boundary to the backend.

use super::own;
use pto_wsp::Peak;
use std::time::Duration;
use wsp_backend::{Args, Outcome, RunOptions, Unwritten};
use wsp_diag::Diagnostic;
use wsp_kernel::{Engine, Mode};
use wsp_plan::{Arrays, PlanSource};
use wsp_runtime::clock;
use wsp_runtime::tg::{Stats, Trace};

/// What a run gave.
#[derive(Clone, Debug)]
pub struct UnitOutcome {
    /// External tensors that the unit writes, by name.
    pub outputs: Arrays,
    /// Elements of them that nothing stored, where that is recorded.
    pub unwritten: Vec<Unwritten>,
    /// Warnings and notes, of the checks before the run and of the run.
    pub notes: Vec<Diagnostic>,
    /// Counts and times.
    pub stats: UnitStats,
    /// Whether the run went on from a checkpoint.
    pub resumed: bool,
    /// External events that were signalled: for this run, and before the checkpoint was saved that it went on from.
    pub signalled: Vec<String>,
    /// When and where blocks ran, if that was asked for.
    pub trace: Trace,
}

/// Counts and times of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnitStats {
    /// Launches, kernels, dispatches and blocks.
    pub counts: Stats,
    /// From checked instructions to finished graphs, with memory.
    pub prepare: Duration,
    /// From the first statement of the host to the last.
    pub run: Duration,
    /// What each device held at most.
    pub peak: Vec<Peak>,
}

/// A unit that is checked and has its memory and kernels.
pub struct Prepared {
    prepared: Box<dyn wsp_backend::Prepared>,
    time: Duration,
}

/// Checks a unit and prepares it; kernels of its files run with these tile operations and on this engine.
///
/// # Errors
/// Nothing runs its target; what the checks find, wrong tensors or values.
pub fn prepare(
    unit: &PlanSource,
    args: Args,
    options: RunOptions,
    (mode, engine): (Mode, Engine),
) -> Result<Prepared, Vec<Diagnostic>> {
    let start = clock::now();
    let program = super::program(unit, mode, engine, None)?;
    let prepared = program.prepare(args, options)?;
    Ok(Prepared { prepared, time: Duration::from_nanos(clock::nanos_since(start)) })
}

impl Prepared {
    /// Warnings and notes of the checks.
    pub fn findings(&self) -> &[Diagnostic] {
        self.prepared.notes()
    }

    /// Runs it.
    ///
    /// # Errors
    /// The first fault of a kernel, a checkpoint that does not fit.
    pub fn run(mut self) -> Result<UnitOutcome, Vec<Diagnostic>> {
        let Outcome { outputs, unwritten, stats, notes, unit, own, .. } = self.prepared.run()?;
        let counted = Stats { kernels: stats.tasks, ..Stats::default() };
        let (counts, trace) = own::run_of_unit(own, counted);
        Ok(UnitOutcome {
            outputs,
            unwritten,
            notes,
            resumed: unit.resumed.is_some(),
            signalled: unit.signalled,
            stats: UnitStats { counts, prepare: self.time, run: stats.run, peak: unit.peak },
            trace,
        })
    }
}
