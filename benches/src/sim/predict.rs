//! How long examples take by a model that is fitted to others, beside the median of measured runs.
//!
//! The column `cpu` compares with what each thread computed, which what else a machine does changes less.

use crate::runtime::Row;
use crate::runtime::table::Target;
use std::path::Path;
use wsp_cli::commands::Session;
use wsp_cli::commands::fit::{Run, Sample, fitted, measured, quartile};
use wsp_diag::Diagnostic;
use wsp_plan::target::model::Model;

/// Programs by which the model is fitted; no other one here has a kernel of theirs.
const FITTED: [&str; 5] =
    ["attention/extend", "ragged_prefill/prefill", "moe/moe", "topk_indexer/indexer", "decode_attention"];
/// Programs that are predicted.
const PREDICTED: [&str; 10] = [
    "llama_layer/layer",
    "decode_graph",
    "attention/alibi",
    "attention/cascade",
    "attention/decode",
    "attention/mla",
    "attention/prefill_decode",
    "attention/sliding_window",
    "attention/soft_cap",
    "attention/speculative",
];
/// Threads on which they run.
const THREADS: [u32; 2] = [1, 2];
/// Batches of runs.
const BATCHES: u32 = 5;
/// Percent by which most predictions may be off.
const NEAR: f64 = 15.0;
/// How many are to be within that.
const MOST: f64 = 8.0;
/// Percent by which the others may be off.
const WORST: f64 = 30.0;

/// Fits a model, and compares.
///
/// # Errors
/// What fails a run.
pub(crate) fn rows(
    session: &mut Session,
    repeats: u32,
    emit: &mut dyn FnMut(Row),
) -> Result<(), Vec<Diagnostic>> {
    let mut load = |names: &[&str]| -> Result<Vec<Sample>, Vec<Diagnostic>> {
        let path = |name: &&str| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(format!("{name}.pto"))
        };
        names.iter().map(|name| Sample::load(session, &path(name))).collect()
    };
    let (known, others) = (load(&FITTED)?, load(&PREDICTED)?);
    let model = fitted(&measured()?, &known, repeats)?.model;
    for threads in THREADS {
        let mut errors = Vec::new();
        for (name, sample) in PREDICTED.iter().zip(&others) {
            let runs = quietest(sample, threads, repeats)?;
            let wall = seconds(&runs);
            let computed = runs.iter().map(|run| run.computed / f64::from(threads)).collect();
            let [low, taken, high] = [1, 2, 3].map(|fourths| quartile(fourths, wall.clone()));
            let predicted = predicted(sample, &model, threads)?;
            let error = |taken: f64| (predicted / taken - 1.0) * 100.0;
            let error = [error(taken), error(quartile(2, computed))];
            let name = name.rsplit('/').next().unwrap_or(name);
            let row = |ours, measure| Row { ours, ..Row::plain(name, threads, measure) };
            emit(row(taken * 1e3, "measured ms"));
            emit(row((high - low) / taken * 100.0, "spread %"));
            let (target, cpu) = (Some(Target::Within(NEAR)), Some(error[1]));
            emit(Row { target, cpu, ..row(error[0], "error %") });
            errors.push(error.map(f64::abs));
        }
        let by = |clock: usize| errors.iter().map(move |error| error[clock]);
        let near = [0, 1].map(|clock| by(clock).filter(|error| *error <= NEAR).count() as f64);
        let worst = [0, 1].map(|clock| by(clock).fold(0.0, f64::max));
        let row = |[ours, cpu]: [f64; 2], measure, target| Row {
            ours,
            cpu: Some(cpu),
            target: Some(target),
            ..Row::plain("all", threads, measure)
        };
        emit(row(near, "within 15 %", Target::AtLeast(MOST)));
        emit(row(worst, "worst error %", Target::AtMost(WORST)));
    }
    Ok(())
}

/// The runs of that one of some batches whose median is least: what else a machine does comes and goes.
fn quietest(sample: &Sample, threads: u32, repeats: u32) -> Result<Vec<Run>, Vec<Diagnostic>> {
    let mut best = sample.run(threads, repeats)?;
    for _ in 1..BATCHES {
        let other = sample.run(threads, repeats)?;
        if quartile(2, seconds(&other)) < quartile(2, seconds(&best)) {
            best = other;
        }
    }
    Ok(best)
}

fn seconds(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.seconds).collect()
}

/// Seconds of a program on so many threads of a machine.
fn predicted(sample: &Sample, model: &Model, threads: u32) -> Result<f64, Vec<Diagnostic>> {
    let mut model = model.clone();
    model.units.iter_mut().for_each(|units| units.count = threads);
    let (_, cycles) = sample.simulate(&model)?;
    Ok(cycles as f64 / model.clock)
}
