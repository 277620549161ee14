//! What models add to plain attention, in f64.

/// Additions to plain attention; the default is none of them.
///
/// With `x` the product of a query and a key and `δ` the position of the key less that of the query, the logit is
/// `cap(x * sm_scale + slope * δ)`, where `cap(y)` is `soft_cap * tanh(y / soft_cap)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Features<'a> {
    /// Bound of logits (Gemma 2); 0 for none.
    pub soft_cap: f64,
    /// How many tokens before its own a query sees (Mistral); all when none.
    pub window_left: Option<u64>,
    /// A slope for each query head (Press et al., "Train Short, Test Long", 2022); empty for none.
    pub slopes: &'a [f64],
    /// The base of rotary embeddings, applied to queries and keys with lane `i` beside lane `i + dim / 2` (Su et al.,
    /// "RoFormer", 2021, as in Llama); 0 for none.
    pub rope_theta: f64,
    /// For each query head the logit of a token without a value, which takes weight from the others (gpt-oss); empty for none.
    pub sinks: &'a [f64],
    /// What stored keys are multiplied by.
    pub k_scale: f64,
    /// What stored values are multiplied by.
    pub v_scale: f64,
}

impl Default for Features<'_> {
    fn default() -> Self {
        Features {
            soft_cap: 0.0,
            window_left: None,
            slopes: &[],
            rope_theta: 0.0,
            sinks: &[],
            k_scale: 1.0,
            v_scale: 1.0,
        }
    }
}

impl Features<'_> {
    /// Whether a query sees the key `distance` positions after its own.
    pub(super) fn sees(&self, distance: i64) -> bool {
        distance <= 0 && self.window_left.is_none_or(|window| distance.unsigned_abs() <= window)
    }

    /// The logit of a scaled product.
    pub(super) fn logit(&self, product: f64, head: usize, distance: i64) -> f64 {
        let biased = match self.slopes.get(head) {
            Some(slope) => product + slope * distance as f64,
            None => product,
        };
        if self.soft_cap == 0.0 { biased } else { self.soft_cap * (biased / self.soft_cap).tanh() }
    }

    /// Rotates a query or key to its position.
    pub(super) fn rotate(&self, row: &mut [f64], position: i64) {
        if self.rope_theta == 0.0 {
            return;
        }
        let half = row.len() / 2;
        let (low, high) = row.split_at_mut(half);
        for (i, (a, b)) in low.iter_mut().zip(high).enumerate() {
            let frequency = self.rope_theta.powf(-(i as f64) / half as f64);
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
        }
    }

    /// What is added to a product, and the bound that it is scaled by: rounding errors are in proportion to both.
    pub(super) fn added(&self, head: usize, distance: i64) -> f64 {
        let bias = self.slopes.get(head).map_or(0.0, |slope| (slope * distance as f64).abs());
        bias + self.soft_cap.abs()
    }

    /// How much a product of a rotated query and a rotated key changes for each relative error of the angles at position 1.
    pub(super) fn turns(&self, query: &[f64], key: &[f64]) -> f64 {
        if self.rope_theta == 0.0 {
            return 0.0;
        }
        let half = query.len() / 2;
        let pair = |row: &[f64], i: usize| row[i].hypot(row[i + half]);
        let frequency = |i: usize| self.rope_theta.powf(-(i as f64) / half as f64);
        (0..half).map(|i| pair(query, i) * pair(key, i) * frequency(i)).sum()
    }

    /// Turns logits into exponentials relative to the largest; their sum with that of the sink, and `log2` of the sum of plain
    /// exponentials: 0 and -∞ when there are none.
    pub(super) fn exponentials(&self, logits: &mut [f64], head: usize) -> (f64, f64) {
        let sink = self.sinks.get(head).copied().unwrap_or(f64::NEG_INFINITY);
        let max = logits.iter().copied().fold(sink, f64::max);
        if max == f64::NEG_INFINITY && !logits.iter().any(|x| x.is_nan()) {
            logits.fill(0.0);
            return (0.0, max);
        }
        let mut sum = (sink - max).exp();
        for x in logits.iter_mut() {
            *x = (*x - max).exp();
            sum += *x;
        }
        (sum, (max + sum.ln()) * std::f64::consts::LOG2_E)
    }
}

/// The slopes of ALiBi for any number of heads: a geometric sequence for the largest power of two below, then every other
/// element of the one for twice as many.
pub(crate) fn alibi_slopes(heads: u32) -> Vec<f64> {
    let near = 1 << heads.max(1).ilog2();
    let slope = |i: u32| {
        if i < near {
            2f64.powf(-8.0 * f64::from(i + 1) / f64::from(near))
        } else {
            2f64.powf(-4.0 * f64::from(2 * (i - near) + 1) / f64::from(near))
        }
    };
    (0..heads).map(slope).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_paper() {
        let eight: Vec<f64> = (1..=8).map(|i| 0.5f64.powi(i)).collect();
        assert_eq!(alibi_slopes(8), eight);
        // The code of the paper for 12 heads: those of 8, then 2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5.
        let more: Vec<f64> = [0.5, 1.5, 2.5, 3.5].map(|x: f64| 2f64.powf(-x)).to_vec();
        assert_eq!(alibi_slopes(12), [eight, more].concat());
        assert_eq!(alibi_slopes(1), [2f64.powi(-8)]);
        assert!(alibi_slopes(0).is_empty());
    }

    #[test]
    fn a_window_holds_the_token_itself_and_so_many_before_it() {
        let features = Features { window_left: Some(2), ..Features::default() };
        let seen: Vec<i64> = (-5..5).filter(|&d| features.sees(d)).collect();
        assert_eq!(seen, [-2, -1, 0]);
        assert!(Features::default().sees(-1_000_000) && !Features::default().sees(1));
    }

    #[test]
    fn rotation_by_a_quarter_turn() {
        let features = Features { rope_theta: 10_000.0, ..Features::default() };
        let mut row = [1.0, 0.0, 0.0, 1.0];
        features.rotate(&mut row, 1);
        let (sin, cos) = 1f64.sin_cos();
        let (sin2, cos2) = 0.01f64.sin_cos();
        let want = [cos, -sin2, sin, cos2];
        assert!(row.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-15), "{row:?} {want:?}");
    }

    #[test]
    fn a_sink_takes_weight_and_has_no_value() {
        let features = Features { sinks: &[3f64.ln()], ..Features::default() };
        let mut logits = [0.0];
        let (sum, lse) = features.exponentials(&mut logits, 0);
        assert!((logits[0] / sum - 0.25).abs() < 1e-15 && (lse - 2.0).abs() < 1e-15);
        assert_eq!(Features::default().exponentials(&mut [], 0), (0.0, f64::NEG_INFINITY));
    }

    #[test]
    fn caps_bound_logits_after_the_bias() {
        let features = Features { soft_cap: 2.0, slopes: &[0.5], ..Features::default() };
        assert_eq!(features.logit(5.0, 0, -10), 0.0);
        assert!((features.logit(1e9, 0, 0) - 2.0).abs() < 1e-15);
    }
}
