//! Conditions, counts and offsets.

use super::Maker;
use wsp_core::tg::{Scalar, ScalarType};
use wsp_ir::tg::{Expr, IntoOperand};

impl Maker<'_, '_> {
    /// Something that is known before a graph runs, or a loop variable around the place.
    pub(super) fn scalar_of_binding(&mut self) -> Expr {
        let inside = self.current.inside;
        match self.choices.below(4) {
            0 if inside => Expr::iteration(),
            1 => self.arg().unwrap_or_else(|| Expr::from(1)),
            2 => Expr::device(),
            _ => self.iter().unwrap_or_else(|| Expr::from(3)),
        }
    }

    fn arg(&mut self) -> Option<Expr> {
        self.choices.pick(&self.args).copied().map(Expr::from)
    }

    fn iter(&mut self) -> Option<Expr> {
        self.choices.pick(&self.iters).copied().map(Expr::from)
    }

    /// A condition.
    pub(super) fn condition(&mut self) -> Scalar {
        let expr = match self.choices.below(6) {
            0 => Expr::from(self.choices.below(2) as i64),
            1 | 2 => self.load().unwrap_or_else(Expr::devices),
            _ => self.expression(2),
        };
        expr.into_operand(&mut self.b)
    }

    fn load(&mut self) -> Option<Expr> {
        if !self.current.inside {
            return None;
        }
        let tensor = self.readable()?;
        let ty = ScalarType::ALL[self.choices.below(if self.is_run() { 3 } else { 5 })].0;
        Some(Expr::load(tensor, 8 * self.choices.below(4) as i64, ty))
    }

    fn expression(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.choices.is_spent() {
            return match self.choices.below(3) {
                0 => Expr::from(self.choices.below(5) as i64 - 1),
                _ => self.scalar_of_binding(),
            };
        }
        let left = self.expression(depth - 1);
        let kind = self.choices.below(18);
        if kind == 0 {
            return -left;
        }
        if kind == 1 {
            return left.is_zero();
        }
        // Division is by what is not 0.
        let right = if kind < 4 { Expr::from(3) } else { self.expression(depth - 1) };
        match kind {
            2 => left / right,
            3 => left % right,
            4 => left + right,
            5 => left - right,
            6 => left * right,
            7 => left.min(right),
            8 => left.max(right),
            9 => left.equals(right),
            10 => left.differs(right),
            11 => left.less(right),
            12 => left.at_most(right),
            13 => left.greater(right),
            14 => left.at_least(right),
            15 => left.and(right),
            _ => left.or(right),
        }
    }

    /// A small count.
    pub(super) fn count(&mut self) -> Scalar {
        let expr = match self.choices.below(4) {
            0 => (self.scalar_of_binding() % 4).max(0),
            _ => Expr::from(self.choices.below(4) as i64),
        };
        expr.into_operand(&mut self.b)
    }
}
