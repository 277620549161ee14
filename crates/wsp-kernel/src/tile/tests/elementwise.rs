//! Element-wise operations against plain loops and f64.

use super::{COLS, Matrix, Random, all_kernels, assert_close, bits, empty_tile, get, put, set};
use crate::memory::{Fault, Shape};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Operand, UnaryTileOp};
use wsp_simd::round_to;

fn assert_bits(have: &Matrix, want: &[f32], what: &str) {
    assert_eq!(have.values.len(), want.len(), "{what}");
    for (i, (h, w)) in have.values.iter().zip(want).enumerate() {
        assert!(
            h == w || (h.is_nan() && w.is_nan()),
            "{what}: element {i} of {}: {h:e}, should be {w:e}",
            have.shape
        );
    }
}

#[test]
fn unary_operations_round_once_in_every_element_type() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(1);
        for elem in [DType::F32, DType::F16, DType::Bf16] {
            for cols in COLS {
                let rows = random.below(18);
                let src = Matrix::random(&mut random, rows, cols, elem);
                let a = put(&mut tiles, &src, elem);
                for &op in UnaryTileOp::ALL.iter().filter(|op| op.ulps() == 0) {
                    let dst = empty_tile(&mut tiles, rows, cols, elem);
                    tiles.unary(op, dst, a).unwrap();
                    let want: Vec<f32> = src.values.iter().map(|&x| round_to(elem, op.plain()(x))).collect();
                    assert_bits(&get(&mut tiles, dst), &want, &format!("{name} {op:?} {elem}"));
                }
            }
        }
    }
}

#[test]
fn binary_operations_take_tiles_columns_rows_and_scalars() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(2);
        for elem in [DType::F32, DType::F16, DType::Bf16] {
            for (i, cols) in COLS.into_iter().enumerate() {
                let rows = random.below(18);
                let a = Matrix::random(&mut random, rows, cols, elem);
                let b = Matrix::random(&mut random, rows, cols, elem);
                let column = Matrix::random(&mut random, rows, 1, elem);
                let row = Matrix::random(&mut random, 1, cols, elem);
                let [ta, tb, tc, tr] = [&a, &b, &column, &row].map(|m| put(&mut tiles, m, elem));
                let op = BinaryTileOp::ALL[i % BinaryTileOp::ALL.len()];
                for rhs in [Operand::Tile(tb), Operand::Column(tc), Operand::Row(tr), Operand::Scalar(0.75)] {
                    let dst = empty_tile(&mut tiles, rows, cols, elem);
                    tiles.binary(op, dst, ta, rhs).unwrap();
                    let mut want = Vec::new();
                    for r in 0..rows as usize {
                        for c in 0..cols as usize {
                            let right = match rhs {
                                Operand::Tile(_) => b.at(r, c),
                                Operand::Column(_) => column.at(r, 0),
                                Operand::Row(_) => row.at(0, c),
                                Operand::Scalar(x) => x,
                            };
                            want.push(round_to(elem, op.plain()(a.at(r, c), right)));
                        }
                    }
                    assert_bits(&get(&mut tiles, dst), &want, &format!("{name} {op:?} {rhs:?} {elem}"));
                }
            }
        }
    }
}

#[test]
fn maximum_and_minimum_keep_nan() {
    let values = vec![f32::NAN, 1.0, -1.0, f32::NAN, f32::NEG_INFINITY, 5.0, 0.5, 2.0, 3.0];
    let others = vec![1.0, f32::NAN, 2.0, f32::NAN, -7.0, f32::INFINITY, 0.5, -2.0, f32::NAN];
    for (name, mut tiles) in all_kernels() {
        let shape = Shape::new(1, values.len() as u32);
        let a = put(&mut tiles, &Matrix { shape, values: values.clone() }, DType::F32);
        let b = put(&mut tiles, &Matrix { shape, values: others.clone() }, DType::F32);
        for (op, pick) in
            [(BinaryTileOp::Max, f32::max as fn(f32, f32) -> f32), (BinaryTileOp::Min, f32::min)]
        {
            let dst = empty_tile(&mut tiles, 1, shape.cols, DType::F32);
            tiles.binary(op, dst, a, Operand::Tile(b)).unwrap();
            let want: Vec<f32> = values
                .iter()
                .zip(&others)
                .map(|(&x, &y)| if x.is_nan() || y.is_nan() { f32::NAN } else { pick(x, y) })
                .collect();
            assert_bits(&get(&mut tiles, dst), &want, &format!("{name} {op:?}"));
        }
    }
}

