//! DeepSeek indexer attention in f64: scores of an indexer, the tokens with the largest, and attention over them.
//!
//! Queries are the last of the tokens. With `n = rms_norm(hidden)`: `q = n · w_q`, `kv = n · w_kv`, both kept in f16; the score
//! of token `s` for query `i` is `Σ_h w[i, h] · relu(q[i, h] · k[s])` of `hidden · index_w`, `hidden · index_q` and
//! `hidden · index_k`. A query sees its own token and those before it; it attends to the `top_k` with the largest scores,
//! equal ones by number.

use super::dense::{
    Dense, WORST_OF_MANY, attend, by_rows, count, dot, expect_shape, product, relu, tolerance_of_sums, unfit,
};
use super::{Comparison, Context, Tolerance, find, one, role};
use crate::numbers::{Elem, F16};
use wsp_core::DType;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;
use wsp_ordered::Arrange;

/// What keeps the root mean square of a row of zeros from being divided by.
const EPS: f64 = 1e-6;

/// Sums that a score goes through one after the other: query, key, weight, and their products over the lanes and heads.
const CHAINED_SUMS: f64 = 4.0;

/// Weights, by the names that they have in the kernels' file, as rows of inputs of one output.
struct Weights {
    rms: Vec<f64>,
    q: Dense,
    kv: Dense,
    index_q: Dense,
    index_k: Dense,
    index_w: Dense,
}

/// The problem with its extents checked.
struct Indexer {
    hidden: Dense,
    weights: Weights,
    queries: usize,
    top_k: usize,
    threads: usize,
}

/// Computes scores and attention, and compares both.
///
/// Scores are f32 sums and compared as such. Attention is computed for the tokens that the *program's own* scores choose: which
/// of two tokens comes first may hang on the last bit of a score, and does not matter, but what follows from the scores must be
/// right to the last index.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let indexer = Indexer::new(reference, cx)?;
    let scores = indexer.scores();
    let terms = indexer.hidden.cols() + indexer.weights.index_q.shape[0];
    let sums = tolerance_of_sums(terms, &scores);
    let factor = CHAINED_SUMS * WORST_OF_MANY;
    let tolerance = Tolerance { abs: factor * sums.abs, rel: factor * sums.rel };
    let first = one(reference, cx, "scores", &scores, tolerance)?;
    let name = role(reference, "scores")?;
    let own = Dense::of(find(reference, cx.outputs, name)?)
        .ok_or_else(|| unfit(reference, format!("`{name}` holds no real numbers")))?;
    let output = indexer.attention(&own);
    let second = one(reference, cx, "output", &output, of_attention(&output))?;
    Ok(vec![first, second])
}

/// For attention over `q` and `kv` that were rounded to f16, each maybe to the other side than here, and that is rounded to f16
/// itself: one unit in the last place of elements as large as outputs are, and half a unit of each.
fn of_attention(output: &[f64]) -> Tolerance {
    let half = Tolerance { abs: 0.0, rel: 0.0 }.rounded_to(DType::F16);
    let sums = tolerance_of_sums(output.len(), output);
    let size = sums.abs / sums.rel;
    Tolerance { abs: half.abs + 2.0 * half.rel * size, rel: half.rel }
}

impl Indexer {
    fn new(reference: &Reference, cx: &Context<'_>) -> Result<Indexer, Diagnostic> {
        let hidden = Dense::input(reference, cx, "hidden")?;
        let &[tokens, width] = &hidden.shape[..] else {
            return Err(unfit(reference, format!("`hidden` is {:?}, not [tokens, width]", hidden.shape)));
        };
        let matrix = |name: &str| {
            let dense = Dense::of(find(reference, cx.inputs, name)?);
            let dense = dense.ok_or_else(|| unfit(reference, format!("`{name}` holds no real numbers")))?;
            match dense.shape[..] {
                [rows, cols] if rows == width && cols > 0 => Ok(transposed(&dense)),
                _ => Err(unfit(reference, format!("`{name}` is {:?}, not [{width}, …]", dense.shape))),
            }
        };
        let rms = Dense::of(find(reference, cx.inputs, "rms_weight")?);
        let rms = rms.filter(|rms| rms.values.len() == width);
        let rms = rms.ok_or_else(|| unfit(reference, format!("`rms_weight` is not {width} real numbers")))?;
        let weights = Weights {
            rms: rms.values,
            q: matrix("w_q")?,
            kv: matrix("w_kv")?,
            index_q: matrix("index_q")?,
            index_k: matrix("index_k")?,
            index_w: matrix("index_w")?,
        };
        let shape = |what| -> Result<Vec<usize>, Diagnostic> {
            let array = find(reference, cx.outputs, role(reference, what)?)?;
            Ok(array.shape().iter().map(|&n| n as usize).collect())
        };
        let queries = shape("output")?.first().copied().unwrap_or(0);
        let head = weights.kv.shape[0];
        let heads = (weights.index_w.shape[0], weights.index_k.shape[0]);
        let fits = queries <= tokens
            && shape("output")? == [queries, head]
            && shape("scores")? == [queries, tokens]
            && weights.index_q.shape[0] == heads.0 * heads.1;
        if !fits {
            let (scores, output) = (shape("scores")?, shape("output")?);
            return Err(unfit(
                reference,
                format!(
                    "{tokens} do not go with scores {scores:?}, outputs {output:?} and the weights",
                    tokens = counted(tokens, "token")
                ),
            ));
        }
        expect_shape(reference, "w_q", &weights.q, &[head, width])?;
        let top_k = count(reference, cx, "top_k")?;
        Ok(Indexer { hidden, weights, queries, top_k, threads: cx.threads })
    }

