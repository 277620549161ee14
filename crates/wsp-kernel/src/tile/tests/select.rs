//! Causal masks, masks by comparison, choices and selections, against loops over elements.

use super::{COLS, Matrix, Random, all_kernels, bits, empty_tile, get, put};
use crate::memory::{Fault, Shape};
use crate::tile::{Tiles, TopK};
use std::cmp::Ordering;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Operand};
use wsp_simd::Mode;

#[test]
fn causal_masks_move_one_column_per_row() {
    let mut random = Random::new(3);
    for first in [-70, -3, 0, 1, 5, 70] {
        for (rows, cols) in [(1, 1), (5, 9), (9, 5), (40, 64)] {
            let before = Matrix::random(&mut random, rows, cols, DType::F32);
            let mut tiles = Tiles::new(Mode::Fast);
            let id = put(&mut tiles, &before, DType::F32);
            tiles.mask_causal(id, first, -7.0);
            let after = get(&mut tiles, id);
            for r in 0..rows as usize {
                for c in 0..cols as usize {
                    let masked = c as i64 >= i64::from(first) + r as i64;
                    let want = if masked { -7.0 } else { before.at(r, c) };
                    assert_eq!(after.at(r, c), want, "{first}: ({r}, {c}) of {rows} x {cols}");
                }
            }
        }
    }
}

#[test]
fn a_choice_takes_the_left_operand_where_the_mask_is_not_0() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(9);
        for cols in COLS {
            let rows = random.below(9);
            let mut mask = Matrix::random(&mut random, rows, cols, DType::F32);
            let test = [0.0, -0.0, 1.0, f32::NAN, -3.0, f32::INFINITY];
            mask.values.iter_mut().for_each(|x| *x = test[random.below(6) as usize]);
            let [a, b] = [0; 2].map(|_| Matrix::random(&mut random, rows, cols, DType::F32));
            let (column, row) = (
                Matrix::random(&mut random, rows, 1, DType::F32),
                Matrix::random(&mut random, 1, cols, DType::F32),
            );
            let [tm, ta, tb, tc, tr] = [&mask, &a, &b, &column, &row].map(|m| put(&mut tiles, m, DType::F32));
            for right in [Operand::Tile(tb), Operand::Column(tc), Operand::Row(tr), Operand::Scalar(f32::NAN)]
            {
                let mut want = Vec::new();
                for (r, c) in (0..rows as usize).flat_map(|r| (0..cols as usize).map(move |c| (r, c))) {
                    let other = match right {
                        Operand::Tile(_) => b.at(r, c),
                        Operand::Column(_) => column.at(r, 0),
                        Operand::Row(_) => row.at(0, c),
                        Operand::Scalar(x) => x,
                    };
                    let chosen = if mask.at(r, c) == 0.0 { other } else { a.at(r, c) };
                    want.push(chosen.to_bits());
                }
                let dst = empty_tile(&mut tiles, rows, cols, DType::F32);
                tiles.select(dst, tm, ta, right).unwrap();
                assert_eq!(bits(&get(&mut tiles, dst)), want, "{name} {right:?} {rows} x {cols}");
                let over = put(&mut tiles, &mask, DType::F32);
                tiles.select(over, over, ta, right).unwrap();
                assert_eq!(bits(&get(&mut tiles, over)), want, "{name} {right:?} over its mask");
            }
        }
        let shapes = [Shape::new(2, 3), Shape::new(2, 4)];
        let [m, a] = shapes
            .map(|s| put(&mut tiles, &Matrix::random(&mut random, s.rows, s.cols, DType::F32), DType::F32));
        let fault = Fault::ShapeMismatch { have: shapes[1], need: shapes[0] };
        assert_eq!(tiles.select(m, m, a, Operand::Scalar(0.0)), Err(fault), "{name}");
        assert_eq!(tiles.select(m, m, m, Operand::Tile(a)), Err(fault), "{name}");
    }
}

/// Whether a relation holds of numbers in this order, none where one is NaN.
type Holds = fn(Option<Ordering>) -> bool;

#[test]
fn comparisons_of_special_values_are_those_of_numbers() {
    let special = [f32::NEG_INFINITY, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, f32::INFINITY, f32::NAN];
    let pairs = || special.into_iter().flat_map(|a| special.map(|b| (a, b)));
    let relations: [(BinaryTileOp, Holds); 6] = [
        (BinaryTileOp::Eq, |o| o == Some(Ordering::Equal)),
        (BinaryTileOp::Ne, |o| o != Some(Ordering::Equal)),
        (BinaryTileOp::Lt, |o| o == Some(Ordering::Less)),
        (BinaryTileOp::Le, |o| matches!(o, Some(Ordering::Less | Ordering::Equal))),
        (BinaryTileOp::Gt, |o| o == Some(Ordering::Greater)),
        (BinaryTileOp::Ge, |o| matches!(o, Some(Ordering::Greater | Ordering::Equal))),
    ];
    for (name, mut tiles) in all_kernels() {
        let shape = Shape::new(1, 81);
        let a = put(&mut tiles, &Matrix { shape, values: pairs().map(|p| p.0).collect() }, DType::F32);
        let b = put(&mut tiles, &Matrix { shape, values: pairs().map(|p| p.1).collect() }, DType::F32);
        let dst = empty_tile(&mut tiles, 1, 81, DType::F32);
        for (op, holds) in relations {
            tiles.binary(op, dst, a, Operand::Tile(b)).unwrap();
            let want: Vec<f32> = pairs().map(|(a, b)| f32::from(holds(a.partial_cmp(&b)))).collect();
            assert_eq!(get(&mut tiles, dst).values, want, "{name} {op:?}");
        }
    }
}

