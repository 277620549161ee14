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

impl PlaceCode {
    fn slots_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        self.index[..usize::from(self.rank)].iter_mut()
    }
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

impl TileInst {
    /// About how much it does at most: elements of its result, products of a matrix product.
    fn work(&self, tiles: &[TileDecl]) -> u64 {
        let elements = |tile: usize| {
            tiles.get(tile).map_or(0, |tile| u64::from(tile.rows).saturating_mul(u64::from(tile.cols)))
        };
        match *self {
            TileInst::MatMul(product) => {
                let inner = tiles.get(product.a).map_or(0, |a| u64::from(a.cols));
                elements(product.dst).saturating_mul(inner)
            }
            TileInst::RowReduce { src, .. }
            | TileInst::ColReduce { src, .. }
            | TileInst::Store { src, .. } => elements(src),
            TileInst::TopK { kept, .. } => elements(kept.src).saturating_add(elements(kept.values)),
            _ => self.writes()[0].map_or(0, elements),
        }
    }

    /// Whether it has a scalar result.
    pub(crate) fn yields(&self) -> bool {
        matches!(
            self,
            TileInst::RowScalar { .. } | TileInst::Rows(_) | TileInst::Cols(_) | TileInst::LoadScalar(_)
        )
    }

    /// The slots that it reads.
    pub(crate) fn slots_mut(&mut self) -> Vec<&mut u32> {
        match self {
            TileInst::Load { at, rows, cols, .. } => at.slots_mut().chain(rows).chain(cols).collect(),
            TileInst::Store { at, .. } | TileInst::LoadScalar(at) => at.slots_mut().collect(),
            TileInst::StoreScalar { at, value } => at.slots_mut().chain([value]).collect(),
            TileInst::Fill { value, rows, cols, .. } | TileInst::Mask { rows, cols, value, .. } => {
                rows.iter_mut().chain(cols).chain([value]).collect()
            }
            TileInst::Binary { b: RhsCode::Scalar(value), .. } => vec![value],
            TileInst::MaskCausal { cols, value, .. } => vec![cols, value],
            TileInst::MaskBand { begin, end, group, value, .. } => vec![begin, end, group, value],
            TileInst::Iota { start, cols, .. } => [start].into_iter().chain(cols).collect(),
            TileInst::Insert { row, col, .. } | TileInst::Extract { row, col, .. } => vec![row, col],
            TileInst::TopK { first, .. } => vec![first],
            TileInst::Clear(_)
            | TileInst::Unary { .. }
            | TileInst::Binary { .. }
            | TileInst::RowReduce { .. }
            | TileInst::ColReduce { .. }
            | TileInst::MatMul(_)
            | TileInst::Transpose { .. }
            | TileInst::RowScalar { .. }
            | TileInst::Rows(_)
            | TileInst::Cols(_) => Vec::new(),
        }
    }

    /// Whether a tile is an operand or a result.
    pub(crate) fn mentions(&self, tile: usize) -> bool {
        let of_size =
            matches!(*self, TileInst::Clear(t) | TileInst::Rows(t) | TileInst::Cols(t) if t == tile);
        of_size || self.reads().contains(&Some(tile)) || self.writes().contains(&Some(tile))
    }

    /// The tile that has nothing afterwards of what it had before.
    pub(crate) fn replaces(&self) -> Option<usize> {
        let [Some(dst), None] = self.writes() else { return None };
        (!self.reads().contains(&Some(dst))).then_some(dst)
    }

    /// Tiles whose elements it reads.
    fn reads(&self) -> [Option<usize>; 3] {
        match *self {
            TileInst::Store { src, .. }
            | TileInst::Unary { src, .. }
            | TileInst::RowReduce { src, .. }
            | TileInst::ColReduce { src, .. }
            | TileInst::Transpose { src, .. }
            | TileInst::Mask { tile: src, .. }
            | TileInst::MaskCausal { tile: src, .. }
            | TileInst::MaskBand { tile: src, .. }
            | TileInst::Extract { src, .. }
            | TileInst::TopK { kept: TopK { src, .. }, .. }
            | TileInst::RowScalar { tile: src, .. } => [Some(src), None, None],
            TileInst::Binary { a, b, .. } => match b {
                RhsCode::Tile(b) | RhsCode::Column(b) | RhsCode::Row(b) => [Some(a), Some(b), None],
                RhsCode::Scalar(_) => [Some(a), None, None],
            },
            TileInst::Insert { dst, src, .. } => [Some(src), Some(dst), None],
            TileInst::MatMul(product) => {
                [Some(product.a), Some(product.b), product.accumulate.then_some(product.dst)]
            }
            TileInst::Clear(_)
            | TileInst::Load { .. }
            | TileInst::Fill { .. }
            | TileInst::Iota { .. }
            | TileInst::Rows(_)
            | TileInst::Cols(_)
            | TileInst::LoadScalar(_)
            | TileInst::StoreScalar { .. } => [None; 3],
        }
    }

    /// The tiles that have a value afterwards.
    fn writes(&self) -> [Option<usize>; 2] {
        match *self {
            TileInst::Load { dst, .. }
            | TileInst::Fill { dst, .. }
            | TileInst::Unary { dst, .. }
            | TileInst::Binary { dst, .. }
            | TileInst::RowReduce { dst, .. }
            | TileInst::ColReduce { dst, .. }
            | TileInst::Transpose { dst, .. }
            | TileInst::Iota { dst, .. }
            | TileInst::Insert { dst, .. }
            | TileInst::Extract { dst, .. } => [Some(dst), None],
            TileInst::MatMul(product) => [Some(product.dst), None],
            TileInst::TopK { kept, .. } => [Some(kept.values), Some(kept.indices)],
            TileInst::Clear(_)
            | TileInst::Store { .. }
            | TileInst::Mask { .. }
            | TileInst::MaskCausal { .. }
            | TileInst::MaskBand { .. }
            | TileInst::RowScalar { .. }
            | TileInst::Rows(_)
            | TileInst::Cols(_)
            | TileInst::LoadScalar(_)
            | TileInst::StoreScalar { .. } => [None; 2],
        }
    }
}

/// A tile operation in the order of a function, with what is known of it before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileStep {
    pub(crate) inst: TileInst,
    pub(crate) span: Span,
    /// Which of the program's it is: given by [`super::recording::Script::new`].
    pub(super) number: u32,
    /// Tiles whose elements it reads, from 1 on; 0 for none.
    pub(super) reads: [u32; 3],
    /// Tiles that have a value afterwards, in the same way.
    pub(super) writes: [u32; 2],
    /// Elements of its result, or products of a matrix product, at most.
    pub(super) work: u64,
}

impl TileStep {
    /// An operation on some of these tiles.
    pub(super) fn new(inst: TileInst, tiles: &[TileDecl], span: Span) -> TileStep {
        // Tiles are fewer than their bytes, which are limited.
        let number = |tile: Option<usize>| tile.map_or(0, |tile| tile as u32 + 1);
        let (reads, writes) = (inst.reads().map(number), inst.writes().map(number));
        TileStep { inst, span, number: 0, reads, writes, work: inst.work(tiles) }
    }
}

/// A tile variable.
#[derive(Clone, Debug)]
pub(crate) struct TileDecl {
    pub(crate) name: String,
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) elem: DType,
}
