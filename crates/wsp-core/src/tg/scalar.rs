//! Scalars that instructions take: constants, or expressions over what is known at launch or while a graph runs.

use super::number::{IterNo, TensorNo};
use crate::DType;
use crate::int::BinOp;

/// The first operation of an expression in the unit's list, which ends with [`ExprOp::End`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct ExprId(pub u32);

/// A scalar operand. As a condition, 0 is false and everything else true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// A constant.
    Const(i64),
    /// An expression.
    Expr(ExprId),
}

impl Scalar {
    /// The constant, if it is one.
    pub const fn as_const(self) -> Option<i64> {
        match self {
            Scalar::Const(value) => Some(value),
            Scalar::Expr(_) => None,
        }
    }
}

/// The type of a scalar in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ScalarType {
    /// Unsigned, 1 byte.
    U8 = 0,
    /// Unsigned, 4 bytes.
    U32 = 1,
    /// With sign, 4 bytes.
    I32 = 2,
    /// Unsigned, 8 bytes; values above `i64::MAX` are an error when they are read.
    U64 = 3,
    /// With sign, 8 bytes.
    I64 = 4,
}

impl ScalarType {
    /// Every type with its name in text.
    pub const ALL: [(ScalarType, &'static str); 5] = [
        (ScalarType::U8, "u8"),
        (ScalarType::U32, "u32"),
        (ScalarType::I32, "i32"),
        (ScalarType::U64, "u64"),
        (ScalarType::I64, "i64"),
    ];

    /// The least and the largest value of a scalar of this type.
    pub const fn bounds(self) -> (i64, i64) {
        match self {
            ScalarType::U8 => (0, u8::MAX as i64),
            ScalarType::U32 => (0, u32::MAX as i64),
            ScalarType::I32 => (i32::MIN as i64, i32::MAX as i64),
            ScalarType::U64 => (0, i64::MAX),
            ScalarType::I64 => (i64::MIN, i64::MAX),
        }
    }

    /// The type that holds the elements of an array; none if no scalar does.
    pub const fn of(dtype: DType) -> Option<ScalarType> {
        match dtype {
            DType::U8 => Some(ScalarType::U8),
            DType::U32 => Some(ScalarType::U32),
            DType::I32 => Some(ScalarType::I32),
            DType::U64 => Some(ScalarType::U64),
            DType::I64 => Some(ScalarType::I64),
            DType::F32
            | DType::F64
            | DType::F16
            | DType::Bf16
            | DType::F8E4m3
            | DType::F8E5m2
            | DType::I8
            | DType::I16
            | DType::Bool
            | DType::U16 => None,
        }
    }

    /// Its name in text.
    pub const fn name(self) -> &'static str {
        ScalarType::ALL[self as usize].1
    }

    /// Bytes of a value.
    pub const fn size(self) -> u64 {
        match self {
            ScalarType::U8 => 1,
            ScalarType::U32 | ScalarType::I32 => 4,
            ScalarType::U64 | ScalarType::I64 => 8,
        }
    }
}

/// An operation of an expression, in postfix order over a stack of `i64`. Comparisons and logic give 0 or 1. Overflow and division by
/// zero are errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExprOp {
    /// Ends the expression; its value is what is left on the stack.
    End,
    /// Pushes a constant.
    Const(i64),
    /// Pushes the value of an enclosing loop's variable, from 0.
    Iter(IterNo),
    /// Pushes a declared scalar of the launch or of the host: the place of its declaration.
    Arg(u32),
    /// Pops a byte offset and pushes the value there in a tensor of the device.
    Load(TensorNo, ScalarType),
    /// Pushes the iteration that `TG_INVOKE` gives; 0 under `TG_LAUNCH`.
    Iteration,
    /// Pushes the number of this device.
    Device,
    /// Pushes how many devices there are.
    Devices,
    /// Pops two, pushes the sum.
    Add,
    /// Pops two, pushes the difference.
    Sub,
    /// Pops two, pushes the product.
    Mul,
    /// Pops two, pushes the quotient, rounded towards zero.
    Div,
    /// Pops two, pushes the remainder, with the sign of the first.
    Rem,
    /// Pops two, pushes the smaller.
    Min,
    /// Pops two, pushes the larger.
    Max,
    /// Pops two, pushes whether they are equal.
    Eq,
    /// Pops two, pushes whether they differ.
    Ne,
    /// Pops two, pushes whether the first is less.
    Lt,
    /// Pops two, pushes whether the first is at most the second.
    Le,
    /// Pops two, pushes whether the first is greater.
    Gt,
    /// Pops two, pushes whether the first is at least the second.
    Ge,
    /// Pops two, pushes whether neither is 0. Its skip stands before the operations of the second.
    And,
    /// Pops two, pushes whether one is not 0. Its skip stands before the operations of the second.
    Or,
    /// Pops one, pushes whether it is 0.
    Not,
    /// Pops one, pushes its negative.
    Neg,
    /// If the value on top is 0, goes past so many operations, to behind the `and` whose left side it is. It stays on top.
    SkipZero(u32),
    /// If the value on top is not 0, replaces it by 1 and goes past so many operations, to behind the `or` whose left side it is.
    SkipNonZero(u32),
}

