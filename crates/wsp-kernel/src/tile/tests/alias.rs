//! Destinations that are operands too.

use super::{Matrix, Random, all_kernels, array_of, bits, empty_tile, get, put, window};
use crate::tile::{MatMul, Tiles};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Operand, UnaryTileOp};

const OP: BinaryTileOp = BinaryTileOp::Sub;

/// Runs an operation with a destination of its own and with an operand as the destination: results must agree.
fn same(operands: [&Matrix; 2], alias: usize, run: impl Fn(&mut Tiles, usize, usize, usize)) {
    for (name, mut tiles) in all_kernels() {
        let fresh = operands.map(|m| grown(&mut tiles, m));
        let dst = empty_tile(&mut tiles, 40, 40, DType::F32);
        run(&mut tiles, dst, fresh[0], fresh[1]);
        let want = get(&mut tiles, dst);

        let again = operands.map(|m| grown(&mut tiles, m));
        run(&mut tiles, again[alias], again[0], again[1]);
        let have = get(&mut tiles, again[alias]);
        assert_eq!(have.shape, want.shape, "{name}");
        assert_eq!(bits(&have), bits(&want), "{name}");
    }
}

/// A tile with room for any result here.
fn grown(tiles: &mut Tiles, matrix: &Matrix) -> usize {
    let id = empty_tile(tiles, 40, 40, DType::F32);
    super::set(tiles, id, matrix);
    id
}

#[test]
fn a_destination_may_be_either_operand_of_an_element_wise_operation() {
    let mut random = Random::new(10);
    let a = Matrix::random(&mut random, 5, 19, DType::F32);
    let b = Matrix::random(&mut random, 5, 19, DType::F32);
    let column = Matrix::random(&mut random, 5, 1, DType::F32);
    let row = Matrix::random(&mut random, 1, 19, DType::F32);
    for alias in [0, 1] {
        same([&a, &b], alias, |t, dst, a, b| t.binary(OP, dst, a, Operand::Tile(b)).unwrap());
        same([&a, &column], alias, |t, dst, a, b| t.binary(OP, dst, a, Operand::Column(b)).unwrap());
        same([&a, &row], alias, |t, dst, a, b| t.binary(OP, dst, a, Operand::Row(b)).unwrap());
    }
    same([&a, &b], 0, |t, dst, a, _| t.unary(UnaryTileOp::Neg, dst, a).unwrap());
}

#[test]
fn a_destination_may_be_either_operand_of_a_product() {
    let mut random = Random::new(11);
    let a = Matrix::random(&mut random, 18, 18, DType::F32);
    let b = Matrix::random(&mut random, 18, 18, DType::F32);
    for alias in [0, 1] {
        for transpose_b in [false, true] {
            same([&a, &b], alias, |t, dst, a, b| {
                t.matmul(MatMul { dst, a, b, transpose_b, accumulate: false }).unwrap();
            });
        }
    }
}

#[test]
fn an_accumulating_product_may_read_its_destination() {
    let mut random = Random::new(12);
    let a = Matrix::random(&mut random, 6, 6, DType::F32);
    for (name, mut tiles) in all_kernels() {
        let [x, y, z] = [0; 3].map(|_| put(&mut tiles, &a, DType::F32));
        tiles.matmul(MatMul { dst: x, a: y, b: z, transpose_b: false, accumulate: true }).unwrap();
        tiles.matmul(MatMul { dst: y, a: y, b: y, transpose_b: false, accumulate: true }).unwrap();
        assert_eq!(bits(&get(&mut tiles, x)), bits(&get(&mut tiles, y)), "{name}");
    }
}

#[test]
fn writing_a_tile_that_lies_in_an_array_leaves_the_array_alone() {
    let mut random = Random::new(13);
    let source = Matrix::random(&mut random, 6, 6, DType::F16);
    for (name, mut tiles) in all_kernels() {
        let (mut array, layout) = array_of(&source, DType::F16);
        let before = array.bytes.clone();
        let mem = array.mem(layout);
        let tile = empty_tile(&mut tiles, 6, 6, DType::F16);
        let load =
            |tiles: &mut Tiles| tiles.load(tile, &mem, window(&[0, 0], 0, 1), None, None, true).unwrap();
        load(&mut tiles);
        tiles.binary(OP, tile, tile, Operand::Scalar(1.0)).unwrap();
        load(&mut tiles);
        tiles.mask(tile, Some(1), None, 0.0);
        load(&mut tiles);
        tiles.matmul(MatMul { dst: tile, a: tile, b: tile, transpose_b: true, accumulate: true }).unwrap();
        load(&mut tiles);
        assert_eq!(bits(&get(&mut tiles, tile)), bits(&source), "{name}");
        drop(mem);
        assert_eq!(array.bytes, before, "{name}");
    }
}