    fn tokens(&self) -> usize {
        self.hidden.shape[0]
    }

    /// The token of query 0.
    fn first(&self) -> usize {
        self.tokens() - self.queries
    }

    /// Rows of `hidden` from a token on, times a matrix.
    fn project(&self, from: usize, matrix: &Dense) -> Vec<f64> {
        let width = self.hidden.cols();
        product(self.threads, &self.hidden.values[from * width..], &matrix.values, width)
    }

    /// `[queries, tokens]`: -∞ where a query does not see the token.
    fn scores(&self) -> Vec<f64> {
        let Weights { index_q, index_k, index_w, .. } = &self.weights;
        let (heads, dim) = (index_w.shape[0], index_k.shape[0]);
        let (q, w) = (self.project(self.first(), index_q), self.project(self.first(), index_w));
        let k = self.project(0, index_k);
        by_rows(self.threads, self.queries, self.tokens(), |i, out| {
            out.fill(f64::NEG_INFINITY);
            for (out, key) in out.iter_mut().zip(k.chunks_exact(dim)).take(self.first() + i + 1) {
                let query = q[i * heads * dim..][..heads * dim].chunks_exact(dim);
                let weights = &w[i * heads..][..heads];
                *out = query.zip(weights).map(|(query, w)| w * relu(dot(query, key))).sum();
            }
        })
    }

    /// Attention over the tokens that these scores choose, `[queries, head]`.
    fn attention(&self, scores: &Dense) -> Vec<f64> {
        let width = self.hidden.cols();
        let norm = by_rows(self.threads, self.tokens(), width, |t, out| {
            let x = self.hidden.row(t);
            let scale = (dot(x, x) / width as f64 + EPS).sqrt().recip();
            for ((out, x), weight) in out.iter_mut().zip(x).zip(&self.weights.rms) {
                *out = x * scale * weight;
            }
        });
        let head = self.weights.kv.shape[0];
        let kv = in_f16(product(self.threads, &norm, &self.weights.kv.values, width));
        let q = in_f16(product(self.threads, &norm[self.first() * width..], &self.weights.q.values, width));
        let sm_scale = (head as f64).sqrt().recip();
        by_rows(self.threads, self.queries, head, |i, out| {
            let chosen = largest(&scores.row(i)[..self.first() + i + 1], self.top_k);
            let value = |n: usize| &kv[chosen[n] * head..][..head];
            let query = &q[i * head..][..head];
            let mut logits: Vec<f64> = (0..chosen.len()).map(|n| dot(query, value(n)) * sm_scale).collect();
            attend(&mut logits, value, out);
        })
    }
}

/// The numbers of the `top_k` largest scores, the largest first, equal ones by number; NaN counts as -∞.
fn largest(scores: &[f64], top_k: usize) -> Vec<usize> {
    let score = |s: usize| if scores[s].is_nan() { f64::NEG_INFINITY } else { scores[s] };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.arrange_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
    order.truncate(top_k);
    order
}

/// Rounded to f16, as tensors of that type hold them.
fn in_f16(mut values: Vec<f64>) -> Vec<f64> {
    for value in &mut values {
        *value = f64::from(F16::decode(F16::encode(*value as f32)));
    }
    values
}

