//! Tiers and their workspaces: which tier is chosen, and where its slots lie.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use wsp_backend::{Args, Backend, RunOptions};
use wsp_core::DType;
use wsp_cpu::{Capacity, CpuSimBackend, LaunchOptions, Program};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_kernel::{CodeCache, Engine};
use wsp_plan::{Array, Arrays, CompileOptions, lower};

fn compile(text: &str) -> Result<Program, Vec<Diagnostic>> {
    let (module, findings) = wsp_lang::compile("tiers.pto", text, &mut SourceMap::default());
    let Some(module) = module else { return Err(findings) };
    lower(&module, &CompileOptions::default()).map(Program::new)
}

fn program(text: &str) -> Program {
    compile(text).unwrap_or_else(|found| panic!("{}", render_all(&found, &SourceMap::default(), false)))
}

fn lens(values: &[u32]) -> Arrays {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    Arrays::from([("lens".to_owned(), array)])
}

/// `y` by both engines, which agree.
pub(crate) fn run(text: &str, values: &[u32]) -> Result<Vec<f32>, Vec<Diagnostic>> {
    let program = compile(text)?;
    let by = |engine| {
        let options = LaunchOptions { threads: 2, engine, ..LaunchOptions::default() };
        let done = program.execute(&lens(values), &options)?;
        Ok::<_, Vec<Diagnostic>>(done.outputs["y"].as_slice::<f32>().unwrap().to_vec())
    };
    let (one, other) = (by(Engine::Interpreter)?, by(Engine::Native)?);
    assert_eq!(one, other, "{text}");
    Ok(one)
}

/// A program whose tasks store the number of their tier, for a list of conditions and a selector.
fn choosing(conditions: &[&str], selector: &str) -> String {
    let last = conditions.len();
    let tiers: Vec<String> =
        conditions.iter().enumerate().map(|(n, cond)| format!("PTO_TIER({cond}, k{n})")).collect();
    let kernels: Vec<String> = (0..=last)
        .map(|n| {
            format!("PTO_KERNEL_IMPL(k{n}) {{ auto d = PTO_GET_DESCRIPTOR<D>(); PTO_STORE_SCALAR(y, {n}.0f, {{d.i, 0}}); }}")
        })
        .collect();
    format!(
        "PTO_SHAPE(lens, n)
         PTO_SHAPE(y, n, 1)
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
         struct D {{ uint32_t tier, i, first; }};
         struct P {{ uint32_t a[2]; }};
         uint32_t same(uint32_t x) {{ return x; }}
         PTO_TIER_DEF(T) {{ {} PTO_DEFAULT(k{last}) }}
         {}
         PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{
             uint32_t own = lens[i];
             PTO_EMIT_DESCRIPTOR(D{{ .tier = {selector}, .i = i, .first = (i + 1) * 10 + (i + 2) * 100 }});
         }} }}
         void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}",
        tiers.join(" "),
        kernels.join("\n")
    )
}

const EDGES: [u32; 13] = [0, 1, 63, 64, 65, 2047, 2048, 2049, 8192, 8193, (1 << 31) - 1, 1 << 31, u32::MAX];

