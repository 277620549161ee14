//! One array under several names, pages that requests share, tiles: programs whose result must not depend on timing.

use pto_wsp::catalog::lookup;
use wsp_cli::engine::{Loaded, Options, RunOutcome, compile, execute};
use wsp_core::DType;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_plan::{Array, Arrays};

fn try_run(text: &str, arrays: &[(&str, Array)]) -> Result<RunOutcome, Vec<Diagnostic>> {
    let module = compile(&mut SourceMap::default(), "test.pto", text)?.module;
    let arrays: Arrays = arrays.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
    execute(&Loaded { module, arrays }, &Options { threads: 4, ..Options::default() })
}

fn run(text: &str, arrays: &[(&str, Array)]) -> RunOutcome {
    try_run(text, arrays).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn refused(text: &str, arrays: &[(&str, Array)]) -> Diagnostic {
    let first = try_run(text, arrays).unwrap_err().remove(0);
    assert!(lookup(first.code).is_some(), "{} is not explained", first.code);
    first
}

fn f32s(shape: &[u64], value: f32) -> Array {
    let mut array = Array::zeros(DType::F32, shape).unwrap();
    array.as_slice_mut::<f32>().unwrap().fill(value);
    array
}

fn u32s(values: &[u32]) -> Array {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

/// The first element of every row of an output with 8 columns.
fn column(outcome: &RunOutcome, name: &str) -> Vec<f32> {
    outcome.outputs[name].as_slice::<f32>().unwrap().iter().step_by(8).copied().collect()
}

/// Row by row, `y[r] = x[r - 1] + y[r]`.
const RUNNING_SUM: &str = "
    PTO_SPACE(S) { PTO_AXIS(row, 0, rows) }
    struct D { uint32_t r; };
    PTO_DESCRIPTOR_GEN(S) { PTO_FOR_EACH(r, 1, rows) { PTO_EMIT_DESCRIPTOR(D{ .r = r }); } }
    PTO_KERNEL_IMPL(k) {
        auto d = PTO_GET_DESCRIPTOR<D>();
        VecTile<float, 1, 8> a;
        VecTile<float, 1, 8> b;
        TLOAD(a, x, {d.r - 1});
        TLOAD(b, y, {d.r});
        TADD(a, a, b);
        TSTORE(y, a, {d.r});
    }";

#[test]
fn two_tensors_of_one_argument_are_one_memory() {
    let text = format!(
        "PTO_SHAPE(x, rows, 8) PTO_SHAPE(y, rows, 8) {RUNNING_SUM}
         void f(Tensor<float> a) {{ PTO_LAUNCH(S, {{ .x = a, .y = a }}); }}"
    );
    let outcome = run(&text, &[("a", f32s(&[6, 8], 1.0))]);
    assert_eq!(column(&outcome, "a"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn what_a_kernel_loaded_stays_when_it_stores_under_another_name() {
    let text = "
        PTO_SHAPE(x, 1, 8) PTO_SHAPE(y, 1, 8) PTO_SHAPE(z, 1, 8)
        PTO_SPACE(S) { PTO_AXIS(row, 0, 1) }
        struct D { uint32_t r; };
        PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR(D{ .r = 0 }); }
        PTO_KERNEL_IMPL(k) {
            auto d = PTO_GET_DESCRIPTOR<D>();
            VecTile<float, 1, 8> before;
            VecTile<float, 1, 8> t;
            TLOAD(before, x, {d.r});
            TASSIGN(t, 7.0f);
            TSTORE(y, t, {d.r});
            TSTORE(z, before, {d.r});
        }
        void f(Tensor<float> a, Tensor<float> z) { PTO_LAUNCH(S, { .x = a, .y = a, .z = z }); }";
    let outcome = run(text, &[("a", f32s(&[1, 8], 1.0))]);
    assert_eq!(column(&outcome, "z"), [1.0]);
    assert_eq!(column(&outcome, "a"), [7.0]);
}

#[test]
fn stages_joined_by_one_argument_see_each_other() {
    let stage = |name: &str, kernel: &str| {
        format!(
            "PTO_SPACE({name}) {{ PTO_AXIS(row_{name}, 0, 40) }}
             struct D{name} {{ uint32_t r; }};
             PTO_DESCRIPTOR_GEN({name}) {{ PTO_FOR_EACH(r, 0, 40) {{ PTO_EMIT_DESCRIPTOR(D{name}{{ .r = r }}); }} }}
             PTO_KERNEL_IMPL(k{name}) {{ auto d = PTO_GET_DESCRIPTOR<D{name}>(); VecTile<float, 1, 8> t; {kernel} }}"
        )
    };
    let text = format!(
        "PTO_SHAPE(h, 40, 8) PTO_SHAPE(x, 40, 8) PTO_SHAPE(y, 40, 8) {} {}
         PTO_GRAPH(G) {{ PTO_STAGE(a, A) PTO_STAGE(b, B) PTO_DEPENDENCY(b.x, a.h) }}
         void f(Tensor<float> h, Tensor<float> y) {{ PTO_LAUNCH(G, {{ .h = h, .x = h, .y = y }}); }}",
        stage("A", "TASSIGN(t, float(d.r)); TSTORE(h, t, {d.r});"),
        stage("B", "TLOAD(t, x, {d.r}); TADDS(t, t, 1.0f); TSTORE(y, t, {d.r});"),
    );
    let outcome = run(&text, &[]);
    let expected: Vec<f32> = (1..=40u8).map(f32::from).collect();
    assert_eq!(column(&outcome, "y"), expected);
}

#[test]
fn tensors_of_one_argument_need_one_shape() {
    let entry = "void f(Tensor<float> a) { PTO_LAUNCH(S, { .x = a, .y = a }); }";
    let text = format!(
        "PTO_PARAM(uint32_t, rows, 4) PTO_SHAPE(x, rows, 8) PTO_SHAPE(y, rows, 9) {RUNNING_SUM} {entry}"
    );
    assert_eq!(refused(&text, &[]).code.0, 552);
    let text = format!(
        "PTO_PARAM(uint32_t, rows, 4) PTO_SHAPE(x, rows, 1, 8) PTO_SHAPE(y, rows, 8) {RUNNING_SUM} {entry}"
    );
    assert_eq!(refused(&text, &[]).code.0, 418);
}

/// Every request adds 1 to its first page, many times.
const COUNT: &str = "
    PTO_SHAPE(c, batch, PTO_DYNAMIC, 1, 8)
    PTO_SPACE(S) { PTO_AXIS(b, 0, batch) }
    struct D { uint32_t b; };
    PTO_DESCRIPTOR_GEN(S) { PTO_FOR_EACH(b, 0, batch) { PTO_EMIT_DESCRIPTOR(D{ .b = b }); } }
    PTO_KERNEL_IMPL(k) {
        auto d = PTO_GET_DESCRIPTOR<D>();
        VecTile<float, 4, 8> t;
        PTO_FOR_EACH(i, 0, 500) {
            TLOAD(t, c.k, {d.b, 0, 0});
            TADDS(t, t, 1.0f);
            TSTORE(c.k, t, {d.b, 0, 0});
        }
    }
    void f(PagedKVCache kv) { PTO_LAUNCH(S, { .c = kv }); }";

fn cache(pages: &[u32]) -> Vec<(&'static str, Array)> {
    let count = u64::from(pages.iter().max().unwrap() + 1);
    vec![
        ("kv.k", f32s(&[count, 4, 1, 8], 0.0)),
        ("kv.v", f32s(&[count, 4, 1, 8], 0.0)),
        ("kv.indptr", u32s(&(0..=pages.len() as u32).collect::<Vec<_>>())),
        ("kv.indices", u32s(pages)),
        ("kv.last_page_len", u32s(&vec![4; pages.len()])),
    ]
}

#[test]
fn requests_that_share_a_page_wait_for_each_other_when_it_is_written() {
    let outcome = run(COUNT, &cache(&[0, 0, 0, 0]));
    assert_eq!(column(&outcome, "kv.k"), [2000.0; 4]);
}

#[test]
fn requests_with_pages_of_their_own_do_not_wait() {
    let outcome = run(COUNT, &cache(&[1, 0, 2]));
    assert_eq!(column(&outcome, "kv.k"), [500.0; 12]);
    assert_eq!(outcome.stats.graph.raw + outcome.stats.graph.waw + outcome.stats.graph.war, 0);
}

/// A generator over 6 rows, and a kernel that asks for the tile of their axis.
fn tiled(axis: &str, generator: &str) -> String {
    format!(
        "PTO_SHAPE(y, 6, 8)
         PTO_SHAPE(n, 6)
         PTO_SPACE(S) {{ {axis} }}
         struct D {{ uint32_t q; uint32_t c; }};
         PTO_DESCRIPTOR_GEN(S) {{ {generator} }}
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 1, 8> t;
             TLOAD(t, y, {{d.q, d.c * PTO_GET_TILE(c)}}, 1, PTO_GET_TILE(c));
             TADDS(t, t, float(PTO_VALID_COLS(t)));
             TSTORE(y, t, {{d.q, d.c * PTO_GET_TILE(c)}});
         }}
         void f(Tensor<float> y, uint32_t* n) {{ PTO_LAUNCH(S, {{ .y = y, .n = n }}); }}"
    )
}

#[test]
fn a_tile_that_changes_between_tasks_is_refused_to_kernels() {
    let axis = "PTO_AXIS(c, 0, 6) PTO_TILE(c, PTO_AUTO)";
    let inputs = [("y", f32s(&[6, 8], 0.0)), ("n", u32s(&[0; 6]))];
    let emit = "PTO_EMIT_DESCRIPTOR(D{ .q = r, .c = 0 });";
    let text = tiled(axis, &format!("PTO_FOR_EACH(r, 0, 6) {{ PTO_SET_TILE(c, r + 1); {emit} }}"));
    assert_eq!(refused(&text, &inputs).code.0, 576);
    let text = tiled(axis, &format!("PTO_FOR_EACH(r, 0, 6) {{ PTO_SET_TILE(c, 3); {emit} }}"));
    assert_eq!(column(&run(&text, &inputs), "y"), [3.0; 6]);
}

#[test]
fn extents_padding_and_conditions_leave_exactly_the_items_that_exist() {
    // Chunks of 3 columns of which 8 exist, as many as `n` says and at most `q + 1`.
    let text = tiled(
        "PTO_AXIS(q, 0, 6) PTO_AXIS(c, 0, PTO_DYNAMIC) PTO_TILE(c, 3, PTO_PAD_LAST) PTO_WHERE(c <= q)",
        "PTO_SET_EXTENT(c, n); PTO_SCHEDULED_FOR(q, c) { PTO_EMIT_DESCRIPTOR(D{ .q = q, .c = c }); }",
    );
    let outcome = run(&text, &[("y", f32s(&[6, 8], 0.0)), ("n", u32s(&[8, 8, 8, 0, 1, 4]))]);
    let values = outcome.outputs["y"].as_slice::<f32>().unwrap();
    let sums: Vec<f32> = values.chunks(8).map(|row| row.iter().sum()).collect();
    assert_eq!(sums, [9.0, 18.0, 22.0, 0.0, 9.0, 18.0]);
}

#[test]
fn automatic_tiles_take_axes_of_any_extent() {
    let huge = "PTO_AXIS(a1, 0, 4000000000u) PTO_AXIS(a2, 0, 4000000000u) PTO_AXIS(a3, 0, 4000000000u)";
    let text = tiled(
        &format!("PTO_AXIS(c, 0, 300) PTO_TILE(c, PTO_AUTO) {huge}"),
        "uint32_t size = PTO_GET_TILE(c); PTO_EMIT_DESCRIPTOR(D{ .q = size / 300, .c = 0 });",
    );
    // So many blocks fit no machine: the chunk is as long as the axis.
    let outcome = run(&text, &[("y", f32s(&[6, 8], 0.0)), ("n", u32s(&[0; 6]))]);
    assert_eq!(column(&outcome, "y"), [0.0, 8.0, 0.0, 0.0, 0.0, 0.0]);
}
