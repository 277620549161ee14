//! Expressions along loops: those that grow by the same number from every iteration to the next.
//!
//! An expression is evaluated once for all iterations of a loop, or of a few loops that stand directly in each other. Every value
//! on its stack is a line: a number for the first iteration, and for each loop what is added from one iteration to the next. A
//! line whose smallest or largest value does not fit into 64 bits is refused. An expression that is a line all the way is
//! thus at fault in no iteration, and has the same values here as evaluated on its own.

use super::super::bounds::Bounds;
use super::super::eval::{Env, unary};
use super::super::{Launch, MAX_EXPR_STACK, MAX_EXPR_WORDS, Program, Word, X_LAST, XOp};
use super::frame::Attrs;
use super::values::LoopVars;
use crate::SlotId;
use crate::int::Affine;

/// Most loops that are followed at once.
pub(super) const LEVELS: usize = 3;

/// A loop that is followed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoopLevel {
    pub(super) bounds: Bounds,
    pub(super) axis: u32,
}

/// What an expression is along loops, the innermost first: its value in the first iteration plus, of each, its iteration times its scale.
pub(super) type Line = Affine<i64, LEVELS>;

/// Loops that are about to be entered, along which expressions are followed.
#[derive(Clone, Copy)]
pub(super) struct Along<'s, 'a> {
    pub(super) program: &'s Program<'a>,
    pub(super) launch: &'s Launch<'a>,
    /// Variables outside; those of the loops are the next.
    pub(super) scope: &'s LoopVars,
    pub(super) attrs: Attrs,
    /// The loops, the innermost first. Each has an iteration.
    pub(super) levels: &'s [LoopLevel],
}

/// Variables, and slots without values.
pub(super) struct Quiet<'s>(pub(super) &'s LoopVars);

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
    /// A variable along the loops; none when it is no line.
    #[inline]
    pub(super) fn variable(&self, depth: u16) -> Option<Line> {
        let Some(inside) = usize::from(depth).checked_sub(self.scope.depth) else {
            return Some(Line::constant(self.scope.var(depth)));
        };
        let level = self.levels.len().checked_sub(inside.wrapping_add(1))?;
        let bounds = &self.levels.get(level)?.bounds;
        if bounds.is_sparse() { None } else { index(bounds, level) }
    }

    /// A position along the loops.
    fn position(&self, depth: u16) -> Option<Line> {
        let Some(inside) = usize::from(depth).checked_sub(self.scope.depth) else {
            return Some(Line::constant(self.scope.pos(depth)));
        };
        let level = self.levels.len().checked_sub(inside.wrapping_add(1))?;
        index(&self.levels.get(level)?.bounds, level)
    }

    /// The innermost variable over an axis along the loops.
    fn axis(&self, axis: u32) -> Option<Line> {
        match self.levels.iter().position(|level| level.axis == axis) {
            Some(level) => {
                let bounds = &self.levels.get(level)?.bounds;
                if bounds.is_sparse() { None } else { index(bounds, level) }
            }
            None => Some(Line::constant(self.scope.axis(axis as u16))),
        }
    }

    /// The smallest and the largest value of a line; none when they do not fit.
    pub(super) fn range(&self, line: &Line) -> Option<(i64, i64)> {
        line.range(self.levels.iter().map(|level| level.bounds.trip.saturating_sub(1)))
    }

    /// A line whose values fit in every iteration.
    fn fitting(&self, line: Option<Line>) -> Option<Line> {
        line.filter(|line| self.range(line).is_some())
    }

    /// The sum; none when it does not fit.
    pub(super) fn plus(&self, left: Line, right: Line) -> Option<Line> {
        self.fitting(left.plus(&right))
    }

    /// The difference; none when it does not fit.
    pub(super) fn minus(&self, left: Line, right: Line) -> Option<Line> {
        self.fitting(left.minus(&right))
    }

    /// An expression along the loops; none when it is no line, or at fault in some iteration, or names a slot.
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
                        past = if top.as_constant()? == 0 { word.operand2 as usize } else { 0 };
                        None
                    } else {
                        Some(self.unary(word, op, top)?)
                    }
                }
                _ => {
                    let right = *stack.get(height.checked_sub(1)?)?;
                    height = height.checked_sub(2)?;
                    Some(self.fitting(Line::binary(op.operator()?, stack.get(height)?, &right))?)
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

    #[inline]
    fn leaf(&self, word: &Word, op: XOp) -> Option<Line> {
        let operand = word.operand2 as u16;
        match op {
            XOp::XConst => Some(Line::constant(i64::from(word.operand2.cast_signed()))),
            XOp::XValue => self.launch.values.get(usize::from(operand)).map(|value| Line::constant(*value)),
            XOp::XLen => self.launch.tables.get(usize::from(operand)).map(|t| Line::constant(t.len() as i64)),
            XOp::XVar => self.variable(operand),
            XOp::XPos => self.position(operand),
            XOp::XAxis => self.axis(word.operand2),
            _ => None,
        }
    }

    fn unary(&self, word: &Word, op: XOp, top: Line) -> Option<Line> {
        match op {
            XOp::XNeg => self.minus(Line::constant(0), top),
            _ => unary(op, top.as_constant()?, word, self.launch).ok().map(Line::constant),
        }
    }
}

/// The index of a loop along itself: of a SELECT the position.
fn index(bounds: &Bounds, level: usize) -> Option<Line> {
    let mut line = Line::constant(bounds.start);
    *line.scales.get_mut(level)? = bounds.step;
    Some(line)
}
