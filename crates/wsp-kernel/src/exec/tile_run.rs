//! Runs tile operations.

use super::tile_code::{PlaceCode, RhsCode, TileDecl, TileInst};
use super::tile_trap;
use crate::memory::{Fault, TensorMem, Window};
use crate::tile::{Rhs, Tiles, TopK};
use crate::{Env, Trap};
use wsp_core::MAX_RANK;
use wsp_ir::Span;

/// The tiles of one kernel on one worker.
pub(crate) struct TileSet {
    /// The kernel's.
    pub(crate) key: u64,
    pub(crate) tiles: Tiles,
    /// Whether anything was written to each tile since its declaration.
    pub(crate) written: Vec<bool>,
}

impl std::fmt::Debug for TileSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TileSet").field("key", &self.key).field("tiles", &self.written.len()).finish()
    }
}

/// Forgets views of arrays when a run ends, however it ends: the arrays may go away then.
pub(crate) struct ResetTiles<'s>(pub(crate) &'s mut TileSet);

impl Drop for ResetTiles<'_> {
    fn drop(&mut self) {
        self.0.tiles.reset();
    }
}

/// The tiles of a running kernel, and their names for traps.
pub(crate) struct TileRun<'a> {
    pub(crate) set: &'a mut TileSet,
    pub(crate) decls: &'a [TileDecl],
    /// By tensor number.
    pub(crate) tensor_names: &'a [String],
}

