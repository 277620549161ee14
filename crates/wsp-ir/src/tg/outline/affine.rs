//! Scalars that are sums of multiples of variables, and the values that they take.

use super::{BlockId, BlockKind, Outline};
use crate::tg::TgModule;
use wsp_core::int::Range;
use wsp_core::tg::{ExprOp, Instr, IterNo, Scalar, binary};

/// What a scalar may depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    /// The variable of a loop.
    Loop(IterNo),
    /// A declared scalar: the place of its declaration.
    Arg(u32),
    /// The number that `TG_INVOKE` gives.
    Iteration,
    /// The number of the device.
    Device,
    /// How many devices there are.
    Devices,
}

/// A sum of multiples of what scalars depend on.
pub type Affine<V = Variable> = crate::affine::Affine<V>;

impl Affine {
    /// What an operation of expressions makes of the values on a stack, of which `None` is any other value. `false` if the
    /// stack is too short. Skips leave it as it is: what they look at is the left side of the operator that follows.
    pub(crate) fn step(op: ExprOp, stack: &mut Vec<Option<Affine>>) -> bool {
        if matches!(op, ExprOp::SkipZero(_) | ExprOp::SkipNonZero(_)) {
            return !stack.is_empty();
        }
        let Some(rest) = stack.len().checked_sub(op.operands()) else { return false };
        let mut operands = stack.drain(rest..);
        let value = match (op, operands.next().flatten(), operands.next().flatten()) {
            (ExprOp::Const(value), ..) => Some(Affine::constant(value)),
            (ExprOp::Iter(iter), ..) => Some(Affine::variable(Variable::Loop(iter))),
            (ExprOp::Arg(arg), ..) => Some(Affine::variable(Variable::Arg(arg))),
            (ExprOp::Iteration, ..) => Some(Affine::variable(Variable::Iteration)),
            (ExprOp::Device, ..) => Some(Affine::variable(Variable::Device)),
            (ExprOp::Devices, ..) => Some(Affine::variable(Variable::Devices)),
            (ExprOp::Neg, Some(a), _) => a.times(-1),
            (ExprOp::Add, Some(a), Some(b)) => a.add(&b),
            (ExprOp::Sub, Some(a), Some(b)) => a.minus(&b),
            (ExprOp::Mul, Some(a), Some(b)) => a.multiply(&b),
            // One side may decide whatever the other is.
            (ExprOp::And, a, b) if [&a, &b].into_iter().any(|side| is_constant(side, |value| value == 0)) => {
                Some(Affine::constant(0))
            }
            (ExprOp::Or, a, b) if [&a, &b].into_iter().any(|side| is_constant(side, |value| value != 0)) => {
                Some(Affine::constant(1))
            }
            (op, Some(a), Some(b)) => Affine::of_constants(op, &a, &b),
            _ => None,
        };
        drop(operands);
        stack.push(value);
        true
    }

    /// What an operation that knows no variables makes of two constants.
    fn of_constants(op: ExprOp, a: &Affine, b: &Affine) -> Option<Affine> {
        let constant = |of: &Affine| i64::try_from(of.as_constant()?).ok();
        binary(op, constant(a)?, constant(b)?).ok().map(Affine::constant)
    }

    /// The value of operations as a sum of multiples of variables, if it is one.
    pub fn of_ops(ops: impl IntoIterator<Item = ExprOp>) -> Option<Affine> {
        let mut stack = Vec::new();
        let whole = ops.into_iter().all(|op| Affine::step(op, &mut stack));
        stack.pop().flatten().filter(|_| whole && stack.is_empty())
    }

    /// A scalar as a sum of multiples of variables, if it is one.
    pub fn of(module: &TgModule, scalar: Scalar) -> Option<Affine> {
        Affine::of_where(module, scalar, &[])
    }

    /// The same with values in the place of some variables.
    pub fn of_where(module: &TgModule, scalar: Scalar, values: &[(Variable, i64)]) -> Option<Affine> {
        match scalar {
            Scalar::Const(value) => Some(Affine::constant(value)),
            Scalar::Expr(expr) => {
                let mut stack = Affine::stack(module.expr(expr), values)?;
                stack.pop().flatten().filter(|_| stack.is_empty())
            }
        }
    }

