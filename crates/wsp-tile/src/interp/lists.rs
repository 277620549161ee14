//! The largest elements of each row.

use super::matrix::Matrix;
use std::cmp::Ordering;

/// What a list and its indices become when a row of `src`, whose column 0 has the index `first`, is taken in; `cols` is how many are kept.
///
/// Larger values come first, equal ones by rising index; NaN counts as -∞.
pub(super) fn take_in(lists: [&Matrix; 2], src: &Matrix, first: u32, cols: u32) -> [Matrix; 2] {
    let rows: Vec<Vec<(f32, f32)>> = (0..src.rows)
        .map(|r| {
            let held = (0..lists[0].cols).map(|c| (lists[0].get(r, c), lists[1].get(r, c)));
            let fresh = src.row(r).enumerate().map(|(c, x)| {
                let value = if x.is_nan() { f32::NEG_INFINITY } else { x };
                (value, (u64::from(first) + c as u64) as f32)
            });
            let mut all: Vec<(f32, f32)> = held.chain(fresh).collect();
            // Both zeros are equal, and there are no NaN.
            all.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(a.1.total_cmp(&b.1)));
            all
        })
        .collect();
    let of = |which: fn(&(f32, f32)) -> f32| {
        Matrix::of(src.rows, cols, |r, c| which(&rows[r as usize][c as usize]))
    };
    [of(|entry| entry.0), of(|entry| entry.1)]
}
