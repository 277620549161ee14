//! Row and column reductions.

use super::{COLS, Matrix, Random, all_kernels, assert_close, bits, empty_tile, get, put};
use crate::memory::{Fault, Shape};
use wsp_core::DType;
use wsp_ir::ReduceOp;

const OPS: &[ReduceOp] = ReduceOp::ALL;

/// Where the first of the values is that `pick` takes of them.
fn place(values: &[f64], pick: fn(f64, f64) -> f64) -> f64 {
    let Some(best) = values.iter().copied().reduce(pick) else { return -1.0 };
    values.iter().position(|x| *x == best).unwrap() as f64
}

fn reduce(op: ReduceOp, values: impl Iterator<Item = f32>) -> f64 {
    let values = values.map(f64::from);
    match op {
        ReduceOp::Mean => {
            let values: Vec<f64> = values.collect();
            values.iter().sum::<f64>() / values.len() as f64
        }
        ReduceOp::ArgMax => place(&values.collect::<Vec<_>>(), f64::max),
        ReduceOp::ArgMin => place(&values.collect::<Vec<_>>(), f64::min),
        ReduceOp::Max => values.fold(f64::NEG_INFINITY, f64::max),
        ReduceOp::Min => values.fold(f64::INFINITY, f64::min),
        ReduceOp::Sum => values.sum(),
    }
}

/// Sums of up to 512 values in -2..2; the rest is exact.
fn tolerance(op: ReduceOp) -> f64 {
    match op {
        ReduceOp::Sum => 1e-4,
        ReduceOp::Mean => 1e-6,
        _ => 0.0,
    }
}

#[test]
fn rows_and_columns_reduce_over_the_valid_part_only() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(5);
        for cols in COLS {
            for rows in [0, 1, 2, 7, 16, 17] {
                let src = Matrix::random(&mut random, rows, cols, DType::F32);
                let a = put(&mut tiles, &src, DType::F32);
                for &op in OPS {
                    let what = format!("{name} {op:?}");
                    let column = empty_tile(&mut tiles, rows, 1, DType::F32);
                    tiles.row_reduce(op, column, a).unwrap();
                    let row_of = |r: usize| (0..cols as usize).map(move |c| (r, c));
                    let want: Vec<f64> = (0..rows as usize)
                        .map(|r| reduce(op, row_of(r).map(|(r, c)| src.at(r, c))))
                        .collect();
                    assert_close(&get(&mut tiles, column), &want, |_| tolerance(op), &what);

                    let row = empty_tile(&mut tiles, 1, cols, DType::F32);
                    tiles.col_reduce(op, row, a).unwrap();
                    let want: Vec<f64> = (0..cols as usize)
                        .map(|c| reduce(op, (0..rows as usize).map(|r| src.at(r, c))))
                        .collect();
                    assert_close(&get(&mut tiles, row), &want, |_| tolerance(op), &what);
                }
            }
        }
    }
}

#[test]
fn a_reduction_may_overwrite_its_operand() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(6);
        let src = Matrix::random(&mut random, 5, 33, DType::F32);
        for &op in OPS {
            let (a, b) = (put(&mut tiles, &src, DType::F32), put(&mut tiles, &src, DType::F32));
            let (column, row) =
                (empty_tile(&mut tiles, 5, 1, DType::F32), empty_tile(&mut tiles, 1, 33, DType::F32));
            tiles.row_reduce(op, column, a).unwrap();
            tiles.row_reduce(op, a, a).unwrap();
            assert_eq!(bits(&get(&mut tiles, a)), bits(&get(&mut tiles, column)), "{name} {op:?}");
            tiles.col_reduce(op, row, b).unwrap();
            tiles.col_reduce(op, b, b).unwrap();
            assert_eq!(bits(&get(&mut tiles, b)), bits(&get(&mut tiles, row)), "{name} {op:?}");
        }
    }
}

#[test]
fn a_nan_reaches_the_result() {
    for (name, mut tiles) in all_kernels() {
        for at in [0, 15, 16, 20] {
            let mut values = vec![1.0; 21];
            values[at] = f32::NAN;
            let a = put(&mut tiles, &Matrix { shape: Shape::new(1, 21), values }, DType::F32);
            for &op in OPS {
                let have = tiles.row_scalar(op, a).unwrap();
                match op.gives_places() {
                    true => assert_eq!(have, at as f32, "{name} {op:?}"),
                    false => assert!(have.is_nan(), "{name} {op:?} {at}"),
                }
            }
        }
    }
}

