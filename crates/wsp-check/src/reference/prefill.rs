//! Causal attention over a ragged batch of prompts in f64, and the cache that their keys and values are appended to.

use super::dense::{Dense, attend, by_rows, dot, expect_rows, expect_shape, integers, number, unfit};
use super::{Comparison, Context, Errors, Tolerance, compare, compare_by, find, role};
use crate::to_u32;
use wsp_backend::KvLayout;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// Numbers of a row beside its output.
const MORE: usize = 4;

/// The problem with its extents checked: prompt `b` is rows `indptr[b]..indptr[b + 1]` of all arrays.
struct Prompts {
    q: Dense,
    k: Dense,
    v: Dense,
    indptr: Vec<usize>,
    heads: usize,
    kv_heads: usize,
    /// What products of queries and keys are multiplied by; `1 / sqrt(dim)` when the program does not say.
    scale: f64,
    threads: usize,
}

/// Computes the attention and compares outputs and, when given, logarithms of sums of exponentials.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let prompts = Prompts::new(reference, cx)?;
    let (rows, dim) = (prompts.run(), prompts.q.cols());
    let errors: Vec<Errors> = rows
        .chunks_exact(dim + MORE)
        .map(|row| Errors { tokens: row[dim + 1], logit: row[dim + 2], value: row[dim + 3] })
        .collect();
    let unit = Tolerance::unit(cx.operands);
    let compared = |what: &str, lanes: std::ops::Range<usize>, allowed: &dyn Fn(&Errors) -> Tolerance| {
        let array = find(reference, cx.outputs, role(reference, what)?)?;
        let want: Vec<f64> =
            rows.chunks_exact(dim + MORE).flat_map(|row| row[lanes.clone()].to_vec()).collect();
        let allowed = |at: usize| errors.get(at / lanes.len().max(1)).map_or(Tolerance::EXACT, allowed);
        compare_by(role(reference, what)?, array, &want, |at| allowed(at).rounded_to(array.dtype()))
    };
    let mut all = vec![compared("output", 0..dim, &|of| of.output().and(of.output_of_operands(unit)))?];
    if role(reference, "lse").is_ok() {
        all.push(compared("lse", dim..dim + 1, &|of| of.lse().and(of.lse_of_operands(unit)))?);
    }
    if let Ok(cache) = role(reference, "kv") {
        for (side, rows) in [("k", &prompts.k), ("v", &prompts.v)] {
            all.push(prompts.appended(reference, cx, cache, side, rows)?);
        }
    }
    Ok(all)
}

