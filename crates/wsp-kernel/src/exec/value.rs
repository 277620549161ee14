//! Scalar values and their 64-bit form in the slots of a running function.

use core::fmt;
use wsp_ir::{Const, ScalarTy};

/// A scalar value with its type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// `int32_t`.
    I32(i32),
    /// `uint32_t`.
    U32(u32),
    /// `int64_t`.
    I64(i64),
    /// `uint64_t`.
    U64(u64),
    /// `float`.
    F32(f32),
    /// `double`.
    F64(f64),
}

impl Value {
    /// Its type.
    pub fn ty(self) -> ScalarTy {
        match self {
            Value::Bool(_) => ScalarTy::Bool,
            Value::I32(_) => ScalarTy::I32,
            Value::U32(_) => ScalarTy::U32,
            Value::I64(_) => ScalarTy::I64,
            Value::U64(_) => ScalarTy::U64,
            Value::F32(_) => ScalarTy::F32,
            Value::F64(_) => ScalarTy::F64,
        }
    }

    /// The integer value; `bool` counts as 0 or 1, floats have none.
    pub fn as_int(self) -> Option<i128> {
        match self {
            Value::Bool(v) => Some(i128::from(v)),
            Value::I32(v) => Some(i128::from(v)),
            Value::U32(v) => Some(i128::from(v)),
            Value::I64(v) => Some(i128::from(v)),
            Value::U64(v) => Some(i128::from(v)),
            Value::F32(_) | Value::F64(_) => None,
        }
    }

    /// The value when it is an integer that fits `u32`.
    pub fn as_u32(self) -> Option<u32> {
        self.as_int().and_then(|v| u32::try_from(v).ok())
    }

    /// The value when it is an integer that fits `u64`.
    pub fn as_u64(self) -> Option<u64> {
        self.as_int().and_then(|v| u64::try_from(v).ok())
    }

    /// The value when it is a truth value.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Value::Bool(v) => Some(v),
            _ => None,
        }
    }

    /// The value as a real number; integers above 2⁵³ are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::F32(v) => f64::from(v),
            Value::F64(v) => v,
            Value::U64(v) => v as f64,
            Value::I64(v) => v as f64,
            Value::Bool(v) => f64::from(u8::from(v)),
            Value::I32(v) => f64::from(v),
            Value::U32(v) => f64::from(v),
        }
    }

    /// What a user gives as a value of the given type, as which 0 and 1 are truth values and integers real numbers too; `None` when it is none of that
    /// type, or does not fit.
    pub fn of(ty: ScalarTy, given: Const) -> Option<Value> {
        // None for a number that is too large for an `f32`.
        let finite = |value: f32| value.is_finite().then_some(Value::F32(value));
        match (ty, given) {
            (ScalarTy::Bool, Const::Bool(b)) => Some(Value::Bool(b)),
            (ScalarTy::Bool, Const::Int(i @ 0..=1)) => Some(Value::Bool(i == 1)),
            (ScalarTy::F32, Const::Int(i)) => finite(i as f32),
            (ScalarTy::F64, Const::Int(i)) => Some(Value::F64(i as f64)),
            (ScalarTy::F32, Const::Float(x)) => finite(x as f32),
            (ScalarTy::F64, Const::Float(x)) => Some(Value::F64(x)),
            (_, Const::Int(i)) => Value::from_int(ty, i),
            _ => None,
        }
    }

    /// An integer of the given type; `None` when it does not fit or the type is not an integer type.
    pub fn from_int(ty: ScalarTy, value: i128) -> Option<Value> {
        match ty {
            ScalarTy::I32 => i32::try_from(value).ok().map(Value::I32),
            ScalarTy::U32 => u32::try_from(value).ok().map(Value::U32),
            ScalarTy::I64 => i64::try_from(value).ok().map(Value::I64),
            ScalarTy::U64 => u64::try_from(value).ok().map(Value::U64),
            ScalarTy::Bool | ScalarTy::F32 | ScalarTy::F64 => None,
        }
    }

    /// The slot form: unsigned integers zero-extended, signed ones sign-extended, floats by their bits, `bool` as 0 or 1.
    pub(crate) fn to_bits(self) -> u64 {
        match self {
            Value::Bool(v) => u64::from(v),
            Value::I32(v) => i64::from(v) as u64,
            Value::U32(v) => u64::from(v),
            Value::I64(v) => v as u64,
            Value::U64(v) => v,
            Value::F32(v) => u64::from(v.to_bits()),
            Value::F64(v) => v.to_bits(),
        }
    }

    /// The value that a slot of this type holds.
    pub(crate) fn from_bits(ty: ScalarTy, bits: u64) -> Value {
        match ty {
            ScalarTy::Bool => Value::Bool(bits != 0),
            ScalarTy::I32 => Value::I32(bits as i32),
            ScalarTy::U32 => Value::U32(bits as u32),
            ScalarTy::I64 => Value::I64(bits as i64),
            ScalarTy::U64 => Value::U64(bits),
            ScalarTy::F32 => Value::F32(f32::from_bits(bits as u32)),
            ScalarTy::F64 => Value::F64(f64::from_bits(bits)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(v) => write!(f, "{v}"),
            Value::I32(v) => write!(f, "{v}"),
            Value::U32(v) => write!(f, "{v}"),
            Value::I64(v) => write!(f, "{v}"),
            Value::U64(v) => write!(f, "{v}"),
            Value::F32(v) => write!(f, "{v}"),
            Value::F64(v) => write!(f, "{v}"),
        }
    }
}
