//! How long examples take by a model that is fitted to others, beside the median of measured runs.
//!
//! On one thread the column `cpu` compares with what it computed, which what else a machine does changes less.

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
            let name = name.rsplit('/').next().unwrap_or(name);
            let runs = quietest(sample, threads, repeats)?;
            errors.push(compared(name, &runs, predicted(sample, &model, threads)?, threads, emit));
        }
        let near = errors.iter().filter(|error| **error <= NEAR).count() as f64;
        let worst = errors.into_iter().fold(0.0, f64::max);
        let row =
            |measure, ours, target| Row { ours, target: Some(target), ..Row::plain("all", threads, measure) };
        emit(row("within 15 %", near, Target::AtLeast(MOST)));
        emit(row("worst error %", worst, Target::AtMost(WORST)));
    }
    Ok(())
}

/// Rows of one program, which was predicted to take so many seconds; the percentage by which that is off.
fn compared(name: &str, runs: &[Run], predicted: f64, threads: u32, emit: &mut dyn FnMut(Row)) -> f64 {
    let [low, taken, high] = [1, 2, 3].map(|fourths| quartile(fourths, seconds(runs)));
    let error = |taken: f64| (predicted / taken - 1.0) * 100.0;
    // Of several threads it is not known how long one waited for another.
    let computed = quartile(2, runs.iter().map(|run| run.computed).collect());
    let cpu = (threads == 1).then(|| error(computed));
    let row = |measure, ours| Row { ours, ..Row::plain(name, threads, measure) };
    emit(row("measured ms", taken * 1e3));
    emit(row("spread %", (high - low) / taken * 100.0));
    emit(Row { target: Some(Target::Within(NEAR)), cpu, ..row("error %", error(taken)) });
    error(taken).abs()
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
