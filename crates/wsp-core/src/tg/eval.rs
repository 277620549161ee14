//! The value of an expression.

use super::operand::{IterNo, TensorNo};
use super::scalar::{ExprOp, ScalarType};

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

/// The value of an expression in postfix order; an [`ExprOp::End`] ends it early.
///
/// # Errors
///
/// See [`EvalFault`]; for any operations, in any order.
pub fn eval<E: Env + ?Sized>(ops: &[ExprOp], env: &E) -> Result<i64, EvalFault> {
    let mut stack = Stack { values: [0; MAX_EXPR_STACK], len: 0 };
    for &op in ops {
        let value = match op {
            ExprOp::End => break,
            ExprOp::Const(value) => value,
            ExprOp::Iter(iter) => env.iter(iter)?,
            ExprOp::Arg(arg) => env.arg(arg)?,
            ExprOp::Iteration => env.iteration()?,
            ExprOp::Device => env.device()?,
            ExprOp::Devices => env.devices()?,
            ExprOp::Load(tensor, ty) => env.load(tensor, ty, stack.pop()?)?,
            ExprOp::Not => i64::from(stack.pop()? == 0),
            ExprOp::Neg => stack.pop()?.checked_neg().ok_or(EvalFault::Overflow)?,
            op => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                binary(op, a, b)?
            }
        };
        stack.push(value)?;
    }
    let value = stack.pop()?;
    if stack.len == 0 { Ok(value) } else { Err(EvalFault::Malformed) }
}

struct Stack {
    values: [i64; MAX_EXPR_STACK],
    len: usize,
}

impl Stack {
    fn push(&mut self, value: i64) -> Result<(), EvalFault> {
        *self.values.get_mut(self.len).ok_or(EvalFault::TooDeep)? = value;
        self.len += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<i64, EvalFault> {
        self.len = self.len.checked_sub(1).ok_or(EvalFault::Malformed)?;
        Ok(self.values[self.len])
    }
}

/// The result of an operation of two values.
///
/// # Errors
///
/// Overflow, division by zero, and [`EvalFault::Malformed`] for an operation that does not take two.
pub fn binary(op: ExprOp, a: i64, b: i64) -> Result<i64, EvalFault> {
    let checked = match op {
        ExprOp::Add => a.checked_add(b),
        ExprOp::Sub => a.checked_sub(b),
        ExprOp::Mul => a.checked_mul(b),
        ExprOp::Div | ExprOp::Rem if b == 0 => return Err(EvalFault::DivisionByZero),
        ExprOp::Div => a.checked_div(b),
        ExprOp::Rem => a.checked_rem(b),
        ExprOp::Min => Some(a.min(b)),
        ExprOp::Max => Some(a.max(b)),
        ExprOp::Eq => Some(i64::from(a == b)),
        ExprOp::Ne => Some(i64::from(a != b)),
        ExprOp::Lt => Some(i64::from(a < b)),
        ExprOp::Le => Some(i64::from(a <= b)),
        ExprOp::Gt => Some(i64::from(a > b)),
        ExprOp::Ge => Some(i64::from(a >= b)),
        ExprOp::And => Some(i64::from(a != 0 && b != 0)),
        ExprOp::Or => Some(i64::from(a != 0 || b != 0)),
        _ => return Err(EvalFault::Malformed),
    };
    checked.ok_or(EvalFault::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExprOp::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Rem, Sub};

    #[test]
    fn operations_of_two_values_give_what_their_names_say() {
        for (op, results) in [
            // Of 7 and 2, of 2 and 7, of 2 and 2, of 0 and 2.
            (Add, [9, 9, 4, 2]),
            (Sub, [5, -5, 0, -2]),
            (Mul, [14, 14, 4, 0]),
            (Div, [3, 0, 1, 0]),
            (Rem, [1, 2, 0, 0]),
            (Min, [2, 2, 2, 0]),
            (Max, [7, 7, 2, 2]),
            (Eq, [0, 0, 1, 0]),
            (Ne, [1, 1, 0, 1]),
            (Lt, [0, 1, 0, 1]),
            (Le, [0, 1, 1, 1]),
            (Gt, [1, 0, 0, 0]),
            (Ge, [1, 0, 1, 0]),
            (And, [1, 1, 1, 0]),
            (Or, [1, 1, 1, 1]),
        ] {
            let found = [(7, 2), (2, 7), (2, 2), (0, 2)].map(|(a, b)| binary(op, a, b));
            assert_eq!(found, results.map(Ok), "{op:?}");
        }
        assert_eq!([And, Or].map(|op| binary(op, 2, 0)), [Ok(0), Ok(1)]);
        assert_eq!([And, Or].map(|op| binary(op, 0, 0)), [Ok(0), Ok(0)]);
    }

    #[test]
    fn results_that_do_not_exist_are_faults() {
        assert_eq!([Div, Rem].map(|op| binary(op, 7, 0)), [Err(EvalFault::DivisionByZero); 2]);
        for (op, a, b) in [(Add, i64::MAX, 1), (Sub, i64::MIN, 1), (Mul, i64::MAX, 2), (Div, i64::MIN, -1)] {
            assert_eq!(binary(op, a, b), Err(EvalFault::Overflow), "{op:?}");
        }
        assert_eq!(binary(ExprOp::Not, 1, 1), Err(EvalFault::Malformed));
    }
}
