//! Programs without a form on an array, and what is said of them.

use super::{args, array, backend, numbers, plan, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{Backend as _, RunError, RunOptions};
use wsp_plan::PlanSource;

/// The message of what is refused.
fn message(plan: &PlanSource, given: wsp_backend::Args) -> String {
    let Err(RunError::Refused(found)) = run(plan, given) else { panic!("it is refused") };
    found.0[0].message.clone()
}

const KERNELS: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
struct Part { uint32_t first; };
struct Put { uint32_t from, to; };
struct Take { uint32_t from, to; };
PTO_KERNEL_IMPL(copy) {
    auto desc = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 1, 64> t;
    TLOAD(t, x, {desc.first});
    TSTORE(y, t, {desc.first});
}
PTO_TENSOR(ring, float, 4, 64)
PTO_KERNEL_IMPL(put) {
    auto desc = PTO_GET_DESCRIPTOR<Put>();
    VecTile<float, 1, 64> t;
    TLOAD(t, x, {desc.from});
    TSTORE(ring, t, {desc.to, 0});
}
PTO_KERNEL_IMPL(take) {
    auto desc = PTO_GET_DESCRIPTOR<Take>();
    VecTile<float, 1, 64> t;
    TLOAD(t, ring, {desc.from, 0});
    TSTORE(y, t, {desc.to});
}
";

#[test]
fn tiles_that_do_not_divide_an_array_are_told_with_the_size_to_give() {
    let x = array(&[100], 1);
    let plan = plan(
        "use \"k.pto\"; workload main { parallel for i in 0..2 { copy(first = 64 * i); } }",
        KERNELS,
        "xdna2",
    );
    assert_eq!(
        message(&plan, args(&[("x", &x)], &[])),
        "tiles of 64 do not divide the 100 of dimension 0 of `x`"
    );
}

#[test]
fn a_task_past_the_end_is_refused_with_its_kernel_and_the_extent() {
    let told = |n: u64, tasks: u32, apart: u32| {
        let x = array(&[n], 1);
        let text = format!(
            "use \"k.pto\"; workload main {{ parallel for i in 0..{tasks} {{ copy(first = {apart} * i); }} }}"
        );
        let found = run(&plan(&text, KERNELS, "xdna2"), args(&[("x", &x)], &[]));
        let Err(RunError::Refused(found)) = found else { panic!("it is refused") };
        (found.0[0].message.clone(), found.0[0].help[0].clone())
    };
    let (message, help) = told(128, 3, 64);
    assert_eq!(message, "a task of `copy` begins at 128 of dimension 0 of `x`, which has 128");
    assert_eq!(help, "start no task from 128 on, or give the dimension 192");
    let (message, help) = told(128, 2, 96);
    assert_eq!(message, "a task of `copy` takes 96..160 of dimension 0 of `x`, which has 128");
    assert_eq!(help, "give it 160, or 128 and no task behind it");
}

#[test]
fn an_extent_below_zero_is_refused_by_a_check() {
    let plan = plan(
        "use \"k.pto\"; workload main { parallel for i in 0..2 { copy(first = 64 * i); } }",
        KERNELS,
        "xdna2",
    );
    let looked = backend().check_launch(&plan, &args(&[], &[("n", -5)]));
    let first = &looked.found[0];
    assert_eq!(first.message, "`n` is an extent of arrays, and is given as -5");
    assert!(first.is_error() && first.help[0].contains("--set n=64"), "{first:?}");
}

#[test]
fn what_is_too_large_for_a_core_names_kernel_tensor_and_elements() {
    let kernels = KERNELS.replace("1, 64>", "1, 16384>");
    let x = array(&[16384], 1);
    let text = "use \"k.pto\"; workload main { parallel for i in 0..1 { copy(first = i); } }";
    let found = run(&plan(text, &kernels, "xdna2"), args(&[("x", &x)], &[]));
    let Err(RunError::Refused(found)) = found else { panic!("it is refused") };
    let found = format!("{:?}", found.0[0]);
    assert!(
        found.contains("have `copy` take tiles of at most") && found.contains("elements of `y`"),
        "{found}"
    );
}

#[test]
fn boxes_that_overlap_where_tasks_write_are_told() {
    let x = array(&[256], 1);
    let plan = plan(
        "use \"k.pto\"; workload main { parallel for i in 0..3 { copy(first = 32 * i); } }",
        KERNELS,
        "xdna2",
    );
    let told = message(&plan, args(&[("x", &x)], &[]));
    assert_eq!(told, "tasks touch [0..64] and [32..96] of `y`, which overlap and are not the same");
}

#[test]
fn objects_that_are_read_in_another_order_are_told() {
    let x = array(&[256], 1);
    let text = "use \"k.pto\"; workload main { channel c[4]; pipeline {
        process a { parallel for i in 0..4 { send c as s { put(from = 64 * i, to = s); } } }
        process b { consume c as s { consume c as t { take(from = t, to = 0); take(from = s, to = 64); } } }
    } }";
    let told = message(&plan(text, KERNELS, "xdna2"), args(&[("x", &x)], &[]));
    assert!(told.starts_with("`b` reads [1..2, 0..64] of `ring` before [0..1, 0..64]"), "{told}");
}

