//! Programs of spaces behind the seam.

use super::{around_a_cancelled_run, bits, compiled, compiled_by, fault, lent, named, ran, twice};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::{Args, KvLayout, Recording, RunError, RunOptions, UnitOptions};
use wsp_core::DType;
use wsp_cpu::{CpuSimBackend, LaunchOptions, Program, RunStats};
use wsp_diag::SourceMap;
use wsp_kernel::Mode;
use wsp_plan::{Array, CompileOptions, LoweredPlan, lower};

const SOFTMAX: &str = include_str!("../../../../../examples/row_softmax.pto");

/// A kernel that loads beyond the end of what the generator gives it.
const FAILS: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(S) { PTO_AXIS(i, 0, n) PTO_TILE(i, 8) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(S) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 8 + 1000 }); }
}
PTO_KERNEL_IMPL(k) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 8, 1> t;
    TLOAD(t, x, {part.first});
    TSTORE(y, t, {part.first});
}
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
";

fn plan(text: &str) -> LoweredPlan {
    let (module, found) = wsp_lang::compile("test.pto", text, &mut SourceMap::default());
    lower(&module.unwrap_or_else(|| panic!("{found:?}")), &CompileOptions::default()).expect("it is right")
}

/// `x` of 37 rows and 24 columns.
fn args() -> Args {
    let mut x = Array::zeros(DType::F32, &[37, 24]).expect("it is small");
    let elements = x.as_slice_mut::<f32>().expect("the type is F32");
    elements.iter_mut().enumerate().for_each(|(i, x)| *x = (i * 7919 % 101) as f32 / 16.0);
    Args::new().with("x", x)
}

#[test]
fn the_bits_are_those_of_the_program() {
    let (direct, args) = (Program::new(plan(SOFTMAX)), args());
    let expected = direct.execute(&args.arrays, &LaunchOptions { threads: 2, ..LaunchOptions::default() });
    let expected = expected.unwrap_or_else(|found| panic!("{found:?}"));
    let program = compiled(plan(SOFTMAX));
    let options = RunOptions { threads: 2, recording: Recording::On, ..RunOptions::default() };
    let outcome = ran(&*program, &args, &options);
    assert_eq!(bits(&outcome.outputs), bits(&expected.outputs));
    assert!(outcome.unwritten.is_empty());
    assert_eq!((outcome.stats.tasks, outcome.stats.executors), (3, 2));
    assert_eq!(outcome.stats.kernels[0].name, "softmax_rows");
    let own = outcome.own.downcast::<RunStats>().expect("it is what the program tells");
    assert_eq!(own.runtime.tasks, expected.stats.runtime.tasks);
    let explained = program.explain(&args, &RunOptions::default()).expect("the arrays fit");
    assert_eq!(explained.kernels, [("softmax_rows".to_owned(), 3)]);
    let again = twice(program.prepare(args, options).expect("the arrays fit"));
    assert_eq!(bits(&again.outputs), bits(&expected.outputs));
}

/// The times of what is done before a run are those of the preparation, for all of its runs.
#[test]
fn a_prepared_program_is_bound_sized_and_compiled_once() {
    let mut prepared =
        compiled(plan(SOFTMAX)).prepare(args(), RunOptions::default()).expect("the arrays fit");
    let mut before = || {
        let own = prepared.run().expect("the arrays fit").own.downcast::<RunStats>();
        let times = own.expect("it is what the program tells").times;
        (times.bind, times.compile, times.sizing)
    };
    assert_eq!(before(), before());
}

#[test]
fn a_run_that_is_cancelled_leaves_the_next_as_it_was() {
    around_a_cancelled_run(&*compiled(plan(SOFTMAX)), &args(), RunOptions::default());
}

#[test]
fn a_sequential_run_is_that_on_plain_operations() {
    let (direct, args) = (Program::new(plan(SOFTMAX)), args());
    let launch = LaunchOptions { threads: 1, mode: Mode::Plain, ..LaunchOptions::default() };
    let expected = direct.execute(&args.arrays, &launch).expect("the arrays fit");
    let options = RunOptions { sequential: true, ..RunOptions::default() };
    let outcome = ran(&*compiled(plan(SOFTMAX)), &args, &options);
    assert_eq!((bits(&outcome.outputs), outcome.stats.executors), (bits(&expected.outputs), 1));
    let plain = CpuSimBackend { mode: Mode::Plain, ..CpuSimBackend::default() };
    let outcome = ran(&*compiled_by(&plain, plan(SOFTMAX)), &args, &RunOptions::default());
    assert_eq!(bits(&outcome.outputs), bits(&expected.outputs));
}

