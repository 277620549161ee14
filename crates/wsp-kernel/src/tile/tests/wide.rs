//! Operations on tiles of `f64`, against loops over elements.

use super::{Array, Matrix, Random, all_kernels, bits, empty_tile, get, put, window};
use crate::memory::{Fault, Layout, Shape};
use crate::tile::Tiles;
use crate::tile::wide::WideOp;
use half::{bf16, f16};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Operand, ReduceOp, TileOp, UnaryTileOp};

/// Numbers that `f32` does not hold.
fn doubles(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| f64::from(random.value(DType::F32)) / 3.0 + f64::from(random.bits()) * 1e-13).collect()
}

/// A tile of `f64` with these values, and room around them.
fn put_wide(tiles: &mut Tiles, (rows, cols): (u32, u32), values: &[f64]) -> usize {
    let id = tiles.add(Shape::new(rows + 1, cols + 2), DType::F64).unwrap();
    tiles.wide(&TileOp::Fill { dst: id, value: f64::NAN.to_bits(), rows: None, cols: None }).unwrap();
    let mut array = Array::poisoned(values.len(), DType::F64);
    array.bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let layout = Layout::Strided { dims: vec![rows, cols], strides: vec![u64::from(cols), 1] };
    let mem = array.mem(layout);
    tiles.load(id, &mem, window(&[0, 0], 0, 1), Some(rows), Some(cols), true).unwrap();
    id
}

/// What is valid of a tile, as `f64` in memory.
fn stored(tiles: &mut Tiles, id: usize) -> Vec<f64> {
    let Shape { rows, cols } = tiles.shape(id);
    let mut array = Array::poisoned((rows * cols) as usize, DType::F64);
    let layout = Layout::Strided { dims: vec![rows, cols], strides: vec![u64::from(cols), 1] };
    let mem = array.mem(layout);
    tiles.store(&mem, id, window(&[0, 0], 0, 1)).unwrap();
    array.bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}

fn result(tiles: &mut Tiles, dst: usize, op: &WideOp) -> Vec<f64> {
    tiles.wide(op).unwrap();
    stored(tiles, dst)
}

/// A tile of `f64` to be written.
fn room(tiles: &mut Tiles, rows: u32, cols: u32) -> usize {
    put_wide(tiles, (rows, cols), &vec![f64::NAN; (rows * cols) as usize])
}

fn words(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

/// Empty, prime and square shapes.
const SHAPES: [(u32, u32); 6] = [(1, 1), (0, 5), (5, 0), (7, 13), (16, 16), (3, 130)];

#[test]
fn operations_of_two_operands_are_those_of_f64() {
    let by_hand: [fn(f64, f64) -> f64; 12] = [
        |a, b| a + b,
        |a, b| a - b,
        |a, b| a * b,
        |a, b| a / b,
        |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) },
        |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) },
        |a, b| f64::from(u8::from(a == b)),
        |a, b| f64::from(u8::from(a != b)),
        |a, b| f64::from(u8::from(a < b)),
        |a, b| f64::from(u8::from(a <= b)),
        |a, b| f64::from(u8::from(a > b)),
        |a, b| f64::from(u8::from(a >= b)),
    ];
    assert_eq!(BinaryTileOp::ALL.len(), by_hand.len());
    let mut random = Random::new(101);
    for (rows, cols) in SHAPES {
        let count = (rows * cols) as usize;
        let mut a = doubles(&mut random, count);
        let mut b = doubles(&mut random, count);
        for (x, y) in a.iter_mut().zip(&mut b) {
            match random.below(8) {
                0 => *x = f64::NAN,
                1 => *y = f64::NAN,
                2 => *y = *x,
                _ => {}
            }
        }
        let (column, row) = (doubles(&mut random, rows as usize), doubles(&mut random, cols as usize));
        let number = doubles(&mut random, 1)[0];
        for (name, mut tiles) in all_kernels() {
            let [ta, tb] = [&a, &b].map(|values| put_wide(&mut tiles, (rows, cols), values));
            let (tc, tr) = (put_wide(&mut tiles, (rows, 1), &column), put_wide(&mut tiles, (1, cols), &row));
            let dst = room(&mut tiles, rows, cols);
            for (&op, by_hand) in BinaryTileOp::ALL.iter().zip(by_hand) {
                for right in [
                    Operand::Tile(tb),
                    Operand::Column(tc),
                    Operand::Row(tr),
                    Operand::Scalar(number.to_bits()),
                ] {
                    let want = (0..count).map(|at| {
                        let other = match right {
                            Operand::Tile(_) => b[at],
                            Operand::Column(_) => column[at / cols as usize],
                            Operand::Row(_) => row[at % cols as usize],
                            Operand::Scalar(_) => number,
                        };
                        by_hand(a[at], other)
                    });
                    let want: Vec<f64> = want.collect();
                    let have = result(&mut tiles, dst, &TileOp::Binary { op, dst, a: ta, b: right });
                    assert_eq!(words(&have), words(&want), "{name} {op:?} {right:?} {rows} x {cols}");
                }
            }
            // In place, and over the right operand.
            let want: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let op = TileOp::Binary { op: BinaryTileOp::Sub, dst: tb, a: ta, b: Operand::Tile(tb) };
            assert_eq!(words(&result(&mut tiles, tb, &op)), words(&want), "{name}");
        }
    }
}

