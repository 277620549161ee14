//! The kernels of the example units at small sizes, against what they should compute from each other's results.

use super::tests::{entries_of, floats, nothing, read, run};
use super::*;
use wsp_kernel::Scratch;

const DEEPSEEK: &str = include_str!("../../../../../examples/deepseek/indexer.pto");
const POWER: &str = include_str!("../../../../../examples/power_iteration.pto");
const DEVICES: &str = include_str!("../../../../../examples/two_devices.pto");
const STEPS: &str = include_str!("../../../../../examples/thousand_steps.pto");

const TOKENS: usize = 50;
const QUERIES: usize = 20;
const HIDDEN: usize = 32;
const HEAD: usize = 16;
const HEADS: usize = 2;
const DIM: usize = 8;

/// Numbers of about one in f16, by a fixed formula.
fn halves(count: usize, scale: f64, seed: usize) -> TensorRange {
    let value = |i: usize| ((i * 7919 + seed * 104_729 + 13) % 2003) as f64 / 1001.0 - 1.0;
    let bytes: Vec<u8> = (0..count).flat_map(|i| half((value(i) * scale) as f32).to_le_bytes()).collect();
    TensorRange::of_bytes(&bytes).expect("it is small")
}

/// The bits of a number of moderate size in f16, rounded down in magnitude.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xFF).cast_signed() - 112;
    match exponent {
        ..=0 => (bits >> 16 & 0x8000) as u16,
        _ => (bits >> 16 & 0x8000) as u16 | (exponent.cast_unsigned() << 10 | bits >> 13 & 0x3FF) as u16,
    }
}

fn read_halves(range: &TensorRange) -> Vec<f64> {
    let value = |bits: u16| {
        let (sign, exponent, part) = (bits >> 15, i32::from(bits >> 10 & 0x1F), f64::from(bits & 0x3FF));
        let size = match exponent {
            0 => part * 2f64.powi(-24),
            _ => (1.0 + part / 1024.0) * 2f64.powi(exponent - 15),
        };
        if sign == 1 { -size } else { size }
    };
    range.to_vec().chunks_exact(2).map(|b| value(u16::from_le_bytes([b[0], b[1]]))).collect()
}

fn zeros(bytes: usize) -> TensorRange {
    TensorRange::zeros(bytes as u64, 512).expect("it is small")
}

/// What the four kernels leave, run one after the other in so many blocks.
struct Attention {
    q: TensorRange,
    kv: TensorRange,
    scores: TensorRange,
    topk: TensorRange,
    output: TensorRange,
}

fn attention(top_k: usize, blocks: u32) -> Attention {
    let set = [
        ("HIDDEN", HIDDEN),
        ("HEAD_DIM", HEAD),
        ("INDEX_HEADS", HEADS),
        ("INDEX_DIM", DIM),
        ("TOP_K", top_k),
    ];
    let entries = entries_of(DEEPSEEK, &set.map(|(name, value)| (name, value as i64)));
    let weights = [
        ("rms_weight", halves(HIDDEN, 1.5, 2), vec![1, HIDDEN as u64]),
        ("w_q", halves(HIDDEN * HEAD, 0.3, 3), vec![HIDDEN as u64, HEAD as u64]),
        ("w_kv", halves(HIDDEN * HEAD, 0.3, 4), vec![HIDDEN as u64, HEAD as u64]),
        ("index_q", halves(HIDDEN * HEADS * DIM, 0.3, 5), vec![HIDDEN as u64, (HEADS * DIM) as u64]),
        ("index_k", halves(HIDDEN * DIM, 0.3, 6), vec![HIDDEN as u64, DIM as u64]),
        ("index_w", halves(HIDDEN * HEADS, 0.3, 7), vec![HIDDEN as u64, HEADS as u64]),
    ];
    let hidden = halves(TOKENS * HIDDEN, 1.0, 1);
    let made = Attention {
        q: zeros(QUERIES * HEAD * 2),
        kv: zeros(TOKENS * HEAD * 2),
        scores: zeros(QUERIES * TOKENS * 4),
        topk: zeros(QUERIES * top_k * 4),
        output: zeros(QUERIES * HEAD * 2),
    };
    let Attention { q, kv, scores, topk, output } = &made;
    let args = [
        [&hidden, q, kv].map(Clone::clone).to_vec(),
        [&hidden, scores].map(Clone::clone).to_vec(),
        [scores, topk].map(Clone::clone).to_vec(),
        [q, kv, topk, output].map(Clone::clone).to_vec(),
    ];
    let workspace = zeros(blocks as usize * 32 * HEAD * 2);
    for (entry, args) in entries.iter().zip(&args) {
        let residents: Vec<PtoResident<'_>> = (entry.signature().resident.iter())
            .map(|resident| {
                let (_, range, shape) =
                    weights.iter().find(|(name, ..)| *name == resident.name).expect("every weight is made");
                PtoResident { range, dtype: DType::F16, shape }
            })
            .collect();
        let bound = entry.bind(args, &residents, &workspace, None).expect("the arguments fit");
        let mut scratch = Scratch::new();
        (0..blocks).for_each(|block| bound.run(&mut scratch, block, blocks).expect("the kernel runs"));
    }
    made
}

