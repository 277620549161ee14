//! Splits: what generators emit is what the library says, and the library cuts as it promises.

use crate::support::machine::{Event, Machine};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wsp_diag::SourceMap;
use wsp_plan::split::{self, Item, Policy, Work};
use wsp_plan::{CompileOptions, LoweredPlan, lower};

/// Items of chunks by request and head, in three nests and under every policy.
fn source(axes: &str, vars: &str, schedule: &str) -> String {
    format!(
        "PTO_SHAPE(kv, batch_size, PTO_DYNAMIC, heads, 16)
        PTO_SPACE(Chunks) {{ {axes} PTO_TILE(chunk, PTO_AUTO) }}
        PTO_SCHEDULE(Cut) {{ {schedule} }}
        struct Chunk {{ uint32_t b, h, index, count, begin, end, ws; }};
        PTO_KERNEL_IMPL(work) {{ auto desc = PTO_GET_DESCRIPTOR<Chunk>(); }}
        PTO_TIER_DEF(Tiers) {{ PTO_DEFAULT(work, 64) }}
        PTO_DESCRIPTOR_GEN(Chunks) {{
            PTO_APPLY_SCHEDULE(Cut);
            PTO_SCHEDULED_FOR({vars}) {{
                PTO_EMIT_DESCRIPTOR(Chunk{{
                    .b = b, .h = h, .index = c, .count = PTO_ITEM_COUNT(chunk),
                    .begin = PTO_ITEM_BEGIN(chunk), .end = PTO_ITEM_END(chunk),
                    .ws = PTO_ALLOC_WS(0, b),
                }});
            }}
        }}
        void run(PagedKVCache kv) {{ PTO_LAUNCH(Chunks, {{ .kv = kv }}); }}"
    )
}

const BATCH: &str = "PTO_AXIS(batch, 0, batch_size)";
const CHUNK: &str = "PTO_AXIS(chunk, 0, PTO_DYNAMIC)";
const HEAD: &str = "PTO_AXIS(head, 0, heads)";

fn plan(text: &str) -> LoweredPlan {
    let text = text.replace(".ws = PTO_ALLOC_WS(0, b),", ".ws = 0,");
    let (module, found) = wsp_lang::compile("split.pto", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:#?}"));
    lower(&module, &CompileOptions::default()).unwrap_or_else(|d| panic!("{d:#?}"))
}

/// The generator, run for this work.
fn run<'p>(plan: &'p LoweredPlan, work: &Work<'_>) -> Machine<'p> {
    let mut machine = Machine::new(&plan.module);
    machine.lengths = work.lengths.to_vec();
    machine.blocks = work.cores;
    for (i, param) in plan.module.params.iter().enumerate() {
        machine.params[i] = match param.name.as_str() {
            "batch_size" => work.lengths.len() as u32,
            "heads" => work.heads,
            _ => 0,
        };
    }
    machine.run(plan.stages[0].generator).expect("the generator should run");
    machine
}

/// What the generator emits, in issue order.
fn emitted(plan: &LoweredPlan, work: &Work<'_>) -> Vec<Item> {
    let item =
        |f: &Vec<u32>| Item { request: f[0], head: f[1], index: f[2], count: f[3], begin: f[4], end: f[5] };
    run(plan, work).emitted().iter().map(item).collect()
}

fn spelled(policy: Policy) -> String {
    match policy {
        Policy::Whole => "PTO_WHOLE".to_owned(),
        Policy::Fixed(size) => format!("PTO_FIXED({size})"),
        Policy::Balanced(align) => format!("PTO_BALANCED({align})"),
    }
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Whole),
        (1u32..200).prop_map(Policy::Fixed),
        (1u32..40).prop_map(Policy::Balanced),
    ]
}

