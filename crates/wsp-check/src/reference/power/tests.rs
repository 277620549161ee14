//! Matrices of many kinds, with right and wrong values and vectors.

use super::rounds::{Last, last_rounds};
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
    last_rounds(matrix, Last::of(stop, matrix.cols()), |round, _| {
        (found, rounds) = (Some((round.value, round.vector.clone())), rounds + 1);
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

/// Power iteration in f32, sums from the first column to the last: the value, the vector and how many rounds.
fn in_f32(matrix: &[f32]) -> (f32, Vec<f32>, usize) {
    in_order(matrix, N, STOP_AT, &|terms| terms.iter().sum())
}

/// Power iteration in f32 with sums of its own, of at most 1500 rounds.
fn in_order(matrix: &[f32], n: usize, stop: f32, sum: &Sum) -> (f32, Vec<f32>, usize) {
    let mut vector = vec![(n as f32).sqrt().recip(); n];
    let (mut value, mut rounds) = (0.0f32, 0);
    loop {
        let times = |row: &[f32]| row.iter().zip(&vector).map(|(a, b)| a.abs() * b).collect::<Vec<_>>();
        let product: Vec<f32> = matrix.chunks(n).map(|row| sum(&times(row))).collect();
        let norm = sum(&product.iter().map(|x| x * x).collect::<Vec<_>>()).sqrt();
        let moved = (norm - value).abs();
        vector = product.iter().map(|x| x / norm).collect();
        (value, rounds) = (norm, rounds + 1);
        if moved <= stop * norm || rounds == 1500 {
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
    checked_at(STOP_AT, matrix, value, vector)
}

fn checked_at(stop: f32, matrix: &[f32], value: f32, vector: &[f32]) -> Vec<Comparison> {
    compared(stop, matrix, value, vector).unwrap()
}

fn compared(stop: f32, matrix: &[f32], value: f32, vector: &[f32]) -> Result<Vec<Comparison>, Diagnostic> {
    let roles = ["matrix", "vector", "value"].map(|role| (role.to_owned(), role.to_owned()));
    let reference =
        Reference { name: "power_iteration".to_owned(), roles: roles.to_vec(), span: Span::default() };
    let n = vector.len() as u64;
    let outputs = Arrays::from([
        ("value".to_owned(), array(&[value], &[1])),
        ("vector".to_owned(), array(vector, &[1, n])),
    ]);
    let cx = Context {
        inputs: &Arrays::from([("matrix".to_owned(), array(matrix, &[n, n]))]),
        outputs: &outputs,
        params: &|name| (name == STOP).then_some(f64::from(stop)),
        layout: KvLayout::Nhd,
        threads: 1,
        operands: None,
    };
    check(&reference, &cx)
}

/// Bits that differ for each seed and place (splitmix64).
fn hash(seed: u64, at: u64) -> u64 {
    let z = (seed << 32 | at).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of `[0, 1)` that differs for each seed and place.
fn random(seed: u64, at: usize) -> f32 {
    (hash(seed, at as u64) >> 40) as f32 / (1u64 << 24) as f32
}

fn lanes(terms: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    terms.iter().enumerate().for_each(|(i, x)| sums[i % 8] += x);
    sums.iter().sum()
}

fn pairs(terms: &[f32]) -> f32 {
    match terms {
        [] => 0.0,
        &[x] => x,
        _ => {
            let (first, second) = terms.split_at(terms.len() / 2);
            pairs(first) + pairs(second)
        }
    }
}

fn shuffled(seed: u64, terms: &[f32]) -> f32 {
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by_key(|i| hash(seed, *i as u64));
    order.iter().map(|i| terms[*i]).sum()
}

fn four_lanes(terms: &[f32]) -> f32 {
    let mut sums = [0.0; 4];
    terms.iter().enumerate().for_each(|(i, x)| sums[i % 4] += x);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

type Sum = dyn Fn(&[f32]) -> f32;

const ORDERS: [&Sum; 8] = [
    &|terms| terms.iter().sum(),
    &|terms| terms.iter().rev().sum(),
    &lanes,
    &four_lanes,
    &pairs,
    &|terms| shuffled(7, terms),
    &|terms| shuffled(8, terms),
    &|terms| shuffled(9, terms),
];

/// A matrix of one of eight kinds.
fn of_kind(kind: usize, n: usize, seed: u64) -> Vec<f32> {
    let diagonal = |row: usize| 0.5 + 0.5 * random(seed, n * n + row);
    let element = |at: usize| {
        let (row, col) = (at / n, at % n);
        let x = 0.1 + 0.9 * random(seed, at);
        let on = if row == col { diagonal(row) } else { 0.0 };
        match kind {
            0 => x - 2.0 * x * f32::from(at.is_multiple_of(3)),
            1 => on + 3e-5 * x,
            2 => on + 1e-3 * x,
            3 => x * 10f32.powf(-6.0 * random(seed, n * n + row)),
            4 => {
                if random(seed + 1, at) < 0.3 {
                    x
                } else {
                    1e-6 * x
                }
            }
            5 => 1e-3 * x + f32::from((row < n / 2) == (col < n / 2)),
            6 => {
                if row + 1 == n {
                    1e-5
                } else if row == col {
                    1.0 - 0.003 * f32::from(row > 0)
                } else {
                    1e-7
                }
            }
            _ => x * 10f32.powf(-5.0 * row as f32 / n as f32 - col as f32 / n as f32),
        }
    };
    (0..n * n).map(element).collect()
}

/// Rounds of f64 that change the value by more than the limit.
fn rounds_in_f64(matrix: &[f32]) -> usize {
    let matrix = Dense { shape: vec![N, N], values: matrix.iter().map(|x| f64::from(*x)).collect() };
    let stop = f64::from(STOP_AT);
    let all = |most| {
        let mut rounds = 0;
        last_rounds(&matrix, Last { most, least: stop }, |_, _| {
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

/// Matrices of eight kinds, sums in five orders, limits down to that at which value and vector settle.
#[test]
fn f32_in_every_order_is_right_and_one_percent_of_any_element_is_not() {
    let (mut wrong, mut most) = (Vec::new(), 0);
    for seed in 0..16 {
        let kind = seed as usize % 8;
        let n = [5, 16, 24][(hash(9, seed) % 3) as usize];
        let stop =
            if kind == 1 || kind == 6 { 1e-7 } else { [1e-4, 1e-6, 0.0][(hash(11, seed) % 3) as usize] };
        let matrix = of_kind(kind, n, seed);
        for (order, sum) in ORDERS.iter().enumerate() {
            let (value, vector, rounds) = in_order(&matrix, n, stop, sum);
            most = most.max(rounds);
            let case = format!("kind {kind}, {n} x {n}, limit {stop}, order {order}, {rounds} rounds");
            let found = checked_at(stop, &matrix, value, &vector);
            if !found.iter().all(Comparison::passed) {
                wrong.push(format!("{case}: refused, {found:?}"));
            }
            let least = (0..n).min_by(|a, b| vector[*a].total_cmp(&vector[*b])).unwrap();
            let mut off = vector.clone();
            off[least] *= 1.01;
            if vector[least] > 1e-6 && checked_at(stop, &matrix, value, &off).iter().all(Comparison::passed) {
                wrong.push(format!("{case}: one percent is accepted"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(most > 900, "{most} rounds at most: errors of few rounds add up");
}

/// Rounds in f32 that divide by the largest element before they take the length: one rounding of each element more.
fn by_the_largest(matrix: &[f32], n: usize, rounds: usize, sum: &Sum) -> (f32, Vec<f32>) {
    let mut vector = vec![(n as f32).sqrt().recip(); n];
    let mut value = 0.0;
    for _ in 0..rounds {
        let times = |row: &[f32]| row.iter().zip(&vector).map(|(a, b)| a * b).collect::<Vec<_>>();
        let product: Vec<f32> = matrix.chunks(n).map(|row| sum(&times(row))).collect();
        let largest = product.iter().copied().fold(0.0, f32::max);
        let scaled: Vec<f32> = product.iter().map(|x| x / largest).collect();
        let length = sum(&scaled.iter().map(|x| x * x).collect::<Vec<_>>()).sqrt();
        (value, vector) = (largest * length, scaled.iter().map(|x| x / length).collect());
    }
    (value, vector)
}

/// Symmetric matrices whose eigenvalues all but agree: what rounding leaves in hundreds of rounds goes by the order of sums. Of 450 such matrices
/// those of these seeds lose most beside the three orders of the reference.
#[test]
fn f32_in_every_order_is_right_where_all_eigenvalues_are_near() {
    let mut wrong = Vec::new();
    for seed in [51, 133, 232, 332, 398, 449] {
        let n = 4 + (hash(13, seed) % 5) as usize;
        let element = |at: usize| {
            let (row, col) = (at / n, at % n);
            match row == col {
                true => 1.0 - 4e-4 * random(seed, at),
                false => 1e-8 * random(seed, row.min(col) * n + row.max(col)),
            }
        };
        let matrix: Vec<f32> = (0..n * n).map(element).collect();
        for (order, sum) in ORDERS.iter().enumerate() {
            let (value, vector) = by_the_largest(&matrix, n, 400, sum);
            let found = checked_at(0.0, &matrix, value, &vector);
            if !found.iter().all(Comparison::passed) {
                wrong.push(format!("{n} x {n}, seed {seed}, order {order}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rounds of a matrix that is nearly the identity undo nothing of what rounding did in those before, and by chance all elements may round alike in the
/// computations of the reference.
#[test]
fn f32_is_right_where_rounding_adds_up_in_a_thousand_rounds() {
    let n = 4;
    let diagonal = [1.010_351_2f32, 1.010_350_5, 1.010_352_3, 1.010_351];
    let element = |at: usize| if at / n == at % n { diagonal[at / n] } else { 8.312_98e-10 };
    let matrix: Vec<f32> = (0..n * n).map(element).collect();
    for (order, sum) in ORDERS.iter().enumerate() {
        let (value, vector) = by_the_largest(&matrix, n, 1194, sum);
        let found = checked_at(0.0, &matrix, value, &vector);
        assert!(found.iter().all(Comparison::passed), "order {order}: {found:?}");
        let off: Vec<f32> =
            vector.iter().enumerate().map(|(i, x)| if i == 1 { x * 1.002 } else { *x }).collect();
        assert!(!checked_at(0.0, &matrix, value, &off)[1].passed(), "order {order}");
    }
}

/// What rounds may add up where eigenvalues are near is more than this, and leaves the length.
#[test]
fn a_vector_of_another_length_is_refused_after_any_number_of_rounds() {
    let (n, stop) = (24, 1e-7);
    let matrix = of_kind(1, n, 1);
    let (value, vector, rounds) = in_order(&matrix, n, stop, &|terms| terms.iter().sum());
    assert!(rounds > 500, "{rounds} rounds");
    assert!(checked_at(stop, &matrix, value, &vector).iter().all(Comparison::passed));
    for scale in [0.9995, 1.0005] {
        let off: Vec<f32> = vector.iter().map(|x| x * scale).collect();
        assert!(!checked_at(stop, &matrix, value, &off)[1].passed(), "{scale}");
    }
}

/// After few rounds rounding has added up to little, however many more may be made.
#[test]
fn a_vector_of_few_rounds_is_not_allowed_what_many_rounds_are() {
    let n = 16;
    let element = |at: usize| match at / n == at % n {
        true => 1.0 - 3e-7 * random(3, at),
        false => 2.9e-8,
    };
    let matrix: Vec<f32> = (0..n * n).map(element).collect();
    for rounds in [2, 20] {
        let (value, mut vector) = by_the_largest(&matrix, n, rounds, ORDERS[0]);
        assert!(checked_at(0.0, &matrix, value, &vector).iter().all(Comparison::passed), "{rounds}");
        let off = |at: usize| if at.is_multiple_of(2) { 1.003 } else { 0.997 };
        vector.iter_mut().enumerate().for_each(|(at, x)| *x *= off(at));
        assert!(!checked_at(0.0, &matrix, value, &vector)[1].passed(), "{rounds} rounds");
    }
}

/// The first two rounds have the same value, so that f32 stops there, and the second and third the same vector: the third has another value.
#[test]
fn a_round_is_known_by_its_value_where_many_have_the_same_vector() {
    let (n, half) = (64, 32);
    // Rows of the second half are 0; the columns there, which only the first round meets, add `more` to the upper rows.
    let matrix = |more: f32| -> Vec<f32> {
        let element = |at: usize| match (at / n, at % n) {
            (row, _) if row >= half => 0.0,
            (row, col) if col < half => (0.5 + 0.5 * random(21, row)) * (0.1 + 0.9 * random(22, col)),
            (row, _) => {
                if row < half / 2 {
                    more
                } else {
                    0.0
                }
            }
        };
        (0..n * n).map(element).collect()
    };
    let values = |more: f32| {
        let mut rounds = Vec::new();
        let matrix = Dense { shape: vec![n, n], values: matrix(more).into_iter().map(f64::from).collect() };
        last_rounds(&matrix, Last { most: f64::INFINITY, least: -1.0 }, |round, _| {
            rounds.push(round.value);
            Ok(())
        })
        .unwrap();
        rounds
    };
    let grows = |more: f32| values(more)[0] < values(more)[1];
    let (mut low, mut high) = (0.0, 5.0);
    assert!(grows(low) && !grows(high));
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        *(if grows(middle) { &mut low } else { &mut high }) = middle;
    }
    let all = values(low);
    assert!((all[1] - all[0]).abs() < 1e-6 * all[1] && (all[2] - all[1]).abs() > 1e-3 * all[1], "{all:?}");
    let matrix = matrix(low);
    let (value, vector, rounds) = in_order(&matrix, n, STOP_AT, &|terms| terms.iter().sum());
    assert_eq!(rounds, 2);
    let found = checked(&matrix, value, &vector);
    assert!(found.iter().all(Comparison::passed), "{found:?}");
}

/// Where terms that are too small for f32 may change an element by more than ½ %, nothing is compared.
#[test]
fn a_vector_that_underflow_may_change_is_not_called_right() {
    let (value, vector, _) = in_f32(&two_blocks(0.5, 1e-3));
    for (scale, is_compared) in [(1e-30, true), (1e-35, false)] {
        let matrix: Vec<f32> = two_blocks(0.5, 1e-3).into_iter().map(|x| x * scale).collect();
        let found = compared(STOP_AT, &matrix, value * scale, &vector);
        assert_eq!(found.is_ok(), is_compared, "{scale}: {found:?}");
    }
    // Small elements of small matrices are compared as others: their terms are numbers of f32.
    let scale = 1e-21;
    let (_, vector, _) = in_f32(&two_blocks(0.01, 1e-8));
    let matrix: Vec<f32> = two_blocks(0.01, 1e-8).into_iter().map(|x| x * scale).collect();
    let (value, ..) = in_f32(&two_blocks(0.01, 1e-8));
    let of = |factor: f32| {
        let half = N / 2;
        let off: Vec<f32> =
            vector.iter().enumerate().map(|(at, x)| if at < half { *x } else { x * factor }).collect();
        compared(STOP_AT, &matrix, value * scale, &off).map(|found| found[1].passed())
    };
    assert!(matches!((of(1.0), of(0.0), of(1.01)), (Ok(true), Ok(false), Ok(false))));
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
