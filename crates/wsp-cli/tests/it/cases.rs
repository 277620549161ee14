//! The dense reference against results computed elsewhere, on data made by formula.

use crate::command::root;
use crate::decode_cases::{Case, MergeCase};
use crate::decode_cases::{cases, is_latent, merges, names};
use wsp_check::generate::Names;
use wsp_check::reference::{Attention, Cache, Dense, Features, merge, to_f64};
use wsp_check::to_u32;
use wsp_cli::KvLayout;
use wsp_plan::Arrays;

/// Two f64 computations of sums of at most some ten thousand terms.
const AGREE: f64 = 1e-13;

/// The page table of a cache.
struct Table {
    indptr: Vec<u32>,
    indices: Vec<u32>,
    last_page_len: Vec<u32>,
}

impl Table {
    fn of(arrays: &Arrays, cache: &str) -> Table {
        let field = |field: &str| to_u32(field, &arrays[&format!("{cache}.{field}")]).unwrap();
        Table { indptr: field("indptr"), indices: field("indices"), last_page_len: field("last_page_len") }
    }

    fn cache<'a>(&'a self, arrays: &'a Arrays, cache: &str, layout: KvLayout) -> Cache<'a> {
        Cache {
            k: &arrays[&format!("{cache}.k")],
            v: arrays.get(&format!("{cache}.v")),
            indptr: &self.indptr,
            indices: &self.indices,
            last_page_len: &self.last_page_len,
            layout,
        }
    }
}

/// What the reference gives for the arrays of a case.
fn dense(case: &Case, names: &Names, layout: KvLayout) -> Dense {
    let arrays = case.arrays(layout, names).unwrap();
    assert_eq!(arrays.contains_key("kv.v"), !is_latent(case));
    let own = Table::of(&arrays, "kv");
    let prefix = names.prefix.as_ref().map(|name| (name, Table::of(&arrays, name)));
    let heads =
        |name: &Option<String>| name.as_ref().map(|n| to_f64(&arrays[n]).unwrap()).unwrap_or_default();
    let (slopes, sinks) = (heads(&names.slopes), heads(&names.sinks));
    let q_indptr = names.q_indptr.as_ref().map(|name| to_u32(name, &arrays[name]).unwrap());
    let extras = case.extras;
    let problem = Attention {
        q: &arrays["q"],
        q_indptr: q_indptr.as_deref(),
        cache: own.cache(&arrays, "kv", layout),
        prefix: prefix.as_ref().map(|(name, table)| table.cache(&arrays, name, layout)),
        out_lanes: case.out_lanes,
        sm_scale: Some(case.sm_scale),
        features: Features {
            soft_cap: extras.soft_cap,
            window_left: u64::try_from(extras.window_left).ok(),
            slopes: &slopes,
            rope_theta: extras.rope_theta,
            sinks: &sinks,
            k_scale: extras.k_scale,
            v_scale: extras.v_scale,
        },
    };
    problem.dense(2).unwrap_or_else(|why| panic!("{why}"))
}

fn assert_close(case: &str, what: &str, have: &[f64], want: &[f64]) {
    assert_eq!(have.len(), want.len(), "{case} {what}");
    for (i, (a, b)) in have.iter().zip(want).enumerate() {
        assert!(a == b || (a - b).abs() <= AGREE * b.abs().max(1.0), "{case} {what}[{i}]: {a} {b}");
    }
}

#[test]
fn the_reference_agrees_with_every_case_in_both_layouts() {
    let mut count = 0;
    for (name, case) in cases() {
        for layout in [KvLayout::Nhd, KvLayout::Hnd] {
            let dense = dense(&case, &names(&case), layout);
            assert_close(&name, "o", &dense.o, &case.o);
            assert_close(&name, "lse", &dense.lse, &case.lse);
        }
        count += 1;
    }
    assert_eq!(count, 8 + 24 + 49, "the cases of README.md: given, described, our own");
}

#[test]
fn a_prefix_apart_is_a_prefix_shared() {
    let mut count = 0;
    for (name, case) in cases().filter(|(_, case)| case.problem.prefix_pages > 0) {
        let tokens = case.problem.prefix_pages * case.problem.page_size;
        if case.problem.lens.iter().all(|&length| length >= tokens) {
            let names = Names { prefix: Some("prefix".to_owned()), ..names(&case) };
            let dense = dense(&case, &names, KvLayout::Hnd);
            assert_close(&name, "o", &dense.o, &case.o);
            assert_close(&name, "lse", &dense.lse, &case.lse);
            count += 1;
        }
    }
    assert_eq!(count, 2);
}

#[test]
fn partial_results_come_with_the_split_cases() {
    let split: Vec<(String, Vec<usize>)> = cases()
        .filter_map(|(name, case)| {
            let heads = case.problem.q_heads as usize;
            let partials = case.partials?;
            Some((name, partials.lse.iter().map(|l| l.len() / heads).collect()))
        })
        .collect();
    let want = [("07_long_65536", vec![8]), ("22_split_partials_128", vec![8, 1, 2])];
    assert_eq!(split, want.map(|(name, chunks)| (name.to_owned(), chunks)));
}

#[test]
fn the_reference_agrees_with_every_merge() {
    let mut count = 0;
    for (name, case) in merges() {
        let v: Vec<f64> = case.v.iter().map(|&x| f64::from(x)).collect();
        let (o, lse) = merge(&v, &case.s, case.states, case.dim);
        assert_close(&name, "v", &o, &case.v_merged);
        assert_close(&name, "s", &lse, &case.s_merged);
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn a_file_that_is_no_case_is_refused() {
    let folder = root().join("testdata/decode_cases");
    assert!(Case::load(&folder.join("40_merge_states.npz")).is_err());
    assert!(Case::load(&folder.join("none.npz")).is_err());
    assert!(MergeCase::load(&folder.join("01_mha_basic.npz")).is_err());
}
