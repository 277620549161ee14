//! Rounds of power iteration: exact ones, those of f32, and those that are off by what rounding may do.

use super::super::compare::U32;
use super::super::dense::{Dense, dot};
use std::cmp::Ordering;
use wsp_diag::Diagnostic;

/// Rounds after which the reference gives up: no gap between the first two eigenvalues, as of a matrix of zeros.
pub(super) const MOST_ROUNDS: usize = 10_000;
/// Relative change at which the reference goes no further, whatever the program's: some units of the last place of f64.
const SETTLED: f64 = 1e-14;

/// What a right program may be off more than the computations in f32 that the reference makes: their sums are in three orders of many, and it may
/// round each element more than once in a round.
const OTHER_ORDERS: f64 = 8.0;

/// Roundings of an element in a round beside those of its sum: of the products, of a division by the value, and of one by something else before.
const ROUNDINGS: f64 = 3.0;

/// Elements and products below are too small to measure rounding by: f32 has fewer bits for terms under 10⁻³⁸.
pub(super) const MEASURED: f64 = 1e-30;

/// The relative changes of the value between which a program in f32 ends.
///
/// The value is the root of a sum of n squares: the root halves the error √n u of that sum, and elements of the product, which are
/// sums of n terms, add √n u where they are alike. A change is the difference of two such values, so that a program measures it with an
/// error of up to 3 √n u. It ends at the limit give or take that: where the limit is less than that, in any round up to that in which value
/// and vector settle, each of which is nearer to what is sought than the one before.
#[derive(Clone, Copy)]
pub(super) struct Last {
    /// A round that changes the value by more is never the last.
    pub(super) most: f64,
    /// A round that changes the value by no more than this is the last.
    pub(super) least: f64,
}

impl Last {
    pub(super) fn of(stop: f64, n: usize) -> Last {
        let error = 3.0 * (n as f64).sqrt() * U32;
        Last { most: stop + error, least: stop - error }
    }
}

/// Terms and elements below have fewer bits in f32, or are 0; a little more than the smallest normal number, as factors are off by rounding.
const TINY: f64 = 1.01 * f32::MIN_POSITIVE as f64;

/// The value and the vector of length one after a round.
pub(super) struct Iterate {
    pub(super) value: f64,
    pub(super) vector: Vec<f64>,
    /// By how much each element may be off for terms that are too small for f32, in this round and those before; none of rounds in f32.
    pub(super) lost: Vec<f64>,
}

impl Iterate {
    /// A vector that has the same part in every direction.
    fn start(n: usize) -> Iterate {
        Iterate { value: 0.0, vector: vec![(n as f64).sqrt().recip(); n], lost: vec![0.0; n] }
    }

    /// One round in f64. `least` is the smallest element of the matrix that is more than 0.
    fn next(&self, matrix: &Dense, least: f64) -> Iterate {
        let next = self.next_by(matrix, dot, |x| x);
        Iterate { lost: self.lost_in(matrix, least, next.value), ..next }
    }

    /// What is lost when the next round is made: terms that are too small for f32 may be 0 there, and what was lost before is carried on.
    fn lost_in(&self, matrix: &Dense, least: f64, value: f64) -> Vec<f64> {
        let smallest = self.vector.iter().copied().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
        let has_small = least * smallest < TINY;
        let carries = self.lost.iter().any(|lost| *lost > TINY);
        let small = |row: &[f64]| -> f64 {
            row.iter().zip(&self.vector).map(|(a, b)| a * b).filter(|term| *term < TINY).sum()
        };
        let lost = |row: usize| {
            let row = matrix.row(row);
            let terms = if has_small { small(row) } else { 0.0 };
            let before = if carries { dot(row, &self.lost) } else { 0.0 };
            (terms + before) / value + TINY
        };
        (0..self.vector.len()).map(lost).collect()
    }

    /// One round in f32, each sum by an order. The length alone is summed in f64: its error changes all elements alike, and the next round
    /// takes it back.
    fn next_in_f32(&self, matrix: &Dense, order: SumInF32) -> Iterate {
        self.next_by(matrix, |row, vector| f64::from(order(row, vector)), in_f32)
    }

    fn next_by(
        &self,
        matrix: &Dense,
        sum: impl Fn(&[f64], &[f64]) -> f64,
        round: impl Fn(f64) -> f64,
    ) -> Iterate {
        let mut vector: Vec<f64> =
            (0..self.vector.len()).map(|row| sum(matrix.row(row), &self.vector)).collect();
        let value = round(dot(&vector, &vector).sqrt());
        vector.iter_mut().for_each(|x| *x = round(*x / value));
        Iterate { value, vector, lost: Vec::new() }
    }