    /// What is on top of the stack behind some operations of an expression, with values in the place of some variables.
    pub fn on_top(ops: &[ExprOp], values: &[(Variable, i64)]) -> Option<Affine> {
        Affine::stack(ops, values)?.pop().flatten()
    }

    fn stack(ops: &[ExprOp], values: &[(Variable, i64)]) -> Option<Vec<Option<Affine>>> {
        let mut stack = Vec::new();
        for &op in ops {
            if !Affine::step(op, &mut stack) {
                return None;
            }
            if let Some(Some(top)) = stack.last_mut()
                && let Some(&(_, value)) =
                    values.iter().find(|(variable, _)| *top == Affine::variable(*variable))
            {
                *top = Affine::constant(value);
            }
        }
        Some(stack)
    }
}

/// Whether a value is a constant of which something holds.
fn is_constant(value: &Option<Affine>, holds: impl Fn(i128) -> bool) -> bool {
    value.as_ref().and_then(Affine::as_constant).is_some_and(holds)
}

impl Outline {
    /// The loop around a block that counts with a variable.
    pub fn loop_of(&self, module: &TgModule, block: BlockId, iter: IterNo) -> Option<BlockId> {
        let counts = |open: u32| matches!(module.instrs.get(open as usize), Some(Instr::CfLoop { iterator, .. }) if *iterator == iter);
        self.blocks
            .outwards(block)
            .find(|(_, around)| around.kind == BlockKind::Loop && counts(around.open))
            .map(|(id, _)| id)
    }

    /// The constant count of a loop.
    pub fn count_of(&self, module: &TgModule, block: BlockId) -> Option<i64> {
        match module.instrs.get(self.blocks.get(block).open as usize) {
            Some(Instr::CfLoop { count, .. }) => {
                i64::try_from(Affine::of(module, *count)?.as_constant()?).ok()
            }
            _ => None,
        }
    }

    /// The extremes of a scalar in a block, if all its variables are those of loops that run a constant number of times, at
    /// least once.
    pub fn extremes(&self, module: &TgModule, block: BlockId, value: &Affine) -> Option<Range> {
        let mut extremes = Range::point(value.constant);
        for &(variable, factor) in &value.terms {
            let Variable::Loop(iter) = variable else { return None };
            let counted = self.loop_of(module, block, iter)?;
            let last = self.count_of(module, counted).filter(|count| *count > 0)? - 1;
            extremes = extremes.plus_steps(factor, i128::from(last))?;
        }
        Some(extremes)
    }

    /// Whether every value that a scalar may take in a block by its variables is taken whenever the outermost of their
    /// loops runs: nothing between decides or leaves.
    pub fn takes_all(&self, module: &TgModule, block: BlockId, value: &Affine) -> bool {
        let loops = value.terms.iter().filter_map(|term| match term.0 {
            Variable::Loop(iter) => self.loop_of(module, block, iter),
            _ => None,
        });
        let outermost = loops.min();
        let Some(outermost) = outermost else { return true };
        let mut within = self.blocks.outwards(block).take_while(|(id, _)| *id >= outermost);
        within.all(|(id, around)| {
            around.kind == BlockKind::Loop
                && !around.breaks
                && self.count_of(module, id).is_some_and(|count| count > 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `X && 0` is 0 and `X || 2` is 1 whatever X is, on either side; with the other numbers X decides.
    #[test]
    fn a_side_that_decides_is_the_value_whatever_the_other_side_is() {
        use ExprOp::{And, Const, Device, Div, Or, SkipNonZero, SkipZero};
        let open = [Device, Device, Div];
        for (op, skip, number, value) in [
            (And, SkipZero(0), 0, Some(0)),
            (And, SkipZero(0), 2, None),
            (Or, SkipNonZero(0), 2, Some(1)),
            (Or, SkipNonZero(0), 0, None),
        ] {
            let right = open.into_iter().chain([skip, Const(number), op]);
            let left = [Const(number), skip].into_iter().chain(open).chain([op]);
            let found = [Affine::of_ops(right), Affine::of_ops(left)];
            let found = found.map(|value| value.and_then(|value| value.as_constant()));
            assert_eq!(found, [value, value], "{op:?} {number}");
        }
    }
}
