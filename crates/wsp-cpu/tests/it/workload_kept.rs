//! A prepared workload of declared kernels keeps its tasks and their order from its second run on.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, program, report};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use wsp_core::TaskId;
use wsp_cpu::workload::{KernelRegistry, PreparedWorkload, WorkloadInputs, WorkloadOptions};
use wsp_plan::ParamValue;

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
fn what_decides_on_the_end_of_a_run_is_asked_in_every_run() {
    let poll: Option<Arc<dyn wsp_core::Poll>> = Some(Arc::new(|| false));
    assert_eq!(generates(SUMS, "", WorkloadOptions { poll, ..WIDE }), [true; 3]);
    // Steps of a scope are nodes of a graph and no tasks of the window.
    let steps = "tensor x: f32[8]; kernel k(out x);
        workload main { sequential { { parallel for i in 0..6 { k(x[i]); } } { parallel for i in 6..8 { k(x[i]); } } } }";
    assert_eq!(generates(steps, "task_graph(window = (8, stall));", WIDE), [true, false, false]);
    // The flag is set by a task of the second run, and seen by the run of no tasks, too.
    let cancel = Arc::new(AtomicBool::new(false));
    let (flag, calls) = (cancel.clone(), AtomicU32::new(0));
    let mut kernels = KernelRegistry::new();
    let k = kernels.register("k", move |cx| {
        flag.fetch_or(calls.fetch_add(1, Ordering::Relaxed) == 7, Ordering::Relaxed);
        cx.store(0, &[1.0_f32])
    });
    k.unwrap();
    let options = WorkloadOptions { threads: 1, cancel: Some(cancel.clone()), ..WIDE };
    let text = "param n = 6; tensor x: f32[6]; kernel k(out x); workload main { parallel for i in 0..n { k(x[i]); } }";
    let mut runs = prepared(text, "", kernels, options);
    assert_eq!(runs.run().unwrap().runtime.tasks, 6);
    assert_eq!(runs.run().unwrap_err()[0].message, "the run was cancelled");
    cancel.store(false, Ordering::Relaxed);
    assert_eq!(runs.run().unwrap().runtime.tasks, 6);
    runs.rebind(vec![("n".to_owned(), ParamValue::Int(0))], BTreeMap::new(), BTreeMap::new()).unwrap();
    for run in 0..4 {
        cancel.store(run > 0, Ordering::Relaxed);
        assert_eq!(runs.run().is_err(), run > 0, "{run}");
    }
    cancel.store(false, Ordering::Relaxed);
    runs.rebind(vec![("n".to_owned(), ParamValue::Int(4))], BTreeMap::new(), BTreeMap::new()).unwrap();
    assert_eq!([(); 3].map(|()| runs.run().unwrap().runtime.tasks), [4; 3]);
}

/// The tasks of each of three runs, by their first scalar, as they began on one thread, and how many ran at once on three.
fn order_and_breadth(text: &str, schedule: &str) -> ([Vec<i64>; 3], u32) {
    let (order, most) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU32::new(0)));
    let kernels = || {
        let mut kernels = KernelRegistry::new();
        let (order, most, running) = (order.clone(), most.clone(), AtomicU32::new(0));
        let k = kernels.register("k", move |cx| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            order.lock().unwrap().push(cx.scalars()[0]);
            (0..100).for_each(|_| std::thread::yield_now());
            running.fetch_sub(1, Ordering::SeqCst);
            cx.store(0, &[1.0_f32])
        });
        k.unwrap();
        kernels
    };
    let mut alone = prepared(text, schedule, kernels(), WorkloadOptions { threads: 1, ..WIDE });
    let orders = [(); 3].map(|()| {
        alone.run().unwrap();
        std::mem::take(&mut *order.lock().unwrap())
    });
    let mut wide = prepared(text, schedule, kernels(), WIDE);
    most.store(0, Ordering::SeqCst);
    for _ in 0..3 {
        wide.run().unwrap();
    }
    (orders, most.load(Ordering::SeqCst))
}

#[test]
fn schedules_hold_for_tasks_that_are_kept() {
    let first = "start = after_orchestration";
    let free = "axis b = dense(6); tensor x: f32[6]; kernel k(out x, i); workload main { parallel for i in b { k(x[i], i); } }";
    let (orders, _) =
        order_and_breadth(free, &format!("task_graph(ready = priority, {first}); priority(b);"));
    assert_eq!(orders, [(); 3].map(|()| vec![5, 4, 3, 2, 1, 0]));
    let (orders, _) = order_and_breadth(free, &format!("task_graph(ready = fifo, {first});"));
    assert_eq!(orders, [(); 3].map(|()| vec![0, 1, 2, 3, 4, 5]));
    let (_, breadth) = order_and_breadth(free, "pipeline_depth(1, global);");
    assert_eq!(breadth, 1);
    let (orders, breadth) =
        order_and_breadth(free, &format!("streams(1); task_graph(ready = priority, {first}); priority(b);"));
    assert_eq!((&orders[1], &orders[2], breadth), (&orders[0], &orders[0], 1));
    // Later tasks would go first, were they ready.
    let urgent = format!("task_graph(ready = priority, deps = hybrid, {first}); priority(b);");
    let steps = free.replace("parallel for", "for");
    let (orders, breadth) = order_and_breadth(&steps, &urgent);
    assert_eq!((orders, breadth), ([(); 3].map(|()| vec![0, 1, 2, 3, 4, 5]), 1));
    let after = "tensor x: f32[6]; kernel k(out x, i);
        workload main { let a = k(x[0], 0); for j in 0..1 { k(x[1], 1) after a; } }";
    let (orders, _) = order_and_breadth(
        after,
        "task_graph(ready = work_steal, deps = hybrid, start = after_orchestration);",
    );
    assert_eq!(orders, [(); 3].map(|()| vec![0, 1]));
}

#[test]
fn places_hold_for_tasks_that_are_kept() {
    let text = "axis b = dense(4); tensor x: f32[8]; kernel v(out x) on vector; kernel c(out x) on cube;
        workload main { parallel for i in b { v(x[i]); c(x[4 + i]); } }";
    let options = WorkloadOptions { threads: 3, trace: true, ..WIDE };
    let mut runs = prepared(
        text,
        "task_graph(pools = by_unit(2, 1)); dispatch(affinity(b));",
        KernelRegistry::new(),
        options,
    );
    for _ in 0..3 {
        let stats = &runs.run().unwrap().runtime;
        let of = |kernel: u16| {
            stats.trace.iter().filter(move |task| task.kernel.0 == kernel).map(|task| task.worker)
        };
        assert!(of(0).all(|worker| worker < 2) && of(1).all(|worker| worker == 2), "{:?}", stats.trace);
        assert_eq!(stats.affinity.hits + stats.affinity.misses, 8);
    }
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
    // Gates keep the order of such streams, which has no edges then.
    let streams = "streams(2); pipeline_depth(2, per_stream); task_graph(start = after_orchestration);";
    let mut runs = prepared(&text, streams, KernelRegistry::new(), WIDE);
    let counted = [(); 3].map(|()| {
        let stats = &runs.run().unwrap().runtime;
        (stats.edges, stats.roots)
    });
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
