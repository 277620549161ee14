//! What every scalar operator does, on values in slot form.
//!
//! Folding at compile time, the slow path of the interpreter and the words of traps all come from here.

use super::trap::{DIVISION_BY_ZERO, LOSSY_CONVERSION, OVERFLOW, SHIFT_RANGE};
use crate::{Trap, Value};
use wsp_core::int::{self, Int as _};
use wsp_diag::Span;
use wsp_ir::{BinOp, MathFn, ScalarTy, UnOp};

/// Why an operator has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Overflow,
    DivisionByZero,
    ShiftRange,
    Lossy,
    /// Operand types that the verifier rules out.
    Type,
}

pub(crate) type OpResult = Result<u64, Fault>;

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn bits32(value: f32) -> u64 {
    u64::from(value.to_bits())
}

/// An integer operator of one machine type; `$wide` turns a value into slot form.
macro_rules! int_binary {
    ($ty:ty, $wide:ty, $op:expr, $a:expr, $b:expr) => {
        if $op.is_logic() {
            Err(Fault::Type)
        } else {
            Ok(<$ty>::binary($op, $a as $ty, $b as $ty)? as $wide as u64)
        }
    };
}

impl From<int::Fault> for Fault {
    fn from(fault: int::Fault) -> Fault {
        match fault {
            int::Fault::Overflow => Fault::Overflow,
            int::Fault::DivisionByZero => Fault::DivisionByZero,
            int::Fault::ShiftRange => Fault::ShiftRange,
        }
    }
}

/// Float operators; `$pack` turns a value into slot form.
macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr, $pack:expr) => {{
        let (a, b) = ($a, $b);
        let value = match $op {
            BinOp::Add => a + b,
            BinOp::Sub => a - b,
            BinOp::Mul => a * b,
            BinOp::Div => a / b,
            BinOp::Rem => a % b,
            BinOp::CeilDiv => (a / b).ceil(),
            // NaN as soon as one operand is, as in tiles; of two equal zeros the first.
            BinOp::Min if b < a || b.is_nan() => b,
            BinOp::Max if b > a || b.is_nan() => b,
            BinOp::Min | BinOp::Max => a,
            BinOp::Lt => return Ok(u64::from(a < b)),
            BinOp::Le => return Ok(u64::from(a <= b)),
            BinOp::Gt => return Ok(u64::from(a > b)),
            BinOp::Ge => return Ok(u64::from(a >= b)),
            BinOp::Eq => return Ok(u64::from(a == b)),
            BinOp::Ne => return Ok(u64::from(a != b)),
            BinOp::And
            | BinOp::Or
            | BinOp::BitAnd
            | BinOp::BitOr
            | BinOp::BitXor
            | BinOp::Shl
            | BinOp::Shr => {
                return Err(Fault::Type);
            }
        };
        Ok($pack(value))
    }};
}

/// `a op b` for operands of type `ty`.
pub(crate) fn binary(op: BinOp, ty: ScalarTy, a: u64, b: u64) -> OpResult {
    match ty {
        ScalarTy::I32 => int_binary!(i32, i64, op, a, b),
        ScalarTy::U32 => int_binary!(u32, u64, op, a, b),
        ScalarTy::I64 => int_binary!(i64, i64, op, a, b),
        ScalarTy::U64 => int_binary!(u64, u64, op, a, b),
        ScalarTy::F32 => float_binary!(op, f32_of(a), f32_of(b), bits32),
        ScalarTy::F64 => float_binary!(op, f64_of(a), f64_of(b), f64::to_bits),
        ScalarTy::Bool => match op {
            BinOp::Eq => Ok(u64::from(a == b)),
            BinOp::Ne | BinOp::BitXor => Ok(u64::from(a != b)),
            BinOp::And | BinOp::BitAnd | BinOp::Min => Ok(a & b),
            BinOp::Or | BinOp::BitOr | BinOp::Max => Ok(a | b),
            BinOp::Lt => Ok(u64::from(a < b)),
            BinOp::Le => Ok(u64::from(a <= b)),
            BinOp::Gt => Ok(u64::from(a > b)),
            BinOp::Ge => Ok(u64::from(a >= b)),
            _ => Err(Fault::Type),
        },
    }
}

/// `op a` for an operand of type `ty`.
pub(crate) fn unary(op: UnOp, ty: ScalarTy, a: u64) -> OpResult {
    match (op, ty) {
        (UnOp::Not, ScalarTy::Bool) => Ok(a ^ 1),
        (UnOp::Neg, ScalarTy::F32) => Ok(bits32(-f32_of(a))),
        (UnOp::Neg, ScalarTy::F64) => Ok((-f64_of(a)).to_bits()),
        (UnOp::Neg, ScalarTy::I32 | ScalarTy::U32 | ScalarTy::I64 | ScalarTy::U64) => {
            binary(BinOp::Sub, ty, 0, a)
        }
        _ => Err(Fault::Type),
    }
}

