//! `wsp sim --fit`: the figures of a machine model by which its simulation takes as long as measured runs did.
//!
//! The prior model says what a task does: simulated on models in which one figure counts and the others are nothing ([`terms`]) it tells
//! how often each figure comes into each task. Measured are the tasks of runs on one thread ([`Sample`]); tasks of one kernel that do the same
//! are one point. [`solve`] then finds how many times each figure has to be taken, none below zero, for the points to take what they did.

mod report;
mod sample;
mod solve;
mod terms;

pub use super::measure::model as measured;
pub use sample::{Run, Sample, middle};

use self::solve::{Point, Solution};
use self::terms::Term;
use super::{Outcome, Session};
use crate::args::SimArgs;
use crate::files::{Output, keep_last};
use pto_wsp::codes;
use std::collections::BTreeMap;
use wsp_core::ExecPool;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_plan::target::model::{Mark, Model};
use wsp_runtime::timeline::TaskRecord;

/// How much staying with the prior weighs beside a program.
const STAY: f64 = 0.01;
/// Share of a figure that measured runs must decide on for it to be theirs.
const DECIDED: f64 = 0.05;

/// A model by measured runs, and what it leaves.
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Figures that tasks have and that runs do not tell apart from others: they stay what they were.
    pub kept: Vec<String>,
    /// Relative errors of points, by the figures that most of their time is from.
    pub classes: BTreeMap<&'static str, Vec<f64>>,
    /// Of each program: its name, measured seconds of tasks on one thread, and those that the model says.
    pub programs: Vec<(String, f64, f64)>,
}

/// Fits a model, prints what it leaves, and writes it.
pub(super) fn fit(
    session: &mut Session,
    args: &SimArgs,
    to: &std::path::Path,
) -> Result<Outcome, Vec<Diagnostic>> {
    let output = Output::assembled_at(to, "toml").map_err(|fault| vec![fault])?;
    let prior = session.model(&args.model)?.into_owned();
    let samples: Vec<Sample> = std::iter::once(&args.file)
        .chain(&args.more)
        .map(|file| Sample::load(session, file))
        .collect::<Result<_, _>>()?;
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
    let (mut points, mut runs) = (Vec::new(), Vec::new());
    for sample in samples {
        let counts = terms::counts(prior, &terms, sample)?;
        let measured = sample.run(1, repeats)?;
        let run = sample::middle(measured.iter().map(|run| run.seconds));
        let of_sample = grouped(&counts, &measured)?;
        let tasks: f64 = of_sample.iter().map(|point: &Point| point.seconds * point.tasks).sum();
        runs.push((run - tasks, counts.len() as f64, run));
        points.push(of_sample);
    }
    Ok(Fitting { prior, terms, samples, points, runs }.model())
}

/// What was measured.
struct Fitting<'f> {
    prior: &'f Model,
    terms: Vec<Term>,
    samples: &'f [Sample],
    /// Of each program.
    points: Vec<Vec<Point>>,
    /// Of each program: seconds of a run beside those of its tasks, tasks, and all seconds.
    runs: Vec<(f64, f64, f64)>,
}

