//! Matrix products against f64, over shapes, types and paged rows.

use super::{
    Array, COLS, Matrix, Random, all_kernels, assert_close, bits, empty_tile, get, put, set, window,
};
use crate::memory::{Fault, Layout, Paged, Shape};
use crate::tile::{MatMul, Tiles};
use wsp_core::DType;
use wsp_simd::round_to;

const DTYPES: [DType; 5] = [DType::F32, DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2];

/// The product in `f64`, and the sum of the magnitudes of its terms.
fn product(a: &Matrix, b: &Matrix, transpose_b: bool, c: Option<&Matrix>) -> (Vec<f64>, Vec<f64>) {
    let (n, k) = if transpose_b { (b.shape.rows, b.shape.cols) } else { (b.shape.cols, b.shape.rows) };
    let k = k.min(a.shape.cols) as usize;
    let (mut sums, mut sizes) = (Vec::new(), Vec::new());
    for m in 0..a.shape.rows as usize {
        for n in 0..n as usize {
            let mut sum = c.map_or(0.0, |c| f64::from(c.at(m, n)));
            let mut size = sum.abs();
            for k in 0..k {
                let right = if transpose_b { b.at(n, k) } else { b.at(k, n) };
                let term = f64::from(a.at(m, k)) * f64::from(right);
                sum += term;
                size += term.abs();
            }
            sums.push(sum);
            sizes.push(size);
        }
    }
    (sums, sizes)
}

/// A cache of one request whose pages lie in random order, with NaN in unused slots and pages.
struct Cache {
    array: Array,
    layout: Layout,
}

fn cache(random: &mut Random, rows: &Matrix, dtype: DType, page_size: u32, heads: u32, head: u32) -> Cache {
    let Shape { rows: length, cols: lanes } = rows.shape;
    let used = length.div_ceil(page_size);
    let pages = used + 3;
    let mut ids: Vec<u32> = (0..pages).collect();
    for i in (1..ids.len()).rev() {
        ids.swap(i, random.below(i as u32 + 1) as usize);
    }
    ids.truncate(used as usize);
    let (page, lanes64) = (u64::from(page_size), u64::from(lanes));
    let paged = Paged {
        lengths: [length].into(),
        indptr: [0, used].into(),
        indices: ids.clone().into(),
        page_size,
        heads,
        lanes,
        page_stride: page * u64::from(heads) * lanes64,
        slot_stride: u64::from(heads) * lanes64,
        head_stride: lanes64,
    };
    let mut array = Array::poisoned((pages * page_size * heads * lanes) as usize, dtype);
    for position in 0..length {
        let slot = ids[(position / page_size) as usize] * page_size + position % page_size;
        for lane in 0..lanes {
            let element = (slot * heads + head) * lanes + lane;
            array.set(element as usize, rows.at(position as usize, lane as usize));
        }
    }
    Cache { array, layout: Layout::Paged(paged) }
}

fn multiply(tiles: &mut Tiles, a: usize, b: usize, transpose_b: bool, c: Option<&Matrix>) -> Matrix {
    let (sa, sb) = (tiles.shape(a), tiles.shape(b));
    let dst = empty_tile(tiles, sa.rows, if transpose_b { sb.rows } else { sb.cols }, DType::F32);
    if let Some(c) = c {
        set(tiles, dst, c);
    }
    tiles.matmul(MatMul { dst, a, b, transpose_b, accumulate: c.is_some() }).unwrap();
    get(tiles, dst)
}