/// Conditions, and the tier that they give for a value.
type Choice<'c> = (&'c [&'c str], fn(u32) -> u32);

#[test]
fn any_selector_picks_the_first_tier_whose_condition_holds() {
    let conditions: [Choice<'_>; 5] = [
        (&["len <= 64", "len <= 2048", "len <= 8192"], |n| {
            (n > 64) as u32 + (n > 2048) as u32 + (n > 8192) as u32
        }),
        (&["len > 8192", "len > 2048"], |n| {
            if n > 8192 {
                0
            } else if n > 2048 {
                1
            } else {
                2
            }
        }),
        (&["len == 0", "len % 2 == 1 && len > 1", "len / 64 >= 32"], |n| match n {
            0 => 0,
            n if n % 2 == 1 && n > 1 => 1,
            n if n / 64 >= 32 => 2,
            _ => 3,
        }),
        (&["2048 < len", "64 >= len"], |n| {
            if n > 2048 {
                0
            } else if n <= 64 {
                1
            } else {
                2
            }
        }),
        (&["!(len >= 65)", "(len > 2048 ? len : 0) > 8192"], |n| {
            if n < 65 {
                0
            } else if n > 8192 {
                1
            } else {
                2
            }
        }),
    ];
    let selectors = [
        "PTO_SELECT_TIER(T, lens[i])",
        "PTO_SELECT_TIER(T, own)",
        "PTO_SELECT_TIER(T, (uint64_t)lens[i] + 1 - 1)",
        "PTO_SELECT_TIER(T, same(lens[i]))",
        "PTO_SELECT_TIER(T, PTO_MAX(lens[i], 0u))",
        "PTO_SELECT_TIER(T, i < n ? lens[i] : 0u)",
        "PTO_SELECT_TIER(T, lens[i]) * 1 + 0 * PTO_SELECT_TIER(T, i)",
        "PTO_MIN(PTO_SELECT_TIER(T, lens[i]), PTO_SELECT_TIER(T, same(own)))",
        "PTO_SELECT_TIER(T, (uint64_t)lens[i] + PTO_SELECT_TIER(T, 0u) - PTO_SELECT_TIER(T, 0u))",
    ];
    for (conditions, tier) in conditions {
        for selector in selectors {
            let want: Vec<f32> = EDGES.iter().map(|n| tier(*n) as f32).collect();
            let found = run(&choosing(conditions, selector), &EDGES);
            assert_eq!(found.as_ref(), Ok(&want), "{conditions:?}, {selector}");
        }
    }
}

#[test]
fn a_tier_that_is_computed_leaves_other_fields_alone() {
    let text = choosing(&["len > 65536", "len > 64"], "PTO_SELECT_TIER(T, lens[i])");
    let plan = program(&text)
        .plan(&lens(&[1, 2049, 8192, 8193, 65536]), &LaunchOptions::default(), Capacity::Exact)
        .unwrap();
    let words: Vec<&[u32]> = plan.descriptors().map(|d| d.words).collect();
    assert_eq!(
        words,
        [[2, 0, 210], [1, 1, 320], [1, 2, 430], [1, 3, 540], [1, 4, 650]]
            .iter()
            .map(|w| &w[..])
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_selector_that_is_negative_stops_the_run() {
    let text = choosing(&["len > 3"], "PTO_SELECT_TIER(T, (int32_t)lens[i] - 5)");
    assert_eq!(run(&text, &[5, 8, 9]), Ok(vec![1.0, 1.0, 0.0]));
    let found = run(&text, &[5, 4]).unwrap_err();
    assert!(found[0].message.contains("-1"), "{found:?}");
}

/// Parts of a request in the slots of its tier, and a task that adds them up. `merge` is the type of that task's descriptor.
fn merging(tiers: &str, merge: &str, apart: &str) -> String {
    let tier = if merge.contains("tier") { ".tier = tier, " } else { "" };
    let kernels = [("k2", 1), ("k8", 10), ("k64", 100), ("k128", 1000)]
        .into_iter()
        .filter(|(name, _)| tiers.contains(name));
    let kernels: String = kernels
        .map(|(name, factor)| {
            format!("PTO_KERNEL_IMPL({name}) {{ auto d = PTO_GET_DESCRIPTOR<P>(); part(d, {factor}.0f); }}\n")
        })
        .collect();
    format!(
        "PTO_SHAPE(lens, B)
         PTO_SHAPE(y, B, 1)
         PTO_WORKSPACE(p, float, 1, 512)
         PTO_SPACE(S) {{ PTO_AXIS(b, 0, B) PTO_AXIS(c, 0, PTO_DYNAMIC) }}
         struct P {{ uint32_t tier, b, c, ws; }};
         {merge}
         PTO_TIER_DEF(T) {{ {tiers} }}
         PTO_DESCRIPTOR_GEN(S) {{
             PTO_SET_EXTENT(c, lens);
             PTO_SCHEDULED_FOR(b, c) {{
                 uint32_t tier = PTO_SELECT_TIER(T, lens[b]);
                 PTO_EMIT_DESCRIPTOR(P{{ .tier = tier, .b = b, .c = c, .ws = PTO_ALLOC_WS(tier, b, c) }});
                 if (c + 1 == lens[b]) {{
                     PTO_EMIT_DESCRIPTOR(M{{ {tier}.b = b, .chunks = lens[b], .ws = PTO_ALLOC_WS(tier, b, 0) }});
                 }}
             }}
         }}
         void part(const P& d, float factor) {{ PTO_STORE_SCALAR(p, factor * float(d.c + 1), {{d.ws, 0, 511}}); }}
         {kernels}
         PTO_KERNEL_IMPL(merge) {{ auto d = PTO_GET_DESCRIPTOR<M>(); float s = 0.0f;
             for (uint32_t j = 0; j < d.chunks; ++j) {{ s += PTO_LOAD_SCALAR(p, {{d.ws + j * {apart}, 0, 511}}); }}
             PTO_STORE_SCALAR(y, s, {{d.b, 0}}); }}
         void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
    )
}

/// Those of document 002, section 8.2.
const FOUR: &str = "PTO_TIER(len <= 1, k2, 2048) PTO_TIER(len <= 2, k8, 8192)
                    PTO_TIER(len <= 3, k64, 65536) PTO_DEFAULT(k128, 131072)";
const PLAIN: &str = "struct M { uint32_t b, chunks, ws; };";
const WITH_TIER: &str = "struct M { uint32_t tier, b, chunks, ws; };";

#[test]
fn a_merge_finds_the_slots_of_tiers_of_any_size() {
    let same = |bytes| format!("PTO_TIER(len <= 2, k2, {bytes}) PTO_DEFAULT(k8, {bytes})");
    let lens = [4, 1, 3, 2, 1, 4];
    let four = [10_000.0, 1.0, 600.0, 30.0, 1.0, 10_000.0];
    let two = [100.0, 1.0, 60.0, 3.0, 1.0, 100.0];
    for (tiers, merge, apart, want) in [
        (FOUR.to_owned(), WITH_TIER, "PTO_SLOT_BYTES", &four),
        (FOUR.to_owned(), WITH_TIER, "PTO_TIER_SLOT_BYTES(T, d.tier)", &four),
        (same("PTO_SLOT_BYTES"), PLAIN, "PTO_SLOT_BYTES", &two),
        (same("PTO_SLOT_BYTES * 2"), PLAIN, "PTO_SLOT_BYTES", &two),
        (same("2112"), PLAIN, "PTO_SLOT_BYTES", &two),
        ("PTO_TIER(len <= 2, k2, 2048) PTO_DEFAULT(k8, 2112)".to_owned(), WITH_TIER, "PTO_SLOT_BYTES", &two),
    ] {
        let text = merging(&tiers, merge, apart);
        let found = run(&text, &lens);
        assert_eq!(found.as_deref(), Ok(&want[..]), "{tiers}, {merge}, {apart}");
        let bytes = |text: &str| {
            program(text)
                .workspace_query(&self::lens(&lens), &LaunchOptions::default())
                .unwrap()
                .workspace_bytes
        };
        if tiers == FOUR {
            assert_eq!(bytes(&text), 2 * 2048 + 2 * 8192 + 3 * 65536 + 8 * 131_072);
        }
    }
}

#[test]
fn a_merge_that_cannot_know_where_slots_lie_is_refused() {
    let code = |text: &str| run(text, &[1, 2]).unwrap_err()[0].code.0;
    assert_eq!(code(&merging(FOUR, PLAIN, "PTO_SLOT_BYTES")), 175);
    // Less than the fields of a slot, and no whole lines.
    for (bytes, why) in [("64", "but the fields of a slot take"), ("1048577", "which is no multiple of 64")] {
        let tiers = format!("PTO_TIER(len <= 2, k2, {bytes}) PTO_DEFAULT(k8, {bytes})");
        let fault = run(&merging(&tiers, PLAIN, "PTO_SLOT_BYTES"), &[1, 2]).unwrap_err().remove(0);
        assert!(fault.code.0 == 570 && fault.message.contains(why), "{fault:?}");
    }
}

#[test]
fn rows_of_a_tile_follow_slots_that_lie_equally_far_apart_only() {
    let tile = "PTO_KERNEL_IMPL(merge) { auto d = PTO_GET_DESCRIPTOR<M>();
        VecTile<float, 8, 1> parts; VecTile<float, 1, 1> sum;
        TLOAD(parts, p, {PTO_ROWS(d.ws), 0, 511}, d.chunks); TCOLSUM(sum, parts);
        TSTORE(y, sum, {d.b, 0}); }";
    let text = |tiers: &str| {
        let whole = merging(tiers, WITH_TIER, "PTO_SLOT_BYTES");
        let (at, end) = (whole.find("PTO_KERNEL_IMPL(merge)").unwrap(), whole.find("void go").unwrap());
        format!("{}{tile}{}", &whole[..at], &whole[end..])
    };
    for bytes in ["2048", "4096", "2112"] {
        let tiers = format!("PTO_TIER(len <= 2, k2, {bytes}) PTO_DEFAULT(k8, {bytes})");
        assert_eq!(run(&text(&tiers), &[3, 1, 2, 4]), Ok(vec![60.0, 1.0, 3.0, 100.0]), "{bytes}");
    }
    let found = run(&text(FOUR), &[3, 1]).unwrap_err();
    assert!(found[0].message.contains("tile rows cannot follow the slots of `p`"), "{found:?}");
}

#[test]
fn a_tier_of_two_sets_is_of_no_set() {
    let text = choosing(&["len > 3"], "tier").replace(
        "uint32_t own = lens[i];",
        "uint32_t tier = PTO_SELECT_TIER(T, lens[i]); if (i > 1) { tier = PTO_SELECT_TIER(U, i); }
         uint32_t ws = PTO_ALLOC_WS(tier, i);",
    );
    let text = format!("{text} PTO_TIER_DEF(U) {{ PTO_DEFAULT(k0) }}");
    assert_eq!(compile(&text).unwrap_err()[0].code.0, 174);
}

#[test]
fn more_lengths_than_the_first_axis_has_indices_are_an_error() {
    let text = |axis: &str, after: &str| {
        format!(
            "PTO_SHAPE(lens, n)
             PTO_SHAPE(y, 99, 1)
             PTO_SPACE(S) {{ {axis} PTO_AXIS(c, 0, PTO_DYNAMIC) }}
             struct D {{ uint32_t b, c; }};
             PTO_DESCRIPTOR_GEN(S) {{ PTO_SET_EXTENT(c, lens); {after} PTO_SCHEDULED_FOR(b, c) {{ PTO_EMIT_DESCRIPTOR(D{{ .b = b, .c = c }}); }} }}
             PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>(); PTO_STORE_SCALAR(y, 1.0f, {{d.b * 10 + d.c, 0}}); }}
             void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
        )
    };
    for (axis, after, enough) in [
        ("PTO_AXIS(b, 0, 3)", "", 3),
        ("PTO_AXIS(b, 1, 4)", "", 4),
        ("PTO_AXIS(b, 0, 9) PTO_TILE(b, 4)", "", 3),
        // The tile that is chosen holds all of the axis.
        ("PTO_AXIS(b, 0, 9) PTO_TILE(b, PTO_AUTO)", "", 1),
        ("PTO_AXIS(b, 0, 9) PTO_TILE(b, PTO_AUTO)", "PTO_SET_TILE(b, 4);", 3),
        ("PTO_AXIS(b, 0, PTO_DYNAMIC)", "PTO_SET_EXTENT(b, 3);", 3),
        ("PTO_AXIS(b, 0, n)", "", 5),
    ] {
        let text = text(axis, after);
        assert!(run(&text, &[2; 5][..enough]).is_ok(), "{axis} {after}");
        if enough < 5 {
            let found = run(&text, &[2; 5]).unwrap_err();
            assert_eq!(found[0].code.0, 581, "{axis} {after}: {found:?}");
        }
    }
}

