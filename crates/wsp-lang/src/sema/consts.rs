//! Arithmetic on constants, exactly as it is done at run time: checked for integers, rounded per operation for floats.

use wsp_core::int::{self, Int as _};
use wsp_ir::{BinOp, Const, Expr, ScalarTy};

/// Why a constant expression has no value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fault {
    /// The result of integer arithmetic is outside its type; none if it is outside 128 bits too.
    Overflow(Option<i128>),
    /// Division or remainder by 0.
    DivisionByZero,
    /// A shift by less than 0 or by the width of the type or more.
    Shift(i128),
    /// The value is outside the type it is converted to.
    Lossy(Const),
}

/// Whether a loop that counts from `start` to `end` has a round, where constants say so.
pub(crate) fn has_round(start: &Expr, end: &Expr) -> Option<bool> {
    start.as_const_int().zip(end.as_const_int()).map(|(start, end)| start < end)
}

fn fit(value: i128, ty: ScalarTy) -> Option<i128> {
    ty.range().filter(|all| all.contains(value)).map(|_| value)
}

/// Rounds to what a variable of type `ty` can hold.
pub(crate) fn round(value: f64, ty: ScalarTy) -> f64 {
    if ty == ScalarTy::F32 { f64::from(value as f32) } else { value }
}

/// Converts a constant to another type. A float loses its fraction on the way to an integer, as in C.
pub(crate) fn cast(value: Const, to: ScalarTy) -> Result<Const, Fault> {
    let result = match (value, to) {
        (Const::Bool(v), ScalarTy::Bool) => Const::Bool(v),
        (Const::Int(v), ScalarTy::Bool) => Const::Bool(v != 0),
        (Const::Float(v), ScalarTy::Bool) => Const::Bool(v != 0.0),
        (Const::Bool(v), ty) if ty.is_float() => Const::Float(f64::from(u8::from(v))),
        (Const::Bool(v), _) => Const::Int(v.into()),
        (Const::Int(v), ScalarTy::F32) => Const::Float(f64::from(v as f32)),
        (Const::Int(v), ScalarTy::F64) => Const::Float(v as f64),
        (Const::Int(v), ty) => Const::Int(fit(v, ty).ok_or(Fault::Lossy(value))?),
        (Const::Float(v), ty) if ty.is_float() => Const::Float(round(v, ty)),
        (Const::Float(v), ty) => {
            let whole = v.is_finite().then(|| fit(v.trunc() as i128, ty)).flatten();
            Const::Int(whole.ok_or(Fault::Lossy(value))?)
        }
    };
    Ok(result)
}

/// The value of `a op b` for operands of type `ty`; `None` when the operator is not defined for them.
pub(crate) fn binary(op: BinOp, a: Const, b: Const, ty: ScalarTy) -> Result<Option<Const>, Fault> {
    match (a, b) {
        (Const::Int(a), Const::Int(b)) => int_binary(op, a, b, ty),
        (Const::Float(a), Const::Float(b)) => Ok(float_binary(op, a, b, ty)),
        (Const::Bool(a), Const::Bool(b)) => Ok(match op {
            BinOp::And => Some(Const::Bool(a && b)),
            BinOp::Or => Some(Const::Bool(a || b)),
            _ => None,
        }),
        _ => Ok(None),
    }
}

fn int_binary(op: BinOp, a: i128, b: i128, ty: ScalarTy) -> Result<Option<Const>, Fault> {
    if op.is_logic() {
        return Ok(None);
    }
    match ty.binary(op, a, b) {
        Ok(value) if op.is_comparison() => Ok(Some(Const::Bool(value != 0))),
        Ok(value) => Ok(Some(Const::Int(value))),
        Err(int::Fault::DivisionByZero) => Err(Fault::DivisionByZero),
        Err(int::Fault::ShiftRange) => Err(Fault::Shift(b)),
        Err(int::Fault::Overflow) => Err(Fault::Overflow(i128::binary(op, a, b).ok())),
    }
}

fn float_binary(op: BinOp, a: f64, b: f64, ty: ScalarTy) -> Option<Const> {
    // Rounding the f64 result of two f32 operands once more gives the f32 result: 53 bits are enough for + - * /.
    let value = match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Lt => return Some(Const::Bool(a < b)),
        BinOp::Le => return Some(Const::Bool(a <= b)),
        BinOp::Gt => return Some(Const::Bool(a > b)),
        BinOp::Ge => return Some(Const::Bool(a >= b)),
        BinOp::Eq => return Some(Const::Bool(a == b)),
        BinOp::Ne => return Some(Const::Bool(a != b)),
        // What becomes of a NaN is for the machine to say.
        _ => return None,
    };
    Some(Const::Float(round(value, ty)))
}

/// A constant as the source would write it.
pub(crate) fn text(value: Const) -> String {
    match value {
        Const::Bool(v) => v.to_string(),
        Const::Int(v) => v.to_string(),
        Const::Float(v) => format!("{v:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_checked_against_their_type() {
        let max = Const::Int(u32::MAX.into());
        assert_eq!(
            binary(BinOp::Add, max, Const::Int(1), ScalarTy::U32),
            Err(Fault::Overflow(Some(1 << 32)))
        );
        assert_eq!(
            binary(BinOp::Sub, Const::Int(0), Const::Int(1), ScalarTy::U32),
            Err(Fault::Overflow(Some(-1)))
        );
        assert_eq!(binary(BinOp::Div, max, Const::Int(0), ScalarTy::U32), Err(Fault::DivisionByZero));
        assert_eq!(binary(BinOp::Shl, max, Const::Int(32), ScalarTy::U32), Err(Fault::Shift(32)));
        assert_eq!(cast(Const::Int(-1), ScalarTy::U32), Err(Fault::Lossy(Const::Int(-1))));
        let wide = Const::Int(u64::MAX.into());
        assert_eq!(binary(BinOp::Mul, wide, wide, ScalarTy::U64), Err(Fault::Overflow(None)));
    }

    #[test]
    fn ceil_div_rounds_up_for_every_sign() {
        for (a, b, expected) in [(7, 2, 4), (8, 2, 4), (-7, 2, -3), (7, -2, -3), (-7, -2, 4), (0, 5, 0)] {
            let got = binary(BinOp::CeilDiv, Const::Int(a), Const::Int(b), ScalarTy::I64);
            assert_eq!(got, Ok(Some(Const::Int(expected))), "{a} / {b}");
        }
    }

    #[test]
    fn single_precision_is_rounded_per_operation() {
        let third = binary(BinOp::Div, Const::Float(1.0), Const::Float(3.0), ScalarTy::F32);
        assert_eq!(third, Ok(Some(Const::Float(f64::from(1.0f32 / 3.0)))));
        assert_eq!(
            cast(Const::Float(f64::INFINITY), ScalarTy::I32),
            Err(Fault::Lossy(Const::Float(f64::INFINITY)))
        );
        assert_eq!(cast(Const::Float(-2.75), ScalarTy::I32), Ok(Const::Int(-2)));
    }
}
