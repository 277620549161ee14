//! Document 003: dependences by data, streams, windows and order: schedules change when tasks run, never what they compute. And the task graph
//! beneath by itself.
//!
//! `cargo run --package pto-wsp --example concurrency`
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pto_wsp::graph::Graph;
use pto_wsp::workload::{Deps, ModuleBuilder, Ready, TaskGraphPolicy, Window, WindowMode};
use pto_wsp::{Args, DType, Error, RunOptions, Source};
use std::sync::atomic::{AtomicU64, Ordering};

/// Partial products of 64 numbers by 8, then their product: the second kernel waits for its parts only.
fn products() -> Result<Source, Error> {
    let mut m = ModuleBuilder::new();
    let x = m.tensor("x", DType::F64, [64.into()]);
    let part = m.tensor("part", DType::F64, [8.into()]);
    let all = m.tensor("all", DType::F64, [1.into()]);
    let product = m.kernel("product").input("x").output("p").finish();
    m.workload("main", |w| {
        w.parallel_for("i", ..8, |w, i| {
            w.task(product).arg(x.at(pto_wsp::workload::sized(i * 8, 8))).arg(part.at(i));
        });
        w.task(product).arg(part).arg(all);
    });
    m.schedule_named("narrow", |s| {
        s.task_graph(TaskGraphPolicy {
            window: Some(Window { capacity: 2, mode: WindowMode::Stall }),
            ready: Some(Ready::Fifo),
            deps: Some(Deps::Overlap),
            ..TaskGraphPolicy::default()
        });
        s.streams(2);
    });
    Ok(Source::workload(m.finish()?).kernel("product", |x: &[f64], p: &mut [f64]| p[0] = x.iter().product()))
}

pub(crate) fn main() -> Result<(), Error> {
    let x: Vec<f64> = (0..64u8).map(|i| 1.0 + f64::from(i) / 64.0).collect();
    let mut results = Vec::new();
    for (source, threads) in [(products()?, 1), (products()?, 4), (products()?.schedule("narrow"), 3)] {
        let program = source.compile()?;
        let options = RunOptions { threads, ..RunOptions::default() };
        let outcome = program.execute(Args::new().with("x", x.clone()), options)?;
        let all = outcome.outputs["all"].as_slice::<f64>().expect("it is declared f64")[0];
        println!("{} streams, {} threads: {all}", outcome.stats.streams, outcome.stats.executors);
        results.push(all.to_bits());
    }
    assert!(results.iter().all(|bits| *bits == results[0]), "no schedule changes a bit");

    // Closures that wait for each other, without a program.
    let sums: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    let total = AtomicU64::new(0);
    let mut graph = Graph::new();
    let parts: Vec<_> = (0..4u64)
        .map(|part| {
            let sum = &sums[part as usize];
            graph.task(move || sum.store((part * 100..(part + 1) * 100).sum(), Ordering::Relaxed)).id()
        })
        .collect();
    let add = || total.store(sums.iter().map(|sum| sum.load(Ordering::Relaxed)).sum(), Ordering::Relaxed);
    graph.task(add).after(parts);
    graph.run().expect("no task waits for a later one");
    assert_eq!(total.load(Ordering::Relaxed), 79_800);
    println!("the sum of 0..400 is {}", total.load(Ordering::Relaxed));
    Ok(())
}
