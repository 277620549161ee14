//! A plan that follows its requests is the plan that would be made anew.

use super::data::{DECODE, arrays, bits, options, program, report};
use proptest::prelude::*;
use wsp_cpu::{Advance, Capacity, Growth, Plan, PlanNeed};
use wsp_diag::Code;

/// Stage, type and words of each descriptor, what the plan needs, and its tiles.
type Contents = (Vec<(u32, u32, Vec<u32>)>, PlanNeed, Vec<(String, u32)>);

/// Everything that a plan holds, by value.
fn contents(plan: &Plan) -> Contents {
    (
        plan.descriptors().map(|d| (d.stage, d.descriptor.0, d.words.to_vec())).collect(),
        plan.need(),
        plan.tiles().map(|(axis, size)| (axis.to_owned(), size)).collect(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn advancing_token_by_token_equals_planning_anew(
        lengths in prop::collection::vec(0u32..400, 0..6),
        chunk in prop::sample::select(vec![0u32, 7, 64, 100, 4096]),
        cores in 1u32..40,
        steps in 1u32..70,
    ) {
        let (program, options) = (program(DECODE, cores), options(chunk));
        let given = arrays(&lengths, 1);
        let mut plan = program.plan(&given, &options, Capacity::Exact).unwrap();
        for step in 1..=steps {
            plan.advance(Growth::ByOne).unwrap_or_else(|f| panic!("{}", report(&f)));
            if step % 8 != 1 && step != steps {
                continue;
            }
            let grown: Vec<u32> = lengths.iter().map(|n| n + step).collect();
            let given = arrays(&grown, 1);
            let anew = program.plan(&given, &options, Capacity::Exact).unwrap();
            prop_assert_eq!(contents(&plan), contents(&anew), "after {} steps", step);
            prop_assert!(plan.is_current_for(&program, &given, &options).unwrap());
        }
        let grown: Vec<u32> = lengths.iter().map(|n| n + steps).collect();
        let given = arrays(&grown, 5);
        let want = program.execute(&given, &options).unwrap();
        let have = program.execute_plan(&plan, &given, &options).unwrap();
        prop_assert_eq!(bits(&have.outputs), bits(&want.outputs));
    }

    #[test]
    fn advancing_to_any_lengths_equals_planning_anew(
        lengths in prop::collection::vec((0u32..400, 0u32..400, 0u32..3000), 1..6),
        chunk in prop::sample::select(vec![0u32, 64]),
    ) {
        let (program, options) = (program(DECODE, 12), options(chunk));
        let of = |pick: fn(&(u32, u32, u32)) -> u32| lengths.iter().map(pick).collect::<Vec<u32>>();
        let (first, second, third) = (of(|l| l.0), of(|l| l.1), of(|l| l.2));
        let mut plan = program.plan(&arrays(&first, 1), &options, Capacity::Exact).unwrap();
        for lengths in [second, third, first] {
            plan.advance(Growth::To(&lengths)).unwrap();
            plan.advance(Growth::ByOne).unwrap();
            let grown: Vec<u32> = lengths.iter().map(|n| n + 1).collect();
            let anew = program.plan(&arrays(&grown, 1), &options, Capacity::Exact).unwrap();
            prop_assert_eq!(contents(&plan), contents(&anew));
        }
    }
}

#[test]
fn growth_within_a_chunk_changes_words_in_place_and_tiers_on_the_way() {
    let (program, options) = (program(DECODE, 8), options(4096));
    // The second request leaves the tier of 2048 tokens at the tenth step, the first gets another chunk at the 42nd.
    let lengths = [4055, 2039, 30];
    let mut plan = program.plan(&arrays(&lengths, 1), &options, Capacity::Exact).unwrap();
    for step in 1..=50 {
        let how = plan.advance(Growth::ByOne).unwrap();
        let want = match step {
            // The end of the last chunk of each request under both heads; the tier of one of them.
            10 => Advance::Patched { words: 6 + 2 },
            // What was found out reached 41 tokens only, so the next try waits for two advances.
            42 | 43 => Advance::Regenerated,
            _ => Advance::Patched { words: 6 },
        };
        assert_eq!(how, want, "step {step}");
        let given = arrays(&lengths.map(|n| n + step), 1);
        let anew = program.plan(&given, &options, Capacity::Exact).unwrap();
        assert_eq!(contents(&plan), contents(&anew), "step {step}");
        assert!(plan.is_current_for(&program, &given, &options).unwrap());
    }
    assert_eq!(plan.balance(8).unwrap(), {
        let given = arrays(&lengths.map(|n| n + 50), 1);
        program.plan(&given, &options, Capacity::Exact).unwrap().balance(8).unwrap()
    });
}

#[test]
fn a_search_over_all_lengths_is_made_again() {
    let (program, options) = (program(DECODE, 8), options(0));
    let mut plan = program.plan(&arrays(&[900, 40, 2100], 1), &options, Capacity::Exact).unwrap();
    let regenerated = (0..40).filter(|_| plan.advance(Growth::ByOne).unwrap() == Advance::Regenerated);
    // The middle of the range that is searched is another number every other token.
    assert!(regenerated.count() > 30);
}

#[test]
fn lengths_that_cannot_be_leave_the_plan_as_it_is() {
    let (program, options) = (program(DECODE, 8), options(64));
    let mut plan = program.plan(&arrays(&[5, 70], 1), &options, Capacity::Exact).unwrap();
    let before = contents(&plan);
    let found = plan.advance(Growth::To(&[1, 2, 3])).unwrap_err();
    assert_eq!(found[0].code, Code(580));
    assert!(found[0].message.contains("3 lengths are given for 2 requests"), "{}", found[0].message);
    assert_eq!(contents(&plan), before);
    program.execute_plan(&plan, &arrays(&[5, 70], 1), &options).unwrap();
}
