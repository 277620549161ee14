//! Rules of tile operations.

use super::*;

#[test]
fn places_fit_tensors() {
    breaks_in(KERNEL, 324, load(Place { index: vec![int(0)], ..place() }));
    breaks_in(KERNEL, 324, load(Place { index: vec![int(0), float(0.0)], ..place() }));
    breaks_in(KERNEL, 324, load(Place { row_dim: Some(2), ..place() }));
    breaks_in(KERNEL, 324, load(Place { row_dim: Some(1), ..place() }));
    breaks_in(KERNEL, 324, load(Place { row_dim: None, ..place() }));
    keeps_in(KERNEL, load(Place { col_dim: None, ..place() }));
    breaks_in(KERNEL, 324, StmtKind::StoreScalar { tensor: Q, index: vec![int(0)], value: float(0.0) });
}

#[test]
fn tile_operands_are_float_tiles() {
    breaks_in(
        KERNEL,
        325,
        StmtKind::Tile(TileOp::Fill { dst: INDEX, value: float(0.0), rows: None, cols: None }),
    );
    breaks_in(KERNEL, 325, StmtKind::Tile(TileOp::Transpose { dst: TILE, src: FLOAT }));
    let with_scalar = TileOp::Binary { op: BinaryTileOp::Add, dst: TILE, a: TILE, b: Operand::Row(DESC) };
    breaks_in(KERNEL, 325, StmtKind::Tile(with_scalar));
    let matmul = TileOp::MatMul { dst: TILE, a: TILE, b: INDEX, transpose_b: false, accumulate: true };
    breaks_in(KERNEL, 325, StmtKind::Tile(matmul));
    let at = Place { index: vec![int(0)], row_dim: Some(0), col_dim: None };
    breaks_in(
        KERNEL,
        325,
        StmtKind::Tile(TileOp::Store { tensor: LENS, src: TILE, at, rows: None, cols: None, add: false }),
    );
    breaks_in(KERNEL, 325, assign(FLOAT, expr(ExprKind::TileMax(TILE), ScalarTy::F32)));
}

/// In a tile of integers: operations that take them, numbers of `i64`, and no others.
#[test]
fn tiles_of_integers_go_with_their_own_type() {
    let found = |operation| {
        let mut module = base();
        let kernel = &mut module.functions[KERNEL.index()];
        let LocalTy::Tile(tile) = &mut kernel.locals[TILE.index()].ty else { unreachable!("it is a tile") };
        tile.elem = Elem::Fixed(DType::I32);
        kernel.body = vec![stmt(operation)];
        codes(&module)
    };
    let number = |ty| expr(ExprKind::Const(Const::Int(1)), ty);
    let fill = |value| StmtKind::Tile(TileOp::Fill { dst: TILE, value, rows: None, cols: None });
    assert_eq!(found(fill(number(ScalarTy::I64))), [0; 0]);
    assert_eq!(found(fill(float(1.0))), [326]);
    let unary = |op| StmtKind::Tile(TileOp::Unary { op, dst: TILE, src: TILE });
    assert_eq!(found(unary(crate::UnaryTileOp::Neg)), [0; 0]);
    assert_eq!(found(unary(crate::UnaryTileOp::Exp)), [325]);
    assert_eq!(found(load(place())), [325]);
}

/// In a tile of `f64`: numbers of `f64`, and no others.
#[test]
fn values_that_meet_tiles_of_f64_are_f64() {
    let fill = |ty| {
        let value = expr(ExprKind::Const(Const::Float(0.5)), ty);
        let mut module = base();
        let kernel = &mut module.functions[KERNEL.index()];
        let LocalTy::Tile(tile) = &mut kernel.locals[TILE.index()].ty else { unreachable!("it is a tile") };
        tile.elem = Elem::Fixed(DType::F64);
        kernel.body = vec![stmt(StmtKind::Tile(TileOp::Fill { dst: TILE, value, rows: None, cols: None }))];
        codes(&module)
    };
    assert_eq!(fill(ScalarTy::F64), [0; 0]);
    assert_eq!(fill(ScalarTy::F32), [326]);
}

#[test]
fn values_that_meet_tiles_are_f32() {
    breaks_in(KERNEL, 326, StmtKind::Tile(TileOp::Fill { dst: TILE, value: int(0), rows: None, cols: None }));
    let b = Operand::Scalar(expr(ExprKind::Const(Const::Float(0.1)), ScalarTy::F64));
    breaks_in(KERNEL, 326, StmtKind::Tile(TileOp::Binary { op: BinaryTileOp::Mul, dst: TILE, a: TILE, b }));
    let mask = TileOp::Mask { tile: TILE, rows: Some(float(1.0)), cols: None, value: float(0.0) };
    breaks_in(KERNEL, 326, StmtKind::Tile(mask));
    let causal = TileOp::MaskCausal { tile: TILE, cols: int(0), value: float(0.0) };
    breaks_in(KERNEL, 326, StmtKind::Tile(causal));
    let iota = TileOp::Iota { dst: TILE, start: float(0.0), cols: None };
    breaks_in(KERNEL, 326, StmtKind::Tile(iota));
    let i32 = || expr(ExprKind::Const(Const::Int(1)), ScalarTy::I32);
    let band = |begin, group, value| TileOp::MaskBand { tile: TILE, begin, end: i32(), group, value };
    breaks_in(KERNEL, 326, StmtKind::Tile(band(float(0.0), int(1), float(0.0))));
    breaks_in(KERNEL, 326, StmtKind::Tile(band(i32(), i32(), float(0.0))));
    breaks_in(KERNEL, 326, StmtKind::Tile(band(i32(), int(1), i32())));
}

#[test]
fn a_part_of_a_tile_goes_to_another_tile() {
    let (dst, src, row, col) = (TILE, TILE, int(0), int(0));
    breaks_in(KERNEL, 325, StmtKind::Tile(TileOp::Insert { dst, src, row: row.clone(), col: col.clone() }));
    breaks_in(KERNEL, 325, StmtKind::Tile(TileOp::Extract { dst, src, row, col }));
}

#[test]
fn a_selection_takes_three_different_tiles() {
    let select = TileOp::TopK { values: TILE, indices: TILE, src: TILE, first: int(0) };
    breaks_in(KERNEL, 325, StmtKind::Tile(select));
}
