//! Types of scalars and elements.

use wsp_core::int::{BinOp, Fault, Int, Range};
use wsp_core::{DType, TensorId};

/// The type of a scalar value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarTy {
    /// Result of a comparison.
    Bool,
    /// `int32_t`, `int`.
    I32,
    /// `uint32_t`.
    U32,
    /// `int64_t`.
    I64,
    /// `uint64_t`, `size_t`.
    U64,
    /// `float`.
    F32,
    /// `double`.
    F64,
}

impl ScalarTy {
    /// Whether values are real numbers.
    pub fn is_float(self) -> bool {
        matches!(self, ScalarTy::F32 | ScalarTy::F64)
    }

    /// Whether values are integers (`bool` is not).
    pub fn is_int(self) -> bool {
        matches!(self, ScalarTy::I32 | ScalarTy::U32 | ScalarTy::I64 | ScalarTy::U64)
    }

    /// The values of an integer type.
    pub fn range(self) -> Option<Range> {
        Some(match self {
            ScalarTy::I32 => Range::new(i32::MIN.into(), i32::MAX.into()),
            ScalarTy::U32 => Range::new(0, u32::MAX.into()),
            ScalarTy::I64 => Range::new(i64::MIN.into(), i64::MAX.into()),
            ScalarTy::U64 => Range::new(0, u64::MAX.into()),
            ScalarTy::Bool | ScalarTy::F32 | ScalarTy::F64 => return None,
        })
    }

    /// What an operator makes of two values of this integer type, as at run time. Truth values are 0 and 1.
    ///
    /// # Errors
    /// The operator has no result for these values, or the type is none of integers.
    pub fn binary(self, op: BinOp, a: i128, b: i128) -> Result<i128, Fault> {
        let range = self.range().ok_or(Fault::Overflow)?;
        let bits = if matches!(self, ScalarTy::I64 | ScalarTy::U64) { 64 } else { 32 };
        if matches!(op, BinOp::Shl | BinOp::Shr) && !(0..bits).contains(&b) {
            return Err(Fault::ShiftRange);
        }
        i128::binary(op, a, b)
            .ok()
            .filter(|value| range.contains(*value))
            .ok_or_else(|| if op.is_division() && b == 0 { Fault::DivisionByZero } else { Fault::Overflow })
    }

    /// The name in `.pto` source.
    pub fn c_name(self) -> &'static str {
        match self {
            ScalarTy::Bool => "bool",
            ScalarTy::I32 => "int32_t",
            ScalarTy::U32 => "uint32_t",
            ScalarTy::I64 => "int64_t",
            ScalarTy::U64 => "uint64_t",
            ScalarTy::F32 => "float",
            ScalarTy::F64 => "double",
        }
    }

    /// The name in IR text.
    pub fn name(self) -> &'static str {
        match self {
            ScalarTy::Bool => "bool",
            ScalarTy::I32 => "i32",
            ScalarTy::U32 => "u32",
            ScalarTy::I64 => "i64",
            ScalarTy::U64 => "u64",
            ScalarTy::F32 => "f32",
            ScalarTy::F64 => "f64",
        }
    }
}

/// The element type of a tensor or tile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Elem {
    /// Known from the source.
    Fixed(DType),
    /// That of the array bound to a tensor; known at launch.
    Of(TensorId),
}

impl Elem {
    /// The type of one element as a value: `f32` for real numbers, also those whose type is known at launch only; integers of
    /// less than 32 bits are `i32` where they have a sign, else `u32`.
    pub fn scalar(self) -> ScalarTy {
        match self {
            Elem::Fixed(DType::Bool | DType::U8 | DType::U16 | DType::U32) => ScalarTy::U32,
            Elem::Fixed(DType::I8 | DType::I16 | DType::I32) => ScalarTy::I32,
            Elem::Fixed(DType::I64) => ScalarTy::I64,
            Elem::Fixed(DType::U64) => ScalarTy::U64,
            Elem::Fixed(
                DType::F32 | DType::F64 | DType::F16 | DType::Bf16 | DType::F8E4m3 | DType::F8E5m2,
            )
            | Elem::Of(_) => ScalarTy::F32,
        }
    }

    /// Whether it is known to be one of integers or truth values.
    pub fn is_integer(self) -> bool {
        matches!(self, Elem::Fixed(dtype) if !dtype.is_float())
    }

    /// The type of a number that meets a tile of these elements: `f64` with `f64`, `u64` with `u64`, `i64` with other integers, whose
    /// range it must be in, else `f32`.
    pub fn operand(self) -> ScalarTy {
        match self {
            Elem::Fixed(DType::F64) => ScalarTy::F64,
            Elem::Fixed(DType::U64) => ScalarTy::U64,
            Elem::Fixed(dtype) if !dtype.is_float() => ScalarTy::I64,
            _ => ScalarTy::F32,
        }
    }
}
