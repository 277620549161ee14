//! `PTO_SET_EXTENT(axis, lengths, last)`: of every request only the last elements exist, for every cut and order.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::splits::{arrays, compiled, report};
use proptest::prelude::*;
use wsp_cpu::{Advance, Capacity, Growth, LaunchOptions, Plan, Program};
use wsp_plan::ParamValue;
use wsp_plan::split::{Item, Policy, Work, balance_of_shares, longest_first};

const SOURCE: &str = "
PTO_SHAPE(kv_cache, batch_size, PTO_DYNAMIC, heads, 16)
PTO_SHAPE(sums, batch_size, heads, 16)
PTO_PARAM(uint32_t, window, 64)
PTO_PARAM(uint32_t, size, 64)
PTO_SPACE(Sums) {
    PTO_AXIS(batch, 0, batch_size)
    PTO_AXIS(head, 0, heads)
    PTO_AXIS(chunk, 0, PTO_DYNAMIC)
    PTO_TILE(chunk, PTO_AUTO)
}
PTO_SCHEDULE(Whole) { PTO_SPLIT(chunk, PTO_WHOLE) PTO_ORDER(batch, PTO_LONGEST_FIRST) }
PTO_SCHEDULE(Fixed) { PTO_SPLIT(chunk, PTO_FIXED(size)) }
PTO_SCHEDULE(Balanced) { PTO_SPLIT(chunk, PTO_BALANCED) }
PTO_SCHEDULE(Tiles) { PTO_ORDER(batch, PTO_SEQUENTIAL) }
struct Part { uint32_t b, h, c, count, begin, end, len; };
PTO_DESCRIPTOR_GEN(Sums) {
    auto lens = PTO_GET_INPUT_META(kv_cache, lengths);
    PTO_SET_EXTENT(chunk, lens, window);
    PTO_APPLY_SCHEDULE(Balanced);
    PTO_SCHEDULED_FOR(b, h, c) {
        PTO_EMIT_DESCRIPTOR(Part{
            .b = b, .h = h, .c = c, .count = PTO_ITEM_COUNT(chunk),
            .begin = PTO_ITEM_BEGIN(chunk), .end = PTO_ITEM_END(chunk), .len = lens[b],
        });
    }
}
PTO_KERNEL_IMPL(add) {
    auto desc = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 1, 16> sum;
    TASSIGN(sum, 0.0f);
    TSTORE(sums, sum, {desc.b, desc.h});
}
void run(PagedKVCache kv, Tensor<float> sums) { PTO_LAUNCH(Sums, { .kv_cache = kv, .sums = sums }); }
";
const HEADS: u32 = 2;

fn program(schedule: &str, cores: u32) -> Program {
    compiled(SOURCE, schedule, cores)
}

fn plan(program: &Program, lengths: &[u32], window: u32, size: u32) -> Plan {
    let requests: Vec<(u64, u32)> = (0u64..).zip(lengths.iter().copied()).collect();
    let set = [("window", window), ("size", size)];
    let set = set.map(|(name, value)| (name.to_owned(), ParamValue::Int(i128::from(value)))).to_vec();
    let options = LaunchOptions { threads: 1, set, ..LaunchOptions::default() };
    let plan = program.plan(&arrays(&requests), &options, Capacity::Exact);
    plan.unwrap_or_else(|found| panic!("{}", report(&found)))
}

fn items(plan: &Plan) -> Vec<Item> {
    let item = |words: &[u32]| {
        let [request, head, index, count, begin, end, _] = *words else { panic!("{words:?}") };
        Item { request, head, index, count, begin, end }
    };
    plan.descriptors().map(|d| item(d.words)).collect()
}

/// What the library cuts of the windows, at its places in the requests.
fn want(lengths: &[u32], window: u32, policy: Policy, cores: u32) -> Vec<Item> {
    let count: Vec<u32> = lengths.iter().map(|&n| n.min(window)).collect();
    let mut items = Work { lengths: &count, heads: HEADS, cores }.items(policy);
    for item in &mut items {
        let left_out = lengths[item.request as usize] - count[item.request as usize];
        item.begin += left_out;
        item.end += left_out;
    }
    items
}

fn lengths() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![Just(0u32), 1u32..40, 1u32..900], 1..7)
}

