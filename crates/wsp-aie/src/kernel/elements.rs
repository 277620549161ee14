//! Element by element.

use super::grids::Grid;
use super::writer::{Kind, Writer};
use super::{Reason, type_of};
use crate::mlir::{Attr, Op, Type, Value};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Expr, Operand, TileOp, UnaryTileOp};
use wsp_tile::{BufferId, Tile};

/// The numbers of comparisons, of real numbers and of integers.
pub(super) const LESS: [i64; 2] = [4, 2];
pub(super) const GREATER: [i64; 2] = [2, 4];
pub(super) const EQUAL: [i64; 2] = [1, 0];
const UNEQUAL: [i64; 2] = [13, 1];
const AT_MOST: [i64; 2] = [5, 3];
const AT_LEAST: [i64; 2] = [3, 5];
/// One of the two is no number.
const UNORDERED: i64 = 14;

/// A second operand, as it is read.
enum Right {
    Grid(Grid),
    Column(Grid),
    Row(Grid),
    Scalar(Value),
}

impl Writer<'_> {
    pub(super) fn kind(&self, tile: &Tile) -> Kind {
        Kind::of(self.program.buffer(tile.buffer).elem)
    }

    /// An operation on tiles that moves nothing.
    pub(super) fn elementwise(&mut self, op: &TileOp<Tile>) {
        match op {
            TileOp::Fill { dst, value, .. } => {
                let kind = self.kind(dst);
                let (to, value) = (self.tile(dst), self.number(value, kind));
                self.all((dst.rows, dst.cols), &[&to], &mut |writer, r, c| {
                    let value = writer.splat(value);
                    writer.store(&to, r, c, value);
                });
            }
            TileOp::Unary { op, dst, src } => {
                let (from, to, kind) = (self.tile(src), self.tile(dst), self.kind(src));
                self.all((dst.rows, dst.cols), &[&from, &to], &mut |writer, r, c| {
                    let value = writer.load(&from, r, c);
                    let value = writer.unary(*op, kind, value);
                    let value = writer.convert(value, kind, to.elem);
                    writer.store(&to, r, c, value);
                });
            }
            TileOp::Binary { op, dst, a, b } => {
                let kind = self.kind(a);
                let (left, right) = (self.tile(a), self.right(b, kind));
                self.filled(dst, &right_of(b), &[&left], &right, &mut |writer, to, r, c, right| {
                    let a = writer.load(&left, r, c);
                    let value = writer.binary(*op, kind, a, right);
                    let value = match op.compares() {
                        true => writer.truth(value, to.elem),
                        false => writer.convert(value, kind, to.elem),
                    };
                    writer.store(to, r, c, value);
                });
            }
            _ => self.picked(op),
        }
    }

    /// Between bounds, or from one of two.
    fn picked(&mut self, op: &TileOp<Tile>) {
        match op {
            TileOp::Clamp { dst, src, low, high } => {
                let kind = self.kind(src);
                let (from, to) = (self.tile(src), self.tile(dst));
                let [low, high] = [low, high].map(|bound| self.number(bound, kind));
                self.all((dst.rows, dst.cols), &[&from, &to], &mut |writer, r, c| {
                    let (value, low, high) =
                        (writer.load(&from, r, c), writer.splat(low), writer.splat(high));
                    let value = writer.binary(BinaryTileOp::Max, kind, value, low);
                    let value = writer.binary(BinaryTileOp::Min, kind, value, high);
                    let value = writer.convert(value, kind, to.elem);
                    writer.store(&to, r, c, value);
                });
            }
            TileOp::Select { dst, mask, a, b } => {
                let (kind, mask_kind) = (self.kind(a), self.kind(mask));
                let (test, left, right) = (self.tile(mask), self.tile(a), self.right(b, kind));
                self.filled(dst, &right_of(b), &[&test, &left], &right, &mut |writer, to, r, c, right| {
                    let (mask, a) = (writer.load(&test, r, c), writer.load(&left, r, c));
                    let zero = writer.zero(mask_kind);
                    let holds = writer.compare(UNEQUAL, mask_kind, mask, zero);
                    let value = writer.select(holds, a, right);
                    let value = writer.convert(value, kind, to.elem);
                    writer.store(to, r, c, value);
                });
            }
            _ => self.placed(op),
        }
    }

    /// What follows from rows and columns.
    fn placed(&mut self, op: &TileOp<Tile>) {
        match op {
            TileOp::Mask { tile, rows, cols, value } => {
                let rows = rows.as_ref().map(|rows| self.scalar(rows));
                let cols = cols.as_ref().map(|cols| self.scalar(cols));
                self.masked(tile, value, &mut |writer, row, column| {
                    let past = |writer: &mut Self, at: Value, limit: Option<Value>| {
                        let limit = limit?;
                        let limit = writer.splat(limit);
                        Some(writer.compare([3, 9], Kind::Int(32), at, limit))
                    };
                    let (by_row, by_col) = (past(writer, row, rows), past(writer, column, cols));
                    match (by_row, by_col) {
                        (Some(a), Some(b)) => writer.same("arith.ori", &[a, b]),
                        (Some(one), None) | (None, Some(one)) => one,
                        (None, None) => writer.int(0, 1),
                    }
                });
            }
            TileOp::MaskCausal { tile, cols, value } => {
                let first = self.scalar(cols);
                self.masked(tile, value, &mut |writer, row, column| {
                    let first = writer.splat(first);
                    let end = writer.same("arith.addi", &[first, row]);
                    writer.compare(AT_LEAST, Kind::Int(32), column, end)
                });
            }
            TileOp::MaskBand { tile, begin, end, group, value } => {
                let [begin, end, group] = [begin, end, group].map(|e| self.scalar(e));
                let one = self.int(1, 32);
                let group = self.same("arith.maxui", &[group, one]);
                self.masked(tile, value, &mut |writer, row, column| {
                    let [begin, end, group] = [begin, end, group].map(|value| writer.splat(value));
                    let shift = writer.same("arith.divui", &[row, group]);
                    let column = writer.same("arith.subi", &[column, shift]);
                    let before = writer.compare(LESS, Kind::Int(32), column, begin);
                    let after = writer.compare(AT_LEAST, Kind::Int(32), column, end);
                    writer.same("arith.ori", &[before, after])
                });
            }
            TileOp::Iota { dst, start, .. } => {
                let (to, start) = (self.tile(dst), self.scalar(start));
                self.all((dst.rows, dst.cols), &[&to], &mut |writer, r, c| {
                    let (column, start) = (writer.column(c), writer.splat(start));
                    let value = writer.same("arith.addi", &[start, column]);
                    let value = writer.counted(value, to.elem);
                    writer.store(&to, r, c, value);
                });
            }
            _ => self.moved(op),
        }
    }

    /// Elements for which a test of their row and column holds become a value.
    fn masked(&mut self, tile: &Tile, value: &Expr, test: &mut dyn FnMut(&mut Self, Value, Value) -> Value) {
        let kind = self.kind(tile);
        let (grid, value) = (self.tile(tile), self.number(value, kind));
        self.all((tile.rows, tile.cols), &[&grid], &mut |writer, r, c| {
            let row = writer.whole(r);
            let (row, column) = (writer.splat(row), writer.column(c));
            let holds = test(writer, row, column);
            let (have, value) = (writer.load(&grid, r, c), writer.splat(value));
            let value = writer.select(holds, value, have);
            writer.store(&grid, r, c, value);
        });
    }

    /// The columns of the lanes, `i32`.
    pub(super) fn column(&mut self, c: Value) -> Value {
        let first = self.whole(c);
        if self.lanes == 1 {
            return first;
        }
        let (first, ramp) = (self.splat(first), self.ramp());
        self.same("arith.addi", &[first, ramp])
    }

    /// Each element of a result from those of other tiles. Where one that is not read element by element is the result itself, it goes by other memory.
    fn filled(
        &mut self,
        dst: &Tile,
        apart: &[BufferId],
        grids: &[&Grid],
        right: &Right,
        body: &mut dyn FnMut(&mut Self, &Grid, Value, Value, Value),
    ) {
        self.apart(dst, apart, &mut |writer, to| {
            let mut all = vec![to];
            all.extend(grids);
            if let Right::Grid(grid) | Right::Row(grid) = right {
                all.push(grid);
            }
            writer.all((dst.rows, dst.cols), &all, &mut |writer, r, c| {
                let right = writer.element(right, r, c);
                body(writer, to, r, c, right);
            });
        });
    }

    /// Writes a tile, by way of other memory where the operation still reads it.
    pub(super) fn apart(&mut self, dst: &Tile, read: &[BufferId], body: &mut dyn FnMut(&mut Self, &Grid)) {
        let to = self.tile(dst);
        if !read.contains(&dst.buffer) {
            return body(self, &to);
        }
        let held = self.scratch(dst);
        body(self, &held);
        self.all((dst.rows, dst.cols), &[&held, &to], &mut |writer, r, c| {
            let value = writer.load(&held, r, c);
            writer.store(&to, r, c, value);
        });
    }

    fn right(&mut self, b: &Operand<Tile, Expr>, kind: Kind) -> Right {
        match b {
            Operand::Tile(tile) => Right::Grid(self.tile(tile)),
            Operand::Column(tile) => Right::Column(self.tile(tile)),
            Operand::Row(tile) => Right::Row(self.tile(tile)),
            Operand::Scalar(value) => Right::Scalar(self.number(value, kind)),
        }
    }

    fn element(&mut self, right: &Right, r: Value, c: Value) -> Value {
        let zero = self.index(0);
        match right {
            Right::Grid(grid) => self.load(grid, r, c),
            Right::Row(grid) => self.load(grid, zero, c),
            Right::Column(grid) => {
                let lanes = std::mem::replace(&mut self.lanes, 1);
                let value = self.load(grid, r, zero);
                self.lanes = lanes;
                self.splat(value)
            }
            Right::Scalar(value) => self.splat(*value),
        }
    }

    pub(super) fn zero(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Real => self.real(0.0),
            Kind::Int(bits) => self.int(0, bits),
        }
    }

    /// A comparison, by its numbers for real numbers and for integers.
    pub(super) fn compare(&mut self, numbers: [i64; 2], kind: Kind, a: Value, b: Value) -> Value {
        let (name, number) = match kind {
            Kind::Real => ("arith.cmpf", numbers[0]),
            Kind::Int(_) => ("arith.cmpi", numbers[1]),
        };
        let ty = self.ty(Type::Int(1));
        self.with(Op::new(name).with([a, b]).attr("predicate", Attr::Int(number, Type::Int(64))), ty)
    }

    pub(super) fn is_no_number(&mut self, x: Value) -> Value {
        self.compare([UNORDERED, 0], Kind::Real, x, x)
    }

    pub(super) fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.text.ty(a).clone();
        self.op("arith.select", &[condition, a, b], ty)
    }

    fn unary(&mut self, op: UnaryTileOp, kind: Kind, x: Value) -> Value {
        match (op, kind) {
            (UnaryTileOp::Copy, _) => x,
            (UnaryTileOp::Neg, Kind::Real) => self.same("arith.negf", &[x]),
            (UnaryTileOp::Neg, _) => {
                let zero = self.zero(kind);
                self.same("arith.subi", &[zero, x])
            }
            (UnaryTileOp::Abs, Kind::Real) => self.same("math.absf", &[x]),
            (UnaryTileOp::Abs, _) => {
                let zero = self.zero(kind);
                let minus = self.same("arith.subi", &[zero, x]);
                self.same("arith.maxsi", &[x, minus])
            }
            (UnaryTileOp::Relu, _) => {
                let zero = self.zero(kind);
                self.binary(BinaryTileOp::Max, kind, x, zero)
            }
            _ => self.function(op, x),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryTileOp, kind: Kind, a: Value, b: Value) -> Value {
        let is_real = kind == Kind::Real;
        let name = match op {
            BinaryTileOp::Add => ["arith.addf", "arith.addi"],
            BinaryTileOp::Sub => ["arith.subf", "arith.subi"],
            BinaryTileOp::Mul => ["arith.mulf", "arith.muli"],
            BinaryTileOp::Div if !is_real => return self.quotient(kind, a, b),
            BinaryTileOp::Div => ["arith.divf", ""],
            BinaryTileOp::Max => ["arith.maximumf", "arith.maxsi"],
            BinaryTileOp::Min => ["arith.minimumf", "arith.minsi"],
            BinaryTileOp::Eq => return self.compare(EQUAL, kind, a, b),
            BinaryTileOp::Ne => return self.compare(UNEQUAL, kind, a, b),
            BinaryTileOp::Lt => return self.compare(LESS, kind, a, b),
            BinaryTileOp::Le => return self.compare(AT_MOST, kind, a, b),
            BinaryTileOp::Gt => return self.compare(GREATER, kind, a, b),
            BinaryTileOp::Ge => return self.compare(AT_LEAST, kind, a, b),
        };
        self.same(name[usize::from(!is_real)], &[a, b])
    }

    /// A quotient that wraps: of the least integer and -1 a division has no result.
    fn quotient(&mut self, kind: Kind, a: Value, b: Value) -> Value {
        let Kind::Int(bits) = kind else { return a };
        let (zero, one, minus) = (self.int(0, bits), self.int(1, bits), self.int(-1, bits));
        let by_minus = self.compare(EQUAL, kind, b, minus);
        let divisor = self.select(by_minus, one, b);
        let (quotient, negative) =
            (self.same("arith.divsi", &[a, divisor]), self.same("arith.subi", &[zero, a]));
        self.select(by_minus, negative, quotient)
    }

    /// Truth values as elements: 1 and 0.
    fn truth(&mut self, holds: Value, to: DType) -> Value {
        let [one, zero] = match Kind::of(to) {
            Kind::Real => [1.0, 0.0].map(|x| self.real(x)),
            Kind::Int(bits) => [1, 0].map(|n| self.int(n, bits)),
        };
        self.select(holds, one, zero)
    }

    /// Values of a kind as those of another element type. An integer is rounded once.
    pub(super) fn convert(&mut self, value: Value, from: Kind, to: DType) -> Value {
        let ty = self.ty(Kind::of(to).scalar());
        match (from, Kind::of(to)) {
            (Kind::Real, Kind::Real) => value,
            (Kind::Real, Kind::Int(_)) => self.op("arith.fptosi", &[value], ty),
            (Kind::Int(32), Kind::Real) if to == DType::Bf16 => self.rounded(value),
            (Kind::Int(_), Kind::Real) => self.op("arith.sitofp", &[value], ty),
            (Kind::Int(a), Kind::Int(b)) if a == b => value,
            (Kind::Int(a), Kind::Int(b)) => {
                self.op(if a < b { "arith.extsi" } else { "arith.trunci" }, &[value], ty)
            }
        }
    }

    /// A whole number of 32 bits as an element: rounded to `f32` first.
    pub(super) fn counted(&mut self, value: Value, to: DType) -> Value {
        let through = if to == DType::Bf16 { DType::F32 } else { to };
        self.convert(value, Kind::Int(32), through)
    }

    /// An integer of 32 bits as an `f32` that is rounded to `bf16` as the integer would be: of what does not fit 24 bits, a last bit says whether any is
    /// left (rounding to odd).
    fn rounded(&mut self, value: Value) -> Value {
        let real = self.ty(Type::F32);
        let (eight, mask, zero) = (self.int(8, 32), self.int(255, 32), self.int(0, 32));
        let high = self.same("arith.shrsi", &[value, eight]);
        let low = self.same("arith.andi", &[value, mask]);
        let is_left = self.compare(UNEQUAL, Kind::Int(32), low, zero);
        let whole = self.ty(Type::Int(32));
        let last = self.op("arith.extui", &[is_left], whole);
        let odd = self.same("arith.ori", &[high, last]);
        let odd = self.op("arith.sitofp", &[odd], real.clone());
        let factor = self.real(256.0);
        let large = self.same("arith.mulf", &[odd, factor]);
        let small = self.op("arith.sitofp", &[value], real);
        // Below 2²⁴ in size nothing is lost.
        let (size, limit) = (self.same("math.absf", &[small]), self.real(16_777_216.0));
        let is_small = self.compare(LESS, Kind::Real, size, limit);
        self.select(is_small, small, large)
    }

    /// A number that meets the elements of a tile.
    pub(super) fn number(&mut self, e: &Expr, kind: Kind) -> Value {
        let value = self.scalar(e);
        let (from, to) = (self.text.ty(value).clone(), kind.scalar());
        match (from, kind) {
            (from, _) if from == to => value,
            (Type::Int(bits), Kind::Int(to)) => {
                let name = if bits < to { "arith.extsi" } else { "arith.trunci" };
                self.op(name, &[value], Type::Int(to))
            }
            (Type::Int(_), Kind::Real) => self.op("arith.sitofp", &[value], Type::F32),
            (_, Kind::Int(_)) => self.op("arith.fptosi", &[value], to),
            _ => {
                self.refuse(Reason::Elements, "a number that meets a tile");
                value
            }
        }
    }

    /// Values of the elements of a transfer as those of what they go to.
    pub(super) fn moved_as(&mut self, value: Value, from: DType, to: DType) -> Value {
        if type_of(from).is_none() || type_of(to).is_none() || Kind::of(from) != Kind::of(to) {
            self.refuse(Reason::Elements, "a transfer between elements of these types");
        }
        value
    }
}

fn right_of(b: &Operand<Tile, Expr>) -> Vec<BufferId> {
    match b {
        Operand::Column(tile) | Operand::Row(tile) => vec![tile.buffer],
        Operand::Tile(_) | Operand::Scalar(_) => Vec::new(),
    }
}
