//! Document 002: spaces, descriptors and kernels of a `.pto` file; what a run would do, a prepared program, other arguments.
//!
//! `cargo run --package pto-wsp --example plan_execute`
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pto_wsp::{Args, Array, Error, ParamValue, Program, RunOptions};

const TEXT: &str = "
PTO_PARAM(float, by, 2.0)
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(Scale) { PTO_AXIS(i, 0, n) PTO_TILE(i, 64) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(Scale) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 64 }); }
}
PTO_KERNEL_IMPL(scale) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 64, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, by);
    TSTORE(y, t, {part.first});
}
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Scale, { .x = x, .y = y }); }
";

pub(crate) fn main() -> Result<(), Error> {
    let program = Program::from_source("scale.pto", TEXT)?;
    let x = |n: u16| (0..n).map(f32::from).collect::<Vec<f32>>();
    let args = Args::new().with("x", x(200));

    // The generator runs, no kernel does.
    let explained = program.explain(&args, &RunOptions::default())?;
    assert_eq!(explained.kernels, [("scale".to_owned(), 4)]);
    println!("{} tasks of `{}`", explained.kernels[0].1, explained.kernels[0].0);

    // Bound, sized and compiled once; each run has its own outputs.
    let mut prepared = program.prepare(args, RunOptions::default())?;
    let first = prepared.run()?;
    prepared.rebind(Args::new().with("x", x(100)).with("by", ParamValue::Float(3.0)))?;
    let second = prepared.run()?;
    let last = |y: &Array| y.as_slice::<f32>().expect("it is declared float").last().copied();
    assert_eq!((last(&first.outputs["y"]), first.stats.tasks), (Some(398.0), 4));
    assert_eq!((last(&second.outputs["y"]), second.stats.tasks), (Some(297.0), 2));
    println!("the last elements: {:?}, {:?}", last(&first.outputs["y"]), last(&second.outputs["y"]));

    // In the background, with a handle that can cancel.
    let run = program.start(Args::new().with("x", x(64)), RunOptions::default())?;
    let outcome = run.wait()?;
    assert_eq!(last(&outcome.outputs["y"]), Some(126.0));
    Ok(())
}
