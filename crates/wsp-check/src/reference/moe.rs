//! A mixture of experts in f64: each routed token through its expert, weighted, on top of the input.

use super::dense::{Dense, by_rows, compare_sums, dot, expect_rows, expect_shape, integers, silu, unfit};
use super::{Comparison, Context};
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// The problem with its extents checked: expert `e` gets tokens `indices[indptr[e]..indptr[e + 1]]`.
struct Experts {
    x: Dense,
    w_gate: Dense,
    w_up: Dense,
    w_down: Dense,
    indptr: Vec<usize>,
    indices: Vec<usize>,
    weights: Dense,
    threads: usize,
}

/// Computes the mixture and compares the output.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let experts = Experts::new(reference, cx)?;
    let output = experts.run();
    let longest = experts.x.cols().max(experts.w_down.cols());
    Ok(vec![compare_sums(reference, cx, "output", &output, longest)?])
}

impl Experts {
    fn new(reference: &Reference, cx: &Context<'_>) -> Result<Experts, Diagnostic> {
        let input = |what| Dense::input(reference, cx, what);
        let experts = Experts {
            x: input("x")?,
            w_gate: input("w_gate")?,
            w_up: input("w_up")?,
            w_down: input("w_down")?,
            indptr: integers(reference, cx, "indptr")?,
            indices: integers(reference, cx, "indices")?,
            weights: input("weights")?,
            threads: cx.threads,
        };
        let (&[tokens, hidden], &[count, ffn, _]) = (&experts.x.shape[..], &experts.w_gate.shape[..]) else {
            let (x, gate) = (&experts.x.shape, &experts.w_gate.shape);
            return Err(unfit(reference, format!("tokens {x:?} do not go with experts {gate:?}")));
        };
        expect_shape(reference, "w_gate", &experts.w_gate, &[count, ffn, hidden])?;
        expect_shape(reference, "w_up", &experts.w_up, &[count, ffn, hidden])?;
        expect_shape(reference, "w_down", &experts.w_down, &[count, hidden, ffn])?;
        expect_shape(reference, "weights", &experts.weights, &[experts.indices.len()])?;
        expect_rows(reference, &experts.indptr, count, experts.indices.len())?;
        if let Some(token) = experts.indices.iter().find(|&&token| token >= tokens) {
            return Err(unfit(reference, format!("token {token} is routed, of {tokens}")));
        }
        Ok(experts)
    }

    /// `[tokens, hidden]`: `x[t] + Σ weight · expert(x[t])`.
    fn run(&self) -> Vec<f64> {
        let (hidden, ffn) = (self.x.cols(), self.w_down.cols());
        let count = self.indptr.len().saturating_sub(1);
        let owner: Vec<usize> =
            (0..count).flat_map(|e| vec![e; self.indptr[e + 1] - self.indptr[e]]).collect();
        let each = by_rows(self.threads, self.indices.len(), hidden, |entry, out| {
            let (expert, x) = (owner[entry], self.x.row(self.indices[entry]));
            let gated: Vec<f64> = (0..ffn)
                .map(|j| {
                    let row = expert * ffn + j;
                    silu(dot(self.w_gate.row(row), x)) * dot(self.w_up.row(row), x)
                })
                .collect();
            for (j, out) in out.iter_mut().enumerate() {
                *out = dot(self.w_down.row(expert * hidden + j), &gated);
            }
        });
        let mut output = self.x.values.clone();
        for (entry, row) in each.chunks_exact(hidden.max(1)).enumerate() {
            let to = &mut output[self.indices[entry] * hidden..][..hidden];
            to.iter_mut().zip(row).for_each(|(to, y)| *to += self.weights.values[entry] * y);
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_through_their_experts_by_weight() {
        let dense =
            |shape: &[usize], values: &[f64]| Dense { shape: shape.to_vec(), values: values.to_vec() };
        let experts = Experts {
            x: dense(&[2, 1], &[1.0, 2.0]),
            w_gate: dense(&[3, 1, 1], &[1.0, 5.0, -1.0]),
            w_up: dense(&[3, 1, 1], &[1.0, 5.0, 3.0]),
            w_down: dense(&[3, 1, 1], &[1.0, 5.0, 2.0]),
            indptr: vec![0, 2, 2, 3],
            indices: vec![0, 1, 1],
            weights: dense(&[3], &[0.5, 0.25, 0.75]),
            threads: 2,
        };
        let y = experts.run();
        assert!((y[0] - (1.0 + 0.5 * silu(1.0))).abs() < 1e-14);
        assert!((y[1] - (2.0 + 0.25 * silu(2.0) * 2.0 + 0.75 * 2.0 * silu(-2.0) * 6.0)).abs() < 1e-14);
    }
}
