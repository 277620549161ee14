//! Workloads from text to results: small programs each of which once went wrong in some system of this kind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, graph, outputs, program, report, run_error};
use std::sync::{Arc, Mutex};
use wsp_backend::Bodies;
use wsp_cpu::workload::{KernelRegistry, WorkloadInputs, WorkloadOptions, WorkloadProgram};
use wsp_ir::workload::Deps;

/// Runs with a kernel that notes the scalars of each of its tasks, in the order of elaboration.
fn visited(text: &str, kernel: &str) -> Vec<Vec<i64>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let mut registry = KernelRegistry::new();
    registry
        .register(kernel, move |cx| {
            sink.lock().map_err(|_| "poisoned")?.push(cx.scalars().to_vec());
            Ok(())
        })
        .unwrap();
    let program = program(text).with_kernels(registry).unwrap();
    let options = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
    let outcome = program
        .execute(&WorkloadInputs::all_made_up(0), &options)
        .unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(outcome.bodies, Bodies::Registered);
    seen.lock().unwrap().clone()
}

#[test]
fn nested_ordered_loops_keep_their_indices() {
    let text = "kernel k(a, b); workload main { for i in 0..4 { for i2 in 0..3 { k(i, i2); } } }";
    let expected: Vec<Vec<i64>> = (0..4).flat_map(|i| (0..3).map(move |j| vec![i, j])).collect();
    assert_eq!(visited(text, "k"), expected);
}

#[test]
fn eleven_loops_deep_every_index_is_that_of_its_loop() {
    let (mut open, mut names) = (String::new(), Vec::new());
    for depth in 0..11 {
        // One name for all: the innermost counts, and the others are reached through `let`s of the call.
        open += &format!("for v{depth} in 0..2 {{ ");
        names.push(format!("v{depth}"));
    }
    let params: Vec<String> = (0..11).map(|d| format!("p{d}")).collect();
    let text = format!(
        "kernel k({}); workload main {{ {open} k({}); {} }}",
        params.join(", "),
        names.join(", "),
        "}".repeat(11)
    );
    let expected: Vec<Vec<i64>> =
        (0..2048).map(|n: i64| (0..11).rev().map(|bit| n >> bit & 1).collect()).collect();
    assert_eq!(visited(&text, "k"), expected);
}

#[test]
fn a_loop_variable_that_hides_another_is_bound_by_identity() {
    let text = "kernel k(a, b);
        workload inner(i) { for j in 0..2 { k(j, i); } }
        workload main { for i in 0..2 { for j in 5..7 { call inner(j * 10 + i); } k(i, i); } }";
    let expected = [[0, 50], [1, 50], [0, 60], [1, 60], [0, 0], [0, 51], [1, 51], [0, 61], [1, 61], [1, 1]];
    assert_eq!(visited(text, "k"), expected.map(|pair| pair.to_vec()));
}

#[test]
fn sparse_rows_of_two_one_none_and_two_visit_five_pairs() {
    let text = "table indptr = [0, 2, 3, 3, 5]; table indices = [4, 9, 1, 0, 7];
        axis row = dense(4); axis nz = sparse(row, indptr, indices);
        kernel k(r, c, p);
        workload main { parallel for r in row { select c @ p in nz[r] { k(r, c, p); } } }";
    let expected = [[0, 4, 0], [0, 9, 1], [1, 1, 2], [3, 0, 3], [3, 7, 4]];
    assert_eq!(visited(text, "k"), expected.map(|row| row.to_vec()));
}

#[test]
fn a_fan_out_of_seventy_thousand_completes() {
    let text = "param n = 70000; tensor x: f32[1]; tensor y: f32[n]; tensor z: f32[1];
        kernel make(out x); kernel use_it(in x, out y); kernel join(in y, inout z);
        workload main { make(x); parallel for i in 0..n { use_it(x, y[i]); } join(y, z); make(x); }";
    let listing = graph(text, Some(Deps::Overlap));
    assert_eq!(listing.tasks.len(), 70_003);
    // Each reader after `make`, `join` after each, and the second `make` after each reader and the first.
    assert_eq!(listing.edges.len(), 3 * 70_000 + 1);
    assert_eq!(outputs(text, &WIDE), outputs(text, &WorkloadOptions { sequential: true, ..WIDE }));
}

#[test]
fn a_hundred_distinct_regions_of_one_tensor_are_all_found() {
    let text = "tensor x: f32[100, 8]; tensor y: f32[100];
        kernel make(out x); kernel use_it(in x, out y);
        workload main { parallel for i in 0..100 { make(x[i]); } parallel for i in 0..100 { use_it(x[99 - i], y[i]); } }";
    let expected: Vec<(u32, u32)> = (0..100).map(|i| (99 - i, 100 + i)).collect();
    for deps in [Some(Deps::Exact), Some(Deps::Overlap)] {
        let mut edges = graph(text, deps).edges;
        edges.sort_by_key(|edge| edge.1);
        assert_eq!(edges, expected, "{deps:?}");
    }
}

