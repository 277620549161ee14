//! References of decode attention: roles of a program become a problem in f64.

use super::attention::{Attention, Errors};
use super::features::Features;
use super::paged::Cache;
use super::{Comparison, Context, Tolerance, compare_by, find, role, to_f64};
use crate::generate::Values;
use crate::to_u32;
use pto_wsp::codes;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// Roles of `paged_decode_attention` that may be left out.
pub(super) const OPTIONAL: &[&str] = &[
    "lse",
    "sm_scale",
    "lens",
    "soft_cap",
    "window_left",
    "alibi",
    "rope_theta",
    "sinks",
    "k_scale",
    "v_scale",
    "prefix",
    "shared",
    "q_indptr",
];

/// Attention over a paged cache.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    compute(reference, cx, Values::OfTheirOwn)
}

/// Multi-head latent attention: a value is the first lanes of its key.
pub(super) fn check_latent(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    compute(reference, cx, Values::OfKeys)
}

/// The page table of a cache.
struct Table {
    indptr: Vec<u32>,
    indices: Vec<u32>,
    last_page_len: Vec<u32>,
}

fn compute(reference: &Reference, cx: &Context<'_>, values: Values) -> Result<Vec<Comparison>, Diagnostic> {
    let q = find(reference, cx.inputs, role(reference, "q")?)?;
    let name = role(reference, "kv")?;
    let table = Table::of(reference, cx, name)?;
    let prefix = match given(reference, "prefix") {
        Some(name) => Some((name, Table::of(reference, cx, name)?)),
        None => None,
    };
    let q_indptr = match given(reference, "q_indptr") {
        Some(name) => Some(to_u32(name, find(reference, cx.inputs, name)?)?),
        None => None,
    };
    let output = find(reference, cx.outputs, role(reference, "output")?)?;
    let out_lanes = match number(reference, cx, "v_dim")? {
        Some(lanes) => lanes,
        None => output.shape().last().copied().unwrap_or(0) as f64,
    };
    let (slopes, sinks) = (heads(reference, cx, "alibi")?, heads(reference, cx, "sinks")?);
    let problem = Attention {
        q,
        q_indptr: q_indptr.as_deref(),
        cache: table.cache(reference, cx, name, values)?,
        prefix: match &prefix {
            Some((name, table)) => Some(table.cache(reference, cx, name, values)?),
            None => None,
        },
        out_lanes: out_lanes as usize,
        sm_scale: number(reference, cx, "sm_scale")?,
        features: Features {
            soft_cap: number(reference, cx, "soft_cap")?.unwrap_or(0.0),
            // A negative window is none.
            window_left: number(reference, cx, "window_left")?.filter(|&n| n >= 0.0).map(|n| n as u64),
            slopes: &slopes,
            rope_theta: number(reference, cx, "rope_theta")?.unwrap_or(0.0),
            sinks: &sinks,
            k_scale: number(reference, cx, "k_scale")?.unwrap_or(1.0),
            v_scale: number(reference, cx, "v_scale")?.unwrap_or(1.0),
        },
    };
    let dense = problem.dense(cx.threads).map_err(|why| {
        Diagnostic::error(codes::CANNOT_COMPARE, "the reference cannot be computed from these arrays")
            .note(why)
    })?;
    let unit = Tolerance::unit(cx.operands);
    let by_row = |what: &str, want: &[f64], lanes: usize, allowed: &dyn Fn(&Errors) -> Tolerance| {
        let name = role(reference, what)?;
        let array = find(reference, cx.outputs, name)?;
        let allowed = |at: usize| dense.errors.get(at / lanes.max(1)).map_or(Tolerance::EXACT, allowed);
        compare_by(name, array, want, |at| allowed(at).rounded_to(array.dtype()))
    };
    let mut results = vec![by_row("output", &dense.o, out_lanes as usize, &|of| {
        of.output().and(of.output_of_operands(unit))
    })?];
    if given(reference, "lse").is_some() {
        results.push(by_row("lse", &dense.lse, 1, &|of| of.lse().and(of.lse_of_operands(unit)))?);
    }
    Ok(results)
}

impl Table {
    fn of(reference: &Reference, cx: &Context<'_>, cache: &str) -> Result<Table, Diagnostic> {
        let field = |field: &str| {
            let name = format!("{cache}.{field}");
            find(reference, cx.inputs, &name).and_then(|array| to_u32(&name, array))
        };
        Ok(Table {
            indptr: field("indptr")?,
            indices: field("indices")?,
            last_page_len: field("last_page_len")?,
        })
    }

    fn cache<'a>(
        &'a self,
        reference: &Reference,
        cx: &Context<'a>,
        name: &str,
        values: Values,
    ) -> Result<Cache<'a>, Diagnostic> {
        // What a launch appends to a cache is there for what decodes.
        let pages = |name: &str| match cx.outputs.get(name) {
            Some(written) => Ok(written),
            None => find(reference, cx.inputs, name),
        };
        Ok(Cache {
            k: pages(&format!("{name}.k"))?,
            v: match values {
                Values::OfTheirOwn => Some(pages(&format!("{name}.v"))?),
                Values::OfKeys => None,
            },
            indptr: &self.indptr,
            indices: &self.indices,
            last_page_len: &self.last_page_len,
            layout: cx.layout,
        })
    }
}

/// The name that plays a role, if any does.
pub(super) fn given<'a>(reference: &'a Reference, what: &str) -> Option<&'a str> {
    reference.roles.iter().find(|(role, _)| role == what).map(|(_, name)| name.as_str())
}

/// The value of the parameter that plays a role, if any does.
fn number(reference: &Reference, cx: &Context<'_>, what: &str) -> Result<Option<f64>, Diagnostic> {
    match given(reference, what) {
        Some(_) => super::dense::number(reference, cx, what).map(Some),
        None => Ok(None),
    }
}

/// The array with a number for each query head that plays a role; empty when none does.
fn heads(reference: &Reference, cx: &Context<'_>, what: &str) -> Result<Vec<f64>, Diagnostic> {
    let Some(name) = given(reference, what) else { return Ok(Vec::new()) };
    to_f64(find(reference, cx.inputs, name)?).ok_or_else(|| {
        Diagnostic::error(codes::CANNOT_COMPARE, format!("`{name}` holds no real numbers"))
            .at(reference.span, format!("its role is `{what}`"))
    })
}