impl ExprOp {
    /// Every operation that is nothing but its name, in the order of their codes in binaries.
    pub const PLAIN: [ExprOp; 20] = [
        ExprOp::Iteration,
        ExprOp::Device,
        ExprOp::Devices,
        ExprOp::Add,
        ExprOp::Sub,
        ExprOp::Mul,
        ExprOp::Div,
        ExprOp::Rem,
        ExprOp::Min,
        ExprOp::Max,
        ExprOp::Eq,
        ExprOp::Ne,
        ExprOp::Lt,
        ExprOp::Le,
        ExprOp::Gt,
        ExprOp::Ge,
        ExprOp::And,
        ExprOp::Or,
        ExprOp::Not,
        ExprOp::Neg,
    ];

    /// The operator that makes one value of two, if it is one.
    pub const fn operator(self) -> Option<BinOp> {
        Some(match self {
            ExprOp::Add => BinOp::Add,
            ExprOp::Sub => BinOp::Sub,
            ExprOp::Mul => BinOp::Mul,
            ExprOp::Div => BinOp::Div,
            ExprOp::Rem => BinOp::Rem,
            ExprOp::Min => BinOp::Min,
            ExprOp::Max => BinOp::Max,
            ExprOp::Eq => BinOp::Eq,
            ExprOp::Ne => BinOp::Ne,
            ExprOp::Lt => BinOp::Lt,
            ExprOp::Le => BinOp::Le,
            ExprOp::Gt => BinOp::Gt,
            ExprOp::Ge => BinOp::Ge,
            ExprOp::And => BinOp::And,
            ExprOp::Or => BinOp::Or,
            ExprOp::End
            | ExprOp::Const(_)
            | ExprOp::Iter(_)
            | ExprOp::Arg(_)
            | ExprOp::Load(..)
            | ExprOp::Iteration
            | ExprOp::Device
            | ExprOp::Devices
            | ExprOp::Not
            | ExprOp::Neg
            | ExprOp::SkipZero(_)
            | ExprOp::SkipNonZero(_) => return None,
        })
    }

    /// The skip between the sides of `and` and `or` when so many operations stand behind it, the operator included; none for others.
    pub const fn skip(self, past: u32) -> Option<ExprOp> {
        match self {
            ExprOp::And => Some(ExprOp::SkipZero(past)),
            ExprOp::Or => Some(ExprOp::SkipNonZero(past)),
            _ => None,
        }
    }

    /// Whether its value is known only where the expression is evaluated.
    pub const fn varies(self) -> bool {
        matches!(
            self,
            ExprOp::Iter(_)
                | ExprOp::Arg(_)
                | ExprOp::Load(..)
                | ExprOp::Iteration
                | ExprOp::Device
                | ExprOp::Devices
        )
    }

    /// How many values it pops. Skips pop none, and are the only operations that push none.
    pub const fn operands(self) -> usize {
        match self {
            ExprOp::End
            | ExprOp::Const(_)
            | ExprOp::Iter(_)
            | ExprOp::Arg(_)
            | ExprOp::Iteration
            | ExprOp::Device
            | ExprOp::Devices
            | ExprOp::SkipZero(_)
            | ExprOp::SkipNonZero(_) => 0,
            ExprOp::Load(..) | ExprOp::Not | ExprOp::Neg => 1,
            ExprOp::Add
            | ExprOp::Sub
            | ExprOp::Mul
            | ExprOp::Div
            | ExprOp::Rem
            | ExprOp::Min
            | ExprOp::Max
            | ExprOp::Eq
            | ExprOp::Ne
            | ExprOp::Lt
            | ExprOp::Le
            | ExprOp::Gt
            | ExprOp::Ge
            | ExprOp::And
            | ExprOp::Or => 2,
        }
    }
}