impl Fitting<'_> {
    fn model(&self) -> Fitted {
        let names: Vec<&str> = self.samples.iter().map(Sample::name).collect();
        let source = format!("wsp sim --fit: {}", names.join(", "));
        let prior: Vec<f64> = self.terms.iter().map(|term| term.seconds(self.prior)).collect();
        // Every program counts alike, and in it every second.
        let mut rows = Vec::new();
        for points in &self.points {
            let all: f64 = points.iter().map(|point| point.seconds * point.tasks).sum();
            rows.extend(points.iter().map(|point| (point, point.seconds * point.tasks / all)));
        }
        let Solution { times, decided } = solve::solve(&rows, &prior, STAY, DECIDED);
        let mut model = self.prior.clone();
        let mut kept = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            let is_used = rows.iter().any(|(point, _)| point.counts[at] > 0.0 && prior[at] > 0.0);
            if !is_used {
                continue;
            }
            if decided[at] {
                term.scale(&mut model, times[at], &source);
            } else {
                kept.push(term.name(self.prior));
            }
        }
        self.launches(&mut model, &source);
        let text = model.to_text();
        let model = Model::read(&text, SourceMap::default().add("fit", text.as_str()))
            .expect("a model with other figures should be one");
        let seconds: Vec<f64> = self.terms.iter().map(|term| term.seconds(&model)).collect();
        let mut classes: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for (point, _) in &rows {
            classes
                .entry(self.class(point, &seconds))
                .or_default()
                .push(point.predicted(&seconds) / point.seconds - 1.0);
        }
        let sums = self.samples.iter().zip(&self.points).map(|(sample, points)| {
            let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| of(point) * point.tasks).sum();
            (sample.name().to_owned(), sum(&|point| point.seconds), sum(&|point| point.predicted(&seconds)))
        });
        Fitted { kept, classes, programs: sums.collect(), model }
    }

    /// What most of a point's time is for.
    fn class(&self, point: &Point, seconds: &[f64]) -> &'static str {
        let mut of: BTreeMap<&'static str, f64> = BTreeMap::new();
        for ((term, count), each) in self.terms.iter().zip(&point.counts).zip(seconds) {
            *of.entry(term.class(self.prior)).or_default() += count * each;
        }
        of.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("kernel", |(class, _)| class)
    }

    /// Sets what a run and each of its tasks take beside the kernels.
    fn launches(&self, model: &mut Model, source: &str) {
        let points: Vec<Point> = self
            .runs
            .iter()
            .filter(|(rest, ..)| *rest > 0.0)
            .map(|(rest, tasks, _)| Point { counts: vec![1.0, *tasks], seconds: *rest, tasks: 1.0 })
            .collect();
        let weights =
            self.runs.iter().filter(|(rest, ..)| *rest > 0.0).map(|(rest, _, all)| (rest / all).powi(2));
        let rows: Vec<(&Point, f64)> = points.iter().zip(weights).collect();
        let prior = [model.launch.run.max(1e-6), model.launch.task.max(1e-8)];
        let Solution { times, .. } = solve::solve(&rows, &prior, STAY * 1e-3, 0.0);
        for ((key, prior), times) in ["run", "task"].iter().zip(prior).zip(times) {
            model.set_figure("launch", key, solve::rounded(prior * times), Mark::Measured, source);
        }
    }
}

/// Tasks of one kernel that do the same, as one point each.
fn grouped(all: &[(String, Vec<f64>)], runs: &[Run]) -> Result<Vec<Point>, Vec<Diagnostic>> {
    let mut groups: BTreeMap<(&str, Vec<u64>), (Vec<f64>, f64)> = BTreeMap::new();
    for (at, (kernel, counts)) in all.iter().enumerate() {
        let key = (kernel.as_str(), counts.iter().map(|count| *count as u64).collect());
        let (seconds, tasks) = groups.entry(key).or_default();
        let of =
            |run: &Run| run.tasks.get(at).filter(|(name, _)| name == kernel).map(|(_, seconds)| *seconds);
        let found: Option<Vec<f64>> = runs.iter().map(of).collect();
        let Some(found) = found else {
            let fault = Diagnostic::error(codes::OTHER_TASKS, "a run has other tasks than its simulation");
            let others = runs.first().map_or(0, |run| run.tasks.len());
            let note = format!("task {at} of {}, of kernel `{kernel}`; the run has {others}", all.len());
            return Err(vec![fault.note(note)]);
        };
        seconds.extend(found);
        *tasks += 1.0;
    }
    let point = |((_, counts), (seconds, tasks)): ((&str, Vec<u64>), (Vec<f64>, f64))| Point {
        counts: counts.into_iter().map(|count| count as f64).collect(),
        seconds: sample::middle(seconds.into_iter()).max(1e-9),
        tasks,
    };
    Ok(groups.into_iter().map(point).collect())
}

/// Seconds or cycles of a task.
fn lasted(task: &TaskRecord) -> f64 {
    task.ended.saturating_sub(task.started) as f64
}
