//! Bands, positions, and parts of tiles that move between tiles.

use super::{Matrix, Random, all_kernels, empty_tile, get, put};
use crate::memory::{Fault, Shape};
use wsp_core::DType;

#[test]
fn a_band_keeps_its_columns_and_moves_right_with_each_group_of_rows() {
    let mut random = Random::new(71);
    for (rows, cols) in [(1, 1), (6, 17), (8, 64), (7, 0)] {
        for (begin, end) in [(0, 1), (-3, 4), (2, 100), (5, 5), (9, 2), (i32::MIN, 3), (-1, i32::MAX)] {
            for group in [0, 1, 2, 3, 100] {
                let before = Matrix::random(&mut random, rows, cols, DType::F32);
                for (name, mut tiles) in all_kernels() {
                    let id = put(&mut tiles, &before, DType::F32);
                    tiles.mask_band(id, begin, end, group, -7.0);
                    let after = get(&mut tiles, id);
                    for (r, c) in (0..rows as usize).flat_map(|r| (0..cols as usize).map(move |c| (r, c))) {
                        let (shift, c64) = ((r / group.max(1) as usize) as i64, c as i64);
                        let kept = c64 >= i64::from(begin) + shift && c64 < i64::from(end) + shift;
                        let want = if kept { before.at(r, c) } else { -7.0 };
                        assert_eq!(after.at(r, c), want, "{name} {begin}..{end} by {group}: ({r}, {c})");
                    }
                }
            }
        }
    }
}

#[test]
fn positions_count_from_the_start_in_every_row() {
    for (name, mut tiles) in all_kernels() {
        let id = empty_tile(&mut tiles, 2, 20, DType::F32);
        tiles.iota(id, -5, Some(18));
        let have = get(&mut tiles, id);
        assert_eq!(have.shape, Shape::new(2, 18), "{name}");
        let row: Vec<f32> = (0..18).map(|c| c as f32 - 5.0).collect();
        assert_eq!(have.values, [row.clone(), row].concat(), "{name}");
        tiles.iota(id, i32::MAX, None);
        assert_eq!(get(&mut tiles, id).at(1, 19), (f64::from(i32::MAX) + 19.0) as f32, "{name}");
    }
}

#[test]
fn what_is_inserted_is_extracted_and_the_rest_stays() {
    let mut random = Random::new(72);
    let whole = Matrix::random(&mut random, 7, 33, DType::F32);
    let part = Matrix::random(&mut random, 3, 17, DType::F32);
    for (name, mut tiles) in all_kernels() {
        for (row, col) in [(0, 0), (4, 16), (2, 5)] {
            let (dst, src) = (put(&mut tiles, &whole, DType::F32), put(&mut tiles, &part, DType::F32));
            tiles.insert(dst, src, (row, col)).unwrap();
            let have = get(&mut tiles, dst);
            for r in 0..7 {
                for c in 0..33 {
                    let inside = (row as usize..row as usize + 3).contains(&r)
                        && (col as usize..col as usize + 17).contains(&c);
                    let want = match inside {
                        true => part.at(r - row as usize, c - col as usize),
                        false => whole.at(r, c),
                    };
                    assert_eq!(have.at(r, c), want, "{name} at ({row}, {col}): ({r}, {c})");
                }
            }
            let back = empty_tile(&mut tiles, 3, 17, DType::F32);
            tiles.extract(back, dst, (row, col));
            assert_eq!(get(&mut tiles, back).values, part.values, "{name} at ({row}, {col})");
        }
    }
}

#[test]
fn an_extract_ends_with_its_source_and_an_insert_needs_room() {
    let whole = Matrix::random(&mut Random::new(73), 5, 9, DType::F32);
    for (name, mut tiles) in all_kernels() {
        let src = put(&mut tiles, &whole, DType::F32);
        let dst = empty_tile(&mut tiles, 4, 4, DType::Bf16);
        for (at, want) in [((3, 7), (2, 2)), ((5, 0), (0, 4)), ((0, u32::MAX), (4, 0)), ((1, 1), (4, 4))] {
            tiles.extract(dst, src, at);
            assert_eq!(get(&mut tiles, dst).shape, Shape::new(want.0, want.1), "{name} {at:?}");
        }
        let part = put(&mut tiles, &Matrix::random(&mut Random::new(74), 2, 2, DType::F32), DType::F32);
        for at in [(4, 0), (0, 8), (u32::MAX, 0)] {
            assert!(matches!(tiles.insert(src, part, at), Err(Fault::ShapeMismatch { .. })), "{name} {at:?}");
        }
        assert_eq!(
            get(&mut tiles, src).values,
            whole.values,
            "{name}: nothing is written by what is refused"
        );
    }
}
