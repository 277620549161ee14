//! The merge of attention states in f64.

use super::dense::{Dense, expect_shape, unfit};
use super::{Comparison, Context, Errors, Tolerance, compare_by, find, role};
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// Merges the states of each row and compares outputs and, when given, logarithms.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let (v, s) = (Dense::input(reference, cx, "v")?, Dense::input(reference, cx, "s")?);
    let &[rows, states, lanes] = &v.shape[..] else {
        return Err(unfit(reference, format!("`v` is {:?}, not [rows, states, lanes]", v.shape)));
    };
    expect_shape(reference, "s", &s, &[rows, states])?;
    let (o, lse) = merge(&v.values, &s.values, states, lanes);
    // Each row is one of attention over `states` tokens, whose logits are given and whose values are the outputs.
    let of_row = |row: &[f64]| {
        let value = row.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        Errors { tokens: states as f64, logit: 1.0, value }
    };
    let errors: Vec<Errors> = v.values.chunks((states * lanes).max(1)).map(of_row).collect();
    let of =
        |row: usize, allowed: fn(&Errors) -> Tolerance| errors.get(row).map_or(Tolerance::EXACT, allowed);
    let name = role(reference, "output")?;
    let output = find(reference, cx.outputs, name)?;
    let allowed = |at: usize| of(at / lanes.max(1), Errors::output).rounded_to(output.dtype());
    let mut results = vec![compare_by(name, output, &o, allowed)?];
    if let Ok(name) = role(reference, "lse") {
        let output = find(reference, cx.outputs, name)?;
        results.push(compare_by(name, output, &lse, |at| of(at, Errors::lse).rounded_to(output.dtype()))?);
    }
    Ok(results)
}

/// One state for each row: the outputs `v [rows, states, lanes]` weighed by `2^s` of `s [rows, states]`, and `log2` of the sum
/// of weights; 0 and -∞ for a row without a state that is not empty.
pub fn merge(v: &[f64], s: &[f64], states: usize, lanes: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut o, mut lse) = (Vec::new(), Vec::new());
    for (v, s) in v.chunks_exact((states * lanes).max(1)).zip(s.chunks_exact(states.max(1))) {
        let max = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weight = |s: f64| if s == f64::NEG_INFINITY { 0.0 } else { (s - max).exp2() };
        let sum: f64 = s.iter().map(|&s| weight(s)).sum();
        let mut row = vec![0.0; lanes];
        for (v, &s) in v.chunks_exact(lanes.max(1)).zip(s).filter(|(_, s)| weight(**s) != 0.0) {
            row.iter_mut().zip(v).for_each(|(o, v)| *o += weight(s) / sum * v);
        }
        o.extend(row);
        // Without a state that is not empty, the sum is 0.
        lse.push(max + if sum == 0.0 { f64::MIN_POSITIVE } else { sum }.log2());
    }
    (o, lse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_weigh_as_much_as_their_sums() {
        let (o, lse) = merge(&[1.0, 5.0, 9.0], &[0.0, 3f64.log2(), f64::NEG_INFINITY], 3, 1);
        assert!((o[0] - 4.0).abs() < 1e-15 && (lse[0] - 2.0).abs() < 1e-15);
    }

    #[test]
    fn rows_of_empty_states_are_empty() {
        let empty = f64::NEG_INFINITY;
        let (o, lse) = merge(&[f64::NAN, 7.0, 1.0, f64::NAN], &[empty, empty, 5.0, empty], 2, 1);
        assert_eq!((o, lse), (vec![0.0, 1.0], vec![empty, 5.0]));
    }
}
