//! Integer expressions of workloads.

use crate::Span;
use wsp_core::int::BinOp;
use wsp_core::{AxisId, ParamId, SlotId, TableId, VarId};

/// An integer expression: 64-bit, checked. Truth values are 0 and 1; anything but 0 is true.
#[derive(Clone, PartialEq, Debug)]
pub struct IntExpr {
    /// What it computes.
    pub kind: IntExprKind,
    /// Where it stands.
    pub span: Span,
}

/// An operation with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntUnary {
    /// `-x`.
    Neg,
    /// `!x`.
    Not,
}

/// An operation with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntBinary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`, towards zero; by 0 is a fault.
    Div,
    /// `a % b`, with the sign of `a`; by 0 is a fault.
    Rem,
    /// `ceildiv(a, b)`, towards positive infinity; by 0 is a fault.
    CeilDiv,
    /// `min(a, b)`.
    Min,
    /// `max(a, b)`.
    Max,
    /// `a == b`.
    Eq,
    /// `a != b`.
    Ne,
    /// `a < b`.
    Lt,
    /// `a <= b`.
    Le,
    /// `a > b`.
    Gt,
    /// `a >= b`.
    Ge,
    /// `a && b`; `b` is evaluated only when `a` is true.
    And,
    /// `a || b`; `b` is evaluated only when `a` is false.
    Or,
}

impl IntBinary {
    /// The operator of all languages that it is.
    pub const fn operator(self) -> BinOp {
        match self {
            IntBinary::Add => BinOp::Add,
            IntBinary::Sub => BinOp::Sub,
            IntBinary::Mul => BinOp::Mul,
            IntBinary::Div => BinOp::Div,
            IntBinary::Rem => BinOp::Rem,
            IntBinary::CeilDiv => BinOp::CeilDiv,
            IntBinary::Min => BinOp::Min,
            IntBinary::Max => BinOp::Max,
            IntBinary::Eq => BinOp::Eq,
            IntBinary::Ne => BinOp::Ne,
            IntBinary::Lt => BinOp::Lt,
            IntBinary::Le => BinOp::Le,
            IntBinary::Gt => BinOp::Gt,
            IntBinary::Ge => BinOp::Ge,
            IntBinary::And => BinOp::And,
            IntBinary::Or => BinOp::Or,
        }
    }
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
    Unary(IntUnary, Box<IntExpr>),
    /// Two operands.
    Binary(IntBinary, Box<IntExpr>, Box<IntExpr>),
    /// `c ? a : b`; only the one taken is evaluated.
    Choose(Box<IntExpr>, Box<IntExpr>, Box<IntExpr>),
}

impl IntExpr {
    /// An expression without a place in a source.
    pub fn new(kind: IntExprKind) -> IntExpr {
        IntExpr { kind, span: Span::default() }
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
