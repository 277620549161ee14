//! A plan that does not fit is refused, with what differs.

use super::data::{DECODE, arrays, options, program};
use wsp_core::DType;
use wsp_cpu::{Capacity, LaunchOptions};
use wsp_diag::Code;
use wsp_plan::{Array, Arrays, ParamValue};

const STALE: Code = Code(578);

/// The error of running a plan for `lengths` with other arrays and options.
fn refused(lengths: &[u32], given: &Arrays, other: &LaunchOptions) -> String {
    let program = program(DECODE, 8);
    let plan = program.plan(&arrays(lengths, 1), &options(64), Capacity::Exact).unwrap();
    assert!(plan.is_current_for(&program, &arrays(lengths, 3), &options(64)).unwrap());
    assert!(!plan.is_current_for(&program, given, other).unwrap());
    let found = program.execute_plan(&plan, given, other).unwrap_err();
    assert_eq!((found.len(), found[0].code), (1, STALE));
    // The plan is as good as before for what it was made for.
    program.execute_plan(&plan, &arrays(lengths, 2), &options(64)).unwrap();
    found[0].message.clone()
}

#[test]
fn another_length_is_named_with_both_values() {
    let message = refused(&[5, 70, 9], &arrays(&[5, 71, 10], 1), &options(64));
    assert!(message.contains("`lengths of kv[1]` is 71, and was 70"), "{message}");
}

#[test]
fn another_number_of_requests_is_named() {
    let message = refused(&[5, 70], &arrays(&[5, 70, 1], 1), &options(64));
    assert!(message.contains("`batch_size` is 3, and was 2"), "{message}");
}

#[test]
fn another_parameter_is_named() {
    let message = refused(&[5, 70], &arrays(&[5, 70], 1), &options(65));
    assert!(message.contains("`chunk` is 65, and was 64"), "{message}");
    let mut scaled = options(64);
    scaled.set.push(("sm_scale".to_owned(), ParamValue::Float(0.5)));
    let message = refused(&[5, 70], &arrays(&[5, 70], 1), &scaled);
    assert!(message.contains("`sm_scale` is 0.5, and was 0.25"), "{message}");
}

#[test]
fn another_shape_is_named() {
    let mut given = arrays(&[5, 70], 1);
    given.insert("q".to_owned(), Array::zeros(DType::F32, &[2, 8, 1, 16]).unwrap());
    let message = refused(&[5, 70], &given, &options(64));
    assert!(message.contains("`num_qo_heads` is 8, and was 4"), "{message}");
}

#[test]
fn a_plan_is_for_the_program_that_made_it() {
    let (eight, nine) = (program(DECODE, 8), program(DECODE, 9));
    let given = arrays(&[5, 70], 1);
    let plan = eight.plan(&given, &options(64), Capacity::Exact).unwrap();
    let found = nine.execute_plan(&plan, &given, &options(64)).unwrap_err();
    assert_eq!(found[0].code, STALE);
    assert!(found[0].notes.iter().any(|note| note.contains("8 cores, this program for 9")), "{found:?}");
}

#[test]
fn page_ids_may_differ_where_no_generator_reads_them() {
    let program = program(DECODE, 8);
    let plan = program.plan(&arrays(&[40, 70], 1), &options(64), Capacity::Exact).unwrap();
    let mut given = arrays(&[40, 70], 1);
    let indices = given.get_mut("kv.indices").unwrap();
    indices.as_slice_mut::<u32>().unwrap().reverse();
    let want = program.execute(&given, &options(64)).unwrap();
    let have = program.execute_plan(&plan, &given, &options(64)).unwrap();
    assert_eq!(have.outputs["output"].bytes(), want.outputs["output"].bytes());
}