/// A function of one number.
type Function = fn(f64) -> f64;

#[test]
fn functions_of_one_tile_are_those_of_f64() {
    let by_hand: [(UnaryTileOp, Function); 16] = [
        (UnaryTileOp::Copy, |x| x),
        (UnaryTileOp::Neg, |x| 0.0 - x),
        (UnaryTileOp::Abs, |x| if x < 0.0 { -x } else { x }),
        (UnaryTileOp::Exp, f64::exp),
        (UnaryTileOp::Exp2, f64::exp2),
        (UnaryTileOp::Log, f64::ln),
        (UnaryTileOp::Log2, f64::log2),
        (UnaryTileOp::Sqrt, |x| x.powf(0.5)),
        (UnaryTileOp::Recip, |x| x.powi(-1)),
        (UnaryTileOp::Tanh, f64::tanh),
        (UnaryTileOp::Sin, f64::sin),
        (UnaryTileOp::Cos, f64::cos),
        (UnaryTileOp::Floor, |x| x.div_euclid(1.0)),
        (UnaryTileOp::Ceil, |x| -(-x).div_euclid(1.0)),
        (UnaryTileOp::Relu, |x| if x > 0.0 { x } else { 0.0 }),
        (UnaryTileOp::Rsqrt, |x| x.powf(-0.5)),
    ];
    let values = doubles(&mut Random::new(102), 91);
    for (name, mut tiles) in all_kernels() {
        let (src, dst) = (put_wide(&mut tiles, (7, 13), &values), room(&mut tiles, 7, 13));
        for (op, f) in by_hand {
            let have = result(&mut tiles, dst, &TileOp::Unary { op, dst, src });
            for (x, have) in values.iter().zip(have) {
                let want = f(*x);
                // Two roundings, or those of the C library's powers.
                let near = (have - want).abs() <= 4.0 * f64::EPSILON * want.abs();
                assert!(
                    near || (have.is_nan() && want.is_nan()),
                    "{name} {op:?} of {x:e}: {have:e}, {want:e}"
                );
            }
        }
        // erf 1 and 0.5 of Abramowitz and Stegun, table 7.1.
        let of = put_wide(&mut tiles, (1, 2), &[1.0, 0.5]);
        let have = result(&mut tiles, of, &TileOp::Unary { op: UnaryTileOp::Erf, dst: of, src: of });
        for (have, want) in have.iter().zip([0.842_700_792_949_714_9, 0.520_499_877_813_046_5]) {
            assert!((have - want).abs() < 1e-12, "{name} {have}");
        }
    }
}

