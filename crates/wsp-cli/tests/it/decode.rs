//! Decode attention against the reference cases: every case, both layouts, several threads and schedules.

use crate::command::root;
use crate::decode_cases::{Case, MergeCase};
use wsp_check::generate::Names;
use wsp_check::reference::{Attention, Cache};
use wsp_cli::KvLayout;
use wsp_cli::engine::{Loaded, Options, RunOutcome, compile, execute};
use wsp_core::DType;
use wsp_diag::SourceMap;
use wsp_ir::Module;
use wsp_kernel::Mode;
use wsp_plan::{Array, Arrays, ParamValue};

const CASES: [&str; 8] = [
    "01_mha_basic",
    "02_gqa4_d128_page1",
    "05_kvlen0",
    "06_page_edges",
    "08_skew",
    "22_split_partials_128",
    "27_tier_edges",
    "28_batch64_ragged",
];

/// Inputs are f16 or bf16, sums f32 over at most 8193 tokens: the results are good to about 1e-6, so that a lost bit of a
/// narrower accumulator (3e-4) shows.
const TOLERANCE: f64 = 1e-5;

/// Schedules that order and place tasks very differently.
const SCHEDULES: &str = "
PTO_SCHEDULE(Plain) {}
PTO_SCHEDULE(Strict) { PTO_ORDER(kv_chunk, PTO_SEQUENTIAL_STRICT) PTO_AFFINITY(head, PTO_SPREAD) }
PTO_SCHEDULE(Free) {
    PTO_ORDER(head, PTO_PARALLEL) PTO_ORDER(batch, PTO_PARALLEL) PTO_ORDER(kv_chunk, PTO_PARALLEL)
    PTO_AFFINITY(batch, PTO_CORE_LOCAL) PTO_PREFETCH(head, 2)
}
PTO_SCHEDULE(Blocked) { PTO_ORDER(batch, PTO_BLOCKED(2)) PTO_PREFETCH(kv_chunk, 1) }
";

fn case(name: &str) -> Case {
    let path = root().join("testdata/decode_cases").join(format!("{name}.npz"));
    Case::load(&path).unwrap_or_else(|fault| panic!("{name}: {fault:?}"))
}

fn module(path: &str, more: &str) -> Module {
    let text = std::fs::read_to_string(root().join(path)).unwrap() + more;
    let mut sources = SourceMap::default();
    let compiled = compile(&mut sources, path, &text).unwrap_or_else(|faults| panic!("{path}: {faults:?}"));
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    compiled.module
}

fn names() -> Names {
    Names { q: "q".to_owned(), kv: "kv".to_owned(), lens: Some("kv_lens".to_owned()), ..Names::default() }
}

fn load(module: &Module, case: &Case, layout: KvLayout) -> Loaded {
    let mut arrays = case.arrays(layout, &names()).unwrap();
    if module.tensor_named("kv_lens").is_none() {
        arrays.remove("kv_lens");
    }
    Loaded { module: module.clone(), arrays }
}

fn options(case: &Case, layout: KvLayout, threads: u32, chunk: u32) -> Options {
    let set = vec![
        ("sm_scale".to_owned(), ParamValue::Float(case.sm_scale)),
        ("chunk".to_owned(), ParamValue::Int(i128::from(chunk))),
    ];
    Options { threads, layout, set, ..Options::default() }
}

fn run(loaded: &Loaded, options: &Options) -> RunOutcome {
    let outcome = execute(loaded, options).unwrap_or_else(|faults| panic!("{options:?}: {faults:?}"));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    outcome
}

fn f32s(array: &Array) -> &[f32] {
    array.as_slice::<f32>().unwrap()
}

/// `have` against `want`, relative to the larger of 1 and the reference; infinities must be equal.
fn assert_close(what: &str, have: &[f32], want: &[f64]) {
    assert_eq!(have.len(), want.len(), "{what}");
    for (i, (&have, &want)) in have.iter().zip(want).enumerate() {
        let close =
            f64::from(have) == want || (f64::from(have) - want).abs() <= TOLERANCE * want.abs().max(1.0);
        assert!(close, "{what}[{i}]: have {have}, want {want}");
    }
}

#[test]
fn every_case_matches_in_both_layouts_on_one_and_two_threads_cut_or_not() {
    let program = module("examples/decode_attention.pto", "");
    for name in CASES {
        let case = case(name);
        for layout in [KvLayout::Nhd, KvLayout::Hnd] {
            let loaded = load(&program, &case, layout);
            for chunk in [0, 96] {
                for threads in [1, 2] {
                    let what = format!("{name} {layout} chunk {chunk} threads {threads}");
                    let outcome = run(&loaded, &options(&case, layout, threads, chunk));
                    assert_close(&what, f32s(&outcome.outputs["output"]), &case.o);
                    assert_close(&what, f32s(&outcome.outputs["lse"]), &case.lse);
                }
            }
        }
    }
}

#[test]
fn bf16_data_match_the_dense_reference_as_f16_data_do() {
    let program = module("examples/decode_attention.pto", "");
    let case = case("08_skew");
    let mut problem = case.problem.clone();
    problem.dtype = DType::Bf16;
    problem.kv_dtype = DType::Bf16;
    let arrays = problem.arrays(&names()).unwrap();
    let loaded = Loaded { module: program, arrays };
    let table = |field: &str| wsp_check::to_u32(field, &loaded.arrays[&format!("kv.{field}")]).unwrap();
    let (indptr, indices, last_page_len) = (table("indptr"), table("indices"), table("last_page_len"));
    let cache = Cache {
        k: &loaded.arrays["kv.k"],
        v: Some(&loaded.arrays["kv.v"]),
        indptr: &indptr,
        indices: &indices,
        last_page_len: &last_page_len,
        layout: KvLayout::Nhd,
    };
    let dense = Attention::plain(&loaded.arrays["q"], cache, Some(case.sm_scale)).dense(2).unwrap();
    let outcome = run(&loaded, &options(&case, KvLayout::Nhd, 2, 128));
    assert_close("bf16", f32s(&outcome.outputs["output"]), &dense.o);
    assert_close("bf16", f32s(&outcome.outputs["lse"]), &dense.lse);
}

