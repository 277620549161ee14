//! Document 000: a unit of the task-graph instruction set, as text and from the builder, on a simulated device.
//!
//! `cargo run --package pto-wsp --example task_graph`
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pto_wsp::task_graph::{CoreType, DependencyType, Direction, TgBuilder, TgKernels};
use pto_wsp::{Args, DType, Error, Program, RunOptions, Source};

/// Halves of the squares of 256 numbers, by blocks of 32, and their sum. What `SQUARES` holds lies in memory of the device.
const TEXT: &str = "
extern X: f32[256]
extern TOTAL: f32[1]
TG_BEGIN(G)
  MC_ALLOC(SQUARES, 1024)
  TG_KERNEL(SQUARE, square_entry, 8, AIV, 0)
  TG_KERNEL(SUM, sum_entry, 1, AIV, 0)
  TG_DEPEND(SQUARE, SUM, DATA, SQUARES)
  MC_BIND(SQUARE, 0, X, direction = IN)
  MC_BIND(SQUARE, 1, SQUARES, direction = OUT)
  MC_BIND(SUM, 0, SQUARES, direction = IN)
  MC_BIND(SUM, 1, TOTAL, direction = OUT)
TG_END(G)
TG_LAUNCH(G, stream)
TG_SYNC(G)
";

fn kernels() -> Result<TgKernels, Error> {
    let mut kernels = TgKernels::new();
    kernels.register("square_entry", None, |cx| {
        let (first, mut part) = (cx.block() as usize * 32, [0f32; 32]);
        cx.load_at(0, first, &mut part)?;
        cx.store(1, first, &part.map(|x| x * x / 2.0))
    })?;
    kernels.register("sum_entry", None, |cx| {
        let total: f32 = cx.load::<f32>(0)?.iter().sum();
        cx.store(1, 0, &[total])
    })?;
    Ok(kernels)
}

/// The same unit from the builder.
fn built() -> Result<Program, Error> {
    let mut b = TgBuilder::new();
    b.extern_tensor("X", DType::F32, &[256]);
    b.extern_tensor("TOTAL", DType::F32, &[1]);
    b.tg_begin("G");
    b.mc_alloc("SQUARES", 1024);
    b.tg_kernel("SQUARE", "square_entry", 8, CoreType::Aiv, 0);
    b.tg_kernel("SUM", "sum_entry", 1, CoreType::Aiv, 0);
    b.tg_depend("SQUARE", "SUM").dep_type(DependencyType::Data).tensor_id("SQUARES");
    b.mc_bind("SQUARE", 0, "X").direction(Direction::In);
    b.mc_bind("SQUARE", 1, "SQUARES").direction(Direction::Out);
    b.mc_bind("SUM", 0, "SQUARES").direction(Direction::In);
    b.mc_bind("SUM", 1, "TOTAL").direction(Direction::Out);
    b.tg_end("G");
    b.tg_launch("G", "stream");
    b.tg_sync("G");
    Source::unit(b.finish()?).unit_kernels(kernels()?).compile()
}

pub(crate) fn main() -> Result<(), Error> {
    let x: Vec<f32> = (0..256u16).map(|i| f32::from(i % 16)).collect();
    let expected: f32 = x.iter().map(|x| x * x / 2.0).sum();
    let text = Source::text("squares.tg", TEXT).unit_kernels(kernels()?).compile()?;
    for program in [text, built()?] {
        let outcome = program.execute(Args::new().with("X", x.clone()), RunOptions::default())?;
        let total = outcome.outputs["TOTAL"].as_slice::<f32>().expect("it is declared f32");
        assert_eq!(total, [expected]);
        println!("{} kernels: {}", outcome.stats.tasks, total[0]);
    }
    Ok(())
}
