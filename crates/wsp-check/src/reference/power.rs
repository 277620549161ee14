//! Power iteration in f64: the largest eigenvalue of a matrix of positive numbers, and its vector.

use super::compare::U32;
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

/// The relative error of f32 sums of n positive terms is about √n · 6e-8 (Higham and Mary, SIAM J. Sci. Comput. 41, 2019), 1e-6
/// for 256; ten times that.
///
/// So much may be off of the value, and of each element of the vector beside an element of the mean size. Of an element by itself, however small, so
/// much for each round: an element of the product is a sum of positive terms, which cancel nothing, and a product with positive numbers makes relative
/// errors of the vector no larger (G. Birkhoff, Trans. Amer. Math. Soc. 85, 1957).
const TOLERANCE: f64 = 1e-5;

/// The relative changes of the value between which a program in f32 ends.
///
/// The value is the root of a sum of n squares: the root halves the error √n u of that sum, and elements of the product, which are
/// sums of n terms, add √n u where they are alike. A change is the difference of two such values, so that a program measures it with an
/// error of up to 3 √n u. It ends at the limit give or take that: where the limit is less than that, in any round up to that in which value
/// and vector settle, each of which is nearer to what is sought than the one before.
#[derive(Clone, Copy)]
struct Last {
    /// A round that changes the value by more is never the last.
    most: f64,
    /// A round that changes the value by no more than this is the last.
    least: f64,
}

impl Last {
    fn of(stop: f64, n: usize) -> Last {
        let error = 3.0 * (n as f64).sqrt() * U32;
        Last { most: stop + error, least: stop - error }
    }
}

/// Computes the value that power iteration on the magnitudes of the matrix has when it stops, and its vector of length one, and
/// compares both with those of one round: of all that may be the last, the one that they are nearest to. One round moves the
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
    let of_vector = Tolerance { abs: TOLERANCE * (n as f64).sqrt().recip(), rel: TOLERANCE };
    let underflow = n as f64 * f64::from(f32::MIN_POSITIVE);
    let mut nearest: Option<(f64, Vec<Comparison>)> = None;
    last_rounds(&matrix, Last::of(stop, n), |round, value, vector| {
        let of_elements = Tolerance { abs: underflow, rel: TOLERANCE * round as f64 };
        let all = one(reference, cx, "vector", vector, of_vector)?;
        let each = one(reference, cx, "vector", vector, of_elements)?;
        let found = vec![
            one(reference, cx, "value", &[value], Tolerance { abs: f64::MIN_POSITIVE, rel: TOLERANCE })?,
            if each.max_ratio > all.max_ratio { each } else { all },
        ];
        let off = found.iter().map(|output| output.max_ratio).fold(0.0, f64::max);
        if nearest.as_ref().is_none_or(|(least, _)| off < *least) {
            nearest = Some((off, found));
        }
        Ok(())
    })?;
    let (_, found) = nearest
        .ok_or_else(|| unfit(reference, format!("the value does not settle in {MOST_ROUNDS} rounds")))?;
    Ok(found)
}

