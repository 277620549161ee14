//! Units whose kernels are entries of `.pto` files.

use super::common::{all, session_with, threads, unit};
use std::sync::Arc;
use wsp_core::DType;
use wsp_cpu::tg::{Session, SessionOptions, TgKernels};
use wsp_diag::{SourceMap, render_all};
use wsp_kernel::{Engine, Mode};
use wsp_plan::{Array, Arrays};
use wsp_runtime::tg::RuntimeConfig;

fn library(source: &str) -> TgKernels {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("kernels.pto", source, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{}", render_all(&findings, &sources, false)));
    let mut kernels = TgKernels::new();
    kernels
        .add_library(&Arc::new(module), &[], Mode::default(), Engine::default())
        .unwrap_or_else(|faults| panic!("{}", all(&faults)));
    kernels
}

fn array(dims: &[u64], value: impl Fn(usize) -> f32) -> Array {
    let mut array = Array::zeros(DType::F32, dims).expect("it is small");
    let values = array.as_slice_mut::<f32>().expect("the type is F32");
    values.iter_mut().enumerate().for_each(|(i, x)| *x = value(i));
    array
}

fn run(text: &str, kernels: &TgKernels, inputs: Arrays, count: u32, devices: u32) -> Session {
    let runtime = RuntimeConfig { devices, ..threads(count).runtime };
    let mut session =
        session_with(text, kernels, SessionOptions { inputs, runtime, ..SessionOptions::default() });
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    session
}

/// ISA-SY-04, ISA-SY-05, ISA-IMP-09: the example with two devices, for several numbers of threads.
#[test]
fn two_devices_square_and_sum_with_compiled_kernels() {
    let text = include_str!("../../../../../examples/two_devices.tg");
    let kernels = library(include_str!("../../../../../examples/two_devices.pto"));
    // Whole numbers, which are summed without rounding in any order.
    let x = |i: usize| (i % 7) as f32;
    for count in [1, 3] {
        let inputs = Arrays::from([("X".to_owned(), array(&[512, 256], x))]);
        let session = run(text, &kernels, inputs, count, 2);
        let sums = session.tensor("SUMS").expect("it is external");
        for (row, sum) in sums.as_slice::<f32>().expect("the type is F32").iter().enumerate() {
            let expected: f32 = (row * 256..(row + 1) * 256).map(|i| x(i) * x(i)).sum();
            assert_eq!(*sum, expected, "row {row}");
        }
    }
}

/// ISA-CF-09, ISA-CF-04: the largest eigenvalue of `2·I + 1` of 256 rows is 258, whatever runs it.
#[test]
fn power_iteration_ends_with_the_largest_eigenvalue() {
    let text = include_str!("../../../../../examples/power_iteration.tg");
    let kernels = library(include_str!("../../../../../examples/power_iteration.pto"));
    let matrix = |i: usize| if i.is_multiple_of(257) { 3.0 } else { 1.0 };
    let value = |count| {
        let inputs = Arrays::from([("MATRIX".to_owned(), array(&[256, 256], matrix))]);
        let session = run(text, &kernels, inputs, count, 1);
        session.tensor("VALUE").expect("it is external").as_slice::<f32>().expect("the type is F32")[0]
    };
    let alone = value(1);
    assert!((alone - 258.0).abs() < 1e-3, "{alone}");
    assert_eq!(value(4).to_bits(), alone.to_bits());
}

/// ISA-CF-03, ISA-MC-07: what the arm of a condition binds fits where the arm is taken; the run finds where it does not.
#[test]
fn a_binding_with_too_few_bytes_counts_in_the_rounds_that_are_taken() {
    let kernels = library(
        "PTO_SHAPE(out, 2)\nPTO_KERNEL_IMPL(two, Tensor<float> out) {\n    PTO_STORE_SCALAR(out, 1.0f, {0});\n    PTO_STORE_SCALAR(out, 2.0f, {1});\n}\n",
    );
    for (mode, offset, fits) in [("", 8, 4), (", SEQUENTIAL", 8, 4), ("", 4, 7), (", SEQUENTIAL", 4, 7)] {
        let text = |taken: i32| {
            format!(
                "extern OUT: f32[8]\narg a: i64 = {taken}\nTG_BEGIN(G)\nCF_LOOP(100, i{mode})\nCF_IF(i < a)\nTG_KERNEL(K, two, 1, AIV, 0)\nMC_BIND(K, 0, OUT, {offset} * i)\nCF_ENDIF\nCF_ENDLOOP\nTG_END(G)\nTG_INVOKE(G, 0)\nTG_SYNC(G)\n"
            )
        };
        let mut session = run(&text(fits), &kernels, Arrays::new(), 2, 1);
        assert_eq!(session.report().unwrap().stats.kernels, fits as u64);
        let mut session = session_with(&text(fits + 1), &kernels, threads(2));
        let faults = session.run().expect_err("it does not fit");
        assert!(all(&faults).starts_with("WSP1548"), "{mode} {offset}: {}", all(&faults));
    }
}

/// ISA-TG-10: entries and functions share one space of names.
#[test]
fn two_files_with_one_entry_symbol_are_refused() {
    let source = include_str!("../../../../../examples/two_devices.pto");
    let mut kernels = library(source);
    let mut sources = SourceMap::default();
    let (module, _) = wsp_lang::compile("again.pto", source, &mut sources);
    let module = Arc::new(module.expect("it compiled before"));
    let faults = kernels
        .add_library(&module, &[], Mode::default(), Engine::default())
        .expect_err("the names are taken");
    assert!(all(&faults).contains("WSP1541"));
    assert!(unit(include_str!("../../../../../examples/two_devices.tg")).uses.len() == 1);
}
