//! Runs tile operations.

use super::recorded;
use super::recording::Recorder;
use super::tile_code::{PlaceCode, TileCode, TileDecl, TileInst, TileStep};
use super::tile_trap;
use crate::memory::{Fault, TensorMem, Window};
use crate::tile::{MatMul, Sequence, Tiles, TopK};
use crate::{Env, Trap};
use std::convert::Infallible;
use wsp_core::{MAX_RANK, TensorId};
use wsp_diag::Span;
use wsp_ir::{Operand, ScalarTy, TileMap, TileOp};

/// The tiles of one kernel on one worker.
pub(crate) struct TileSet {
    /// The kernel's.
    pub(crate) key: u64,
    pub(crate) tiles: Tiles,
    /// Whether anything was written to each tile since its declaration.
    pub(crate) written: Written,
}

/// Whether tiles have values, by [`TileStep`]'s numbers: of none, number 0, it always holds.
pub(crate) struct Written {
    states: Vec<u8>,
    /// Loads that yielded nothing, the last of each tile.
    past_end: Vec<PastEnd>,
}

/// The tile has no value.
const NO_VALUE: u8 = 0;
/// The tile has a value.
const HAS_VALUE: u8 = 1;
/// The tile was loaded from past the end of a dimension, so that it has no element.
const PAST_END: u8 = 2;

/// A load that starts past the end of a dimension that its tile follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PastEnd {
    tile: usize,
    /// Index in [`Env::tensors`].
    pub(crate) tensor: u32,
    pub(crate) dim: u8,
    pub(crate) index: u64,
    pub(crate) extent: u64,
    pub(crate) span: Span,
}

impl Written {
    /// For so many tiles.
    pub(crate) fn new(tiles: usize) -> Written {
        let mut written = Written { states: vec![NO_VALUE; tiles + 1], past_end: Vec::new() };
        written.forget_all();
        written
    }

    /// No tile has a value.
    pub(crate) fn forget_all(&mut self) {
        self.states.fill(NO_VALUE);
        self.states[0] = HAS_VALUE;
        self.past_end.clear();
    }

    /// Whether all that an operation reads has a value.
    #[inline]
    pub(crate) fn has(&self, step: &TileStep) -> bool {
        let [a, b, c] = step.reads.map(|tile| self.states[tile as usize]);
        a & b & c == HAS_VALUE
    }

    /// An operation is done.
    #[inline]
    pub(crate) fn note(&mut self, step: &TileStep) {
        for tile in step.writes {
            self.states[tile as usize] = HAS_VALUE;
        }
    }

    /// A tile has no value: its declaration is reached.
    fn forget(&mut self, tile: usize) {
        self.states[tile + 1] = NO_VALUE;
    }

    /// A load of a tile yielded nothing.
    #[cold]
    fn load_nothing(&mut self, load: PastEnd) {
        self.states[load.tile + 1] = PAST_END;
        self.past_end.retain(|other| other.tile != load.tile);
        self.past_end.push(load);
    }

    /// The load that left a tile, by its number in a [`TileStep`], without an element.
    fn past_end(&self, tile: u32) -> Option<&PastEnd> {
        let is_past = self.states[tile as usize] == PAST_END;
        self.past_end.iter().find(|load| is_past && load.tile + 1 == tile as usize)
    }
}

impl std::fmt::Debug for TileSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TileSet")
            .field("key", &self.key)
            .field("tiles", &(self.written.states.len() - 1))
            .finish()
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
    /// Where operations are written down instead of run.
    pub(crate) recorder: Option<Recorder<'a>>,
}

