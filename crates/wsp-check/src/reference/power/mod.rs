//! Power iteration in f64: the largest eigenvalue of a matrix of positive numbers, and its vector.

mod rounds;
#[cfg(test)]
mod tests;

use super::compare::compare_by;
use super::decode::given;
use super::dense::{Dense, dot, unfit};
use super::{Comparison, Context, Tolerance, find, one, role, to_f64};
use rounds::{Last, MEASURED, MOST_ROUNDS, last_rounds};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// The role of the relative change of the value at which the program stops, and the parameter that is taken for it where none
/// plays it.
pub(super) const STOP: &str = "tolerance";

/// The relative error of f32 sums of n positive terms is about √n · 6e-8 (Higham and Mary, SIAM J. Sci. Comput. 41, 2019), 1e-6
/// for 256; ten times that. So much may be off of the value and of each element of the vector, and what earlier rounds add besides.
const TOLERANCE: f64 = 1e-5;

/// No element is allowed to be off by more: f32 that loses more than that has not computed the vector. Where terms that underflow may change an element by
/// more, nothing is compared.
const MOST: f64 = 5e-3;

/// Computes the value that power iteration on the magnitudes of the matrix has when it stops, and its vector of length one, and
/// compares both with those of one round: of all that may be the last, the one that the two are nearest to. One round moves the
/// vector by far more than rounding does where the second eigenvalue is near the first.
pub(super) fn check(reference: &Reference, cx: &Context<'_>) -> Result<Vec<Comparison>, Diagnostic> {
    let mut matrix = Dense::input(reference, cx, "matrix")?;
    let &[n, cols] = &matrix.shape[..] else {
        return Err(unfit(reference, format!("`matrix` is {:?}, not square", matrix.shape)));
    };
    let length = find(reference, cx.outputs, role(reference, "vector")?)?.len();
    if n == 0 || n != cols || length != n {
        return Err(unfit(
            reference,
            format!(
                "`matrix` is {:?}, `vector` has {length}",
                matrix.shape,
                length = counted(length, "element")
            ),
        ));
    }
    matrix.values.iter_mut().for_each(|x| *x = x.abs());
    let stop = (cx.params)(given(reference, STOP).unwrap_or(STOP)).unwrap_or(0.0);
    let mut nearest: Option<(f64, Vec<Comparison>)> = None;
    let name = role(reference, "vector")?;
    let vector = find(reference, cx.outputs, name)?;
    let values = to_f64(vector).unwrap_or_default();
    let value = to_f64(find(reference, cx.outputs, role(reference, "value")?)?).unwrap_or_default();
    let value = value.first().copied().unwrap_or(f64::NAN);
    let is_unit = (dot(&values, &values).sqrt() - 1.0).abs() <= TOLERANCE;
    last_rounds(&matrix, Last::of(stop, n), |round, inexact| {
        let is_lost =
            |at: &usize| round.vector[*at] >= MEASURED && round.lost[*at] > MOST * round.vector[*at];
        if let Some(at) = (0..n).find(is_lost) {
            return Err(unfit(
                reference,
                format!(
                    "terms too small for f32 may change element {at} of `vector` by {lost:.1} %; give a matrix of larger numbers",
                    lost = 100.0 * round.lost[at] / round.vector[at]
                ),
            ));
        }
        let distance = round.distance(value, &values);
        if nearest.as_ref().is_some_and(|(least, _)| distance >= *least) {
            return Ok(());
        }
        // What rounds add up turns the vector, and leaves its length.
        let rel = if is_unit { (TOLERANCE + inexact.allowed(round)).min(MOST) } else { TOLERANCE };
        let found = vec![
            one(
                reference,
                cx,
                "value",
                &[round.value],
                Tolerance { abs: f64::MIN_POSITIVE, rel: TOLERANCE },
            )?,
            compare_by(name, vector, &round.vector, |at| Tolerance { abs: round.lost[at], rel })?,
        ];
        nearest = Some((distance, found));
        Ok(())
    })?;
    let (_, found) = nearest
        .ok_or_else(|| unfit(reference, format!("the value does not settle in {MOST_ROUNDS} rounds")))?;
    Ok(found)
}