fn check(
    tiles: &mut Tiles,
    random: &mut Random,
    shape: (u32, u32, u32),
    [left, dtype]: [DType; 2],
    transpose_b: bool,
    what: &str,
) {
    let (m, n, k) = shape;
    let (brows, bcols) = if transpose_b { (n, k) } else { (k, n) };
    let a = Matrix::random(random, m, k, left);
    let b = Matrix::random(random, brows, bcols, dtype);
    let c = Matrix::random(random, m, n, DType::F32);
    let what = format!("{what} {m}x{n}x{k} {left} by {dtype} transposed {transpose_b}");
    let ta = put(tiles, &a, left);
    let tb = put(tiles, &b, dtype);
    for c in [None, Some(&c)] {
        let (sums, sizes) = product(&a, &b, transpose_b, c);
        let have = multiply(tiles, ta, tb, transpose_b, c);
        let tolerance = |i: usize| 1e-6 * (sizes[i] + 1e-30) * (1.0 + f64::from(k).sqrt() / 8.0);
        assert_close(&have, &sums, tolerance, &what);

        // The same operand in pages: within the same bounds, and the same bits for any page size.
        let mut first = None;
        for page_size in [1, 3, 16, 64] {
            let mut cache = cache(random, &b, dtype, page_size, 3, 1);
            let mem = cache.array.mem(cache.layout.clone());
            let view = empty_tile(tiles, brows, bcols, dtype);
            tiles.load(view, &mem, window(&[0, 0, 1, 0], 1, 3), None, None, true).unwrap();
            let have = multiply(tiles, ta, view, transpose_b, c);
            assert_close(&have, &sums, tolerance, &what);
            let first = first.get_or_insert_with(|| bits(&have));
            assert_eq!(&bits(&have), first, "{what} page size {page_size}");
            tiles.clear(view);
        }
    }
}

#[test]
fn products_agree_with_f64_and_do_not_depend_on_paging() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(20);
        for (i, &inner) in COLS.iter().enumerate() {
            for m in [1, 2, 3, 4, 5, 6, 7, 8, 9, 17] {
                let dtype = DTYPES[(i + m as usize) % DTYPES.len()];
                let n = random.below(20);
                check(&mut tiles, &mut random, (m, n, inner), [DType::F32, dtype], true, name);
                check(&mut tiles, &mut random, (m, n, inner), [DType::Bf16; 2], true, name);
                // Here `inner` is the width of the result: the sizes that matter for the blocks of columns.
                let k = random.below(70);
                check(&mut tiles, &mut random, (m, inner, k), [DType::F32, dtype], false, name);
            }
        }
        for dtype in DTYPES {
            check(&mut tiles, &mut random, (4, 64, 128), [DType::F32, dtype], true, name);
            check(&mut tiles, &mut random, (4, 128, 64), [DType::F32, dtype], false, name);
            // Operands long enough to be visited in several places in turn, with and without rows left over.
            for (m, long) in [(1, 64), (4, 131), (8, 71), (3, 200)] {
                check(&mut tiles, &mut random, (m, long, 40), [DType::F32, dtype], true, name);
                check(&mut tiles, &mut random, (m, 40, long), [DType::F32, dtype], false, name);
            }
            check(&mut tiles, &mut random, (0, 5, 16), [DType::F32, dtype], true, name);
            check(&mut tiles, &mut random, (0, 5, 16), [DType::F32, dtype], false, name);
        }
    }
}

#[test]
fn an_element_does_not_depend_on_what_is_multiplied_beside_it() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(21);
        for dtype in DTYPES {
            for transpose_b in [true, false] {
                let a = Matrix::random(&mut random, 17, 83, DType::F32);
                let b = if transpose_b { (37, 83) } else { (83, 37) };
                let b = Matrix::random(&mut random, b.0, b.1, dtype);
                let (mut array, layout) = super::array_of(&b, dtype);
                let mem = array.mem(layout);
                let tb = empty_tile(&mut tiles, b.shape.rows, b.shape.cols, dtype);
                tiles.load(tb, &mem, window(&[0, 0], 0, 1), None, None, true).unwrap();
                let ta = put(&mut tiles, &a, DType::F32);
                let all = multiply(&mut tiles, ta, tb, transpose_b, None);
                for m in 0..17 {
                    let row =
                        Matrix { shape: Shape::new(1, 83), values: a.values[m * 83..(m + 1) * 83].to_vec() };
                    let tr = put(&mut tiles, &row, DType::F32);
                    let one = multiply(&mut tiles, tr, tb, transpose_b, None);
                    let want: Vec<u32> = (0..37).map(|n| all.at(m, n).to_bits()).collect();
                    assert_eq!(bits(&one), want, "{name} {dtype} row {m}");
                }
                tiles.reset();
            }
        }
    }
}