#[test]
fn results_are_bit_identical_across_threads_schedules_and_layouts() {
    let program = module("examples/decode_attention.pto", SCHEDULES);
    for name in ["08_skew", "28_batch64_ragged"] {
        let case = case(name);
        let oracle =
            run(&load(&program, &case, KvLayout::Nhd), &options(&case, KvLayout::Nhd, 1, 80)).outputs;
        for layout in [KvLayout::Nhd, KvLayout::Hnd] {
            let loaded = load(&program, &case, layout);
            for schedule in [None, Some("Plain"), Some("Strict"), Some("Free"), Some("Blocked")] {
                for threads in [1, 2, 5] {
                    let mut options = options(&case, layout, threads, 80);
                    options.schedule = schedule.map(str::to_owned);
                    let outputs = run(&loaded, &options).outputs;
                    for array in ["output", "lse"] {
                        let same = oracle[array].bytes() == outputs[array].bytes();
                        assert!(same, "{name} {array} {layout} {schedule:?} threads {threads}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_plain_tile_operations_give_what_the_fast_ones_give() {
    let program = module("examples/decode_attention.pto", "");
    let case = case("27_tier_edges");
    let loaded = load(&program, &case, KvLayout::Nhd);
    let options = Options { mode: Mode::Plain, ..options(&case, KvLayout::Nhd, 2, 0) };
    let outcome = run(&loaded, &options);
    assert_close("plain", f32s(&outcome.outputs["output"]), &case.o);
    assert_close("plain", f32s(&outcome.outputs["lse"]), &case.lse);
}

#[test]
fn a_graph_of_two_stages_gives_what_one_space_gives() {
    let program = module("examples/decode_graph.pto", "");
    for name in CASES {
        let case = case(name);
        for layout in [KvLayout::Nhd, KvLayout::Hnd] {
            let loaded = load(&program, &case, layout);
            let outcome = run(&loaded, &options(&case, layout, 2, 160));
            assert_close(name, f32s(&outcome.outputs["output"]), &case.o);
            assert_close(name, f32s(&outcome.outputs["lse"]), &case.lse);
        }
    }
}

#[test]
fn partial_results_of_every_chunk_match() {
    let program = module("testdata/programs/split_partials.pto", "");
    let case = case("22_split_partials_128");
    let partials = case.partials.as_ref().unwrap();
    let loaded = load(&program, &case, KvLayout::Nhd);
    let outcome = run(&loaded, &options(&case, KvLayout::Nhd, 2, partials.chunk));
    let (o, lse) = (&outcome.outputs["partial_o"], &outcome.outputs["partial_lse"]);
    let per_request = |array: &Array| array.len() / case.lse.len() * case.problem.q_heads as usize;
    for request in 0..partials.o.len() {
        let first = |array: &Array| request * per_request(array);
        let what = format!("request {request}");
        assert_close(&what, &f32s(o)[first(o)..][..partials.o[request].len()], &partials.o[request]);
        assert_close(&what, &f32s(lse)[first(lse)..][..partials.lse[request].len()], &partials.lse[request]);
    }
}

#[test]
fn merging_states_matches_for_empty_huge_and_equal_ones() {
    let case = MergeCase::load(&root().join("testdata/decode_cases/40_merge_states.npz")).unwrap();
    let array = |shape: &[u64], values: Vec<f32>| {
        let mut array = Array::zeros(DType::F32, shape).unwrap();
        array.as_slice_mut::<f32>().unwrap().copy_from_slice(&values);
        array
    };
    let (rows, states, dim) = (case.rows as u64, case.states as u64, case.dim as u64);
    let mut arrays = Arrays::new();
    arrays.insert("v".to_owned(), array(&[rows, states, dim], case.v.clone()));
    arrays.insert("s".to_owned(), array(&[rows, states], case.s.iter().map(|&s| s as f32).collect()));
    let loaded = Loaded { module: module("testdata/programs/merge_states.pto", ""), arrays };
    for threads in [1, 2] {
        let outcome = run(&loaded, &Options { threads, ..Options::default() });
        assert_close("v", f32s(&outcome.outputs["v_merged"]), &case.v_merged);
        assert_close("s", f32s(&outcome.outputs["s_merged"]), &case.s_merged);
    }
}

#[test]
fn an_empty_batch_runs_and_gives_empty_outputs() {
    let program = module("examples/decode_attention.pto", "");
    let mut arrays = Arrays::new();
    let mut put = |name: &str, dtype, shape: &[u64]| {
        arrays.insert(name.to_owned(), Array::zeros(dtype, shape).unwrap())
    };
    put("q", DType::F16, &[0, 8, 1, 64]);
    put("kv.k", DType::F16, &[0, 16, 2, 64]);
    put("kv.v", DType::F16, &[0, 16, 2, 64]);
    put("kv.indptr", DType::I32, &[1]);
    put("kv.indices", DType::I32, &[0]);
    put("kv.last_page_len", DType::I32, &[0]);
    put("kv_lens", DType::U32, &[0]);
    let outcome = run(&Loaded { module: program, arrays }, &Options::default());
    assert_eq!(outcome.outputs["output"].shape(), [0, 8, 1, 64]);
    assert_eq!(outcome.stats.chunks(), 0);
}
