//! The value of an expression.

use super::number::{IterNo, TensorNo};
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
    let mut rest = ops.iter();
    while let Some(&op) = rest.next() {
        let value = match op {
            ExprOp::End => break,
            ExprOp::SkipZero(past) => {
                if *stack.top().ok_or(EvalFault::Malformed)? == 0 {
                    skip(&mut rest, past)?;
                }
                continue;
            }
            ExprOp::SkipNonZero(past) => {
                let top = stack.top().ok_or(EvalFault::Malformed)?;
                if *top != 0 {
                    *top = 1;
                    skip(&mut rest, past)?;
                }
                continue;
            }
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

/// Goes past operations, all of which have to be there.
#[inline]
fn skip(rest: &mut core::slice::Iter<'_, ExprOp>, past: u32) -> Result<(), EvalFault> {
    match past.checked_sub(1) {
        Some(last) => rest.nth(last as usize).map(|_| ()).ok_or(EvalFault::Malformed),
        None => Ok(()),
    }
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

    #[test]
    fn a_right_side_that_does_not_decide_is_not_evaluated() {
        use ExprOp::{And, Const, Device, Div, Ne, Or, SkipNonZero, SkipZero};
        let value = |left, op: ExprOp| {
            let skip = op.skip(4).unwrap_or(op);
            eval(&[Const(left), skip, Const(1), Const(0), Div, op, ExprOp::End, Const(9)], &ConstEnv)
        };
        assert_eq!([value(0, And), value(7, Or)], [Ok(0), Ok(1)]);
        assert_eq!([value(7, And), value(0, Or)], [Err(EvalFault::DivisionByZero); 2]);
        let both = |left, right| eval(&[Const(left), SkipZero(2), Const(right), And], &ConstEnv);
        assert_eq!([both(0, 3), both(3, 0), both(3, 4)], [Ok(0), Ok(0), Ok(1)]);
        let one = |left, right| eval(&[Const(left), SkipNonZero(2), Const(right), Or], &ConstEnv);
        assert_eq!([one(0, 0), one(3, 0), one(0, 4)], [Ok(0), Ok(1), Ok(1)]);
        for beyond in [3, u32::MAX] {
            let ops = [Const(0), SkipZero(beyond), Const(1), And];
            assert_eq!(eval(&ops, &ConstEnv), Err(EvalFault::Malformed));
        }
        assert_eq!(eval(&[SkipZero(0), Const(1)], &ConstEnv), Err(EvalFault::Malformed));
        assert_eq!(eval(&[Device, Const(0), Ne], &ConstEnv), Err(EvalFault::Unknown(Device)));
    }
}
