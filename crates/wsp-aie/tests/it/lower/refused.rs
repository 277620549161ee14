//! Programs without a form on an array, and what is said of them.

use super::{args, array, numbers, plan, run};
use wsp_backend::RunError;
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
