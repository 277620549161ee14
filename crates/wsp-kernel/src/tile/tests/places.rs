//! Elements at other places of another tile, against indices of a list, and random numbers.

use super::{COLS, Matrix, Random, all_kernels, bits, empty_tile, get, put};
use crate::memory::{Fault, Shape};
use crate::tile::{Sequence, Tiles};
use wsp_core::DType;
use wsp_simd::{Mode, round_to};

#[test]
fn an_element_is_taken_from_the_row_or_column_that_the_index_says() {
    let mut random = Random::new(11);
    for (name, mut tiles) in all_kernels() {
        for (cols, many) in COLS.into_iter().flat_map(|cols| [(cols, 5), (cols, 0), (cols, 70)]) {
            let rows = 1 + random.below(9);
            let from = Matrix::random(&mut random, rows, cols, DType::F32);
            let by_column =
                (0..rows * many * cols.min(1)).map(|_| random.below(cols.max(1)) as f32).collect();
            let by_column = Matrix { shape: Shape::new(rows, many * cols.min(1)), values: by_column };
            let by_row = (0..many * cols).map(|_| random.below(rows) as f32).collect();
            let by_row = Matrix { shape: Shape::new(many, cols), values: by_row };
            let src = put(&mut tiles, &from, DType::F32);
            for (indices, is_row) in [(&by_column, false), (&by_row, true)] {
                let width = indices.shape.cols as usize;
                let taken = indices.values.iter().enumerate().map(|(at, &index)| match is_row {
                    true => from.at(index as usize, at % width),
                    false => from.at(at / width, index as usize),
                });
                for elem in [DType::F32, DType::Bf16] {
                    let want: Vec<u32> = taken.clone().map(|x| round_to(elem, x).to_bits()).collect();
                    let at = put(&mut tiles, indices, DType::F32);
                    let dst = empty_tile(&mut tiles, indices.shape.rows + 1, indices.shape.cols + 2, elem);
                    tiles.gather(dst, src, at, is_row).unwrap();
                    assert_eq!(tiles.shape(dst), indices.shape, "{name}");
                    assert_eq!(bits(&get(&mut tiles, dst)), want, "{name} {rows} x {cols}, {is_row}");
                    if elem == DType::F32 {
                        tiles.gather(at, src, at, is_row).unwrap();
                        assert_eq!(bits(&get(&mut tiles, at)), want, "{name}, over the indices");
                    }
                }
            }
        }
    }
}

#[test]
fn an_index_that_is_no_place_is_a_fault_that_changes_nothing() {
    let mut random = Random::new(12);
    let mut tiles = Tiles::new(Mode::Fast);
    let src = put(&mut tiles, &Matrix::random(&mut random, 3, 5, DType::F32), DType::F32);
    for (wrong, by_row) in [(5.0, false), (3.0, true)]
        .into_iter()
        .chain([-1.0, 0.5, f32::NAN, f32::INFINITY, 1e30, -0.25].map(|wrong| (wrong, wrong > 0.0)))
    {
        let mut indices = Matrix { shape: Shape::new(3, 5), values: vec![0.0; 15] };
        (indices.values[7], indices.values[8]) = (-0.0, wrong);
        let (at, dst) = (put(&mut tiles, &indices, DType::F32), put(&mut tiles, &indices, DType::F32));
        let before = bits(&get(&mut tiles, dst));
        let extent = if by_row { 3 } else { 5 };
        let fault =
            Fault::NoPlace { at: Shape::new(1, 3), index: f64::from(wrong).to_bits(), extent, by_row };
        assert_eq!(tiles.gather(dst, src, at, by_row), Err(fault));
        assert_eq!(bits(&get(&mut tiles, dst)), before, "{wrong}");
    }
    let narrow = put(&mut tiles, &Matrix { shape: Shape::new(2, 4), values: vec![0.0; 8] }, DType::F32);
    let dst = empty_tile(&mut tiles, 3, 5, DType::F32);
    let have = Shape::new(2, 4);
    let need = |rows, cols| Err(Fault::ShapeMismatch { have, need: Shape::new(rows, cols) });
    assert_eq!(tiles.gather(dst, src, narrow, false), need(3, 4));
    assert_eq!(tiles.gather(dst, src, narrow, true), need(2, 5));
}

