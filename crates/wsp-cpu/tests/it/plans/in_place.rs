//! Arrays of the caller that a launch reads and writes where they lie.

use super::data::{DECODE, arrays, bits, options, program, report};
use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_backend::Recording;
use wsp_core::DType;
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions};
use wsp_cpu::{LaunchOptions, Outcome, Program};
use wsp_diag::{Code, Diagnostic};
use wsp_memory::{Buffer, Claim, Use, View};
use wsp_plan::{Array, Arrays};

/// `y = 2 x` in columns.
const TWICE: &str = "
PTO_SHAPE(x, n, 2)
PTO_SHAPE(y, n, 2)
PTO_SPACE(Twice) { PTO_AXIS(i, 0, n) PTO_TILE(i, 8) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(Twice) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 8 }); }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 8, 2> t;
    TLOAD(t, x, {part.first, 0});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first, 0});
}
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Twice, { .x = x, .y = y }); }
";

fn counting(shape: &[u64]) -> Array {
    let mut array = Array::zeros(DType::F32, shape).unwrap();
    array.as_slice_mut::<f32>().unwrap().iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
    array
}

fn lent(rows: u64) -> View {
    counting(&[rows, 2]).lend().unwrap()
}

fn with(views: &[(&str, &View)]) -> LaunchOptions {
    let views: BTreeMap<String, View> =
        views.iter().map(|(name, view)| ((*name).to_owned(), (*view).clone())).collect();
    LaunchOptions { threads: 2, views, ..LaunchOptions::default() }
}

fn run(program: &Program, views: &[(&str, &View)]) -> Result<Outcome, Vec<Diagnostic>> {
    program.execute(&Arrays::new(), &with(views))
}

fn refused(views: &[(&str, &View)], code: u16, part: &str) {
    let faults = run(&program(TWICE, 2), views).expect_err("it should be refused");
    let text = report(&faults);
    assert!(faults[0].code == Code(code) && text.contains(part), "{text}");
}

#[test]
fn written_arrays_of_the_caller_are_written_where_they_lie() {
    let program = program(DECODE, 4);
    let all = arrays(&[70, 3, 0, 33], 1);
    let copied = program.execute(&all, &options(32)).unwrap_or_else(|f| panic!("{}", report(&f)));
    let (mut integers, mut views, mut places) = (Arrays::new(), BTreeMap::new(), BTreeMap::new());
    for (name, expected) in &copied.outputs {
        let out = Array::zeros(expected.dtype(), expected.shape()).unwrap();
        places.insert(name.clone(), out.bytes().as_ptr());
        views.insert(name.clone(), out.lend().unwrap());
    }
    for (name, array) in all.clone() {
        match array.dtype().is_float() {
            true => drop(views.insert(name, array.lend().unwrap())),
            false => drop(integers.insert(name, array)),
        }
    }
    let launch = LaunchOptions { views, ..options(32) };
    let outcome = program.execute(&integers, &launch).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert!(outcome.outputs.is_empty(), "the caller has them already");
    let mut views = launch.views;
    for (name, expected) in &copied.outputs {
        let out = views.remove(name).unwrap().take_back().expect("no run has it");
        assert_eq!((out.bytes().as_ptr(), out.bytes()), (places[name], expected.bytes()), "{name}");
    }
    // What is only read stays as it was.
    let read: Arrays = views.into_iter().map(|(name, view)| (name, view.take_back().unwrap())).collect();
    assert!(bits(&read).into_iter().all(|(name, bytes)| all[name].bytes() == bytes));
}

#[test]
fn kernels_that_a_workload_calls_write_arrays_of_the_caller_where_they_lie() {
    let text = "workload main { for i in 0..3 { twice(first = i * 8); } }";
    let program = crate::workloads::library_program(text, TWICE).unwrap_or_else(|f| panic!("{}", report(&f)));
    let (x, y) = (lent(20), counting(&[20, 2]));
    let place = y.bytes().as_ptr();
    let views = with(&[("x", &x), ("y", &y.lend().unwrap())]).views;
    let inputs = WorkloadInputs { views, ..WorkloadInputs::default() };
    let outcome = program.execute(&inputs, &WorkloadOptions { threads: 2, ..WorkloadOptions::default() });
    assert!(outcome.unwrap_or_else(|f| panic!("{}", report(&f))).outputs.is_empty());
    let y = inputs.views.into_values().next_back().unwrap().take_back().expect("no run has it");
    assert_eq!(y.bytes().as_ptr(), place);
    assert!(y.as_slice::<f32>().unwrap().iter().enumerate().all(|(i, y)| *y == 2.0 * i as f32));
}

