//! Splits at run time: sums over requests of a paged cache, cut by every policy.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use wsp_core::DType;
use wsp_cpu::{LaunchOptions, Program};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_plan::{Array, Arrays, CompileOptions, ParamValue, lower};

const SOURCE: &str = "
PTO_SHAPE(kv_cache, batch_size, PTO_DYNAMIC, heads, 16)
PTO_SHAPE(sums, batch_size, heads, 16)
PTO_PARAM(uint32_t, size, 64)
PTO_WORKSPACE(partial, float, 1, 16)
PTO_SPACE(Sums) {
    PTO_AXIS(batch, 0, batch_size)
    PTO_AXIS(head, 0, heads)
    PTO_AXIS(chunk, 0, PTO_DYNAMIC)
    PTO_TILE(chunk, PTO_AUTO)
}
PTO_TIER_DEF(Tiers) { PTO_DEFAULT(add, PTO_SLOT_BYTES) }
PTO_SCHEDULE(Whole) { PTO_SPLIT(chunk, PTO_WHOLE) PTO_ORDER(batch, PTO_LONGEST_FIRST) }
PTO_SCHEDULE(Fixed) { PTO_SPLIT(chunk, PTO_FIXED(size)) PTO_ORDER(batch, PTO_INTERLEAVED(2)) }
PTO_SCHEDULE(Balanced) { PTO_SPLIT(chunk, PTO_BALANCED) }
PTO_SCHEDULE(HeadsFirst) {
    PTO_SPLIT(chunk, PTO_BALANCED(8))
    PTO_ORDER(chunk, PTO_PARALLEL)
    PTO_ORDER(head, PTO_PARALLEL)
    PTO_ORDER(batch, PTO_PARALLEL)
}
struct Part { uint32_t tier, b, h, begin, end, count, ws; };
struct Join { uint32_t b, h, count, ws; };
PTO_DESCRIPTOR_GEN(Sums) {
    PTO_APPLY_SCHEDULE(Balanced);
    PTO_SCHEDULED_FOR(b, h, c) {
        uint32_t count = PTO_ITEM_COUNT(chunk);
        uint32_t tier = PTO_SELECT_TIER(Tiers, count);
        uint32_t ws = 0;
        if (count > 1) { ws = PTO_ALLOC_WS(tier, b, h, c); }
        PTO_EMIT_DESCRIPTOR(Part{
            .tier = tier, .b = b, .h = h,
            .begin = PTO_ITEM_BEGIN(chunk), .end = PTO_ITEM_END(chunk), .count = count, .ws = ws,
        });
        if (count > 1 && c + 1 == count) {
            PTO_EMIT_DESCRIPTOR(Join{ .b = b, .h = h, .count = count, .ws = PTO_ALLOC_WS(tier, b, h, 0) });
        }
    }
}
PTO_KERNEL_IMPL(add) {
    auto desc = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 1, 16> sum;
    TASSIGN(sum, 0.0f);
    for (uint32_t pos = desc.begin; pos < desc.end; pos += 32) {
        VecTile<float, 32, 16> keys;
        VecTile<float, 1, 16> part;
        TLOAD(keys, k_cache, {desc.b, pos, desc.h}, PTO_MIN(32, desc.end - pos));
        TCOLSUM(part, keys);
        TADD(sum, sum, part);
    }
    if (desc.count == 1) {
        TSTORE(sums, sum, {desc.b, desc.h});
    } else {
        TSTORE(partial, sum, {desc.ws});
    }
}
PTO_KERNEL_IMPL(join) {
    auto desc = PTO_GET_DESCRIPTOR<Join>();
    VecTile<float, 1, 16> sum;
    TASSIGN(sum, 0.0f);
    for (uint32_t c = 0; c < desc.count; ++c) {
        VecTile<float, 1, 16> part;
        TLOAD(part, partial, {desc.ws + c * PTO_SLOT_BYTES});
        TADD(sum, sum, part);
    }
    TSTORE(sums, sum, {desc.b, desc.h});
}
void run(PagedKVCache kv, Tensor<float> sums) { PTO_LAUNCH(Sums, { .kv_cache = kv, .sums = sums }); }
";

pub(crate) const HEADS: u64 = 2;
pub(crate) const LANES: u64 = 16;
const PAGE: u32 = 8;
const SCHEDULES: [&str; 4] = ["Whole", "Fixed", "Balanced", "HeadsFirst"];

pub(crate) fn program(schedule: &str, cores: u32) -> Program {
    compiled(SOURCE, schedule, cores)
}

