//! The shape of an expression: that each operation has its operands, and that skips belong to `and` and `or`.
//!
//! `a && b` is stored as the operations of `a`, a skip, those of `b` and [`ExprOp::And`]. The skip looks at the value of `a`, leaves it where it
//! is, and goes past the rest of them when it decides. Whoever goes through the operations in order without regard to skips therefore meets the
//! same stack, with `and` and `or` as operators of two values.

use super::eval::MAX_EXPR_STACK;
use super::scalar::ExprOp;

/// What is wrong with the shape of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeFault {
    /// An operation takes a value that nothing before it gives.
    TooFew,
    /// More than [`MAX_EXPR_STACK`] values at a time.
    TooDeep,
    /// A skip that does not lead behind the `and` or `or` whose left side it looks at, or one of these without its skip.
    Skip,
    /// It gives so many values instead of 1.
    Values(usize),
}

/// A skip under way.
#[derive(Clone, Copy, Default)]
struct Open {
    /// Where its `and` or `or` stands.
    closes: usize,
    /// How many values there are with the left side.
    height: usize,
    is_or: bool,
}

/// The shape of the operations so far.
#[derive(Clone, Default)]
pub struct Shape {
    at: usize,
    height: usize,
    open: Opens,
    skips: usize,
}

/// Each open skip has a value of its own on the stack.
#[derive(Clone)]
struct Opens([Open; MAX_EXPR_STACK]);

impl Default for Opens {
    fn default() -> Opens {
        Opens([Open::default(); MAX_EXPR_STACK])
    }
}

impl Shape {
    /// The shape of a whole expression, without its end.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(ops: &[ExprOp]) -> Result<(), ShapeFault> {
        let mut shape = Shape::default();
        ops.iter().try_for_each(|op| shape.step(*op))?;
        shape.end()
    }

    /// Takes the next operation.
    ///
    /// # Errors
    ///
    /// It cannot stand here.
    #[inline]
    pub fn step(&mut self, op: ExprOp) -> Result<(), ShapeFault> {
        let at = self.at;
        self.at = at.wrapping_add(1);
        match op {
            ExprOp::SkipZero(past) | ExprOp::SkipNonZero(past) => return self.skip(op, at, past),
            ExprOp::And | ExprOp::Or => self.close(op, at)?,
            _ => {}
        }
        let rest = self.height.checked_sub(op.operands()).ok_or(ShapeFault::TooFew)?;
        if self.innermost().is_some_and(|skip| rest < skip.height) {
            return Err(ShapeFault::TooFew);
        }
        self.height = rest.wrapping_add(1);
        if self.height > MAX_EXPR_STACK { Err(ShapeFault::TooDeep) } else { Ok(()) }
    }

    /// Whether the next operation is one that a skip may go past.
    #[inline]
    pub fn is_guarded(&self) -> bool {
        self.skips > 0
    }

    /// Ends the expression.
    ///
    /// # Errors
    ///
    /// It does not give one value, or a skip leads out of it.
    pub fn end(&self) -> Result<(), ShapeFault> {
        match self.height {
            _ if self.is_guarded() => Err(ShapeFault::Skip),
            1 => Ok(()),
            values => Err(ShapeFault::Values(values)),
        }
    }

    fn innermost(&self) -> Option<Open> {
        self.skips.checked_sub(1).and_then(|last| self.open.0.get(last)).copied()
    }

    fn skip(&mut self, op: ExprOp, at: usize, past: u32) -> Result<(), ShapeFault> {
        let floor = self.innermost().map_or(0, |skip| skip.height);
        if self.height <= floor {
            return Err(ShapeFault::TooFew);
        }
        let closes = at.wrapping_add(past as usize);
        let skip = Open { closes, height: self.height, is_or: matches!(op, ExprOp::SkipNonZero(_)) };
        *self.open.0.get_mut(self.skips).ok_or(ShapeFault::TooDeep)? = skip;
        self.skips = self.skips.wrapping_add(1);
        Ok(())
    }

    /// Closes the innermost skip, which has to be that of this `and` or `or`.
    fn close(&mut self, op: ExprOp, at: usize) -> Result<(), ShapeFault> {
        let skip = self.innermost().ok_or(ShapeFault::Skip)?;
        let is_its = skip.closes == at && skip.is_or == matches!(op, ExprOp::Or);
        if !is_its || self.height != skip.height.wrapping_add(1) {
            return Err(ShapeFault::Skip);
        }
        self.skips = self.skips.wrapping_sub(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ExprOp::{Add, And, Const, Device, Neg, Or, SkipNonZero, SkipZero};
    use super::*;

    #[test]
    fn a_skip_belongs_to_the_operator_whose_left_side_it_looks_at() {
        for ops in [
            &[Device, SkipZero(2), Device, And][..],
            &[Device, SkipNonZero(5), Device, SkipZero(2), Device, And, Or],
            &[Const(4), Device, SkipZero(2), Device, And, Add],
        ] {
            assert_eq!(Shape::check(ops), Ok(()), "{ops:?}");
        }
    }

    #[test]
    fn what_a_skip_would_leave_unbalanced_is_refused() {
        for ops in [
            &[Device, Device, And][..],
            &[Device, SkipNonZero(2), Device, And],
            &[Device, SkipZero(1), Device, And],
            &[Device, SkipZero(3), Device, And, Neg],
            &[Device, SkipZero(4), Device, And],
            &[Device, SkipZero(u32::MAX), Device, And],
            &[Device, SkipZero(0)],
            &[Device, SkipNonZero(4), Device, SkipZero(2), Device, And, Or],
            &[Device, Device, SkipZero(2), Device, Device, And],
            &[Device, Device, SkipZero(2), Add, And],
            &[SkipZero(2), Device, And],
            &[Device, SkipZero(3), SkipZero(2), Device, And],
        ] {
            assert!(Shape::check(ops).is_err(), "{ops:?}");
        }
    }

    #[test]
    fn an_expression_gives_one_value_and_keeps_no_more_than_fit() {
        assert_eq!(Shape::check(&[]), Err(ShapeFault::Values(0)));
        assert_eq!(Shape::check(&[Device, Device]), Err(ShapeFault::Values(2)));
        assert_eq!(Shape::check(&[Device, Add]), Err(ShapeFault::TooFew));
        assert_eq!(Shape::check(&[Device; MAX_EXPR_STACK + 1]), Err(ShapeFault::TooDeep));
    }
}