#[test]
fn sums_products_and_the_largest_elements_are_those_of_f64() {
    let mut random = Random::new(103);
    for (rows, cols) in [(1, 1), (5, 0), (7, 13), (16, 130)] {
        let (m, n) = (rows as usize, cols as usize);
        let a = doubles(&mut random, m * n);
        for (name, mut tiles) in all_kernels() {
            let src = put_wide(&mut tiles, (rows, cols), &a);
            let (column, row) = (room(&mut tiles, rows, 1), room(&mut tiles, 1, cols));
            let (op, dst) = (ReduceOp::Sum, column);
            let sums: Vec<f64> = (0..m).map(|r| a[r * n..][..n].iter().fold(0.0, |s, x| s + x)).collect();
            assert_eq!(result(&mut tiles, dst, &TileOp::RowReduce { op, dst, src }), sums, "{name}");
            let (op, dst) = (ReduceOp::ArgMax, row);
            let places: Vec<f64> = (0..n)
                .map(|c| (0..m).rev().max_by(|x, y| a[x * n + c].total_cmp(&a[y * n + c])).unwrap() as f64)
                .collect();
            assert_eq!(result(&mut tiles, dst, &TileOp::ColReduce { op, dst, src }), places, "{name}");
            let means: Vec<f64> = sums.iter().map(|sum| sum / n as f64).collect();
            let (op, dst) = (ReduceOp::Mean, column);
            let have = result(&mut tiles, dst, &TileOp::RowReduce { op, dst, src });
            assert_eq!(words(&have), words(&means), "{name}");
            let dst = room(&mut tiles, rows, cols);
            let mut so_far = a.clone();
            for at in (0..m * n).filter(|at| at % n > 0) {
                so_far[at] += so_far[at - 1];
            }
            assert_eq!(result(&mut tiles, dst, &TileOp::CumSum { dst, src }), so_far, "{name}");
            if rows == 1 {
                assert_eq!(tiles.wide_row_scalar(ReduceOp::Max, src), Ok(a[0].to_bits()), "{name}");
            } else {
                let fault = Fault::ShapeMismatch { have: Shape::new(rows, cols), need: Shape::new(1, cols) };
                assert_eq!(tiles.wide_row_scalar(ReduceOp::Max, src), Err(fault), "{name}");
            }
        }
    }
}

#[test]
fn products_of_matrices_are_summed_in_f64() {
    let mut random = Random::new(104);
    for (m, k, n) in [(1, 1, 1), (3, 0, 4), (7, 13, 5), (16, 64, 17)] {
        let (a, b) = (doubles(&mut random, m * k), doubles(&mut random, k * n));
        let before = doubles(&mut random, m * n);
        let product =
            |at: usize| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).fold(0.0, |s, x| s + x);
        let turned: Vec<f64> = (0..k * n).map(|at| b[at % k.max(1) * n + at / k.max(1)]).collect();
        let size = |rows: usize, cols: usize| (rows as u32, cols as u32);
        for (name, mut tiles) in all_kernels() {
            let left = put_wide(&mut tiles, size(m, k), &a);
            let right = [put_wide(&mut tiles, size(k, n), &b), put_wide(&mut tiles, size(n, k), &turned)];
            for (transpose_b, right) in [false, true].into_iter().zip(right) {
                for accumulate in [false, true] {
                    let dst = put_wide(&mut tiles, size(m, n), &before);
                    let want: Vec<f64> = (0..m * n)
                        .map(|at| product(at) + if accumulate { before[at] } else { 0.0 })
                        .collect();
                    let op = TileOp::MatMul { dst, a: left, b: right, transpose_b, accumulate };
                    assert_eq!(result(&mut tiles, dst, &op), want, "{name} {m} x {k} x {n}");
                }
            }
        }
    }
}

