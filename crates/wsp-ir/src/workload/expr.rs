//! Integer expressions of workloads.

use crate::CHAINED;
use wsp_core::int::{BinOp, UnOp};
use wsp_core::{AxisId, ParamId, SlotId, TableId, VarId};
use wsp_diag::Span;

/// An integer expression: 64-bit, checked. Truth values are 0 and 1; anything but 0 is true.
#[derive(Clone, PartialEq, Debug)]
pub struct IntExpr {
    /// What it computes.
    pub kind: IntExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum IntExprKind {
    /// A number.
    Const(i64),
    /// A parameter of the module.
    Param(ParamId),
    /// A variable of the workload that the expression stands in: a loop's, or a formal argument.
    Var(VarId),
    /// The value of a slot once every task before this point that writes it is complete. Not allowed in accesses of tasks
    /// that write the same slot, nor in schedules, axes, extents and parameters.
    Slot(SlotId),
    /// In schedules only: the index of the innermost loop over this axis around the task, 0 when there is none.
    Axis(AxisId),
    /// An element of a table; an index outside it is a fault.
    Table(TableId, Box<IntExpr>),
    /// The number of elements of a table.
    TableLen(TableId),
    /// One operand.
    Unary(UnOp, Box<IntExpr>),
    /// Two operands; a division by 0 is a fault. No operator of bits, see [`BinOp::is_bitwise`].
    Binary(BinOp, Box<IntExpr>, Box<IntExpr>),
    /// Additions and subtractions, or multiplications, divisions and remainders, from left to right: `((a + b) - c) + d`. A sum of
    /// thousands of terms is one node, since trees nest at most [`MAX_NESTING`](wsp_core::limits::MAX_NESTING) deep; short ones are
    /// [`Binary`](IntExprKind::Binary).
    Chain(Box<IntExpr>, Vec<(BinOp, IntExpr)>),
    /// `c ? a : b`; only the one taken is evaluated.
    Choose(Box<IntExpr>, Box<IntExpr>, Box<IntExpr>),
}

impl IntExpr {
    /// An expression without a place in a source.
    pub fn new(kind: IntExprKind) -> IntExpr {
        IntExpr { kind, span: Span::default() }
    }

    /// `left op right`, without a place. A sum or a product of more than [`CHAINED`] terms is a [chain](IntExprKind::Chain).
    pub fn joined(op: BinOp, left: IntExpr, right: IntExpr) -> IntExpr {
        let kind = match left.kind {
            IntExprKind::Chain(first, mut rest)
                if rest.first().is_some_and(|(of, _)| op.goes_on_from(*of)) =>
            {
                rest.push((op, right));
                IntExprKind::Chain(first, rest)
            }
            kind => {
                let left = Box::new(IntExpr { kind, ..left });
                if op.goes_on_from(op) && left.operators_on_the_left() + 1 >= CHAINED {
                    IntExprKind::Chain(left, vec![(op, right)])
                } else {
                    IntExprKind::Binary(op, left, Box::new(right))
                }
            }
        };
        IntExpr::new(kind)
    }

    /// How many operators stand on the left side of each other, up to [`CHAINED`].
    fn operators_on_the_left(&self) -> u32 {
        let (mut left, mut count) = (self, 0);
        while let IntExprKind::Binary(_, inner, _) = &left.kind
            && count < CHAINED
        {
            (left, count) = (inner, count + 1);
        }
        count
    }

    /// Visits the expression and every one in it.
    pub fn each(&self, visit: &mut impl FnMut(&IntExprKind)) {
        visit(&self.kind);
        match &self.kind {
            IntExprKind::Const(_)
            | IntExprKind::Param(_)
            | IntExprKind::Var(_)
            | IntExprKind::Slot(_)
            | IntExprKind::Axis(_)
            | IntExprKind::TableLen(_) => {}
            IntExprKind::Table(_, operand) | IntExprKind::Unary(_, operand) => operand.each(visit),
            IntExprKind::Binary(_, left, right) => {
                left.each(visit);
                right.each(visit);
            }
            IntExprKind::Chain(first, rest) => {
                first.each(visit);
                rest.iter().for_each(|(_, operand)| operand.each(visit));
            }
            IntExprKind::Choose(condition, then, otherwise) => {
                condition.each(visit);
                then.each(visit);
                otherwise.each(visit);
            }
        }
    }

    /// The value of a number.
    pub fn as_const(&self) -> Option<i64> {
        if let IntExprKind::Const(value) = self.kind { Some(value) } else { None }
    }
}

impl From<i64> for IntExpr {
    fn from(value: i64) -> IntExpr {
        IntExpr::new(IntExprKind::Const(value))
    }
}
