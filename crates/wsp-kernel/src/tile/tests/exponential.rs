//! Accuracy and special values of exponentials.

use super::{Matrix, all_kernels, get, put, room};
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
    let dst = room(tiles, 1, shape.cols, DType::F32);
    tiles.unary(op, dst, src).unwrap();
    get(tiles, dst).values
}

#[test]
fn exponentials_are_within_two_ulp() {
    for (name, mut tiles) in all_kernels() {
        for (op, low, high, right) in [
            (UnaryTileOp::Exp2, -126.0, 127.99, f64::exp2 as fn(f64) -> f64),
            (UnaryTileOp::Exp, -87.3, 88.7, f64::exp),
        ] {
            let count = 40_000;
            let values: Vec<f32> =
                (0..=count).map(|i| low + (high - low) * i as f32 / count as f32).collect();
            let have = apply(&mut tiles, op, &values);
            let worst =
                values.iter().zip(&have).map(|(&x, &h)| ulps(h, right(f64::from(x)))).fold(0.0, f64::max);
            assert!(worst <= 2.0, "{name} {op:?}: {worst} ulp");
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

/// 4 ulp: two rounded steps for `e^2x - 1`, the sum and the quotient.
#[test]
fn the_hyperbolic_tangent_is_within_four_ulp() {
    let sides = (0..60_000).map(|i| 1e-6 * 1.000_28f32.powi(i));
    let values: Vec<f32> = sides.flat_map(|x| [x, -x]).filter(|x| x.abs() < 20.0).collect();
    for (name, mut tiles) in all_kernels() {
        let have = apply(&mut tiles, UnaryTileOp::Tanh, &values);
        let worst = values.iter().zip(&have).map(|(&x, &h)| ulps(h, f64::from(x).tanh())).fold(0.0, f64::max);
        assert!(worst <= 4.0, "{name}: {worst} ulp");
        let special = apply(
            &mut tiles,
            UnaryTileOp::Tanh,
            &[0.0, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, f32::NAN],
        );
        assert_eq!(special[..5], [0.0, 1.0, -1.0, 1.0, -1.0], "{name}");
        assert!(special[5].is_nan(), "{name}");
    }
}