/// Nothing that flows between the two cores orders the transfers of a box that the first reads and the second writes.
#[test]
fn boxes_that_one_core_reads_from_the_host_and_another_changes_are_told() {
    let kernels = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
struct Part { uint32_t first; };
struct Then { uint32_t first; };
struct Last { uint32_t first; };
PTO_KERNEL_IMPL(read) {
    auto desc = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 1, 64> t;
    TLOAD(t, x, {desc.first});
    TSTORE(y, t, {desc.first});
}
PTO_KERNEL_IMPL(follow) {
    auto desc = PTO_GET_DESCRIPTOR<Then>();
    VecTile<float, 1, 64> t;
    TLOAD(t, y, {desc.first});
    TSTORE(x, t, {desc.first});
}
PTO_KERNEL_IMPL(change) {
    auto desc = PTO_GET_DESCRIPTOR<Last>();
    VecTile<float, 1, 64> t;
    TASSIGN(t, 7.0f);
    TSTORE(x, t, {desc.first});
}
";
    let text = |second: &str| {
        format!(
            "use \"k.pto\"; workload main {{ pipeline {{
            process a {{ parallel for i in 0..4 {{ read(first = 64 * i); }} }}
            process b {{ parallel for i in 0..4 {{ {second}; }} }} }} }}"
        )
    };
    let x = array(&[256], 1);
    let told =
        message(&plan(&text("change(first = 192 - 64 * i)"), kernels, "xdna2"), args(&[("x", &x)], &[]));
    assert_eq!(told, "`a` reads [0..64] of `x` from the host, and `b` changes it later");
    // What the second core stores comes of what the first has read.
    let given = args(&[("x", &x)], &[]);
    let ran = run(&plan(&text("follow(first = 64 * i)"), kernels, "xdna2"), given).expect("it has a form");
    let after = |name: &str| numbers(&ran.outputs[name]);
    assert_eq!((after("x"), after("y")), (numbers(&x), numbers(&x)));
}

const ROWS: &str = "
PTO_SHAPE(x, rows, 4)
PTO_SHAPE(y, rows, 4)
PTO_SHAPE(z, rows, 1)
struct D { uint32_t r; };
struct E { uint32_t r; };
PTO_KERNEL_IMPL(twice) {
    auto desc = PTO_GET_DESCRIPTOR<D>();
    VecTile<float, 4, 4> a;
    TLOAD(a, x, {desc.r, 0});
    TMULS(a, a, 2.0f);
    TSTORE(y, a, {desc.r, 0});
}
PTO_KERNEL_IMPL(sum) {
    auto desc = PTO_GET_DESCRIPTOR<E>();
    VecTile<float, 4, 4> a;
    VecTile<float, 4, 1> s;
    TLOAD(a, y, {desc.r, 0});
    TROWSUM(s, a);
    TSTORE(z, s, {desc.r, 0});
}
";

/// What the help says does help.
#[test]
fn boxes_of_two_loops_that_take_too_many_descriptors_are_answered_by_one_loop() {
    let x = array(&[256, 4], 1);
    let of = |tasks: &str| {
        let text =
            format!("use \"k.pto\"; param rows; workload main {{ {tasks} }} schedule {{ workers(1); }}");
        run(&plan(&text, ROWS, "xdna2"), args(&[("x", &x)], &[]))
    };
    let each = "parallel for i in 0..rows / 4";
    let apart = of(&format!("{each} {{ twice(r = 4 * i); }} {each} {{ sum(r = 4 * i); }}"));
    let Err(RunError::Refused(found)) = apart else { panic!("it is refused") };
    let descriptors = found.0.iter().find(|found| found.code.0 == 1828).expect("there are too few");
    assert!(
        descriptors.help[0].starts_with("start the tasks that pass boxes to each other in one loop"),
        "{found}"
    );
    let together = of(&format!("{each} {{ twice(r = 4 * i); sum(r = 4 * i); }}")).expect("it runs");
    assert_eq!(numbers(&together.outputs["z"]).len(), 256);
}