#[test]
fn written_arrays_are_used_in_place_and_can_be_exchanged() {
    let program = compiled(plan(SOFTMAX));
    let expected = ran(&*program, &args(), &RunOptions::default());
    let args = args().with("y", Array::zeros(DType::F32, &[37, 24]).expect("it is small"));
    let (first, view) = lent(&args, "y");
    let place = view.ptr().cast_const();
    let mut prepared = program.prepare(first, RunOptions::default()).expect("the arrays fit");
    let outcome = prepared.run().expect("the arrays fit");
    assert!(outcome.outputs.is_empty(), "the caller has them already");
    let (second, other) = lent(&args, "y");
    prepared.rebind(second).expect("it fits as the first does");
    let y = view.take_back().expect("no run has it");
    assert_eq!((y.bytes().as_ptr(), y.bytes()), (place, expected.outputs["y"].bytes()));
    prepared.run().expect("the arrays fit");
    drop(prepared);
    assert_eq!(other.take_back().expect("no run has it").bytes(), expected.outputs["y"].bytes());
}

#[test]
fn what_fails_or_is_refused_says_what_the_program_says() {
    let (direct, program) = (Program::new(plan(FAILS)), compiled(plan(FAILS)));
    let x = Args::new().with("x", Array::zeros(DType::F32, &[16]).expect("it is small"));
    let y = x.clone().with("y", Array::zeros(DType::F32, &[16]).expect("it is small"));
    let one = RunOptions { threads: 1, ..RunOptions::default() };
    let launch = LaunchOptions { threads: 1, ..LaunchOptions::default() };
    let failed = fault(program.execute(y.clone(), one.clone()));
    assert!(matches!(failed, RunError::Failed(_)), "{failed}");
    assert_eq!(Some(&**failed.diagnostics()), direct.execute(&y.arrays, &launch).err().as_deref());
    let mut prepared = program.prepare(y.clone(), one.clone()).expect("the arrays fit");
    assert!(prepared.outcome().is_err_and(|error| error.diagnostics()[0].code.0 == 1607), "nothing has run");
    let missing = Args::new();
    let refused = program.prepare(missing.clone(), one.clone()).err().expect("there is no array");
    assert!(matches!(refused, RunError::Refused(_)), "{refused}");
    assert_eq!(Some(&**refused.diagnostics()), direct.execute(&missing.arrays, &launch).err().as_deref());
    let many = RunOptions { threads: 1 << 20, ..RunOptions::default() };
    let refused = fault(program.execute(y.clone(), many));
    assert!(matches!(refused, RunError::Refused(_)), "{refused}");
    assert_eq!(refused.diagnostics()[0].code.0, 1610, "as of every kind of program");
}

/// A generator runs when a launch is prepared; that it fails is no fault of what the launch is given.
#[test]
fn a_generator_that_fails_has_failed_and_is_not_refused() {
    let text = FAILS.replace("tile * 8 + 1000", "8 / (tile - tile)");
    let program = compiled(plan(&text));
    let x = Args::new().with("x", Array::zeros(DType::F32, &[16]).expect("it is small"));
    for failed in [
        program.prepare(x.clone(), RunOptions::default()).err().expect("it divides by zero"),
        program.explain(&x, &RunOptions::default()).expect_err("it divides by zero"),
    ] {
        assert!(matches!(failed, RunError::Failed(_)), "{failed}");
    }
}

#[test]
fn a_cancelled_run_says_so_and_options_of_others_are_refused() {
    let program = compiled(plan(SOFTMAX));
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    let cancelled = fault(program.execute(args(), RunOptions { cancel, ..RunOptions::default() }));
    assert!(matches!(cancelled, RunError::Cancelled(_)), "{cancelled}");
    let unit = UnitOptions { devices: 2, ..UnitOptions::default() };
    let refused = program.execute(args(), RunOptions { unit, ..RunOptions::default() });
    assert_eq!(named(&fault(refused)), "devices");
    let mut options = RunOptions::default();
    options.spaces.kv_layout = KvLayout::Hnd;
    assert_eq!(named(&fault(program.execute(args(), options))), "kv_layout", "the program has no cache");
}

#[test]
fn a_run_goes_on_by_itself() {
    let program = compiled(plan(SOFTMAX));
    let expected = ran(&*program, &args(), &RunOptions::default());
    let run = program.execute_async(args(), RunOptions::default()).expect("the arrays fit");
    let outcome = run.synchronize().expect("it does what the other did");
    assert_eq!(bits(&outcome.outputs), bits(&expected.outputs));
}
