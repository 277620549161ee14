//! A decoder layer of a LLaMA model in f64: the formulas, one after another.

use super::attention::OF_LOGITS;
use super::compare::U32;
use super::dense::{
    Dense, WORST_OF_MANY, attend, by_rows, count, dot, expect_shape, number, product, silu, unfit,
    worst_of_sums,
};
use super::{Comparison, Context, Tolerance, compare_by, find, role};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// The layer with its extents checked. Weights are `[outputs, inputs]`.
struct Layer {
    x: Dense,
    attn_norm: Dense,
    wq: Dense,
    wk: Dense,
    wv: Dense,
    wo: Dense,
    ffn_norm: Dense,
    w_gate: Dense,
    w_up: Dense,
    w_down: Dense,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    eps: f64,
    theta: f64,
    threads: usize,
}

/// Computes the layer and compares its output.
///
/// Where two keys are about as near to a query, which one has more weight hangs on the rounding of their logits. So the layer is
/// computed once more with other logits, and by how much a row changes is allowed beside the rounding of its sums.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let layer = Layer::new(reference, cx)?;
    let want = layer.run(0.0);
    let off = layer.run(OF_LOGITS * U32);
    let longest = [layer.x.cols(), layer.wo.cols(), layer.w_down.cols(), layer.x.shape[0]];
    let sums = worst_of_sums(longest.into_iter().max().unwrap_or(1), &want);
    let cols = layer.x.cols().max(1);
    let by_logits: Vec<f64> = std::iter::zip(want.chunks(cols), off.chunks(cols))
        .map(|(want, off)| std::iter::zip(want, off).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())))
        .collect();
    let name = role(reference, "output")?;
    let output = find(reference, cx.outputs, name)?;
    let allowed = |at: usize| {
        let logits = WORST_OF_MANY * by_logits.get(at / cols).copied().unwrap_or(0.0);
        Tolerance { abs: sums.abs + logits, ..sums }.rounded_to(output.dtype())
    };
    Ok(vec![compare_by(name, output, &want, allowed)?])
}

impl Layer {
    fn new(reference: &Reference, cx: &Context<'_>) -> Result<Layer, Diagnostic> {
        let input = |what| Dense::input(reference, cx, what);
        let (heads, kv_heads) = (count(reference, cx, "heads")?, count(reference, cx, "kv_heads")?);
        let (x, wq, wk, w_gate) = (input("x")?, input("wq")?, input("wk")?, input("w_gate")?);
        let &[_, hidden] = &x.shape[..] else {
            return Err(unfit(reference, format!("`x` is {:?}, where [tokens, hidden] is needed", x.shape)));
        };
        let (q_cols, kv_cols, ffn) = (outputs(&wq), outputs(&wk), outputs(&w_gate));
        let head_dim = q_cols.checked_div(heads).unwrap_or(0);
        let grouped = kv_heads > 0 && heads.is_multiple_of(kv_heads) && head_dim.is_multiple_of(2);
        if !grouped || head_dim * heads != q_cols || head_dim * kv_heads != kv_cols {
            return Err(unfit(
                reference,
                format!(
                    "{heads} and {kv_heads} do not share {q_cols} and {kv_cols}",
                    kv_heads = counted(kv_heads, "head"),
                    kv_cols = counted(kv_cols, "column")
                ),
            ));
        }
        let layer = Layer {
            x,
            attn_norm: input("attn_norm")?,
            wq,
            wk,
            wv: input("wv")?,
            wo: input("wo")?,
            ffn_norm: input("ffn_norm")?,
            w_gate,
            w_up: input("w_up")?,
            w_down: input("w_down")?,
            heads,
            kv_heads,
            head_dim,
            eps: number(reference, cx, "eps")?,
            theta: number(reference, cx, "theta")?,
            threads: cx.threads,
        };
        for (what, array, shape) in [
            ("attn_norm", &layer.attn_norm, &[hidden][..]),
            ("wq", &layer.wq, &[q_cols, hidden]),
            ("wk", &layer.wk, &[kv_cols, hidden]),
            ("wv", &layer.wv, &[kv_cols, hidden]),
            ("wo", &layer.wo, &[hidden, q_cols]),
            ("ffn_norm", &layer.ffn_norm, &[hidden]),
            ("w_gate", &layer.w_gate, &[ffn, hidden]),
            ("w_up", &layer.w_up, &[ffn, hidden]),
            ("w_down", &layer.w_down, &[hidden, ffn]),
        ] {
            expect_shape(reference, what, array, shape)?;
        }
        Ok(layer)
    }

    /// `[tokens, hidden]`, with logits that are off by `error` times what they are summed up from: the largest of a row upwards, the
    /// others downwards.
    fn run(&self, error: f64) -> Vec<f64> {
        let hidden = self.x.cols();
        let normed = self.normalise(&self.x.values, &self.attn_norm.values);
        let project = |weights: &Dense| product(self.threads, &normed, &weights.values, hidden);
        let (mut q, mut k, v) = (project(&self.wq), project(&self.wk), project(&self.wv));
        self.rotate(&mut q, self.heads);
        self.rotate(&mut k, self.kv_heads);
        let attended = self.attention(&q, &k, &v, error);
        let out = product(self.threads, &attended, &self.wo.values, self.wo.cols());
        let middle: Vec<f64> = self.x.values.iter().zip(&out).map(|(x, o)| x + o).collect();
        let normed = self.normalise(&middle, &self.ffn_norm.values);
        let mut gated = product(self.threads, &normed, &self.w_gate.values, hidden);
        let up = product(self.threads, &normed, &self.w_up.values, hidden);
        gated.iter_mut().zip(&up).for_each(|(g, u)| *g = silu(*g) * u);
        let down = product(self.threads, &gated, &self.w_down.values, self.w_down.cols());
        middle.iter().zip(&down).map(|(m, d)| m + d).collect()
    }