#[test]
fn elements_move_with_all_their_bits() {
    let values = doubles(&mut Random::new(105), 7 * 13);
    for (name, mut tiles) in all_kernels() {
        let src = put_wide(&mut tiles, (7, 13), &values);
        let dst = room(&mut tiles, 13, 7);
        let turned: Vec<f64> = (0..91).map(|at| values[at % 7 * 13 + at / 7]).collect();
        assert_eq!(result(&mut tiles, dst, &TileOp::Transpose { dst, src }), turned, "{name}");
        let op = TileOp::Reshape { dst, src, rows: Some(13), cols: Some(7) };
        assert_eq!(result(&mut tiles, dst, &op), values, "{name}");
        let at = Matrix { shape: Shape::new(7, 2), values: (0..14).map(|i| (i % 13) as f32).collect() };
        let indices = put(&mut tiles, &at, DType::F32);
        let dst = room(&mut tiles, 7, 2);
        let want: Vec<f64> = (0..14).map(|i| values[i / 2 * 13 + i % 13]).collect();
        let op = TileOp::Gather { dst, src, indices, by_row: false };
        assert_eq!(result(&mut tiles, dst, &op), want, "{name}");
        let wrong = put_wide(&mut tiles, (7, 1), &[0.0, 1.0, 2.0, 12.0, 13.0, 0.0, 0.0]);
        let fault =
            Fault::NoPlace { at: Shape::new(4, 0), index: 13f64.to_bits(), extent: 13, by_row: false };
        assert_eq!(
            tiles.wide(&TileOp::Gather { dst, src, indices: wrong, by_row: false }),
            Err(fault),
            "{name}"
        );
        let part = room(&mut tiles, 1, 2);
        tiles.wide(&TileOp::Extract { dst: part, src, row: 5, col: 9 }).unwrap();
        assert_eq!(tiles.shape(part), Shape::new(2, 4), "{name}");
        let taken: Vec<f64> = (0..8).map(|i| values[(5 + i / 4) * 13 + 9 + i % 4]).collect();
        assert_eq!(stored(&mut tiles, part), taken, "{name}");
        let whole = room(&mut tiles, 7, 13);
        let op = TileOp::Insert { dst: whole, src: part, row: 1, col: 2 };
        let have = result(&mut tiles, whole, &op);
        for (i, x) in have.iter().enumerate() {
            let (r, c) = ((i / 13).wrapping_sub(1), (i % 13).wrapping_sub(2));
            let want = if r < 2 && c < 4 { taken[r * 4 + c] } else { f64::NAN };
            assert_eq!(words(&[*x]), words(&[want]), "{name}");
        }
    }
}

#[test]
fn masks_choices_and_positions_keep_f64() {
    let values = doubles(&mut Random::new(106), 5 * 9);
    let tenth = 0.1f64;
    for (name, mut tiles) in all_kernels() {
        let tile = put_wide(&mut tiles, (5, 9), &values);
        let masked = |keep: &dyn Fn(i64, i64) -> bool| -> Vec<f64> {
            (0..45).map(|i| if keep(i / 9, i % 9) { values[i as usize] } else { tenth }).collect()
        };
        let value = tenth.to_bits();
        let column = |at: i32| u64::from(at.cast_unsigned());
        let cases: [(WideOp, Vec<f64>); 4] = [
            (TileOp::Mask { tile, rows: Some(3), cols: None, value }, masked(&|r, _| r < 3)),
            (TileOp::Mask { tile, rows: None, cols: Some(7), value }, masked(&|_, c| c < 7)),
            (TileOp::MaskCausal { tile, cols: column(-1), value }, masked(&|r, c| c < r - 1)),
            (
                TileOp::MaskBand { tile, begin: column(-1), end: column(3), group: 2, value },
                masked(&|r, c| c >= r / 2 - 1 && c < r / 2 + 3),
            ),
        ];
        for (op, want) in cases {
            let fresh = put_wide(&mut tiles, (5, 9), &values);
            tiles.wide(&TileOp::Unary { op: UnaryTileOp::Copy, dst: tile, src: fresh }).unwrap();
            assert_eq!(result(&mut tiles, tile, &op), want, "{name} {op:?}");
        }
        let row = room(&mut tiles, 1, 3);
        let op = TileOp::Iota { dst: row, start: column(i32::MAX), cols: Some(3) };
        let far = f64::from(i32::MAX);
        assert_eq!(result(&mut tiles, row, &op)[..3], [far, far + 1.0, far + 2.0], "{name}");
        let src = put_wide(&mut tiles, (5, 9), &values);
        let op = TileOp::Clamp { dst: tile, src, low: (-tenth).to_bits(), high: value };
        let want: Vec<f64> = values.iter().map(|x| x.clamp(-tenth, tenth)).collect();
        assert_eq!(result(&mut tiles, tile, &op), want, "{name}");
        // The mask is a tile of `f32`.
        let mask = Matrix { shape: Shape::new(5, 9), values: (0..45).map(|i| (i % 3) as f32).collect() };
        let mask = put(&mut tiles, &mask, DType::F32);
        let op = TileOp::Select { dst: tile, mask, a: src, b: Operand::Scalar(value) };
        let want: Vec<f64> = (0..45).map(|i| if i % 3 == 0 { tenth } else { values[i] }).collect();
        assert_eq!(result(&mut tiles, tile, &op), want, "{name}");
    }
}

