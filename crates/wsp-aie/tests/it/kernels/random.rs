//! Random kernels: every operation on live tiles, in loops and under conditions.

use super::bench::COLS;
use super::drawn::{Drawn, drawn};
use super::operations::{body_of, interpreted};
use crate::randomised::cases;

#[test]
fn random_kernels_have_the_results_of_plain_runs() {
    let (cases, mut same, mut refused) = (cases(50), 0, 0);
    for seed in 1..=cases {
        let Drawn { kernel, words, tolerance } = drawn(seed);
        let body = match body_of(&kernel) {
            Ok(body) => body,
            Err(why) => {
                println!("{seed}: {why}");
                refused += 1;
                continue;
            }
        };
        let have = interpreted(&kernel, &body, words).unwrap_or_else(|fault| panic!("{seed}: {fault}"));
        let want = kernel.plain(words);
        let is_same = |a: f32, b: f32| a == b || a.is_nan() && b.is_nan();
        let near = |a: f32, b: f32| is_same(a, b) || (a - b).abs() <= tolerance * b.abs().max(1.0);
        for (at, (have, want)) in have.iter().zip(&want).enumerate() {
            let (row, col) = (at / COLS, at % COLS);
            assert!(near(*have, *want), "{seed}: y[{row}, {col}] is {have} and should be {want}");
        }
        same += u64::from(have.iter().zip(&want).all(|(a, b)| is_same(*a, *b)));
    }
    println!("{cases} kernels: {same} with the same bits, {refused} without a body");
    assert!(same * 10 >= cases * 6 && refused * 10 <= cases, "{same} are the same, {refused} have no body");
}