    /// `x / sqrt(mean(x²) + eps) · gain`, row by row.
    fn normalise(&self, x: &[f64], gain: &[f64]) -> Vec<f64> {
        let rows = x.chunks_exact(gain.len().max(1));
        rows.flat_map(|row| {
            let scale = 1.0 / (dot(row, row) / row.len() as f64 + self.eps).sqrt();
            row.iter().zip(gain).map(move |(x, g)| x * scale * g)
        })
        .collect()
    }

    /// Turns lanes `i` and `i + dim / 2` of every head of row `t` by the angle `t · theta^(-2i / dim)`.
    fn rotate(&self, rows: &mut [f64], heads: usize) {
        let half = self.head_dim / 2;
        for (i, head) in rows.chunks_exact_mut(self.head_dim.max(1)).enumerate() {
            let position = (i / heads) as f64;
            for lane in 0..half {
                let angle = position * self.theta.powf(-(lane as f64) / half as f64);
                let (sin, cos) = angle.sin_cos();
                let (a, b) = (head[lane], head[lane + half]);
                (head[lane], head[lane + half]) = (a * cos - b * sin, b * cos + a * sin);
            }
        }
    }

    /// Each token attends to itself and those before it.
    fn attention(&self, q: &[f64], k: &[f64], v: &[f64], error: f64) -> Vec<f64> {
        let (dim, group) = (self.head_dim, self.heads / self.kv_heads);
        let scale = 1.0 / (dim as f64).sqrt();
        let norms: Vec<f64> = k.chunks_exact(dim.max(1)).map(|key| dot(key, key).sqrt()).collect();
        by_rows(self.threads, self.x.shape[0], self.heads * dim, |t, out| {
            for (head, out) in out.chunks_exact_mut(dim.max(1)).enumerate() {
                let at = |s: usize| (s * self.kv_heads + head / group) * dim;
                let query = &q[(t * self.heads + head) * dim..][..dim];
                let norm = dot(query, query).sqrt() * scale * error;
                let key = |s: usize| &k[at(s)..][..dim];
                let mut scores: Vec<f64> = (0..=t).map(|s| dot(query, key(s)) * scale).collect();
                if error != 0.0 {
                    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    for (s, score) in scores.iter_mut().enumerate() {
                        let off = norm * norms[s * self.kv_heads + head / group];
                        *score += if *score == largest { off } else { -off };
                    }
                }
                attend(&mut scores, |s| &v[at(s)..][..dim], out);
            }
        })
    }
}

/// Outputs of a projection.
fn outputs(weights: &Dense) -> usize {
    weights.shape.first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(shape: &[usize], values: &[f64]) -> Dense {
        Dense { shape: shape.to_vec(), values: values.to_vec() }
    }

    /// Two tokens, one head of two lanes, identity projections, no feed-forward.
    fn small() -> Layer {
        let identity = || dense(&[2, 2], &[1.0, 0.0, 0.0, 1.0]);
        Layer {
            x: dense(&[2, 2], &[3.0, 4.0, 1.0, -1.0]),
            attn_norm: dense(&[2], &[1.0, 1.0]),
            wq: identity(),
            wk: identity(),
            wv: identity(),
            wo: identity(),
            ffn_norm: dense(&[2], &[1.0, 1.0]),
            w_gate: dense(&[1, 2], &[0.0, 0.0]),
            w_up: dense(&[1, 2], &[1.0, 1.0]),
            w_down: dense(&[2, 1], &[1.0, 1.0]),
            heads: 1,
            kv_heads: 1,
            head_dim: 2,
            eps: 0.0,
            theta: 10000.0,
            threads: 1,
        }
    }

    #[test]
    fn the_first_token_attends_to_itself_only() {
        let y = small().run(0.0);
        // RMS of (3, 4) is sqrt(12.5); a gate of 0 lets nothing through.
        let rms = 12.5f64.sqrt();
        assert!((y[0] - (3.0 + 3.0 / rms)).abs() < 1e-14 && (y[1] - (4.0 + 4.0 / rms)).abs() < 1e-14);
    }

    #[test]
    fn the_second_token_weighs_both_by_its_turned_query() {
        let rms = 12.5f64.sqrt();
        let (k0, v1) = ([3.0 / rms, 4.0 / rms], [1.0, -1.0]);
        // Both rows of position 1 are turned by one radian, which leaves their own product as it was.
        let (sin, cos) = 1f64.sin_cos();
        let q1 = [cos + sin, -cos + sin];
        let (s0, s1) = (dot(&q1, &k0) / 2f64.sqrt(), 2.0 / 2f64.sqrt());
        let w0 = s0.exp() / (s0.exp() + s1.exp());
        let want = 1.0 + w0 * k0[0] + (1.0 - w0) * v1[0];
        assert!((small().run(0.0)[2] - want).abs() < 1e-14);
    }

    #[test]
    fn the_feed_forward_adds_silu_of_the_gate_times_up() {
        let mut layer = small();
        layer.wo = dense(&[2, 2], &[0.0; 4]);
        layer.w_gate = dense(&[1, 2], &[1.0, 0.0]);
        let rms = 12.5f64.sqrt();
        let gate = 3.0 / rms;
        let want = 3.0 + gate / (1.0 + (-gate).exp()) * (7.0 / rms);
        assert!((layer.run(0.0)[0] - want).abs() < 1e-14);
    }
}