    /// The largest relative error of an element beside the same round in f64; none where it has no numbers.
    fn departure(&self, exact: &Iterate) -> f64 {
        exact.errors(&self.vector).fold(0.0, f64::max)
    }

    /// How far a value and a vector are from those of this round: the root of the sum of the squares of the relative errors. Of rounds with like vectors
    /// the values may differ, and the other way round.
    pub(super) fn distance(&self, value: f64, vector: &[f64]) -> f64 {
        let of_value = (value - self.value) / self.value;
        self.errors(vector).chain([of_value]).map(|error| error * error).sum::<f64>().sqrt()
    }

    /// The relative errors of the elements of a vector beside this round.
    fn errors(&self, vector: &[f64]) -> impl Iterator<Item = f64> {
        let least = MEASURED / self.value.min(1.0);
        let measured = vector.iter().zip(&self.vector).filter(move |(_, want)| **want >= least);
        measured.map(|(have, want)| (have - want).abs() / want)
    }
}

/// Rounds that are not exact, beside those of f64.
pub(super) struct Inexact {
    /// In f32, with sums by each of [`ORDERS`].
    in_f32: [Iterate; 3],
    /// In f64, where each round is off by what rounding may do, each element to the side to which the vector turns.
    pushed: Iterate,
}

impl Inexact {
    fn start(n: usize) -> Inexact {
        let start = || Iterate { vector: vec![in_f32((n as f64).sqrt().recip()); n], ..Iterate::start(n) };
        Inexact { in_f32: ORDERS.map(|_| start()), pushed: start() }
    }

    /// One round, in which the vector turns from `before` to `round`.
    fn next(&mut self, matrix: &Dense, before: &Iterate, round: &Iterate) {
        self.in_f32.iter_mut().zip(ORDERS).for_each(|(it, order)| *it = it.next_in_f32(matrix, order));
        let n = matrix.cols();
        let off = ((n as f64).sqrt() + ROUNDINGS) * U32;
        let mut next = self.pushed.next_by(matrix, dot, |x| x);
        for (at, x) in next.vector.iter_mut().enumerate() {
            let side = match round.vector[at].total_cmp(&before.vector[at]) {
                Ordering::Less => -1.0,
                Ordering::Greater => 1.0,
                // It turns no more: any side will do, and not all elements the same.
                Ordering::Equal => 1.0 - 2.0 * (at % 2) as f64,
            };
            *x *= 1.0 + side * off;
        }
        self.pushed = next;
    }

    /// By how much an element of a right vector may be off beside this round in f64.
    pub(super) fn allowed(&self, round: &Iterate) -> f64 {
        let in_f32 = self.in_f32.iter().map(|it| OTHER_ORDERS * it.departure(round));
        in_f32.fold(self.pushed.departure(round), f64::max)
    }
}

/// The sum of the products of two rows in f32.
type SumInF32 = fn(&[f64], &[f64]) -> f32;

/// From the first column to the last, from the last to the first, and in four parts of every fourth column.
const ORDERS: [SumInF32; 3] = [
    |row, vector| row.iter().zip(vector).fold(0.0, add),
    |row, vector| row.iter().zip(vector).rev().fold(0.0, add),
    |row, vector| {
        let mut parts = [0.0; 4];
        for (at, terms) in row.iter().zip(vector).enumerate() {
            parts[at % 4] = add(parts[at % 4], terms);
        }
        parts.iter().sum()
    },
];

fn add(sum: f32, (a, b): (&f64, &f64)) -> f32 {
    sum + *a as f32 * *b as f32
}

/// Rounds to f32.
fn in_f32(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Visits each round of power iteration that may be the last, and the same round of the computations that are not exact: up to the round that changes
/// the value by no more than the least change, or in which value and vector settle. None is visited where no round is the last.
pub(super) fn last_rounds(
    matrix: &Dense,
    last: Last,
    mut visit: impl FnMut(&Iterate, &Inexact) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let n = matrix.cols();
    let mut round = Iterate::start(n);
    let least = matrix.values.iter().copied().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
    let mut inexact = Inexact::start(n);
    for _ in 0..MOST_ROUNDS {
        let next = round.next(matrix, least);
        if next.value.is_nan() {
            let nan = Iterate { vector: vec![next.value; n], lost: vec![0.0; n], ..next };
            return visit(&nan, &inexact);
        }
        if !(next.value > 0.0 && next.value.is_finite()) {
            return Ok(());
        }
        let turned: f64 =
            next.vector.iter().zip(&round.vector).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let moved = (next.value - round.value).abs() / next.value;
        inexact.next(matrix, &round, &next);
        round = next;
        if moved <= last.most {
            visit(&round, &inexact)?;
        }
        if moved <= last.least || moved.max(turned) <= SETTLED {
            return Ok(());
        }
    }
    Ok(())
}
