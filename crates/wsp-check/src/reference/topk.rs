//! The top-k indexer in f64: which keys of a request score highest for its query.
//!
//! The score of key `s` is `Σ_h weights[h] · relu(q[h] · k[s])`; larger scores first, equal ones by index.

use super::dense::{
    Dense, by_rows, compare_sums, count, dot, expect_rows, expect_shape, integers, relu, unfit,
};
use super::{Comparison, Context, Tolerance, find, one, role};
use wsp_diag::Diagnostic;
use wsp_ir::Reference;
use wsp_ordered::Arrange;

/// Largest whole number up to which `f32` holds all.
const F32_WHOLE: f64 = (1u32 << 24) as f64;

/// The problem with its extents checked: request `b` has keys `indptr[b]..indptr[b + 1]`.
struct Indexer {
    q: Dense,
    weights: Dense,
    keys: Dense,
    indptr: Vec<usize>,
    top_k: usize,
    threads: usize,
}

/// Computes scores, selects, and compares indices and, when given, their scores.
///
/// Inputs on a coarse grid have sums that `f32` holds exactly: then indices and scores must be the same. Otherwise two keys may
/// change places when their scores differ by less than rounding can.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let indexer = Indexer::new(reference, cx)?;
    let have = Dense::of(find(reference, cx.outputs, role(reference, "indices")?)?);
    let have = have.filter(|have| have.values.len() == indexer.outputs());
    let exact = indexer.is_exact();
    // Per request the indices, then the scores.
    let rows = by_rows(indexer.threads, indexer.requests(), 2 * indexer.top_k, |b, out| {
        let near = have.as_ref().filter(|_| !exact).map(|have| have.row(b));
        indexer.select(b, near, out);
    });
    let half = |keep: std::ops::Range<usize>| -> Vec<f64> {
        rows.chunks_exact(2 * indexer.top_k).flat_map(|row| row[keep.clone()].to_vec()).collect()
    };
    let (indices, scores) = (half(0..indexer.top_k), half(indexer.top_k..2 * indexer.top_k));
    let mut all = vec![one(reference, cx, "indices", &indices, Tolerance::EXACT)?];
    if role(reference, "scores").is_ok() {
        let terms = indexer.q.shape[1] * indexer.q.cols();
        all.push(match exact {
            true => one(reference, cx, "scores", &scores, Tolerance::EXACT)?,
            false => compare_sums(reference, cx, "scores", &scores, terms)?,
        });
    }
    Ok(all)
}

impl Indexer {
    fn new(reference: &Reference, cx: &Context<'_>) -> Result<Indexer, Diagnostic> {
        let input = |what| Dense::input(reference, cx, what);
        let indexer = Indexer {
            q: input("q")?,
            weights: input("weights")?,
            keys: input("keys")?,
            indptr: integers(reference, cx, "indptr")?,
            top_k: count(reference, cx, "top_k")?,
            threads: cx.threads,
        };
        let (&[batch, heads, dim], &[total, _]) = (&indexer.q.shape[..], &indexer.keys.shape[..]) else {
            let (q, keys) = (&indexer.q.shape, &indexer.keys.shape);
            return Err(unfit(reference, format!("queries {q:?} do not go with keys {keys:?}")));
        };
        expect_shape(reference, "weights", &indexer.weights, &[batch, heads])?;
        expect_shape(reference, "keys", &indexer.keys, &[total, dim])?;
        expect_rows(reference, &indexer.indptr, batch, total)?;
        if indexer.top_k == 0 {
            return Err(unfit(reference, "`top_k` is 0".to_owned()));
        }
        Ok(indexer)
    }

    fn requests(&self) -> usize {
        self.indptr.len() - 1
    }

    fn outputs(&self) -> usize {
        self.requests() * self.top_k
    }

    /// Whether every sum of every score is a whole number of some unit, small enough for `f32`.
    fn is_exact(&self) -> bool {
        let steps = [&self.q, &self.keys, &self.weights].map(|array| largest_in_units(&array.values));
        let terms = (self.q.shape[1] * self.q.cols()) as f64;
        steps.iter().product::<f64>() * terms <= F32_WHOLE
    }