/// How many slots two calls have, in loops of their own that go the same ways, and one in a loop over the space.
fn slots_of_three(first: &str, second: &str, third: &str) -> usize {
    let each = |at: u32, key: &str| {
        format!(
            "for (uint32_t i = 0; i < n; ++i) {{ for (uint32_t c = 0; c < 4; ++c) {{
                 PTO_EMIT_DESCRIPTOR(D{{ .i = i, .c = {at} + c, .ws = PTO_ALLOC_WS(0, {key}) }});
             }} }}"
        )
    };
    let text = format!(
        "PTO_SHAPE(lens, n)
         PTO_SHAPE(y, n, 12)
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
         PTO_WORKSPACE(p, float, 1, 1)
         struct D {{ uint32_t i, c, ws; }};
         PTO_TIER_DEF(T) {{ PTO_DEFAULT(k, PTO_SLOT_BYTES) }}
         PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>(); PTO_STORE_SCALAR(y, float(d.ws), {{d.i, d.c}}); }}
         PTO_DESCRIPTOR_GEN(S) {{
             {} {}
             PTO_SCHEDULED_FOR(i) {{ for (uint32_t c = 0; c < 4; ++c) {{
                 PTO_EMIT_DESCRIPTOR(D{{ .i = i, .c = 8 + c, .ws = PTO_ALLOC_WS(0, {third}) }});
             }} }}
         }}
         void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}",
        each(0, first),
        each(4, second)
    );
    let mut slots = run(&text, &[1, 1]).unwrap();
    slots.sort_by(f32::total_cmp);
    slots.dedup();
    slots.len()
}

