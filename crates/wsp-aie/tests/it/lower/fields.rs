//! Boxes of arrays as transfers.

use crate::randomised::Numbers;
use wsp_aie::device::ITERATIONS;
use wsp_aie::lower::fields::{legal, merged, runs};

/// Elements of transfers, in order.
fn elements(parts: &[(u64, Vec<(u64, u64)>)]) -> Vec<u64> {
    let mut out = Vec::new();
    for (base, dims) in parts {
        let mut all = vec![*base];
        for (size, stride) in dims {
            all = all.iter().flat_map(|at| (0..*size).map(move |i| at + i * stride)).collect();
        }
        out.extend(all);
    }
    out
}

#[test]
fn descriptors_hold_the_elements_in_their_order() {
    let mut dice = Numbers::of_seed(5);
    for _ in 0..400 {
        let mut dims: Vec<(u64, u64)> = Vec::new();
        for _ in 0..1 + dice.below(5) {
            let most = [3, 70, 9, 12, 3][dice.below(5) as usize];
            dims.push((1 + dice.below(most), dice.below(5000)));
        }
        dims.push((1 + dice.below(1500), 1));
        let total: u64 = dims.iter().map(|(size, _)| size).product();
        if total > 1 << 18 {
            continue;
        }
        let mut out = Vec::new();
        legal(3, &merged(&dims), 4, &mut out);
        assert_eq!(elements(&out), elements(&[(3, dims)]));
        for (_, dims) in &out {
            let inner = if dims.len() == 4 { &dims[1..] } else { &dims[..] };
            assert!(inner.len() <= 3 && (dims.len() < 4 || dims[0].0 <= ITERATIONS), "{dims:?}");
            let is_line = matches!(dims.as_slice(), [(_, 1)] | [(1, _)]);
            assert!(is_line || inner.iter().skip(1).all(|(size, _)| *size <= 1023), "{dims:?}");
        }
    }
}

#[test]
fn offsets_are_followed_by_runs() {
    let offsets: Vec<(u64, usize)> = [0, 8, 16, 0, 8, 16, 100, 108, 116].into_iter().zip(0..).collect();
    let found = runs(&offsets);
    let loops: Vec<(u64, &[(u64, i64)])> = found.iter().map(|run| (run.base, run.loops.as_slice())).collect();
    assert_eq!(loops, [(0, &[(2, 0), (3, 8)][..]), (100, &[(3, 8)][..])]);
}
