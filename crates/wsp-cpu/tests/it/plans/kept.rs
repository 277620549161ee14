//! A balanced plan keeps its cuts while requests grow: it covers every token once, and cores stay even.

use crate::splits::{HEADS, LANES, arrays, key, options, program, report};
use proptest::prelude::*;
use wsp_cpu::{Advance, Capacity, Growth, Plan, Program};
use wsp_plan::split::{Item, Work, shares_of};

/// The tokens of each piece, in the order of the line.
fn pieces(plan: &Plan) -> Vec<Item> {
    let parts = plan.descriptors().filter(|d| d.name == "Part");
    let mut items: Vec<Item> = parts
        .map(|d| {
            let [_, request, head, begin, end, count, _] = d.words[..] else { panic!("{:?}", d.words) };
            Item { request, head, index: 0, count, begin, end }
        })
        .collect();
    items.sort_by_key(|item| (item.request, item.head, item.begin, item.end));
    items
}

/// The pieces of every request and head cover its tokens once, in order.
fn assert_tiled(items: &[Item], lengths: &[u32]) {
    let mut rest = items;
    for (request, &length) in (0u32..).zip(lengths) {
        for head in 0..HEADS as u32 {
            let of_range = rest.iter().take_while(|i| (i.request, i.head) == (request, head)).count();
            let (range, others) = rest.split_at(of_range);
            rest = others;
            assert!(range.iter().all(|item| item.count as usize == range.len()), "{range:?}");
            let end = range.iter().fold(0, |end, item| {
                assert_eq!(item.begin, end, "{range:?}");
                item.end
            });
            assert_eq!((range.is_empty(), end), (false, length), "request {request}, head {head}");
        }
    }
    assert!(rest.is_empty(), "{rest:?}");
}

/// A plan with what its cuts were made for.
struct Watched {
    plan: Plan,
    /// The share of each piece.
    shares: Vec<usize>,
    limit: f64,
}

impl Watched {
    fn balance(&self, cores: u32) -> f64 {
        let items = pieces(&self.plan);
        let mut loads = vec![0u64; cores as usize];
        for (item, &share) in items.iter().zip(&self.shares) {
            loads[share] += u64::from(item.elements());
        }
        let all: u64 = loads.iter().sum();
        let fullest = loads.into_iter().max().unwrap_or(0);
        if all == 0 { 1.0 } else { fullest as f64 * f64::from(cores) / all as f64 }
    }

    /// Cuts for these lengths have been made.
    fn cut(&mut self, lengths: &[u32], cores: u32, align: u32) {
        let work = Work { lengths, heads: HEADS as u32, cores };
        self.shares = shares_of(&work, &pieces(&self.plan), align);
        let now = self.balance(cores);
        self.limit = if now <= 1.03 { 1.03 } else { now + 0.03 };
    }
}

fn plan_of(program: &Program, requests: &[(u64, u32)]) -> Plan {
    program
        .plan(&arrays(requests), &options(2, 64), Capacity::Exact)
        .unwrap_or_else(|found| panic!("{}", report(&found)))
}

/// What the kept plan computes is what a plan with cuts of its own does, but for the order of sums.
fn assert_same_sums(program: &Program, plan: &Plan, requests: &[(u64, u32)]) {
    let given = arrays(requests);
    let run = |plan: &Plan| program.execute_plan(plan, &given, &options(2, 64)).unwrap().outputs;
    let (have, want) = (run(plan), run(&plan_of(program, requests)));
    let values = |outputs: &wsp_plan::Arrays| outputs["sums"].as_slice::<f32>().unwrap().to_vec();
    for (at, (have, want)) in values(&have).into_iter().zip(values(&want)).enumerate() {
        let (lane, row) = (at as u64 % LANES, at as u64 / LANES);
        let (request, length) = requests[(row / HEADS) as usize];
        let all: f64 = (0..length).map(|p| f64::from(key(request, p, row % HEADS, lane).abs())).sum();
        // Two sums of n terms in any order are each within n roundings of the sum of their sizes.
        let allowed = 2.0 * f64::from(length) * f64::from(f32::EPSILON) * all;
        assert!(f64::from((have - want).abs()) <= allowed, "{have} instead of {want}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kept_cuts_cover_every_token_and_stay_even(
        batch in prop::collection::vec((0u64..1000, prop_oneof![0u32..40, 1u32..700]), 1..8),
        (schedule, align) in prop::sample::select(vec![("Balanced", 16u32), ("HeadsFirst", 8)]),
        cores in 1u32..12,
        steps in 1u32..90,
    ) {
        let program = program(schedule, cores);
        let after = |step: u32| batch.iter().map(|&(id, n)| (id, n + step)).collect::<Vec<_>>();
        let lengths = |step: u32| batch.iter().map(|&(_, n)| n + step).collect::<Vec<u32>>();
        let mut watched = Watched { plan: plan_of(&program, &batch), shares: Vec::new(), limit: 0.0 };
        watched.cut(&lengths(0), cores, align);
        for step in 1..=steps {
            let how = watched.plan.advance(Growth::ByOne).unwrap_or_else(|f| panic!("{}", report(&f)));
            assert_tiled(&pieces(&watched.plan), &lengths(step));
            if how == Advance::Regenerated {
                let anew = plan_of(&program, &after(step));
                prop_assert_eq!(watched.plan.words(), anew.words());
                watched.cut(&lengths(step), cores, align);
            }
            let balance = watched.balance(cores);
            prop_assert!(balance <= watched.limit + 1e-9, "{balance} > {} after {step}", watched.limit);
        }
        assert_same_sums(&program, &watched.plan, &after(steps));
        prop_assert!(watched.plan.is_current_for(&program, &arrays(&after(steps)), &options(2, 64)).unwrap());
    }
}

#[test]
fn the_ends_of_last_pieces_are_all_that_changes_until_cores_are_uneven() {
    // The first request under both heads for one core, the ten others for the other: 20,000 tokens each.
    let batch: Vec<(u64, u32)> = [(1, 10_000)].into_iter().chain((2..12).map(|id| (id, 1000))).collect();
    let program = program("Balanced", 2);
    let mut plan = plan_of(&program, &batch);
    assert_eq!(pieces(&plan).len(), 2 * 11);
    let mut how = Vec::new();
    for _ in 0..200 {
        how.push(plan.advance(Growth::ByOne).unwrap());
    }
    // 20,000 + 20 t <= 1.03 · (20,000 + 11 t)
    let kept = how.iter().take_while(|how| **how == Advance::Patched { words: 22 }).count();
    assert_eq!(kept, 69);
    assert_eq!(how[kept], Advance::Regenerated);
    // And on it goes, with cuts of that time.
    assert!(how[kept + 1..].iter().filter(|how| **how != Advance::Regenerated).count() > 50, "{how:?}");
}
