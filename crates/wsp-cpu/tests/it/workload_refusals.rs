//! What runs, graphs and simulations of declared kernels refuse, and with which words.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, plan, program, report};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::Detail;
use wsp_core::DType;
use wsp_cpu::workload::{KernelRegistry, WorkloadInputs, WorkloadOptions};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::workload::Deps;
use wsp_plan::Array;

const CHAIN: &str = "tensor x: f32[4]; kernel step(inout x); workload main { for i in 0..3 { step(x); } }";

fn expect(faults: Vec<Diagnostic>, code: u16, part: &str) {
    assert_eq!(faults[0].code, Code(code), "{}", report(&faults));
    assert!(report(&faults).contains(part), "{}", report(&faults));
}

fn run(text: &str, inputs: &WorkloadInputs, options: &WorkloadOptions) -> Vec<Diagnostic> {
    program(text).execute(inputs, options).expect_err("the run should be refused")
}

fn none() -> WorkloadOptions {
    WorkloadOptions::default()
}

fn sequential() -> WorkloadOptions {
    WorkloadOptions { sequential: true, ..none() }
}

#[test]
fn a_function_for_a_kernel_that_is_not_declared_is_refused() {
    let mut registry = KernelRegistry::new();
    registry.register("stop", |_| Ok(())).unwrap();
    expect(program(CHAIN).with_kernels(registry).unwrap_err(), 851, "did you mean `step`");
}

#[test]
fn a_tensor_that_no_memory_holds_is_refused() {
    let text = "tensor x: u8[4294967295, 1048576]; kernel step(inout x); workload main { step(x[0, 0]); }";
    expect(run(text, &WorkloadInputs::all_made_up(0), &WIDE), 855, "tensor `x`");
}

#[test]
fn options_that_contradict_the_schedule_or_each_other_are_refused() {
    let pools = format!("{CHAIN} schedule {{ task_graph(pools = by_unit(1, 1)); }}");
    let cycles = format!("{CHAIN} schedule {{ task_graph(trace = cycles); }}");
    for (text, options, part) in [
        (pools.as_str(), WorkloadOptions { threads: 3, ..none() }, "the schedule's pools have 1 + 1 workers"),
        (CHAIN, WorkloadOptions { threads: 4_000_000, ..none() }, "`threads` is 4000000"),
        (CHAIN, WorkloadOptions { window: Some(0), ..none() }, "is 0"),
        (CHAIN, WorkloadOptions { plain: true, ..none() }, "no kernel comes from a used file"),
        (CHAIN, WorkloadOptions { trace: true, ..sequential() }, "records no times"),
        (&cycles, none(), "virtual time"),
    ] {
        expect(run(text, &WorkloadInputs::all_made_up(0), &options), 864, part);
    }
    // One task after another has no pools.
    assert!(program(&pools).execute(&WorkloadInputs::all_made_up(0), &sequential()).is_ok());
}

#[test]
fn a_graph_takes_no_option_that_would_not_change_it() {
    for (name, options) in [
        ("threads", WorkloadOptions { threads: 1, ..none() }),
        ("window", WorkloadOptions { window: Some(1), ..none() }),
        ("seed", WorkloadOptions { seed: 1, ..none() }),
        ("trace", WorkloadOptions { trace: true, ..none() }),
        ("plain", WorkloadOptions { plain: true, ..none() }),
        ("sequential", sequential()),
    ] {
        let listed = program(CHAIN).graph(&WorkloadInputs::all_made_up(0), None, Detail::default(), &options);
        expect(listed.unwrap_err(), 864, &format!("`{name}`"));
    }
    for options in [WorkloadOptions { plain: true, ..none() }, sequential()] {
        expect(
            program(CHAIN).simulate(&WorkloadInputs::all_made_up(0), &options).unwrap_err(),
            864,
            "no kernel runs",
        );
    }
}