fn transposed(matrix: &Dense) -> Dense {
    let (rows, cols) = (matrix.shape[0], matrix.shape[1]);
    let mut values = Vec::with_capacity(rows * cols);
    for c in 0..cols {
        values.extend((0..rows).map(|r| matrix.values[r * cols + c]));
    }
    Dense { shape: vec![cols, rows], values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_plan::{Array, Arrays};

    fn dense(shape: &[usize], values: &[f64]) -> Dense {
        assert_eq!(shape.iter().product::<usize>(), values.len());
        Dense { shape: shape.to_vec(), values: values.to_vec() }
    }

    /// Three tokens of width 2, the last two of them queries; one index head of one lane, heads of one lane.
    fn small(top_k: usize) -> Indexer {
        let column = |a: f64, b: f64| dense(&[1, 2], &[a, b]);
        Indexer {
            hidden: dense(&[3, 2], &[1.0, 1.0, 2.0, 0.0, 0.0, 3.0]),
            weights: Weights {
                rms: vec![1.0, 1.0],
                q: column(0.0, 0.0),
                kv: column(1.0, 0.0),
                index_q: column(1.0, -1.0),
                index_k: column(1.0, 0.0),
                index_w: column(0.5, 0.5),
            },
            queries: 2,
            top_k,
            threads: 1,
        }
    }

    #[test]
    fn a_query_scores_the_tokens_that_it_sees() {
        // Query 0 is token 1: q = 2, w = 1, keys 1 and 2. Query 1 is token 2: q = -3, so every product is cut off.
        let scores = small(2).scores();
        assert_eq!(scores, [2.0, 4.0, f64::NEG_INFINITY, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn attention_is_over_the_tokens_with_the_largest_scores() {
        // Queries are 0, so that every chosen token weighs the same. Latents are the first lane of [1, 1], [√2, 0], [0, √2].
        let own = dense(&[2, 3], &[2.0, 4.0, f64::NEG_INFINITY, 5.0, 5.0, 6.0]);
        let latent = |x: f64| f64::from(F16::decode(F16::encode(x as f32)));
        let root = latent(2.0 / (2.0 + EPS).sqrt());
        let one = latent(1.0 / (1.0 + EPS).sqrt());
        let near = |have: &[f64], want: &[f64]| {
            assert!(have.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{have:?} {want:?}");
        };
        near(&small(1).attention(&own), &[root, 0.0]);
        near(&small(2).attention(&own), &[(root + one) / 2.0, one / 2.0]);
        near(&small(9).attention(&own), &[(root + one) / 2.0, (one + root) / 3.0]);
    }

    /// Weights are given as `[width, …]`, as files have them. All heads have one lane; queries are 0, so that a query takes the mean of what
    /// it sees: latents 1 of token 0 and about 1 of token 1.
    #[test]
    fn cores_that_round_operands_are_allowed_for_in_both_outputs() {
        let array = |shape: &[u64], values: &[f32]| {
            let mut array = Array::zeros(DType::F32, shape).unwrap();
            array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
            array
        };
        let given = |names: &[(&str, Array)]| -> Arrays {
            names.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect()
        };
        let inputs = given(&[
            ("hidden", array(&[2, 1], &[1.0, 1.0])),
            ("rms_weight", array(&[1], &[1.0])),
            ("w_q", array(&[1, 1], &[0.0])),
            ("w_kv", array(&[1, 1], &[1.0])),
            ("index_q", array(&[1, 1], &[1.0])),
            ("index_k", array(&[1, 1], &[1.0])),
            ("index_w", array(&[1, 1], &[1.0])),
        ]);
        // Off by two units in the last place of f16: more than rounding of the output gives, and less than that of operands.
        let outputs = given(&[
            ("scores", array(&[2, 2], &[1.0, f32::NEG_INFINITY, 1.0, 1.0])),
            ("output", array(&[2, 1], &[1.0 + 2.0 / 1024.0, 1.0])),
        ]);
        let own = |name: &str| (name.to_owned(), name.to_owned());
        let names = [
            "hidden",
            "rms_weight",
            "w_q",
            "w_kv",
            "index_q",
            "index_k",
            "index_w",
            "scores",
            "output",
            "top_k",
        ];
        let reference = Reference {
            name: "deepseek_indexer".to_owned(),
            roles: names.map(own).to_vec(),
            span: wsp_diag::Span::default(),
        };
        let within = |operands: Option<DType>| {
            let cx = Context {
                inputs: &inputs,
                outputs: &outputs,
                params: &|name| (name == "top_k").then_some(2.0),
                layout: wsp_backend::KvLayout::Nhd,
                threads: 1,
                operands,
            };
            let all = check(&reference, &cx).unwrap();
            all.iter().map(Comparison::passed).collect::<Vec<_>>()
        };
        assert_eq!(within(Some(DType::F16)), [true, true]);
        assert_eq!(within(None), [true, false]);
    }

    #[test]
    fn equal_scores_go_by_number() {
        assert_eq!(largest(&[1.0, 3.0, 3.0, 2.0, f64::NAN], 3), [1, 2, 3]);
        assert_eq!(largest(&[1.0], 3), [0]);
    }
}
