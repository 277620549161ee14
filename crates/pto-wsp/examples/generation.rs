//! Document 001: a workload is a program that generates tasks. The host generates them, or AICPUs do, each its own: results are the same.
//!
//! `cargo run --package pto-wsp --example generation`
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pto_wsp::workload::{Rows, RowsMut};
use pto_wsp::{Args, Array, Error, Expand, RunOptions, Source, WorkloadRunOptions};

const TEXT: &str = "
param batch = 4;
param rows = 64;
axis b = dense(batch);
tensor x: f32[batch, rows, 16];
tensor y: f32[batch, rows, 16];
kernel soften(in x, out y);
workload main { parallel for i in b { parallel for r in 0..rows / 8 { soften(x[i, r * 8 +: 8], y[i, r * 8 +: 8]); } } }
schedule { dispatch(affinity(b)); }
";

/// Each row as weights that add up to 1.
fn soften(x: Rows<'_, f32>, mut y: RowsMut<'_, f32>) {
    for (row, from) in x.iter().enumerate() {
        let most = from.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let to = y.row_mut(row);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = (from - most).exp());
        let sum: f32 = to.iter().sum();
        to.iter_mut().for_each(|to| *to /= sum);
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let program = Source::text("soften.wsp", TEXT).kernel("soften", soften).compile()?;
    let elements: Vec<f32> = (0..4 * 64 * 16u16).map(|i| f32::from(i % 97) / 16.0).collect();
    let x = Array::of(&[4, 64, 16], &elements)?;
    let run = |aicpus, expand| {
        let workload = WorkloadRunOptions { aicpus, expand, ..WorkloadRunOptions::default() };
        let options = RunOptions { workload, ..RunOptions::default() };
        program.execute(Args::new().with("x", x.clone()), options)
    };
    let host = run(0, Expand::default())?;
    for (aicpus, expand) in [(1, Expand::Bytecode), (4, Expand::Bytecode), (4, Expand::Host)] {
        let outcome = run(aicpus, expand)?;
        assert_eq!(outcome.outputs["y"].bytes(), host.outputs["y"].bytes(), "{aicpus} AICPUs, {expand:?}");
        println!(
            "{} tasks that {aicpus} AICPUs have by {expand:?}: the bits of the host's",
            outcome.stats.tasks
        );
    }
    Ok(())
}
