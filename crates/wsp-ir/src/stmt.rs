//! Statements.

use crate::{AffinityPolicy, ArrayRef, Expr, TileOp};
use wsp_core::{AxisId, LocalId, ScheduleId, StructId, TensorId};
use wsp_diag::Span;

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// Structural equality: spans do not count.
impl PartialEq for Stmt {
    fn eq(&self, other: &Stmt) -> bool {
        self.kind == other.kind
    }
}

/// Element extents of a dynamic axis.
#[derive(Clone, PartialEq, Debug)]
pub enum ExtentSource {
    /// The same for every outer index.
    Scalar(Expr),
    /// One per value of the first axis of the space.
    PerOuter(ArrayRef),
}

/// What a schedule says of one emitted task.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EmitHints {
    /// Placement: policy and the value (`u32`) whose equals belong together.
    pub affinity: Vec<(AffinityPolicy, Expr)>,
    /// Look-ahead.
    pub prefetch: Vec<PrefetchHint>,
    /// Which ready task starts first, `u32`: the larger.
    pub priority: Option<Expr>,
}

/// Asks to prefetch the inputs of the task at `value + depth` of an axis when the task at `value` starts.
#[derive(Clone, PartialEq, Debug)]
pub struct PrefetchHint {
    /// Index on the axis, `u32`.
    pub value: Expr,
    /// Iterations ahead.
    pub depth: u32,
    /// Indices on the other axes, `u32`: only tasks that agree on them are paired.
    pub rest: Vec<Expr>,
}

/// The forms of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// Declares a scalar or tile; a scalar without a value is 0, a tile is empty (0 valid rows) until written.
    Let {
        /// The variable.
        local: LocalId,
        /// Its first value; never present for a tile.
        init: Option<Expr>,
    },
    /// Names an array.
    LetArray {
        /// The variable.
        local: LocalId,
        /// What it stands for.
        array: ArrayRef,
    },
    /// Gives a scalar variable a value.
    Assign {
        /// The variable.
        local: LocalId,
        /// Its value, of the variable's type.
        value: Expr,
    },
    /// Two ways.
    If {
        /// A `bool`.
        cond: Expr,
        /// When true.
        then: Block,
        /// When false.
        otherwise: Block,
    },
    /// A counted loop: `var` runs from `start` while below `end` in steps of `step`; neither `var`, `end` nor `step`
    /// change inside. `start`, `end` and `step` are evaluated once and have the type of `var`; a step below 1 stops the run.
    For {
        /// The loop variable.
        var: LocalId,
        /// First value.
        start: Expr,
        /// Bound, exclusive.
        end: Expr,
        /// Increment.
        step: Expr,
        /// What is repeated.
        body: Block,
    },
    /// Any other loop; `step` runs after each pass, also after `Continue`.
    While {
        /// A `bool`, tested before each pass.
        cond: Expr,
        /// Runs after each pass.
        step: Block,
        /// What is repeated.
        body: Block,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the innermost loop's next pass.
    Continue,
    /// Leaves the function.
    Return(Option<Expr>),
    /// `PTO_EMIT_DESCRIPTOR`: one task; a value per field of the type, each `u32`.
    Emit {
        /// The descriptor type; its consumer runs.
        descriptor: StructId,
        /// Values in field order.
        fields: Vec<Expr>,
        /// What the schedule says of the task; front ends leave it empty, schedule lowering fills it.
        hints: EmitHints,
    },
    /// Tasks emitted after it start when all those emitted before it are complete. Schedule lowering puts it between
    /// the values of a `PTO_SEQUENTIAL_STRICT` axis.
    Fence,
    /// `PTO_SCHEDULED_FOR`: every item of the generator's space in schedule order. Schedule lowering replaces it by loops.
    ScheduledFor {
        /// One variable per axis, in the order of the space.
        vars: Vec<LocalId>,
        /// What is done per item.
        body: Block,
    },
    /// `PTO_APPLY_SCHEDULE`.
    ApplySchedule(ScheduleId),
    /// `PTO_SET_TILE`.
    SetTile {
        /// The tiled axis.
        axis: AxisId,
        /// Elements per tile, `u32`.
        size: Expr,
    },
    /// `PTO_SET_EXTENT`: element extents of a dynamic axis.
    SetExtent {
        /// The dynamic axis.
        axis: AxisId,
        /// The extents.
        extent: ExtentSource,
        /// Of each, only so many last elements exist; `u32`, known at launch.
        last: Option<Expr>,
    },
    /// A tile operation.
    Tile(TileOp),
    /// `PTO_STORE_SCALAR`: one element of a tensor.
    StoreScalar {
        /// The tensor.
        tensor: TensorId,
        /// One index per dimension.
        index: Vec<Expr>,
        /// Of the type that [`crate::Elem::scalar`] gives for the tensor's elements.
        value: Expr,
    },
}
