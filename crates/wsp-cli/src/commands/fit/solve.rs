//! How many times each figure has to be taken for tasks to take what they were measured to take.

/// Tasks that do the same.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// How often each term comes into one.
    pub(super) counts: Vec<f64>,
    /// What one was measured to take: a fourth took less, since what else a machine does only adds to it.
    pub(super) seconds: f64,
    /// How many there are.
    pub(super) tasks: f64,
}

impl Point {
    /// What a task takes where one of each term takes so long.
    pub(super) fn predicted(&self, seconds: &[f64]) -> f64 {
        self.counts.iter().zip(seconds).map(|(count, each)| count * each).sum()
    }
}

/// What was found.
pub(super) struct Solution {
    /// How many times each term has to be taken; 1 of one that is not decided on.
    pub(super) times: Vec<f64>,
    /// Whether the points decide on each.
    pub(super) decided: Vec<bool>,
}

/// Least of a figure that is left: rates must not be endless.
const LEAST: f64 = 0.02;
/// Rounds in which points that are far off count less and less.
const ROUNDS: usize = 5;
/// Relative error from which on a point counts less.
const FAR: f64 = 0.25;
/// Passes of the descent.
const PASSES: usize = 2000;

/// Least squares of relative errors, by coordinate descent: no figure below zero, each near to its prior where points do not say otherwise.
///
/// `rows` are points with their weights, `prior` the seconds of each term, and `stay` how much staying with them weighs. A term of which the points
/// decide on less than `least` of its value is left at its prior, and the others are found without it.
pub(super) fn solve(rows: &[(&Point, f64)], prior: &[f64], stay: f64, least: f64) -> Solution {
    let terms = prior.len();
    let part = |point: &Point, at: usize| point.counts[at] * prior[at] / point.seconds;
    let mut times = vec![1.0; terms];
    let mut decided = vec![true; terms];
    let mut weights: Vec<f64> = rows.iter().map(|(_, weight)| *weight).collect();
    for round in 0..ROUNDS {
        let mut normal = vec![vec![0.0; terms]; terms];
        let mut right = vec![0.0; terms];
        for ((point, _), weight) in rows.iter().zip(&weights) {
            for a in (0..terms).filter(|a| point.counts[*a] > 0.0) {
                right[a] += weight * part(point, a);
                for (b, to) in normal[a].iter_mut().enumerate() {
                    *to += weight * part(point, a) * part(point, b);
                }
            }
        }
        for a in 0..terms {
            normal[a][a] += stay;
            right[a] += stay;
        }
        if round == 0 {
            decided = (0..terms).map(|at| 1.0 - stay * inverse(&normal, at) >= least).collect();
        }
        descend(&normal, &right, &decided, &mut times);
        for ((point, weight), now) in rows.iter().zip(&mut weights) {
            let error: f64 = (0..terms).map(|at| part(point, at) * times[at]).sum::<f64>() - 1.0;
            *now = weight / (error.abs() / FAR).max(1.0);
        }
    }
    Solution { times, decided }
}

/// Descends along one term after another; those that are not decided on stay.
fn descend(normal: &[Vec<f64>], right: &[f64], decided: &[bool], times: &mut [f64]) {
    for _ in 0..PASSES {
        for at in (0..times.len()).filter(|at| decided[*at]) {
            let slope = right[at] - normal[at].iter().zip(&*times).map(|(a, b)| a * b).sum::<f64>();
            times[at] = (times[at] + slope / normal[at][at]).max(LEAST);
        }
    }
}

/// The element `at`, `at` of the inverse of a symmetric matrix that is positive definite: conjugate gradients.
fn inverse(matrix: &[Vec<f64>], at: usize) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut found = vec![0.0; matrix.len()];
    let mut rest = vec![0.0; matrix.len()];
    rest[at] = 1.0;
    let mut way = rest.clone();
    let mut left = 1.0;
    for _ in 0..4 * matrix.len() {
        let along: Vec<f64> = matrix.iter().map(|row| dot(row, &way)).collect();
        let step = left / dot(&way, &along);
        for n in 0..found.len() {
            found[n] += step * way[n];
            rest[n] -= step * along[n];
        }
        let next = dot(&rest, &rest);
        if next < 1e-18 {
            break;
        }
        for n in 0..way.len() {
            way[n] = rest[n] + next / left * way[n];
        }
        left = next;
    }
    found[at]
}

/// A value to four digits, since the next run has others; none where it is not one that a figure can have.
pub(super) fn rounded(value: f64) -> Option<f64> {
    let scale = 10f64.powi(3 - value.log10().floor() as i32);
    Some((value * scale).round() / scale).filter(|value| value.is_finite() && *value > 0.0)
}
