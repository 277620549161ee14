//! Functions of real numbers, from those that the dialect `math` has for cores.

use super::Reason;
use super::elements::{EQUAL, LESS};
use super::writer::{Kind, Writer};
use crate::mlir::{Type, Value};
use wsp_ir::{BinaryTileOp, UnaryTileOp};

/// Above this size every `f32` is whole.
const WHOLE: f64 = 8_388_608.0;

impl Writer<'_> {
    /// A function of one real number.
    pub(super) fn function(&mut self, op: UnaryTileOp, x: Value) -> Value {
        match op {
            UnaryTileOp::Exp => self.same("math.exp", &[x]),
            UnaryTileOp::Sqrt => self.same("math.sqrt", &[x]),
            UnaryTileOp::Rsqrt => self.same("math.rsqrt", &[x]),
            UnaryTileOp::Tanh => self.same("math.tanh", &[x]),
            UnaryTileOp::Recip => self.one_by(x),
            UnaryTileOp::Exp2 => self.exp2(x),
            UnaryTileOp::Round => self.nearest(x),
            UnaryTileOp::Floor => self.floor(x),
            UnaryTileOp::Ceil => {
                let minus = self.same("arith.negf", &[x]);
                let floor = self.floor(minus);
                self.same("arith.negf", &[floor])
            }
            UnaryTileOp::Sigmoid => {
                let minus = self.same("arith.negf", &[x]);
                self.logistic(minus)
            }
            UnaryTileOp::Silu => {
                let size = self.same("math.absf", &[x]);
                let below = self.logistic(size);
                self.gated(x, below)
            }
            UnaryTileOp::GeluTanh => {
                let size = self.same("math.absf", &[x]);
                let (cubic, linear) = (self.real(0.071_354_816_3), self.real(1.595_769_121_6));
                let square = self.same("arith.mulf", &[size, size]);
                let factor = self.same("arith.mulf", &[square, cubic]);
                let factor = self.same("arith.addf", &[factor, linear]);
                let exponent = self.same("arith.mulf", &[size, factor]);
                let below = self.logistic(exponent);
                self.gated(x, below)
            }
            _ => {
                self.refuse(Reason::Function, format!("`{}`", op.word()));
                x
            }
        }
    }

    fn one_by(&mut self, x: Value) -> Value {
        let one = self.real(1.0);
        self.same("arith.divf", &[one, x])
    }

    /// `1 / (1 + eˣ)`
    fn logistic(&mut self, x: Value) -> Value {
        let (power, one) = (self.same("math.exp", &[x]), self.real(1.0));
        let sum = self.same("arith.addf", &[one, power]);
        self.one_by(sum)
    }

    /// `max(x, 0) - |x| · below`, and 0 of -∞.
    fn gated(&mut self, x: Value, below: Value) -> Value {
        let zero = self.real(0.0);
        let positive = self.binary(BinaryTileOp::Max, Kind::Real, x, zero);
        let size = self.same("math.absf", &[x]);
        let part = self.same("arith.mulf", &[size, below]);
        let rest = self.same("arith.subf", &[positive, part]);
        let none = self.compare(EQUAL, Kind::Real, below, zero);
        self.select(none, positive, rest)
    }

    /// `2ⁿ · e^(f · ln 2)`, where `n` is the whole number next to `x`, in two factors, since one would go beyond the range.
    fn exp2(&mut self, x: Value) -> Value {
        let (low, high) = (self.real(-160.0), self.real(160.0));
        let x = self.binary(BinaryTileOp::Max, Kind::Real, x, low);
        let x = self.binary(BinaryTileOp::Min, Kind::Real, x, high);
        let whole = self.nearest(x);
        let rest = self.same("arith.subf", &[x, whole]);
        let ln2 = self.real(std::f64::consts::LN_2);
        let rest = self.same("arith.mulf", &[rest, ln2]);
        let power = self.same("math.exp", &[rest]);
        let bits = self.ty(Type::Int(32));
        let whole = self.op("arith.fptosi", &[whole], bits);
        let one = self.int(1, 32);
        let half = self.same("arith.shrsi", &[whole, one]);
        let other = self.same("arith.subi", &[whole, half]);
        [half, other].into_iter().fold(power, |power, part| {
            let factor = self.power_of_two(part);
            self.same("arith.mulf", &[power, factor])
        })
    }

    fn power_of_two(&mut self, n: Value) -> Value {
        let (bias, place) = (self.int(127, 32), self.int(23, 32));
        let exponent = self.same("arith.addi", &[n, bias]);
        let bits = self.same("arith.shli", &[exponent, place]);
        let real = self.ty(Type::F32);
        self.op("arith.bitcast", &[bits], real)
    }

    /// The nearest whole number, of two the even one: a sum with a number so large that it has no fraction. A zero has the sign of the number.
    fn nearest(&mut self, x: Value) -> Value {
        let (size, most) = (self.same("math.absf", &[x]), self.real(WHOLE));
        let sum = self.same("arith.addf", &[size, most]);
        let whole = self.same("arith.subf", &[sum, most]);
        let word = self.ty(Type::Int(32));
        let (bits, zero) = (self.op("arith.bitcast", &[x], word), self.int(0, 32));
        let below = self.compare(LESS, Kind::Int(32), bits, zero);
        let minus = self.same("arith.negf", &[whole]);
        let whole = self.select(below, minus, whole);
        let has_fraction = self.compare(LESS, Kind::Real, size, most);
        self.select(has_fraction, whole, x)
    }

    /// The nearest whole number, or the one below it where it is above the number.
    fn floor(&mut self, x: Value) -> Value {
        let (whole, one) = (self.nearest(x), self.real(1.0));
        let next = self.same("arith.subf", &[whole, one]);
        let is_above = self.compare(LESS, Kind::Real, x, whole);
        self.select(is_above, next, whole)
    }
}
