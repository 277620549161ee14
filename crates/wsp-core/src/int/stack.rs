//! The stack of expressions in postfix order, whatever their words are.

use super::{BinOp, Fault, Int};

/// Values under way, at most `N`.
pub(crate) struct Stack<const N: usize> {
    items: [i64; N],
    height: usize,
}

impl<const N: usize> Stack<N> {
    #[inline]
    pub(crate) fn new() -> Stack<N> {
        Stack { items: [0; N], height: 0 }
    }

    /// How many values there are.
    #[inline]
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// Puts a value on top; none when there is no room.
    #[inline]
    pub(crate) fn push(&mut self, value: i64) -> Option<()> {
        *self.items.get_mut(self.height)? = value;
        self.height = self.height.wrapping_add(1);
        Some(())
    }

    /// The value on top, if there is one.
    #[inline]
    pub(crate) fn top(&mut self) -> Option<&mut i64> {
        self.height.checked_sub(1).and_then(|top| self.items.get_mut(top))
    }

    /// Takes the value on top, if there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<i64> {
        self.height = self.height.checked_sub(1)?;
        self.items.get(self.height).copied()
    }

    /// Replaces the two values on top by what an operator makes of them; none when there are not two. A fault comes with the two.
    #[inline]
    pub(crate) fn binary(&mut self, op: BinOp) -> Option<Result<(), (Fault, i64, i64)>> {
        let right = self.pop()?;
        let left = self.top()?;
        Some(match i64::binary(op, *left, right) {
            Ok(value) => {
                *left = value;
                Ok(())
            }
            Err(fault) => Err((fault, *left, right)),
        })
    }
}
