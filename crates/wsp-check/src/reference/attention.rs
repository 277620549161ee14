//! Dense decode attention in f64: a naive softmax in two passes.

use super::Tolerance;
use super::compare::U32;
use super::dense::dot;
use super::features::Features;
use super::paged::{Cache, Pages};
use super::rows::Rows;
use std::sync::atomic::{AtomicUsize, Ordering};
use wsp_core::words::counted;
use wsp_plan::Array;

/// The raw arrays of a decode attention problem.
///
/// The `n` query rows of a request of `len` tokens stand at its last `n` positions, and row `r` sees the tokens up to its own:
/// positions up to `len - n + r`.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    /// Queries `[batch, q_heads, rows, dim]`, or `[all rows, q_heads, dim]` with `q_indptr`.
    pub q: &'a Array,
    /// Request `b` has rows `q_indptr[b]..q_indptr[b + 1]` of packed queries.
    pub q_indptr: Option<&'a [u32]>,
    /// Keys and values.
    pub cache: Cache<'a>,
    /// A cache with one request whose tokens stand before those of every request.
    pub prefix: Option<Cache<'a>>,
    /// Lanes of an output: as many as of a value, or the first of those of a key that values are part of.
    pub out_lanes: usize,
    /// What products of queries and keys are multiplied by; `1 / sqrt(dim)` when none.
    pub sm_scale: Option<f64>,
    /// What models add.
    pub features: Features<'a>,
}

/// What dense attention gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Dense {
    /// Outputs, in the order of the queries with `out_lanes` for `dim`; 0 for a row that sees no token.
    pub o: Vec<f64>,
    /// `log2` of the sums of exponentials, in the order of the queries without `dim`; `-inf` for a row that sees no token and
    /// has no sink.
    pub lse: Vec<f64>,
    /// How far kernels may be off, for each row of `lse`.
    pub errors: Vec<Errors>,
}

/// What rounding in f32 makes of a row of attention. The derivation and the constants are in `docs/reference/checks.md`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Errors {
    /// Tokens that the row sees.
    pub tokens: f64,
    /// What a logit is summed up from: `‖q‖ ‖k‖ · scale` and what is added, in the mean over the weights.
    pub logit: f64,
    /// The largest lane of a value, in the quadratic mean over the weights.
    pub value: f64,
}

/// Errors of a logit, in units of f32 for each unit of [`Errors::logit`].
pub(super) const OF_LOGITS: f64 = 4.0;
/// Errors of an exponential, a product and a quotient, in units of f32.
const OF_OPERATIONS: f64 = 8.0;
/// Errors of a sum of `n` positive terms, in units of f32 for each unit of `√n`.
const OF_SUMS: f64 = 2.0;
/// Errors of an angle of a rotation, in units of f32 for each radian.
const OF_ANGLES: f64 = 4.0;

impl Errors {
    /// What is allowed for an output.
    pub fn output(&self) -> Tolerance {
        let abs = U32 * (OF_LOGITS * self.logit + OF_OPERATIONS) * self.value;
        Tolerance { abs, rel: U32 * (OF_SUMS * self.tokens.sqrt() + OF_OPERATIONS) }
    }

    /// What is allowed beside for an output where the operands of products are rounded by `unit` of themselves: logits by that much of what
    /// they are summed up from, weights and values by that much.
    pub fn output_of_operands(&self, unit: f64) -> f64 {
        unit * (self.logit + 2.0) * self.value
    }

    /// The same for the logarithm of a sum of exponentials.
    pub fn lse_of_operands(&self, unit: f64) -> f64 {
        unit * self.logit * std::f64::consts::LOG2_E
    }

    /// What is allowed for the logarithm of a sum of exponentials.
    pub fn lse(&self) -> Tolerance {
        let sum = OF_LOGITS * self.logit + OF_SUMS * self.tokens.sqrt() + OF_OPERATIONS;
        Tolerance { abs: U32 * std::f64::consts::LOG2_E * sum, rel: OF_OPERATIONS * U32 }
    }
}

/// The problem with its extents checked.
struct Checked<'a> {
    q: Rows<'a>,
    problem: &'a Attention<'a>,
    own: Pages<'a>,
    prefix: Option<Pages<'a>>,
    batch: usize,
    q_heads: usize,
    /// Rows of each request, when all have as many.
    rows: usize,
    dim: usize,
    scale: f64,
}

/// One row of one query head.
struct Query {
    /// Its number among the rows of the result.
    row: usize,
    head: usize,
    position: i64,
    lanes: Vec<f64>,
    norm: f64,
}

