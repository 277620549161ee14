//! The examples with real kernels against their f64 references: a LLaMA layer, a mixture of experts, ragged prefill, the top-k
//! indexer; their corner cases; and that broken kernels do not pass.

mod mutations;

use std::path::PathBuf;
use wsp_check::generate::{Origin, Pairs, generate_tensors};
use wsp_check::reference::{Comparison, Context, check, verify};
use wsp_cli::KvLayout;
use wsp_cli::engine::{Loaded, Options, RunOutcome, compile, execute, inputs};
use wsp_core::DType;
use wsp_diag::SourceMap;
use wsp_ir::Module;
use wsp_ordered::OrderedMap;
use wsp_plan::{Array, ParamValue};

const LLAMA: &str = "llama_layer/layer.pto";
const MOE: &str = "moe/moe.pto";
const PREFILL: &str = "ragged_prefill/prefill.pto";
const INDEXER: &str = "topk_indexer/indexer.pto";

/// A layer of odd sizes: every block has an edge, queries are grouped.
const SMALL_LAYER: [(&str, i128); 6] =
    [("seq", 150), ("hidden", 72), ("heads", 4), ("kv_heads", 2), ("head_dim", 18), ("ffn", 133)];
const SMALL_MOE: [(&str, i128); 4] = [("tokens", 90), ("hidden", 72), ("ffn", 140), ("experts", 5)];

fn read(example: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example))
        .unwrap()
}

fn module(text: &str) -> Module {
    let mut sources = SourceMap::default();
    compile(&mut sources, "example.pto", text).unwrap_or_else(|faults| panic!("{faults:?}")).module
}

fn settings(set: &[(&str, i128)]) -> Vec<(String, ParamValue)> {
    set.iter().map(|(name, n)| ((*name).to_owned(), ParamValue::Int(*n))).collect()
}

/// A program with made-up data.
fn load(text: &str, pairs: &str, set: &[(&str, i128)], seed: u64) -> Loaded {
    let module = module(text);
    let wanted = inputs(&module).unwrap();
    let pairs: Pairs = pairs.parse().unwrap();
    let is_input = |id| wanted.contains(&id);
    let arrays =
        generate_tensors(&module, &pairs, &settings(set), &OrderedMap::new(), Origin::of(seed), &is_input)
            .unwrap();
    Loaded { module, arrays }
}

