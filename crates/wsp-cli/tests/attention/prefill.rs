//! Prompts beside decoding requests, which only `prefill_decode.pto` has.

use super::decode_cases::{cases, names};
use super::{allowed, combinations, module, share};
use wsp_cli::Layout;
use wsp_cli::cases::Case;
use wsp_cli::engine::{Loaded, Options, execute};
use wsp_cli::generate::QueryRows;
use wsp_core::DType;
use wsp_plan::{Array, Arrays, ParamValue};

/// The requests of a case that are whole prompts, and those that decode one token; none when others are there.
fn split(case: &Case) -> Option<(Vec<usize>, Vec<usize>)> {
    let QueryRows::Packed(rows) = &case.problem.rows else { return None };
    let lens = &case.problem.lens;
    let (decoding, prompts): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|&b| rows[b] == 1);
    prompts.iter().all(|&b| rows[b] == lens[b]).then_some((prompts, decoding))
}

/// The packed query rows of some requests.
fn rows(case: &Case, requests: &[usize]) -> Vec<usize> {
    let QueryRows::Packed(rows) = &case.problem.rows else { return Vec::new() };
    let first = |b: usize| rows[..b].iter().sum::<u32>() as usize;
    requests.iter().flat_map(|&b| first(b)..first(b) + rows[b] as usize).collect()
}

/// Rows of an array as a new one of this shape.
fn gather(array: &Array, shape: &[u64], row_elements: usize, rows: impl Iterator<Item = usize>) -> Array {
    let bytes = row_elements * array.dtype().size();
    let mut out = Array::zeros(array.dtype(), shape).unwrap();
    for (out, row) in out.bytes_mut().chunks_exact_mut(bytes).zip(rows) {
        out.copy_from_slice(&array.bytes()[row * bytes..][..bytes]);
    }
    out
}

fn integers(values: &[u32]) -> Array {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

/// The arrays of `prefill_decode.pto`: keys and values of prompts packed, those of the other requests in pages.
fn arrays(case: &Case, layout: Layout, prompts: &[usize], decoding: &[usize]) -> Arrays {
    let problem = &case.problem;
    let base = case.arrays(layout, &names(case)).unwrap();
    let (heads, kv_heads, dim) = (problem.q_heads as usize, problem.kv_heads as usize, problem.dim as usize);
    let (page_size, table) = (problem.page_size as usize, &problem.table);
    let shape = |rows: usize, heads: usize| [rows as u64, heads as u64, dim as u64];
    let mut arrays = Arrays::new();
    let prompt_rows = rows(case, prompts);
    let total = prompt_rows.len();
    let q = |rows: Vec<usize>, shape: &[u64]| gather(&base["q"], shape, heads * dim, rows.into_iter());
    arrays.insert("prompt_q".to_owned(), q(prompt_rows, &shape(total, heads)));
    let one = [decoding.len() as u64, heads as u64, 1, dim as u64];
    arrays.insert("q".to_owned(), q(rows(case, decoding), &one));
    for (packed, pages) in [("prompt_k", "kv.k"), ("prompt_v", "kv.v")] {
        let places = prompts.iter().flat_map(|&b| {
            (0..problem.lens[b] as usize * kv_heads).map(move |i| {
                let (token, head) = (i / kv_heads, i % kv_heads);
                let page = table.indices[table.indptr[b] as usize + token / page_size] as usize;
                match layout {
                    Layout::Nhd => (page * page_size + token % page_size) * kv_heads + head,
                    Layout::Hnd => (page * kv_heads + head) * page_size + token % page_size,
                }
            })
        });
        arrays.insert(packed.to_owned(), gather(&base[pages], &shape(total, kv_heads), dim, places));
        arrays.insert(pages.to_owned(), base[pages].clone());
    }
    let mut indptr = vec![0];
    for &b in prompts {
        indptr.push(indptr[indptr.len() - 1] + problem.lens[b]);
    }
    arrays.insert("prompt_indptr".to_owned(), integers(&indptr));
    let (mut indptr, mut indices, mut last) = (vec![0], Vec::new(), Vec::new());
    for &b in decoding {
        indices.extend(&table.indices[table.indptr[b] as usize..table.indptr[b + 1] as usize]);
        indptr.push(indices.len() as u32);
        last.push(table.last_page_len[b]);
    }
    for (field, values) in [("indptr", indptr), ("indices", indices), ("last_page_len", last)] {
        arrays.insert(format!("kv.{field}"), integers(&values));
    }
    arrays
}

#[test]
fn prompts_match_beside_decoding_requests() {
    let program = module("examples/attention/prefill_decode.pto");
    let mut count = 0;
    for (name, case) in cases() {
        let Some((prompts, decoding)) = split(&case) else { continue };
        count += 1;
        let heads = case.problem.q_heads as usize;
        let of = |values: &[f64], lanes: usize, requests: &[usize]| -> Vec<f64> {
            let row = |row: usize| values[row * heads * lanes..][..heads * lanes].to_vec();
            rows(&case, requests).into_iter().flat_map(row).collect()
        };
        for (at, (mode, engine)) in combinations().into_iter().enumerate() {
            let layout = [Layout::Nhd, Layout::Hnd][at % 2];
            let loaded =
                Loaded { module: program.clone(), arrays: arrays(&case, layout, &prompts, &decoding) };
            let set = vec![("sm_scale".to_owned(), ParamValue::Float(case.sm_scale))];
            let options = Options { threads: 2, layout, set, mode, engine, ..Options::default() };
            let what = format!("{name}, {mode:?}, {engine:?}, {layout}");
            let outcome = execute(&loaded, &options).unwrap_or_else(|faults| panic!("{what}: {faults:?}"));
            for (output, lse, requests) in
                [("prompt_output", "prompt_lse", &prompts), ("output", "lse", &decoding)]
            {
                let (o, sums) = (of(&case.o, case.out_lanes, requests), of(&case.lse, 1, requests));
                let output = share(&what, &outcome.outputs[output], &o, |want| allowed(&case, want));
                let lse = share(&what, &outcome.outputs[lse], &sums, |want| allowed(&case, want));
                assert!(output <= 1.0 && lse <= 1.0, "{what}: output {output:.3}, lse {lse:.3}");
            }
        }
    }
    assert_eq!(count, 2);
}
