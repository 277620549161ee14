//! Independent ways to compute what a program should give: `PTO_REFERENCE(name, {.role = name, …})`.
//!
//! A reference works from the raw arrays in f64 and shares no code with plans, kernels or tile operations.

mod attention;
mod compare;
mod decode;
mod deepseek;
mod dense;
mod features;
mod llama;
mod merge;
mod moe;
mod paged;
mod power;
mod prefill;
mod rows;
mod softmax;
mod topk;

pub use attention::{Attention, Dense, Errors};
pub use compare::{
    Against, Comparison, Elements, SAME_PROGRAM, Special, Tolerance, Worst, compare, compare_by,
};
pub use features::Features;
pub(crate) use features::alibi_slopes;
pub use merge::merge;
pub use paged::Cache;

use pto_wsp::codes;
use wsp_backend::KvLayout;
use wsp_core::DType;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::{EntryTy, Module, Reference};
use wsp_plan::{Array, Arrays};

/// Decode attention over a paged KV cache.
pub const PAGED_DECODE_ATTENTION: &str = "paged_decode_attention";
/// Decode attention over a cache of latent vectors: values are the first lanes of keys.
pub const MLA_DECODE: &str = "mla_decode";
/// One attention state from several.
pub const MERGE_STATES: &str = "merge_states";
/// A decoder layer of a LLaMA model.
pub const LLAMA_LAYER: &str = "llama_layer";
/// A mixture of experts with tokens routed in CSR form.
pub const MOE_LAYER: &str = "moe_layer";
/// Causal attention over a ragged batch of prompts.
pub const RAGGED_PREFILL: &str = "ragged_prefill";
/// The keys that score highest for each query.
pub const TOPK_INDEXER: &str = "topk_indexer";
/// Attention over the tokens that an indexer chooses.
pub const DEEPSEEK_INDEXER: &str = "deepseek_indexer";
/// Softmax of every row.
pub const ROW_SOFTMAX: &str = "row_softmax";
/// The largest eigenvalue of a symmetric matrix.
pub const POWER_ITERATION: &str = "power_iteration";

/// Computes a reference and compares the outputs with it.
type Check = fn(&Reference, &Context<'_>) -> Result<Vec<Comparison>, Diagnostic>;

/// The role of the factor of products of queries and keys.
pub const SM_SCALE: &str = "sm_scale";

/// A reference that programs can name.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceInfo {
    /// Its name.
    pub name: &'static str,
    /// Roles that must be given.
    pub required: &'static [&'static str],
    /// Roles that may be given.
    pub optional: &'static [&'static str],
    check: Check,
}

/// All references.
pub const REFERENCES: &[ReferenceInfo] = &[
    ReferenceInfo {
        name: PAGED_DECODE_ATTENTION,
        required: &["q", "kv", "output"],
        optional: decode::OPTIONAL,
        check: decode::check,
    },
    ReferenceInfo {
        name: MLA_DECODE,
        required: &["q", "kv", "output"],
        optional: &["lse", "sm_scale", "lens", "v_dim"],
        check: decode::check_latent,
    },
    ReferenceInfo {
        name: MERGE_STATES,
        required: &["v", "s", "output"],
        optional: &["lse"],
        check: merge::check,
    },
    ReferenceInfo {
        name: LLAMA_LAYER,
        required: &[
            "x",
            "attn_norm",
            "wq",
            "wk",
            "wv",
            "wo",
            "ffn_norm",
            "w_gate",
            "w_up",
            "w_down",
            "output",
            "heads",
            "kv_heads",
            "eps",
            "theta",
        ],
        optional: &[],
        check: llama::check,
    },
    ReferenceInfo {
        name: MOE_LAYER,
        required: &["x", "w_gate", "w_up", "w_down", "indptr", "indices", "weights", "output"],
        optional: &[],
        check: moe::check,
    },
    ReferenceInfo {
        name: RAGGED_PREFILL,
        required: &["q", "k", "v", "indptr", "output"],
        optional: &["lse", "sm_scale", "kv"],
        check: prefill::check,
    },
    ReferenceInfo {
        name: TOPK_INDEXER,
        required: &["q", "weights", "keys", "indptr", "top_k", "indices"],
        optional: &["scores"],
        check: topk::check,
    },
    ReferenceInfo {
        name: DEEPSEEK_INDEXER,
        required: &["hidden", "scores", "output", "top_k"],
        optional: &[],
        check: deepseek::check,
    },
    ReferenceInfo { name: ROW_SOFTMAX, required: &["x", "output"], optional: &[], check: softmax::check },
    ReferenceInfo {
        name: POWER_ITERATION,
        required: &["matrix", "vector", "value"],
        optional: &[power::STOP],
        check: power::check,
    },
];

/// What a reference works from.
pub struct Context<'a> {
    /// Arrays that went in.
    pub inputs: &'a Arrays,
    /// Arrays that came out.
    pub outputs: &'a Arrays,
    /// Values of parameters.
    pub params: &'a dyn Fn(&str) -> Option<f64>,
    /// Order of heads and tokens in a page.
    pub layout: KvLayout,
    /// Threads to compute with; at least 1.
    pub threads: usize,
    /// The type that operands of products are rounded to, where it is shorter than that of their tiles: cores of accelerators
    /// multiply what is stored so.
    pub operands: Option<DType>,
}

