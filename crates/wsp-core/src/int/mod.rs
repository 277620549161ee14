//! Integer operators: what each computes, checked, and between which numbers its results lie.
//!
//! `.pto`, `.wsp` and `.tg` have these operators, as do the bytes of both instruction sets. Each language keeps its own operands
//! (a load, a table, a loop's variable) and its own stored form, and asks here what an operator makes of two values.
//! The value of `a && b` and `a || b` is asked for here when both sides are known. A right side is evaluated only where the left does not decide:
//! trees and slot code branch, and the stored forms of PTOW and of task graphs have skips.
//!
//! ```
//! use wsp_core::int::{BinOp, Fault, Int};
//! assert_eq!(i64::binary(BinOp::CeilDiv, 7, 2), Ok(4));
//! assert_eq!(i64::binary(BinOp::Rem, i64::MIN, -1), Ok(0));
//! assert_eq!(u32::binary(BinOp::Sub, 1, 2), Err(Fault::Overflow));
//! ```

mod affine;
mod bounds;
mod range;
mod stack;

pub use affine::Affine;
pub use bounds::{Bounds, Ends};
pub use range::Range;
pub(crate) use stack::Stack;

macro_rules! operators {
    ($(#[$meta:meta])* enum BinOp { $($(#[$doc:meta])* $name:ident => $sign:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum BinOp {
            $($(#[$doc])* $name,)*
        }

        impl BinOp {
            /// Every operator.
            pub const ALL: &[BinOp] = &[$(BinOp::$name,)*];

            /// Its sign between two operands; of `Min`, `Max` and `CeilDiv` the name of a function of two.
            pub const fn sign(self) -> &'static str {
                match self {
                    $(BinOp::$name => $sign,)*
                }
            }
        }
    };
}

operators! {
    /// Two-operand operators. Comparisons give truth values; `And` and `Or` do too, and do not evaluate a right side that does not decide.
    enum BinOp {
        /// `+`
        Add => "+",
        /// `-`
        Sub => "-",
        /// `*`
        Mul => "*",
        /// `/`, towards zero
        Div => "/",
        /// `%`, with the sign of the left side
        Rem => "%",
        /// `<`
        Lt => "<",
        /// `<=`
        Le => "<=",
        /// `>`
        Gt => ">",
        /// `>=`
        Ge => ">=",
        /// `==`
        Eq => "==",
        /// `!=`
        Ne => "!=",
        /// `&&`
        And => "&&",
        /// `||`
        Or => "||",
        /// `&` on integers
        BitAnd => "&",
        /// `|` on integers
        BitOr => "|",
        /// `^` on integers
        BitXor => "^",
        /// `<<`
        Shl => "<<",
        /// `>>`
        Shr => ">>",
        /// The smaller
        Min => "min",
        /// The larger
        Max => "max",
        /// `⌈a / b⌉` without overflow
        CeilDiv => "ceildiv",
    }
}

/// One-operand operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnOp {
    /// `-x`
    Neg,
    /// `!x`, of a truth value; of an integer, whether it is 0
    Not,
}

impl BinOp {
    /// Whether the operator compares its operands.
    pub const fn is_comparison(self) -> bool {
        matches!(self, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne)
    }

    /// Whether the operator joins two truth values.
    #[inline]
    pub const fn is_logic(self) -> bool {
        matches!(self, BinOp::And | BinOp::Or)
    }

    /// Whether the operator joins or moves bits of integers: `.pto` has these, workloads and task graphs do not.
    pub const fn is_bitwise(self) -> bool {
        matches!(self, BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr)
    }

    /// Whether it is `+` or `-`.
    pub const fn is_sum(self) -> bool {
        matches!(self, BinOp::Add | BinOp::Sub)
    }

    /// Whether it is `*`, `/` or `%`.
    pub const fn is_product(self) -> bool {
        matches!(self, BinOp::Mul | BinOp::Div | BinOp::Rem)
    }