    /// Score of one key, and the largest error of its sums in f32.
    fn score(&self, b: usize, key: usize) -> (f64, f64) {
        let heads = self.q.shape[1];
        let (mut score, mut size) = (0.0, 0.0);
        for (h, weight) in self.weights.row(b).iter().enumerate() {
            let (q, k) = (self.q.row(b * heads + h), self.keys.row(key));
            score += weight * relu(dot(q, k));
            size += weight.abs() * q.iter().zip(k).map(|(q, k)| (q * k).abs()).sum::<f64>();
        }
        // The classical bound for sums of n terms, n u Σ|terms|.
        (score, (self.q.cols() + heads + 2) as f64 * 2f64.powi(-24) * size)
    }

    /// The first `top_k` indices of a request, -1 where it has fewer keys, and their scores, -∞ there. What stands in `near`
    /// counts as right where its score could be the wanted one.
    fn select(&self, b: usize, near: Option<&[f64]>, out: &mut [f64]) {
        let first = self.indptr[b];
        let scores: Vec<(f64, f64)> = (first..self.indptr[b + 1]).map(|key| self.score(b, key)).collect();
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.arrange_by(|&i, &j| scores[j].0.total_cmp(&scores[i].0).then(i.cmp(&j)));
        let (indices, values) = out.split_at_mut(self.top_k);
        indices.fill(-1.0);
        values.fill(f64::NEG_INFINITY);
        let mut taken = vec![false; scores.len()];
        for (at, &want) in order.iter().take(self.top_k).enumerate() {
            let other = near.map_or(want, |near| near[at] as usize);
            let swapped = other < scores.len() && !taken[other] && {
                let ((a, a_error), (b, b_error)) = (scores[want], scores[other]);
                (a - b).abs() <= a_error + b_error
            };
            let chosen = if swapped { other } else { want };
            taken[chosen] = true;
            indices[at] = chosen as f64;
            values[at] = scores[chosen].0;
        }
    }
}

/// The largest magnitude, counted in the largest power of two of which all values are multiples; infinite where there is none.
fn largest_in_units(values: &[f64]) -> f64 {
    let mut unit = i32::MAX;
    let mut largest = 0f64;
    for &value in values.iter().filter(|v| **v != 0.0) {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7FF) as i32;
        if exponent == 0 || exponent == 0x7FF {
            return f64::INFINITY;
        }
        let zeros = (bits & ((1 << 52) - 1) | 1 << 52).trailing_zeros();
        unit = unit.min(exponent - 1075 + zeros.cast_signed());
        largest = largest.max(value.abs());
    }
    if largest == 0.0 { 0.0 } else { largest * 2f64.powi(-unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexer(keys: &[f64], top_k: usize) -> Indexer {
        let dense =
            |shape: &[usize], values: &[f64]| Dense { shape: shape.to_vec(), values: values.to_vec() };
        Indexer {
            q: dense(&[2, 1, 1], &[1.0, 2.0]),
            weights: dense(&[2, 1], &[1.0, 0.5]),
            keys: dense(&[keys.len(), 1], keys),
            indptr: vec![0, 1, keys.len()],
            top_k,
            threads: 1,
        }
    }

    fn select(indexer: &Indexer, near: Option<&[f64]>) -> Vec<f64> {
        let mut out = vec![0.0; 2 * indexer.top_k];
        indexer.select(1, near, &mut out);
        out
    }

    #[test]
    fn equal_scores_go_by_index_and_negative_products_count_as_nothing() {
        // The first key is another request's.
        let found = select(&indexer(&[9.0, 0.5, -3.0, 2.0, 0.5], 3), None);
        assert_eq!(found, [2.0, 0.0, 3.0, 2.0, 0.5, 0.5]);
        let found = select(&indexer(&[9.0, -1.0, -2.0], 3), None);
        assert_eq!(found, [0.0, 1.0, -1.0, 0.0, 0.0, f64::NEG_INFINITY]);
    }

    #[test]
    fn near_ties_may_swap_and_others_not() {
        let keys = indexer(&[9.0, 1.0, 1.0 + 1e-9, 4.0], 2);
        assert_eq!(select(&keys, Some(&[2.0, 0.0]))[..2], [2.0, 0.0]);
        assert_eq!(select(&keys, Some(&[0.0, 2.0]))[..2], [2.0, 1.0]);
        assert_eq!(select(&keys, Some(&[2.0, 2.0]))[..2], [2.0, 1.0]);
    }

    #[test]
    fn sums_on_a_coarse_grid_are_exact() {
        assert!(indexer(&[9.0, 0.125], 1).is_exact());
        assert!(!indexer(&[9.0, 0.1], 1).is_exact());
        assert_eq!(largest_in_units(&[0.75, 0.0, -3.0]), 12.0);
    }
}