/// Checks that a reference exists and that its roles are named right, without data.
///
/// # Errors
/// A diagnostic for each mistake.
pub fn verify(reference: &Reference) -> Result<&'static ReferenceInfo, Vec<Diagnostic>> {
    let names = REFERENCES.iter().map(|r| r.name);
    let Some(info) = REFERENCES.iter().find(|r| r.name == reference.name) else {
        let fault = Diagnostic::error(
            codes::UNKNOWN_REFERENCE,
            format!("there is no reference `{}`", reference.name),
        )
        .at(reference.span, "named here")
        .note(format!(
            "known are {}",
            names.clone().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
        ));
        return Err(vec![match did_you_mean(&reference.name, names) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault,
        }]);
    };
    let known: Vec<&str> = info.required.iter().chain(info.optional).copied().collect();
    let mut faults = Vec::new();
    for (name, _) in &reference.roles {
        if !known.contains(&name.as_str()) {
            let fault = Diagnostic::error(codes::BAD_ROLE, format!("`{}` has no role `{name}`", info.name))
                .at(reference.span, "");
            faults.push(match did_you_mean(name, known.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `.{near}`?")),
                None => fault.note(format!("its roles are {}", known.join(", "))),
            });
        }
    }
    faults.extend(info.required.iter().filter_map(|name| role(reference, name).err()));
    if faults.is_empty() { Ok(info) } else { Err(faults) }
}

/// Computes a reference and compares the outputs with it.
///
/// # Errors
/// When the reference is named wrong, or the arrays do not have the form it needs. Differences are no error here: see
/// [`Comparison::diagnostic`].
pub fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let info = verify(reference)?;
    let mut all = (info.check)(reference, cx).map_err(|fault| vec![fault])?;
    all.iter_mut().for_each(|one| one.against = Against::Reference(info.name.to_owned()));
    Ok(all)
}

fn one(
    reference: &Reference,
    cx: &Context<'_>,
    what: &str,
    want: &[f64],
    tolerance: Tolerance,
) -> Result<Comparison, Diagnostic> {
    let name = role(reference, what)?;
    let tolerance = cx.operands.map_or(tolerance, |elem| tolerance.with_operands(elem, want));
    compare(name, find(reference, cx.outputs, name)?, want, tolerance)
}

fn find<'a>(reference: &Reference, arrays: &'a Arrays, name: &str) -> Result<&'a Array, Diagnostic> {
    arrays.get(name).ok_or_else(|| {
        let names: Vec<String> = arrays.keys().map(|n| format!("`{n}`")).collect();
        Diagnostic::error(
            codes::CANNOT_COMPARE,
            format!("there is no array `{name}` to compute a reference with"),
        )
        .at(reference.span, "needed here")
        .note(format!("there are {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") }))
    })
}

/// The name that plays a role.
///
/// # Errors
/// When the reference names none.
pub fn role<'a>(reference: &'a Reference, name: &str) -> Result<&'a str, Diagnostic> {
    let found = reference.roles.iter().find(|(role, _)| role == name);
    found.map(|(_, value)| value.as_str()).ok_or_else(|| {
        Diagnostic::error(codes::BAD_ROLE, format!("`{}` lacks the role `{name}`", reference.name))
            .at(reference.span, format!("add `.{name} = …`"))
            .help(format!("name the parameter of the host entry that is its `{name}`"))
    })
}

/// The entry parameter with this name, when it is a paged cache.
pub(crate) fn entry_cache<'a>(module: &Module, name: &'a str) -> Result<&'a str, Diagnostic> {
    let param = module.entry.iter().flat_map(|e| &e.params).find(|p| p.name == name);
    match param {
        Some(param) if param.ty == EntryTy::PagedKvCache => Ok(name),
        Some(param) => Err(Diagnostic::error(codes::BAD_ROLE, format!("`{name}` is not a paged KV cache"))
            .at(param.span, "declared here")
            .help(format!("declare it as `PagedKVCache {name}`"))),
        None => Err(Diagnostic::error(codes::BAD_ROLE, format!("the host entry has no parameter `{name}`"))),
    }
}

/// The elements of an array of real numbers.
pub fn to_f64(array: &Array) -> Option<Vec<f64>> {
    let mut out = vec![0.0; array.len()];
    rows::Rows::new(array)?.read(0, &mut out);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(name: &str, roles: &[(&str, &str)]) -> Reference {
        let roles = roles.iter().map(|(r, n)| ((*r).to_owned(), (*n).to_owned())).collect();
        Reference { name: name.to_owned(), roles, span: wsp_diag::Span::default() }
    }

    #[test]
    fn unknown_references_and_roles_are_named() {
        let faults = verify(&reference("paged_decode_attentoin", &[])).unwrap_err();
        assert_eq!(faults[0].code, codes::UNKNOWN_REFERENCE);
        assert_eq!(faults[0].help, ["did you mean `paged_decode_attention`?"]);
        let faults = verify(&reference(PAGED_DECODE_ATTENTION, &[("q", "q"), ("outptu", "o")])).unwrap_err();
        let messages: Vec<&str> = faults.iter().map(|f| f.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "`paged_decode_attention` has no role `outptu`",
                "`paged_decode_attention` lacks the role `kv`",
                "`paged_decode_attention` lacks the role `output`"
            ]
        );
    }

    #[test]
    fn arrays_that_are_not_there_are_no_panic() {
        let cx = Context {
            inputs: &Arrays::new(),
            outputs: &Arrays::new(),
            params: &|_| None,
            layout: KvLayout::Nhd,
            threads: 1,
            operands: None,
        };
        let reference = reference(PAGED_DECODE_ATTENTION, &[("q", "q"), ("kv", "kv"), ("output", "o")]);
        assert_eq!(check(&reference, &cx).unwrap_err()[0].code, codes::CANNOT_COMPARE);
    }
}
