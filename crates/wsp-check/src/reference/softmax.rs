//! Softmax of every row in f64.

use super::compare::U32;
use super::dense::{Dense, exponentials};
use super::{Comparison, Context, Tolerance, compare_by, find, role};
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// Computes the softmax of the rows and compares the output.
///
/// An exponential has the error of its argument `x - max`, relative to itself, and the sum of n of them a few √n; see [`super::Errors`].
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let x = Dense::input(reference, cx, "x")?;
    let cols = x.cols().max(1);
    let (mut want, mut below) = (Vec::new(), Vec::new());
    for row in x.values.chunks_exact(cols) {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights = row.to_vec();
        let (sum, _) = exponentials(&mut weights);
        want.extend(weights.iter().map(|weight| weight / sum));
        below.extend(row.iter().map(|x| max - x));
    }
    let name = role(reference, "output")?;
    let output = find(reference, cx.outputs, name)?;
    let allowed = |at: usize| {
        let rel = U32 * (2.0 * (cols as f64).sqrt() + 8.0 + below.get(at).copied().unwrap_or(0.0));
        Tolerance { abs: f64::from(f32::MIN_POSITIVE), rel }.rounded_to(output.dtype())
    };
    Ok(vec![compare_by(name, output, &want, allowed)?])
}