fn windows() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), 1u32..40, 1u32..900, Just(128u32), Just(4096u32), Just(u32::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn splits_cut_what_a_window_shows(lengths in lengths(), window in windows(), size in 1u32..200, cores in 1u32..40) {
        let cut = |schedule: &str| items(&plan(&program(schedule, cores), &lengths, window, size));
        prop_assert_eq!(cut("Fixed"), want(&lengths, window, Policy::Fixed(size), cores));
        prop_assert_eq!(cut("Balanced"), want(&lengths, window, Policy::Balanced(16), cores));
        let whole = want(&lengths, window, Policy::Whole, cores);
        let shown: Vec<u32> = lengths.iter().map(|&n| n.min(window)).collect();
        let of = |request: u32| whole.iter().copied().filter(move |item| item.request == request);
        let ordered: Vec<Item> = longest_first(&shown).into_iter().flat_map(of).collect();
        prop_assert_eq!(cut("Whole"), ordered);
        // Tiles that the cost model chose cover the window too, but for ranges without elements, which have none.
        let tiles = cut("Tiles");
        for range in &whole {
            let tiles = tiles.iter().filter(|t| (t.request, t.head) == (range.request, range.head));
            let end = tiles.fold(range.begin, |at, tile| if tile.begin == at { tile.end } else { u32::MAX });
            prop_assert_eq!(end, range.end);
        }
    }

    /// Up to where a request fills its window, and beyond.
    #[test]
    fn plans_follow_windows_that_fill_and_move(lengths in lengths(), window in windows(), steps in 1u32..80) {
        for schedule in ["Whole", "Fixed", "Balanced"] {
            let program = program(schedule, 5);
            let mut kept = plan(&program, &lengths, window, 64);
            for step in 1..=steps {
                let how = kept.advance(Growth::ByOne).unwrap();
                let grown: Vec<u32> = lengths.iter().map(|n| n + step).collect();
                if schedule != "Balanced" || how == Advance::Regenerated {
                    let anew = plan(&program, &grown, window, 64);
                    prop_assert_eq!(kept.words(), anew.words(), "{}, {}", schedule, step);
                    continue;
                }
                for range in want(&grown, window, Policy::Whole, 5) {
                    let items = items(&kept).into_iter();
                    let mut parts = items.filter(|i| (i.request, i.head) == (range.request, range.head));
                    let end = parts.try_fold(range.begin, |at, i| (i.begin == at).then_some(i.end));
                    prop_assert_eq!(end, Some(range.end));
                }
            }
        }
    }
}

#[test]
fn the_cost_model_sees_what_a_window_shows() {
    let (program, lengths) = (program("Tiles", 132), ragged());
    let tiles = |lengths: &[u32], window: u32| {
        plan(&program, lengths, window, 64).tiles().map(|(_, size)| size).collect::<Vec<_>>()
    };
    let shown: Vec<u32> = lengths.iter().map(|&n| n.min(300)).collect();
    assert_eq!(tiles(&lengths, 300), tiles(&shown, u32::MAX));
    assert_ne!(tiles(&lengths, 300), tiles(&lengths, u32::MAX));
}

/// Ragged lengths, as `cargo xtask bench plan` has them.
fn ragged() -> Vec<u32> {
    include_str!("../../../../testdata/lens/lens_lognormal4k_64.txt")
        .lines()
        .map(|n| n.parse().unwrap())
        .collect()
}

#[test]
fn windows_of_ragged_requests_are_balanced() {
    let lengths = ragged();
    for (window, cores) in [(128, 8), (4096, 72), (4096, 132)] {
        let shown: Vec<u32> = lengths.iter().map(|&n| n.min(window)).collect();
        let work = Work { lengths: &shown, heads: HEADS, cores };
        // Cores have 500 tokens at least, of which the place of a cut may move 16.
        assert!(work.elements() / u64::from(cores) >= 500, "{window}, {cores}");
        let items = items(&plan(&program("Balanced", cores), &lengths, window, 64));
        assert!(items.iter().all(|item| item.begin < item.end), "an item without tokens");
        let balance = balance_of_shares(&work, &items, 16);
        assert!(balance <= 1.03, "{balance} with a window of {window} on {cores} cores");
    }
}

#[test]
fn full_windows_move_by_patches() {
    let lengths: Vec<u32> = ragged().into_iter().map(|n| n + 128).collect();
    let program = program("Balanced", 8);
    let mut kept = plan(&program, &lengths, 128, 64);
    for step in 1..=100 {
        let how = kept.advance(Growth::ByOne).unwrap();
        assert!(matches!(how, Advance::Patched { .. }), "{step}");
    }
    let grown: Vec<u32> = lengths.iter().map(|n| n + 100).collect();
    // Nothing that cuts follow from has changed, so these are the cuts that a plan made anew has.
    assert_eq!(kept.words(), plan(&program, &grown, 128, 64).words());
}