#[test]
fn an_index_that_is_added_to_a_key_is_that_of_its_loop_alone() {
    // What the calls give is the same.
    assert_eq!(slots_of_three("i, c", "i, c", "i, c"), 8);
    assert_eq!(slots_of_three("i", "i, c", "i, c"), 16);
    assert_eq!(slots_of_three("i", "i", "i"), 24);
    // Of the second `i` is added, of the others `c`.
    assert_eq!(slots_of_three("i", "c", "i / 2"), 20);
    assert_eq!(slots_of_three("i", "i, c", "c"), 24);
}

#[test]
fn a_loop_variable_that_a_key_mentions_is_in_it_as_the_key_says_only() {
    let text = |key: &str| {
        format!(
            "PTO_SHAPE(lens, n)
             PTO_SHAPE(y, n, 4)
             PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
             PTO_WORKSPACE(p, float, 1, 1)
             struct D {{ uint32_t i, c, ws; }};
             PTO_TIER_DEF(T) {{ PTO_DEFAULT(k, PTO_SLOT_BYTES) }}
             PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>();
                 PTO_STORE_SCALAR(y, float(d.ws), {{d.i, d.c}}); }}
             PTO_DESCRIPTOR_GEN(S) {{
                 for (uint32_t i = 0; i < n; ++i) {{ for (uint32_t c = 0; c < 4; ++c) {{
                     PTO_EMIT_DESCRIPTOR(D{{ .i = i, .c = c, .ws = PTO_ALLOC_WS(0, {key}) }});
                 }} }}
             }}
             void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
        )
    };
    let slots = |key: &str| {
        let mut slots = run(&text(key), &[1, 1]).unwrap();
        slots.sort_by(f32::total_cmp);
        slots.dedup();
        slots.len()
    };
    assert_eq!(slots("i"), 8);
    assert_eq!(slots("i, c"), 8);
    assert_eq!(slots("i, 1 ? 0 : c"), 2);
    assert_eq!(slots("i, 5u || c"), 2);
    assert_eq!(slots("i, c * 0"), 2);
    assert_eq!(slots("i, c / 2"), 4);
}

