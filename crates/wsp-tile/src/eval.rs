//! One step of evaluation on scalar values, for folding and for running.

use wsp_core::int::Fault;
use wsp_ir::{BinOp, Const, MathFn, ScalarTy, UnOp};

/// Why a step has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// An operator on integers has no result.
    Int(Fault),
    /// A conversion would lose a value.
    Lossy,
    /// Operands of a type that the verifier rules out.
    Type,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Int(fault)
    }
}

/// A float of a type.
fn float(ty: ScalarTy, value: f64) -> Const {
    Const::Float(if ty == ScalarTy::F32 { f64::from(value as f32) } else { value })
}

/// `a op b` on operands of type `ty`.
pub(crate) fn binary(op: BinOp, ty: ScalarTy, a: Const, b: Const) -> Result<Const, Stop> {
    let truth = op.is_comparison() || op.is_logic();
    match (a, b) {
        (Const::Int(a), Const::Int(b)) if !op.is_logic() => {
            let value = ty.binary(op, a, b)?;
            Ok(if truth { Const::Bool(value != 0) } else { Const::Int(value) })
        }
        (Const::Bool(a), Const::Bool(b)) => Ok(Const::Bool(match op {
            BinOp::Eq => a == b,
            BinOp::Ne | BinOp::BitXor => a != b,
            BinOp::And | BinOp::BitAnd | BinOp::Min => a & b,
            BinOp::Or | BinOp::BitOr | BinOp::Max => a | b,
            BinOp::Lt => !a & b,
            BinOp::Le => a <= b,
            BinOp::Gt => a & !b,
            BinOp::Ge => a >= b,
            _ => return Err(Stop::Type),
        })),
        (Const::Float(a), Const::Float(b)) => floats(op, ty, a, b),
        _ => Err(Stop::Type),
    }
}

fn floats(op: BinOp, ty: ScalarTy, a: f64, b: f64) -> Result<Const, Stop> {
    // Each of these operators on two `f32` is the one of `f64` rounded once more: a double has more than twice the digits.
    let value = match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::CeilDiv if ty == ScalarTy::F32 => f64::from((a as f32 / b as f32).ceil()),
        BinOp::CeilDiv => (a / b).ceil(),
        BinOp::Min if b < a || b.is_nan() => b,
        BinOp::Max if b > a || b.is_nan() => b,
        BinOp::Min | BinOp::Max => a,
        BinOp::Lt => return Ok(Const::Bool(a < b)),
        BinOp::Le => return Ok(Const::Bool(a <= b)),
        BinOp::Gt => return Ok(Const::Bool(a > b)),
        BinOp::Ge => return Ok(Const::Bool(a >= b)),
        BinOp::Eq => return Ok(Const::Bool(a == b)),
        BinOp::Ne => return Ok(Const::Bool(a != b)),
        _ => return Err(Stop::Type),
    };
    Ok(float(ty, value))
}

/// `op a` on an operand of type `ty`.
pub(crate) fn unary(op: UnOp, ty: ScalarTy, a: Const) -> Result<Const, Stop> {
    match (op, a) {
        (UnOp::Not, Const::Bool(a)) => Ok(Const::Bool(!a)),
        (UnOp::Neg, Const::Float(a)) => Ok(Const::Float(-a)),
        (UnOp::Neg, Const::Int(a)) => Ok(Const::Int(ty.binary(BinOp::Sub, 0, a)?)),
        _ => Err(Stop::Type),
    }
}

/// A function of one float of type `ty`.
pub(crate) fn math(f: MathFn, ty: ScalarTy, a: Const) -> Result<Const, Stop> {
    let Const::Float(x) = a else { return Err(Stop::Type) };
    macro_rules! of {
        ($x:expr) => {
            match f {
                MathFn::Exp => $x.exp(),
                MathFn::Exp2 => $x.exp2(),
                MathFn::Log => $x.ln(),
                MathFn::Log2 => $x.log2(),
                MathFn::Sqrt => $x.sqrt(),
                MathFn::Abs => $x.abs(),
                MathFn::Sin => $x.sin(),
                MathFn::Cos => $x.cos(),
            }
        };
    }
    Ok(Const::Float(if ty == ScalarTy::F32 { f64::from(of!((x as f32))) } else { of!(x) }))
}

/// A conversion: integers must fit, floats lose their fraction and must then fit.
pub(crate) fn cast(to: ScalarTy, a: Const) -> Result<Const, Stop> {
    let whole = |value: i128| match to.range() {
        Some(all) if all.contains(value) => Ok(Const::Int(value)),
        _ => Err(Stop::Lossy),
    };
    match (to, a) {
        (ScalarTy::Bool, Const::Bool(_)) => Ok(a),
        (ScalarTy::Bool, Const::Int(i)) => Ok(Const::Bool(i != 0)),
        (ScalarTy::Bool, Const::Float(x)) => Ok(Const::Bool(x != 0.0)),
        // An integer is rounded once.
        (ScalarTy::F32, Const::Int(i)) => Ok(Const::Float(f64::from(i as f32))),
        (ScalarTy::F64, Const::Int(i)) => Ok(Const::Float(i as f64)),
        (ScalarTy::F32 | ScalarTy::F64, Const::Float(x)) => Ok(float(to, x)),
        (ScalarTy::F32 | ScalarTy::F64, Const::Bool(b)) => Ok(Const::Float(f64::from(u8::from(b)))),
        (_, Const::Int(i)) => whole(i),
        (_, Const::Bool(b)) => whole(i128::from(b)),
        (_, Const::Float(x)) if x.abs() < 1e30 => whole(x.trunc() as i128),
        (_, Const::Float(_)) => Err(Stop::Lossy),
    }
}
