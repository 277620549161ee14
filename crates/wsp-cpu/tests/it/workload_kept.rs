//! A prepared workload of declared kernels keeps its tasks and their order from its second run on.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, program, report};
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_core::TaskId;
use wsp_cpu::workload::{KernelRegistry, PreparedWorkload, WorkloadInputs, WorkloadOptions};

/// Sums of rows, and their total: 7 tasks, 6 of which the last waits for.
const SUMS: &str = "param n = 6; tensor x: f32[n, 4]; tensor part: f32[n]; tensor total: f32[1];
    kernel row(in x, out s); kernel all(in s, out t);
    workload main { sequential { { parallel for i in 0..n { row(x[i], part[i]); } } { all(part, total[0]); } } }";

fn prepared(
    text: &str,
    schedule: &str,
    kernels: KernelRegistry,
    options: WorkloadOptions,
) -> PreparedWorkload {
    let program = program(&format!("{text} schedule {{ {schedule} }}")).with_kernels(kernels).unwrap();
    program
        .prepare(WorkloadInputs::all_made_up(0), options)
        .unwrap_or_else(|found| panic!("{}", report(&found)))
}

/// Whether each of three runs generates its tasks while they run, and its statistics.
fn generates(text: &str, schedule: &str, options: WorkloadOptions) -> [bool; 3] {
    let mut prepared = prepared(text, schedule, KernelRegistry::new(), options);
    [(); 3].map(|()| {
        let run = prepared.run().unwrap_or_else(|found| panic!("{}", report(&found)));
        run.runtime.generation_ns > 0
    })
}

#[test]
fn tasks_are_kept_from_the_second_run_on_where_the_window_holds_them_all() {
    for options in [WIDE, WorkloadOptions { threads: 1, ..WIDE }, WorkloadOptions { trace: true, ..WIDE }] {
        for schedule in ["", "task_graph(window = (7, stall));", "streams(2); pipeline_depth(2, per_stream);"]
        {
            assert_eq!(generates(SUMS, schedule, options.clone()), [true, false, false], "{schedule}");
        }
        assert_eq!(generates(SUMS, "task_graph(window = (6, stall));", options), [true; 3]);
    }
    let window = Some(6);
    assert_eq!(generates(SUMS, "", WorkloadOptions { window, ..WIDE }), [true; 3]);
    let many = SUMS.replace("n = 6", "n = 4096");
    assert_eq!(generates(&many, "", WIDE), [true; 3]);
    let by_slot = "slot s = 2; tensor x: f32[4]; kernel k(out x); workload main { for i in 0..s { k(x); } }";
    assert_eq!(generates(by_slot, "", WIDE), [true; 3]);
}

#[test]
fn a_window_that_tasks_do_not_fit_holds_in_every_run() {
    let mut runs = prepared(SUMS, "task_graph(window = (3, stall));", KernelRegistry::new(), WIDE);
    for _ in 0..3 {
        assert_eq!(runs.run().unwrap().runtime.max_in_flight, 3);
    }
}

#[test]
fn what_is_counted_of_kept_tasks_is_what_a_run_that_generates_them_first_counts() {
    let after = "task_graph(start = after_orchestration, deps = hybrid);";
    let text = SUMS.replace("sequential", "combine");
    let mut runs = prepared(&text, after, KernelRegistry::new(), WorkloadOptions { trace: true, ..WIDE });
    let counted = [(); 3].map(|()| {
        let run = &runs.run().unwrap();
        let stats = &run.runtime;
        let tasks: Vec<u64> = run.kernels.iter().map(|kernel| kernel.tasks).collect();
        let preds: Vec<_> = stats.trace.iter().map(|entry| (entry.task, entry.preds.clone())).collect();
        (stats.tasks, stats.edges, stats.roots, stats.max_in_flight, tasks, preds)
    });
    assert_eq!(counted[0].5[6], (TaskId(6), (0..6).map(TaskId).collect()));
    assert_eq!((&counted[1], &counted[2]), (&counted[0], &counted[0]));
}

#[test]
fn a_task_that_fails_is_named_and_the_next_run_is_whole() {
    // The third task of the second run, and of the fourth.
    let calls = AtomicU32::new(0);
    let mut kernels = KernelRegistry::new();
    let row = kernels.register("row", move |cx| {
        let sum: f32 = cx.load::<f32>(0)?.iter().sum();
        let call = calls.fetch_add(1, Ordering::Relaxed);
        if call == 8 { Err("no more rows".into()) } else { cx.store(1, &[sum]) }
    });
    row.unwrap();
    let all = kernels.register("all", |cx| {
        let sum: f32 = cx.load::<f32>(0)?.iter().sum();
        cx.store(1, &[sum])
    });
    all.unwrap();
    let mut runs = prepared(SUMS, "", kernels, WorkloadOptions { threads: 1, ..WIDE });
    let total =
        |runs: &PreparedWorkload| runs.output("total").unwrap().unwrap().as_slice::<f32>().unwrap()[0];
    runs.run().unwrap();
    let whole = total(&runs);
    let fault = report(&runs.run().unwrap_err());
    assert!(fault.contains("kernel `row` failed: no more rows"), "{fault}");
    assert!(fault.contains("its arguments: x[2..3, 0..4], part[2..3]"), "{fault}");
    for _ in 0..2 {
        assert_eq!(runs.run().unwrap().runtime.tasks, 7);
        assert_eq!(total(&runs).to_bits(), whole.to_bits());
    }
}

#[test]
fn regions_that_are_not_equal_are_refused_in_every_run_under_exact() {
    let text = "tensor x: f32[8]; kernel k(inout x);
        workload main { k(x[0 +: 4]); k(x[2 +: 4]); }";
    let mut runs = prepared(text, "task_graph(deps = exact);", KernelRegistry::new(), WIDE);
    let faults = [(); 3].map(|()| report(&runs.run().unwrap_err()));
    assert!(faults[0].contains("x[2..6]"), "{}", faults[0]);
    assert_eq!((&faults[1], &faults[2]), (&faults[0], &faults[0]));
}
