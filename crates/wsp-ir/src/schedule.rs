//! Schedules of spaces.

use crate::{Expr, Layout};
use wsp_core::policy::{self, LaunchPolicy, OrderPolicy};
use wsp_diag::Span;

/// `PTO_SPLIT` policies: sizes are over parameters.
pub type SplitPolicy = policy::SplitPolicy<Expr>;

/// What a schedule says of an axis.
pub type AxisPolicy = policy::AxisPolicy<Expr>;

/// A statement about an axis of the space that the schedule is applied to.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisStatement {
    /// Name of the axis.
    pub axis: String,
    /// What it says.
    pub policy: AxisPolicy,
    /// Where it stands.
    pub span: Span,
}

/// A statement about a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchStatement {
    /// What it says.
    pub policy: LaunchPolicy,
    /// Where it stands.
    pub span: Span,
}

/// A statement about how a tensor lies on the grid of the schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct LayoutStatement {
    /// What it says.
    pub layout: Layout,
    /// `PTO_RELAYOUT`: of the tensor where it is read.
    pub where_read: bool,
    /// Where it stands.
    pub span: Span,
}

/// `PTO_SCHEDULE`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// Statements about axes in source order; no axis has two of a kind.
    pub axes: Vec<AxisStatement>,
    /// Statements about the launch in source order.
    pub launch: Vec<LaunchStatement>,
    /// Statements about tensors in source order; no tensor has two of a kind.
    pub layouts: Vec<LayoutStatement>,
    /// Where its name stands.
    pub span: Span,
}

impl Schedule {
    /// The statements about axes that say this, with what they say.
    pub fn about<'a, T>(
        &'a self,
        said: impl Fn(&'a AxisPolicy) -> Option<T>,
    ) -> impl Iterator<Item = (&'a AxisStatement, T)> {
        self.axes.iter().filter_map(move |statement| Some((statement, said(&statement.policy)?)))
    }

    /// The orders; the first is that of the outermost loop.
    pub fn orders(&self) -> impl Iterator<Item = (&AxisStatement, OrderPolicy)> {
        self.about(|policy| if let AxisPolicy::Order(order) = policy { Some(*order) } else { None })
    }

    /// The cuts of dynamic axes.
    pub fn splits(&self) -> impl Iterator<Item = (&AxisStatement, &SplitPolicy)> {
        self.about(|policy| if let AxisPolicy::Split(split) = policy { Some(split) } else { None })
    }

    /// The sizes of the items of splits.
    pub fn sizes(&self) -> impl Iterator<Item = &Expr> {
        self.splits()
            .filter_map(|(_, split)| if let SplitPolicy::Fixed(size) = split { Some(size) } else { None })
    }
}
