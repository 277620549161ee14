//! The dense reference against results computed elsewhere, on data made by formula.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and makes its own files"
)]

use std::path::PathBuf;
use wsp_cli::Layout;
use wsp_cli::cases::{Case, MergeCase};
use wsp_cli::files::to_u32;
use wsp_cli::generate::Names;
use wsp_cli::reference::Attention;

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

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/decode_cases").join(format!("{name}.npz"))
}

fn names() -> Names {
    Names { q: "q".to_owned(), kv: "kv".to_owned(), lens: Some("kv_lens".to_owned()) }
}

fn assert_close(case: &str, what: &str, have: &[f64], want: &[f64]) {
    assert_eq!(have.len(), want.len(), "{case} {what}");
    for (i, (a, b)) in have.iter().zip(want).enumerate() {
        assert!(a == b || (a - b).abs() < 1e-13, "{case} {what}[{i}]: {a} {b}");
    }
}

#[test]
fn the_reference_agrees_with_every_case_in_both_layouts() {
    for name in CASES {
        let case = Case::load(&path(name)).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        for layout in [Layout::Nhd, Layout::Hnd] {
            let arrays = case.arrays(layout, &names()).unwrap();
            let table = |field: &str| to_u32(field, &arrays[&format!("kv.{field}")]).unwrap();
            let dense = Attention {
                q: &arrays["q"],
                k: &arrays["kv.k"],
                v: &arrays["kv.v"],
                indptr: &table("indptr"),
                indices: &table("indices"),
                last_page_len: &table("last_page_len"),
                sm_scale: Some(case.sm_scale),
                layout,
            }
            .dense(2)
            .unwrap();
            assert_close(name, "o", &dense.o, &case.o);
            assert_close(name, "lse", &dense.lse, &case.lse);
        }
    }
}

#[test]
fn partial_results_come_with_the_split_case() {
    let case = Case::load(&path("22_split_partials_128")).unwrap();
    let partials = case.partials.unwrap();
    assert_eq!(partials.chunk, 128);
    let chunks: Vec<usize> = partials.lse.iter().map(|l| l.len() / case.problem.q_heads as usize).collect();
    assert_eq!(chunks, [8, 1, 2]);
}

#[test]
fn the_merge_case_is_read() {
    let case = MergeCase::load(&path("40_merge_states")).unwrap();
    assert_eq!((case.rows, case.states, case.dim), (10, 6, 64));
    assert_eq!(case.v.len(), 10 * 6 * 64);
    assert_eq!(case.s_merged.len(), 10);
}

#[test]
fn a_file_that_is_no_case_is_refused() {
    assert!(Case::load(&path("40_merge_states")).is_err());
    assert!(Case::load(&path("none")).is_err());
}
