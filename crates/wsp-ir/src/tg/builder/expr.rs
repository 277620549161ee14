//! Scalars of a unit that is being built.

use crate::tg::TgModule;
use std::ops;
use wsp_core::tg::{ExprId, ExprOp, IterNo, ScalarType, TensorNo, binary};

/// A scalar that whoever runs the unit provides, by the place of its declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArgRef(pub u32);

/// An expression over constants, loop variables, declared scalars and values in tensors. Constant parts are computed.
///
/// ```
/// use wsp_ir::tg::{Expr, TgBuilder};
/// let mut b = TgBuilder::new();
/// let step = b.iter("step");
/// let offset = Expr::from(step) * 64 + 128;
/// let last = Expr::from(step).equals(7);
/// # let _ = (offset, last);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Expr(Vec<ExprOp>);

/// One of several tensors for a binding.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The tensors.
    pub tensors: Vec<TensorNo>,
    /// Which of them, from 0.
    pub index: Expr,
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr(vec![ExprOp::Const(value)])
    }
}

impl From<IterNo> for Expr {
    fn from(iter: IterNo) -> Expr {
        Expr(vec![ExprOp::Iter(iter)])
    }
}

impl From<ArgRef> for Expr {
    fn from(arg: ArgRef) -> Expr {
        Expr(vec![ExprOp::Arg(arg.0)])
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $method(self, other: impl Into<Expr>) -> Expr {
            self.with(other.into(), ExprOp::$op)
        }
    )*};
}

impl Expr {
    /// The iteration that `TG_INVOKE` gives.
    pub fn iteration() -> Expr {
        Expr(vec![ExprOp::Iteration])
    }

    /// The number of this device.
    pub fn device() -> Expr {
        Expr(vec![ExprOp::Device])
    }

    /// How many devices there are.
    pub fn devices() -> Expr {
        Expr(vec![ExprOp::Devices])
    }

    /// The value in a tensor, at an offset in bytes.
    pub fn load(tensor: TensorNo, offset: impl Into<Expr>, ty: ScalarType) -> Expr {
        let mut ops = offset.into().0;
        ops.push(ExprOp::Load(tensor, ty));
        Expr(ops)
    }

    operations! {
        /// The smaller.
        min Min;
        /// The larger.
        max Max;
        /// Whether they are equal.
        equals Eq;
        /// Whether they differ.
        differs Ne;
        /// Whether the first is less.
        less Lt;
        /// Whether the first is at most the second.
        at_most Le;
        /// Whether the first is greater.
        greater Gt;
        /// Whether the first is at least the second.
        at_least Ge;
        /// Whether neither is 0; the second is evaluated if the first is not 0.
        and And;
        /// Whether one is not 0; the second is evaluated if the first is 0.
        or Or;
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(mut self) -> Expr {
        match self.as_const() {
            Some(value) => Expr::from(i64::from(value == 0)),
            None => {
                self.0.push(ExprOp::Not);
                self
            }
        }
    }

    /// Its value, if it is a constant.
    pub fn as_const(&self) -> Option<i64> {
        match self.0[..] {
            [ExprOp::Const(value)] => Some(value),
            _ => None,
        }
    }

    fn with(mut self, other: Expr, op: ExprOp) -> Expr {
        // What has no value is found when it runs.
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const())
            && let Ok(value) = binary(op, a, b)
        {
            return Expr::from(value);
        }
        self.0.extend(op.skip(other.0.len() as u32 + 1));
        self.0.extend(other.0);
        self.0.push(op);
        self
    }

    /// Puts it into a unit.
    pub(super) fn store(self, unit: &mut TgModule) -> ExprId {
        let id = ExprId(unit.exprs.len() as u32);
        unit.exprs.extend(self.0);
        unit.exprs.push(ExprOp::End);
        id
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<T: Into<Expr>> ops::$trait<T> for Expr {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                self.with(other.into(), ExprOp::$op)
            }
        }
    )*};
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Rem;
}

impl ops::Neg for Expr {
    type Output = Expr;

    fn neg(mut self) -> Expr {
        match self.as_const().and_then(i64::checked_neg) {
            Some(value) => Expr::from(value),
            None => {
                self.0.push(ExprOp::Neg);
                self
            }
        }
    }
}