/// What one query gives.
struct Answer {
    row: usize,
    o: Vec<f64>,
    lse: f64,
    errors: Errors,
}

impl<'a> Attention<'a> {
    /// Attention without additions; outputs have as many lanes as queries.
    pub fn plain(q: &'a Array, cache: Cache<'a>, sm_scale: Option<f64>) -> Attention<'a> {
        Attention {
            q,
            q_indptr: None,
            cache,
            prefix: None,
            out_lanes: q.shape().last().copied().unwrap_or(0) as usize,
            sm_scale,
            features: Features::default(),
        }
    }

    /// Computes outputs with `threads` threads; the result does not depend on their number.
    ///
    /// # Errors
    /// What is wrong, when the arrays do not form a problem.
    pub fn dense(&self, threads: usize) -> Result<Dense, String> {
        let checked = self.checked()?;
        let units = checked.batch * checked.own.heads;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut answers = Vec::new();
            loop {
                // Relaxed: the counter hands out numbers and orders nothing else.
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    return answers;
                }
                answers.extend(checked.answers(unit / checked.own.heads, unit % checked.own.heads));
            }
        };
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(units)).map(|_| scope.spawn(work)).collect();
            let mut answers = work();
            for other in others {
                answers.extend(other.join().expect("the reference should not panic"));
            }
            answers
        });
        let lanes = self.out_lanes;
        let rows = answers.len();
        let mut dense =
            Dense { o: vec![0.0; rows * lanes], lse: vec![0.0; rows], errors: vec![Errors::default(); rows] };
        for answer in answers {
            dense.o[answer.row * lanes..][..lanes].copy_from_slice(&answer.o);
            dense.lse[answer.row] = answer.lse;
            dense.errors[answer.row] = answer.errors;
        }
        Ok(dense)
    }

    fn checked(&self) -> Result<Checked<'_>, String> {
        let (batch, q_heads, rows, dim) = self.extents()?;
        let own = Pages::new(self.cache, batch)?;
        let prefix = self.prefix.map(|prefix| Pages::new(prefix, 1)).transpose()?;
        for pages in prefix.iter().chain([&own]) {
            let fits = pages.key_lanes == dim
                && pages.heads == own.heads
                && q_heads.is_multiple_of(pages.heads)
                && self.out_lanes <= pages.value_lanes
                && (self.cache.v.is_none() || self.out_lanes == pages.value_lanes);
            if !fits {
                let (q, k) = (self.q.shape(), self.cache.k.shape());
                return Err(format!(
                    "queries {q:?} and outputs of {} lanes do not go with pages {k:?}",
                    self.out_lanes
                ));
            }
        }
        for (name, values) in [("slopes", self.features.slopes), ("sinks", self.features.sinks)] {
            if !values.is_empty() && values.len() != q_heads {
                return Err(format!("there are {} {name} for {q_heads} query heads", values.len()));
            }
        }
        Ok(Checked {
            q: Rows::new(self.q).ok_or_else(|| "queries are not real numbers".to_owned())?,
            problem: self,
            own,
            prefix,
            batch,
            q_heads,
            rows,
            dim,
            scale: self.sm_scale.unwrap_or(1.0 / (dim as f64).sqrt()),
        })
    }

    /// Requests, query heads, rows of each request and lanes.
    fn extents(&self) -> Result<(usize, usize, usize, usize), String> {
        match (self.q_indptr, self.q.shape()) {
            (None, &[batch, heads, rows, dim]) => {
                Ok((batch as usize, heads as usize, rows as usize, dim as usize))
            }
            (Some(indptr), &[total, heads, dim]) => {
                let ascending = indptr.is_sorted() && indptr.first() == Some(&0);
                if ascending && indptr.last().map(|&end| u64::from(end)) == Some(total) {
                    return Ok((indptr.len() - 1, heads as usize, 0, dim as usize));
                }
                Err(format!(
                    "{} row pointers do not cut {total} of queries",
                    indptr.len(),
                    total = counted(total, "row")
                ))
            }
            (None, other) => Err(format!("queries are [batch, heads, rows, dim], not {other:?}")),
            (Some(_), other) => Err(format!("packed queries are [rows, heads, dim], not {other:?}")),
        }
    }
}

