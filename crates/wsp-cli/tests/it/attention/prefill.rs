//! Prompts beside decoding requests, which only `prefill_decode.pto` has.

use super::{allowed, combinations, module, share};
use crate::decode_cases::Case;
use crate::decode_cases::{cases, names};
use wsp_check::generate::QueryRows;
use wsp_cli::KvLayout;
use wsp_cli::engine::{Loaded, Options, execute};
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

/// The arrays of `prefill_decode.pto`: keys and values of prompts packed, and the pages of all requests, prompts first. Those of
/// prompts hold NaN, for they are to be appended.
fn arrays(case: &Case, layout: KvLayout, prompts: &[usize], decoding: &[usize]) -> Arrays {
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
    let asking = last_rows(case, prompts, decoding);
    let one = [asking.len() as u64, heads as u64, 1, dim as u64];
    arrays.insert("q".to_owned(), q(asking, &one));
    for (packed, pages) in [("prompt_k", "kv.k"), ("prompt_v", "kv.v")] {
        let place = |b: usize, i: usize| {
            let (token, head) = (i / kv_heads, i % kv_heads);
            let page = table.indices[table.indptr[b] as usize + token / page_size] as usize;
            match layout {
                KvLayout::Nhd => (page * page_size + token % page_size) * kv_heads + head,
                KvLayout::Hnd => (page * kv_heads + head) * page_size + token % page_size,
            }
        };
        let places: Vec<usize> = prompts
            .iter()
            .flat_map(|&b| (0..problem.lens[b] as usize * kv_heads).map(move |i| place(b, i)))
            .collect();
        let rows = gather(&base[pages], &shape(total, kv_heads), dim, places.iter().copied());
        arrays.insert(packed.to_owned(), rows);
        let mut before = base[pages].clone();
        let bytes = dim * before.dtype().size();
        for place in places {
            // All bits set is NaN in every float type.
            before.bytes_mut()[place * bytes..][..bytes].fill(0xff);
        }
        arrays.insert(pages.to_owned(), before);
    }
    let mut indptr = vec![0];
    for &b in prompts {
        indptr.push(indptr[indptr.len() - 1] + problem.lens[b]);
    }
    arrays.insert("prompt_indptr".to_owned(), integers(&indptr));
    let (mut indptr, mut indices, mut last) = (vec![0], Vec::new(), Vec::new());
    for &b in prompts.iter().chain(decoding) {
        indices.extend(&table.indices[table.indptr[b] as usize..table.indptr[b + 1] as usize]);
        indptr.push(indices.len() as u32);
        last.push(table.last_page_len[b]);
    }
    for (field, values) in [("indptr", indptr), ("indices", indices), ("last_page_len", last)] {
        arrays.insert(format!("kv.{field}"), integers(&values));
    }
    arrays
}

/// The packed row of the last query of each request, prompts first.
fn last_rows(case: &Case, prompts: &[usize], decoding: &[usize]) -> Vec<usize> {
    let last = |&b: &usize| rows(case, &[b]).last().copied();
    prompts.iter().chain(decoding).filter_map(last).collect()
}

#[test]
fn prompts_match_and_are_there_for_what_decodes() {
    let program = module("examples/attention/prefill_decode.pto");
    let mut count = 0;
    for (name, case) in cases() {
        let Some((prompts, decoding)) = split(&case) else { continue };
        count += 1;
        let heads = case.problem.q_heads as usize;
        let of = |values: &[f64], lanes: usize, rows: &[usize]| -> Vec<f64> {
            let row = |&row: &usize| values[row * heads * lanes..][..heads * lanes].to_vec();
            rows.iter().flat_map(row).collect()
        };
        let (prompt_rows, last) = (rows(&case, &prompts), last_rows(&case, &prompts, &decoding));
        for (at, (mode, engine)) in combinations().into_iter().enumerate() {
            let layout = [KvLayout::Nhd, KvLayout::Hnd][at % 2];
            let loaded =
                Loaded { module: program.clone(), arrays: arrays(&case, layout, &prompts, &decoding) };
            let set = vec![("sm_scale".to_owned(), ParamValue::Float(case.sm_scale))];
            let options = Options { threads: 2, layout, set, mode, engine, ..Options::default() };
            let what = format!("{name}, {mode:?}, {engine:?}, {layout}");
            let outcome = execute(&loaded, &options).unwrap_or_else(|faults| panic!("{what}: {faults:?}"));
            for (output, lse, rows) in
                [("prompt_output", "prompt_lse", &prompt_rows), ("output", "lse", &last)]
            {
                let (o, sums) = (of(&case.o, case.out_lanes, rows), of(&case.lse, 1, rows));
                let output = share(&what, &outcome.outputs[output], &o, |want| allowed(&case, want));
                let lse = share(&what, &outcome.outputs[lse], &sums, |want| allowed(&case, want));
                assert!(output <= 1.0 && lse <= 1.0, "{what}: output {output:.3}, lse {lse:.3}");
            }
            let base = case.arrays(layout, &names(&case)).unwrap();
            for pages in ["kv.k", "kv.v"] {
                assert!(outcome.outputs[pages].bytes() == base[pages].bytes(), "{what}: {pages}");
            }
        }
    }
    assert_eq!(count, 2);
}