#[test]
fn a_partial_overwrite_yields_both_producers_and_the_first_task_counts() {
    let text = "tensor x: f32[8]; tensor y: f32[1]; kernel make(out x); kernel use_it(in x, out y);
        workload main { make(x); make(x[2..4]); use_it(x, y); }";
    assert_eq!(graph(text, Some(Deps::Overlap)).edges, [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(graph(text, Some(Deps::Exact)).edges, [(0, 2)]);
}

#[test]
fn a_run_under_exact_dependences_refuses_regions_that_overlap_and_differ() {
    let text = "tensor x: f32[8]; tensor y: f32[1]; kernel make(out x); kernel use_it(in x, out y);
        workload main { make(x); make(x[2..4]); use_it(x, y); } schedule { task_graph(deps = exact); }";
    let message = run_error(text, &WIDE);
    assert!(message.contains("`x[0..8]` and `x[2..4]` overlap and are not equal"), "{message}");
    let tiles = "tensor x: f32[8]; kernel step(inout x);
        workload main { for r in 0..3 { parallel for i in 0..4 { step(x[2*i +: 2]); } } }
        schedule { task_graph(deps = exact); }";
    assert_eq!(outputs(tiles, &WIDE), outputs(tiles, &WorkloadOptions { sequential: true, ..WIDE }));
}

#[test]
fn explicit_dependences_that_miss_a_hazard_are_refused_and_complete_ones_run() {
    let text = |after: &str| {
        format!(
            "tensor x: f32[8]; tensor y: f32[8]; kernel make(out x); kernel use_it(in x, out y);
             workload main {{ let m = make(x); use_it(x, y) {after}; }}
             schedule {{ task_graph(deps = explicit); }}"
        )
    };
    let message = run_error(&text(""), &WIDE);
    assert!(message.contains("task 0 of kernel `make` and task 1 of kernel `use_it` conflict"), "{message}");
    let text = text("after m");
    assert_eq!(outputs(&text, &WIDE), outputs(&text, &WorkloadOptions { sequential: true, ..WIDE }));
}

#[test]
fn a_failing_and_a_panicking_kernel_reach_the_caller_with_name_and_indices() {
    let text = "tensor x: f32[9]; kernel bad(n, inout x);
        workload main { parallel for i in 0..3 { parallel for j in 0..3 { bad(i * 10 + j, x[3*i + j]); } } }";
    let with = |panics: bool| -> WorkloadProgram {
        let mut registry = KernelRegistry::new();
        let body = move |cx: &mut wsp_cpu::workload::KernelCx<'_>| match cx.scalars()[0] {
            12 if panics => panic!("lost my way"),
            12 => Err("no way".into()),
            _ => Ok(()),
        };
        registry.register("bad", body).unwrap();
        program(text).with_kernels(registry).unwrap()
    };
    for (panics, says) in
        [(true, "kernel `bad` panicked: lost my way"), (false, "kernel `bad` failed: no way")]
    {
        for options in [WIDE, WorkloadOptions { sequential: true, ..WIDE }] {
            let program = with(panics);
            for _ in 0..2 {
                let faults = program.execute(&WorkloadInputs::all_made_up(0), &options).unwrap_err();
                let message = report(&faults);
                assert!(message.contains(says), "{message}");
                assert!(message.contains("in the task with the indices [1, 2]"), "{message}");
                assert!(message.contains("its arguments: 12, x[5..6]"), "{message}");
            }
        }
    }
}

#[test]
fn a_slot_that_tasks_write_ends_a_loop() {
    let text = "tensor x: f64[4]; slot left = 5; kernel step(inout x, inout left);
        workload main { while left > 0 max 100 { step(x, left); } }";
    let mut registry = KernelRegistry::new();
    registry
        .register("step", |cx| {
            let left = cx.load::<i64>(1)?[0];
            let x: Vec<f64> = cx.load::<f64>(0)?.iter().map(|x| x + left as f64).collect();
            cx.store(0, &x)?;
            cx.store(1, &[left - 1])
        })
        .unwrap();
    let program = program(text).with_kernels(registry).unwrap();
    let mut inputs = WorkloadInputs::all_made_up(0);
    inputs.arrays.insert("x".into(), wsp_plan::Array::zeros(wsp_core::DType::F64, &[4]).unwrap());
    for options in [WIDE, WorkloadOptions { sequential: true, ..WIDE }] {
        let outcome = program.execute(&inputs, &options).unwrap_or_else(|f| panic!("{}", report(&f)));
        assert_eq!(outcome.outputs["x"].as_slice::<f64>().unwrap(), [15.0; 4]);
        assert_eq!(outcome.runtime.tasks, 5);
    }
    let faults = program
        .graph(&inputs, Some(Deps::Overlap), Default::default(), &WorkloadOptions::default())
        .unwrap_err();
    assert!(report(&faults).contains("depends on slot `left`"), "{}", report(&faults));
}

#[test]
fn a_window_that_aborts_says_so() {
    let text = "tensor x: f32[1]; kernel step(inout x);
        workload main { parallel for i in 0..100000 { step(x); } } schedule { task_graph(window = (2, abort)); }";
    let message = run_error(text, &WIDE);
    assert!(message.contains("window of 2 full"), "{message}");
}

#[test]
fn kernels_see_regions_in_row_major_order_and_must_keep_to_their_modes() {
    let text = "tensor a: f32[4, 4]; tensor b: f32[4]; kernel sum(in a, out b);
        workload main { parallel for i in 0..2 { sum(a[1..3, 2*i +: 2], b[i]); } }";
    let mut registry = KernelRegistry::new();
    registry
        .register("sum", |cx| {
            if cx.shape(0)? != [2, 2] || cx.shape(1)? != [1] {
                return Err("wrong shape".into());
            }
            let a = cx.load::<f32>(0)?;
            for refused in [
                cx.load::<f32>(1).err(),
                cx.load::<f64>(0).err(),
                cx.store(0, &a).err(),
                cx.store(1, &a).err(),
            ] {
                refused.ok_or("should be refused")?;
            }
            cx.store(1, &[a[0] + 10.0 * a[1] + 100.0 * a[2] + 1000.0 * a[3]])
        })
        .unwrap();
    let mut inputs = WorkloadInputs::all_made_up(0);
    let mut a = wsp_plan::Array::zeros(wsp_core::DType::F32, &[4, 4]).unwrap();
    for (i, x) in a.as_slice_mut::<f32>().unwrap().iter_mut().enumerate() {
        *x = (i % 10) as f32;
    }
    inputs.arrays.insert("a".into(), a);
    inputs.arrays.insert("b".into(), wsp_plan::Array::zeros(wsp_core::DType::F32, &[4]).unwrap());
    let program = program(text).with_kernels(registry).unwrap();
    let outcome = program.execute(&inputs, &WIDE).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(
        outcome.outputs["b"].as_slice::<f32>().unwrap(),
        [9854.0, 1076.0 + 0.0, 0.0, 0.0].map(|x: f32| x).as_slice()
    );
}

#[test]
fn a_region_that_is_watched_is_recorded_as_its_task_stores_it() {
    let text = "tensor x: f32[6]; kernel part(n, out y);
        workload main { for i in 0..2 { part(i, x[2*i +: 2]); } }";
    let mut registry = KernelRegistry::new();
    registry.register("part", |cx| cx.store(0, &[1.0_f32; 2])).unwrap();
    let program = program(text).with_kernels(registry).unwrap();
    for whole_outs in [false, true] {
        let recording = wsp_backend::Recording::On;
        let options = WorkloadOptions { sequential: true, whole_outs, recording, ..WIDE };
        let outcome = program
            .execute(&WorkloadInputs::all_made_up(0), &options)
            .unwrap_or_else(|f| panic!("{}", report(&f)));
        let left: Vec<(u64, &[u64])> =
            outcome.unwritten.iter().map(|each| (each.elements, each.first.as_slice())).collect();
        assert_eq!(left, [(2, [4].as_slice())], "whole_outs: {whole_outs}");
    }
}

#[test]
fn a_region_whose_task_panics_is_as_it_was_where_nothing_was_stored() {
    let text = "tensor x: f32[3]; kernel lost(out y); workload main { lost(x); }";
    let mut registry = KernelRegistry::new();
    registry.register("lost", |_: &mut wsp_cpu::workload::KernelCx<'_>| panic!("lost my way")).unwrap();
    let program = program(text).with_kernels(registry).unwrap();
    let mut inputs = WorkloadInputs::all_made_up(0);
    inputs.arrays.insert("x".into(), wsp_plan::Array::zeros(wsp_core::DType::F32, &[3]).unwrap());
    let options = WorkloadOptions { sequential: true, whole_outs: true, ..WIDE };
    let mut prepared = program.prepare(inputs, options).unwrap_or_else(|f| panic!("{}", report(&f)));
    let message = report(&prepared.run().unwrap_err());
    assert!(message.contains("kernel `lost` panicked: lost my way"), "{message}");
    let x = prepared.output("x").unwrap().unwrap();
    assert_eq!(x.as_slice::<f32>().unwrap(), [0.0; 3]);
}