/// The extent that is named is enough for all tasks, so that the program is taken with it.
#[test]
fn the_extent_to_give_is_that_of_all_tasks() {
    let text = "use \"k.pto\"; workload main { parallel for i in 0..40 { copy(first = 64 * i); } }";
    let plan = plan(text, KERNELS, "xdna2");
    let told = |n: u64| run(&plan, args(&[("x", &array(&[n], 1))], &[]));
    for n in [128, 1024, 100] {
        let Err(RunError::Refused(found)) = told(n) else { panic!("{n} is refused") };
        assert!(found.0[0].help[0].contains("2560"), "{:?}", found.0[0]);
    }
    assert!(told(2560).is_ok());
    // Those of a kernel whose first task comes later are among them.
    let twice = "
struct Also { uint32_t first; };
PTO_KERNEL_IMPL(twice) {
    auto desc = PTO_GET_DESCRIPTOR<Also>();
    VecTile<float, 1, 64> t;
    TLOAD(t, x, {desc.first});
    TADD(t, t, t);
    TSTORE(y, t, {desc.first});
}
";
    let text = "use \"k.pto\"; workload main { parallel for i in 0..4 { copy(first = 64 * i); } parallel for i in 4..8 { twice(first = 64 * i); } }";
    let plan = self::plan(text, &format!("{KERNELS}{twice}"), "xdna2");
    let Err(RunError::Refused(found)) = run(&plan, args(&[("x", &array(&[100], 1))], &[])) else {
        panic!("it is refused")
    };
    assert!(found.0[0].help[0].contains("512"), "{:?}", found.0[0]);
}

/// The help of a finding in a design names what a program writes, at the place where it stands there.
#[test]
fn what_a_rule_of_designs_finds_has_its_place_in_the_program() {
    let kernels = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
struct Part { uint32_t first; };
PTO_KERNEL_IMPL(copy) {
    auto desc = PTO_GET_DESCRIPTOR<Part>();
    VecTile<bfloat16_t, 1, 3> t;
    TLOAD(t, x, {desc.first});
    TSTORE(y, t, {desc.first});
}
";
    let text = "use \"k.pto\"; workload main { parallel for i in 0..2 { copy(first = 3 * i); } }";
    let plan = plan(text, kernels, "xdna2");
    let x = wsp_memory::Array::zeros(wsp_core::DType::Bf16, &[6]).expect("it is small");
    let Err(RunError::Refused(found)) = run(&plan, args(&[("x", &x)], &[])) else { panic!("it is refused") };
    let found = &found.0[0];
    assert_eq!(found.code.0, 1831);
    let span = found.primary.as_ref().expect("it has a place").span;
    assert_eq!(&kernels[span.start as usize..span.end as usize], "x");
}

/// Tasks are counted before arrays are there, also where the file of the kernels has the value that decides their number.
#[test]
fn tasks_are_counted_with_the_defaults_of_kernels() {
    let kernels = format!("PTO_PARAM(uint32_t, reps, 100000)\n{KERNELS}");
    let text = |reps: &str| {
        format!(
            "use \"k.pto\"; param reps{reps}; workload main {{ parallel for i in 0..reps {{ copy(first = 64 * i); }} }}"
        )
    };
    let told = |reps: &str, given: &[(&str, i64)]| {
        let values = args(&[], given).values;
        backend()
            .check_values(&plan(&text(reps), &kernels, "xdna2"), &values)
            .map_err(|found| found.0[0].message.clone())
    };
    let refused = Err("the launch has 100000 tasks, and an array takes 65536 at most".to_owned());
    assert_eq!(told("", &[]), refused);
    assert_eq!(told("", &[("reps", 100)]), Ok(()));
    assert_eq!(told(" = 100", &[]), Ok(()));
}

/// A caller that has stopped a run gets no design: nothing is listed further, placed or checked.
#[test]
fn making_a_design_is_stopped() {
    let text = "use \"k.pto\"; workload main { parallel for i in 0..40 { copy(first = 64 * i); } }";
    let program = backend().compile(&plan(text, KERNELS, "xdna2")).expect("it is taken");
    let given = || args(&[("x", &array(&[2560], 1))], &[]);
    let cancel = Arc::new(AtomicBool::new(true));
    let options = RunOptions { cancel: Some(cancel.clone()), ..RunOptions::default() };
    let Err(RunError::Cancelled(found)) = program.prepare(given(), options.clone()) else {
        panic!("it is stopped")
    };
    assert_eq!(found.0[0].code.0, 574);
    cancel.store(false, Ordering::Relaxed);
    assert!(program.prepare(given(), options).is_ok());
}