impl TileRun<'_> {
    /// Runs one operation; the scalar it yields, if any, is in slot form.
    #[inline]
    pub(crate) fn execute(&mut self, step: &TileStep, env: &Env, frame: &[u64]) -> Result<u64, Trap> {
        if let Some(recorder) = &mut self.recorder {
            return recorder.note(step, frame);
        }
        if !self.set.written.has(step) {
            return Err(self.unwritten(step));
        }
        // An operation that fails ends the run, so that nothing looks at its tiles any more.
        self.set.written.note(step);
        match self.operate(step, env, frame) {
            Ok(value) => Ok(value),
            Err(fault) => Err(self.failed(step, fault)),
        }
    }

    #[cold]
    fn unwritten(&self, step: &TileStep) -> Trap {
        let written = &self.set.written;
        let missing = step.reads.iter().copied().find(|tile| written.states[*tile as usize] != HAS_VALUE);
        let Some(tile) = missing else { return Trap::internal("a tile that has a value", step.span) };
        match (self.decls.get((tile as usize).wrapping_sub(1)), written.past_end(tile)) {
            (Some(decl), Some(load)) => tile_trap::past_end(decl, load, self, step.span),
            (Some(decl), None) => tile_trap::unwritten(decl, step.span),
            (None, _) => Trap::internal("a tile that is not declared", step.span),
        }
    }

    #[cold]
    fn failed(&self, step: &TileStep, fault: Option<Fault>) -> Trap {
        match fault {
            Some(fault) => tile_trap::operation(&step.inst, self, fault, step.span),
            None => Trap::internal("a tensor that is not bound", step.span),
        }
    }

    /// A fault of none is a tensor without memory.
    fn operate(&mut self, step: &TileStep, env: &Env, frame: &[u64]) -> Result<u64, Option<Fault>> {
        let tiles = &mut self.set.tiles;
        let real = |slot: u32| f32::from_bits(frame[slot as usize] as u32);
        match step.inst {
            TileInst::Op(ref op) if step.wide => {
                let Ok(op) = op.map(&mut Words(frame));
                tiles.wide(&op)?;
            }
            TileInst::Op(ref op) => self.tile_op(op, step.span, env, frame)?,
            TileInst::Clear(tile) => {
                tiles.clear(tile);
                self.set.written.forget(tile);
            }
            TileInst::RowScalar { op, tile, ty } => {
                return Ok(match (tiles.is_wide(tile), ty) {
                    (true, ScalarTy::F32) => bits32(f64::from_bits(tiles.wide_row_scalar(op, tile)?) as f32),
                    (true, _) => tiles.wide_row_scalar(op, tile)?,
                    (false, _) => bits32(tiles.row_scalar(op, tile)?),
                });
            }
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

    /// A fault of none is a tensor without memory.
    fn tile_op(&mut self, op: &TileCode, span: Span, env: &Env, frame: &[u64]) -> Result<(), Option<Fault>> {
        let tiles = &mut self.set.tiles;
        let word = |slot: u32| frame[slot as usize] as u32;
        let real = |slot: u32| f32::from_bits(word(slot));
        let signed = |slot: u32| word(slot).cast_signed();
        match *op {
            TileOp::Load { dst, ref at, rows, cols, .. } => {
                let (rows, cols) = (rows.map(word), cols.map(word));
                self.load(dst, at, (rows, cols), span, env, frame)?;
            }
            TileOp::Store { src, ref at, rows, cols, add, .. } => {
                let (have, rows, cols) = (tiles.shape(src), rows.map(word), cols.map(word));
                if rows.is_some_and(|rows| have.rows > rows) || cols.is_some_and(|cols| have.cols > cols) {
                    return Err(Some(Fault::StorePastSlice { have, rows, cols }));
                }
                let mut index = [0; MAX_RANK];
                let (memory, window) = (memory(env, at)?, window(at, frame, &mut index));
                tiles.locate_store(memory, src, window)?;
                if let Some(stored) = memory.stored().filter(|_| add) {
                    recorded::load(stored, tiles.stored())?;
                }
                tiles.store_located(src, add);
                if let Some(stored) = memory.stored() {
                    recorded::store(stored, tiles.stored());
                }
            }
            TileOp::Fill { dst, value, rows, cols } => {
                tiles.fill(dst, real(value), rows.map(word), cols.map(word));
            }
            TileOp::Unary { op, dst, src } => tiles.unary(op, dst, src)?,
            TileOp::Binary { op, dst, a, b } => tiles.binary(op, dst, a, right(b, frame))?,
            TileOp::Clamp { dst, src, low, high } => tiles.clamp(dst, src, real(low), real(high))?,
            TileOp::Select { dst, mask, a, b } => tiles.select(dst, mask, a, right(b, frame))?,
            TileOp::RowReduce { op, dst, src } => tiles.row_reduce(op, dst, src)?,
            TileOp::ColReduce { op, dst, src } => tiles.col_reduce(op, dst, src)?,
            TileOp::CumSum { dst, src } => tiles.cumsum(dst, src)?,
            TileOp::Gather { dst, src, indices, by_row } => tiles.gather(dst, src, indices, by_row)?,
            TileOp::Reshape { dst, src, rows, cols } => {
                tiles.reshape(dst, src, rows.map(word), cols.map(word))?;
            }
            TileOp::Random { dst, seed, first, pitch, rows, cols } => {
                let sequence = Sequence { seed: word(seed), first: word(first), pitch: word(pitch) };
                tiles.random(dst, sequence, rows.map(word), cols.map(word));
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                tiles.matmul(MatMul { dst, a, b, transpose_b, accumulate })?;
            }
            TileOp::Transpose { dst, src } => tiles.transpose(dst, src)?,
            TileOp::Mask { tile, rows, cols, value } => {
                tiles.mask(tile, rows.map(word), cols.map(word), real(value));
            }
            TileOp::MaskCausal { tile, cols, value } => tiles.mask_causal(tile, signed(cols), real(value)),
            TileOp::MaskBand { tile, begin, end, group, value } => {
                tiles.mask_band(tile, signed(begin), signed(end), word(group), real(value));
            }
            TileOp::Iota { dst, start, cols } => tiles.iota(dst, signed(start), cols.map(word)),
            TileOp::Insert { dst, src, row, col } => tiles.insert(dst, src, (word(row), word(col)))?,
            TileOp::Extract { dst, src, row, col } => tiles.extract(dst, src, (word(row), word(col))),
            TileOp::TopK { values, indices, src, first } => {
                tiles.top_k(TopK { values, indices, src }, word(first))?;
            }
        }
        Ok(())
    }

    fn load(
        &mut self,
        dst: usize,
        at: &PlaceCode,
        (rows, cols): (Option<u32>, Option<u32>),
        span: Span,
        env: &Env,
        frame: &[u64],
    ) -> Result<(), Option<Fault>> {
        let mut index = [0; MAX_RANK];
        let window = window(at, frame, &mut index);
        let (memory, in_place) = (memory(env, at)?, !at.is_stored && env.loads_in_place);
        let tiles = &mut self.set.tiles;
        tiles.load(dst, memory, window, rows, cols, in_place)?;
        let shape = tiles.shape(dst);
        // A load of 0 rows or columns is meant.
        if (shape.rows == 0 || shape.cols == 0) && rows != Some(0) && cols != Some(0) {
            let empty = if shape.rows == 0 { at.row_dim } else { at.col_dim };
            let place = empty.map(|dim| {
                let index = u64::from(window.index[usize::from(dim)]);
                (dim, index, memory.extent_at(dim, window.index))
            });
            // All of a dimension without elements is no element, and not past its end.
            if let Some((dim, index, extent)) = place.filter(|(_, index, extent)| index + extent > 0) {
                let load = PastEnd { tile: dst, tensor: at.tensor, dim, index, extent, span };
                self.set.written.load_nothing(load);
            }
        }
        if let Some(stored) = memory.stored() {
            recorded::load(stored, tiles.loaded(dst))?;
        }
        Ok(())
    }
}

/// Reads numbers of an operation from a frame.
struct Words<'f>(&'f [u64]);

impl TileMap<'_, usize, u32, PlaceCode, usize, u64, ()> for Words<'_> {
    type Error = Infallible;

    fn tile(&mut self, tile: &usize) -> Result<usize, Infallible> {
        Ok(*tile)
    }

    fn number(&mut self, slot: &u32, _: ScalarTy) -> Result<u64, Infallible> {
        Ok(self.0[*slot as usize])
    }

    fn place(&mut self, _: TensorId, _: &PlaceCode) -> Result<(), Infallible> {
        Ok(())
    }
}

/// A right operand with its number read from the frame.
fn right(b: Operand<usize, u32>, frame: &[u64]) -> Operand<usize, f32> {
    match b {
        Operand::Tile(tile) => Operand::Tile(tile),
        Operand::Column(tile) => Operand::Column(tile),
        Operand::Row(tile) => Operand::Row(tile),
        Operand::Scalar(slot) => Operand::Scalar(f32::from_bits(frame[slot as usize] as u32)),
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