/// The tokens with the largest scores, the largest first, equal ones by number.
fn best(scores: &[f32], top_k: usize) -> Vec<f32> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut best: Vec<f32> = order.into_iter().take(top_k).map(|s| s as f32).collect();
    best.resize(top_k, -1.0);
    best
}

/// ISA-EX-04.
#[test]
fn the_indexer_chooses_the_tokens_with_the_largest_scores_and_marks_what_is_missing() {
    for top_k in [5, 45] {
        let made = attention(top_k, 3);
        let (scores, topk) = (read(&made.scores), read(&made.topk));
        for i in 0..QUERIES {
            let row = &scores[i * TOKENS..][..TOKENS];
            let seen = TOKENS - QUERIES + i + 1;
            assert!(row[..seen].iter().all(|x| x.is_finite()), "query {i}");
            assert!(row[seen..].iter().all(|x| *x == f32::NEG_INFINITY), "query {i} sees what comes later");
            assert_eq!(topk[i * top_k..][..top_k], best(&row[..seen], top_k), "query {i}");
        }
    }
}

/// ISA-EX-04.
#[test]
fn attention_weighs_the_chosen_tokens_and_skips_those_that_are_missing() {
    for top_k in [5, 45] {
        let made = attention(top_k, 3);
        let (q, kv, topk) = (read_halves(&made.q), read_halves(&made.kv), read(&made.topk));
        let have = read_halves(&made.output);
        for i in 0..QUERIES {
            let row = |token: usize| &kv[token * HEAD..][..HEAD];
            let query = &q[i * HEAD..][..HEAD];
            let chosen: Vec<usize> =
                topk[i * top_k..][..top_k].iter().filter(|t| **t >= 0.0).map(|t| *t as usize).collect();
            let logit = |token: usize| {
                let dot: f64 = query.iter().zip(row(token)).map(|(a, b)| a * b).sum();
                (dot / (HEAD as f64).sqrt()).exp()
            };
            let sum: f64 = chosen.iter().map(|&t| logit(t)).sum();
            for d in 0..HEAD {
                let want: f64 = chosen.iter().map(|&t| logit(t) * row(t)[d]).sum::<f64>() / sum;
                let have = have[i * HEAD + d];
                // One rounding to f16, and sums in f32.
                assert!(
                    (have - want).abs() <= 1e-3 * want.abs() + 1e-5,
                    "query {i}, lane {d}: {have} {want}"
                );
            }
        }
    }
}

/// ISA-EX-04.
#[test]
fn the_number_of_blocks_does_not_change_a_bit() {
    let bits = |blocks: u32| {
        let made = attention(7, blocks);
        [made.q, made.kv, made.scores, made.topk, made.output].map(|range| range.to_vec())
    };
    let one = bits(1);
    assert!(one == bits(4), "four blocks give what one gives");
    assert!(one == bits(24), "more blocks than there is work for give what one gives");
}

#[test]
fn power_iteration_ends_when_the_value_has_settled() {
    let entries = entries_of(POWER, &[("N", 64)]);
    let [start, multiply, normalise] = &entries[..] else { panic!("three kernels") };
    // Eigenvalues of a·1 + J with J of ones: 64 + a and a.
    let matrix: Vec<f32> = (0..64 * 64).map(|i| if i % 65 == 0 { -33.0 } else { 1.0 }).collect();
    let (matrix, vector, product) = (floats(&matrix), zeros(256), zeros(256));
    let (value, go) = (zeros(4), zeros(4));
    run(start, &[vector.clone(), value.clone(), go.clone()], &nothing(), 1);
    let mut rounds = 0;
    while go.to_vec() != [0; 4] {
        run(multiply, &[matrix.clone(), vector.clone(), product.clone()], &nothing(), 3);
        let args = [product.clone(), vector.clone(), value.clone(), go.clone()];
        run(normalise, &args, &nothing(), 1);
        rounds += 1;
        assert!(rounds < 100, "it does not settle");
    }
    assert!((read(&value)[0] - 96.0).abs() < 1e-3, "{:?}", read(&value));
    assert!(read(&vector).iter().all(|x| (x - 0.125).abs() < 1e-6));
}

#[test]
fn rows_of_squares_are_summed() {
    let entries = entries_of(DEVICES, &[("COLS", 3)]);
    let (squares, sums) = (zeros(24), zeros(8));
    run(&entries[0], &[floats(&[1.0, 2.0, 3.0, -4.0, 0.0, 1.0]), squares.clone()], &nothing(), 2);
    run(&entries[1], &[squares, sums.clone()], &nothing(), 2);
    assert_eq!(read(&sums), [14.0, 17.0]);
}

#[test]
fn diffusion_keeps_the_ends_and_moves_the_rest() {
    let entries = entries_of(STEPS, &[("COLS", 4)]);
    let after = zeros(32);
    run(&entries[0], &[floats(&[1.0, 0.0, 0.0, 2.0, 5.0, 5.0, 5.0, 5.0]), after.clone()], &nothing(), 3);
    let want = [1.0, 0.2, 0.4, 2.0, 5.0, 5.0, 5.0, 5.0];
    assert!(read(&after).iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", read(&after));
}