/// `1 + 2^-11 + 2^-40` lies above the middle of two neighbours of `f16`, and its `f32` in the middle.
#[test]
fn results_are_rounded_once_to_a_narrower_type() {
    let above = |bits: i32| 1.0 + 2f64.powi(-bits) + 2f64.powi(-40);
    let cases = [
        (DType::F16, above(11), 1.0 + 2f32.powi(-10)),
        (DType::F16, 65_519.999, 65504.0),
        (DType::F16, 65520.0, f32::INFINITY),
        (DType::Bf16, above(8), 1.0 + 2f32.powi(-7)),
        (DType::Bf16, -1e300, f32::NEG_INFINITY),
        (DType::F8E4m3, above(4), 1.125),
        (DType::F8E5m2, 1e-300, 0.0),
        (DType::F32, above(24), above(24) as f32),
        (DType::F32, 1e39, f32::INFINITY),
    ];
    for (name, mut tiles) in all_kernels() {
        for (elem, value, want) in cases {
            let src = put_wide(&mut tiles, (1, 1), &[value]);
            let dst = empty_tile(&mut tiles, 1, 1, elem);
            tiles.wide(&TileOp::Unary { op: UnaryTileOp::Copy, dst, src }).unwrap();
            assert_eq!(get(&mut tiles, dst).values, [want], "{name} {elem} {value:e}");
            let mut array = Array::poisoned(1, elem);
            let layout = || Layout::Strided { dims: vec![1, 1], strides: vec![1, 1] };
            tiles.store(&array.mem(layout()), src, window(&[0, 0], 0, 1)).unwrap();
            tiles.load(dst, &array.mem(layout()), window(&[0, 0], 0, 1), None, None, false).unwrap();
            assert_eq!(get(&mut tiles, dst).values, [want], "{name} stored {elem} {value:e}");
        }
    }
}

#[test]
fn tiles_of_f32_are_widened_where_they_meet_f64() {
    let mut random = Random::new(107);
    for (name, mut tiles) in all_kernels() {
        let single = Matrix::random(&mut random, 3, 5, DType::F32);
        let values = doubles(&mut random, 15);
        let (a, b) = (put(&mut tiles, &single, DType::F32), put_wide(&mut tiles, (3, 5), &values));
        let dst = room(&mut tiles, 3, 5);
        let op = TileOp::Binary { op: BinaryTileOp::Mul, dst, a, b: Operand::Tile(b) };
        let want: Vec<f64> = single.values.iter().zip(&values).map(|(a, b)| f64::from(*a) * b).collect();
        assert_eq!(result(&mut tiles, dst, &op), want, "{name}");
        // The result alone is of `f64`.
        let op = TileOp::Binary { op: BinaryTileOp::Mul, dst, a, b: Operand::Tile(a) };
        let squares: Vec<f64> = single.values.iter().map(|a| f64::from(*a) * f64::from(*a)).collect();
        assert_eq!(result(&mut tiles, dst, &op), squares, "{name}");
        let narrow = empty_tile(&mut tiles, 3, 5, DType::F32);
        tiles.wide(&TileOp::Binary { op: BinaryTileOp::Mul, dst: narrow, a, b: Operand::Tile(b) }).unwrap();
        let nearest: Vec<u32> = want.iter().map(|x| (*x as f32).to_bits()).collect();
        assert_eq!(bits(&get(&mut tiles, narrow)), nearest, "{name}");
    }
}

