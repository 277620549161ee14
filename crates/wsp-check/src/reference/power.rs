//! Power iteration in f64: the largest eigenvalue of a matrix of positive numbers, and its vector.

use super::decode::given;
use super::dense::{Dense, dot, unfit};
use super::{Comparison, Context, Tolerance, find, one, role};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;

/// Rounds after which the reference gives up: no gap between the first two eigenvalues, as of a matrix of zeros.
const MOST_ROUNDS: usize = 10_000;
/// The role of the relative change of the value at which the program stops, and the parameter that is taken for it where none
/// plays it.
pub(super) const STOP: &str = "tolerance";
/// Relative change at which the reference goes no further, whatever the program's: some units of the last place of f64.
const SETTLED: f64 = 1e-14;

/// The reference starts and stops as the program does, so that only rounding tells them apart. The relative error of f32 sums of
/// n positive terms is about √n · 6e-8 (Higham and Mary, SIAM J. Sci. Comput. 41, 2019), 1e-6 for 256; ten times that. It also
/// covers one round more or less at a limit of 1e-6, near which rounding decides whether a round is the last.
const TOLERANCE: f64 = 1e-5;

/// Computes the value that power iteration on the magnitudes of the matrix has when it stops, and its vector of length one, and
/// compares.
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
    let (value, vector) = dominant(&matrix, stop)
        .ok_or_else(|| unfit(reference, format!("the value does not settle in {MOST_ROUNDS} rounds")))?;
    let size = (n as f64).sqrt().recip();
    Ok(vec![
        one(reference, cx, "value", &[value], Tolerance { abs: f64::MIN_POSITIVE, rel: TOLERANCE })?,
        one(reference, cx, "vector", &vector, Tolerance { abs: TOLERANCE * size, rel: TOLERANCE })?,
    ])
}

/// The value and the vector of power iteration, from a vector that has the same part in every direction until a round changes
/// the value by `stop` of it, or value and vector settle.
fn dominant(matrix: &Dense, stop: f64) -> Option<(f64, Vec<f64>)> {
    let n = matrix.cols();
    let mut vector = vec![(n as f64).sqrt().recip(); n];
    let mut value = 0.0;
    for _ in 0..MOST_ROUNDS {
        let mut product: Vec<f64> = (0..n).map(|row| dot(matrix.row(row), &vector)).collect();
        let norm = dot(&product, &product).sqrt();
        if norm.is_nan() {
            return Some((norm, vec![norm; n]));
        }
        if !(norm > 0.0 && norm.is_finite()) {
            return None;
        }
        product.iter_mut().for_each(|x| *x /= norm);
        let turned: f64 = product.iter().zip(&vector).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let moved = (norm - value).abs() / norm;
        vector = product;
        if moved <= stop || moved.max(turned) <= SETTLED {
            return Some((norm, vector));
        }
        value = norm;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalue_and_its_vector_are_found() {
        // Eigenvalues 3 and 1, vectors (1, 1) and (1, -1).
        let (value, vector) = dominant(&Dense { shape: vec![2, 2], values: vec![2.0, 1.0, 1.0, 2.0] }, 0.0)
            .expect("it settles");
        assert!((value - 3.0).abs() < 1e-12);
        assert!(vector.iter().all(|x| (x - 0.5f64.sqrt()).abs() < 1e-12));
    }

    #[test]
    fn a_matrix_that_turns_does_not_settle() {
        assert!(dominant(&Dense { shape: vec![2, 2], values: vec![0.0, 1.0, 4.0, 0.0] }, 0.0).is_none());
        assert!(dominant(&Dense { shape: vec![1, 1], values: vec![0.0] }, 0.0).is_none());
    }
}
