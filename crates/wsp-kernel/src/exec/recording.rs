//! Tile operations that are written down while scalar code runs, to be run afterwards.
//!
//! What scalar code does must not depend on tiles then, so that of a kernel with an operation that yields a scalar there is no
//! [`Script`]. Nor is there one of a kernel that loads what it stores or adds to it: so a run that fails can be begun anew.

use super::code::CompiledFunction;
use super::tile_code::{TileDecl, TileInst, TileStep};
use crate::Trap;
use crate::tile::MatMul;
use crate::{Env, Layout};
use wsp_ir::TileOp;
use wsp_simd::PACK_ROWS;

/// Operations of one run that are written down at most; longer ones gain little from being taken together.
const MOST_OPERATIONS: usize = 16 * 1024;

/// The tile operations of a program, by their numbers.
#[derive(Debug)]
pub(crate) struct Script {
    lines: Vec<Line>,
    /// Arrays, with the dimensions that rows and columns follow, whose rows the right operand of a short product may be.
    read_in_place: Vec<(usize, usize, usize)>,
}

/// An operation that reads slot 0, 1, 2, … instead of some of a frame.
#[derive(Debug)]
struct Line {
    step: TileStep,
    /// The slots of the frame.
    slots: Vec<u32>,
}

impl Script {
    /// Numbers the operations of a program; none if runs of it cannot be recorded.
    pub(crate) fn new(program: &mut CompiledFunction, tiles: &[TileDecl]) -> Option<Script> {
        let mut lines = Vec::new();
        for step in program.funcs.iter_mut().flat_map(|code| &mut code.tiles) {
            step.number = lines.len() as u32;
            lines.push(Line::new(*step));
        }
        let fit = lines.iter().all(|line| match line.step.inst {
            TileInst::Op(TileOp::Load { at, .. }) => !at.is_stored,
            TileInst::Op(TileOp::Store { add, .. }) => !add,
            inst => !inst.yields(),
        });
        fit.then(|| Script { read_in_place: read_in_place(&lines, tiles), lines })
    }

    /// Whether some array has rows beside those that a product reads, as the heads of a token have in pages of tokens.
    pub(crate) fn gains(&self, env: &Env) -> bool {
        self.read_in_place.iter().any(|&(tensor, row, col)| {
            let array = env.tensors.get(tensor).and_then(Option::as_ref);
            array.is_some_and(|array| has_rows_between(array.layout(), row, col))
        })
    }
}

impl Line {
    fn new(mut step: TileStep) -> Line {
        let mut slots = Vec::new();
        step.inst.each_slot_mut(|slot| slots.push(std::mem::replace(slot, slots.len() as u32)));
        Line { slots, step }
    }
}

/// Where right operands come from that are multiplied with so few rows that reading them is what takes time.
fn read_in_place(lines: &[Line], tiles: &[TileDecl]) -> Vec<(usize, usize, usize)> {
    let is_short = |tile: usize| tiles.get(tile).is_some_and(|tile| tile.rows as usize <= PACK_ROWS);
    let multiplied = |tile: usize| {
        let is = |product: MatMul| product.b == tile && is_short(product.a);
        lines.iter().any(|line| line.step.product().is_some_and(is))
    };
    let place = |line: &Line| match line.step.inst {
        TileInst::Op(TileOp::Load { dst, at, .. }) if multiplied(dst) => {
            Some((at.tensor as usize, usize::from(at.row_dim?), usize::from(at.col_dim?)))
        }
        _ => None,
    };
    lines.iter().filter_map(place).collect()
}

/// Whether rows of other indices lie between two rows along a dimension.
fn has_rows_between(layout: &Layout, row: usize, col: usize) -> bool {
    match layout {
        Layout::Paged(paged) => row == 1 && paged.heads > 1 && paged.head_stride < paged.slot_stride,
        Layout::Strided { dims, strides } => between(dims, strides, row, col),
        Layout::Ragged { dims, strides, .. } => {
            // Rows of one outer index lie side by side.
            let dims: Vec<u32> = [u32::MAX].iter().chain(dims).copied().collect();
            match (row.checked_sub(1), col.checked_sub(1)) {
                (Some(row), Some(col)) => between(&dims, strides, row, col),
                _ => false,
            }
        }
        Layout::Slots { .. } => false,
    }
}

fn between(dims: &[u32], strides: &[u64], row: usize, col: usize) -> bool {
    let (Some(&apart), Some(&width)) = (strides.get(row), dims.get(col)) else { return false };
    let is_between =
        |d: usize| d != row && d != col && dims[d] > 1 && (u64::from(width)..apart).contains(&strides[d]);
    (0..dims.len().min(strides.len())).any(is_between)
}

/// What one run did.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// Number of each operation, and where its words begin.
    operations: Vec<(u32, u32)>,
    words: Vec<u64>,
}

impl Recording {
    /// Forgets all; keeps the allocations.
    pub(crate) fn clear(&mut self) {
        self.operations.clear();
        self.words.clear();
    }

    /// Number of operations.
    pub(crate) fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether another run did the same operations, on whatever scalars.
    pub(crate) fn is_like(&self, other: &Recording) -> bool {
        self.len() == other.len() && self.operations.iter().zip(&other.operations).all(|(a, b)| a.0 == b.0)
    }

    /// An operation and the slots that it reads.
    pub(crate) fn get<'s>(&self, script: &'s Script, at: usize) -> (&'s TileStep, &[u64]) {
        let (number, begin) = self.operations[at];
        (&script.lines[number as usize].step, &self.words[begin as usize..])
    }
}

/// Writes a run down.
pub(crate) struct Recorder<'a> {
    pub(crate) script: &'a Script,
    pub(crate) recording: &'a mut Recording,
}

impl Recorder<'_> {
    /// Writes an operation down.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn note(&mut self, step: &TileStep, frame: &[u64]) -> Result<u64, Trap> {
        let Recorder { script, recording } = self;
        if recording.operations.len() >= MOST_OPERATIONS {
            return Err(Trap::internal("a recording that is too long", step.span));
        }
        recording.operations.push((step.number, recording.words.len() as u32));
        let slots = &script.lines[step.number as usize].slots;
        recording.words.extend(slots.iter().map(|slot| frame[*slot as usize]));
        Ok(0)
    }
}