#[test]
fn indices_below_zero_and_past_32_bits_tell_rounds_apart() {
    for around in [
        "for (int32_t q = -2; q < 2; ++q)",
        "for (int32_t q = 1; q >= -2; --q)",
        "for (int64_t q = -2; q < 2; ++q)",
        "for (int64_t q = -4294967297; q <= 4294967296; q += 2147483648)",
        "for (uint64_t q = 4294967294; q < 4294967298; ++q)",
    ] {
        let text = format!(
            "PTO_SHAPE(lens, n)
             PTO_SHAPE(y, n, 8)
             PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
             PTO_WORKSPACE(p, float, 1, 1)
             struct D {{ uint32_t i, c, ws; }};
             PTO_TIER_DEF(T) {{ PTO_DEFAULT(k, PTO_SLOT_BYTES) }}
             PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>();
                 PTO_STORE_SCALAR(y, float(d.ws), {{d.i, d.c}}); }}
             PTO_DESCRIPTOR_GEN(S) {{
                 PTO_FOR_EACH(i, 0, n) {{
                     uint32_t c = 0;
                     {around} {{
                         PTO_EMIT_DESCRIPTOR(D{{ .i = i, .c = c, .ws = PTO_ALLOC_WS(0, i) + 1 }});
                         c += 1;
                     }}
                     while (c < 8) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i, .c = c, .ws = 1 }}); c += 1; }}
                 }}
             }}
             void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
        );
        let mut slots = run(&text, &[1, 1]).unwrap();
        slots.sort_by(f32::total_cmp);
        slots.dedup();
        let rounds = if around.contains("2147483648") { 5 } else { 4 };
        assert_eq!(slots.len(), 2 * rounds, "{around}");
    }
}

/// All tiers, also those that no task picks.
#[test]
fn every_tier_is_compiled_before_the_first_launch() {
    let text = choosing(&["len <= 8", "len <= 16"], "PTO_SELECT_TIER(T, own)");
    let (module, found) = wsp_lang::compile("tiers.pto", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{}", render_all(&found, &SourceMap::default(), false)));
    let plan = lower(&module, &CompileOptions::default()).unwrap();
    let code = CodeCache::default();
    let backend =
        CpuSimBackend { engine: Engine::Native, code: Some(code.clone()), ..CpuSimBackend::default() };
    let program = backend.compile(&plan.into()).unwrap();
    let args = Args { arrays: lens(&[4, 12]), ..Args::default() };
    let mut prepared = program.prepare(args, RunOptions { threads: 1, ..RunOptions::default() }).unwrap();
    let before = code.statistics();
    prepared.run().unwrap();
    assert_eq!((before.compiled > 0, before), (true, code.statistics()));
}
