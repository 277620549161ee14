//! Random workloads under random schedules: every run gives the bits of the sequential run.

use crate::randomised::cases;
use crate::workloads::order::{Life, Order, started};
use crate::workloads::random::{Statement, schedule, source, statement, without_grid};
use crate::workloads::{outputs, program, report};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use wsp_backend::Detail;
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions};
use wsp_ir::workload::Deps;

/// Windows of schedules.
const WINDOWS: &[u32] = &[1, 2, 3, 7, 8192];

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_gives_the_bits_of_the_sequential_run(
        statements in prop::collection::vec(statement(), 0..6),
        (schedule, threads) in schedule(WINDOWS),
        seed in 0..4u64,
    ) {
        let text = source(&statements, &schedule);
        let options = WorkloadOptions { threads, seed, ..WorkloadOptions::default() };
        let expected = outputs(&text, &WorkloadOptions { sequential: true, ..options.clone() });
        prop_assert_eq!(outputs(&text, &options), expected, "{}", text);
    }

    #[test]
    fn every_trace_respects_the_dependences(
        statements in prop::collection::vec(statement(), 0..6),
        (schedule, threads) in schedule(WINDOWS),
    ) {
        let text = source(&statements, &schedule);
        let options = WorkloadOptions { threads, trace: true, ..WorkloadOptions::default() };
        let program = program(&text);
        let outcome = program.execute(&WorkloadInputs::all_made_up(0), &options).unwrap_or_else(|f| panic!("{}", report(&f)));
        let listing = program
            .graph(&WorkloadInputs::all_made_up(0), Some(Deps::Overlap), Detail::default(), &WorkloadOptions::default())
            .unwrap_or_else(|f| panic!("{}", report(&f)));
        // Ids of a listing count barrier nodes too.
        let order = listing.kernels.len() as u32 - 1;
        let tasks: Vec<Option<usize>> = listing
            .tasks
            .iter()
            .scan(0, |next, &kernel| {
                let id = (kernel != order).then(|| { *next += 1; *next - 1 });
                Some(id)
            })
            .collect();
        prop_assert_eq!(outcome.runtime.trace.len() as u64, outcome.runtime.tasks);
        for &(a, b) in &listing.edges {
            let (Some(a), Some(b)) = (tasks[a as usize], tasks[b as usize]) else { continue };
            let (a, b) = (&outcome.runtime.trace[a], &outcome.runtime.trace[b]);
            prop_assert!(a.finished_ns <= b.started_ns, "{:?} {:?}\n{}", a, b, text);
        }
    }
}

/// Runs a check on random workloads under random schedules, the same ones in every run.
#[allow(clippy::print_stdout, reason = "the number of cases is part of what a large run says")]
fn with_random_workloads(
    windows: &'static [u32],
    usual: u32,
    check: impl Fn(&str, u32, u16) -> Result<(), String>,
) {
    let cases = u32::try_from(cases(usual.into())).expect("a number of cases should fit");
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let workload = (prop::collection::vec(statement(), 0..6), schedule(windows), 1..=8u16);
    let outcome =
        runner.run(&workload, |(statements, (schedule, threads), aicpus): (Vec<Statement>, _, _)| {
            let text = source(&statements, &schedule);
            check(&text, threads, aicpus).map_err(|fault| TestCaseError::fail(format!("{fault}\n{text}")))
        });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{cases} random cases");
}

fn sequential(text: &str) -> Vec<(String, Vec<u8>)> {
    outputs(text, &WorkloadOptions { sequential: true, ..WorkloadOptions::default() })
}

/// Runs a prepared program three times, and compares results with those of a sequential run, and the order of tasks with what the schedule says.
fn run_in_order(text: &str, order: &Order, options: &WorkloadOptions, alone: bool) -> Result<(), String> {
    let program = program(text);
    let prepared = program.prepare(WorkloadInputs::all_made_up(0), options.clone());
    let mut prepared = prepared.map_err(|found| report(&found))?;
    let expected = sequential(text);
    for run in 0..3 {
        let runtime = prepared.run().map_err(|found| report(&found))?.runtime.clone();
        for (name, bytes) in &expected {
            let found = prepared.output(name).map_err(|fault| fault.to_string())?;
            if found.is_none_or(|found| found.bytes() != bytes) {
                return Err(format!("run {run} leaves another `{name}` than a sequential one, {options:?}"));
            }
        }
        let trace = runtime.trace.iter();
        if let Some((at, task)) = trace.clone().enumerate().find(|(at, task)| task.task.index() != *at) {
            return Err(format!("task {at} of run {run} is named {}, {options:?}", task.task.0));
        }
        let lives: Vec<Life> =
            trace.map(|task| Life { start: task.started_ns, end: task.finished_ns }).collect();
        compare(order, &lives, alone).map_err(|fault| format!("{fault} in run {run}, {options:?}"))?;
    }
    Ok(())
}

fn compare(order: &Order, lives: &[Life], alone: bool) -> Result<(), String> {
    order.check(lives)?;
    match order.of_one_worker().filter(|_| alone) {
        Some(expected) if expected != started(lives) => {
            Err(format!("one worker takes {:?}, not {expected:?}", started(lives)))
        }
        _ => Ok(()),
    }
}

#[test]
fn random_workloads_on_threads_and_in_virtual_time_keep_bits_and_order() {
    with_random_workloads(WINDOWS, 100, |text, threads, seed| {
        let order = Order::of(text);
        for threads in [threads, threads.min(1)] {
            let options =
                WorkloadOptions { threads, seed: seed.into(), trace: true, ..WorkloadOptions::default() };
            run_in_order(text, &order, &options, threads == 1)?;
            let options = WorkloadOptions { threads, ..WorkloadOptions::default() };
            let simulated = program(text).simulate(&WorkloadInputs::all_made_up(0), &options);
            let simulated = simulated.map_err(|found| report(&found))?.simulation;
            let tasks = simulated.tasks.iter().filter(|task| task.worker.is_some());
            let lives: Vec<Life> = tasks.map(|task| Life { start: task.start, end: task.end }).collect();
            compare(&order, &lives, threads == 1).map_err(|fault| format!("in virtual time: {fault}"))?;
        }
        Ok(())
    });
}

#[test]
fn random_workloads_on_aicpus_keep_bits_and_order() {
    with_random_workloads(&[8, 9, 40, 8192], 60, |text, threads, aicpus| {
        let text = &without_grid(text);
        let order = Order::of(text);
        for (aicpus, threads, seed) in [(aicpus, threads.max(1), 0), (aicpus, 1, 7), (1, 1, 0)] {
            let options =
                WorkloadOptions { aicpus, threads, seed, trace: true, ..WorkloadOptions::default() };
            run_in_order(text, &order, &options, aicpus == 1 && threads == 1 && seed == 0)?;
        }
        Ok(())
    });
}
