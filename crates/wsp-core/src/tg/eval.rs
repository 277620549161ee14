//! The value of an expression.

use super::operand::{IterNo, TensorNo};
use super::scalar::{ExprOp, ScalarType};
use crate::int::{Fault, Int, Stack};

/// Most values that an expression keeps at a time.
pub const MAX_EXPR_STACK: usize = 64;

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvalFault {
    /// A result is below or above what 64 bits hold.
    Overflow,
    /// A division by zero.
    DivisionByZero,
    /// More than [`MAX_EXPR_STACK`] values at a time.
    TooDeep,
    /// An operation has too few values, or more than one value is left.
    Malformed,
    /// A value that is not known here: of a loop's variable, a declared scalar, the iteration or the devices.
    Unknown(ExprOp),
    /// A scalar that cannot be read at this byte of a tensor.
    Load {
        /// The tensor.
        tensor: TensorNo,
        /// The byte.
        offset: i64,
        /// The type of the scalar.
        ty: ScalarType,
    },
    /// A scalar of a tensor is larger than an `i64` holds.
    Large {
        /// The tensor.
        tensor: TensorNo,
        /// The byte.
        offset: i64,
        /// The scalar.
        value: u64,
    },
}

impl core::fmt::Display for EvalFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            EvalFault::Overflow => f.write_str("the value does not fit into 64 bits"),
            EvalFault::DivisionByZero => f.write_str("division by zero"),
            EvalFault::TooDeep => write!(f, "the expression keeps more than {MAX_EXPR_STACK} values"),
            EvalFault::Malformed => f.write_str("the expression is incomplete"),
            EvalFault::Unknown(op) => write!(f, "{op:?} has no value here"),
            EvalFault::Load { tensor, offset, ty } => {
                write!(f, "no {ty:?} can be read at byte {offset} of tensor {}", tensor.0)
            }
            EvalFault::Large { tensor, offset, value } => {
                let most = i64::MAX;
                write!(
                    f,
                    "the U64 at byte {offset} of tensor {} is {value}, and expressions hold at most {most}",
                    tensor.0
                )
            }
        }
    }
}

impl core::error::Error for EvalFault {}

/// Whoever knows the values that expressions name. What is not overridden is not known.
pub trait Env {
    /// The value of a loop's variable.
    ///
    /// # Errors
    ///
    /// [`EvalFault::Unknown`] if no such loop runs.
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        Err(EvalFault::Unknown(ExprOp::Iter(iter)))
    }

    /// The value of a declared scalar.
    ///
    /// # Errors
    ///
    /// [`EvalFault::Unknown`] if nobody gave it one.
    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        Err(EvalFault::Unknown(ExprOp::Arg(arg)))
    }

    /// A scalar in a tensor.
    ///
    /// # Errors
    ///
    /// [`EvalFault::Load`] if it cannot be read.
    fn load(&self, tensor: TensorNo, ty: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        Err(EvalFault::Load { tensor, offset, ty })
    }

    /// The iteration that `TG_INVOKE` gave.
    ///
    /// # Errors
    ///
    /// [`EvalFault::Unknown`] outside of launches.
    fn iteration(&self) -> Result<i64, EvalFault> {
        Err(EvalFault::Unknown(ExprOp::Iteration))
    }

    /// The number of this device.
    ///
    /// # Errors
    ///
    /// [`EvalFault::Unknown`] where there is no device.
    fn device(&self) -> Result<i64, EvalFault> {
        Err(EvalFault::Unknown(ExprOp::Device))
    }

    /// How many devices there are.
    ///
    /// # Errors
    ///
    /// [`EvalFault::Unknown`] where there are no devices.
    fn devices(&self) -> Result<i64, EvalFault> {
        Err(EvalFault::Unknown(ExprOp::Devices))
    }
}

/// Nothing is known but constants.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstEnv;

impl Env for ConstEnv {}

impl From<Fault> for EvalFault {
    fn from(fault: Fault) -> EvalFault {
        match fault {
            Fault::DivisionByZero => EvalFault::DivisionByZero,
            Fault::Overflow | Fault::ShiftRange => EvalFault::Overflow,
        }
    }
}

/// The value of an expression in postfix order; an [`ExprOp::End`] ends it early.
///
/// # Errors
///
/// See [`EvalFault`]; for any operations, in any order.
pub fn eval<E: Env + ?Sized>(ops: &[ExprOp], env: &E) -> Result<i64, EvalFault> {
    let mut stack = Stack::<MAX_EXPR_STACK>::new();
    for &op in ops {
        let value = match op {
            ExprOp::End => break,
            ExprOp::Const(value) => value,
            ExprOp::Iter(iter) => env.iter(iter)?,
            ExprOp::Arg(arg) => env.arg(arg)?,
            ExprOp::Iteration => env.iteration()?,
            ExprOp::Device => env.device()?,
            ExprOp::Devices => env.devices()?,
            ExprOp::Load(tensor, ty) => {
                let offset = stack.pop().ok_or(EvalFault::Malformed)?;
                env.load(tensor, ty, offset)?
            }
            ExprOp::Not => i64::from(stack.pop().ok_or(EvalFault::Malformed)? == 0),
            ExprOp::Neg => stack.pop().ok_or(EvalFault::Malformed)?.negated()?,
            op => {
                let operator = op.operator().ok_or(EvalFault::Malformed)?;
                stack.binary(operator).ok_or(EvalFault::Malformed)?.map_err(|(fault, ..)| fault)?;
                continue;
            }
        };
        stack.push(value).ok_or(EvalFault::TooDeep)?;
    }
    let value = stack.pop().ok_or(EvalFault::Malformed)?;
    if stack.height() == 0 { Ok(value) } else { Err(EvalFault::Malformed) }
}

/// The result of an operation of two values.
///
/// # Errors
///
/// Overflow, division by zero, and [`EvalFault::Malformed`] for an operation that does not take two.
pub fn binary(op: ExprOp, a: i64, b: i64) -> Result<i64, EvalFault> {
    Ok(i64::binary(op.operator().ok_or(EvalFault::Malformed)?, a, b)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_two_values_are_the_operators_of_all_languages() {
        assert_eq!(binary(ExprOp::Rem, i64::MIN, -1), Ok(0));
        assert_eq!(
            [ExprOp::Div, ExprOp::Rem].map(|op| binary(op, 7, 0)),
            [Err(EvalFault::DivisionByZero); 2]
        );
        assert_eq!(binary(ExprOp::Div, i64::MIN, -1), Err(EvalFault::Overflow));
        assert_eq!(binary(ExprOp::Not, 1, 1), Err(EvalFault::Malformed));
    }
}
