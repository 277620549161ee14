//! Kinds of work that operations are, for machine models.

use super::{BinaryTileOp, UnaryTileOp};

/// A kind of work. Machine models have a row for each: cycles at the start, and elements a cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CostClass {
    /// Bytes between a tensor and a tile; what it costs follows from the memories that it passes.
    Transfer,
    /// An instruction or two for each element.
    Elementwise,
    /// A quotient or a root of each element.
    Quotients,
    /// A function of each element that takes a series of instructions.
    Functions,
    /// One value of each row.
    RowReduce,
    /// One value of each column.
    ColReduce,
    /// Sums of each row up to each element.
    Scan,
    /// Elements from places that other elements say.
    Gather,
    /// Elements to other places.
    Move,
    /// Random numbers.
    Random,
    /// The largest of each row.
    Sort,
    /// A matrix product; its elements are the products.
    Products,
    /// Operators of scalar expressions, and loads and stores of one element.
    Scalars,
}

impl CostClass {
    /// All of them, in the order of tables.
    pub const ALL: [CostClass; 13] = [
        CostClass::Transfer,
        CostClass::Elementwise,
        CostClass::Quotients,
        CostClass::Functions,
        CostClass::RowReduce,
        CostClass::ColReduce,
        CostClass::Scan,
        CostClass::Gather,
        CostClass::Move,
        CostClass::Random,
        CostClass::Sort,
        CostClass::Products,
        CostClass::Scalars,
    ];

    /// Its word in machine models.
    pub fn word(self) -> &'static str {
        match self {
            CostClass::Transfer => "transfer",
            CostClass::Elementwise => "elementwise",
            CostClass::Quotients => "quotients",
            CostClass::Functions => "functions",
            CostClass::RowReduce => "row_reduce",
            CostClass::ColReduce => "col_reduce",
            CostClass::Scan => "scan",
            CostClass::Gather => "gather",
            CostClass::Move => "move",
            CostClass::Random => "random",
            CostClass::Sort => "sort",
            CostClass::Products => "products",
            CostClass::Scalars => "scalars",
        }
    }
}

impl UnaryTileOp {
    /// What kind of work it is.
    pub fn cost_class(self) -> CostClass {
        match self {
            UnaryTileOp::Copy
            | UnaryTileOp::Neg
            | UnaryTileOp::Abs
            | UnaryTileOp::Relu
            | UnaryTileOp::Round
            | UnaryTileOp::Floor
            | UnaryTileOp::Ceil => CostClass::Elementwise,
            UnaryTileOp::Sqrt | UnaryTileOp::Rsqrt | UnaryTileOp::Recip => CostClass::Quotients,
            UnaryTileOp::Exp
            | UnaryTileOp::Exp2
            | UnaryTileOp::Log
            | UnaryTileOp::Log2
            | UnaryTileOp::Tanh
            | UnaryTileOp::Sin
            | UnaryTileOp::Cos
            | UnaryTileOp::Sigmoid
            | UnaryTileOp::Silu
            | UnaryTileOp::Gelu
            | UnaryTileOp::GeluTanh
            | UnaryTileOp::Erf => CostClass::Functions,
        }
    }
}

impl BinaryTileOp {
    /// What kind of work it is.
    pub fn cost_class(self) -> CostClass {
        match self {
            BinaryTileOp::Div => CostClass::Quotients,
            BinaryTileOp::Add
            | BinaryTileOp::Sub
            | BinaryTileOp::Mul
            | BinaryTileOp::Max
            | BinaryTileOp::Min
            | BinaryTileOp::Eq
            | BinaryTileOp::Ne
            | BinaryTileOp::Lt
            | BinaryTileOp::Le
            | BinaryTileOp::Gt
            | BinaryTileOp::Ge => CostClass::Elementwise,
        }
    }
}
