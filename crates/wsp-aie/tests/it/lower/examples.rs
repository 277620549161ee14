//! The examples, each beside what `f64` gives.

use super::{args, array, numbers, plan, run, run_with, text, written};
use crate::references::{attention, normalised, product, softmax, two_layers};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::{PayloadSlot, RunError, RunOptions};
use wsp_memory::Array;

/// The workload and the kernels of an example.
macro_rules! example {
    ($name:literal, $target:expr) => {
        plan(
            include_str!(concat!("../../../../../examples/aie/", $name, ".wsp")),
            include_str!(concat!("../../../../../examples/aie/", $name, ".pto")),
            $target,
        )
    };
}

pub(super) use example;

/// Whether numbers are what `f64` gives, up to what `f32` loses over sums of a few hundred.
pub(super) fn close(found: &Array, wanted: &[f64]) {
    let found = numbers(found);
    assert_eq!(found.len(), wanted.len());
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= 2e-5 * (1.0 + wanted.abs()), "element {at}: {found}, {wanted}");
    }
}

#[test]
fn a_vector_is_scaled_on_all_cores_of_both_arrays() {
    for (target, cores) in [("xdna1", 16), ("xdna2", 32)] {
        let x = array(&[65536], 1);
        let plan = example!("scale", target);
        let args = args(&[("x", &x)], &[]);
        let text = text(&plan, args.clone());
        assert_eq!(text.matches("aie.core").count(), cores, "{text}");
        let outcome = run(&plan, args).expect("it runs");
        close(&outcome.outputs["y"], &numbers(&x).iter().map(|x| 3.0 * x).collect::<Vec<_>>());
        assert_eq!(outcome.stats.tasks, 64);
    }
}

#[test]
fn a_run_of_an_array_is_cancelled() {
    let x = array(&[4096], 1);
    let options = RunOptions { cancel: Some(Arc::new(AtomicBool::new(true))), ..RunOptions::default() };
    match run_with(&example!("scale", "xdna2"), args(&[("x", &x)], &[]), options) {
        Err(RunError::Cancelled(found)) => assert_eq!(found.0[0].code.0, 574, "{found}"),
        other => panic!("{other:?}"),
    }
}

/// A caller whose functions may fail gives a slot for what they leave; a design calls none.
#[test]
fn a_slot_for_what_functions_leave_is_no_option_of_a_design() {
    let x = array(&[4096], 1);
    let options = RunOptions { payload: Some(PayloadSlot::default()), ..RunOptions::default() };
    let ran = run_with(&example!("scale", "xdna2"), args(&[("x", &x)], &[]), options);
    assert!(ran.is_ok(), "{ran:?}");
}

#[test]
fn a_product_of_matrices_on_one_core_and_on_many() {
    for (m, n, k, cores) in [(32, 32, 128, 1), (128, 128, 64, 16), (128, 256, 64, 32)] {
        let (a, b) = (array(&[m, k], 1), array(&[k, n], 2));
        let plan = example!("gemm", "xdna2");
        let args = args(&[("a", &a), ("b", &b)], &[]);
        assert_eq!(text(&plan, args.clone()).matches("aie.core").count(), cores, "{m} {n} {k}");
        let outcome = run(&plan, args).expect("it runs");
        let size = (m as usize, n as usize, k as usize);
        close(&outcome.outputs["c"], &product(&numbers(&a), &numbers(&b), size));
    }
}

#[test]
fn four_cores_share_the_depth_of_a_product_and_a_fifth_adds_up() {
    let (a, b) = (array(&[64, 128], 1), array(&[128, 64], 2));
    let plan = example!("gemm_split", "xdna2");
    let outcome = run(&plan, args(&[("a", &a), ("b", &b)], &[])).expect("it runs");
    close(&outcome.outputs["c"], &product(&numbers(&a), &numbers(&b), (64, 64, 128)));
}

#[test]
fn rows_are_normalised_with_one_gain_for_all_cores() {
    let (rows, cols) = (256, 64);
    let (x, gain) = (array(&[rows, cols], 1), array(&[cols], 2));
    let outcome =
        run(&example!("rmsnorm", "xdna2"), args(&[("x", &x), ("gain", &gain)], &[])).expect("it runs");
    close(&outcome.outputs["y"], &normalised(&numbers(&x), &numbers(&gain)));
}

#[test]
fn three_processes_take_a_softmax() {
    let plan = plan(
        include_str!("../../../../../examples/pipelines/softmax.wsp"),
        include_str!("../../../../../examples/pipelines/softmax.pto"),
        "xdna2",
    );
    let x = array(&[96, 64], 3);
    let outcome = run(&plan, args(&[("x", &x)], &[])).expect("it runs");
    close(&outcome.outputs["y"], &softmax(&numbers(&x), 64));
}

