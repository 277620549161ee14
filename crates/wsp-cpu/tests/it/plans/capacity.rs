//! Room of plans: queries are exact, fixed plans never move.

use super::data::{DECODE, arrays, options, program};
use wsp_cpu::{Capacity, Growth};
use wsp_diag::Code;

const FULL: Code = Code(579);

#[test]
fn a_query_says_exactly_what_a_plan_needs() {
    let (program, options, given) = (program(DECODE, 8), options(64), arrays(&[300, 0, 64, 65], 1));
    let need = program.workspace_query(&given, &options).unwrap();
    let plan = program.plan(&given, &options, Capacity::Exact).unwrap();
    // 5 + 1 + 1 + 2 chunks and 2 merges per KV head; 7 slots per head.
    assert_eq!(need.descriptors, 2 * (9 + 2));
    assert_eq!(need.words, 2 * (9 * 8 + 2 * 4));
    assert_eq!(need.workspace_slots, 2 * 7);
    assert_eq!(need, plan.need());
    assert_eq!(plan.words().len() as u64, need.words);
    assert_eq!(program.execute(&given, &options).unwrap().stats.workspace_bytes, need.workspace_bytes);
}

#[test]
fn a_fixed_plan_takes_what_was_asked_for_and_one_less_is_an_error() {
    let (program, options, given) = (program(DECODE, 8), options(64), arrays(&[300, 65], 1));
    let need = program.workspace_query(&given, &options).unwrap();
    let fixed = |less_descriptors: u32, less_bytes: u64| Capacity::Fixed {
        descriptors: need.descriptors as u32 - less_descriptors,
        workspace_bytes: need.workspace_bytes - less_bytes,
    };
    assert_eq!(program.plan(&given, &options, fixed(0, 0)).unwrap().need(), need);
    for (capacity, want) in [(fixed(1, 0), need.descriptors), (fixed(0, 1), need.workspace_bytes)] {
        let found = program.plan(&given, &options, capacity).unwrap_err();
        assert_eq!(found[0].code, FULL);
        assert!(found[0].message.contains(&format!("needs {want} ")), "{}", found[0].message);
    }
    assert_eq!(program.plan(&given, &options, fixed(1, 1)).unwrap_err().len(), 2);
    let absurd = Capacity::Fixed { descriptors: u32::MAX, workspace_bytes: 0 };
    assert_eq!(program.plan(&given, &options, absurd).unwrap_err()[0].code, FULL);
}

#[test]
fn a_fixed_plan_stays_where_it_is_until_it_is_full() {
    let (program, options) = (program(DECODE, 8), options(64));
    let need = program.workspace_query(&arrays(&[127], 1), &options).unwrap();
    // Room for a third chunk of each head and its slot, not for a fourth.
    let slot = need.workspace_bytes / need.workspace_slots;
    let capacity = Capacity::Fixed {
        descriptors: need.descriptors as u32 + 2,
        workspace_bytes: need.workspace_bytes + 2 * slot,
    };
    let mut plan = program.plan(&arrays(&[127], 1), &options, capacity).unwrap();
    let place = plan.words().as_ptr();
    for length in 128..=192 {
        plan.advance(Growth::ByOne).unwrap();
        assert_eq!(plan.words().as_ptr(), place, "at {length}");
    }
    let found = plan.advance(Growth::ByOne).unwrap_err();
    assert_eq!(found[0].code, FULL);
    let (want, have) = (need.descriptors + 4, need.descriptors + 2);
    assert!(found[0].message.contains(&format!("needs {want} descriptors, but has room for {have}")));
    // It cannot be run, and says so; with a shorter request it is whole again.
    assert_eq!(program.execute_plan(&plan, &arrays(&[193], 1), &options).unwrap_err()[0].code, Code(578));
    plan.advance(Growth::To(&[127])).unwrap();
    assert_eq!(plan.words().as_ptr(), place);
    program.execute_plan(&plan, &arrays(&[127], 4), &options).unwrap();
}
