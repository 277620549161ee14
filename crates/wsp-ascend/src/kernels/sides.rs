//! Which kind of core does what.

use super::memories::{FIX, L1, M, MTE1, MTE2, MTE2_CUBE};
use wsp_ir::{Function, LocalTy, StmtKind, TileOp, TileRole, walk};
use wsp_tile::{Instruction, Op, TileProgram, UnitId};

/// The kinds of cores that a function needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sides {
    pub(super) cube: bool,
    pub(super) vector: bool,
}

/// Those of a function: products are made on cube cores, with loads, stores and fills of their tiles; all else on vector cores, and loads
/// of accumulators.
pub(super) fn of_function(function: &Function) -> Sides {
    let role = |tile: &wsp_core::LocalId| match &function.local(*tile).ty {
        LocalTy::Tile(ty) => Some(ty.role),
        _ => None,
    };
    let mut sides = Sides { cube: false, vector: false };
    walk::stmts(&function.body, &mut |stmt| {
        let StmtKind::Tile(op) = &stmt.kind else { return };
        match op {
            TileOp::MatMul { dst, a, b, .. } => {
                sides.cube = true;
                sides.vector |= [dst, a, b].into_iter().any(|tile| role(tile) == Some(TileRole::Vec));
            }
            // Nothing loads an accumulator: it is a tile of the vector core, to which products are added.
            TileOp::Load { dst: tile, .. } if role(tile) == Some(TileRole::Acc) => sides.vector = true,
            TileOp::Load { dst: tile, .. }
            | TileOp::Store { src: tile, .. }
            | TileOp::Fill { dst: tile, .. } => sides.vector |= role(tile) == Some(TileRole::Vec),
            _ => sides.vector = true,
        }
    });
    sides
}

/// The kind of core of a part of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Core {
    /// Products.
    Cube,
    /// All else.
    Vector,
}

/// The kind of core that a unit is of, where a program is for both.
pub(super) fn of_unit(unit: UnitId) -> Core {
    if [MTE1, M, FIX, MTE2_CUBE].contains(&unit) { Core::Cube } else { Core::Vector }
}

/// The kind of core that an instruction runs on.
pub(super) fn core(program: &TileProgram, instruction: &Instruction) -> Core {
    match &instruction.op {
        _ if of_unit(instruction.unit) == Core::Cube => Core::Cube,
        Op::Tile(TileOp::Load { dst, .. } | TileOp::Fill { dst, .. })
            if instruction.unit == MTE2 && program.buffer(dst.buffer).memory == L1 =>
        {
            Core::Cube
        }
        _ => Core::Vector,
    }
}