fn lengths() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![Just(0u32), 1u32..40, 1u32..3000, Just(16u32)], 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_generator_emits_what_the_library_cuts(
        lengths in lengths(), heads in 1u32..5, cores in 1u32..40, policy in policy(), nest in 0usize..5,
    ) {
        let work = Work { lengths: &lengths, heads, cores };
        let (axes, vars) = match nest {
            0 | 3 | 4 => (format!("{BATCH} {HEAD} {CHUNK}"), "b, h, c"),
            _ => (format!("{BATCH} {CHUNK} {HEAD}"), "b, c, h"),
        };
        let order = [
            "",
            "",
            "PTO_ORDER(batch, PTO_INTERLEAVED(2)) PTO_ORDER(chunk, PTO_PARALLEL)",
            "PTO_ORDER(head, PTO_PARALLEL) PTO_ORDER(batch, PTO_LONGEST_FIRST)",
            "PTO_ORDER(chunk, PTO_PARALLEL) PTO_ORDER(head, PTO_PARALLEL)",
        ][nest];
        let text = source(&axes, vars, &format!("PTO_SPLIT(chunk, {}) {order}", spelled(policy)));
        let mut found = emitted(&plan(&text), &work);
        found.sort_by_key(|item| (item.request, item.head, item.index));
        prop_assert_eq!(found, work.items(policy));
    }

    #[test]
    fn every_element_is_in_one_item_and_cuts_are_aligned(
        lengths in lengths(), heads in 1u32..5, cores in 1u32..200, policy in policy(),
    ) {
        let work = Work { lengths: &lengths, heads, cores };
        let items = work.items(policy);
        let mut ranges: BTreeMap<(u32, u32), Vec<Item>> = BTreeMap::new();
        items.iter().for_each(|item| ranges.entry((item.request, item.head)).or_default().push(*item));
        prop_assert_eq!(ranges.len(), lengths.len() * heads as usize);
        for ((request, _), items) in ranges {
            let length = lengths[request as usize];
            let ends: Vec<u32> = items.iter().map(|item| item.end).collect();
            let begins: Vec<u32> = items.iter().map(|item| item.begin).collect();
            prop_assert_eq!(ends[ends.len() - 1], length);
            prop_assert_eq!(&begins[1..], &ends[..ends.len() - 1]);
            prop_assert_eq!(begins[0], 0);
            prop_assert!(items.len() == 1 || items.iter().all(|item| item.elements() > 0));
            let align = match policy {
                Policy::Whole => u32::MAX,
                Policy::Fixed(size) => size,
                Policy::Balanced(align) => align,
            };
            prop_assert!(begins.iter().all(|begin| begin % align == 0));
            prop_assert!(items.iter().enumerate().all(|(i, item)| (item.index, item.count) == (i as u32, items.len() as u32)));
        }
        if let Policy::Balanced(align) = policy {
            let ranges = lengths.len() * heads as usize;
            prop_assert!(items.len() - ranges < cores as usize);
            // Each end of a share is moved by half of what cuts are aligned to at most.
            let shares = u64::from(cores).min((work.elements() / u64::from(align)).max(1));
            let mean = work.elements() as f64 / shares as f64;
            let fullest = split::balance_of_shares(&work, &items, align) * work.elements() as f64 / f64::from(cores);
            prop_assert!(fullest <= mean + f64::from(align) + 1e-6, "{fullest} of {mean}");
        }
    }

    #[test]
    fn the_items_of_a_request_of_fixed_size_do_not_depend_on_batch_heads_or_cores(
        lengths in lengths(), size in 1u32..200, heads in 1u32..5, cores in 1u32..99,
    ) {
        let all = Work { lengths: &lengths, heads, cores }.items(Policy::Fixed(size));
        for (request, length) in lengths.iter().enumerate() {
            let alone = Work { lengths: &[*length], heads: 1, cores: 1 }.items(Policy::Fixed(size));
            let alone: Vec<_> = alone.iter().map(|i| (i.begin, i.end, i.count)).collect();
            for head in 0..heads {
                let here: Vec<_> = all
                    .iter()
                    .filter(|i| (i.request, i.head) == (request as u32, head))
                    .map(|i| (i.begin, i.end, i.count))
                    .collect();
                prop_assert_eq!(&here, &alone);
            }
        }
    }

    #[test]
    fn the_longest_requests_are_issued_first(lengths in lengths(), heads in 1u32..4) {
        let work = Work { lengths: &lengths, heads, cores: 8 };
        let order = "PTO_SPLIT(chunk, PTO_FIXED(64)) PTO_ORDER(batch, PTO_LONGEST_FIRST)";
        let text = source(&format!("{BATCH} {HEAD} {CHUNK}"), "b, h, c", order);
        let items = work.items(Policy::Fixed(64));
        let expected: Vec<Item> = split::longest_first(&lengths)
            .into_iter()
            .flat_map(|request| items.iter().copied().filter(move |item| item.request == request))
            .collect();
        prop_assert_eq!(emitted(&plan(&text), &work), expected);
    }
}