/// A function of one float of type `ty`.
pub(crate) fn math(f: MathFn, ty: ScalarTy, a: u64) -> OpResult {
    match ty {
        ScalarTy::F32 => {
            let x = f32_of(a);
            Ok(bits32(match f {
                MathFn::Exp => x.exp(),
                MathFn::Exp2 => x.exp2(),
                MathFn::Log => x.ln(),
                MathFn::Log2 => x.log2(),
                MathFn::Sqrt => x.sqrt(),
                MathFn::Abs => x.abs(),
                MathFn::Sin => x.sin(),
                MathFn::Cos => x.cos(),
            }))
        }
        ScalarTy::F64 => {
            let x = f64_of(a);
            Ok((match f {
                MathFn::Exp => x.exp(),
                MathFn::Exp2 => x.exp2(),
                MathFn::Log => x.ln(),
                MathFn::Log2 => x.log2(),
                MathFn::Sqrt => x.sqrt(),
                MathFn::Abs => x.abs(),
                MathFn::Sin => x.sin(),
                MathFn::Cos => x.cos(),
            })
            .to_bits())
        }
        _ => Err(Fault::Type),
    }
}

/// A conversion. Integers must fit; floats are truncated towards zero and must then fit; to a float, or between floats,
/// the value is rounded.
pub(crate) fn cast(from: ScalarTy, to: ScalarTy, a: u64) -> OpResult {
    if from == to {
        return Ok(a);
    }
    let value = Value::from_bits(from, a);
    match to {
        ScalarTy::Bool => Ok(u64::from(match value.as_int() {
            Some(v) => v != 0,
            None => value.as_f64() != 0.0,
        })),
        // An integer is rounded once: going through f64 would round twice.
        ScalarTy::F32 => Ok(bits32(match value {
            Value::I64(v) => v as f32,
            Value::U64(v) => v as f32,
            other => other.as_f64() as f32,
        })),
        ScalarTy::F64 => Ok(value.as_f64().to_bits()),
        ScalarTy::I32 | ScalarTy::U32 | ScalarTy::I64 | ScalarTy::U64 => {
            let int = match value.as_int() {
                Some(v) => v,
                None => truncated(value.as_f64()).ok_or(Fault::Lossy)?,
            };
            Value::from_int(to, int).map(Value::to_bits).ok_or(Fault::Lossy)
        }
    }
}

/// A float without its fraction; `None` for NaN and whatever no integer type holds.
fn truncated(value: f64) -> Option<i128> {
    (value.abs() < 1e30).then(|| value.trunc() as i128)
}

/// The sign of an operator as `.pto` source writes it.
pub(crate) fn symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Min => "PTO_MIN",
        BinOp::Max => "PTO_MAX",
        BinOp::CeilDiv => "PTO_CEIL_DIV",
        _ => op.sign(),
    }
}

/// The trap of `a op b`.
#[cold]
pub(crate) fn binary_trap(op: BinOp, ty: ScalarTy, a: u64, b: u64, fault: Fault, span: Span) -> Trap {
    let (a, b) = (Value::from_bits(ty, a), Value::from_bits(ty, b));
    let text = match op {
        BinOp::Min | BinOp::Max | BinOp::CeilDiv => format!("{}({a}, {b})", symbol(op)),
        _ => format!("{a} {} {b}", symbol(op)),
    };
    let ty = ty.c_name();
    match fault {
        Fault::Overflow | Fault::Lossy => {
            Trap::new(OVERFLOW, format!("arithmetic overflow: {text} does not fit `{ty}`"), span)
        }
        Fault::DivisionByZero => Trap::new(DIVISION_BY_ZERO, format!("division by zero: {text}"), span),
        Fault::ShiftRange => Trap::new(SHIFT_RANGE, format!("shift out of range: {text} on `{ty}`"), span)
            .note(format!("the amount must be at least 0 and below {}", bit_width(ty))),
        Fault::Type => Trap::internal(format!("`{}` on `{ty}`", symbol(op)), span),
    }
}

fn bit_width(c_name: &str) -> u32 {
    if c_name.contains("64") { 64 } else { 32 }
}

/// The trap of a unary operator.
#[cold]
pub(crate) fn unary_trap(op: UnOp, ty: ScalarTy, a: u64, fault: Fault, span: Span) -> Trap {
    let value = Value::from_bits(ty, a);
    match fault {
        Fault::Type => Trap::internal(format!("{op:?} on `{}`", ty.c_name()), span),
        _ => Trap::new(
            OVERFLOW,
            format!("arithmetic overflow: -({value}) does not fit `{}`", ty.c_name()),
            span,
        ),
    }
}

/// The trap of a conversion.
#[cold]
pub(crate) fn cast_trap(from: ScalarTy, to: ScalarTy, a: u64, span: Span) -> Trap {
    let value = Value::from_bits(from, a);
    let (from, to) = (from.c_name(), to.c_name());
    Trap::new(
        LOSSY_CONVERSION,
        format!("lossy conversion: {value} of type `{from}` does not fit `{to}`"),
        span,
    )
}