/// The program of a text, with one of its schedules and for so many cores.
pub(crate) fn compiled(source: &str, schedule: &str, cores: u32) -> Program {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("splits.pto", source, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{}", render_all(&findings, &sources, false)));
    let options = CompileOptions {
        max_blocks: cores,
        schedule: Some(schedule.to_owned()),
        ..CompileOptions::default()
    };
    Program::new(lower(&module, &options).unwrap_or_else(|found| panic!("{}", report(&found))))
}

pub(crate) fn report(found: &[Diagnostic]) -> String {
    render_all(found, &SourceMap::default(), false)
}

pub(crate) fn options(threads: u32, size: u32) -> LaunchOptions {
    let set = vec![("size".to_owned(), ParamValue::Int(i128::from(size)))];
    LaunchOptions { threads, set, ..LaunchOptions::default() }
}

fn integers(values: &[u32]) -> Array {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

/// The key of a lane at a position: large and small ones, so that the order of a sum shows in its bits.
pub(crate) fn key(request: u64, position: u32, head: u64, lane: u64) -> f32 {
    let mixed =
        (request * 31 + u64::from(position) * 7 + head * 3 + lane + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 40) as f32 - 8_388_608.0) * if mixed & 1 == 0 { 1e-3 } else { 1.0 }
}

/// Requests with these numbers and lengths.
pub(crate) fn arrays(requests: &[(u64, u32)]) -> Arrays {
    let pages: Vec<u32> = requests.iter().map(|(_, n)| n.div_ceil(PAGE)).collect();
    let mut indptr = vec![0];
    pages.iter().for_each(|n| indptr.push(indptr[indptr.len() - 1] + n));
    let last: Vec<u32> = requests.iter().map(|&(_, n)| if n == 0 { 0 } else { (n - 1) % PAGE + 1 }).collect();
    let total = indptr[indptr.len() - 1];
    let shape = [u64::from(total), u64::from(PAGE), HEADS, LANES];
    let mut keys = Array::zeros(DType::F32, &shape).unwrap();
    let values = keys.as_slice_mut::<f32>().unwrap();
    for (&(request, length), &first) in requests.iter().zip(&indptr) {
        for position in 0..length {
            for (head, lane) in (0..HEADS).flat_map(|h| (0..LANES).map(move |l| (h, l))) {
                let row = u64::from(first * PAGE + position) * HEADS + head;
                values[(row * LANES + lane) as usize] = key(request, position, head, lane);
            }
        }
    }
    Arrays::from([
        ("kv.k".to_owned(), keys.clone()),
        ("kv.v".to_owned(), keys),
        ("kv.indptr".to_owned(), integers(&indptr)),
        ("kv.indices".to_owned(), integers(&(0..total).collect::<Vec<_>>())),
        ("kv.last_page_len".to_owned(), integers(&last)),
    ])
}

fn sums(program: &Program, requests: &[(u64, u32)], options: &LaunchOptions) -> Vec<f32> {
    let outcome =
        program.execute(&arrays(requests), options).unwrap_or_else(|found| panic!("{}", report(&found)));
    outcome.outputs["sums"].as_slice::<f32>().unwrap().to_vec()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn batch() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((0u64..1000, prop_oneof![Just(0u32), 1u32..40, 1u32..700]), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_split_adds_up_each_element_once(batch in batch(), cores in 1u32..40, size in 1u32..200) {
        for schedule in SCHEDULES {
            let found = sums(&program(schedule, cores), &batch, &options(2, size));
            for (i, &(request, length)) in batch.iter().enumerate() {
                for (head, lane) in (0..HEADS).flat_map(|h| (0..LANES).map(move |l| (h, l))) {
                    let keys = (0..length).map(|position| f64::from(key(request, position, head, lane)));
                    let (want, all) = keys.fold((0.0, 0.0), |(sum, all), k| (sum + k, all + k.abs()));
                    let got = f64::from(found[((i as u64 * HEADS + head) * LANES + lane) as usize]);
                    // A sum of n terms in any order is within n roundings of the sum of their sizes.
                    let allowed = f64::from(length) * f64::from(f32::EPSILON) * all;
                    prop_assert!((got - want).abs() <= allowed, "{schedule}: {got} instead of {want}");
                }
            }
        }
    }

    #[test]
    fn threads_and_windows_do_not_change_a_bit(batch in batch(), cores in 1u32..40, size in 1u32..200) {
        for schedule in SCHEDULES {
            let program = program(schedule, cores);
            let alone = sums(&program, &batch, &options(1, size));
            for threads in [2, 5] {
                let window = LaunchOptions { window: Some(threads), seed: 7, ..options(threads, size) };
                prop_assert_eq!(bits(&sums(&program, &batch, &window)), bits(&alone));
            }
        }
    }

    #[test]
    fn items_of_fixed_size_give_the_same_bits_in_any_batch_on_any_number_of_cores(
        batch in batch(), cores in 1u32..200, size in 1u32..200,
    ) {
        let (fixed, other) = (program("Fixed", 72), program("Fixed", cores));
        let together = bits(&sums(&fixed, &batch, &options(2, size)));
        prop_assert_eq!(&bits(&sums(&other, &batch, &options(2, size))), &together);
        let row = (HEADS * LANES) as usize;
        for (i, request) in batch.iter().enumerate() {
            let alone = bits(&sums(&other, &[*request], &options(1, size)));
            prop_assert_eq!(&alone[..], &together[i * row..(i + 1) * row]);
        }
    }
}

#[test]
fn a_split_into_items_of_no_elements_stops_with_its_place() {
    let found = program("Fixed", 8).execute(&arrays(&[(1, 100)]), &options(1, 0)).unwrap_err();
    let text = report(&found);
    assert!(text.contains("WSP0"), "{text}");
    assert_ne!(found[0].code.0, 599, "a fault of ours: {text}");
}

#[test]
fn a_cache_holds_the_elements_that_the_entry_says() {
    let text = |of: &str| SOURCE.replace("PagedKVCache kv", &format!("PagedKVCache<{of}> kv"));
    let arrays = arrays(&[(3, 20)]);
    let run = |of: &str| compiled(&text(of), "Whole", 2).execute(&arrays, &options(1, 64));
    assert!(run("float").is_ok());
    let found = report(&run("half").err().unwrap());
    assert!(found.contains("array `kv.k` holds f32, but `k_cache` is f16"), "{found}");
    for of in ["uint32_t", "double", "float, 3"] {
        let (_, found) = wsp_lang::compile("splits.pto", &text(of), &mut SourceMap::default());
        assert!(report(&found).contains("for instance `PagedKVCache<half>`"), "{of}: {}", report(&found));
    }
}
