//! Expressions as sums of scaled variables.
//!
//! A form stands for its expression only while every variable lies within [`VARIABLE_BOUND`]: then no operation of the
//! expression overflows, as the scales and the offset of every sub-expression stay within that bound in sum. Parts without
//! variables are numbers, computed as they stand; a form without scales is one, and may be any.

use super::eval::unary;
use super::{Launch, MAX_EXPR_STACK, MAX_LOOP_DEPTH, Program, Word, X_LAST, XOp};
use crate::int::Affine;

/// Variables of forms lie in `[-2^31, 2^31)`.
pub const VARIABLE_BOUND: i64 = 1 << 31;
/// Scales and offset of a form with variables are at most this in sum.
const SCALE_BOUND: u64 = 1 << 31;

/// A form over the variables of loops, by depth.
pub type Form = Affine<i64, MAX_LOOP_DEPTH>;

/// Whether a variable lies where forms stand for their expressions.
#[inline]
pub fn is_within_bound(variable: i64) -> bool {
    (-VARIABLE_BOUND..VARIABLE_BOUND).contains(&variable)
}

/// Whether scales and offset are within their bound in sum, or there are no scales.
fn is_small(form: &Form) -> bool {
    let sum = form.scales.iter().fold(0u64, |sum, scale| sum.saturating_add(scale.unsigned_abs()));
    sum == 0 || sum.saturating_add(form.offset.unsigned_abs()) <= SCALE_BOUND
}

/// The form of an expression over loop variables; none if it has none, or a part without variables is at fault.
pub fn affine(program: &Program<'_>, launch: &Launch<'_>, expr: u32) -> Option<Form> {
    let mut stack = [Form::constant(0); MAX_EXPR_STACK];
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
                    past = if top.as_constant()? == 0 { word.operand2 } else { 0 };
                } else {
                    *top = one(op, top, word, launch)?;
                }
            }
            _ => {
                height = height.checked_sub(1)?;
                let right = *stack.get(height)?;
                let left = stack.get_mut(height.checked_sub(1)?)?;
                *left = Form::binary(op.operator()?, left, &right).filter(is_small)?;
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
fn leaf(op: XOp, word: &Word, launch: &Launch<'_>) -> Option<Form> {
    match op {
        XOp::XConst => Some(Form::constant(i64::from(word.operand2.cast_signed()))),
        XOp::XValue => launch.values.get(word.operand2 as usize).copied().map(Form::constant),
        XOp::XLen => {
            launch.tables.get(word.operand2 as usize).map(|table| Form::constant(table.len() as i64))
        }
        XOp::XVar => {
            let mut form = Form::constant(0);
            *form.scales.get_mut(word.operand2 as usize)? = 1;
            Some(form)
        }
        _ => None,
    }
}

/// The form of an operation with one operand.
fn one(op: XOp, top: &Form, word: &Word, launch: &Launch<'_>) -> Option<Form> {
    match top.as_constant() {
        Some(value) => unary(op, value, word, launch).ok().map(Form::constant),
        None if op == XOp::XNeg => top.times(-1),
        None => None,
    }
}
