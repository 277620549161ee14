//! Integer expressions, written with Rust's operators.

use super::handle::{Index, Param, Slot, Table};
use super::origin::Origin;
use crate::workload::{IntExpr, IntExprKind};
use crate::{BinOp, UnOp};
use std::ops::{Add, Div, Mul, Neg, Not, Rem, Sub};

/// An integer expression.
///
/// `+ - * / %` work between expressions, parameters, loop variables, slots and numbers; so do the methods of [`Int`].
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub(super) tree: IntExpr,
    pub(super) origin: Origin,
}

impl Expr {
    pub(super) fn leaf(kind: IntExprKind, origin: Origin) -> Expr {
        Expr { tree: IntExpr::new(kind), origin }
    }

    fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
        Expr { tree: IntExpr::joined(op, a.tree, b.tree), origin: a.origin.and(b.origin) }
    }

    fn unary(op: UnOp, a: Expr) -> Expr {
        Expr::leaf(IntExprKind::Unary(op, Box::new(a.tree)), a.origin)
    }
}

impl Table {
    /// The element at an index; one outside the table is a fault of the run.
    #[must_use]
    pub fn at(self, index: impl Into<Expr>) -> Expr {
        let index = index.into();
        let origin = Origin::of_module(self.owner).and(index.origin);
        Expr::leaf(IntExprKind::Table(self.id, Box::new(index.tree)), origin)
    }

    /// The number of elements.
    #[must_use]
    pub fn count(self) -> Expr {
        Expr::leaf(IntExprKind::TableLen(self.id), Origin::of_module(self.owner))
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::leaf(IntExprKind::Const(value), Origin::default())
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Expr::from(i64::from(value))
    }
}

impl From<Param> for Expr {
    fn from(param: Param) -> Expr {
        Expr::leaf(IntExprKind::Param(param.id), Origin::of_module(param.owner))
    }
}

impl From<Index> for Expr {
    fn from(index: Index) -> Expr {
        Expr::leaf(IntExprKind::Var(index.id), Origin::of_scope(index.owner))
    }
}

impl From<Slot> for Expr {
    fn from(slot: Slot) -> Expr {
        Expr::leaf(IntExprKind::Slot(slot.id), Origin::of_module(slot.tensor.owner))
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

/// What can be computed with integers beside Rust's operators. Truth values are 0 and 1; anything but 0 is true.
pub trait Int: Into<Expr> {
    /// `a / b`, towards positive infinity.
    #[must_use]
    fn ceil_div(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::CeilDiv, self.into(), other.into())
    }

    /// The smaller.
    #[must_use]
    fn min(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Min, self.into(), other.into())
    }

    /// The larger.
    #[must_use]
    fn max(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Max, self.into(), other.into())
    }

    /// `a == b`.
    #[must_use]
    fn equals(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Eq, self.into(), other.into())
    }

    /// `a != b`.
    #[must_use]
    fn differs(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Ne, self.into(), other.into())
    }

    /// `a < b`.
    #[must_use]
    fn less(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Lt, self.into(), other.into())
    }

    /// `a <= b`.
    #[must_use]
    fn at_most(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Le, self.into(), other.into())
    }

    /// `a > b`.
    #[must_use]
    fn greater(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Gt, self.into(), other.into())
    }

    /// `a >= b`.
    #[must_use]
    fn at_least(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Ge, self.into(), other.into())
    }

    /// `a && b`.
    #[must_use]
    fn and(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::And, self.into(), other.into())
    }

    /// `a || b`.
    #[must_use]
    fn or(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Or, self.into(), other.into())
    }

    /// `self ? then : otherwise`; only the one taken is evaluated.
    #[must_use]
    fn choose(self, then: impl Into<Expr>, otherwise: impl Into<Expr>) -> Expr {
        let (condition, then, otherwise) = (self.into(), then.into(), otherwise.into());
        let origin = condition.origin.and(then.origin).and(otherwise.origin);
        let kind =
            IntExprKind::Choose(Box::new(condition.tree), Box::new(then.tree), Box::new(otherwise.tree));
        Expr::leaf(kind, origin)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident: $($left:ty),*) => {
        $(
            impl<T: Into<Expr>> $trait<T> for $left {
                type Output = Expr;

                fn $method(self, other: T) -> Expr {
                    Expr::binary(BinOp::$op, self.into(), other.into())
                }
            }
        )*
        operator!(@numbers $trait, $method, $op: i32: Expr, &Expr, Param, Index, Slot);
        operator!(@numbers $trait, $method, $op: i64: Expr, &Expr, Param, Index, Slot);
    };
    (@numbers $trait:ident, $method:ident, $op:ident: $number:ty: $($right:ty),*) => {$(
        impl $trait<$right> for $number {
            type Output = Expr;

            fn $method(self, other: $right) -> Expr {
                Expr::binary(BinOp::$op, self.into(), other.into())
            }
        }
    )*};
}

operator!(Add, add, Add: Expr, &Expr, Param, Index, Slot);
operator!(Sub, sub, Sub: Expr, &Expr, Param, Index, Slot);
operator!(Mul, mul, Mul: Expr, &Expr, Param, Index, Slot);
operator!(Div, div, Div: Expr, &Expr, Param, Index, Slot);
operator!(Rem, rem, Rem: Expr, &Expr, Param, Index, Slot);

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Int for $ty {}

        impl Neg for $ty {
            type Output = Expr;

            fn neg(self) -> Expr {
                Expr::unary(UnOp::Neg, self.into())
            }
        }

        impl Not for $ty {
            type Output = Expr;

            fn not(self) -> Expr {
                Expr::unary(UnOp::Not, self.into())
            }
        }
    )*};
}

integers!(Expr, &Expr, Param, Index, Slot);
