//! rayon's scheduler under a graph of our own: a counter per task; a task whose counter reaches zero is spawned, except
//! the first successor, which the finishing task runs itself.
//!
//! Arguments and output are those of the C++ programs beside it: see `../README.md`.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]
#![allow(dead_code, reason = "the shared files hold more than this program uses")]

#[path = "../../../src/runtime/measure.rs"]
mod measure;
#[path = "../../../src/runtime/pattern.rs"]
mod pattern;
mod records;

use measure::{Moment, Span, Useful, busy, resident_bytes, shortest_task};
use pattern::{
    Chain, Independent, Listed, Pattern, TASK_BENCH, Wavefront, checksum, order_value, random_layered,
    sequential, task_bench,
};
use records::{Records, Tally};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match command(&std::env::args().skip(1).collect::<Vec<String>>()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn command(args: &[String]) -> Result<String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["graph", pattern, size, workers, repeats] => {
            let (size, setup) = (whole(size)?, Setup::new(pattern, workers, repeats)?);
            match pattern {
                "independent" => graph(&Independent(size), &setup),
                "chain" => graph(&Chain(size), &setup),
                "wavefront" => graph(&Wavefront::new(size), &setup),
                "random" => graph(&random_layered(size), &setup),
                _ => Err("the patterns are independent, chain, wavefront, random".to_owned()),
            }
        }
        ["metg", pattern, width, steps, workers, repeats] if TASK_BENCH.contains(&pattern) => {
            let setup = Setup::new(pattern, workers, repeats)?;
            metg(&task_bench(pattern, whole(width)?, whole(steps)?), &setup)
        }
        _ => Err("arguments: graph PATTERN SIZE WORKERS REPETITIONS | metg PATTERN WIDTH STEPS WORKERS REPETITIONS"
            .to_owned()),
    }
}

fn whole(text: &str) -> Result<u32> {
    match text.parse() {
        Ok(number) if (1..=1 << 28).contains(&number) => Ok(number),
        _ => Err(format!("`{text}` is no whole number from 1 to {}", 1 << 28)),
    }
}

/// What every measurement needs.
struct Setup {
    label: String,
    workers: u32,
    repeats: u32,
    pool: rayon::ThreadPool,
}

impl Setup {
    fn new(label: &str, workers: &str, repeats: &str) -> Result<Setup> {
        let (workers, repeats) = (whole(workers)?.min(1024), whole(repeats)?.min(1000));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers as usize).build();
        Ok(Setup {
            label: label.to_owned(),
            workers,
            repeats,
            pool: pool.map_err(|fault| fault.to_string())?,
        })
    }

    fn head(&self, tasks: u32) -> String {
        let Setup { label, workers, repeats, .. } = self;
        format!(
            "{{\"peer\":\"rayon\",\"pattern\":\"{label}\",\"tasks\":{tasks},\"workers\":{workers},\"repetitions\":{repeats}"
        )
    }
}

fn graph(pattern: &impl Pattern, setup: &Setup) -> Result<String> {
    let tally = Tally::new(setup.workers);
    let body = |task: u32| tally.add(u64::from(task) + 1);
    let n = f64::from(pattern.tasks().max(1));
    let before = resident_bytes();
    let (mut records, mut bytes) = (Records::default(), 0.0);
    let mut phases: [Vec<Span>; 4] = Default::default();
    for repeat in 0..=setup.repeats {
        records.clear();
        let start = Moment::now();
        records.build(pattern);
        let built = Moment::now();
        if repeat == 0 {
            bytes = resident_bytes() - before;
        }
        let launch = Moment::now();
        records.run(&setup.pool, &body);
        let ran = Moment::now();
        records.run(&setup.pool, &body);
        let again = Moment::now();
        tally.expect(pattern.tasks(), 2)?;
        if repeat > 0 {
            let spans = [start.to(built), launch.to(ran), ran.to(again), start.to(ran)];
            phases.iter_mut().zip(spans).for_each(|(list, span)| list.push(span.over(n)));
        }
    }
    let mut line = setup.head(pattern.tasks());
    for (name, spans) in ["build", "run", "rerun", "total"].iter().zip(&phases) {
        let Span { wall, cpu } = Span::median(spans);
        line += &format!(",\"{name}_ns\":{wall:.4},\"{name}_cpu_ns\":{cpu:.4}");
    }
    let (bytes, sum) = (bytes.max(0.0) / n, checked(pattern, setup)?);
    Ok(format!("{line},\"bytes\":{bytes:.4},\"checksum\":\"{sum:016x}\"}}"))
}

/// Runs a graph twice with tasks that see the order.
fn checked(pattern: &impl Pattern, setup: &Setup) -> Result<u64> {
    let expected = sequential(pattern);
    let values: Vec<AtomicU64> = expected.iter().map(|_| AtomicU64::new(0)).collect();
    let body = |task: u32| {
        let value = order_value(pattern, task, |p| values[p as usize].load(Ordering::Relaxed));
        values[task as usize].store(value, Ordering::Relaxed);
    };
    let mut records = Records::default();
    records.build(pattern);
    for _ in 0..2 {
        records.run(&setup.pool, &body);
        if !values.iter().zip(&expected).all(|(found, want)| found.swap(0, Ordering::Relaxed) == *want) {
            return Err("a task ran before one of its predecessors, or never".to_owned());
        }
    }
    Ok(checksum(expected.into_iter()))
}

fn metg(pattern: &Listed, setup: &Setup) -> Result<String> {
    let (tally, states) = (Tally::new(setup.workers), Tally::new(setup.workers));
    let (tasks, mut records) = (pattern.tasks(), Records::default());
    let found = shortest_task(|iterations| {
        let body = |task: u32| {
            states.compute(|x| busy(x, iterations));
            tally.add(u64::from(task) + 1);
        };
        let (mut loops, mut graphs) = (Vec::new(), Vec::new());
        for _ in 0..setup.repeats {
            let first = Moment::now();
            (0..tasks).for_each(body);
            let start = Moment::now();
            records.clear();
            records.build(pattern);
            records.run(&setup.pool, &body);
            graphs.push(start.to(Moment::now()).wall);
            loops.push(first.to(start).wall);
            tally.expect(tasks, 2)?;
        }
        Ok::<Useful, String>(Useful::new(loops, graphs, tasks, setup.workers))
    })?;
    let ns = found.map_or("null".to_owned(), |ns| format!("{ns:.4}"));
    let sum = checked(pattern, setup)?;
    Ok(format!("{},\"metg_ns\":{ns},\"checksum\":\"{sum:016x}\"}}", setup.head(tasks)))
}
