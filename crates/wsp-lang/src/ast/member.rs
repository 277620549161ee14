//! The block forms and their members: spaces, tiers, schedules, graphs.

use super::{Expr, Extent, Ident};
use wsp_core::policy::{AxisPolicy, LaunchPolicy, LayoutDim};
use wsp_diag::Span;

/// `PTO_SPACE(name) { … }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    /// Its name.
    pub name: Ident,
    /// Its members in source order.
    pub members: Vec<SpaceMember>,
    /// The whole form.
    pub span: Span,
}

/// A member of a space.
#[derive(Clone, PartialEq, Debug)]
pub enum SpaceMember {
    /// `PTO_AXIS(name, start, end)`
    Axis(Axis),
    /// `PTO_TILE(axis, size[, PTO_PAD_LAST])`
    Tile(AxisTile),
    /// `PTO_WHERE(expr)`
    Where(Where),
}

/// `PTO_AXIS(name, start, end)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its name.
    pub name: Ident,
    /// First index.
    pub start: Expr,
    /// One past the last index.
    pub end: Extent,
    /// The whole form.
    pub span: Span,
}

/// `PTO_TILE(axis, size[, PTO_PAD_LAST])`.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisTile {
    /// The axis.
    pub axis: Ident,
    /// Elements per tile.
    pub size: TileSize,
    /// `PTO_PAD_LAST` is there.
    pub pad_last: bool,
    /// The whole form.
    pub span: Span,
}

/// A tile size: an expression or `PTO_AUTO`.
#[derive(Clone, PartialEq, Debug)]
pub enum TileSize {
    /// Known at launch.
    Expr(Expr),
    /// `PTO_AUTO`.
    Auto(Span),
}

/// `PTO_WHERE(expr)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Where {
    /// The condition over axis names.
    pub cond: Expr,
    /// The whole form.
    pub span: Span,
}

/// `PTO_TIER_DEF(name) { … }`. That there is one default and that it is last is for `sema` to check.
#[derive(Clone, PartialEq, Debug)]
pub struct TierDef {
    /// Its name.
    pub name: Ident,
    /// Its tiers in source order.
    pub tiers: Vec<Tier>,
    /// The whole form.
    pub span: Span,
}

/// `PTO_TIER(cond, kernel[, workspace])` or `PTO_DEFAULT(kernel[, workspace])`.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    /// The condition; none for `PTO_DEFAULT`.
    pub cond: Option<Expr>,
    /// The kernel.
    pub kernel: Ident,
    /// Bytes per workspace slot.
    pub workspace: Option<Expr>,
    /// The whole form.
    pub span: Span,
}

/// `PTO_SCHEDULE(name) { … }`. That no axis has two statements of a kind is for `sema` to check.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: Ident,
    /// Its statements in source order.
    pub members: Vec<ScheduleMember>,
    /// The whole form.
    pub span: Span,
}

/// A statement of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct ScheduleMember {
    /// What it says.
    pub said: Said,
    /// The whole form.
    pub span: Span,
}

/// What a statement of a schedule says.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// Of an axis, such as `PTO_ORDER(axis, policy)`.
    Axis(Ident, AxisPolicy<Expr>),
    /// Of the launch, such as `PTO_POOLS(vector, cube)`.
    Launch(LaunchPolicy),
    /// Of a tensor: `PTO_LAYOUT(tensor, dim, …)`, or `PTO_RELAYOUT(tensor, dim, …)`.
    Layout {
        /// The tensor.
        tensor: Ident,
        /// How each of its dimensions lies on the grid.
        dims: Vec<LayoutDim>,
        /// Where it is read.
        where_read: bool,
    },
}

/// `PTO_GRAPH(name) { … }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// Its name.
    pub name: Ident,
    /// `PTO_STAGE(stage, space)`, in source order.
    pub stages: Vec<Stage>,
    /// `PTO_DEPENDENCY(reader.tensor, writer.tensor)`, in source order.
    pub dependencies: Vec<Dependency>,
    /// The whole form.
    pub span: Span,
}

/// `PTO_STAGE(stage, space)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// Its name.
    pub name: Ident,
    /// The space whose work it generates.
    pub space: Ident,
    /// The whole form.
    pub span: Span,
}

/// `PTO_DEPENDENCY(reader.tensor, writer.tensor)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Dependency {
    /// The side that waits.
    pub reader: StageRef,
    /// The side waited for.
    pub writer: StageRef,
    /// The whole form.
    pub span: Span,
}

/// `stage.tensor`.
#[derive(Clone, PartialEq, Debug)]
pub struct StageRef {
    /// The stage.
    pub stage: Ident,
    /// The tensor; keys of a cache are `kv_cache.k`, dot included.
    pub tensor: Ident,
    /// Both.
    pub span: Span,
}
