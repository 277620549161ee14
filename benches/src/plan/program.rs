//! The programs whose plans are measured, and arrays that only say what a plan needs to know.

use pto_wsp::backend::cpu::{LaunchOptions, Program};
use pto_wsp::codes;
use std::path::Path;
use wsp_core::DType;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::Module;
use wsp_kernel::Engine;
use wsp_plan::split::Policy;
use wsp_plan::{Array, Arrays, CompileOptions, lower};

/// Heads and lanes of Llama-3-8B.
const QO_HEADS: u64 = 32;
/// Heads of keys and values.
pub(crate) const KV_HEADS: u32 = 8;
const DIM: u64 = 128;
const PAGE: u32 = 16;
/// Tokens per piece of schedule `Fixed`, as the example has it.
const FIXED: u32 = 512;

/// A program under a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    /// As the table has it.
    pub(crate) name: &'static str,
    /// Name of the schedule, if not the one that the source applies.
    schedule: Option<&'static str>,
    /// The library function that should cut alike.
    pub(crate) policy: Option<Policy>,
    source: &'static str,
    /// Fields of a piece: its first token, and its end.
    pub(crate) fields: [&'static str; 2],
}

const ATTENTION: &str = include_str!("../../../examples/attention/decode.pto");
const DOCUMENT: &str = include_str!("../../../examples/decode_attention.pto");
const INCLUDED: &[(&str, &str)] = &[
    ("common.pto", include_str!("../../../examples/attention/common.pto")),
    ("one_query.pto", include_str!("../../../examples/attention/one_query.pto")),
    ("split.pto", include_str!("../../../examples/attention/split.pto")),
    ("variant.pto", include_str!("../../../examples/attention/variant.pto")),
];

/// What is measured.
pub(crate) const CASES: &[Case] = &[
    of_attention("balanced", "Balanced", Policy::Balanced(16)),
    of_attention("whole", "Whole", Policy::Whole),
    of_attention("fixed", "Fixed", Policy::Fixed(FIXED)),
    Case {
        name: "document",
        schedule: None,
        policy: None,
        source: DOCUMENT,
        fields: ["chunk_start", "chunk_end"],
    },
];

const fn of_attention(name: &'static str, schedule: &'static str, policy: Policy) -> Case {
    Case { name, schedule: Some(schedule), policy: Some(policy), source: ATTENTION, fields: ["begin", "end"] }
}

impl Case {
    /// The source as a module.
    ///
    /// # Errors
    /// What is wrong with the source.
    pub(crate) fn module(&self, sources: &mut SourceMap) -> Result<Module, Vec<Diagnostic>> {
        let mut read = |path: &Path| {
            let known = INCLUDED.iter().find(|(name, _)| path.ends_with(name));
            known.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
                let message = format!("`{}` is not part of this program", path.display());
                Diagnostic::error(codes::CHECK_FAILED, message)
            })
        };
        match wsp_lang::compile_with(&format!("{}.pto", self.name), self.source, sources, &mut read) {
            (Some(module), _) => Ok(module),
            (None, faults) => Err(faults),
        }
    }

    /// The module as a program for so many cores.
    ///
    /// # Errors
    /// What is wrong with the schedule.
    pub(crate) fn program(&self, module: &Module, cores: u32) -> Result<Program, Vec<Diagnostic>> {
        let schedule = self.schedule.map(str::to_owned);
        let options = CompileOptions { max_blocks: cores, schedule, ..CompileOptions::default() };
        Ok(Program::new(lower(module, &options)?))
    }
}

/// Options of a launch that is only planned.
pub(crate) fn options(engine: Engine) -> LaunchOptions {
    LaunchOptions { engine, ..LaunchOptions::default() }
}

/// Arrays of requests with these lengths, those that the program takes. A plan looks at shapes, types and page tables only, so all pages are one.
///
/// # Errors
/// There is no memory.
pub(crate) fn arrays(case: &Case, lengths: &[u32]) -> Result<Arrays, Diagnostic> {
    let page = [1, u64::from(PAGE), u64::from(KV_HEADS), DIM];
    let held: Vec<u32> = lengths.iter().map(|n| n.div_ceil(PAGE)).collect();
    let ends = held.iter().scan(0u32, |end, pages| {
        *end += pages;
        Some(*end)
    });
    let indptr: Vec<u32> = std::iter::once(0).chain(ends).collect();
    let last: Vec<u32> = lengths.iter().map(|&n| if n == 0 { 0 } else { (n - 1) % PAGE + 1 }).collect();
    let pages = indptr.last().copied().unwrap_or(0);
    let mut arrays = Arrays::from([
        ("q".to_owned(), zeros(DType::Bf16, &[lengths.len() as u64, QO_HEADS, 1, DIM])?),
        ("kv.k".to_owned(), zeros(DType::Bf16, &page)?),
        ("kv.v".to_owned(), zeros(DType::Bf16, &page)?),
        ("kv.indptr".to_owned(), integers(&indptr)?),
        ("kv.indices".to_owned(), zeros(DType::U32, &[u64::from(pages)])?),
        ("kv.last_page_len".to_owned(), integers(&last)?),
    ]);
    if case.source.contains("kv_lens") {
        arrays.insert("kv_lens".to_owned(), integers(lengths)?);
    }
    Ok(arrays)
}

fn zeros(dtype: DType, shape: &[u64]) -> Result<Array, Diagnostic> {
    Array::zeros(dtype, shape).map_err(|fault| Diagnostic::error(codes::CHECK_FAILED, fault.to_string()))
}

fn integers(values: &[u32]) -> Result<Array, Diagnostic> {
    let mut array = zeros(DType::U32, &[values.len() as u64])?;
    array.as_slice_mut::<u32>().expect("the array should hold u32").copy_from_slice(values);
    Ok(array)
}
