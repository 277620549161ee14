//! Every instruction is one that the table has: its unit makes this transfer, or computes this on tiles there.

use crate::{Instruction, Memories, Op, Side, Tile, TileProgram, codes};
use wsp_diag::Diagnostic;
use wsp_ir::{TileOp, TileUse};

pub(super) fn check(program: &TileProgram, memories: &Memories) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    program.instructions(&mut |instruction| {
        found.extend(of(program, memories, instruction));
        found.extend(extents(program, memories, instruction));
    });
    found
}

/// Valid rows and columns that reach past the end of a buffer, or are always 0.
fn extents(program: &TileProgram, memories: &Memories, instruction: &Instruction) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    instruction.op.tiles(&mut |tile, used| {
        let buffer = program.buffer(tile.buffer);
        let [rows, cols] = [tile.rows.high(), tile.cols.high()];
        let code = match (rows, cols) {
            _ if rows > buffer.rows || cols > buffer.cols => codes::BOUNDS,
            // A list may be empty before.
            (0, _) | (_, 0) if used != TileUse::Listed => codes::NO_ELEMENTS,
            _ => return,
        };
        let message = format!(
            "%{} has a tile of up to {rows} x {cols} in `{}`, which has room for {} x {}",
            instruction.id, buffer.name, buffer.rows, buffer.cols
        );
        let text = program.describe(memories, instruction);
        found.push(Diagnostic::error(code, message).at(instruction.span, "").note(text));
    });
    found
}

fn of(program: &TileProgram, memories: &Memories, instruction: &Instruction) -> Option<Diagnostic> {
    let side = |tile: &Tile| Side::Memory(program.buffer(tile.buffer).memory);
    let moved = |from: Side, to: Side| {
        let makes = |unit| memories.moves.iter().any(|m| (m.unit, m.from, m.to) == (unit, from, to));
        if makes(instruction.unit) && instruction.then.is_none() {
            return None;
        }
        let [from, to] = [from, to].map(|side| memories.side_name(side));
        Some((codes::NO_MOVE, format!("makes no transfer from {from} to {to}")))
    };
    let (code, what) = match &instruction.op {
        Op::Tile(TileOp::Load { dst, .. }) => moved(Side::Global, side(dst)),
        Op::Tile(TileOp::Store { src, .. }) => moved(side(src), Side::Global),
        Op::Move { dst, src } => moved(side(src), side(dst)),
        Op::Tile(_) | Op::Reduce { .. } => computed(program, memories, instruction),
        Op::LoadScalar { .. } | Op::StoreScalar { .. } => {
            let own = instruction.unit == memories.scalar && instruction.then.is_none();
            (!own).then(|| (codes::NO_UNIT, "is not the unit of scalars".to_owned()))
        }
    }?;
    let unit = memories.unit_name(instruction.unit);
    let found = Diagnostic::error(code, format!("%{} runs on {unit}, which {what}", instruction.id));
    Some(found.at(instruction.span, "").note(program.describe(memories, instruction)))
}

fn computed(
    program: &TileProgram,
    memories: &Memories,
    instruction: &Instruction,
) -> Option<(wsp_diag::Code, String)> {
    let mut tiles = Vec::new();
    instruction.op.tiles(&mut |tile, _| tiles.push(*tile));
    let words = instruction.op.words();
    let elems: Vec<_> = tiles.iter().map(|tile| program.buffer(tile.buffer).elem).collect();
    let fits = memories.computes.iter().any(|rule| {
        let there = |(at, tile): (usize, &Tile)| program.buffer(tile.buffer).memory == rule.memory_of(at);
        (rule.unit, rule.then) == (instruction.unit, instruction.then)
            && rule.does(&words, &elems)
            && tiles.iter().enumerate().all(there)
    });
    (!fits).then(|| {
        let places: Vec<&str> = tiles
            .iter()
            .map(|tile| memories.memory(program.buffer(tile.buffer).memory).name.as_str())
            .collect();
        (codes::NO_UNIT, format!("does not do `{words}` on tiles in {}", places.join(", ")))
    })
}