/// The first `k` of a sorted copy of each row.
fn sorted(rows: &[Vec<f32>], k: usize) -> (Vec<f32>, Vec<f32>) {
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    for row in rows {
        let number = |x: f32| if x.is_nan() { f32::NEG_INFINITY } else { x };
        let mut order: Vec<usize> = (0..row.len()).collect();
        // Stable: equal values stay in the order of their indices.
        order.sort_by(|&a, &b| number(row[b]).partial_cmp(&number(row[a])).unwrap());
        values.extend(order.iter().take(k).map(|&i| number(row[i])));
        indices.extend(order.iter().take(k).map(|&i| i as f32));
    }
    (values, indices)
}

#[test]
fn selections_of_pieces_are_the_beginning_of_a_stable_sort() {
    let mut random = Random::new(7);
    for (rows, k, pieces) in
        [(1, 1, &[9, 4][..]), (3, 8, &[3, 2, 60]), (2, 50, &[16, 1, 16]), (2, 5, &[0, 7])]
    {
        let mut tiles = Tiles::new(Mode::Fast);
        let (values, indices) =
            (empty_tile(&mut tiles, 4, k, DType::F32), empty_tile(&mut tiles, 4, k, DType::F32));
        let mut all = vec![Vec::new(); rows as usize];
        for &cols in pieces {
            let mut piece = Matrix::random(&mut random, rows, cols, DType::F32);
            // Few different values, so that there are ties.
            piece.values.iter_mut().for_each(|x| *x = if *x > 1.9 { f32::NAN } else { x.round() });
            let src = put(&mut tiles, &piece, DType::F32);
            let first = all[0].len() as u32;
            tiles.top_k(TopK { values, indices, src }, first).unwrap();
            for (r, row) in all.iter_mut().enumerate() {
                row.extend((0..cols as usize).map(|c| piece.at(r, c)));
            }
        }
        let (want, order) = sorted(&all, k as usize);
        assert_eq!(get(&mut tiles, values).values, want, "{rows} rows, {k} of {pieces:?}");
        assert_eq!(get(&mut tiles, indices).values, order, "{rows} rows, {k} of {pieces:?}");
    }
}

#[test]
fn places_for_entries_to_come_keep_their_index_until_an_entry_takes_them() {
    let mut tiles = Tiles::new(Mode::Fast);
    let row = |values: &[f32]| Matrix { shape: Shape::new(1, values.len() as u32), values: values.to_vec() };
    let values = put(&mut tiles, &row(&[f32::NEG_INFINITY; 4]), DType::F32);
    let indices = put(&mut tiles, &row(&[-1.0; 4]), DType::F32);
    let src = put(&mut tiles, &row(&[1.0, 3.0]), DType::F32);
    tiles.top_k(TopK { values, indices, src }, 5).unwrap();
    assert_eq!(get(&mut tiles, values).values, [[3.0, 1.0].as_slice(), &[f32::NEG_INFINITY; 4]].concat());
    assert_eq!(get(&mut tiles, indices).values, [6.0, 5.0, -1.0, -1.0, -1.0, -1.0]);
}

#[test]
fn selections_that_cannot_be_leave_the_lists_as_they_are() {
    let mut tiles = Tiles::new(Mode::Fast);
    let row = |values: &[f32]| Matrix { shape: Shape::new(1, values.len() as u32), values: values.to_vec() };
    let (values, indices) =
        (empty_tile(&mut tiles, 2, 2, DType::F32), empty_tile(&mut tiles, 2, 2, DType::F32));
    let src = put(&mut tiles, &row(&[1.0, 3.0, 2.0]), DType::F32);
    let lists = TopK { values, indices, src };
    let last = (1 << 24) - 3;
    tiles.top_k(lists, last).unwrap();
    let before = (bits(&get(&mut tiles, values)), bits(&get(&mut tiles, indices)));
    assert_eq!(tiles.top_k(lists, last + 1), Err(Fault::IndexTooLarge { index: 1 << 24 }));
    let two = put(&mut tiles, &Matrix { shape: Shape::new(2, 1), values: vec![5.0, 6.0] }, DType::F32);
    let mismatch = tiles.top_k(TopK { src: two, ..lists }, 0);
    assert_eq!(mismatch, Err(Fault::ShapeMismatch { have: Shape::new(1, 2), need: Shape::new(2, 2) }));
    assert_eq!((bits(&get(&mut tiles, values)), bits(&get(&mut tiles, indices))), before);
    let narrow = empty_tile(&mut tiles, 1, 1, DType::F32);
    assert!(tiles.top_k(TopK { indices: narrow, ..lists }, 0).is_err(), "lists of different lengths");
}

#[test]
fn a_clamp_rounds_what_lies_within_the_limits_only() {
    // 464 and more is NaN in e4m3, whose largest number is 448.
    let values = vec![1.0, -3.0, 448.0, 500.0, 1000.0, -1e6, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let want = [1.0, -3.0, 448.0, 448.0, 448.0, -448.0, 448.0, -448.0];
    for (name, mut tiles) in all_kernels() {
        for dtype in [DType::F32, DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2] {
            let a = put(&mut tiles, &Matrix { shape: Shape::new(1, 9), values: values.clone() }, DType::F32);
            let dst = empty_tile(&mut tiles, 1, 9, dtype);
            tiles.clamp(dst, a, -448.0, 448.0).unwrap();
            let have = get(&mut tiles, dst).values;
            assert_eq!(have[..8], want, "{name} {dtype:?}");
            assert!(have[8].is_nan(), "{name} {dtype:?}");
            // In place, and with limits that exclude each other.
            tiles.clamp(a, a, 5.0, 4.0).unwrap();
            assert_eq!(get(&mut tiles, a).values[..8], [4.0; 8], "{name}");
        }
    }
}
