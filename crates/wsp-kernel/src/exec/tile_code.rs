//! Tile operations with their operands resolved.

use crate::tile::MatMul;
use wsp_core::{DType, MAX_RANK};
use wsp_diag::Span;
use wsp_ir::{Part, ReduceOp, ScalarTy, TileOp, TileWork};

/// Slots of a place's indices and the dimensions that the tile follows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PlaceCode {
    /// Index in [`crate::Env::tensors`].
    pub(crate) tensor: u32,
    pub(crate) index: [u32; MAX_RANK],
    pub(crate) rank: u8,
    pub(crate) row_dim: Option<u8>,
    pub(crate) col_dim: Option<u8>,
    /// The kernel stores to the tensor.
    pub(crate) is_stored: bool,
}

impl PlaceCode {
    fn slots_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        self.index[..usize::from(self.rank)].iter_mut()
    }
}

/// A tile operation; tiles are ids in the function's [`crate::tile::Tiles`], numbers are slots.
pub(crate) type TileCode = TileOp<usize, u32, PlaceCode>;

/// A tile operation, or something else that has to do with tiles or single elements of tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TileInst {
    /// A declaration is reached.
    Clear(usize),
    Op(TileCode),
    /// A reduction of a one-row tile to a scalar.
    RowScalar {
        op: ReduceOp,
        tile: usize,
        /// `f32`, `f64`, or of a tile of integers `i64` or `u64`.
        ty: ScalarTy,
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
    /// About how much it does at most: elements of its operands, products of a matrix product.
    fn work(&self, tiles: &[TileDecl]) -> u64 {
        let size =
            |tile: usize| tiles.get(tile).map_or((0, 0), |tile| (u64::from(tile.rows), u64::from(tile.cols)));
        let elements = |tile: usize| size(tile).0.saturating_mul(size(tile).1);
        match self {
            TileInst::Op(op) => match op.work() {
                TileWork::Each(tile) => elements(tile),
                TileWork::Both(a, b) => elements(a).saturating_add(elements(b)),
                TileWork::Products(dst, a) => elements(dst).saturating_mul(size(a).1),
            },
            _ => 0,
        }
    }

    /// Whether it has a scalar result.
    pub(crate) fn yields(&self) -> bool {
        matches!(
            self,
            TileInst::RowScalar { .. } | TileInst::Rows(_) | TileInst::Cols(_) | TileInst::LoadScalar(_)
        )
    }

    /// Calls `f` on every slot that it reads.
    pub(crate) fn each_slot_mut(&mut self, mut f: impl FnMut(&mut u32)) {
        match self {
            TileInst::Op(op) => op.each_mut(&mut |part| match part {
                Part::Number(slot, ..) => f(slot),
                Part::Place(at) => at.slots_mut().for_each(&mut f),
                Part::Tile(..) | Part::Tensor(..) => {}
            }),
            TileInst::LoadScalar(at) => at.slots_mut().for_each(f),
            TileInst::StoreScalar { at, value } => at.slots_mut().chain([value]).for_each(f),
            TileInst::Clear(_) | TileInst::RowScalar { .. } | TileInst::Rows(_) | TileInst::Cols(_) => {}
        }
    }

    /// The tiles of an operation, its destination first.
    pub(crate) fn tiles(&self) -> Vec<usize> {
        let mut tiles = Vec::new();
        match self {
            TileInst::Op(op) => op.each(&mut |part| {
                if let Part::Tile(tile, _) = part {
                    tiles.push(*tile);
                }
            }),
            TileInst::RowScalar { tile, .. } => tiles.push(*tile),
            _ => {}
        }
        tiles
    }

    /// Whether a tile is an operand or a result.
    pub(crate) fn mentions(&self, tile: usize) -> bool {
        let of_size =
            matches!(*self, TileInst::Clear(t) | TileInst::Rows(t) | TileInst::Cols(t) if t == tile);
        of_size || self.tiles().contains(&tile)
    }

    /// The tile that has nothing afterwards of what it had before.
    pub(crate) fn replaces(&self) -> Option<usize> {
        let TileInst::Op(op) = self else { return None };
        let mut written = op.writes();
        let (Some(dst), None) = (written.next(), written.next()) else { return None };
        op.reads().all(|tile| tile != dst).then_some(dst)
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
    /// Whether it computes in `f64` or integers: one of its tiles has such elements. Loads and stores do not compute.
    pub(super) wide: bool,
}

impl TileStep {
    /// An operation on some of these tiles.
    pub(super) fn new(inst: TileInst, tiles: &[TileDecl], span: Span) -> TileStep {
        let (reads, writes) = match inst {
            TileInst::Op(op) => (numbers(op.reads()), numbers(op.writes())),
            TileInst::RowScalar { tile, .. } => (numbers([tile].into_iter()), [0; 2]),
            _ => ([0; 3], [0; 2]),
        };
        let wide = matches!(inst, TileInst::Op(op) if is_wide(&op, tiles));
        TileStep { inst, span, number: 0, reads, writes, work: inst.work(tiles), wide }
    }

    /// The matrix product of `f32` that it is.
    pub(crate) fn product(&self) -> Option<MatMul> {
        match self.inst {
            TileInst::Op(TileOp::MatMul { dst, a, b, transpose_b, accumulate }) if !self.wide => {
                Some(MatMul { dst, a, b, transpose_b, accumulate })
            }
            _ => None,
        }
    }
}

/// Whether an operation computes in `f64` or integers.
pub(super) fn is_wide(op: &TileCode, tiles: &[TileDecl]) -> bool {
    let mut wide = false;
    op.each(&mut |part| {
        if let Part::Tile(tile, _) = part {
            wide |= tiles.get(*tile).is_some_and(|tile| TileDecl::is_wide(tile.elem));
        }
    });
    wide && op.tensor().is_none()
}

/// Numbers from 1 on of at most `N` tiles, then 0.
fn numbers<const N: usize>(mut tiles: impl Iterator<Item = usize>) -> [u32; N] {
    // Tiles are fewer than their bytes, which are limited.
    let numbers = std::array::from_fn(|_| tiles.next().map_or(0, |tile| tile as u32 + 1));
    assert!(tiles.next().is_none(), "a tile operation reads {N} tiles at most");
    numbers
}

/// A tile variable.
#[derive(Clone, Debug)]
pub(crate) struct TileDecl {
    pub(crate) name: String,
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) elem: DType,
}

impl TileDecl {
    /// Bytes of an element's value while a kernel runs.
    pub(crate) fn cell_bytes(elem: DType) -> u64 {
        if TileDecl::is_wide(elem) { 8 } else { 4 }
    }

    /// Whether values have 64 bits while a kernel runs: `f64` and integers.
    pub(crate) fn is_wide(elem: DType) -> bool {
        elem == DType::F64 || !elem.is_float()
    }
}