#[test]
fn the_first_of_equal_elements_and_the_first_nan_are_found() {
    let row = [1.0, f32::NEG_INFINITY, 7.0, -0.0, 7.0, f32::NEG_INFINITY, 0.0];
    for (name, mut tiles) in all_kernels() {
        let mut place = |op, values: &[f32]| {
            let shape = Shape::new(1, values.len() as u32);
            let a = put(&mut tiles, &Matrix { shape, values: values.to_vec() }, DType::F32);
            tiles.row_scalar(op, a).unwrap()
        };
        assert_eq!([place(ReduceOp::ArgMax, &row), place(ReduceOp::ArgMin, &row)], [2.0, 1.0], "{name}");
        assert_eq!(place(ReduceOp::ArgMax, &[-0.0, 0.0]), 0.0, "{name}: zeros are equal");
        for op in [ReduceOp::ArgMax, ReduceOp::ArgMin] {
            assert_eq!(place(op, &[1.0, f32::NAN, 9.0, f32::NAN]), 1.0, "{name} {op:?}");
            assert_eq!(place(op, &[]), -1.0, "{name} {op:?}");
        }
        assert!(place(ReduceOp::Mean, &[]).is_nan(), "{name}");
    }
}

#[test]
fn sums_so_far_are_added_from_the_first_element_on_also_in_place() {
    for (name, mut tiles) in all_kernels() {
        for (rows, cols) in [(0, 3), (3, 0), (1, 1), (5, 33), (2, 512)] {
            let src = Matrix::random(&mut Random::new(8), rows, cols, DType::F32);
            let mut want = src.values.clone();
            for row in want.chunks_mut((cols as usize).max(1)) {
                for c in 1..row.len() {
                    row[c] += row[c - 1];
                }
            }
            let a = put(&mut tiles, &src, DType::F32);
            let dst = empty_tile(&mut tiles, rows, cols, DType::F32);
            tiles.cumsum(dst, a).unwrap();
            assert_eq!(get(&mut tiles, dst).values, want, "{name} {rows} x {cols}");
            tiles.cumsum(a, a).unwrap();
            assert_eq!(get(&mut tiles, a).values, want, "{name} {rows} x {cols}");
        }
        let small = empty_tile(&mut tiles, 1, 1, DType::F32);
        let a = put(&mut tiles, &Matrix::random(&mut Random::new(9), 1, 2, DType::F32), DType::F32);
        let fault = Fault::Capacity { have: Shape::new(1, 1), need: Shape::new(1, 2) };
        assert_eq!(tiles.cumsum(small, a), Err(fault), "{name}");
    }
}

#[test]
fn a_value_is_taken_of_one_row() {
    for (_, mut tiles) in all_kernels() {
        let a =
            put(&mut tiles, &Matrix { shape: Shape::new(1, 3), values: vec![2.0, 7.0, -1.0] }, DType::F16);
        assert_eq!(tiles.row_scalar(ReduceOp::Max, a), Ok(7.0));
        assert_eq!(tiles.row_scalar(ReduceOp::Sum, a), Ok(8.0));
        let empty = empty_tile(&mut tiles, 1, 3, DType::F32);
        assert_eq!(tiles.row_scalar(ReduceOp::Max, empty), Ok(f32::NEG_INFINITY));
        assert_eq!(tiles.row_scalar(ReduceOp::Sum, empty), Ok(0.0));
        let two = put(&mut tiles, &Matrix { shape: Shape::new(2, 1), values: vec![2.0, 7.0] }, DType::F32);
        let fault = Fault::ShapeMismatch { have: Shape::new(2, 1), need: Shape::new(1, 1) };
        assert_eq!(tiles.row_scalar(ReduceOp::Max, two), Err(fault));
    }
}

#[test]
fn transposition_swaps_rows_and_columns_also_in_place() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(7);
        for (rows, cols) in [(0, 3), (1, 1), (4, 17), (17, 4), (16, 33)] {
            let src = Matrix::random(&mut random, rows, cols, DType::F32);
            let a = put(&mut tiles, &src, DType::F32);
            let b = empty_tile(&mut tiles, 40, 40, DType::F32);
            tiles.transpose(b, a).unwrap();
            let once = get(&mut tiles, b);
            assert_eq!(once.shape, Shape::new(cols, rows));
            for r in 0..rows as usize {
                for c in 0..cols as usize {
                    assert_eq!(once.at(c, r), src.at(r, c), "{name}");
                }
            }
            tiles.transpose(b, b).unwrap();
            assert_eq!(bits(&get(&mut tiles, b)), bits(&src), "{name}");
        }
    }
}
