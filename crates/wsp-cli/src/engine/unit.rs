//! Units of task graphs at the boundary to the backend.

use std::time::Duration;
use wsp_backend::Unwritten;
use wsp_cpu::tg::{Peak, Session, SessionOptions, TgKernels};
use wsp_ir::diag::Diagnostic;
use wsp_ir::tg::TgModule;
use wsp_plan::Arrays;
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
    pub figures: UnitFigures,
    /// Whether the run went on from a checkpoint.
    pub resumed: bool,
    /// External events that were signalled: for this run, and before the checkpoint was saved that it went on from.
    pub signalled: Vec<String>,
    /// When and where blocks ran, if that was asked for.
    pub trace: Trace,
}

/// Counts and times of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnitFigures {
    /// Launches, kernels, dispatches and blocks.
    pub stats: Stats,
    /// From checked instructions to finished graphs, with memory.
    pub prepare: Duration,
    /// From the first statement of the host to the last.
    pub run: Duration,
    /// What each device held at most.
    pub peak: Vec<Peak>,
}

/// How a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// With the first statement of the host.
    Start,
    /// From the newest checkpoint.
    Resume,
}

/// A unit that is checked and has its memory and kernels.
#[derive(Debug)]
pub struct Prepared {
    session: Session,
    time: Duration,
}

/// Checks a unit and prepares it.
///
/// # Errors
/// What the checks find, wrong tensors or values.
pub fn prepare(
    module: &TgModule,
    kernels: &TgKernels,
    options: SessionOptions,
) -> Result<Prepared, Vec<Diagnostic>> {
    let start = clock::now();
    let session = Session::new(module, kernels, options)?;
    Ok(Prepared { session, time: Duration::from_nanos(clock::nanos_since(start)) })
}

impl Prepared {
    /// Warnings and notes of the checks.
    pub fn findings(&self) -> &[Diagnostic] {
        self.session.findings()
    }

    /// Runs it.
    ///
    /// # Errors
    /// The first fault of a kernel, a checkpoint that does not fit.
    pub fn run(self, begin: Begin) -> Result<UnitOutcome, Vec<Diagnostic>> {
        let Prepared { mut session, time: prepare } = self;
        let mut notes = session.findings().to_vec();
        let start = clock::now();
        let report = match begin {
            Begin::Start => session.run()?,
            Begin::Resume => session.resume()?,
        };
        let run = Duration::from_nanos(clock::nanos_since(start));
        notes.extend(report.notes.iter().cloned());
        let unwritten = session.unwritten();
        Ok(UnitOutcome {
            unwritten,
            outputs: session.outputs().map_err(|fault| vec![*fault])?,
            notes,
            resumed: report.resumed.is_some(),
            signalled: report.signalled,
            figures: UnitFigures { stats: report.stats, prepare, run, peak: report.peak },
            trace: report.trace.unwrap_or_default(),
        })
    }
}

/// Runs a unit.
///
/// # Errors
/// As [`prepare`] and [`Prepared::run`].
pub fn run(
    module: &TgModule,
    kernels: &TgKernels,
    options: SessionOptions,
    begin: Begin,
) -> Result<UnitOutcome, Vec<Diagnostic>> {
    prepare(module, kernels, options)?.run(begin)
}