    /// Whether the operator can stand behind another in one run from left to right: both make sums, or both products.
    pub const fn goes_on_from(self, before: BinOp) -> bool {
        before.is_sum() && self.is_sum() || before.is_product() && self.is_product()
    }

    /// Whether there are integers for which the operator has no result.
    pub const fn can_fail(self) -> bool {
        self.is_sum() || self.is_division() || matches!(self, BinOp::Mul | BinOp::Shl | BinOp::Shr)
    }

    /// Whether the operator divides, so that it has no result for a right side of 0.
    #[inline]
    pub const fn is_division(self) -> bool {
        matches!(self, BinOp::Div | BinOp::Rem | BinOp::CeilDiv)
    }
}

/// Why an operator has no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// The type does not hold the result.
    Overflow,
    /// The right side of a division is 0.
    DivisionByZero,
    /// A shift by less than 0, or by the width of the type or more.
    ShiftRange,
}

/// An integer type whose operators are checked.
pub trait Int: Copy + Ord {
    /// What an operator makes of two values. Comparisons, `And` and `Or` give 0 or 1; both sides are evaluated already.
    ///
    /// # Errors
    /// The operator has no result for these values.
    fn binary(op: BinOp, left: Self, right: Self) -> Result<Self, Fault>;

    /// The negative.
    ///
    /// # Errors
    /// The type does not hold it.
    fn negated(self) -> Result<Self, Fault>;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Int for $ty {
            // Where the operator is a constant, only its own line is left of this.
            #[inline(always)]
            #[allow(unused_comparisons, reason = "an unsigned integer is never below 0")]
            fn binary(op: BinOp, left: $ty, right: $ty) -> Result<$ty, Fault> {
                if op.is_division() && right == 0 {
                    return Err(Fault::DivisionByZero);
                }
                let value = match op {
                    BinOp::Add => left.checked_add(right),
                    BinOp::Sub => left.checked_sub(right),
                    BinOp::Mul => left.checked_mul(right),
                    BinOp::Div => left.checked_div(right),
                    // The smallest integer by -1 leaves nothing.
                    BinOp::Rem => Some(left.checked_rem(right).unwrap_or(0)),
                    BinOp::CeilDiv => match left.checked_div(right) {
                        Some(quotient) => {
                            let inexact = quotient.wrapping_mul(right) != left && (left < 0) == (right < 0);
                            Some(quotient.wrapping_add($ty::from(inexact)))
                        }
                        None => None,
                    },
                    BinOp::Min => Some(left.min(right)),
                    BinOp::Max => Some(left.max(right)),
                    BinOp::BitAnd => Some(left & right),
                    BinOp::BitOr => Some(left | right),
                    BinOp::BitXor => Some(left ^ right),
                    BinOp::Shl | BinOp::Shr => {
                        let by = u32::try_from(right).ok().filter(|by| *by < $ty::BITS).ok_or(Fault::ShiftRange)?;
                        let (up, down) = (left.wrapping_shl(by), left.wrapping_shr(by));
                        if matches!(op, BinOp::Shr) { Some(down) } else { Some(up).filter(|up| up.wrapping_shr(by) == left) }
                    }
                    BinOp::Lt => Some($ty::from(left < right)),
                    BinOp::Le => Some($ty::from(left <= right)),
                    BinOp::Gt => Some($ty::from(left > right)),
                    BinOp::Ge => Some($ty::from(left >= right)),
                    BinOp::Eq => Some($ty::from(left == right)),
                    BinOp::Ne => Some($ty::from(left != right)),
                    BinOp::And => Some($ty::from(left != 0 && right != 0)),
                    BinOp::Or => Some($ty::from(left != 0 || right != 0)),
                };
                value.ok_or(Fault::Overflow)
            }

            #[inline(always)]
            fn negated(self) -> Result<$ty, Fault> {
                self.checked_neg().ok_or(Fault::Overflow)
            }
        }
    )*};
}

