//! Statements and tile operations.

use crate::{AffinityPolicy, ArrayRef, Expr, Span};
use wsp_core::{AxisId, LocalId, ScheduleId, StructId, TensorId};

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

/// Where a tile lies in a tensor.
///
/// `index` has one `u32` per dimension of the tensor. Tile rows run along `row_dim`, columns along `col_dim`, both starting
/// at the index given; without a `row_dim` the tile is one row, without a `col_dim` one column.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// First element, one index per dimension.
    pub index: Vec<Expr>,
    /// Dimension that tile rows follow.
    pub row_dim: Option<u8>,
    /// Dimension that tile columns follow.
    pub col_dim: Option<u8>,
}

/// Element-wise functions of one tile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryTileOp {
    /// `TMOV`, `TCVT`: a copy, rounded to the element type of the destination.
    Copy,
    /// `TNEG`
    Neg,
    /// `TABS`
    Abs,
    /// `TEXP`
    Exp,
    /// `TEXP2`
    Exp2,
    /// `TLOG`
    Log,
    /// `TLOG2`
    Log2,
    /// `TSQRT`
    Sqrt,
    /// `TRSQRT`
    Rsqrt,
    /// `TRECIP`
    Recip,
    /// `TRELU`
    Relu,
    /// `TTANH`
    Tanh,
}

/// Element-wise functions of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryTileOp {
    /// `TADD`, `TADDS`, `TROWEXPANDADD`
    Add,
    /// `TSUB`, `TSUBS`, `TROWEXPANDSUB`
    Sub,
    /// `TMUL`, `TMULS`, `TROWEXPANDMUL`
    Mul,
    /// `TDIV`, `TDIVS`, `TROWEXPANDDIV`
    Div,
    /// `TMAX`, `TMAXS`
    Max,
    /// `TMIN`, `TMINS`
    Min,
}

/// Reductions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    /// Largest; -∞ of nothing.
    Max,
    /// Smallest; +∞ of nothing.
    Min,
    /// Sum; 0 of nothing.
    Sum,
}

/// The second operand of an element-wise operation.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A tile of the same valid shape.
    Tile(LocalId),
    /// A one-column tile: its row `i` meets every element of row `i`.
    Column(LocalId),
    /// A one-row tile: its column `j` meets every element of column `j`.
    Row(LocalId),
    /// One value, `f32`.
    Scalar(Expr),
}