#[test]
fn the_inner_dimension_is_the_smaller_one() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(22);
        let a = Matrix::random(&mut random, 4, 64, DType::F32);
        let v = Matrix::random(&mut random, 37, 40, DType::F16);
        let (ta, tv) = (put(&mut tiles, &a, DType::F32), put(&mut tiles, &v, DType::F16));
        let (sums, sizes) = product(&a, &v, false, None);
        let have = multiply(&mut tiles, ta, tv, false, None);
        assert_close(&have, &sums, |i| 1e-6 * sizes[i] + 1e-9, name);
        let nothing = empty_tile(&mut tiles, 9, 40, DType::F16);
        set(&mut tiles, nothing, &Matrix { shape: Shape::new(0, 40), values: Vec::new() });
        let have = multiply(&mut tiles, ta, nothing, false, None);
        assert!(have.shape == Shape::new(4, 40) && have.values.iter().all(|&x| x == 0.0), "{name}");
    }
}

#[test]
fn an_operand_may_fill_a_corner_of_its_tile() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(25);
        for transpose_b in [true, false] {
            let a = Matrix::random(&mut random, 4, 5, DType::F32);
            let b = Matrix::random(&mut random, 5, 5, DType::F32);
            let (ta, tb) = (put(&mut tiles, &a, DType::F32), empty_tile(&mut tiles, 300, 1000, DType::F32));
            set(&mut tiles, tb, &b);
            let (sums, sizes) = product(&a, &b, transpose_b, None);
            let have = multiply(&mut tiles, ta, tb, transpose_b, None);
            assert_close(&have, &sums, |i| 1e-6 * sizes[i], name);
        }
    }
}

#[test]
fn a_narrow_destination_is_rounded() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(23);
        let a = Matrix::random(&mut random, 3, 20, DType::F32);
        let b = Matrix::random(&mut random, 5, 20, DType::F32);
        let (ta, tb) = (put(&mut tiles, &a, DType::F32), put(&mut tiles, &b, DType::F32));
        let full = multiply(&mut tiles, ta, tb, true, None);
        let dst = empty_tile(&mut tiles, 3, 5, DType::Bf16);
        tiles.matmul(MatMul { dst, a: ta, b: tb, transpose_b: true, accumulate: false }).unwrap();
        let want: Vec<u32> = full.values.iter().map(|&x| round_to(DType::Bf16, x).to_bits()).collect();
        assert_eq!(bits(&get(&mut tiles, dst)), want, "{name}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_faults() {
    for (_, mut tiles) in all_kernels() {
        let mut random = Random::new(24);
        let a = Matrix::random(&mut random, 4, 16, DType::F32);
        let b = Matrix::random(&mut random, 8, 16, DType::F32);
        let (a, b) = (put(&mut tiles, &a, DType::F32), put(&mut tiles, &b, DType::F32));
        let dst = empty_tile(&mut tiles, 4, 7, DType::F32);
        let product = MatMul { dst, a, b, transpose_b: true, accumulate: false };
        assert_eq!(
            tiles.matmul(product),
            Err(Fault::Capacity { have: Shape::new(4, 7), need: Shape::new(4, 8) })
        );
        let dst = empty_tile(&mut tiles, 4, 8, DType::F32);
        let product = MatMul { dst, accumulate: true, ..product };
        let fault = Fault::ShapeMismatch { have: Shape::new(0, 0), need: Shape::new(4, 8) };
        assert_eq!(tiles.matmul(product), Err(fault));
    }
}