#[test]
fn elements_that_lie_apart_are_found_and_nothing_between_them_changes() {
    let wide = Buffer::zeros(4 * 5 * 20, 64).unwrap();
    let whole = View::dense(wide.clone(), DType::F32, &[20, 5]).unwrap();
    let columns = View::new(wide, 4, DType::F32, &[20, 2], &[20, 8]).unwrap();
    let x = lent(20);
    let launch = LaunchOptions { recording: Recording::On, ..with(&[("x", &x), ("y", &columns)]) };
    let outcome =
        program(TWICE, 2).execute(&Arrays::new(), &launch).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(outcome.unwritten, [], "gaps are no elements");
    let expected = (0..100).map(|i| match i % 5 {
        1 => (4 * (i / 5)) as f32,
        3 => (4 * (i / 5) + 2) as f32,
        _ => 0.0,
    });
    assert_eq!(read(&whole), expected.collect::<Vec<f32>>());
}

#[allow(unsafe_code, reason = "looks at elements of a buffer that no run has")]
fn read(view: &View) -> Vec<f32> {
    let mut bytes = Vec::new();
    // SAFETY: no run goes on.
    unsafe { view.read(&view.whole(), &mut bytes) };
    bytes.as_chunks::<4>().0.iter().map(|word| f32::from_ne_bytes(*word)).collect()
}

#[test]
fn what_cannot_be_used_where_it_lies_is_refused_with_a_reason() {
    let (x, y) = (lent(20), lent(20));
    assert!(run(&program(TWICE, 2), &[("x", &x), ("y", &y)]).is_ok());
    refused(&[("x", &x), ("y", &x)], 871, "`x` and `y` share memory");
    refused(&[("x", &x), ("y", &y.clone().read_only())], 870, "`y` may only be read");
    let folded = View::new(y.buffer().clone(), 0, DType::F32, &[20, 2], &[4, 4]).unwrap();
    refused(&[("x", &x), ("y", &folded)], 871, "elements of the array of tensor `y` share memory");
    assert!(run(&program(TWICE, 2), &[("x", &folded), ("y", &lent(20))]).is_ok(), "it is only read");
    refused(&[("x", &crate::workloads::views::far(DType::F32, &[20, 2])), ("y", &y)], 863, "on device 3");
    refused(&[("x", &x), ("y", &lent(21))], 552, "`y`");
    // A row of one, and the next of the other.
    let both = Buffer::zeros(4 * 80, 64).unwrap();
    let every_second = |row: usize| View::new(both.clone(), 8 * row, DType::F32, &[20, 2], &[16, 4]).unwrap();
    assert!(run(&program(TWICE, 2), &[("x", &every_second(0)), ("y", &every_second(1))]).is_ok());
}

#[test]
fn integers_pages_with_gaps_and_arrays_that_are_given_twice_are_refused() {
    let program = program(DECODE, 4);
    let all = arrays(&[70, 3], 1);
    let said = |views: &[(&str, View)], left_out: &str| {
        let mut arrays = all.clone();
        arrays.remove(left_out);
        let views = views.iter().map(|(name, view)| ((*name).to_owned(), view.clone())).collect();
        let faults =
            program.execute(&arrays, &LaunchOptions { views, ..options(32) }).expect_err("it cannot run");
        assert_eq!(faults[0].code, Code(863), "{}", report(&faults));
        report(&faults)
    };
    let lengths = all["kv_lens"].clone().lend().unwrap();
    assert!(said(&[("kv_lens", lengths)], "kv_lens").contains("integers are looked at before tasks run"));
    let keys = all["kv.k"].clone().lend().unwrap();
    assert!(said(&[("kv.k", keys)], "").contains("to be copied and to be used in place"));
    let shape = all["kv.k"].shape();
    let strides = [shape[1] * shape[2] * shape[3] * 4, shape[2] * shape[3] * 4, shape[3] * 4, 4];
    let strides = strides.map(|stride| 2 * stride as i64);
    let bytes = View::span_of(DType::F32, shape, &strides).unwrap();
    let gaps = View::new(Buffer::zeros(bytes, 64).unwrap(), 0, DType::F32, shape, &strides).unwrap();
    assert!(said(&[("kv.k", gaps)], "kv.k").contains("without gaps"));
}

#[test]
fn a_launch_does_not_write_what_another_run_uses() {
    let (x, y) = (lent(20), lent(20));
    let one = |name: &str, view: &View, written| Use { name: name.to_owned(), view: view.clone(), written };
    let reader = Claim::of(&[one("theirs", &y, false)].into()).unwrap();
    refused(&[("x", &x), ("y", &y)], 1268, "that run reads it, as `theirs`, and this one writes it");
    drop(reader);
    let callers = Claim::of(&[one("a", &x, false), one("b", &y, true)].into()).unwrap();
    refused(&[("x", &x), ("y", &y)], 1268, "that run writes it, as `b`, and this one writes it");
    let launch = LaunchOptions { claim: Some(Arc::new(callers)), ..with(&[("x", &x), ("y", &y)]) };
    assert!(program(TWICE, 2).execute(&Arrays::new(), &launch).is_ok());
}
