//! Expressions along a loop: those that grow by the same number from every iteration to the next.
//!
//! An expression is evaluated once for all iterations of a loop. Every value on its stack is a line, a number for the
//! first iteration and what is added from one to the next, and is refused when some iteration's does not fit into 64 bits: an
//! operation of lines is monotone, so the first and the last iteration tell. An expression that faults in no iteration and
//! is a line all the way has thus the same value here as evaluated on its own.

use super::super::bounds::Bounds;
use super::super::eval::{Env, binary, unary};
use super::super::{Launch, MAX_EXPR_STACK, MAX_EXPR_WORDS, Program, Word, X_LAST, XOp};
use super::frame::Attrs;
use super::values::Scope;
use crate::SlotId;

/// What an expression is along a loop: `first + iteration * delta`, and it fits for every iteration of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Line {
    pub(super) first: i64,
    pub(super) delta: i64,
}

impl Line {
    /// The same in every iteration.
    pub(super) fn flat(first: i64) -> Line {
        Line { first, delta: 0 }
    }

    /// Its value in an iteration of the loop.
    #[inline]
    pub(super) fn at(&self, iteration: u64) -> i64 {
        self.first.wrapping_add(self.delta.wrapping_mul(iteration.cast_signed()))
    }

    /// The sum along a loop of so many iterations; none when it does not fit.
    pub(super) fn plus(self, other: Line, trip: u64) -> Option<Line> {
        Line::checked(self.first.checked_add(other.first), self.delta.checked_add(other.delta), trip)
    }

    /// The value that is the same in every iteration.
    fn constant(self) -> Option<i64> {
        (self.delta == 0).then_some(self.first)
    }

    fn times(self, scale: i64, trip: u64) -> Option<Line> {
        Line::checked(self.first.checked_mul(scale), self.delta.checked_mul(scale), trip)
    }

    /// The line from values that may not fit; none when one of `trip` iterations does not.
    fn checked(first: Option<i64>, delta: Option<i64>, trip: u64) -> Option<Line> {
        let (first, delta) = (first?, delta?);
        let last = i64::try_from(trip.saturating_sub(1)).ok()?;
        first.checked_add(delta.checked_mul(last)?)?;
        Some(Line { first, delta })
    }
}

/// A loop that is about to be entered, along which expressions are followed.
#[derive(Clone, Copy)]
pub(super) struct Along<'s, 'a> {
    pub(super) program: &'s Program<'a>,
    pub(super) launch: &'s Launch<'a>,
    /// Variables outside; the loop's own is the next.
    pub(super) scope: &'s Scope,
    pub(super) attrs: Attrs,
    /// The loop's axis.
    pub(super) axis: u32,
    pub(super) bounds: &'s Bounds,
}

/// Variables, and slots without values.
pub(super) struct Quiet<'s>(pub(super) &'s Scope);

impl Env for Quiet<'_> {
    #[inline]
    fn var(&self, depth: u16) -> i64 {
        self.0.var(depth)
    }

    #[inline]
    fn pos(&self, depth: u16) -> i64 {
        self.0.pos(depth)
    }

    fn axis(&self, axis: u16) -> i64 {
        self.0.axis(axis)
    }

    fn slot(&mut self, _: SlotId) -> Option<i64> {
        None
    }
}

impl Along<'_, '_> {
    /// A variable along the loop; none when it is no line.
    #[inline]
    pub(super) fn variable(&self, depth: u16) -> Option<Line> {
        if usize::from(depth) != self.scope.depth {
            return Some(Line::flat(self.scope.var(depth)));
        }
        (!self.bounds.is_sparse()).then_some(self.index())
    }

    /// An expression along the loop; none when it is no line, or at fault in some iteration, or names a slot.
    #[inline]
    pub(super) fn line(&self, expr: u32) -> Option<Line> {
        let word = self.program.exprs.get(expr as usize)?;
        if word.flags & X_LAST != 0 {
            return self.leaf(word, XOp::from_code(word.opcode)?);
        }
        self.words(expr as usize)
    }

    /// An expression of several words.
    fn words(&self, expr: usize) -> Option<Line> {
        let mut stack = [Line::default(); MAX_EXPR_STACK];
        let (mut height, mut at) = (0usize, expr);
        for _ in 0..MAX_EXPR_WORDS {
            let word = self.program.exprs.get(at)?;
            let op = XOp::from_code(word.opcode)?;
            let mut past = 0usize;
            let value = match op.operands() {
                0 if op == XOp::XSkip => {
                    past = word.operand2 as usize;
                    None
                }
                0 => Some(self.leaf(word, op)?),
                1 => {
                    height = height.checked_sub(1)?;
                    let top = *stack.get(height)?;
                    if op == XOp::XSkipZero {
                        past = if top.constant()? == 0 { word.operand2 as usize } else { 0 };
                        None
                    } else {
                        Some(self.unary(word, op, top)?)
                    }
                }
                _ => {
                    let right = *stack.get(height.checked_sub(1)?)?;
                    height = height.checked_sub(2)?;
                    Some(combined(op, *stack.get(height)?, right, self.bounds.trip)?)
                }
            };
            if let Some(value) = value {
                *stack.get_mut(height)? = value;
                height = height.checked_add(1)?;
            }
            at = at.checked_add(past)?;
            if self.program.exprs.get(at)?.flags & X_LAST != 0 {
                return stack.get(height.checked_sub(1)?).copied();
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// The loop's index: of a SELECT the position.
    fn index(&self) -> Line {
        Line { first: self.bounds.start, delta: self.bounds.step }
    }

    #[inline]
    fn leaf(&self, word: &Word, op: XOp) -> Option<Line> {
        let operand = word.operand2 as u16;
        match op {
            XOp::XConst => Some(Line::flat(i64::from(word.operand2.cast_signed()))),
            XOp::XValue => self.launch.values.get(usize::from(operand)).map(|value| Line::flat(*value)),
            XOp::XLen => self.launch.tables.get(usize::from(operand)).map(|t| Line::flat(t.len() as i64)),
            XOp::XVar => self.variable(operand),
            XOp::XPos if usize::from(operand) == self.scope.depth => Some(self.index()),
            XOp::XPos => Some(Line::flat(self.scope.pos(operand))),
            XOp::XAxis if word.operand2 == self.axis => self.variable(self.scope.depth as u16),
            XOp::XAxis => Some(Line::flat(self.scope.axis(operand))),
            _ => None,
        }
    }

    fn unary(&self, word: &Word, op: XOp, top: Line) -> Option<Line> {
        match op {
            XOp::XNeg => Line::checked(top.first.checked_neg(), top.delta.checked_neg(), self.bounds.trip),
            _ => unary(op, top.constant()?, word, self.launch).ok().map(Line::flat),
        }
    }
}

/// What an operation of two lines gives.
fn combined(op: XOp, left: Line, right: Line, trip: u64) -> Option<Line> {
    match op {
        XOp::XAdd => left.plus(right, trip),
        XOp::XSub => {
            let (first, delta) = (left.first.checked_sub(right.first), left.delta.checked_sub(right.delta));
            Line::checked(first, delta, trip)
        }
        XOp::XMul => match (left.constant(), right.constant()) {
            (_, Some(scale)) => left.times(scale, trip),
            (Some(scale), None) => right.times(scale, trip),
            (None, None) => None,
        },
        _ => binary(op, left.constant()?, right.constant()?).ok().map(Line::flat),
    }
}
