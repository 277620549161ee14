//! Tile operations: their forms with the roles of their operands, and [`TILE_OPS`], the table of their names.
//!
//! A *form* is a set of operations with the same operands; `tile_forms` lists all of them. What is read and written, which
//! type a number has, what shape a result has, and how much there is to do follow from that list. An element-wise function or
//! a reduction is an operation of a form, and a row of the table.

mod cost;
mod elements;
mod forms;
mod op;
mod python;
mod special;
mod table;
mod ty;

pub use cost::CostClass;
pub use elements::{ElementFault, check_elements};
pub(crate) use forms::tile_forms;
pub use op::TileOp;
pub use table::{
    BinaryTileOp, PtoWord, PythonForm, ReduceOp, TILE_OPS, TileOpKind, TileOpRow, UnaryTileOp, find_pto,
};
pub use ty::{TileRole, TileTy};

use crate::{Expr, ScalarTy};
use wsp_core::{AccessKind, LocalId, TensorId};

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

/// The second operand of an element-wise operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand<T = LocalId, E = Expr> {
    /// A tile of the same valid shape.
    Tile(T),
    /// A one-column tile: its row `i` meets every element of row `i`.
    Column(T),
    /// A one-row tile: its column `j` meets every element of column `j`.
    Row(T),
    /// One value.
    Scalar(E),
}

/// What an operation does to a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileUse {
    /// Its elements are read.
    Read,
    /// It gets elements, and their number.
    Written,
    /// It gets elements from others and from its own, which it must have.
    Added,
    /// Some of its elements are replaced; it keeps their number.
    Changed,
    /// It gets elements from others and from its own, if it has any; its own are `f32`.
    Listed,
}

impl TileUse {
    /// Whether the tile must have elements before.
    pub fn reads(self) -> bool {
        matches!(self, TileUse::Read | TileUse::Added | TileUse::Changed)
    }

    /// Whether the tile has elements of the operation afterwards.
    pub fn writes(self) -> bool {
        self != TileUse::Read
    }

    /// Whether the valid part of the tile becomes that of the result.
    pub fn resizes(self) -> bool {
        self.writes() && self != TileUse::Changed
    }
}

/// An operand of a tile operation: [`TilePart`] or [`TilePartMut`].
#[derive(Clone, Copy, Debug)]
pub enum Part<T, E, N, P> {
    /// A tile.
    Tile(T, TileUse),
    /// A number of this type, `f32` as in [`TileSource::number`], and what it is in messages.
    Number(E, ScalarTy, &'static str),
    /// A tensor.
    Tensor(N, AccessKind),
    /// Where in the tensor.
    Place(P),
}

/// An operand of a tile operation.
pub type TilePart<'a, T = LocalId, E = Expr, P = Place> = Part<&'a T, &'a E, &'a TensorId, &'a P>;

/// An operand of a tile operation, for change in place.
pub type TilePartMut<'a, T = LocalId, E = Expr, P = Place> =
    Part<&'a mut T, &'a mut E, &'a mut TensorId, &'a mut P>;

/// Rows or columns of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TileExtent<'a, T = LocalId, E = Expr> {
    /// The valid rows of a tile.
    Rows(T),
    /// The valid columns of a tile.
    Cols(T),
    /// The valid columns of a tile, or its rows where it counts as transposed.
    Outer(T, bool),
    /// One.
    One,
    /// All that the destination has room for, or less.
    Capacity,
    /// All that the destination has room for, or the number where that is smaller.
    AtMost(Option<&'a E>),
    /// The number, or all that the destination has room for; never more.
    Exactly(Option<&'a E>),
}

/// How much an operation does at most.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TileWork<T = LocalId> {
    /// Something with each element of a tile.
    Each(T),
    /// Something with each element of two tiles.
    Both(T, T),
    /// For each element of the first, a product per column of the second.
    Products(T, T),
}

/// Where the operands of an operation come from, by the names of the fields of [`TileOp`]; see [`TileOp::build`].
pub trait TileSource<T, E, P> {
    /// What is wrong with an operand.
    type Error;

    /// A tile.
    fn tile(&mut self, field: &'static str) -> Result<T, Self::Error>;
    /// A number of a type. Where that is `f32`, it meets the tiles of the operation: it is of type [`Elem::operand`](crate::Elem::operand) of
    /// the tile that comes last before it where that holds integers, else `f64` where it is that for one of them.
    fn number(&mut self, field: &'static str, ty: ScalarTy) -> Result<E, Self::Error>;
    /// A number of a type that may be left out.
    fn optional(&mut self, field: &'static str, ty: ScalarTy) -> Result<Option<E>, Self::Error>;
    /// A tensor, which the operation loads from or stores to.
    fn tensor(&mut self, field: &'static str, access: AccessKind) -> Result<TensorId, Self::Error>;
    /// A place in the tensor.
    fn place(&mut self, field: &'static str) -> Result<P, Self::Error>;
    /// The second operand of an element-wise operation.
    fn operand(&mut self, field: &'static str) -> Result<Operand<T, E>, Self::Error>;
    /// A truth value, false where it is left out.
    fn flag(&mut self, field: &'static str) -> Result<bool, Self::Error>;
    /// Which element-wise function of one tile.
    fn unary(&mut self) -> Result<UnaryTileOp, Self::Error>;
    /// Which element-wise function of two operands.
    fn binary(&mut self) -> Result<BinaryTileOp, Self::Error>;
    /// Which reduction.
    fn reduce(&mut self) -> Result<ReduceOp, Self::Error>;
}

/// What the operands of an operation become; see [`TileOp::map`].
pub trait TileMap<'a, T, E, P, T2, E2, P2> {
    /// What is wrong with an operand.
    type Error;

    /// A tile.
    fn tile(&mut self, tile: &'a T) -> Result<T2, Self::Error>;
    /// A number of a type, `f32` as in [`TileSource::number`].
    fn number(&mut self, number: &'a E, ty: ScalarTy) -> Result<E2, Self::Error>;
    /// A place in a tensor.
    fn place(&mut self, tensor: TensorId, place: &'a P) -> Result<P2, Self::Error>;
}