#[test]
fn two_layers_are_a_pipeline_whose_cores_keep_their_weights() {
    let (x, up, down) = (array(&[64, 32], 1), array(&[32, 48], 2), array(&[48, 16], 3));
    let arrays = [("x", &x), ("w_up", &up), ("w_down", &down)];
    let outcome = run(&example!("mlp", "xdna2"), args(&arrays, &[])).expect("it runs");
    let wanted = two_layers([&x, &up, &down].map(numbers).each_ref(), (64, 32, 48));
    close(&outcome.outputs["y"], &wanted);
}

#[test]
fn weights_go_once_to_all_cores() {
    let (x, w) = (array(&[256, 32], 1), array(&[32, 32], 2));
    let plan = example!("linear", "xdna2");
    let args = args(&[("x", &x), ("w", &w)], &[]);
    let of_weights = text(&plan, args.clone()).lines().filter(|line| line.contains("metadata = @w_")).count();
    assert_eq!(of_weights, 1);
    let outcome = run(&plan, args).expect("it runs");
    close(&outcome.outputs["y"], &product(&numbers(&x), &numbers(&w), (256, 32, 32)));
}

#[test]
fn one_query_attends_to_as_many_tokens_as_a_launch_says() {
    let plan = example!("decode", "xdna2");
    for tokens in [1usize, 200, 1000] {
        let room = tokens.next_multiple_of(32) as u64;
        let (q, k, v) = (array(&[1, 64], 1), array(&[room, 64], 2), array(&[room, 64], 3));
        let arrays = [("q", &q), ("keys", &k), ("values", &v)];
        let given = args(&arrays, &[("tokens", tokens as i64)]);
        let outcome = run(&plan, given).expect("it runs");
        let wanted = attention(&numbers(&q), &numbers(&k), &numbers(&v), tokens);
        close(&outcome.outputs["o"], &wanted);
    }
}

/// Where a tile has room for the keys and values that a core holds, and not for one more, fifos have no more.
#[test]
fn boxes_that_a_core_holds_fit_without_another_one() {
    let plan = example!("decode", "xdna2");
    for dim in [160u64, 224] {
        let (q, k, v) = (array(&[1, dim], 1), array(&[64, dim], 2), array(&[64, dim], 3));
        let arrays = [("q", &q), ("keys", &k), ("values", &v)];
        let given = args(&arrays, &[("tokens", 50)]);
        let sequential = RunOptions { sequential: true, ..RunOptions::default() };
        let wanted = run_with(&plan, given.clone(), sequential).expect("it runs on the host");
        let outcome = run(&plan, given).expect("it runs");
        close(&outcome.outputs["o"], &numbers(&wanted.outputs["o"]));
    }
}

/// The help for tiles that are too large names the largest that fit.
#[test]
fn tiles_of_the_elements_that_a_refusal_names_fit() {
    let kernels = include_str!("../../../../../examples/aie/decode.pto");
    let workload = include_str!("../../../../../examples/aie/decode.wsp");
    let (q, k) = (array(&[1, 512], 1), array(&[96, 512], 2));
    let tried = |tokens: u64| {
        let workload = workload.replace("32", &tokens.to_string());
        let kernels = kernels.replace("TOKENS = 32", &format!("TOKENS = {tokens}"));
        let given = args(&[("q", &q), ("keys", &k), ("values", &k)], &[("tokens", 90)]);
        written(&plan(&workload, &kernels, "xdna2"), given, None)
    };
    let found = tried(32).expect_err("it is too large");
    let help = &found.0[0].help[0];
    let elements = help.split("at most ").nth(1).and_then(|rest| rest.split(' ').next());
    let elements: u64 = elements.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{help}"));
    assert!(help.starts_with("have `attend` take tiles") && help.contains("of `keys`"), "{help}");
    assert!((12..=15).contains(&(elements / 512)), "{help}");
    // As many rows as divide the arrays.
    tried(12).expect("it fits");
}

/// A kernel that stores both ends of a box: what lies between comes from the host, and goes back to it.
#[test]
fn what_a_task_leaves_of_a_box_stays_as_it_was() {
    let kernels = "
        PTO_SHAPE(x, n)
        PTO_SHAPE(y, n)
        struct Part { uint32_t first; };
        PTO_KERNEL_IMPL(ends) {
            auto desc = PTO_GET_DESCRIPTOR<Part>();
            VecTile<float, 1, 64> t;
            TLOAD(t, x, {desc.first});
            TSTORE(y, t, {desc.first});
            TSTORE(y, t, {desc.first + 128});
        }";
    let text = "use \"k.pto\"; workload main { parallel for i in 0..2 { ends(first = 192 * i); } }";
    let (x, y) = (array(&[384], 1), array(&[384], 2));
    let outcome = run(&plan(text, kernels, "xdna1"), args(&[("x", &x), ("y", &y)], &[])).expect("it runs");
    let (x, y) = (numbers(&x), numbers(&y));
    let wanted = |at: usize| match at % 192 / 64 {
        1 => y[at],
        _ => x[at / 192 * 192 + at % 64],
    };
    close(&outcome.outputs["y"], &(0..384).map(wanted).collect::<Vec<_>>());
}