#[expect(clippy::disallowed_methods, reason = "the lengths are files of the repository")]
fn length_files() -> Vec<(String, Vec<u32>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lens");
    let mut files: Vec<(String, Vec<u32>)> = std::fs::read_dir(folder)
        .expect("the folder should be there")
        .map(|entry| {
            let entry = entry.expect("an entry should be readable");
            let text = std::fs::read_to_string(entry.path()).expect("a file should be readable");
            let lengths = text.split_whitespace().map(|n| n.parse().expect("a length")).collect();
            (entry.file_name().to_string_lossy().into_owned(), lengths)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn shares_are_within_three_percent_wherever_cores_have_512_elements() {
    let files = length_files();
    assert_eq!(files.len(), 18);
    for (name, lengths) in &files {
        for (heads, cores) in [(1, 72), (8, 72), (1, 132), (8, 132)] {
            let work = Work { lengths, heads, cores };
            let items = work.items(Policy::Balanced(16));
            let shares = split::balance_of_shares(&work, &items, 16);
            if work.elements() >= 512 * u64::from(cores) {
                assert!(shares <= 1.03, "{name}, {heads} heads, {cores} cores: {shares}");
            }
        }
    }
}

/// The code of the first finding for a space, a schedule and what stands before and in the loop.
fn refused(axes: &str, schedule: &str, before: &str, begin: &str) -> u16 {
    let text = source(axes, "b, h, c", schedule)
        .replace(".ws = PTO_ALLOC_WS(0, b),", ".ws = 0,")
        .replace("PTO_APPLY_SCHEDULE(Cut);", &format!("PTO_APPLY_SCHEDULE(Cut); {before}"))
        .replace("PTO_ITEM_BEGIN(chunk)", begin);
    let text =
        if axes.contains("PTO_TILE") { text.replacen("PTO_TILE(chunk, PTO_AUTO) }", "}", 1) } else { text };
    let (module, found) = wsp_lang::compile("split.pto", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:#?}"));
    match lower(&module, &CompileOptions::default()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(found) => found[0].code.0,
    }
}

#[test]
fn what_cannot_be_split_or_ordered_is_refused() {
    let axes = format!("{BATCH} {HEAD} {CHUNK}");
    let split = "PTO_SPLIT(chunk, PTO_BALANCED)";
    let begin = "PTO_ITEM_BEGIN(chunk)";
    // The end is fixed; the tile is; there are no lengths.
    assert_eq!(refused(&axes, "PTO_SPLIT(head, PTO_WHOLE)", "", begin), 419);
    assert_eq!(refused(&format!("{axes} PTO_TILE(chunk, 8)"), split, "", begin), 419);
    let alone = "PTO_AXIS(chunk, 0, PTO_DYNAMIC) PTO_AXIS(head, 0, heads) PTO_AXIS(other, 0, 2)";
    assert_eq!(refused(alone, split, "", begin), 419);
    // Something else speaks of tiles.
    assert_eq!(refused(&axes, split, "PTO_SET_TILE(chunk, 8);", begin), 420);
    assert_eq!(refused(&axes, split, "", "c * PTO_GET_TILE(chunk)"), 420);
    // Another axis is dynamic.
    let two = format!("{BATCH} PTO_AXIS(other, 0, PTO_DYNAMIC) {CHUNK}");
    assert_eq!(refused(&two, split, "", begin), 421);
    // No lengths by index of this axis.
    assert_eq!(refused(&axes, "PTO_ORDER(head, PTO_LONGEST_FIRST)", "", begin), 422);
    let scalar = "PTO_SET_EXTENT(chunk, 100);";
    assert_eq!(refused(&axes, "PTO_ORDER(batch, PTO_LONGEST_FIRST)", scalar, begin), 422);
}

#[test]
fn the_tile_of_a_fixed_split_can_be_asked_for_and_one_length_can_be_split() {
    let text = source(&format!("{BATCH} {HEAD} {CHUNK}"), "b, h, c", "PTO_SPLIT(chunk, PTO_FIXED(48))")
        .replace("PTO_ITEM_BEGIN(chunk)", "c * PTO_GET_TILE(chunk)")
        .replace("PTO_SCHEDULED_FOR", "PTO_SET_EXTENT(chunk, 100); PTO_SCHEDULED_FOR");
    let work = Work { lengths: &[100, 100], heads: 2, cores: 3 };
    assert_eq!(emitted(&plan(&text), &work), work.items(Policy::Fixed(48)));
    let text = text.replace("c * PTO_GET_TILE(chunk)", "PTO_ITEM_BEGIN(chunk)");
    let text = text.replace("PTO_FIXED(48)", "PTO_BALANCED(10)");
    assert_eq!(emitted(&plan(&text), &work), work.items(Policy::Balanced(10)));
}

#[test]
fn without_a_split_items_are_tiles() {
    let text = source(&format!("{BATCH} {HEAD} {CHUNK}"), "b, h, c", "")
        .replace("PTO_SCHEDULED_FOR", "PTO_SET_TILE(chunk, 32); PTO_SCHEDULED_FOR");
    let work = Work { lengths: &[100, 0, 32], heads: 1, cores: 3 };
    let expected: Vec<Item> =
        work.items(Policy::Fixed(32)).into_iter().filter(|item| item.elements() > 0).collect();
    assert_eq!(emitted(&plan(&text), &work), expected);
}

#[test]
fn a_reservation_has_a_slot_for_every_item() {
    let text = source(&format!("{BATCH} {HEAD} {CHUNK}"), "b, h, c", "PTO_SPLIT(chunk, PTO_BALANCED)")
        .replace("PTO_ALLOC_WS(0, b)", "PTO_ALLOC_WS(0, b, h, c)");
    let (module, found) = wsp_lang::compile("split.pto", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:#?}"));
    let plan = lower(&module, &CompileOptions::default()).unwrap_or_else(|d| panic!("{d:#?}"));
    let work = Work { lengths: &[1000, 0, 77, 3000], heads: 2, cores: 9 };
    let items = emitted(&plan, &work);
    assert_eq!(items, work.items(Policy::Balanced(16)));
    let slots: Vec<(u32, u32)> = run(&plan, &work)
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Alloc { count, index, .. } => Some((*count, *index)),
            _ => None,
        })
        .collect();
    assert_eq!(slots, items.iter().map(|item| (item.count, item.index)).collect::<Vec<_>>());
}