fn run(loaded: &Loaded, set: &[(&str, i128)], threads: u32) -> RunOutcome {
    let options = Options { threads, set: settings(set), ..Options::default() };
    execute(loaded, &options).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn compare(loaded: &Loaded, outcome: &RunOutcome) -> Vec<Comparison> {
    let params = |name: &str| {
        outcome.params.iter().find(|(n, _)| n == name).map(|(_, value)| match *value {
            ParamValue::Int(n) => n as f64,
            ParamValue::Float(x) => x,
            ParamValue::Bool(b) => f64::from(u8::from(b)),
        })
    };
    let (inputs, outputs) = (&loaded.arrays, &outcome.outputs);
    let cx = Context { inputs, outputs, params: &params, layout: KvLayout::Nhd, threads: 2, operands: None };
    let reference = &loaded.module.references[0];
    verify(reference).unwrap();
    check(reference, &cx).unwrap_or_else(|faults| panic!("{faults:?}"))
}

#[track_caller]
fn assert_right(loaded: &Loaded, set: &[(&str, i128)]) -> RunOutcome {
    let outcome = run(loaded, set, 2);
    for compared in compare(loaded, &outcome) {
        assert!(compared.passed(), "{compared:?}");
    }
    outcome
}

/// Asserts that a change to the program's text is noticed.
#[track_caller]
fn assert_noticed(example: &str, pairs: &str, set: &[(&str, i128)], from: &str, to: &str) {
    let text = read(example);
    let wrong = text.replace(from, to);
    assert_ne!(text, wrong, "`{from}` is not there");
    let loaded = load(&wrong, pairs, set, 1);
    let outcome = run(&loaded, set, 2);
    assert!(compare(&loaded, &outcome).iter().any(|c| !c.passed()), "`{to}` for `{from}` is not noticed");
}

fn integers(values: &[u32]) -> Array {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

fn reals(values: &[f32]) -> Array {
    let mut array = Array::zeros(DType::F32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
    array
}

fn tasks(outcome: &RunOutcome, kernel: &str) -> u64 {
    outcome.stats.tasks.iter().find(|group| group.kernel == kernel).unwrap().tasks
}

#[test]
fn a_llama_layer_of_1k_tokens_matches_f64() {
    let set = [("seq", 1024), ("hidden", 256), ("heads", 4), ("ffn", 688)];
    let loaded = load(&read(LLAMA), "", &set, 1);
    let outcome = assert_right(&loaded, &set);
    assert_eq!((tasks(&outcome, "attention"), tasks(&outcome, "gate_up")), (16 * 4, 16 * 6));
    // The activations are of the size that trained ones have, so that the comparison means something.
    let y = outcome.outputs["y"].as_slice::<f32>().unwrap();
    let rms = (y.iter().map(|x| x * x).sum::<f32>() / y.len() as f32).sqrt();
    assert!((0.3..3.0).contains(&rms), "{rms}");
}

#[test]
fn layers_of_odd_sizes_and_of_half_precision_match_f64() {
    for (pairs, seed) in [("", 1), ("", 2), ("dtype=f16", 3), ("dtype=bf16", 4)] {
        assert_right(&load(&read(LLAMA), pairs, &SMALL_LAYER, seed), &SMALL_LAYER);
    }
    let one = [("seq", 1), ("hidden", 6), ("heads", 3), ("head_dim", 2), ("ffn", 1)];
    assert_right(&load(&read(LLAMA), "", &one, 1), &one);
}

#[test]
fn threads_do_not_change_what_the_examples_compute() {
    for (example, pairs, set) in [
        (LLAMA, "", &SMALL_LAYER[..]),
        (MOE, "routes=3", &SMALL_MOE),
        (PREFILL, "len=70/0/200", &[("head_dim", 16)]),
        (INDEXER, "len=3000/5", &[]),
    ] {
        let loaded = load(&read(example), pairs, set, 1);
        let sequential = run(&loaded, set, 1);
        for threads in [2, 4] {
            let outcome = run(&loaded, set, threads);
            for (name, array) in &sequential.outputs {
                assert_eq!(
                    outcome.outputs[name].bytes(),
                    array.bytes(),
                    "{example}: `{name}`, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn a_broken_layer_is_noticed() {
    for (from, to) in [
        ("TMASK_CAUSAL(p, (int32_t)(desc.row + 1)", "TMASK_CAUSAL(p, (int32_t)(desc.row + 2)"),
        ("TSUB(a, a, b_sin);", "TADD(a, a, b_sin);"),
        ("cos(pos * frequency)", "cos((pos + 1) * frequency)"),
        ("desc.head / (heads / kv_heads) * head_dim", "desc.head % kv_heads * head_dim"),
        ("TADDS(scale, scale, eps);", "TADDS(scale, scale, 2.0f * eps + 1e-4f);"),
        ("TADDS(divisor, divisor, 1.0f);", "TADDS(divisor, divisor, 1.001f);"),
        ("TLOAD(residual, middle,", "TLOAD(residual, x,"),
        ("TMUL(d, d, t);", ""),
    ] {
        assert_noticed(LLAMA, "", &SMALL_LAYER, from, to);
    }
}

#[test]
fn experts_with_all_tokens_or_none_match_f64() {
    let text = read(MOE);
    let all: Vec<u32> = (0..90).collect();
    let no: &[u32] = &[];
    for (indptr, indices) in [
        ([0, 90, 90, 90, 90, 90], &all[..]),
        ([0, 0, 0, 90, 90, 90], &all),
        ([0, 0, 0, 0, 0, 90], &all),
        ([0, 1, 1, 65, 65, 66], &all[..66]),
        // One token, to every expert, and twice to the second.
        ([0, 1, 3, 4, 5, 6], &[7; 6]),
        ([0; 6], no),
    ] {
        let mut loaded = load(&text, "", &SMALL_MOE, 1);
        let weights: Vec<f32> = indices.iter().zip(1u8..).map(|(_, i)| f32::from(i) / 64.0).collect();
        loaded.arrays.insert("indptr".to_owned(), integers(&indptr));
        loaded.arrays.insert("indices".to_owned(), integers(indices));
        loaded.arrays.insert("weights".to_owned(), reals(&weights));
        let outcome = assert_right(&loaded, &SMALL_MOE);
        if indices.is_empty() {
            assert_eq!(outcome.outputs["y"].bytes(), loaded.arrays["x"].bytes(), "nothing is added");
        }
    }
}

#[test]
fn made_up_routing_leaves_an_expert_without_tokens() {
    let loaded = load(&read(MOE), "routes=2", &SMALL_MOE, 1);
    let indptr = loaded.arrays["indptr"].as_slice::<u32>().unwrap();
    assert_eq!((indptr[4], indptr[5]), (180, 180));
    assert_right(&loaded, &SMALL_MOE);
    for routes in ["routes=0", "routes=1", "routes=5"] {
        assert_right(&load(&read(MOE), routes, &SMALL_MOE, 2), &SMALL_MOE);
    }
}

#[test]
fn a_broken_mixture_is_noticed() {
    for (from, to) in [
        ("TLOAD(row, x, {indices[i]});", "TLOAD(row, x, {i % tokens});"),
        ("PTO_LOAD_SCALAR(weights, {i})", "PTO_LOAD_SCALAR(weights, {desc.first})"),
        ("TADD(sum, sum, row);", "TMOV(sum, row);"),
        ("w_down, {desc.expert,", "w_down, {0,"),
    ] {
        assert_noticed(MOE, "", &SMALL_MOE, from, to);
    }
}

#[test]
fn ragged_prompts_match_f64() {
    let text = read(PREFILL);
    for (pairs, set) in [
        ("len=0/1/17/700/64/65/128/129", &[("num_qo_heads", 4), ("head_dim", 32)][..]),
        ("len=0/0/0,dtype=f16", &[]),
        ("len=5,batch=0", &[]),
        ("len=200/1,dtype=bf16", &[("num_qo_heads", 6), ("num_kv_heads", 3), ("head_dim", 24)]),
        ("len=uniform(0,90),batch=9,dtype=f16", &[("num_kv_heads", 8), ("head_dim", 7)]),
    ] {
        assert_right(&load(&text, pairs, set, 1), set);
    }
    assert_eq!(load(&text, "", &[], 1).arrays["indptr"].as_slice::<u32>().unwrap().len(), 7);
}

#[test]
fn a_broken_prefill_is_noticed() {
    for (from, to) in [
        ("(int32_t)(desc.first + 1)", "(int32_t)(desc.first)"),
        ("desc.head / (num_qo_heads / num_kv_heads)", "desc.head % num_kv_heads"),
        ("TADD(d, d, m);", "TADD(d, d, d);"),
    ] {
        // A query that sees no key has an output of NaN, and that is noticed too.
        assert_noticed(PREFILL, "len=3/200", &[("head_dim", 16)], from, to);
    }
}

#[test]
fn every_tier_of_the_indexer_selects_exactly_the_best_keys() {
    let set = [("heads", 2), ("head_dim", 16)];
    let loaded = load(&read(INDEXER), "len=0/1/63/64/65/2048/2049/8192/8193/65536/65537", &set, 1);
    let outcome = assert_right(&loaded, &set);
    for (kernel, requests) in [("index_2k", 6), ("index_8k", 2), ("index_64k", 2), ("index_128k", 1)] {
        assert_eq!(tasks(&outcome, kernel), requests, "{kernel}");
    }
    let indices = outcome.outputs["indices"].as_slice::<f32>().unwrap();
    let scores = outcome.outputs["scores"].as_slice::<f32>().unwrap();
    assert!(indices[..64].iter().all(|&i| i == -1.0), "no keys, no indices");
    assert_eq!((indices[64], indices[65], scores[65]), (0.0, -1.0, f32::NEG_INFINITY));
    let pairs =
        |of: &[f32]| of.chunks(64).flat_map(|row| row.windows(2).map(|w| (w[0], w[1]))).collect::<Vec<_>>();
    let ties: Vec<_> = std::iter::zip(pairs(scores), pairs(indices))
        .filter(|(score, index)| score.0 == score.1 && index.1 >= 0.0)
        .collect();
    assert!(ties.len() > 100, "the data have ties");
    assert!(ties.iter().all(|(_, index)| index.0 < index.1), "the lower index comes first");
}

#[test]
fn all_scores_equal_gives_the_first_keys() {
    let set = [("heads", 2), ("head_dim", 16), ("top_k", 100)];
    let mut loaded = load(&read(INDEXER), "len=5000/99", &set, 1);
    loaded.arrays.get_mut("keys").unwrap().as_slice_mut::<f32>().unwrap().fill(0.5);
    let outcome = assert_right(&loaded, &set);
    let indices = outcome.outputs["indices"].as_slice::<f32>().unwrap();
    assert!(indices[..199].iter().enumerate().all(|(i, &index)| index == (i % 100) as f32));
    assert_eq!(indices[199], -1.0);
}

#[test]
fn scores_that_are_not_exact_are_compared_up_to_rounding() {
    let set = [("top_k", 32)];
    let mut loaded = load(&read(INDEXER), "len=4000/20", &set, 1);
    // A third is no sum of few powers of two.
    for name in ["q", "keys"] {
        loaded
            .arrays
            .get_mut(name)
            .unwrap()
            .as_slice_mut::<f32>()
            .unwrap()
            .iter_mut()
            .for_each(|x| *x /= 3.0);
    }
    assert_right(&loaded, &set);
}

#[test]
fn a_broken_indexer_is_noticed() {
    for (from, to) in [
        ("pos - desc.first);", "pos - desc.first + 1);"),
        ("TRELU(product, product);", ""),
        (
            "TTOPK(values, numbers, score, pos - desc.first);\n        }",
            "TTOPK(values, numbers, score, pos - desc.first); break;\n        }",
        ),
        ("TLOAD(key_tile, keys, {pos}, desc.end - pos);", "TLOAD(key_tile, keys, {pos});"),
    ] {
        assert_noticed(INDEXER, "len=600/100/2500/9", &[("heads", 2)], from, to);
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_what_to_type() {
    let module = module(&read(LLAMA));
    let fault =
        generate_tensors(&module, &"seq=5".parse().unwrap(), &[], &OrderedMap::new(), Origin::of(1), &|_| {
            true
        })
        .unwrap_err();
    assert_eq!(fault.help, ["`seq` is a parameter: `--set seq=5`"]);
    let module = self::module(&read(PREFILL));
    let fault = generate_tensors(
        &module,
        &"total=5".parse().unwrap(),
        &[],
        &OrderedMap::new(),
        Origin::of(1),
        &|_| true,
    )
    .unwrap_err();
    assert!(fault.message.contains("follows from the data"), "{}", fault.message);
    let fault = generate_tensors(
        &module,
        &"routes=1".parse().unwrap(),
        &[],
        &OrderedMap::new(),
        Origin::of(1),
        &|_| true,
    )
    .unwrap_err();
    assert!(fault.message.contains("routes"), "{}", fault.message);
}

#[test]
fn plain_runs_of_the_examples_check_themselves() {
    for example in [LLAMA, MOE, PREFILL, INDEXER] {
        let output = std::process::Command::new(crate::command::program())
            .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples"))
            .args(["run", example])
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert!(output.status.success() && text.contains("` ok: max error"), "{example}: {text}");
    }
}
