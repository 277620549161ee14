//! Expressions: their words once for the whole pool, their stack wherever one is named.

use super::super::{
    AxisForm, MAX_EXPR_STACK, MAX_EXPR_WORDS, MAX_LOOP_DEPTH, Operand, Program, Word, X_LAST, XOPS, XOp,
};
use super::rule::{Allowed, Checked, Place, Rule, below, broken, zero};

/// What an expression may name.
#[derive(Clone, Copy)]
pub(super) enum Over {
    /// What is known in a body: this many variables, and which of them are those of SELECTs.
    Body { vars: u8, selects: u16 },
    /// Indices of axes.
    Axes,
    /// Nothing but values and tables.
    Launch,
}

/// Pops and pushes by code, so that checking a word takes no search.
const STACK: [(u8, u8); 256] = {
    let mut table = [(0, 0); 256];
    let mut at = 0;
    while at < XOPS.len() {
        table[XOPS[at].op.code() as usize] = (XOPS[at].pops, XOPS[at].pushes);
        at += 1;
    }
    table
};

/// Mark of a word that no way through the expression has led to.
const UNREACHED: u8 = u8::MAX;

/// Checks every word of the pool by itself.
pub(super) fn pool(program: &Program<'_>) -> Checked {
    for (at, word) in (0u32..).zip(program.exprs) {
        let place = Place::Expr(at);
        let Some(op) = XOp::from_code(word.opcode) else {
            return broken(Rule::V28, place, word.opcode, Allowed::Named);
        };
        if word.flags & !X_LAST != 0 {
            return broken(Rule::V29, place, word.flags, Allowed::AtMost(i64::from(X_LAST)));
        }
        zero(place, u32::from(word.operand1))?;
        operand(program, place, op, word.operand2)?;
    }
    Ok(())
}

fn operand(program: &Program<'_>, place: Place, op: XOp, value: u32) -> Checked {
    let counts = &program.counts;
    match op.info().operand {
        Operand::None => zero(place, value),
        Operand::Value => below(place, value, usize::from(counts.values)),
        Operand::Table => below(place, value, usize::from(counts.tables)),
        Operand::Slot => below(place, value, usize::from(counts.slots)),
        Operand::Depth => depth(place, value, MAX_LOOP_DEPTH),
        Operand::Axis => match program.axes.get(value as usize) {
            None => below(place, value, program.axes.len()),
            Some(axis) if axis.form == AxisForm::Range as u8 => {
                broken(Rule::V38, place, value, Allowed::Named)
            }
            Some(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses the depth of a variable that is not in scope.
pub(super) fn depth(place: Place, value: u32, vars: usize) -> Checked {
    let vars = i64::try_from(vars).unwrap_or(i64::MAX);
    if i64::from(value) < vars { Ok(()) } else { broken(Rule::V23, place, value, Allowed::Below(vars)) }
}

/// Checks the expression that begins at a word of the pool, whose words [`pool`] has checked. `user` is who names it.
pub(super) fn check(program: &Program<'_>, user: Place, first: u32, over: Over) -> Checked {
    let Some(tail) = program.exprs.get(first as usize..).filter(|tail| !tail.is_empty()) else {
        return below(user, first, program.exprs.len());
    };
    let Some(words) = expression(tail) else {
        return broken(Rule::V30, Place::Expr(first), first, Allowed::Named);
    };
    let mut heights = [UNREACHED; MAX_EXPR_WORDS + 1];
    let Some(heights) = heights.get_mut(..=words.len()) else { return Ok(()) };
    meet(heights, 0, 0, Place::Expr(first))?;
    for (at, word) in words.iter().enumerate() {
        let place = Place::Expr(first.saturating_add(at as u32));
        let before = heights.get(at).copied().unwrap_or(UNREACHED);
        if before == UNREACHED {
            return broken(Rule::V35, place, word.opcode, Allowed::Named);
        }
        names(place, word, over)?;
        let after = step(place, word, before)?;
        let skip = usize::try_from(word.operand2).unwrap_or(usize::MAX);
        let next = at.saturating_add(1);
        match XOp::from_code(word.opcode) {
            Some(XOp::XSkip) => meet(heights, next.saturating_add(skip), after, place)?,
            Some(XOp::XSkipZero) => {
                meet(heights, next, after, place)?;
                meet(heights, next.saturating_add(skip), after, place)?;
            }
            _ => meet(heights, next, after, place)?,
        }
    }
    match heights.last() {
        Some(1) => Ok(()),
        Some(height) => broken(Rule::V31, Place::Expr(first), *height, Allowed::Exactly(1)),
        None => Ok(()),
    }
}

/// The words of the expression that `tail` begins with.
fn expression(tail: &[Word]) -> Option<&[Word]> {
    let last = tail.iter().take(MAX_EXPR_WORDS).position(|word| word.flags & X_LAST != 0)?;
    tail.get(..=last)
}

/// The height of the stack behind a word.
fn step(place: Place, word: &Word, height: u8) -> Checked<u8> {
    let (pops, pushes) = STACK[usize::from(word.opcode)];
    let Some(left) = height.checked_sub(pops) else {
        return broken(Rule::V31, place, height, Allowed::AtLeast(i64::from(pops)));
    };
    let after = left.saturating_add(pushes);
    if usize::from(after) > MAX_EXPR_STACK {
        return broken(Rule::V32, place, after, Allowed::AtMost(MAX_EXPR_STACK as i64));
    }
    Ok(after)
}

/// Notes that a way leads to a word with a stack of this height.
fn meet(heights: &mut [u8], at: usize, height: u8, from: Place) -> Checked {
    let words = heights.len().saturating_sub(1);
    let Some(there) = heights.get_mut(at) else {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        return broken(Rule::V33, from, at, Allowed::AtMost(i64::try_from(words).unwrap_or(i64::MAX)));
    };
    if *there != UNREACHED && *there != height {
        return broken(Rule::V34, from, height, Allowed::Exactly(i64::from(*there)));
    }
    *there = height;
    Ok(())
}

/// Refuses a word that names what is not known where the expression is evaluated.
fn names(place: Place, word: &Word, over: Over) -> Checked {
    let Some(op) = XOp::from_code(word.opcode) else { return Ok(()) };
    let unknown = broken(Rule::V36, place, word.opcode, Allowed::Named);
    match (op, over) {
        (XOp::XVar, Over::Body { vars, .. }) => depth(place, word.operand2, usize::from(vars)),
        (XOp::XPos, Over::Body { vars, selects }) => {
            depth(place, word.operand2, usize::from(vars))?;
            match selects.checked_shr(word.operand2) {
                Some(bits) if bits & 1 == 1 => Ok(()),
                _ => broken(Rule::V37, place, word.operand2, Allowed::Named),
            }
        }
        (XOp::XSlot, Over::Body { .. }) | (XOp::XAxis, Over::Axes) => Ok(()),
        (XOp::XVar | XOp::XPos | XOp::XSlot | XOp::XAxis, _) => unknown,
        _ => Ok(()),
    }
}
