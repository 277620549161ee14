//! The type of a tile.

use crate::{Elem, Expr};

/// The memory a tile lives in on a device. Every role computes the same on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TileRole {
    /// `VecTile`: unified buffer.
    Vec,
    /// `LeftTile`: left operand of a matrix product.
    Left,
    /// `RightTile`: right operand of a matrix product.
    Right,
    /// `AccTile`, `AccumulationTile`: accumulator.
    Acc,
}

/// The type of a tile: a matrix of fixed capacity, of which a top-left part is valid.
#[derive(Clone, PartialEq, Debug)]
pub struct TileTy {
    /// Where it lives.
    pub role: TileRole,
    /// Element type.
    pub elem: Elem,
    /// Rows; an expression over parameters.
    pub rows: Expr,
    /// Columns; an expression over parameters.
    pub cols: Expr,
}
