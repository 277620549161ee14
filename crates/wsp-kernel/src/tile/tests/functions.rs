//! Accuracy and special values of the functions of one tile.

use super::{Matrix, all_kernels, empty_tile, get, put};
use crate::memory::Shape;
use wsp_core::DType;
use wsp_ir::UnaryTileOp;

/// Distance in units of the last place of the right result.
fn ulps(have: f32, want: f64) -> f64 {
    let nearest = want as f32;
    let step = f64::from(f32::from_bits(nearest.abs().to_bits() + 1)) - f64::from(nearest.abs());
    (f64::from(have) - want).abs() / step
}

fn apply(tiles: &mut super::Tiles, op: UnaryTileOp, values: &[f32]) -> Vec<f32> {
    let shape = Shape::new(1, values.len() as u32);
    let src = put(tiles, &Matrix { shape, values: values.to_vec() }, DType::F32);
    let dst = empty_tile(tiles, 1, shape.cols, DType::F32);
    tiles.unary(op, dst, src).unwrap();
    get(tiles, dst).values
}

/// The distance between bit patterns that are looked at: of as many of the 2^32 as `WSP_CASES` asks for, all of them from
/// 4294967295 on; every 4,099th where it says nothing.
#[expect(clippy::disallowed_methods, reason = "the number of cases is an environment variable")]
fn stride() -> usize {
    let Ok(text) = std::env::var("WSP_CASES") else { return 4_099 };
    let cases: u64 = text.parse().unwrap();
    println!("{cases} patterns of f32 are asked for");
    ((1 << 32) / cases.max(1)).max(1) as usize
}

/// What the table says of vector units; the plain form rounds twice at most, or is a function of the C library.
#[test]
fn functions_of_one_tile_are_as_exact_as_the_table_says() {
    const AT_ONCE: usize = 1 << 20;
    let mut patterns = (0..=u32::MAX).step_by(stride()).map(f32::from_bits);
    loop {
        let values: Vec<f32> = patterns.by_ref().take(AT_ONCE).collect();
        if values.is_empty() {
            return;
        }
        check_functions(&values);
    }
}

fn check_functions(values: &[f32]) {
    for &op in UnaryTileOp::ALL {
        let exact: Vec<f64> = values.iter().map(|&x| op.exact()(f64::from(x))).collect();
        for (name, mut tiles) in all_kernels() {
            let most = if op.ulps() == 0 || name == "plain" { 2.5 } else { f64::from(op.ulps()) };
            for ((&x, &want), have) in values.iter().zip(&exact).zip(apply(&mut tiles, op, values)) {
                let near = match want {
                    _ if want.is_nan() => have.is_nan(),
                    _ if want.abs() < f64::from(f32::MIN_POSITIVE) => have.abs() <= f32::MIN_POSITIVE,
                    // Past the largest number, and just below it, where the nearest `f32` may be infinite.
                    _ if want.abs() > f64::from(f32::MAX) * 0.999_999 => have.abs() >= f32::MAX * 0.999_999,
                    _ => ulps(have, want) <= most,
                };
                assert!(near, "{name} {op:?} of {x:e}: {have:e}, should be {want:e}");
            }
        }
    }
}

#[test]
fn exponentials_of_special_values() {
    let inputs = [f32::NEG_INFINITY, f32::INFINITY, -1e30, 1e30, -400.0, 129.0, 0.0, -0.0];
    let outputs = [0.0, f32::INFINITY, 0.0, f32::INFINITY, 0.0, f32::INFINITY, 1.0, 1.0];
    for (name, mut tiles) in all_kernels() {
        for op in [UnaryTileOp::Exp2, UnaryTileOp::Exp] {
            assert_eq!(apply(&mut tiles, op, &inputs), outputs, "{name} {op:?}");
            assert!(apply(&mut tiles, op, &[f32::NAN])[0].is_nan(), "{name} {op:?}");
            let tiny = apply(&mut tiles, op, &[-140.0])[0];
            assert!((0.0..f32::MIN_POSITIVE).contains(&tiny), "{name} {op:?}");
        }
        let whole: Vec<f32> = (-126..=127).map(|n| n as f32).collect();
        let powers: Vec<f32> = (-126..=127).map(|n| 2f32.powi(n)).collect();
        assert_eq!(apply(&mut tiles, UnaryTileOp::Exp2, &whole), powers, "{name}");
    }
}

#[test]
fn the_hyperbolic_tangent_of_special_values() {
    for (name, mut tiles) in all_kernels() {
        let special = apply(
            &mut tiles,
            UnaryTileOp::Tanh,
            &[0.0, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, f32::NAN],
        );
        assert_eq!(special[..5], [0.0, 1.0, -1.0, 1.0, -1.0], "{name}");
        assert!(special[5].is_nan(), "{name}");
    }
}

#[test]
fn halves_are_rounded_to_the_even_number() {
    let values = [0.5, 1.5, 2.5, -0.5, -1.5, 0.499_999_97, 8_388_609.0, 1e30, f32::INFINITY, f32::NAN];
    let rounded = [0.0, 2.0, 2.0, 0.0, -2.0, 0.0, 8_388_609.0, 1e30, f32::INFINITY];
    for (name, mut tiles) in all_kernels() {
        let have = apply(&mut tiles, UnaryTileOp::Round, &values);
        assert_eq!(have[..9], rounded, "{name}");
        assert!(have[3].is_sign_negative() && have[9].is_nan(), "{name}");
    }
}