/// The bits of the value that is nearest to a number, of two the even one: all are looked at.
fn nearest(number: f64, value: fn(u16) -> f64) -> u16 {
    let off = |bits: &u16| (value(*bits) - number).abs();
    let finite = (0..0x7c00).chain(0x8000..0xfc00).filter(|bits| value(*bits).is_finite());
    finite.min_by(|a, b| off(a).total_cmp(&off(b)).then((a % 2).cmp(&(b % 2)))).unwrap()
}

#[test]
fn a_store_that_adds_rounds_each_sum_once() {
    let mut random = Random::new(108);
    let layout = || Layout::Strided { dims: vec![4, 6], strides: vec![6, 1] };
    for (name, mut tiles) in all_kernels() {
        for elem in [DType::F64, DType::F32, DType::F16, DType::Bf16] {
            let mut array = Array::poisoned(24, elem);
            let before: Vec<f32> = (0..24).map(|_| random.value(elem)).collect();
            before.iter().enumerate().for_each(|(i, x)| array.set(i, *x));
            let values = doubles(&mut random, 6);
            let src = put_wide(&mut tiles, (2, 3), &values);
            let mem = array.mem(layout());
            tiles.locate_store(&mem, src, window(&[1, 2], 0, 1)).unwrap();
            tiles.store_located(src, true);
            for (i, old) in before.iter().map(|x| f64::from(*x)).enumerate() {
                let (r, c) = ((i / 6_usize).wrapping_sub(1), (i % 6_usize).wrapping_sub(2));
                let want = if r < 2 && c < 3 { old + values[r * 3 + c] } else { old };
                let at = &array.bytes[i * elem.size()..][..elem.size()];
                let same = match elem {
                    DType::F64 => at == want.to_le_bytes(),
                    DType::F32 => at == (want as f32).to_le_bytes(),
                    DType::F16 => at == nearest(want, |bits| f16::from_bits(bits).to_f64()).to_le_bytes(),
                    _ => at == nearest(want, |bits| bf16::from_bits(bits).to_f64()).to_le_bytes(),
                };
                assert!(same, "{name} {elem} element {i}: {at:?}, should be {want:e}");
            }
            let past = Fault::StorePastEnd { dim: 1, index: 4, count: 3, extent: 6 };
            let mem = array.mem(layout());
            assert_eq!(tiles.locate_store(&mem, src, window(&[1, 4], 0, 1)), Err(past), "{name}");
        }
    }
}

#[test]
fn results_that_do_not_fit_are_refused() {
    let mut tiles = Tiles::new(wsp_simd::Mode::Fast);
    let [a, b] = [(2, 3), (2, 4)].map(|(r, c)| put_wide(&mut tiles, (r, c), &vec![1.0; (r * c) as usize]));
    let fault = Fault::ShapeMismatch { have: Shape::new(2, 4), need: Shape::new(2, 3) };
    let op = TileOp::Binary { op: BinaryTileOp::Add, dst: a, a, b: Operand::Tile(b) };
    assert_eq!(tiles.wide(&op), Err(fault));
    let small = tiles.add(Shape::new(1, 1), DType::F64).unwrap();
    let fault = Fault::Capacity { have: Shape::new(1, 1), need: Shape::new(2, 3) };
    assert_eq!(tiles.wide(&TileOp::Unary { op: UnaryTileOp::Exp, dst: small, src: a }), Err(fault));
    assert_eq!(tiles.wide(&TileOp::CumSum { dst: small, src: a }), Err(fault));
    // 16 MiB are 2^21 elements of 8 bytes.
    assert!(tiles.add(Shape::new(1 << 11, 1 << 10), DType::F64).is_ok());
    let bytes = ((1 << 21) + 1) * 8;
    let fault = Fault::TileTooLarge { shape: Shape::new(1, (1 << 21) + 1), bytes };
    assert_eq!(tiles.add(Shape::new(1, (1 << 21) + 1), DType::F64), Err(fault));
}