#[test]
fn another_shape_has_the_same_elements_row_by_row() {
    let mut random = Random::new(13);
    for (name, mut tiles) in all_kernels() {
        for (rows, cols, as_rows, as_cols) in
            [(1, 1, 1, 1), (4, 6, 8, 3), (1, 512, 32, 16), (130, 3, 3, 130), (7, 0, 0, 9), (6, 17, 17, 6)]
        {
            let from = Matrix::random(&mut random, rows, cols, DType::F32);
            let src = put(&mut tiles, &from, DType::F32);
            let dst = empty_tile(&mut tiles, as_rows + 1, as_cols + 1, DType::F32);
            tiles.reshape(dst, src, Some(as_rows), Some(as_cols)).unwrap();
            let have = get(&mut tiles, dst);
            assert_eq!((have.shape, bits(&have)), (Shape::new(as_rows, as_cols), bits(&from)), "{name}");
        }
        let src = put(&mut tiles, &Matrix::random(&mut random, 4, 6, DType::F32), DType::F32);
        let dst = empty_tile(&mut tiles, 3, 8, DType::F32);
        assert_eq!(tiles.reshape(dst, src, None, None), Ok(()), "all of the capacity");
        let fault =
            |rows, cols| Fault::ShapeMismatch { have: Shape::new(4, 6), need: Shape::new(rows, cols) };
        assert_eq!(tiles.reshape(dst, src, Some(2), None), Err(fault(2, 8)));
        let large = Fault::Capacity { have: Shape::new(3, 8), need: Shape::new(4, 6) };
        assert_eq!(tiles.reshape(dst, src, Some(4), Some(6)), Err(large));
    }
}

#[test]
fn a_random_number_depends_on_its_place_alone() {
    let mut tiles = Tiles::new(Mode::Fast);
    let mut numbers = |first: u32, pitch: u32, (rows, cols): (u32, u32), elem| {
        let dst = empty_tile(&mut tiles, rows, cols, elem);
        tiles.random(dst, Sequence { seed: 7, first, pitch }, None, None);
        get(&mut tiles, dst)
    };
    let whole = numbers(0, 40, (30, 40), DType::F32);
    for (row, col, rows, cols) in [(0, 0, 1, 1), (3, 5, 9, 11), (29, 39, 1, 1), (2, 1, 28, 39)] {
        let part = numbers(row * 40 + col, 40, (rows, cols), DType::F32);
        for (r, c) in (0..rows as usize).flat_map(|r| (0..cols as usize).map(move |c| (r, c))) {
            assert_eq!(part.at(r, c), whole.at(row as usize + r, col as usize + c), "{row}, {col}");
        }
    }
    let list = numbers(0, 0, (1, 1200), DType::F32);
    assert_eq!(list.values, whole.values, "rows follow each other");
    let far = numbers(u32::MAX, u32::MAX, (3, 5), DType::F32);
    assert!(far.at(0, 1) != list.at(0, 0) && far.at(0, 2) != list.at(0, 1), "places do not wrap");
    let narrow = numbers(0, 40, (30, 40), DType::Bf16);
    let want: Vec<u32> = whole.values.iter().map(|&x| round_to(DType::Bf16, x).to_bits()).collect();
    assert_eq!(bits(&narrow), want);
}

/// Mean and variance of n evenly distributed numbers, four standard deviations wide; the same numbers in every run.
#[test]
fn random_numbers_are_evenly_distributed() {
    let mut tiles = Tiles::new(Mode::Fast);
    for seed in [0, 1, u32::MAX] {
        let dst = empty_tile(&mut tiles, 256, 256, DType::F32);
        tiles.random(dst, Sequence { seed, first: 0, pitch: 256 }, None, None);
        let values: Vec<f64> = get(&mut tiles, dst).values.iter().map(|&x| f64::from(x)).collect();
        assert!(values.iter().all(|x| (0.0..1.0).contains(x) && (x * 16_777_216.0).fract() == 0.0));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / n).sqrt(), "{seed}: {mean}");
        let variance = values.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>() / n;
        assert!((variance - 1.0 / 12.0).abs() < 4.0 * (1.0 / 180.0 / n).sqrt(), "{seed}: {variance}");
        let mut counts = [0; 64];
        values.iter().for_each(|x| counts[(x * 64.0) as usize] += 1);
        let expected = n / 64.0;
        let squares: f64 = counts.iter().map(|&k| (f64::from(k) - expected).powi(2) / expected).sum();
        // The 99.99 % point of chi-squared with 63 degrees of freedom is 114.
        assert!(squares < 114.0, "{seed}: {squares}");
    }
}