impl Checked<'_> {
    fn tokens(&self, b: usize) -> (usize, usize) {
        (self.prefix.as_ref().map_or(0, |prefix| prefix.tokens(0)), self.own.tokens(b))
    }

    /// The queries of a request that share a KV head, rotated to their positions.
    fn queries(&self, b: usize, kv_head: usize, tokens: usize) -> Vec<Query> {
        let group = self.q_heads / self.own.heads;
        let (first, rows) = match self.problem.q_indptr {
            Some(indptr) => (indptr[b] as usize, (indptr[b + 1] - indptr[b]) as usize),
            None => (0, self.rows),
        };
        let each = (kv_head * group..(kv_head + 1) * group).flat_map(|h| (0..rows).map(move |r| (h, r)));
        let query = |(head, r): (usize, usize)| {
            let row = match self.problem.q_indptr {
                Some(_) => (first + r) * self.q_heads + head,
                None => (b * self.q_heads + head) * rows + r,
            };
            let mut lanes = vec![0.0; self.dim];
            self.q.read(row * self.dim, &mut lanes);
            let position = tokens as i64 - rows as i64 + r as i64;
            self.problem.features.rotate(&mut lanes, position);
            let norm = dot(&lanes, &lanes).sqrt();
            Query { row, head, position, lanes, norm }
        };
        each.map(query).collect()
    }

    /// Calls `work(position, pages, request, token)` for the tokens of a request, those of the prefix first.
    fn each_token(&self, b: usize, mut work: impl FnMut(usize, &Pages<'_>, usize, usize)) {
        let (before, own) = self.tokens(b);
        if let Some(prefix) = &self.prefix {
            (0..before).for_each(|t| work(t, prefix, 0, t));
        }
        (0..own).for_each(|t| work(before + t, &self.own, b, t));
    }

    fn answers(&self, b: usize, kv_head: usize) -> Vec<Answer> {
        let features = &self.problem.features;
        let (before, own) = self.tokens(b);
        let tokens = before + own;
        let queries = self.queries(b, kv_head, tokens);
        let mut key = vec![0.0; self.dim];
        let mut logits = vec![f64::NEG_INFINITY; queries.len() * tokens];
        // What each logit is summed up from.
        let mut sizes = vec![0.0; logits.len()];
        self.each_token(b, |position, pages, request, token| {
            pages.key(request, token, kv_head, &mut key);
            key.iter_mut().for_each(|k| *k *= features.k_scale);
            features.rotate(&mut key, position as i64);
            let norm = dot(&key, &key).sqrt();
            for (i, query) in queries.iter().enumerate() {
                let distance = position as i64 - query.position;
                if features.sees(distance) {
                    let product = dot(&query.lanes, &key) * self.scale;
                    logits[i * tokens + position] = features.logit(product, query.head, distance);
                    let turns = features.turns(&query.lanes, &key) * query.position.max(0) as f64;
                    let product = (query.norm * norm + OF_ANGLES * turns) * self.scale.abs();
                    sizes[i * tokens + position] = product + features.added(query.head, distance);
                }
            }
        });
        let lanes = self.problem.out_lanes;
        let mut sums = Vec::with_capacity(queries.len());
        let mut answers = Vec::with_capacity(queries.len());
        for (i, query) in queries.iter().enumerate() {
            let (logits, sizes) = (&mut logits[i * tokens..][..tokens], &sizes[i * tokens..][..tokens]);
            let seen = logits.iter().filter(|x| **x != f64::NEG_INFINITY).count();
            let (sum, lse) = features.exponentials(logits, query.head);
            sums.push(sum);
            let logit = dot(logits, sizes) / sum.max(f64::MIN_POSITIVE);
            let errors = Errors { tokens: seen as f64, logit, value: 0.0 };
            answers.push(Answer { row: query.row, o: vec![0.0; lanes], lse, errors });
        }
        let mut value = vec![0.0; lanes];
        self.each_token(b, |position, pages, request, token| {
            pages.value(request, token, kv_head, &mut value);
            let largest = value.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            for (i, (answer, query)) in answers.iter_mut().zip(&queries).enumerate() {
                let weight = logits[i * tokens + position];
                // A value that is NaN counts whatever its weight.
                if weight != 0.0 || features.sees(position as i64 - query.position) {
                    answer.o.iter_mut().zip(&value).for_each(|(o, v)| *o += weight * v);
                    answer.errors.value += weight * largest * largest;
                }
            }
        });
        for (answer, sum) in answers.iter_mut().zip(sums) {
            if sum > 0.0 || sum.is_nan() {
                answer.o.iter_mut().for_each(|o| *o *= features.v_scale / sum);
                answer.errors.value = (answer.errors.value / sum).sqrt() * features.v_scale.abs();
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_backend::KvLayout;
    use wsp_core::DType;

    fn array(shape: &[u64], values: &[f32]) -> Array {
        let mut array = Array::zeros(DType::F32, shape).unwrap();
        array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
        array
    }

    fn cache<'a>(k: &'a Array, indptr: &'a [u32], indices: &'a [u32], last_page_len: &'a [u32]) -> Cache<'a> {
        Cache { k, v: Some(k), indptr, indices, last_page_len, layout: KvLayout::Nhd }
    }

    #[test]
    fn two_tokens_by_hand() {
        let q = array(&[1, 1, 1, 2], &[1.0, 0.0]);
        let k = array(&[2, 1, 1, 2], &[0.0, 9.0, 2.0, 9.0]);
        let v = array(&[2, 1, 1, 2], &[10.0, 0.0, 20.0, 4.0]);
        let cache = Cache { v: Some(&v), ..cache(&k, &[0, 2], &[1, 0], &[1]) };
        let dense = Attention::plain(&q, cache, Some(0.5)).dense(2).unwrap();
        // Logits are 1 and 0.
        let (a, b) = (std::f64::consts::E, 1.0);
        assert!((dense.o[0] - (20.0 * a + 10.0 * b) / (a + b)).abs() < 1e-14);
        assert!((dense.o[1] - 4.0 * a / (a + b)).abs() < 1e-14);
        assert!((dense.lse[0] - (a + b).log2()).abs() < 1e-14);
    }

    #[test]
    fn rows_see_tokens_up_to_their_own_and_packed_ones_are_rows_of_their_request() {
        let q = array(&[1, 1, 2, 1], &[0.0, 0.0]);
        let k = array(&[1, 2, 1, 1], &[3.0, 5.0]);
        let cache = cache(&k, &[0, 1], &[0], &[2]);
        let each = Attention::plain(&q, cache, None);
        let dense = each.dense(1).unwrap();
        assert_eq!((dense.o, dense.lse), (vec![3.0, 4.0], vec![0.0, 1.0]));
        let q = array(&[2, 1, 1], &[0.0, 0.0]);
        let packed = Attention { q: &q, q_indptr: Some(&[0, 2]), ..each };
        assert_eq!(packed.dense(1), each.dense(1));
        assert!(Attention { q_indptr: Some(&[0, 3]), ..packed }.dense(1).is_err());
        assert!(Attention { q_indptr: None, ..packed }.dense(1).is_err());
    }

    #[test]
    fn a_request_without_tokens_gives_zero_and_minus_infinity() {
        let q = array(&[1, 2, 1, 1], &[1.0, 1.0]);
        let k = array(&[1, 1, 1, 1], &[f32::NAN]);
        let problem = Attention::plain(&q, cache(&k, &[0, 0], &[], &[0]), None);
        let dense = problem.dense(1).unwrap();
        assert_eq!((dense.o, dense.lse), (vec![0.0; 2], vec![f64::NEG_INFINITY; 2]));
    }

    #[test]
    fn page_tables_that_cannot_be_are_refused() {
        let q = array(&[1, 1, 1, 1], &[1.0]);
        let k = array(&[1, 2, 1, 1], &[1.0, 1.0]);
        let good = cache(&k, &[0, 1], &[0], &[2]);
        let dense = |cache| Attention::plain(&q, cache, None).dense(1);
        assert!(dense(good).is_ok());
        for bad in [
            Cache { indices: &[1], ..good },
            Cache { indptr: &[1, 0], ..good },
            Cache { indptr: &[0, 2], ..good },
            Cache { indptr: &[0], ..good },
            Cache { last_page_len: &[3], ..good },
            Cache { last_page_len: &[0], ..good },
        ] {
            assert!(dense(bad).is_err());
        }
    }

    #[test]
    fn numbers_of_heads_and_lanes_must_fit() {
        let q = array(&[1, 2, 1, 1], &[1.0, 1.0]);
        let k = array(&[1, 2, 1, 1], &[1.0, 1.0]);
        let good = Attention::plain(&q, cache(&k, &[0, 1], &[0], &[2]), None);
        let sinks = Features { sinks: &[1.0], ..Features::default() };
        assert!(good.dense(1).is_ok());
        assert!(Attention { features: sinks, ..good }.dense(1).is_err());
        assert!(Attention { out_lanes: 2, ..good }.dense(1).is_err());
    }
}
