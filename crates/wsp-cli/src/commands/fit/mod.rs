//! `wsp sim --fit`: the figures of a machine model by which its simulation takes as long as measured runs did.
//!
//! The prior model says what a task does: simulated on models in which one figure counts and the others are nothing ([`terms`]) it tells
//! how often each figure comes into each task. Measured are the tasks of runs on one thread ([`Sample`]); tasks of one kernel that do the same
//! are one point. [`solve`] then finds how many times each figure has to be taken, none below zero, for the points to take what they did.

mod regress;
mod report;
mod sample;
mod solve;
mod terms;

pub use super::measure::model as measured;
pub use sample::{Run, Sample, quartile};

use self::regress::Measured;
use self::solve::Point;
use self::terms::Term;
use super::kind::Kind;
use super::{Outcome, Session, options};
use crate::args::SimArgs;
use crate::files::{Output, keep_last, place};
use pto_wsp::codes;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use wsp_core::ExecPool;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ordered::Arrange;
use wsp_plan::target::model::Model;
use wsp_runtime::timeline::TaskRecord;

/// A model by measured runs, and what it leaves.
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Figures that tasks have and that runs do not tell apart from others: they stay what they were.
    pub kept: Vec<String>,
    /// Relative errors of points, by the figures that most of their time is from.
    pub classes: Vec<(&'static str, Vec<f64>)>,
    /// Of each program: its name, measured seconds of tasks on one thread, and those that the model says.
    pub programs: Vec<(String, f64, f64)>,
}

/// Fits a model, prints what it leaves, and writes it.
pub(super) fn fit(session: &mut Session, args: &SimArgs, to: &Path) -> Result<Outcome, Vec<Diagnostic>> {
    let files = || std::iter::once(&args.file).chain(&args.more);
    if let Some(other) = files().find(|file| !matches!(Kind::of(file), Kind::Program | Kind::Unknown)) {
        let why = format!("measures `.pto` programs, and `{}` is none", other.display());
        return Err(vec![options::refused("--fit", &why)]);
    }
    let model = PathBuf::from(&args.model);
    if let Some(read) = files().chain([&model]).find(|file| place(file) == place(to)) {
        let message = format!("`{}` is an input and would be overwritten", read.display());
        return Err(vec![Diagnostic::error(codes::CANNOT_WRITE, message).help("give `--fit` another name")]);
    }
    let output = Output::assembled_at(to, "toml").map_err(|fault| vec![fault])?;
    let prior = session.model(&args.model)?.into_owned();
    let samples: Vec<Sample> = files().map(|file| Sample::load(session, file)).collect::<Result<_, _>>()?;
    session.terminal.progress("running the programs");
    let repeats = args.repeat.unwrap_or(REPEATS);
    let fitted = fitted(&prior, &samples, repeats)?;
    session.print(|| report::text(&fitted), || report::json(&fitted), &[]);
    let filled = output.fill_text(&fitted.model.to_text()).and_then(|filled| keep_last(vec![filled]));
    filled.map_err(|fault| vec![fault])?;
    Ok(Outcome::Done)
}

/// Runs of each program, unless another number is asked for.
pub const REPEATS: u32 = 9;

/// The model by which the tasks of some programs take what they took in so many runs on one thread.
///
/// # Errors
/// The prior model is not one of this machine, what fails a run or a simulation, a program whose tasks are not the same every time.
pub fn fitted(prior: &Model, samples: &[Sample], repeats: u32) -> Result<Fitted, Vec<Diagnostic>> {
    if prior.aicpu.is_some() || prior.units.iter().any(|units| units.kind != ExecPool::Any) {
        let fault =
            Diagnostic::error(codes::NOT_THIS_MACHINE, "measured runs are runs on this machine's threads");
        let units = "has units of kinds or AICPUs, which threads are not";
        let fault = fault.note(format!("machine model `{}` {units}", prior.name));
        return Err(vec![fault.help("begin with `--model cpu`, or with what `wsp doctor --model` writes")]);
    }
    let terms = Term::all(prior);
    let mut programs = Vec::new();
    for sample in samples {
        let counts = terms::counts(prior, &terms, sample)?;
        let measured = sample.run(1, repeats)?;
        let points = grouped(&counts, &measured)
            .map_err(|fault| vec![fault.note(format!("of `{}`", sample.name()))])?;
        // What a run takes by the clock, as virtual time has it: the source and the worker go side by side.
        let run = quartile(1, measured.iter().map(|run| run.seconds).collect());
        programs.push(Measured { name: sample.name().to_owned(), points, run, tasks: counts.len() as f64 });
    }
    Ok(regress::model(prior, &terms, &programs))
}

/// Tasks of one kernel that do the same, as one point each.
fn grouped(all: &[(String, Vec<f64>)], runs: &[Run]) -> Result<Vec<Point>, Diagnostic> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let compare = |a: &usize, b: &usize| {
        let ((name, counts), (other, others)) = (&all[*a], &all[*b]);
        name.cmp(other).then_with(|| counts.partial_cmp(others).unwrap_or(Ordering::Equal))
    };
    order.arrange_by(compare);
    let mut points = Vec::new();
    for same in order.chunk_by(|a, b| compare(a, b).is_eq()) {
        let mut seconds = Vec::new();
        for (at, run) in same.iter().flat_map(|at| runs.iter().map(|run| (*at, run))) {
            match run.tasks.get(at).filter(|(name, _)| run.tasks.len() == all.len() && *name == all[at].0) {
                Some((_, taken)) => seconds.push(*taken),
                None => {
                    let message = "a run has other tasks than its simulation";
                    let note = format!(
                        "the simulation has {}, task {at} is one of `{}`; the run has {}",
                        counted(all.len() as u64, "task"),
                        all[at].0,
                        run.tasks.len()
                    );
                    return Err(Diagnostic::error(codes::OTHER_TASKS, message).note(note));
                }
            }
        }
        let (counts, tasks) = (all[same[0]].1.clone(), same.len() as f64);
        points.push(Point { counts, seconds: quartile(1, seconds).max(1e-9), tasks });
    }
    Ok(points)
}

/// Seconds or cycles of a task.
fn lasted(task: &TaskRecord) -> f64 {
    task.ended.saturating_sub(task.started) as f64
}
