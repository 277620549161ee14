//! Expressions as sums of scaled variables.
//!
//! A form stands for its expression only while every variable lies within [`VARIABLE_BOUND`]: then no operation of the
//! expression overflows, as the scales and the offset of every sub-expression stay within that bound in sum. Parts without
//! variables are numbers, computed as they stand; a form without scales is one, and may be any.

use super::eval::{binary, unary};
use super::{Launch, MAX_EXPR_STACK, MAX_LOOP_DEPTH, Program, Word, X_LAST, XOp};

/// Variables of forms lie in `[-2^31, 2^31)`.
pub const VARIABLE_BOUND: i64 = 1 << 31;
/// Scales and offset of a form with variables are at most this in sum.
const SCALE_BOUND: u64 = 1 << 31;

/// `offset + scales[0] * variable 0 + scales[1] * variable 1 + …`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Affine {
    /// The part that never changes.
    pub offset: i64,
    /// What each variable is multiplied by, by depth.
    pub scales: [i64; MAX_LOOP_DEPTH],
}

/// Whether a variable lies where forms stand for their expressions.
#[inline]
pub fn is_within_bound(variable: i64) -> bool {
    (-VARIABLE_BOUND..VARIABLE_BOUND).contains(&variable)
}

impl Affine {
    /// A form without variables.
    pub fn constant(value: i64) -> Affine {
        Affine { offset: value, scales: [0; MAX_LOOP_DEPTH] }
    }

    /// Whether no variable has a scale.
    #[inline]
    pub fn is_constant(&self) -> bool {
        self.scales.iter().all(|scale| *scale == 0)
    }

    /// Its value with these variables, outermost first. Variables outside the bound give a number without meaning.
    #[inline]
    pub fn value(&self, variables: &[i64]) -> i64 {
        let products = self.scales.iter().zip(variables).map(|(scale, value)| scale.wrapping_mul(*value));
        products.fold(self.offset, i64::wrapping_add)
    }

    /// `self + factor * other`; none when it is not small.
    fn plus(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut sum = *self;
        sum.offset = sum.offset.checked_add(other.offset.checked_mul(factor)?)?;
        for (scale, other) in sum.scales.iter_mut().zip(other.scales) {
            *scale = scale.checked_add(other.checked_mul(factor)?)?;
        }
        sum.is_small().then_some(sum)
    }

    /// Whether scales and offset are within their bound in sum, or there are no scales.
    fn is_small(&self) -> bool {
        let sum = self.scales.iter().fold(0u64, |sum, scale| sum.saturating_add(scale.unsigned_abs()));
        sum == 0 || sum.saturating_add(self.offset.unsigned_abs()) <= SCALE_BOUND
    }
}

/// The form of an expression over loop variables; none if it has none, or a part without variables is at fault.
pub fn affine(program: &Program<'_>, launch: &Launch<'_>, expr: u32) -> Option<Affine> {
    let mut stack = [Affine::constant(0); MAX_EXPR_STACK];
    let mut height = 0usize;
    let mut at = expr;
    loop {
        let word = program.exprs.get(at as usize)?;
        let op = XOp::from_code(word.opcode)?;
        let mut past = 0;
        match op.operands() {
            0 if op == XOp::XSkip => past = word.operand2,
            0 => {
                *stack.get_mut(height)? = leaf(op, word, launch)?;
                height = height.checked_add(1)?;
            }
            1 => {
                let top = stack.get_mut(height.checked_sub(1)?)?;
                if op == XOp::XSkipZero {
                    height = height.checked_sub(1)?;
                    past = if number(top)? == 0 { word.operand2 } else { 0 };
                } else {
                    *top = one(op, top, word, launch)?;
                }
            }
            _ => {
                height = height.checked_sub(1)?;
                let right = *stack.get(height)?;
                let left = stack.get_mut(height.checked_sub(1)?)?;
                *left = two(op, left, &right)?;
            }
        }
        let last = at.checked_add(past)?;
        if program.exprs.get(last as usize)?.flags & X_LAST != 0 {
            return stack.get(height.checked_sub(1)?).copied();
        }
        at = last.checked_add(1)?;
    }
}

/// The form of a word without operands.
fn leaf(op: XOp, word: &Word, launch: &Launch<'_>) -> Option<Affine> {
    match op {
        XOp::XConst => Some(Affine::constant(i64::from(word.operand2.cast_signed()))),
        XOp::XValue => launch.values.get(word.operand2 as usize).copied().map(Affine::constant),
        XOp::XLen => {
            launch.tables.get(word.operand2 as usize).map(|table| Affine::constant(table.len() as i64))
        }
        XOp::XVar => {
            let mut form = Affine::constant(0);
            *form.scales.get_mut(word.operand2 as usize)? = 1;
            Some(form)
        }
        _ => None,
    }
}

/// The form of an operation with one operand.
fn one(op: XOp, top: &Affine, word: &Word, launch: &Launch<'_>) -> Option<Affine> {
    match number(top) {
        Some(value) => unary(op, value, word, launch).ok().map(Affine::constant),
        None if op == XOp::XNeg => Affine::constant(0).plus(top, -1),
        None => None,
    }
}

/// The form of an operation with two operands.
fn two(op: XOp, left: &Affine, right: &Affine) -> Option<Affine> {
    match (op, number(left), number(right)) {
        (_, Some(left), Some(right)) => binary(op, left, right).ok().map(Affine::constant),
        (XOp::XAdd, ..) => left.plus(right, 1),
        (XOp::XSub, ..) => left.plus(right, -1),
        (XOp::XMul, Some(factor), None) => Affine::constant(0).plus(right, factor),
        (XOp::XMul, None, Some(factor)) => Affine::constant(0).plus(left, factor),
        _ => None,
    }
}

/// The value of a form without variables.
fn number(form: &Affine) -> Option<i64> {
    form.is_constant().then_some(form.offset)
}
