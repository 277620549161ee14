//! Products of several runs, taken in turns.

use super::{Matrix, Random, all_kernels, array_of, bits, empty_tile, get, set, window};
use crate::memory::TensorMem;
use crate::tile::{MatMul, Tiles, multiply_together};
use wsp_core::DType;

const HEADS: u32 = 3;
/// Floats of a head's row.
const LANES: u32 = 48;

/// The tiles of one run: left and right operand, a product.
struct Run {
    tiles: Tiles,
    ids: [usize; 3],
}

impl Run {
    /// A run whose right operand are the first rows of one head, where they lie.
    fn new(mut tiles: Tiles, keys: &TensorMem, head: u32, rows: u32, left: &Matrix, right: u32) -> Run {
        let a = empty_tile(&mut tiles, left.shape.rows, left.shape.cols, DType::F32);
        let b = empty_tile(&mut tiles, rows, LANES, DType::F32);
        let c = empty_tile(&mut tiles, left.shape.rows, right, DType::F32);
        set(&mut tiles, a, left);
        tiles.fill(c, 0.5, None, None);
        tiles.load(b, keys, window(&[0, head * LANES], 0, 1), Some(rows), None, true).unwrap();
        Run { tiles, ids: [a, b, c] }
    }

    fn product(&self, transpose_b: bool, accumulate: bool) -> MatMul {
        let [a, b, dst] = self.ids;
        MatMul { dst, a, b, transpose_b, accumulate }
    }
}

#[test]
fn products_in_turns_have_the_bits_of_each_alone() {
    let mut random = Random::new(77);
    for rows in [1, 7, 8, 9, 40, 63, 64, 131] {
        let matrix = Matrix::random(&mut random, rows, HEADS * LANES, DType::F32);
        let (mut array, layout) = array_of(&matrix, DType::F32);
        let keys = array.mem(layout);
        for (transpose_b, accumulate, left_rows) in
            [(true, false, 4), (true, true, 7), (false, true, 4), (false, false, 1), (false, true, 8)]
        {
            let (cols, right) = if transpose_b { (LANES, rows) } else { (rows, LANES) };
            let left = Matrix::random(&mut random, left_rows, cols, DType::F32);
            let run = |tiles, head| Run::new(tiles, &keys, head, rows, &left, right);
            for number in 0..all_kernels().len() {
                let kernels = |_| all_kernels().swap_remove(number);
                let what = format!("{} {rows} rows {transpose_b} {accumulate} {left_rows}", kernels(0).0);
                let mut alone: Vec<Run> = (0..HEADS).map(|head| run(kernels(head).1, head)).collect();
                let mut together: Vec<Run> = (0..HEADS).map(|head| run(kernels(head).1, head)).collect();
                let product = alone[0].product(transpose_b, accumulate);
                if together[0].tiles.views {
                    assert!(together[1].tiles.stands_beside(&together[0].tiles, product), "{what}");
                    assert!(!together[0].tiles.stands_beside(&together[1].tiles, product), "{what}");
                    assert!(!together[2].tiles.stands_beside(&together[0].tiles, product), "{what}");
                }
                alone.iter_mut().for_each(|run| run.tiles.matmul(product).unwrap());
                let mut tiles: Vec<&mut Tiles> = together.iter_mut().map(|run| &mut run.tiles).collect();
                tiles.iter_mut().for_each(|tiles| tiles.take_turns(HEADS as usize));
                multiply_together(&mut tiles, product, |_, result| result.unwrap());
                for (a, t) in alone.iter_mut().zip(&mut together) {
                    let (want, have) = (get(&mut a.tiles, product.dst), get(&mut t.tiles, product.dst));
                    assert_eq!(bits(&have), bits(&want), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_product_that_fails_leaves_the_others_alone() {
    let mut random = Random::new(3);
    let matrix = Matrix::random(&mut random, 20, HEADS * LANES, DType::F32);
    let (mut array, layout) = array_of(&matrix, DType::F32);
    let keys = array.mem(layout);
    let left = Matrix::random(&mut random, 2, LANES, DType::F32);
    // The second has no room for the result.
    let tiles = || Tiles::new(crate::Mode::Fast);
    let mut runs: Vec<Run> = [20, 19, 20]
        .iter()
        .zip(0..)
        .map(|(right, head)| Run::new(tiles(), &keys, head, 20, &left, *right))
        .collect();
    let product = runs[0].product(true, false);
    let mut ends = [None; 3];
    let mut tiles: Vec<&mut Tiles> = runs.iter_mut().map(|run| &mut run.tiles).collect();
    multiply_together(&mut tiles, product, |run, result| ends[run] = Some(result.is_ok()));
    assert_eq!(ends, [Some(true), Some(false), Some(true)]);
    let mut alone = Run::new(Tiles::new(crate::Mode::Fast), &keys, 2, 20, &left, 20);
    alone.tiles.matmul(product).unwrap();
    assert_eq!(bits(&get(&mut runs[2].tiles, product.dst)), bits(&get(&mut alone.tiles, product.dst)));
}