impl Prompts {
    fn new(reference: &Reference, cx: &Context<'_>) -> Result<Prompts, Diagnostic> {
        let input = |what| Dense::input(reference, cx, what);
        let (q, k, v) = (input("q")?, input("k")?, input("v")?);
        let indptr = integers(reference, cx, "indptr")?;
        let (&[total, heads, dim], &[_, kv_heads, _]) = (&q.shape[..], &k.shape[..]) else {
            let why = format!(
                "queries are {:?} and keys {:?}, where [tokens, heads, lanes] is needed",
                q.shape, k.shape
            );
            return Err(unfit(reference, why));
        };
        expect_shape(reference, "k", &k, &[total, kv_heads, dim])?;
        expect_shape(reference, "v", &v, &[total, kv_heads, dim])?;
        expect_rows(reference, &indptr, indptr.len().saturating_sub(1), total)?;
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(unfit(reference, format!("{heads} query heads do not share {kv_heads} KV heads")));
        }
        let scale = match role(reference, "sm_scale") {
            Ok(_) => number(reference, cx, "sm_scale")?,
            Err(_) => 1.0 / (dim as f64).sqrt(),
        };
        Ok(Prompts { q, k, v, indptr, heads, kv_heads, scale, threads: cx.threads })
    }

    /// Compares the pages of a cache, `k` or `v` by `side`, with what they were, but for prompt `b`, which is the first tokens of request `b`.
    fn appended(
        &self,
        reference: &Reference,
        cx: &Context<'_>,
        cache: &str,
        side: &str,
        rows: &Dense,
    ) -> Result<Comparison, Diagnostic> {
        let name = &format!("{cache}.{side}");
        let table = |field: &str| {
            let name = format!("{cache}.{field}");
            find(reference, cx.inputs, &name).and_then(|array| to_u32(&name, array))
        };
        let (indptr, indices) = (table("indptr")?, table("indices")?);
        let mut pages = Dense::input_named(reference, cx, name)?;
        let (dim, heads) = (self.q.cols(), self.kv_heads);
        let page_size = match (&pages.shape[..], cx.layout) {
            (&[_, size, h, lanes], KvLayout::Nhd) | (&[_, h, size, lanes], KvLayout::Hnd)
                if (h, lanes) == (heads, dim) && size > 0 =>
            {
                size
            }
            (shape, _) => {
                return Err(unfit(
                    reference,
                    format!(
                        "pages {shape:?} are not for {heads} of {dim} lanes",
                        heads = counted(heads, "head")
                    ),
                ));
            }
        };
        for (b, prompt) in self.indptr.windows(2).enumerate() {
            for (token, row) in (prompt[0]..prompt[1]).enumerate() {
                let held = indptr.get(b).map_or(usize::MAX, |&first| first as usize + token / page_size);
                let end = indptr.get(b + 1).map_or(0, |&end| end as usize);
                let page = match indices.get(held).filter(|_| held < end) {
                    Some(&page) => page as usize,
                    None => {
                        return Err(unfit(reference, format!("request {b} has no page for token {token}")));
                    }
                };
                for head in 0..heads {
                    let slot = token % page_size;
                    let at = match cx.layout {
                        KvLayout::Nhd => (page * page_size + slot) * heads + head,
                        KvLayout::Hnd => (page * heads + head) * page_size + slot,
                    };
                    let place = pages.values.get_mut(at * dim..(at + 1) * dim);
                    let place = place.ok_or_else(|| unfit(reference, format!("there is no page {page}")))?;
                    place.copy_from_slice(rows.row(row * heads + head));
                }
            }
        }
        let dtype = find(reference, cx.inputs, name)?.dtype();
        let given = find(reference, cx.inputs, role(reference, side)?)?.dtype();
        // Rows are stored as they are, unless the cache has another type.
        let tolerance = match given == dtype {
            true => Tolerance::EXACT,
            false => Tolerance::EXACT.rounded_to(dtype),
        };
        compare(name, find(reference, cx.outputs, name)?, &pages.values, tolerance)
    }

    /// Per token and query head its output, then `log2` of its sum of exponentials, and the parts of [`Errors`].
    fn run(&self) -> Vec<f64> {
        let (dim, group) = (self.q.cols(), self.heads / self.kv_heads);
        let firsts: Vec<usize> = self.indptr.windows(2).flat_map(|w| vec![w[0]; w[1] - w[0]]).collect();
        by_rows(self.threads, firsts.len() * self.heads, dim + MORE, |row, out| {
            let (token, head) = (row / self.heads, row % self.heads);
            let at = |s: usize| (firsts[token] + s) * self.kv_heads + head / group;
            let (query, seen) = (self.q.row(row), 0..=token - firsts[token]);
            let mut scores: Vec<f64> =
                seen.clone().map(|s| dot(query, self.k.row(at(s))) * self.scale).collect();
            let (out, more) = out.split_at_mut(dim);
            let lse = attend(&mut scores, |s| self.v.row(at(s)), out);
            // The scores are weights, whose sum is not yet divided by.
            let mean = |of: &dyn Fn(usize) -> f64| {
                let sum: f64 = seen.clone().map(|s| scores[s] * of(s)).sum();
                sum / scores.iter().sum::<f64>()
            };
            let norm = |x: &[f64]| dot(x, x).sqrt();
            let largest = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let logit = mean(&|s| norm(query) * norm(self.k.row(at(s))) * self.scale.abs());
            let value = mean(&|s| largest(self.v.row(at(s))).powi(2)).sqrt();
            more.copy_from_slice(&[lse, scores.len() as f64, logit, value]);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_do_not_see_each_other_nor_the_future() {
        let dense = |values: &[f64]| Dense { shape: vec![3, 1, 1], values: values.to_vec() };
        let prompts = Prompts {
            q: dense(&[1.0, 1.0, 1.0]),
            k: dense(&[0.0, 3f64.ln(), 7.0]),
            v: dense(&[4.0, 8.0, 9.0]),
            indptr: vec![0, 0, 2, 3],
            heads: 1,
            kv_heads: 1,
            scale: 1.0,
            threads: 1,
        };
        let rows = prompts.run();
        let logit = 0.75 * 3f64.ln();
        let want = [
            [4.0, 0.0, 1.0, 0.0, 4.0],
            [7.0, 2.0, 2.0, logit, 52f64.sqrt()],
            [9.0, 7.0 * std::f64::consts::LOG2_E, 1.0, 7.0, 9.0],
        ];
        assert_eq!(rows.len(), 15);
        assert!(rows.iter().zip(want.concat()).all(|(a, b)| (a - b).abs() < 1e-14), "{rows:?}");
    }
}
