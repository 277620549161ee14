//! Every instruction is one that the table has: its unit makes this transfer, or computes this on tiles there.

use crate::{Instruction, Memories, Op, Side, Tile, TileProgram, codes};
use wsp_diag::Diagnostic;
use wsp_ir::{Part, TileOp};

pub(super) fn check(program: &TileProgram, memories: &Memories) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    program.instructions(&mut |instruction| found.extend(of(program, memories, instruction)));
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
        Op::Tile(op) => {
            let mut tiles = Vec::new();
            op.each(&mut |part| {
                if let Part::Tile(tile, _) = part {
                    tiles.push(*tile);
                }
            });
            computed(program, memories, instruction, &tiles)
        }
        Op::Reduce { src, .. } => computed(program, memories, instruction, &[*src]),
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
    tiles: &[Tile],
) -> Option<(wsp_diag::Code, String)> {
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
