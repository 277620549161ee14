//! A plan is made before there are tensors.

use super::data::{DECODE, arrays, options, program};
use wsp_core::DType;
use wsp_cpu::{Capacity, LaunchOptions, Metadata, Plan, Program};
use wsp_diag::Code;
use wsp_plan::{Array, Arrays};

/// What a host knows before tensors are there: their shapes, and the integers.
fn shapes_of(arrays: &Arrays) -> Metadata<'_> {
    arrays.iter().fold(Metadata::new(), |known, (name, array)| match array.dtype().is_float() {
        true => known.with_shape(name, array.dtype(), array.shape()),
        false => known.with_array(name, array),
    })
}

fn words(plan: &Plan) -> Vec<(u32, u32, Vec<u32>)> {
    plan.descriptors().map(|d| (d.stage, d.descriptor.0, d.words.to_vec())).collect()
}

#[test]
fn shapes_and_integers_give_the_plan_of_whole_arrays() {
    let (program, options) = (program(DECODE, 8), options(64));
    let given = arrays(&[300, 0, 71, 16], 1);
    let whole = program.plan(&given, &options, Capacity::Exact).unwrap();
    let mut plan = program.plan(shapes_of(&given), &options, Capacity::Exact).unwrap();
    assert_eq!((words(&plan), plan.need()), (words(&whole), whole.need()));
    assert_eq!(program.workspace_query(shapes_of(&given), &options).unwrap(), whole.need());
    assert_eq!(plan.costs().unwrap(), whole.costs().unwrap());
    assert!(plan.is_current_for(&program, &given, &options).unwrap());
    let (want, have) = (program.execute(&given, &options), program.execute_plan(&plan, &given, &options));
    assert_eq!(have.unwrap().outputs["output"].bytes(), want.unwrap().outputs["output"].bytes());
    plan.advance(wsp_cpu::Growth::ByOne).unwrap();
    let grown = arrays(&[301, 1, 72, 17], 1);
    assert_eq!(words(&plan), words(&program.plan(shapes_of(&grown), &options, Capacity::Exact).unwrap()));
}

/// The plan of one request of 64 tokens whose cache has so many pages.
fn with_pages(program: &Program, options: &LaunchOptions, pages: u64) -> Plan {
    let small = arrays(&[64], 1);
    let kv = [pages, 16, 2, 16];
    let known = shapes_of(&small).with_shape("kv.k", DType::F32, &kv).with_shape("kv.v", DType::F32, &kv);
    program.plan(known, options, Capacity::Exact).unwrap()
}

#[test]
fn a_cache_that_no_machine_could_hold_is_planned() {
    let (program, options) = (program(DECODE, 8), options(64));
    // Over eight terabytes of keys.
    assert_eq!(
        words(&with_pages(&program, &options, u64::from(u32::MAX))),
        words(&with_pages(&program, &options, 4))
    );
}

#[test]
fn a_shape_is_not_enough_for_integers_that_generators_read() {
    let (program, options) = (program(DECODE, 8), options(64));
    let given = arrays(&[300, 71], 1);
    for (name, extent) in [("kv_lens", 2), ("kv.indptr", 3), ("kv.indices", 24), ("kv.last_page_len", 2)] {
        let known = shapes_of(&given).with_shape(name, DType::U32, vec![extent]);
        let found = program.plan(known, &options, Capacity::Exact).unwrap_err();
        assert_eq!(found[0].code, Code(550), "{found:?}");
        let message = format!("array `{name}` is given by its shape, and its elements are needed");
        assert_eq!(found[0].message, message);
    }
}

#[test]
fn shapes_are_checked_as_those_of_arrays_are() {
    let (program, options) = (program(DECODE, 8), options(64));
    let given = arrays(&[300, 71], 1);
    let faults = |known| program.plan(known, &options, Capacity::Exact).unwrap_err();
    let found = faults(shapes_of(&given).with_shape("q", DType::F32, &[3, 4, 1, 16]));
    assert!(found[0].message.contains("3"), "{found:?}");
    let found = faults(shapes_of(&given).with_shape("kv.v", DType::F32, &[24, 16, 2, 32]));
    assert!(found[0].message.contains("differ in shape"), "{found:?}");
    let found = faults(shapes_of(&given).with_shape("q", DType::I32, &[2, 4, 1, 16]));
    assert!(found[0].message.contains("`q` holds i32"), "{found:?}");
    let huge = [u64::MAX, 16, 2, 16];
    let found =
        faults(shapes_of(&given).with_shape("kv.k", DType::F32, &huge).with_shape("kv.v", DType::F32, &huge));
    assert!(found[0].message.contains("18446744073709551615"), "{found:?}");
    let mut without = given.clone();
    without.insert("spare".to_owned(), Array::zeros(DType::F32, &[1]).unwrap());
    without.remove("kv.k");
    assert_eq!(faults(shapes_of(&without))[0].code, Code(550));
}
