//! What a step of the machine costs: graphs of 10,000 kernels in several shapes, each run many times with kernels that do nothing.
//!
//! `cargo run --release -p wsp-plan --example machine_speed`
#![allow(clippy::print_stdout, reason = "it prints what it measured")]
#![allow(clippy::disallowed_methods, reason = "it measures times and nothing depends on them")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;
use wsp_core::tg::machine::{Machine, Scalars, Step};
use wsp_diag::SourceMap;
use wsp_ir::tg::Signatures;
use wsp_tg::{ElaborateOptions, GraphPlan, elaborate};

const KERNELS: usize = 10_000;
const RUNS: usize = 300;

/// No graph here has a condition.
struct Nothing;

impl Scalars for Nothing {
    type Fault = ();

    fn eval(&mut self, _: u32, _: &[u32]) -> Result<i64, ()> {
        Err(())
    }
}

/// Edges of a shape.
fn edges(shape: &str) -> Vec<(usize, usize)> {
    let width = 100;
    match shape {
        "independent" => Vec::new(),
        "chain" => (1..KERNELS).map(|k| (k - 1, k)).collect(),
        "stencil" => (width..KERNELS)
            .flat_map(|k| {
                let (row, at) = (k / width - 1, k % width);
                (at.saturating_sub(1)..(at + 2).min(width)).map(move |from| (row * width + from, k))
            })
            .collect(),
        _ => (0..KERNELS)
            .filter(|k| k % width != 0)
            .flat_map(|k| [(k / width * width, k), (k, (k / width + 1) * width)])
            .filter(|edge| edge.1 < KERNELS)
            .collect(),
    }
}

fn plan(shape: &str) -> Option<(GraphPlan, f64)> {
    let mut text = String::from("TG_BEGIN(G)\n");
    (0..KERNELS).try_for_each(|k| writeln!(text, "TG_KERNEL(K{k}, k, 1, AIV, 0)")).ok()?;
    edges(shape).iter().try_for_each(|(a, b)| writeln!(text, "TG_DEPEND(K{a}, K{b})")).ok()?;
    text.push_str("TG_END(G)\n");
    let module = wsp_isa::tg::text::parse("speed.tg", &text, &mut SourceMap::default()).0?;
    let start = Instant::now();
    let unit = elaborate(&module, &Signatures::new(), &ElaborateOptions::default()).ok()?;
    Some((unit.graphs.into_iter().next()?, start.elapsed().as_secs_f64() * 1e3))
}

fn main() {
    println!("{:12} {:>8} {:>14} {:>14}", "shape", "edges", "elaborate ms", "ns per kernel");
    for shape in ["independent", "chain", "stencil", "fan in/out"] {
        let Some((plan, elaborated)) = plan(shape) else { continue };
        let image = plan.records.image();
        let mut state = vec![0; image.state_words()];
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let start = Instant::now();
            let Some(mut machine) = Machine::start(&image, &mut state) else { continue };
            let mut ran = 0;
            while let Ok(Step::Run(node)) = machine.next(&mut Nothing) {
                ran += 1;
                machine.complete(black_box(node));
            }
            assert_eq!(ran, KERNELS, "every kernel runs once");
            best = best.min(start.elapsed().as_secs_f64());
        }
        let edges = plan.records.succs.len();
        println!("{shape:12} {edges:8} {elaborated:14.2} {:14.2}", best * 1e9 / KERNELS as f64);
    }
}