/// A tile operation.
///
/// A tile has a capacity (its type) and a valid part `rows × cols`. Operations read and write valid parts only; a
/// destination's valid part becomes that of the result, which must fit its capacity. Arithmetic is in `f32`; a result is
/// rounded to the element type of its destination.
#[derive(Clone, PartialEq, Debug)]
pub enum TileOp {
    /// `TLOAD(dst, tensor, {…}[, rows[, cols]])`. Valid rows are the smallest of the capacity, `rows`, and what the tensor
    /// has from the index on; columns likewise. An index past the end of any other dimension stops the run.
    Load {
        /// Destination.
        dst: LocalId,
        /// Source.
        tensor: TensorId,
        /// Where it starts.
        at: Place,
        /// At most this many rows.
        rows: Option<Expr>,
        /// At most this many columns.
        cols: Option<Expr>,
    },
    /// `TSTORE(tensor, src, {…})`: the valid part; past the end of the tensor stops the run.
    Store {
        /// Destination.
        tensor: TensorId,
        /// Source.
        src: LocalId,
        /// Where it starts.
        at: Place,
    },
    /// `TASSIGN(dst, value[, rows[, cols]])`: every element of the valid part becomes the value. Valid rows are the smaller of
    /// the capacity and `rows`, columns likewise.
    Fill {
        /// Destination.
        dst: LocalId,
        /// An `f32`.
        value: Expr,
        /// At most this many rows.
        rows: Option<Expr>,
        /// At most this many columns.
        cols: Option<Expr>,
    },
    /// An element-wise function of one tile.
    Unary {
        /// Which.
        op: UnaryTileOp,
        /// Destination; may be `src`.
        dst: LocalId,
        /// Operand.
        src: LocalId,
    },
    /// An element-wise function of two operands.
    Binary {
        /// Which.
        op: BinaryTileOp,
        /// Destination; may be an operand.
        dst: LocalId,
        /// Left operand.
        a: LocalId,
        /// Right operand.
        b: Operand,
    },
    /// `TROWMAX`, `TROWMIN`, `TROWSUM`: one column, a value per valid row.
    RowReduce {
        /// Which.
        op: ReduceOp,
        /// Destination.
        dst: LocalId,
        /// Operand.
        src: LocalId,
    },
    /// `TCOLMAX`, `TCOLMIN`, `TCOLSUM`: one row, a value per valid column.
    ColReduce {
        /// Which.
        op: ReduceOp,
        /// Destination.
        dst: LocalId,
        /// Operand.
        src: LocalId,
    },
    /// `TMATMUL`, `TMATMUL_ACC`: `dst (+)= a · b`. The inner dimension is the smaller of the operands' valid ones.
    MatMul {
        /// Destination; with `accumulate` its valid part must have the result's shape.
        dst: LocalId,
        /// Left operand.
        a: LocalId,
        /// Right operand.
        b: LocalId,
        /// The right operand is stored transposed (`PTO_TRANSPOSE(b)`).
        transpose_b: bool,
        /// Adds to what is there.
        accumulate: bool,
    },
    /// `TTRANS(dst, src)`.
    Transpose {
        /// Destination.
        dst: LocalId,
        /// Operand.
        src: LocalId,
    },
    /// `TMASK(tile, cols, value)`, `TMASK_ROWS(tile, rows, value)`: elements of the valid part at or past the given row
    /// or column become the value.
    Mask {
        /// The tile.
        tile: LocalId,
        /// First row to change.
        rows: Option<Expr>,
        /// First column to change.
        cols: Option<Expr>,
        /// An `f32`.
        value: Expr,
    },
    /// `TMASK_CAUSAL(tile, cols, value)`: in row `r` of the valid part, elements at or past column `cols + r` become the
    /// value.
    MaskCausal {
        /// The tile.
        tile: LocalId,
        /// First column to change in row 0, `i32`; below 0 it lies to the left of the tile.
        cols: Expr,
        /// An `f32`.
        value: Expr,
    },
    /// `TMASK_BAND(tile, begin, end, group, value)`: in row `r` of the valid part, the elements outside of columns
    /// `begin + r / group .. end + r / group` become the value: `group` rows in a row share a band, and the next ones have
    /// theirs a column further right.
    MaskBand {
        /// The tile.
        tile: LocalId,
        /// First column kept in row 0, `i32`; may lie outside of the tile.
        begin: Expr,
        /// One past the last column kept in row 0, `i32`.
        end: Expr,
        /// Rows per band, `u32`; 0 counts as 1.
        group: Expr,
        /// An `f32`.
        value: Expr,
    },
    /// `TCI(dst, start[, cols])`: column `c` of every row becomes `start + c`. All rows of the capacity become valid, and the
    /// smaller of its columns and `cols`.
    Iota {
        /// Destination.
        dst: LocalId,
        /// The value of column 0, `i32`.
        start: Expr,
        /// At most this many columns.
        cols: Option<Expr>,
    },
    /// `TINSERT(dst, src, row, col)`: the valid part of `src` replaces as many elements of the valid part of `dst`, from
    /// (`row`, `col`) on, which must have room for it.
    Insert {
        /// Destination; keeps its valid part.
        dst: LocalId,
        /// What is put in; not `dst`.
        src: LocalId,
        /// First row, `u32`.
        row: Expr,
        /// First column, `u32`.
        col: Expr,
    },
    /// `TEXTRACT(dst, src, row, col)`: what the valid part of `src` has from (`row`, `col`) on, at most the capacity of `dst`.
    Extract {
        /// Destination.
        dst: LocalId,
        /// What is taken from; not `dst`.
        src: LocalId,
        /// First row, `u32`.
        row: Expr,
        /// First column, `u32`.
        col: Expr,
    },
    /// `TTOPK(values, indices, src, first)`: each row of `values` and `indices` keeps the largest of what it holds and of
    /// the row of `src`, whose column `c` has the index `first + c`; as many as fit. Rows run from the largest value to
    /// the smallest, equal values from the lower index to the higher; NaN counts as -∞.
    TopK {
        /// The largest values so far; its valid part has the rows of `src`, or is empty.
        values: LocalId,
        /// Their indices as real numbers, `f32`; its valid part is that of `values`.
        indices: LocalId,
        /// What is taken in.
        src: LocalId,
        /// Index of column 0 of `src`, `u32`; indices stay below 2^24, where `f32` holds every whole number.
        first: Expr,
    },
}
