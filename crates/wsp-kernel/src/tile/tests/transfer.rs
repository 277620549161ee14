//! Loads, stores, masks and transposes.

use super::{Array, COLS, Matrix, Random, all_kernels, array_of, bits, empty_tile, get, put, window};
use crate::memory::{Fault, Layout, Shape, Window};
use wsp_core::DType;
use wsp_simd::round_to;

const FLOATS: [DType; 6] = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2];

#[test]
fn a_load_rounds_to_the_tile_in_place_or_copied() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(30);
        for dtype in FLOATS {
            for elem in FLOATS {
                for cols in COLS {
                    let rows = random.below(18);
                    let source = Matrix::random(&mut random, rows, cols, dtype);
                    let (mut array, layout) = array_of(&source, dtype);
                    let mem = array.mem(layout);
                    for allow_view in [false, true] {
                        let tile = empty_tile(&mut tiles, rows + 1, cols + 1, elem);
                        tiles.load(tile, &mem, window(&[0, 0], 0, 1), None, None, allow_view).unwrap();
                        let have = get(&mut tiles, tile);
                        let want: Vec<u32> =
                            source.values.iter().map(|&x| round_to(elem, x).to_bits()).collect();
                        assert_eq!(have.shape, source.shape, "{name} {dtype} {elem}");
                        assert_eq!(bits(&have), want, "{name} {dtype} {elem}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_load_takes_what_there_is() {
    for (_, mut tiles) in all_kernels() {
        let source = Matrix::random(&mut Random::new(31), 10, 20, DType::F16);
        let (mut array, layout) = array_of(&source, DType::F16);
        let mem = array.mem(layout);
        let tile = empty_tile(&mut tiles, 4, 16, DType::F16);
        for (index, rows, cols, want) in [
            ([0, 0], None, None, Shape::new(4, 16)),
            ([8, 10], None, None, Shape::new(2, 10)),
            ([8, 10], Some(1), Some(3), Shape::new(1, 3)),
            ([10, 0], None, None, Shape::new(0, 16)),
            ([u32::MAX, u32::MAX], Some(u32::MAX), None, Shape::new(0, 0)),
            ([3, 0], Some(0), None, Shape::new(0, 16)),
        ] {
            tiles.load(tile, &mem, window(&index, 0, 1), rows, cols, true).unwrap();
            let have = get(&mut tiles, tile);
            assert_eq!(have.shape, want, "{index:?}");
            for r in 0..want.rows as usize {
                for c in 0..want.cols as usize {
                    assert_eq!(have.at(r, c), source.at(index[0] as usize + r, index[1] as usize + c));
                }
            }
        }
    }
}

#[test]
fn columns_may_be_apart() {
    for (name, mut tiles) in all_kernels() {
        let source = Matrix::random(&mut Random::new(32), 7, 33, DType::F16);
        for dtype in [DType::F32, DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2] {
            let (mut array, layout) = array_of(&source, dtype);
            let mem = array.mem(layout);
            let tile = empty_tile(&mut tiles, 33, 7, DType::F32);
            // Columns along the array's rows: the transposed matrix.
            tiles.load(tile, &mem, window(&[0, 0], 1, 0), None, None, true).unwrap();
            let have = get(&mut tiles, tile);
            assert_eq!(have.shape, Shape::new(33, 7));
            for r in 0..33 {
                for c in 0..7 {
                    assert_eq!(have.at(r, c), round_to(dtype, source.at(c, r)), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_store_rounds_and_writes_nothing_else() {
    for (name, mut tiles) in all_kernels() {
        let mut random = Random::new(33);
        for dtype in FLOATS {
            for cols in COLS {
                let rows = random.below(18);
                let source = Matrix::random(&mut random, rows, cols, DType::F32);
                let tile = put(&mut tiles, &source, DType::F32);
                for (strides, spaced) in [([u64::from(cols) + 2, 1], 1), ([2 * u64::from(cols) + 5, 2], 2)] {
                    let n = (rows as usize + 2) * strides[0] as usize;
                    let mut array = Array::poisoned(n, dtype);
                    let mut want = Array::poisoned(n, dtype);
                    for r in 0..rows as usize {
                        for c in 0..cols as usize {
                            want.set((r + 1) * strides[0] as usize + c * spaced + spaced, source.at(r, c));
                        }
                    }
                    let layout =
                        Layout::Strided { dims: vec![rows + 2, cols + 1], strides: strides.to_vec() };
                    let mem = array.mem(layout);
                    tiles.store(&mem, tile, window(&[1, 1], 0, 1)).unwrap();
                    drop(mem);
                    assert!(array.bytes == want.bytes, "{name} {dtype} {rows}x{cols} stride {spaced}");
                }
            }
        }
    }
}

#[test]
fn a_store_past_the_end_is_a_fault_and_writes_nothing() {
    for (_, mut tiles) in all_kernels() {
        let source = Matrix::random(&mut Random::new(34), 3, 4, DType::F32);
        let tile = put(&mut tiles, &source, DType::F32);
        let mut array = Array::poisoned(5 * 5, DType::F32);
        let before = array.bytes.clone();
        let mem = array.mem(Layout::Strided { dims: vec![5, 5], strides: vec![5, 1] });
        let past = |dim, index, count| Err(Fault::StorePastEnd { dim, index, count, extent: 5 });
        assert_eq!(tiles.store(&mem, tile, window(&[3, 0], 0, 1)), past(0, 3, 3));
        assert_eq!(tiles.store(&mem, tile, window(&[0, 2], 0, 1)), past(1, 2, 4));
        assert_eq!(tiles.store(&mem, tile, window(&[0, u32::MAX], 0, 1)), past(1, u64::from(u32::MAX), 4));
        let one_row = Window { index: &[0, 0], row_dim: None, col_dim: Some(1) };
        let fault = Fault::ShapeMismatch { have: Shape::new(3, 4), need: Shape::new(1, 4) };
        assert_eq!(tiles.store(&mem, tile, one_row), Err(fault));
        drop(mem);
        assert_eq!(array.bytes, before);
    }
}

#[test]
fn arrays_of_integers_are_refused() {
    for (_, mut tiles) in all_kernels() {
        let tile = empty_tile(&mut tiles, 1, 1, DType::F32);
        let mut array = Array::poisoned(4, DType::I32);
        let mem = array.mem(Layout::Strided { dims: vec![2, 2], strides: vec![2, 1] });
        let fault = Fault::NotFloat { dtype: DType::I32 };
        assert_eq!(tiles.load(tile, &mem, window(&[0, 0], 0, 1), None, None, true), Err(fault));
        assert_eq!(tiles.store(&mem, tile, window(&[0, 0], 0, 1)), Err(fault));
        assert_eq!(mem.load_scalar(&[0, 0]), Err(fault));
        assert_eq!(mem.store_scalar(&[0, 0], 1.0), Err(fault));
    }
}

#[test]
fn narrowing_matches_the_half_crate_on_every_special_value() {
    let mut values = vec![
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        65504.0,
        65519.9,
        65520.0,
        1e-8,
        5.96e-8,
        -2.98e-8,
        -0.0,
        3.4e38,
        f32::MAX,
        f32::from_bits(1),
        f32::from_bits(0x3F80_8000),
        f32::from_bits(0x3F81_8000),
        f32::from_bits(0x3F80_8001),
    ];
    let mut random = Random::new(35);
    values.extend((0..2000).map(|_| f32::from_bits(random.bits())));
    let shape = Shape::new(1, values.len() as u32);
    for (name, mut tiles) in all_kernels() {
        let tile = put(&mut tiles, &Matrix { shape, values: values.clone() }, DType::F32);
        for dtype in [DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2] {
            let mut array = Array::poisoned(values.len(), dtype);
            let mut want = Array::poisoned(values.len(), dtype);
            for (i, &v) in values.iter().enumerate() {
                want.set(i, v);
            }
            let mem = array.mem(Layout::Strided { dims: vec![1, shape.cols], strides: vec![0, 1] });
            tiles.store(&mem, tile, window(&[0, 0], 0, 1)).unwrap();
            drop(mem);
            let size = dtype.size();
            let differ = array.bytes.chunks(size).zip(want.bytes.chunks(size)).position(|(a, b)| a != b);
            assert_eq!(differ.map(|i| values[i].to_bits()), None, "{name} {dtype}");
        }
    }
}

#[test]
fn every_byte_of_an_8_bit_float_is_widened_to_its_value() {
    let tables = [(DType::F8E4m3, &wsp_core::fp8::E4M3_TO_F32), (DType::F8E5m2, &wsp_core::fp8::E5M2_TO_F32)];
    for (name, mut tiles) in all_kernels() {
        for (dtype, table) in tables {
            let mut array = Array { bytes: (0..=255).collect(), dtype };
            let mem = array.mem(Layout::Strided { dims: vec![1, 256], strides: vec![0, 1] });
            let tile = empty_tile(&mut tiles, 1, 256, DType::F32);
            tiles.load(tile, &mem, window(&[0, 0], 0, 1), None, None, false).unwrap();
            for (byte, (have, want)) in get(&mut tiles, tile).values.iter().zip(table).enumerate() {
                let same = have.to_bits() == want.to_bits() || (have.is_nan() && want.is_nan());
                assert!(same, "{name} {dtype} {byte:#x}: {have}, not {want}");
            }
        }
    }
}
