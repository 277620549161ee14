//! Tile operations with their operands resolved.

use crate::tile::{MatMul, TopK};
use wsp_core::{DType, MAX_RANK};
use wsp_ir::{BinaryTileOp, ReduceOp, Span, UnaryTileOp};

/// Slots of a place's indices and the dimensions that the tile follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceCode {
    /// Index in [`crate::Env::tensors`].
    pub(crate) tensor: u32,
    pub(crate) index: [u32; MAX_RANK],
    pub(crate) rank: u8,
    pub(crate) row_dim: Option<u8>,
    pub(crate) col_dim: Option<u8>,
}

/// The second operand of an element-wise operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RhsCode {
    Tile(usize),
    Column(usize),
    Row(usize),
    /// Slot of an `f32`.
    Scalar(u32),
}

/// A tile operation; tiles are ids in the function's [`crate::tile::Tiles`], scalars are slots.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TileInst {
    /// A declaration is reached.
    Clear(usize),
    Load {
        dst: usize,
        at: PlaceCode,
        rows: Option<u32>,
        cols: Option<u32>,
        allow_view: bool,
    },
    Store {
        src: usize,
        at: PlaceCode,
    },
    Fill {
        dst: usize,
        value: u32,
        rows: Option<u32>,
        cols: Option<u32>,
    },
    Unary {
        op: UnaryTileOp,
        dst: usize,
        src: usize,
    },
    Binary {
        op: BinaryTileOp,
        dst: usize,
        a: usize,
        b: RhsCode,
    },
    RowReduce {
        op: ReduceOp,
        dst: usize,
        src: usize,
    },
    ColReduce {
        op: ReduceOp,
        dst: usize,
        src: usize,
    },
    MatMul(MatMul),
    Transpose {
        dst: usize,
        src: usize,
    },
    Mask {
        tile: usize,
        rows: Option<u32>,
        cols: Option<u32>,
        value: u32,
    },
    MaskCausal {
        tile: usize,
        cols: u32,
        value: u32,
    },
    MaskBand {
        tile: usize,
        begin: u32,
        end: u32,
        group: u32,
        value: u32,
    },
    Iota {
        dst: usize,
        start: u32,
        cols: Option<u32>,
    },
    Insert {
        dst: usize,
        src: usize,
        row: u32,
        col: u32,
    },
    Extract {
        dst: usize,
        src: usize,
        row: u32,
        col: u32,
    },
    TopK {
        kept: TopK,
        first: u32,
    },
    /// A reduction of a one-row tile to a scalar.
    RowScalar {
        op: ReduceOp,
        tile: usize,
    },
    Rows(usize),
    Cols(usize),
    LoadScalar(PlaceCode),
    StoreScalar {
        at: PlaceCode,
        value: u32,
    },
}

/// A tile operation in the order of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileStep {
    pub(crate) inst: TileInst,
    pub(crate) span: Span,
}

/// A tile variable.
#[derive(Clone, Debug)]
pub(crate) struct TileDecl {
    pub(crate) name: String,
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) elem: DType,
}
