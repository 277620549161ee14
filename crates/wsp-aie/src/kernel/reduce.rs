//! Rows and columns to one value, sums along rows, products of matrices.

use super::elements::{GREATER, LESS};
use super::grids::Grid;
use super::writer::{Kind, LANES, Writer};
use crate::mlir::{Attr, Op, Type, Value};
use wsp_core::{DType, LocalId};
use wsp_ir::{BinaryTileOp, LocalTy, ReduceOp, TileOp};
use wsp_tile::{Extent, Tile};

impl Writer<'_> {
    pub(super) fn reduced(&mut self, op: &TileOp<Tile>) {
        match op {
            TileOp::RowReduce { op, dst, src } => {
                let (from, to, kind) = (self.tile(src), self.tile(dst), self.kind(src));
                let (rows, zero) = (self.extent(src.rows), self.index(0));
                self.each(rows, &[], &mut |writer, r, _| {
                    let value = writer.row(*op, &from, kind, r, src.cols);
                    let value = writer.place_or_value(*op, value, kind, to.elem);
                    writer.store(&to, r, zero, value);
                    Vec::new()
                });
            }
            TileOp::ColReduce { op, dst, src } => self.col_reduce(*op, dst, src),
            TileOp::CumSum { dst, src } => {
                let (from, to, kind) = (self.tile(src), self.tile(dst), self.kind(src));
                let (rows, cols) = (self.extent(src.rows), self.extent(src.cols));
                self.each(rows, &[], &mut |writer, r, _| {
                    let zero = writer.zero(kind);
                    writer.each(cols, &[zero], &mut |writer, c, sum| {
                        let value = writer.load(&from, r, c);
                        let sum = writer.binary(BinaryTileOp::Add, kind, sum[0], value);
                        writer.store(&to, r, c, sum);
                        vec![sum]
                    });
                    Vec::new()
                });
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                self.product(dst, [a, b], *transpose_b, *accumulate);
            }
            _ => {}
        }
    }

    /// A tile of one row as a variable.
    pub(super) fn tile_value(&mut self, local: LocalId, op: ReduceOp, src: &Tile) {
        let (from, kind, zero) = (self.tile(src), self.kind(src), self.index(0));
        let value = self.row(op, &from, kind, zero, src.cols);
        let value = match (&self.program.locals[local.index()].ty, kind) {
            (LocalTy::Scalar(ty), _) => self.cast(value, kind.scalar_ty(), *ty),
            _ => value,
        };
        self.values.insert(local, value);
    }

    /// One row as one value: in vectors where the order does not count.
    fn row(&mut self, op: ReduceOp, from: &Grid, kind: Kind, r: Value, cols: Extent) -> Value {
        let joined = joins(op, kind);
        let whole = match cols {
            Extent::Known(n) if joined.is_some() && Self::has_rows(from) => i64::from(n / LANES * LANES),
            _ => 0,
        };
        let (end, zero, one) = (self.extent(cols), self.index(0), self.index(1));
        let Some((combine, number)) = joined else {
            return if op.gives_places() {
                let place = self.place_of(op, kind, cols, &mut |writer, c| writer.load(from, r, c));
                place[1]
            } else {
                let sum = self.zero(kind);
                let sum = self.each(end, &[sum], &mut |writer, c, sum| {
                    let value = writer.load(from, r, c);
                    vec![writer.binary(BinaryTileOp::Add, kind, sum[0], value)]
                });
                self.mean(op, sum[0], end)
            };
        };
        let mut first = self.neutral(op, kind);
        if whole > 0 {
            self.lanes = LANES;
            let (start, step) = (self.load(from, r, zero), self.index(i64::from(LANES)));
            let middle = self.index(whole);
            let all = self.rounds((step, middle, step), &[start], &mut |writer, c, best| {
                let value = writer.load(from, r, c);
                vec![writer.binary(combine, kind, best[0], value)]
            });
            self.lanes = 1;
            let reduction =
                Op::new("vector.reduction").with(all).attr("kind", Attr::Int(number, Type::Int(32)));
            first = self.with(reduction, kind.scalar());
        }
        let low = self.index(whole);
        let last = self.rounds((low, end, one), &[first], &mut |writer, c, best| {
            let value = writer.load(from, r, c);
            vec![writer.binary(combine, kind, best[0], value)]
        });
        last[0]
    }

    fn mean(&mut self, op: ReduceOp, sum: Value, count: Value) -> Value {
        if op != ReduceOp::Mean {
            return sum;
        }
        let count = self.whole(count);
        let count = self.op("arith.sitofp", &[count], Type::F32);
        let count = self.splat(count);
        self.same("arith.divf", &[sum, count])
    }

    fn neutral(&mut self, op: ReduceOp, kind: Kind) -> Value {
        let least = |bits: u32| -1i64 << (bits - 1);
        match (op, kind) {
            (ReduceOp::Max | ReduceOp::Min, Kind::Real) => self.real(f64::from(op.neutral())),
            (ReduceOp::Max, Kind::Int(bits)) => self.int(least(bits), bits),
            (ReduceOp::Min, Kind::Int(bits)) => self.int(-1 - least(bits), bits),
            _ => self.zero(kind),
        }
    }

    /// The best of some elements and its place, `i32`: the first that is no number, or else the first of the best.
    fn place_of(
        &mut self,
        op: ReduceOp,
        kind: Kind,
        extent: Extent,
        element: &mut dyn FnMut(&mut Self, Value) -> Value,
    ) -> Vec<Value> {
        let (end, zero, one) = (self.extent(extent), self.index(0), self.index(1));
        let start = [element(self, zero), self.int(0, 32)];
        let better = if op == ReduceOp::ArgMax { GREATER } else { LESS };
        self.rounds((one, end, one), &start, &mut |writer, at, best| {
            let value = element(writer, at);
            let mut wins = writer.compare(better, kind, value, best[0]);
            if kind == Kind::Real {
                let (new, old) = (writer.is_no_number(value), writer.is_no_number(best[0]));
                wins = writer.same("arith.ori", &[wins, new]);
                let yes = writer.int(1, 1);
                let open = writer.same("arith.xori", &[old, yes]);
                wins = writer.same("arith.andi", &[wins, open]);
            }
            let place = writer.whole(at);
            let place = writer.splat(place);
            vec![writer.select(wins, value, best[0]), writer.select(wins, place, best[1])]
        })
    }

    /// A reduced value as an element.
    fn place_or_value(&mut self, op: ReduceOp, value: Value, kind: Kind, to: DType) -> Value {
        if op.gives_places() { self.counted(value, to) } else { self.convert(value, kind, to) }
    }

    /// Columns side by side, each from its first row on.
    fn col_reduce(&mut self, op: ReduceOp, dst: &Tile, src: &Tile) {
        let (from, to, kind) = (self.tile(src), self.tile(dst), self.kind(src));
        let rows = self.extent(src.rows);
        let add = joins(op, kind).map_or(BinaryTileOp::Add, |(combine, _)| combine);
        self.all((Extent::Known(1), src.cols), &[&from, &to], &mut |writer, zero, c| {
            let value = if op.gives_places() {
                writer.place_of(op, kind, src.rows, &mut |writer, r| writer.load(&from, r, c))[1]
            } else {
                let start = writer.neutral(op, kind);
                let sum = writer.each(rows, &[start], &mut |writer, r, sum| {
                    let value = writer.load(&from, r, c);
                    vec![writer.binary(add, kind, sum[0], value)]
                });
                writer.mean(op, sum[0], rows)
            };
            let value = writer.place_or_value(op, value, kind, to.elem);
            writer.store(&to, zero, c, value);
        });
    }

    /// `dst (+)= a · b`: products are added from the first on, then to what is there. Columns of the result lie side by side where those of `b` do.
    fn product(&mut self, dst: &Tile, [a, b]: [&Tile; 2], transpose_b: bool, accumulate: bool) {
        let (left, right, kind) = (self.tile(a), self.tile(b), self.kind(a));
        let inner = self.extent(a.cols);
        let mut grids: Vec<&Grid> = Vec::new();
        let turned = Grid::turned(&right);
        grids.push(if transpose_b { &turned } else { &right });
        let right = grids[0];
        self.apart(dst, &[a.buffer, b.buffer], &mut |writer, to| {
            let old = writer.tile(dst);
            writer.all((dst.rows, dst.cols), &[to, right], &mut |writer, r, c| {
                let zero = writer.zero(kind);
                let sum = writer.each(inner, &[zero], &mut |writer, k, sum| {
                    let lanes = std::mem::replace(&mut writer.lanes, 1);
                    let a = writer.load(&left, r, k);
                    writer.lanes = lanes;
                    let (a, b) = (writer.splat(a), writer.load(right, k, c));
                    let product = writer.binary(BinaryTileOp::Mul, kind, a, b);
                    vec![writer.binary(BinaryTileOp::Add, kind, sum[0], product)]
                });
                let mut value = sum[0];
                if accumulate {
                    let before = writer.load(&old, r, c);
                    value = writer.binary(BinaryTileOp::Add, kind, before, value);
                }
                writer.store(to, r, c, value);
            });
        });
    }
}

/// The operator of a reduction whose order does not count, and its number in `vector.reduction`.
fn joins(op: ReduceOp, kind: Kind) -> Option<(BinaryTileOp, i64)> {
    let is_real = kind == Kind::Real;
    match op {
        ReduceOp::Max => Some((BinaryTileOp::Max, if is_real { 11 } else { 6 })),
        ReduceOp::Min => Some((BinaryTileOp::Min, if is_real { 12 } else { 3 })),
        ReduceOp::Sum if !is_real => Some((BinaryTileOp::Add, 0)),
        _ => None,
    }
}
