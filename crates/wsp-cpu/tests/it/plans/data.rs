//! The decode attention example on small made-up arrays.

use wsp_core::DType;
use wsp_cpu::{LaunchOptions, Program};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_plan::{Array, Arrays, CompileOptions, ParamValue, lower};

pub(crate) const DECODE: &str = include_str!("../../../../../examples/decode_attention.pto");
/// Query heads, KV heads, lanes and tokens per page.
const QO_HEADS: u64 = 4;
const KV_HEADS: u64 = 2;
const DIM: u64 = 16;
const PAGE: u32 = 16;

/// A program for so many cores.
pub(crate) fn program(source: &str, cores: u32) -> Program {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("plan.pto", source, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{}", render_all(&findings, &sources, false)));
    let options = CompileOptions { max_blocks: cores, ..CompileOptions::default() };
    Program::new(lower(&module, &options).unwrap_or_else(|found| panic!("{}", report(&found))))
}

pub(crate) fn report(found: &[Diagnostic]) -> String {
    render_all(found, &SourceMap::default(), false)
}

pub(crate) fn options(chunk: u32) -> LaunchOptions {
    let set = vec![("chunk".to_owned(), ParamValue::Int(i128::from(chunk)))];
    LaunchOptions { threads: 2, set, ..LaunchOptions::default() }
}

fn integers(values: &[u32]) -> Array {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

fn reals(shape: &[u64], seed: u64) -> Array {
    let mut array = Array::zeros(DType::F32, shape).unwrap();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for x in array.as_slice_mut::<f32>().unwrap() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *x = (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
    }
    array
}

/// Arrays of requests with these lengths; `seed` says what is in them.
pub(crate) fn arrays(lengths: &[u32], seed: u64) -> Arrays {
    let batch = lengths.len() as u64;
    let pages: Vec<u32> = lengths.iter().map(|n| n.div_ceil(PAGE)).collect();
    let total: u32 = pages.iter().sum();
    let mut indptr = vec![0];
    pages.iter().for_each(|n| indptr.push(indptr[indptr.len() - 1] + n));
    let last: Vec<u32> = lengths.iter().map(|&n| if n == 0 { 0 } else { (n - 1) % PAGE + 1 }).collect();
    // Pages of a request lie apart.
    let indices: Vec<u32> = (0..total).rev().collect();
    let kv = [u64::from(total), u64::from(PAGE), KV_HEADS, DIM];
    Arrays::from([
        ("q".to_owned(), reals(&[batch, QO_HEADS, 1, DIM], seed + 1)),
        ("kv.k".to_owned(), reals(&kv, seed + 2)),
        ("kv.v".to_owned(), reals(&kv, seed + 3)),
        ("kv.indptr".to_owned(), integers(&indptr)),
        ("kv.indices".to_owned(), integers(&indices)),
        ("kv.last_page_len".to_owned(), integers(&last)),
        ("kv_lens".to_owned(), integers(lengths)),
    ])
}

/// The bits of all outputs.
pub(crate) fn bits(outputs: &Arrays) -> Vec<(&str, &[u8])> {
    outputs.iter().map(|(name, array)| (name.as_str(), array.bytes())).collect()
}