/// Visits the number, the value and the vector of each round of power iteration that may be the last, from a vector that has the same part in
/// every direction: up to the round that changes the value by no more than the least change, or in which value and vector settle.
/// None is visited where no round is the last.
fn last_rounds(
    matrix: &Dense,
    last: Last,
    mut visit: impl FnMut(usize, f64, &[f64]) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let n = matrix.cols();
    let mut vector = vec![(n as f64).sqrt().recip(); n];
    let mut value = 0.0;
    for round in 1..=MOST_ROUNDS {
        let mut product: Vec<f64> = (0..n).map(|row| dot(matrix.row(row), &vector)).collect();
        let norm = dot(&product, &product).sqrt();
        if norm.is_nan() {
            return visit(round, norm, &vec![norm; n]);
        }
        if !(norm > 0.0 && norm.is_finite()) {
            return Ok(());
        }
        product.iter_mut().for_each(|x| *x /= norm);
        let turned: f64 = product.iter().zip(&vector).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let moved = (norm - value).abs() / norm;
        vector = product;
        value = norm;
        if moved <= last.most {
            visit(round, value, &vector)?;
        }
        if moved <= last.least || moved.max(turned) <= SETTLED {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_backend::KvLayout;
    use wsp_core::DType;
    use wsp_diag::Span;
    use wsp_plan::{Array, Arrays};

    const N: usize = 128;
    const STOP_AT: f32 = 1e-6;

    /// The last round, and the number of rounds that may be the last.
    fn dominant(matrix: &Dense, stop: f64) -> (Option<(f64, Vec<f64>)>, usize) {
        let (mut found, mut rounds) = (None, 0);
        last_rounds(matrix, Last::of(stop, matrix.cols()), |_, value, vector| {
            (found, rounds) = (Some((value, vector.to_vec())), rounds + 1);
            Ok(())
        })
        .unwrap();
        (found, rounds)
    }

    /// Two blocks of nearly equal positive elements whose eigenvalues are about 1 and `ratio`, and a little between them.
    fn two_blocks(ratio: f32, between: f32) -> Vec<f32> {
        let half = N / 2;
        let element = |row: usize, col: usize| {
            let size = match (row < half, col < half) {
                (true, true) => 1.0,
                (false, false) => ratio,
                _ => between,
            };
            let (least, most) = (row.min(col), row.max(col));
            size / half as f32 * (1.0 + 0.1 * ((least * 37 + most * 101) % 97) as f32 / 97.0)
        };
        (0..N * N).map(|at| element(at / N, at % N)).collect()
    }

    /// Power iteration in f32: the value, the vector and how many rounds.
    fn in_f32(matrix: &[f32]) -> (f32, Vec<f32>, usize) {
        let mut vector = vec![(N as f32).sqrt().recip(); N];
        let (mut value, mut rounds) = (0.0f32, 0);
        loop {
            let product: Vec<f32> =
                matrix.chunks(N).map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect();
            let norm = product.iter().map(|x| x * x).sum::<f32>().sqrt();
            let moved = (norm - value).abs();
            vector = product.iter().map(|x| x / norm).collect();
            (value, rounds) = (norm, rounds + 1);
            if moved <= STOP_AT * norm {
                return (value, vector, rounds);
            }
        }
    }

    fn array(values: &[f32], shape: &[u64]) -> Array {
        let mut array = Array::zeros(DType::F32, shape).unwrap();
        array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
        array
    }

    /// The comparisons of the value and of the vector.
    fn checked(matrix: &[f32], value: f32, vector: &[f32]) -> Vec<Comparison> {
        let roles = ["matrix", "vector", "value"].map(|role| (role.to_owned(), role.to_owned()));
        let reference =
            Reference { name: "power_iteration".to_owned(), roles: roles.to_vec(), span: Span::default() };
        let n = N as u64;
        let outputs = Arrays::from([
            ("value".to_owned(), array(&[value], &[1])),
            ("vector".to_owned(), array(vector, &[1, n])),
        ]);
        let cx = Context {
            inputs: &Arrays::from([("matrix".to_owned(), array(matrix, &[n, n]))]),
            outputs: &outputs,
            params: &|name| (name == STOP).then_some(f64::from(STOP_AT)),
            layout: KvLayout::Nhd,
            threads: 1,
        };
        check(&reference, &cx).unwrap()
    }

    /// Rounds of f64 that change the value by more than the limit.
    fn rounds_in_f64(matrix: &[f32]) -> usize {
        let matrix = Dense { shape: vec![N, N], values: matrix.iter().map(|x| f64::from(*x)).collect() };
        let stop = f64::from(STOP_AT);
        let all = |most| {
            let mut rounds = 0;
            last_rounds(&matrix, Last { most, least: stop }, |_, _, _| {
                rounds += 1;
                Ok(())
            })
            .unwrap();
            rounds
        };
        all(f64::INFINITY)
    }

    #[test]
    fn the_round_in_which_f32_ends_is_allowed_where_eigenvalues_are_near() {
        let mut others = 0;
        for ratio in [0.9, 0.97, 0.99] {
            for between in [1e-4, 1e-3, 3e-3, 1e-2] {
                let matrix = two_blocks(ratio, between);
                let (value, vector, rounds) = in_f32(&matrix);
                others += usize::from(rounds != rounds_in_f64(&matrix));
                let found = checked(&matrix, value, &vector);
                assert!(found.iter().all(Comparison::passed), "{ratio} {between}: {found:?}");
            }
        }
        assert!(others > 0, "f32 ends in the round of f64 in every case: nothing is tested");
    }

    #[test]
    fn a_vector_that_is_one_percent_off_is_refused() {
        for ratio in [0.9, 0.99] {
            let matrix = two_blocks(ratio, 1e-3);
            let (value, vector, _) = in_f32(&matrix);
            let longer: Vec<f32> = vector.iter().map(|x| x * 1.01).collect();
            assert!(!checked(&matrix, value, &longer)[1].passed());
            let mut one_element = vector.clone();
            one_element[N - 1] *= 1.01;
            assert!(!checked(&matrix, value, &one_element)[1].passed());
            let one_half: Vec<f32> =
                vector.iter().enumerate().map(|(i, x)| if i < N / 2 { *x } else { x * 1.01 }).collect();
            let found = checked(&matrix, value, &one_half);
            // The halves are near eigenvectors, so that this may be the vector of another round: its value is another one then.
            assert!(found.iter().any(|output| !output.passed()), "{ratio}: {found:?}");
            assert!(!checked(&matrix, value * 1.01, &vector)[0].passed());
        }
    }

    /// Elements of the second half are some 10⁻⁷: one percent of them is less than what an element of the mean size may be off.
    #[test]
    fn a_small_element_that_is_one_percent_off_is_refused() {
        let matrix = two_blocks(0.01, 1e-6);
        let (value, mut vector, _) = in_f32(&matrix);
        assert!(vector[N - 1] < 1e-5, "{vector:?}");
        assert!(checked(&matrix, value, &vector).iter().all(Comparison::passed));
        vector[N - 1] *= 1.01;
        assert!(!checked(&matrix, value, &vector)[1].passed());
    }

    #[test]
    fn rounds_within_rounding_of_the_limit_may_be_the_last() {
        let matrix = Dense { shape: vec![2, 2], values: vec![2.0, 1.0, 1.0, 3.0] };
        assert_eq!(dominant(&matrix, 1e-4).1, 1);
        // The error is 2.5e-7: every round up to the one in which f64 settles.
        assert!(dominant(&matrix, 1e-7).1 > 3);
    }

    #[test]
    fn the_largest_eigenvalue_and_its_vector_are_found() {
        // Eigenvalues 3 and 1, vectors (1, 1) and (1, -1).
        let (found, _) = dominant(&Dense { shape: vec![2, 2], values: vec![2.0, 1.0, 1.0, 2.0] }, 0.0);
        let (value, vector) = found.expect("it settles");
        assert!((value - 3.0).abs() < 1e-12);
        assert!(vector.iter().all(|x| (x - 0.5f64.sqrt()).abs() < 1e-12));
    }

    #[test]
    fn a_matrix_that_turns_does_not_settle() {
        assert!(dominant(&Dense { shape: vec![2, 2], values: vec![0.0, 1.0, 4.0, 0.0] }, 0.0).0.is_none());
        assert!(dominant(&Dense { shape: vec![1, 1], values: vec![0.0] }, 0.0).0.is_none());
    }
}
