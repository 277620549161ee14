//! Loads that the load before them foresaw.

use super::{Array, Matrix, Random, all_kernels, empty_tile, get, set, window};
use crate::memory::{Layout, Paged, Shape};
use crate::tile::MatMul;
use wsp_core::DType;

const LANES: u32 = 24;
const HEADS: u32 = 3;
const PAGE: u32 = 4;
/// Rows of the other task that are asked for at most: as many as it has.
const FAR: usize = 64;

/// A cache of requests with these lengths, every element another number.
fn cache(lengths: &[u32]) -> (Array, Layout) {
    let pages: u32 = lengths.iter().map(|n| n.div_ceil(PAGE)).sum();
    let mut array = Array::poisoned((pages * PAGE * HEADS * LANES) as usize, DType::Bf16);
    let mut random = Random::new(31);
    for element in 0..array.bytes.len() / 2 {
        array.set(element, random.value(DType::Bf16));
    }
    let mut indptr = vec![0];
    for n in lengths {
        indptr.push(indptr[indptr.len() - 1] + n.div_ceil(PAGE));
    }
    let paged = Paged {
        lengths: lengths.into(),
        indptr: indptr.into(),
        // Neighbouring positions lie in pages far apart.
        indices: (0..pages).rev().collect(),
        page_size: PAGE,
        heads: HEADS,
        lanes: LANES,
        page_stride: u64::from(PAGE * HEADS * LANES),
        slot_stride: u64::from(HEADS * LANES),
        head_stride: u64::from(LANES),
    };
    (array, Layout::Paged(paged))
}

fn identity(n: u32) -> Matrix {
    let values = (0..n * n).map(|i| f32::from(u8::from(i / n == i % n))).collect();
    Matrix { shape: Shape::new(n, n), values }
}

#[test]
fn a_load_that_was_foreseen_finds_what_a_first_load_finds() {
    let (mut first, layout) = cache(&[100, 70]);
    let (mut second, other_layout) = cache(&[90, 90]);
    let (first, second) = (first.mem(layout), second.mem(other_layout));
    for (name, mut tiles) in all_kernels() {
        let walked = empty_tile(&mut tiles, 32, LANES, DType::Bf16);
        let fresh = empty_tile(&mut tiles, 32, LANES, DType::Bf16);
        let unit = empty_tile(&mut tiles, 32, 32, DType::F32);
        let mut check = |mem, index: &[u32; 4], rows: Option<u32>| {
            tiles.load(walked, mem, window(index, 1, 3), rows, None, true).unwrap();
            tiles.clear(fresh);
            tiles.load(fresh, mem, window(index, 1, 3), rows, None, true).unwrap();
            assert_eq!(tiles.shape(walked), tiles.shape(fresh), "{name} {index:?} {rows:?}");
            let want: Matrix = get(&mut tiles, fresh);
            // As the right operand of a product with the unit matrix: that leaves it in place, so that it foresees the next load.
            let rows = tiles.shape(walked).rows;
            let product = empty_tile(&mut tiles, 32, LANES, DType::F32);
            set(&mut tiles, unit, &identity(rows));
            let of_walked =
                MatMul { dst: product, a: unit, b: walked, transpose_b: false, accumulate: false };
            tiles.matmul(of_walked).unwrap();
            assert_eq!(get(&mut tiles, product).values, want.values, "{name} {index:?} {rows:?}");
        };
        for mem in [&first, &second] {
            // In steps of a tile to the end and past it, at another head, of another request, fewer rows, not in step.
            for position in [0, 32, 64, 96] {
                check(mem, &[0, position, 1, 0], Some(32));
            }
            check(mem, &[0, 0, 1, 0], None);
            check(mem, &[0, 32, 2, 0], None);
            check(mem, &[1, 64, 2, 0], None);
            check(mem, &[1, 0, 2, 0], Some(20));
            check(mem, &[1, 20, 2, 0], Some(20));
            check(mem, &[1, 40, 2, 0], Some(7));
            check(mem, &[1, 45, 2, 0], Some(20));
            check(mem, &[1, 65, 2, 0], Some(20));
        }
        // The same place in the other array.
        check(&first, &[0, 0, 0, 0], None);
        check(&second, &[0, 32, 0, 0], None);
        tiles.reset();
    }
}

#[test]
fn the_last_product_of_a_run_asks_for_the_first_rows_of_the_next() {
    let (mut array, layout) = cache(&[20, 40]);
    let mem = array.mem(layout);
    // Only what stays in its array is asked for.
    for (name, mut tiles) in all_kernels().into_iter().filter(|(_, tiles)| tiles.views) {
        let walked = empty_tile(&mut tiles, 32, LANES, DType::Bf16);
        let unit = empty_tile(&mut tiles, 32, 32, DType::F32);
        let product = empty_tile(&mut tiles, 32, LANES, DType::F32);
        let all = empty_tile(&mut tiles, 32, LANES, DType::Bf16);
        // Per run, what is asked for after the rows in use: known when the step from head to head has come back, and another one
        // has not since.
        let runs = [([0, 0, 0, 0], None), ([0, 0, 1, 0], None), ([0, 0, 2, 0], Some([0, 0, 3, 0]))];
        let more = [([1, 0, 0, 0], None), ([1, 0, 1, 0], Some([1, 0, 2, 0]))];
        for (index, next) in runs.into_iter().chain(more) {
            for position in (0..40 - 20 * (1 - index[0])).step_by(32) {
                let index = [index[0], position, index[2], 0];
                tiles.load(walked, &mem, window(&index, 1, 3), None, None, true).unwrap();
                let rows = tiles.shape(walked).rows;
                set(&mut tiles, unit, &identity(rows));
                let multiply =
                    MatMul { dst: product, a: unit, b: walked, transpose_b: false, accumulate: false };
                tiles.matmul(multiply).unwrap();
            }
            let used = tiles.shape(walked).rows as usize;
            let asked = tiles.order.starts()[used..used + FAR].to_vec();
            let mut expected = Vec::new();
            // The head after the last one does not exist.
            if let Some(next) = next.filter(|next| next[2] < HEADS) {
                tiles.load(all, &mem, window(&next, 1, 3), None, None, true).unwrap();
                expected.extend(tiles.tiles[all].view.starts().iter().map(|start| start.cast_const()));
            }
            let last = expected.last().copied().unwrap_or(asked[0]);
            assert!(asked.starts_with(&expected), "{name} {index:?}");
            assert!(asked[expected.len()..].iter().all(|start| *start == last), "{name} {index:?}");
            tiles.reset();
        }
    }
}