#[test]
fn a_raised_flag_stops_runs_graphs_and_simulations() {
    let flag = Some(Arc::new(AtomicBool::new(true)));
    let options = WorkloadOptions { cancel: flag, ..none() };
    let text = "tensor x: f32[4]; kernel step(inout x);
        workload main { for i in 0..100000 { step(x); } }";
    let inputs = WorkloadInputs::all_made_up(0);
    expect(run(text, &inputs, &options), 574, "cancelled");
    expect(run(text, &inputs, &WorkloadOptions { sequential: true, ..options.clone() }), 574, "cancelled");
    let program = program(text);
    let listed = program.graph(&inputs, Some(Deps::Overlap), Detail::default(), &options);
    expect(listed.unwrap_err(), 574, "cancelled");
    expect(program.simulate(&inputs, &options).unwrap_err(), 574, "cancelled");
}

#[test]
fn arrays_that_do_not_fit_or_are_not_taken_are_refused() {
    let text = "table t = [1, 2]; slot s = 3; tensor x: f32[4]; kernel step(inout x);
        workload main { for i in 0..t[0] + s { step(x); } }";
    let with = |name: &str, dtype, shape: &[u64]| WorkloadInputs {
        arrays: [(name.to_owned(), Array::zeros(dtype, shape).unwrap())].into(),
        ..WorkloadInputs::all_made_up(0)
    };
    for (name, dtype, shape, part) in [
        ("x", DType::F64, &[4][..], "array `x` does not fit its tensor"),
        ("x", DType::F32, &[5], "array `x` does not fit its tensor"),
        ("x", DType::F32, &[2, 2], "array `x` does not fit its tensor"),
        ("s", DType::I32, &[1], "array `s` does not fit its tensor"),
        ("t", DType::F32, &[2], "array `t` is no table"),
        ("t", DType::I64, &[1, 2], "array `t` is no table"),
    ] {
        expect(run(text, &with(name, dtype, shape), &WIDE), 863, part);
    }
    let mut large = with("t", DType::U64, &[3]);
    large.arrays.get_mut("t").unwrap().as_slice_mut::<u64>().unwrap()[1] = 1 << 63;
    expect(run(text, &large, &WIDE), 863, "`t[1]` is 9223372036854775808");
    let unknown = with("xx", DType::F32, &[4]);
    expect(run(text, &unknown, &WIDE), 560, "takes no array `xx`");
    expect(program(text).simulate(&unknown, &WIDE).unwrap_err(), 560, "takes no array `xx`");
}

#[test]
fn a_slot_starts_with_the_value_of_its_array_in_runs_and_graphs() {
    let text = "slot s = 3; tensor x: f32[4]; kernel step(inout x);
        workload main { while s > 3 max 2 { step(x); } }";
    let mut array = Array::zeros(DType::I64, &[1]).unwrap();
    array.as_slice_mut::<i64>().unwrap()[0] = 5;
    let inputs =
        WorkloadInputs { arrays: [("s".to_owned(), array)].into(), ..WorkloadInputs::all_made_up(0) };
    let program = program(text);
    let listed = program.graph(&inputs, Some(Deps::Overlap), Detail::default(), &none());
    // The condition never becomes false: the bound on rounds ends both.
    assert!(report(&listed.unwrap_err()).contains('2'));
    assert!(program.execute(&inputs, &sequential()).is_err());
    assert_eq!(program.execute(&WorkloadInputs::all_made_up(0), &WIDE).unwrap().runtime.tasks, 0);
}

#[test]
fn explicit_dependences_cannot_follow_computed_values_and_say_what_can() {
    let text = "tensor x: f32[4]; slot left = 5; kernel step(inout x, inout left);
        workload main { while left > 0 max 9 { step(x, left); } } schedule { task_graph(deps = explicit); }";
    let faults = run(text, &WorkloadInputs::all_made_up(0), &WIDE);
    assert!(
        report(&faults).contains("deps = hybrid") && !report(&faults).contains("wsp run"),
        "{}",
        report(&faults)
    );
    expect(faults, 854, "slot `left`");
}