impl TileRun<'_> {
    /// Runs one operation; the scalar it yields, if any, is in slot form.
    pub(crate) fn execute(
        &mut self,
        inst: &TileInst,
        env: &Env,
        frame: &[u64],
        span: Span,
    ) -> Result<u64, Trap> {
        for tile in inst.reads().into_iter().flatten() {
            if !self.set.written[tile] {
                return Err(tile_trap::unwritten(&self.decls[tile], span));
            }
        }
        let value = match self.operate(inst, env, frame) {
            Ok(value) => value,
            Err(Some(fault)) => return Err(tile_trap::operation(inst, self, fault, span)),
            Err(None) => return Err(Trap::internal("a tensor that is not bound", span)),
        };
        for tile in inst.writes().into_iter().flatten() {
            self.set.written[tile] = true;
        }
        Ok(value)
    }

    /// About how much an operation does: elements of its result, products of a matrix product.
    pub(crate) fn work(&self, inst: &TileInst) -> u64 {
        let elements = |tile: usize| {
            let shape = self.set.tiles.shape(tile);
            u64::from(shape.rows) * u64::from(shape.cols)
        };
        match *inst {
            TileInst::MatMul(product) => {
                elements(product.dst).saturating_mul(u64::from(self.set.tiles.shape(product.a).cols))
            }
            TileInst::RowReduce { src, .. }
            | TileInst::ColReduce { src, .. }
            | TileInst::Store { src, .. } => elements(src),
            TileInst::TopK { kept, .. } => elements(kept.src).saturating_add(elements(kept.values)),
            _ => inst.writes()[0].map_or(0, elements),
        }
    }

    /// A fault of none is a tensor without memory.
    fn operate(&mut self, inst: &TileInst, env: &Env, frame: &[u64]) -> Result<u64, Option<Fault>> {
        let tiles = &mut self.set.tiles;
        let word = |slot: u32| frame[slot as usize] as u32;
        let real = |slot: u32| f32::from_bits(word(slot));
        match *inst {
            TileInst::Clear(tile) => {
                tiles.clear(tile);
                self.set.written[tile] = false;
            }
            TileInst::Load { dst, ref at, rows, cols, allow_view } => {
                let mut index = [0; MAX_RANK];
                let window = window(at, frame, &mut index);
                let in_place = allow_view && env.loads_in_place;
                tiles.load(dst, memory(env, at)?, window, rows.map(word), cols.map(word), in_place)?;
            }
            TileInst::Store { src, ref at } => {
                let mut index = [0; MAX_RANK];
                tiles.store(memory(env, at)?, src, window(at, frame, &mut index))?;
            }
            TileInst::Fill { dst, value, rows, cols } => {
                tiles.fill(dst, real(value), rows.map(word), cols.map(word));
            }
            TileInst::Unary { op, dst, src } => tiles.unary(op, dst, src)?,
            TileInst::Binary { op, dst, a, b } => {
                let b = match b {
                    RhsCode::Tile(tile) => Rhs::Tile(tile),
                    RhsCode::Column(tile) => Rhs::Column(tile),
                    RhsCode::Row(tile) => Rhs::Row(tile),
                    RhsCode::Scalar(slot) => Rhs::Scalar(real(slot)),
                };
                tiles.binary(op, dst, a, b)?;
            }
            TileInst::RowReduce { op, dst, src } => tiles.row_reduce(op, dst, src)?,
            TileInst::ColReduce { op, dst, src } => tiles.col_reduce(op, dst, src)?,
            TileInst::MatMul(product) => tiles.matmul(product)?,
            TileInst::Transpose { dst, src } => tiles.transpose(dst, src)?,
            TileInst::Mask { tile, rows, cols, value } => {
                tiles.mask(tile, rows.map(word), cols.map(word), real(value));
            }
            TileInst::MaskCausal { tile, cols, value } => {
                tiles.mask_causal(tile, word(cols).cast_signed(), real(value));
            }
            TileInst::MaskBand { tile, begin, end, group, value } => {
                let (begin, end) = (word(begin).cast_signed(), word(end).cast_signed());
                tiles.mask_band(tile, begin, end, word(group), real(value));
            }
            TileInst::Iota { dst, start, cols } => {
                tiles.iota(dst, word(start).cast_signed(), cols.map(word));
            }
            TileInst::Insert { dst, src, row, col } => tiles.insert(dst, src, (word(row), word(col)))?,
            TileInst::Extract { dst, src, row, col } => tiles.extract(dst, src, (word(row), word(col))),
            TileInst::TopK { kept, first } => tiles.top_k(kept, word(first))?,
            TileInst::RowScalar { op, tile } => return Ok(bits32(tiles.row_scalar(op, tile)?)),
            TileInst::Rows(tile) => return Ok(u64::from(tiles.shape(tile).rows)),
            TileInst::Cols(tile) => return Ok(u64::from(tiles.shape(tile).cols)),
            TileInst::LoadScalar(ref at) => {
                let mut index = [0; MAX_RANK];
                let window = window(at, frame, &mut index);
                let memory = memory(env, at)?;
                return Ok(match memory.dtype().is_float() {
                    true => bits32(memory.load_scalar(window.index)?),
                    false => memory.load_integer(window.index)?,
                });
            }
            TileInst::StoreScalar { ref at, value } => {
                let mut index = [0; MAX_RANK];
                let window = window(at, frame, &mut index);
                let memory = memory(env, at)?;
                match memory.dtype().is_float() {
                    true => memory.store_scalar(window.index, real(value))?,
                    false => memory.store_integer(window.index, frame[value as usize])?,
                }
            }
        }
        Ok(0)
    }
}

fn bits32(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn memory<'e>(env: &'e Env, at: &PlaceCode) -> Result<&'e TensorMem, Option<Fault>> {
    env.tensors.get(at.tensor as usize).and_then(Option::as_ref).ok_or(None)
}

/// The place with its indices read from the frame.
fn window<'i>(at: &PlaceCode, frame: &[u64], index: &'i mut [u32; MAX_RANK]) -> Window<'i> {
    let index = &mut index[..usize::from(at.rank)];
    for (value, slot) in index.iter_mut().zip(&at.index) {
        *value = frame[*slot as usize] as u32;
    }
    Window { index, row_dim: at.row_dim, col_dim: at.col_dim }
}

impl TileInst {
    /// Whether it has a scalar result.
    pub(crate) fn yields(&self) -> bool {
        matches!(
            self,
            TileInst::RowScalar { .. } | TileInst::Rows(_) | TileInst::Cols(_) | TileInst::LoadScalar(_)
        )
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
    #[inline]
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
    #[inline]
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