// 128 bits hold every value of the others: compilers compute constants of any type there.
integers! { i32 u32 i64 u64 i128 }

#[cfg(test)]
mod tests {
    use super::*;
    use BinOp::{
        Add, And, BitAnd, BitOr, BitXor, CeilDiv, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Rem, Shl,
        Shr, Sub,
    };

    #[test]
    fn operators_give_what_their_names_say() {
        for (op, results) in [
            // Of 7 and 2, of 2 and 7, of 2 and 2, of 0 and 2.
            (Add, [9, 9, 4, 2]),
            (Sub, [5, -5, 0, -2]),
            (Mul, [14, 14, 4, 0]),
            (Div, [3, 0, 1, 0]),
            (Rem, [1, 2, 0, 0]),
            (CeilDiv, [4, 1, 1, 0]),
            (Min, [2, 2, 2, 0]),
            (Max, [7, 7, 2, 2]),
            (BitAnd, [2, 2, 2, 0]),
            (BitOr, [7, 7, 2, 2]),
            (BitXor, [5, 5, 0, 2]),
            (Shl, [28, 256, 8, 0]),
            (Shr, [1, 0, 0, 0]),
            (Eq, [0, 0, 1, 0]),
            (Ne, [1, 1, 0, 1]),
            (Lt, [0, 1, 0, 1]),
            (Le, [0, 1, 1, 1]),
            (Gt, [1, 0, 0, 0]),
            (Ge, [1, 0, 1, 0]),
            (And, [1, 1, 1, 0]),
            (Or, [1, 1, 1, 1]),
        ] {
            let found = [(7, 2), (2, 7), (2, 2), (0, 2)].map(|(a, b)| i64::binary(op, a, b));
            assert_eq!(found, results.map(Ok), "{op:?}");
            let wide = [(7, 2), (2, 7), (2, 2), (0, 2)].map(|(a, b)| i128::binary(op, a, b));
            assert_eq!(wide, results.map(|result| Ok(result.into())), "{op:?}");
        }
        assert_eq!([And, Or].map(|op| i64::binary(op, 2, 0)), [Ok(0), Ok(1)]);
        assert_eq!([And, Or].map(|op| i64::binary(op, 0, 0)), [Ok(0), Ok(0)]);
    }

    #[test]
    fn quotients_are_rounded_by_the_operator_and_remainders_have_the_sign_of_the_left_side() {
        for (a, b, div, rem, up) in
            [(7, 2, 3, 1, 4), (-7, 2, -3, -1, -3), (7, -2, -3, 1, -3), (-7, -2, 3, -1, 4)]
        {
            let found = [Div, Rem, CeilDiv].map(|op| i32::binary(op, a, b));
            assert_eq!(found, [Ok(div), Ok(rem), Ok(up)], "{a} and {b}");
        }
        assert_eq!(u64::binary(CeilDiv, u64::MAX, 2), Ok(1 << 63));
    }

    #[test]
    fn results_that_do_not_exist_are_faults() {
        assert_eq!([Div, Rem, CeilDiv].map(|op| i64::binary(op, 7, 0)), [Err(Fault::DivisionByZero); 3]);
        for (op, a, b) in [
            (Add, i64::MAX, 1),
            (Sub, i64::MIN, 1),
            (Mul, i64::MAX, 2),
            (Div, i64::MIN, -1),
            (CeilDiv, i64::MIN, -1),
            (Shl, 1 << 62, 1),
        ] {
            assert_eq!(i64::binary(op, a, b), Err(Fault::Overflow), "{op:?}");
        }
        assert_eq!(i64::binary(Rem, i64::MIN, -1), Ok(0));
        assert_eq!(u32::binary(Sub, 0, 1), Err(Fault::Overflow));
        assert_eq!([-1, 64].map(|by| i64::binary(Shl, 1, by)), [Err(Fault::ShiftRange); 2]);
        assert_eq!([(i64::MIN).negated(), 5i64.negated()], [Err(Fault::Overflow), Ok(-5)]);
    }
}