#[test]
fn a_graph_of_too_many_tasks_is_refused() {
    let text = "tensor x: f32[4]; kernel step(inout x);
        workload main { for i in 0..10000 { for j in 0..10000 { step(x); } } }";
    let listed =
        program(text).graph(&WorkloadInputs::all_made_up(0), Some(Deps::Overlap), Detail::default(), &none());
    expect(listed.unwrap_err(), 861, "100000000 tasks");
}

#[test]
fn a_negative_cost_is_refused_and_a_simulation_refuses_what_a_run_does() {
    let text = |cost: &str, schedule: &str| {
        format!(
            "tensor x: f32[4]; kernel step(n, inout x) cost {cost};
             workload main {{ parallel for i in 0..3 {{ step(i, x); }} }} schedule {{ {schedule} }}"
        )
    };
    let simulate = |text: String| program(&text).simulate(&WorkloadInputs::all_made_up(0), &WIDE);
    expect(simulate(text("1 - n", "")).unwrap_err(), 866, "is -1");
    expect(simulate(text("1", "task_graph(deps = explicit);")).unwrap_err(), 860, "nothing orders them");
    expect(simulate(text("1", "task_graph(window = (1, abort));")).unwrap_err(), 859, "window");
    assert_eq!(simulate(text("7", "")).unwrap().simulation.makespan, 21);
}

#[test]
fn a_sequential_run_counts_the_tasks_of_each_kernel() {
    let text = "tensor x: f32[4]; kernel a(inout x); kernel b(inout x);
        workload main { for i in 0..3 { a(x); a(x); b(x); } }";
    for options in [sequential(), WIDE] {
        let outcome = program(text).execute(&WorkloadInputs::all_made_up(0), &options).unwrap();
        let counts: Vec<u64> = outcome.kernels.iter().map(|k| k.tasks).collect();
        assert_eq!((outcome.runtime.tasks, counts), (9, vec![6, 3]));
    }
}

#[test]
fn a_tensor_that_tasks_read_first_must_be_given_or_asked_for() {
    let text = "tensor x: u32[4]; tensor t: u32[4]; tensor y: u32[4];
        kernel k(in a, out b);
        workload main { k(x, t); k(t, y); }";
    let copy = || {
        let mut kernels = KernelRegistry::new();
        kernels
            .register("k", |cx| {
                let elements = cx.load::<u32>(0)?;
                cx.store(1, &elements)
            })
            .unwrap();
        program(text).with_kernels(kernels).unwrap()
    };
    assert_eq!(plan(text).first_reads().needed.iter().collect::<Vec<_>>(), ["x"]);
    let given = |name: &str| {
        let mut array = Array::zeros(DType::U32, &[4]).unwrap();
        array.as_slice_mut::<u32>().unwrap().fill(7);
        WorkloadInputs { arrays: [(name.to_owned(), array)].into(), ..WorkloadInputs::default() }
    };
    for options in [WIDE, sequential()] {
        expect(copy().execute(&WorkloadInputs::default(), &options).unwrap_err(), 550, "`x` is missing");
        expect(copy().execute(&given("X"), &options).unwrap_err(), 560, "did you mean `x`?");
        let outputs = copy().execute(&given("x"), &options).unwrap().outputs;
        assert_eq!(outputs["y"].as_slice::<u32>().unwrap(), [7; 4]);
        let made_up = |name: &str| WorkloadInputs { made_up: vec![name.to_owned()], ..given("y") };
        assert!(copy().execute(&made_up("x"), &options).is_ok());
        expect(copy().execute(&made_up("z"), &options).unwrap_err(), 863, "no tensor `z`");
        let both = WorkloadInputs { made_up: vec!["x".to_owned()], ..given("x") };
        expect(copy().execute(&both, &options).unwrap_err(), 863, "is given and is to be made up");
    }
}

#[test]
fn kernels_without_a_body_mix_only_when_that_is_asked_for() {
    let all = WorkloadInputs::all_made_up(1);
    let mute = WorkloadInputs { mixing: false, ..all.clone() };
    for options in [WIDE, sequential()] {
        expect(run(CHAIN, &mute, &options), 850, "has no body");
        assert!(program(CHAIN).execute(&all, &options).is_ok());
    }
}