#[test]
fn fill_makes_the_capacity_valid_and_rounds() {
    for (name, mut tiles) in all_kernels() {
        let tile = tiles.add(Shape::new(3, 17), DType::Bf16).unwrap();
        tiles.fill(tile, 1.001, None, None);
        let have = get(&mut tiles, tile);
        assert_eq!(have.shape, Shape::new(3, 17), "{name}");
        assert!(have.values.iter().all(|&x| x == 1.0), "{name}");
    }
}

#[test]
fn mask_changes_what_lies_at_or_past_the_row_or_column() {
    for (name, mut tiles) in all_kernels() {
        for (rows, cols) in
            [(None, Some(3)), (Some(2), None), (Some(1), Some(4)), (Some(99), Some(99)), (Some(0), None)]
        {
            let mut random = Random::new(3);
            let src = Matrix::random(&mut random, 5, 18, DType::F32);
            let tile = put(&mut tiles, &src, DType::F32);
            tiles.mask(tile, rows, cols, -9.0);
            let mut want = Vec::new();
            for r in 0..5 {
                for c in 0..18 {
                    let masked =
                        rows.is_some_and(|n| r >= n as usize) || cols.is_some_and(|n| c >= n as usize);
                    want.push(if masked { -9.0 } else { src.at(r, c) });
                }
            }
            assert_bits(&get(&mut tiles, tile), &want, name);
        }
    }
}

#[test]
fn operands_of_another_shape_and_results_that_do_not_fit_are_faults() {
    for (_, mut tiles) in all_kernels() {
        let mut random = Random::new(4);
        let a = Matrix::random(&mut random, 3, 5, DType::F32);
        let b = Matrix::random(&mut random, 3, 4, DType::F32);
        let (a, b) = (put(&mut tiles, &a, DType::F32), put(&mut tiles, &b, DType::F32));
        let small = empty_tile(&mut tiles, 2, 9, DType::F32);
        let before = bits(&get(&mut tiles, a));
        let mismatch = Fault::ShapeMismatch { have: Shape::new(3, 4), need: Shape::new(3, 5) };
        assert_eq!(tiles.binary(BinaryTileOp::Add, a, a, Operand::Tile(b)), Err(mismatch));
        let column = Fault::ShapeMismatch { have: Shape::new(3, 4), need: Shape::new(3, 1) };
        assert_eq!(tiles.binary(BinaryTileOp::Add, a, a, Operand::Column(b)), Err(column));
        let row = Fault::ShapeMismatch { have: Shape::new(3, 4), need: Shape::new(1, 5) };
        assert_eq!(tiles.binary(BinaryTileOp::Add, a, a, Operand::Row(b)), Err(row));
        let capacity = Fault::Capacity { have: Shape::new(2, 9), need: Shape::new(3, 5) };
        assert_eq!(tiles.unary(UnaryTileOp::Copy, small, a), Err(capacity));
        assert_eq!(tiles.binary(BinaryTileOp::Add, small, a, Operand::Scalar(1.0)), Err(capacity));
        assert_eq!(bits(&get(&mut tiles, a)), before);
        assert_eq!(tiles.shape(small), Shape::new(0, 0));
    }
}

#[test]
fn a_tile_may_not_exceed_the_limit() {
    let (_, mut tiles) = all_kernels().remove(0);
    assert!(tiles.add(Shape::new(2048, 2048), DType::F32).is_ok());
    let shape = Shape::new(2049, 2048);
    assert_eq!(tiles.add(shape, DType::F32), Err(Fault::TileTooLarge { shape, bytes: 2049 * 2048 * 4 }));
    let shape = Shape::new(u32::MAX, u32::MAX);
    assert!(matches!(tiles.add(shape, DType::F16), Err(Fault::TileTooLarge { .. })));
    let shape = Shape::new(1025, 2048);
    assert_eq!(tiles.add(shape, DType::I8), Err(Fault::TileTooLarge { shape, bytes: 1025 * 2048 * 8 }));
}

#[test]
fn tiles_may_move_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&all_kernels());
}

#[test]
fn a_cleared_tile_is_empty() {
    for (_, mut tiles) in all_kernels() {
        let tile = put(&mut tiles, &Matrix { shape: Shape::new(1, 1), values: vec![1.0] }, DType::F32);
        tiles.clear(tile);
        assert_eq!(tiles.shape(tile), Shape::new(0, 0));
        set(&mut tiles, tile, &Matrix { shape: Shape::new(1, 1), values: vec![1.0] });
        tiles.reset();
        assert_eq!(tiles.shape(tile), Shape::new(0, 0));
        assert_close(&get(&mut tiles, tile), &[], |_| 0.0, "empty");
    }
}
