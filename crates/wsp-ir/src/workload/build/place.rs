//! What loops run over, and regions of tensors.

use super::expr::Expr;
use super::handle::{DenseAxis, Index, Param, RaggedAxis, Slot, SparseAxis, Tensor};
use super::origin::Origin;
use crate::workload::{DimRange, IntExprKind, Iteration};
use std::ops::{Range, RangeFull, RangeTo};
use wsp_core::AxisId;

macro_rules! axis_value {
    ($($axis:ty),*) => {$(
        impl $axis {
            /// In schedules: the index of the innermost loop over this axis around the task, 0 when there is none.
            #[must_use]
            pub fn index(self) -> Expr {
                Expr::leaf(IntExprKind::Axis(self.id), Origin::of_module(self.owner))
            }
        }
    )*};
}

axis_value!(DenseAxis, RaggedAxis, SparseAxis);

/// What a loop runs over.
#[derive(Clone, PartialEq, Debug)]
pub struct Over {
    pub(super) iteration: Iteration,
    pub(super) origin: Origin,
}

/// A row of a sparse axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub(super) axis: AxisId,
    pub(super) row: Expr,
}

/// The indices from `lo` up to, not including, `hi`.
#[must_use]
pub fn range(lo: impl Into<Expr>, hi: impl Into<Expr>) -> Over {
    let (lo, hi) = (lo.into(), hi.into());
    let origin = lo.origin.and(hi.origin);
    Over { iteration: Iteration::Range { lo: lo.tree, hi: hi.tree, step: None }, origin }
}

/// The same at a distance of `step`, which is at least 1.
#[must_use]
pub fn range_step(lo: impl Into<Expr>, hi: impl Into<Expr>, step: impl Into<Expr>) -> Over {
    let (lo, hi, step) = (lo.into(), hi.into(), step.into());
    let origin = lo.origin.and(hi.origin).and(step.origin);
    Over { iteration: Iteration::Range { lo: lo.tree, hi: hi.tree, step: Some(step.tree) }, origin }
}

impl RaggedAxis {
    /// Its indices under an index of the outer axis.
    #[must_use]
    pub fn under(self, outer: impl Into<Expr>) -> Over {
        let outer = outer.into();
        let origin = Origin::of_module(self.owner).and(outer.origin);
        Over { iteration: Iteration::Ragged { axis: self.id, outer: outer.tree }, origin }
    }
}

impl SparseAxis {
    /// The columns of one row.
    #[must_use]
    pub fn row(self, row: impl Into<Expr>) -> Row {
        let mut row = row.into();
        row.origin = row.origin.and(Origin::of_module(self.owner));
        Row { axis: self.id, row }
    }
}

impl From<DenseAxis> for Over {
    fn from(axis: DenseAxis) -> Over {
        Over { iteration: Iteration::Axis(axis.id), origin: Origin::of_module(axis.owner) }
    }
}

/// `..n` starts at 0.
impl<T: Into<Expr>> From<RangeTo<T>> for Over {
    fn from(to: RangeTo<T>) -> Over {
        range(0, to.end)
    }
}

impl<T: Into<Expr>> From<Range<T>> for Over {
    fn from(bounds: Range<T>) -> Over {
        range(bounds.start, bounds.end)
    }
}

/// The bounds of a region in one dimension: an index, `lo..hi`, [`sized`], or `..` for all of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    pub(super) range: DimRange,
    pub(super) origin: Origin,
}

/// `len` indices from `lo`.
#[must_use]
pub fn sized(lo: impl Into<Expr>, len: impl Into<Expr>) -> Bound {
    let (lo, len) = (lo.into(), len.into());
    let origin = lo.origin.and(len.origin);
    Bound { range: DimRange::Sized { lo: lo.tree, len: len.tree }, origin }
}

/// The indices from `lo` up to, not including, `hi`.
#[must_use]
pub fn between(lo: impl Into<Expr>, hi: impl Into<Expr>) -> Bound {
    let (lo, hi) = (lo.into(), hi.into());
    let origin = lo.origin.and(hi.origin);
    Bound { range: DimRange::Range { lo: lo.tree, hi: hi.tree }, origin }
}

impl From<RangeFull> for Bound {
    fn from(_: RangeFull) -> Bound {
        Bound { range: DimRange::Whole, origin: Origin::default() }
    }
}

impl<T: Into<Expr>> From<Range<T>> for Bound {
    fn from(bounds: Range<T>) -> Bound {
        between(bounds.start, bounds.end)
    }
}

/// A value as an index.
macro_rules! index_bounds {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Bound {
            fn from(index: $ty) -> Bound {
                let index = Expr::from(index);
                Bound { range: DimRange::Index(index.tree), origin: index.origin }
            }
        }

        impl Bounds for $ty {
            fn list(self) -> Vec<Bound> {
                vec![self.into()]
            }
        }

        impl From<$ty> for Argument {
            fn from(value: $ty) -> Argument {
                Argument(Value::Scalar(value.into()))
            }
        }
    )*};
}

/// Bounds of the first dimensions of a tensor: one, or a tuple of them.
pub trait Bounds {
    /// One per dimension.
    fn list(self) -> Vec<Bound>;
}

impl Bounds for Bound {
    fn list(self) -> Vec<Bound> {
        vec![self]
    }
}

impl Bounds for RangeFull {
    fn list(self) -> Vec<Bound> {
        vec![self.into()]
    }
}

impl<T: Into<Expr>> Bounds for Range<T> {
    fn list(self) -> Vec<Bound> {
        vec![self.into()]
    }
}

macro_rules! tuple_bounds {
    ($($name:ident)+) => {
        impl<$($name: Into<Bound>),+> Bounds for ($($name,)+) {
            #[allow(non_snake_case)]
            fn list(self) -> Vec<Bound> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    };
}

tuple_bounds!(A);
tuple_bounds!(A B);
tuple_bounds!(A B C);
tuple_bounds!(A B C D);
tuple_bounds!(A B C D E);
tuple_bounds!(A B C D E F);

/// A region of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorRegion {
    pub(super) tensor: Tensor,
    pub(super) bounds: Vec<Bound>,
}

impl Tensor {
    /// A region of it; dimensions after the given ones are whole.
    #[must_use]
    pub fn at(self, bounds: impl Bounds) -> TensorRegion {
        TensorRegion { tensor: self, bounds: bounds.list() }
    }
}

/// An argument of a task: an integer, a tensor or a region of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument(pub(super) Value);

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Scalar(Expr),
    Region(TensorRegion),
}

impl From<TensorRegion> for Argument {
    fn from(part: TensorRegion) -> Argument {
        Argument(Value::Region(part))
    }
}

impl From<Tensor> for Argument {
    fn from(tensor: Tensor) -> Argument {
        Argument(Value::Region(TensorRegion { tensor, bounds: Vec::new() }))
    }
}

index_bounds!(i32, i64, Expr, &Expr, Param, Index, Slot);
